"""Raw features to Boolean features."""


class Booleanizer:
    """Placeholder: replaced by the transformer of issue 2."""

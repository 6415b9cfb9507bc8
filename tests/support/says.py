"""What a message must name, whatever its words are."""

from __future__ import annotations

import re


def says(message: object, *keys: object) -> None:
    """A message has these values, names and remedies, one after the other and each as a whole.

    Lines may be folded anywhere.
    """
    rest = text = " ".join(str(message).split())
    for key in keys:
        word = re.escape(str(key))
        match = re.search(rf"(?<![\w]){word}(?!\w)" if re.match(r"\w", str(key)) else rf"{word}(?!\w)", rest)
        assert match is not None, f"{key!r} is not said, or not in this place: {text}"
        rest = rest[match.end() :]

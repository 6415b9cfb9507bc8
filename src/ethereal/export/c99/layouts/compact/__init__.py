"""The layout "compact": little flash."""

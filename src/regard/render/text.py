"""Text that is safe to display, and padded to a width."""

import unicodedata

import wcwidth

# Zero-width (non-)joiners are part of emoji and words and stay; other invisible characters are escaped.
_JOINERS = "\u200c\u200d"


def escape_control_characters(text: str) -> str:
    """Escape control, format and direction characters, so that text cannot affect a terminal or a page."""
    return "".join(
        f"\\u{{{ord(character):x}}}"
        if unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in _JOINERS
        else character
        for character in text
    )


def pad(text: str, width: int) -> str:
    """Pad text to a width in terminal columns; longer text is cut."""
    if wcwidth.width(text) > width - 1:
        text = wcwidth.clip(text, 0, max(1, width - 2)) + "…"
    return wcwidth.ljust(text, width)

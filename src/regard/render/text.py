"""Functions that make text safe to display, and that pad text to a width."""

import unicodedata

import wcwidth

# Zero-width joiners and non-joiners are not escaped, because emoji and words contain them.
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
    """Pad text with spaces to a width in terminal columns; long text is cut, so that at least one space follows it."""
    if wcwidth.width(text) > width - 1:
        text = wcwidth.clip(text, 0, max(1, width - 2)) + "…"
    return wcwidth.ljust(text, width)

"""Text made safe to display, and padded to a width."""

import unicodedata

import wcwidth

# What joins the signs of one emoji or the letters of one word; other invisible signs are spelt out.
_JOINERS = "\u200c\u200d"


def escape_control_characters(text: str) -> str:
    """Text in which nothing acts on a terminal or a page: control signs and signs of direction are spelt out."""
    return "".join(
        f"\\u{{{ord(sign):x}}}" if unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in _JOINERS else sign
        for sign in text
    )


def pad(text: str, width: int) -> str:
    """Text that fills so many columns, cut where it is longer."""
    if wcwidth.width(text) > width - 1:
        text = wcwidth.clip(text, 0, max(1, width - 2)) + "…"
    return wcwidth.ljust(text, width)

"""Durations, numbers of bytes and other numbers as readable text."""

import math


def format_duration(seconds: float) -> str:
    """Format a duration as `45 s`, `12 min`, `1 h 05 min` or `3 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes >= 48 * 60:
        return f"{minutes / (24 * 60):,.0f} days"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def format_bytes(count: float) -> str:
    """Format a number of bytes as `3.4 GB` or `120 MB`."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{math.ceil(count / 1e6)} MB"


def format_count(count: int, singular: str, plural: str = "") -> str:
    """Format a number and its noun as `1 pair` or `2,000 pairs`. By default, the plural is the singular and an "s"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"

"""One sentence: every number that was computed for it."""

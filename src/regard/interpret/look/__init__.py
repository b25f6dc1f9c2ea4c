"""One sentence: everything that was computed."""

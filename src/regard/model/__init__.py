"""Numbers to numbers. Knows no text, no files, no optimizer."""

"""What is unusual in a corpus: lengths, duplicates, leakage."""

"""Checks of a corpus: unusual lengths and characters, duplicates, and test data that is also in the training data."""

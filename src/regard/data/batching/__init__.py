"""Batches of token ids in a reproducible order."""

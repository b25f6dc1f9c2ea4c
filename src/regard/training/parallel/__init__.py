"""Data-parallel training."""

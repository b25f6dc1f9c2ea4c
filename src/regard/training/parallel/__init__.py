"""Data parallel training."""

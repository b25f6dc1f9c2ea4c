"""Data-parallel training on several threads."""

"""Readers of the supported file formats."""

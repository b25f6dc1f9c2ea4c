"""Parallel data: reading, checking, preparing and batching it."""

"""Inspection of one sentence: every number that the model computes for it."""

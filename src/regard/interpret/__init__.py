"""Interpretation of a trained model: inspect one sentence, and measure many."""

"""Interpretation of a trained model: inspection of one sentence, and measurements on many."""

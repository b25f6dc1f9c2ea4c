"""Sentence templates of the synthetic language."""

"""BLEU, chrF and TER, significance tests, and comparisons of models."""

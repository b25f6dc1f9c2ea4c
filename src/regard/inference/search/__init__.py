"""Beam search and sampling over any model that predicts the next token."""

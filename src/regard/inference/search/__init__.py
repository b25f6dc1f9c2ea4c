"""Beam search and sampling with any model that predicts the next token."""

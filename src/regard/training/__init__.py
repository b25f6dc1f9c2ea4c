"""Trains a model on a parallel corpus."""

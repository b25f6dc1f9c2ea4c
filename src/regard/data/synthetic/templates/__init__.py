"""Sentence templates of the synthetic language.

A template is a function that samples one sentence pair. Its docstring shows an example.
"""

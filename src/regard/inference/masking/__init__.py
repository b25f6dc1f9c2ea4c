"""Replaces protected spans of a text by stand-ins that the model copies, and puts them back into the translation."""

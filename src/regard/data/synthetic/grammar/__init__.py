"""English and French grammar of the synthetic language."""

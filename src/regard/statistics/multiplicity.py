"""The permitted error of several statistical tests at once."""

SIGNIFICANCE_LEVEL = 0.05  # maximum probability that any of several intervals misses the true value

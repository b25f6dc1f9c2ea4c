"""Neural networks."""

"""The commands of `regard bench`, one module for each."""

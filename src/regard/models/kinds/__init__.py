"""The kinds of models, one file each."""

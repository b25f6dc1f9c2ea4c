"""The settings of each kind of model, with one file for each kind."""

"""The settings of each kind of model, one file per kind."""

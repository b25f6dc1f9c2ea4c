"""Training: from prepared data to the parameters of a model."""

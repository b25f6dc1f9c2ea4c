"""Reports about a training run: events, the log and the model card."""

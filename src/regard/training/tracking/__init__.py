"""What a run reports: events, the log and the model card."""

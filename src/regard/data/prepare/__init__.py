"""The data of a run on disk: texts, token ids and held-out pairs."""

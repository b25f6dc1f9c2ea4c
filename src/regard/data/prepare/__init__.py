"""The data of a run on disk: texts, token ids, held-out pairs."""

"""The models: neural networks that map token ids to logits, and do not handle text or files."""

"""Measurements over many sentences: head roles and ablation, pronouns, probes and word alignment."""

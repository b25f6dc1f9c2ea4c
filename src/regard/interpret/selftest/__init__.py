"""The inspection tools checked on a model whose attention is known."""

"""Tests of the inspection tools on a model whose attention is known."""

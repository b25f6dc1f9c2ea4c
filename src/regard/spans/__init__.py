"""Parts of a text that translation must keep: protected spans, numbers, and the terms of a glossary."""

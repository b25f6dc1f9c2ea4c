"""Writing translations: search over any model, raw text in and out."""

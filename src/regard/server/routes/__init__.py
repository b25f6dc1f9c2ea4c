"""The HTTP interfaces: LibreTranslate's, DeepL's, our own, and those of operations."""

"""The libraries that run a model: CTranslate2 and torch."""

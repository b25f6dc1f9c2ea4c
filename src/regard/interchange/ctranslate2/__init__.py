"""Models in the format of CTranslate2."""

"""Export of models to the format of CTranslate2."""

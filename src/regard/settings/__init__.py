"""The settings of a model, its tokenizer, its training and its decoding."""

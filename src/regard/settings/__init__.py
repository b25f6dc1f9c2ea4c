"""Settings of the model, the tokenizer, training and decoding."""

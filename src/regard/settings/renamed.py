"""Settings that have been renamed. Using an old name is an error whose message gives the new name."""

RENAMED = {
    "decode.alpha": "decode.length_penalty",
    "decode.beams": "decode.beam_size",
    "decode.best": "decode.n_best",
    "decode.extra": "decode.max_length_offset",
    "decode.links": "decode.alignment",
    "decode.longest": "decode.max_length",
    "decode.no_repeat": "decode.no_repeat_ngram_size",
    "decode.shortest": "decode.min_length",
    "model.longest": "model.max_positions",
    "model.vocab_size": "tokenizer.vocab_size",
    "model.vocabulary": "tokenizer.vocab_size",
    "tokenizer.pieces": "tokenizer.vocab_size",
    "train.clip": "train.max_grad_norm",
    "train.contrast": "train.minimal_pair_weight",
    "train.micro_tokens": "train.micro_batch_tokens",
    "train.smoothing": "train.label_smoothing",
    "train.warmup": "train.warmup_steps",
}

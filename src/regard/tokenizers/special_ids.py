"""The ids that every vocabulary starts with: special tokens, then one token per byte, then subwords."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3

BYTES = 256

FIRST_SUBWORD = EOS + 1 + BYTES

"""The first ids of every vocabulary. Special tokens come first, then one token for each byte, then subwords."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3

BYTES = 256

FIRST_SUBWORD = EOS + 1 + BYTES

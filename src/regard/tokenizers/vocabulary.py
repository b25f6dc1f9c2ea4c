"""Training of a SentencePiece tokenizer, and the choice of its vocabulary size."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import isqrt
from typing import Literal

import sentencepiece

from regard.tokenizers.sentencepiece import ROW_MULTIPLE, escape
from regard.tokenizers.special_ids import BOS, EOS, FIRST_SUBWORD, PAD, UNK

# The paper shares 37,000 tokens between English and German (section 5.1).
MIN_VOCAB_SIZE, MAX_VOCAB_SIZE = 500, 37_000

_CHARACTER_COVERAGE = 0.9995

_MAX_SENTENCE_CHARACTERS = 10_000  # SentencePiece aborts the process at a word of more than 65,535

# SentencePiece reserves this character and skips every training sentence that contains it.
_RESERVED_IN_TRAINING = "\u2585"

# SentencePiece leaves this character out of the alphabet and makes no token that contains it.
_GAP = "\0"


def choose_vocab_size(words: int) -> int:
    """Return the vocabulary size for a corpus with this many words on both sides together."""
    size = min(max(10 * isqrt(words), MIN_VOCAB_SIZE), MAX_VOCAB_SIZE)
    return -(-size // ROW_MULTIPLE) * ROW_MULTIPLE


def train_tokenizer(sentences: Iterator[str], *, kind: Literal["unigram", "bpe"], vocab_size: int) -> bytes:
    """Train a tokenizer of at most `vocab_size` tokens; return its file.

    The sentences are held in memory. The same input gives the same bytes.
    """
    sample = list(_trainable(sentences))
    sample = _reduce_alphabet(sample, max_size=(vocab_size - FIRST_SUBWORD) // 2)
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample or [" "]),
        model_writer=file,
        model_type=kind,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        character_coverage=1.0,  # _reduce_alphabet has chosen the alphabet
        max_sentence_length=4 * _MAX_SENTENCE_CHARACTERS + 1,
        num_threads=16,  # fixed, because sums of floats depend on how the work is divided
        minloglevel=2,
    )
    return file.getvalue()


def _trainable(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        if sentence and not sentence.isspace():
            yield escape(sentence[:_MAX_SENTENCE_CHARACTERS]).replace(_RESERVED_IN_TRAINING, _GAP)


def _reduce_alphabet(sample: list[str], *, max_size: int) -> list[str]:
    """Replace rare characters by a gap, so that they get no token of their own and are encoded as bytes.

    The alphabet covers all but 0.05 % of the text and takes at most half of the vocabulary. SentencePiece has an
    option for the first limit, but fails if the alphabet exceeds the vocabulary, e.g. Chinese with 500 tokens.
    """
    counts: Counter[str] = Counter()
    for sentence in sample:
        counts.update(sentence)
    del counts[" "]
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    total, covered, kept = counts.total(), 0, 0
    while kept < min(len(ranked), max_size) and covered < _CHARACTER_COVERAGE * total:
        covered += counts[ranked[kept]]
        kept += 1
    if kept == len(ranked):
        return sample
    rare = re.compile("[" + "".join(map(re.escape, ranked[kept:])) + "]")
    return [rare.sub(_GAP, sentence) for sentence in sample]

"""Trains a SentencePiece model and chooses its vocabulary size."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import isqrt
from typing import Literal

import sentencepiece

from regard.tokenizers.sentencepiece import _MULTIPLE, _escape
from regard.tokenizers.special_ids import BOS, EOS, FIRST_SUBWORD, PAD, UNK

SMALLEST, LARGEST = 500, 37_000  # The paper shares 37,000 pieces between English and German (section 5.1).

_SHARE_OF_TEXT_IN_ALPHABET = 0.9995

_LONGEST_SENTENCE = 10_000  # in training, which ends the process at a word beyond 65,535

# SentencePiece keeps this character for itself and passes over every training sentence that has it.
_RESERVED_IN_TRAINING = "\u2585"

# It leaves this one out of the alphabet, and lets no piece reach across it.
_GAP = "\0"


def choose_vocab_size(words: int) -> int:
    """How many pieces suit a corpus of so many words, both sides counted together."""
    wanted = min(max(10 * isqrt(words), SMALLEST), LARGEST)
    return -(-wanted // _MULTIPLE) * _MULTIPLE


def train_tokenizer(sentences: Iterator[str], *, kind: Literal["unigram", "bpe"], vocab_size: int) -> bytes:
    """Find at most `pieces` ids for these sentences, which are held in memory. The same input gives the same bytes."""
    sample = list(_trainable(sentences))
    sample = _reduce_alphabet(sample, most=(vocab_size - FIRST_SUBWORD) // 2)
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample or [" "]),
        model_writer=written,
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
        character_coverage=1.0,  # _reduce_alphabet has chosen
        max_sentence_length=4 * _LONGEST_SENTENCE + 1,
        num_threads=16,  # a fixed number: sums of floats depend on how the work is split
        minloglevel=2,
    )
    return written.getvalue()


def _trainable(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        if sentence and not sentence.isspace():
            yield _escape(sentence[:_LONGEST_SENTENCE]).replace(_RESERVED_IN_TRAINING, _GAP)


def _reduce_alphabet(sample: list[str], *, most: int) -> list[str]:
    """Put a gap for characters too rare to deserve a piece; their bytes will do.

    The alphabet covers all but 0.05 % of the text, and takes at most half of the pieces. SentencePiece has an option
    for the first, but refuses an alphabet larger than the vocabulary: Chinese in 500 pieces.
    """
    counts: Counter[str] = Counter()
    for sentence in sample:
        counts.update(sentence)
    del counts[" "]
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    total, covered, kept = counts.total(), 0, 0
    while kept < min(len(ranked), most) and covered < _SHARE_OF_TEXT_IN_ALPHABET * total:
        covered += counts[ranked[kept]]
        kept += 1
    if kept == len(ranked):
        return sample
    rare = re.compile("[" + "".join(map(re.escape, ranked[kept:])) + "]")
    return [rare.sub(_GAP, sentence) for sentence in sample]

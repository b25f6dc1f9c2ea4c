"""Trains a SentencePiece tokenizer and chooses its vocabulary size."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import isqrt
from typing import Literal

import sentencepiece

from regard.tokenizers.sentencepiece import ROW_MULTIPLE, escape, placeholder_entries
from regard.tokenizers.special_ids import BOS, EOS, FIRST_SUBWORD, PAD, UNK

# The maximum is that of the paper, where English and German share 37,000 tokens (section 5.1).
MIN_VOCAB_SIZE, MAX_VOCAB_SIZE = 500, 37_000

_CHARACTER_COVERAGE = 0.9995

_MAX_SENTENCE_CHARACTERS = 10_000  # longer sentences are cut; SentencePiece crashes at a word of over 65,535 characters

# SentencePiece skips training sentences that contain this reserved character, so it is replaced by `_GAP`.
_RESERVED_IN_TRAINING = "\u2585"

# This character replaces those that must not become part of a token. SentencePiece makes no token that contains it.
_GAP = "\0"


def choose_vocab_size(words: int) -> int:
    """Return the vocabulary size for a corpus with this many source and target words in total."""
    size = min(max(10 * isqrt(words), MIN_VOCAB_SIZE), MAX_VOCAB_SIZE)
    return -(-size // ROW_MULTIPLE) * ROW_MULTIPLE


def train_tokenizer(
    sentences: Iterator[str], *, kind: Literal["unigram", "bpe"], vocab_size: int, placeholders: int = 0
) -> bytes:
    """Train a tokenizer with at most `vocab_size` tokens; return the content of its file.

    The last `placeholders` tokens are placeholders for spans that must not be translated. All sentences are held in
    memory. The same sentences always give the same file.
    """
    vocab_size -= placeholders
    sample = list(_trainable(sentences, with_placeholders=placeholders > 0))
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
        character_coverage=1.0,  # keep all characters, because _reduce_alphabet has removed the rare ones
        max_sentence_length=4 * _MAX_SENTENCE_CHARACTERS + 1,
        num_threads=16,  # fixed, because the rounding of sums depends on the number of threads
        minloglevel=2,
    )
    return file.getvalue() + placeholder_entries(placeholders)


def _trainable(sentences: Iterable[str], *, with_placeholders: bool) -> Iterator[str]:
    for sentence in sentences:
        if sentence and not sentence.isspace():
            short = sentence[:_MAX_SENTENCE_CHARACTERS]
            yield escape(short, with_placeholders=with_placeholders).replace(_RESERVED_IN_TRAINING, _GAP)


def _reduce_alphabet(sample: list[str], *, max_size: int) -> list[str]:
    """Replace rare characters by `_GAP`, so that they get no token of their own and are later encoded as bytes.

    The most frequent characters are kept until they cover 99.95 % of the text, but at most `max_size` of them.
    SentencePiece's own option, `character_coverage`, has no such maximum. Training would then fail if there were more
    characters than tokens, for example with Chinese text and 500 tokens.
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

"""Placeholders are the last tokens of a vocabulary; texts with their characters are still encoded without loss."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tokenizers.placeholders import PLACEHOLDERS
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import FIRST_SUBWORD
from regard.tokenizers.vocabulary import train_tokenizer

TEXTS = ["the cat sees the dog", "a dog and a cat", "this is the house", "an old house"] * 5


def sentences() -> Iterator[str]:
    return iter(TEXTS)


PLAIN = SentencePieceTokenizer(train_tokenizer(sentences(), kind="unigram", vocab_size=300))
WITH = SentencePieceTokenizer(train_tokenizer(sentences(), kind="unigram", vocab_size=300, placeholders=4))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_placeholders_are_the_last_tokens_and_move_no_other_id(kind: str) -> None:
    data = train_tokenizer(sentences(), kind=kind, vocab_size=300, placeholders=4)  # type: ignore[arg-type]
    tokenizer = SentencePieceTokenizer(data)
    assert tokenizer.placeholders == PLACEHOLDERS[:4]
    assert tokenizer.tokens(range(tokenizer.size - 4, tokenizer.size)) == list(PLACEHOLDERS[:4])
    assert tokenizer.tokens(range(FIRST_SUBWORD)) == PLAIN.tokens(range(FIRST_SUBWORD))
    text = f"the {PLACEHOLDERS[1]}, and {PLACEHOLDERS[3]}."
    [ids] = tokenizer.encode_masked([text])
    assert [tokenizer.size - 3, tokenizer.size - 1] == [one for one in ids if one >= tokenizer.size - 4]
    assert tokenizer.decode([ids]) == [text]


def test_without_placeholders_nothing_changes() -> None:
    assert PLAIN.placeholders == ()
    assert train_tokenizer(sentences(), kind="unigram", vocab_size=300, placeholders=0) == PLAIN.data


@given(st.text(alphabet=["a", " ", "A", "0", "1", "\uf8fe", "\u2581", "é", *PLACEHOLDERS[:5], PLACEHOLDERS[-1]]))
def test_every_text_survives_and_has_no_placeholder_token(text: str) -> None:
    [ids] = WITH.encode([text])
    assert WITH.decode([ids]) == [text]
    assert all(one < WITH.size - 4 for one in ids)
    assert PLAIN.decode(PLAIN.encode([text])) == [text]

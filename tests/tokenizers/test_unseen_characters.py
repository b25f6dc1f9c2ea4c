"""The characters that a tokenizer encodes as bytes."""

import pytest

from regard.model_folder import bundled
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.unseen_characters import unseen_characters

TOKENIZER = SentencePieceTokenizer.load(bundled.HERE / "en-fr" / "tokenizer.model")


@pytest.mark.parametrize(
    ("text", "unseen"),
    [
        ("", ""),
        ("Where is the station? Où est la gare ?", ""),
        ("Tea 茶, and tea again 茶, is ☕.", "茶☕"),
        ("two\nlines\tand a tab", ""),
        ("a 🎉 b", "🎉"),
        ("\u2581", "\u2581"),
    ],
)
def test_characters_that_are_encoded_as_bytes_are_unseen(text: str, unseen: str) -> None:
    assert "".join(unseen_characters(text, TOKENIZER)) == unseen

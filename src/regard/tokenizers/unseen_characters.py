"""Finds the characters of a text that are not in the vocabulary, so that a model has hardly seen them in training."""

from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD


def unseen_characters(text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the distinct characters of a text that are encoded as bytes, in the order of their first occurrence.

    White space is left out: line breaks and tabs structure a text, and are not translated.
    """
    if not _has_bytes(tokenizer.encode([text])[0]):
        return ()
    characters = [character for character in dict.fromkeys(text) if not character.isspace()]
    encoded = zip(characters, tokenizer.encode(characters), strict=True)
    return tuple(character for character, ids in encoded if _has_bytes(ids))


def _has_bytes(ids: list[int]) -> bool:
    return any(EOS < token_id < FIRST_SUBWORD for token_id in ids)

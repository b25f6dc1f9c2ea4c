"""A model whose heads were made by hand, each to do one thing: who looks into it must find just that.

It writes the words of a sentence with neighbours swapped ("ant bee cow dog" becomes "bee ant dog cow"), by a cross head
that looks where the next word stands, and carries it over; its other heads only look. Places and words have a number
each: a vector says at which place which word stands, and a head reads one of the two.
"""

import random
from typing import TYPE_CHECKING

from regard.interpret.annotated_pairs import PairSample, text_item
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import BOS, EOS
from regard.tokenizers.vocabulary import train_tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.attention import MultiHeadAttention
    from regard.models.kinds.transformer import Transformer

WORDS = ("ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kiwi", "lynx")

LENGTH = 8  # words in every sentence

PLANTED = {
    "encoder.1.self.1": "previous",
    "encoder.1.self.2": "first",
    "encoder.1.self.3": "next",
    "encoder.1.self.4": "even",
    "decoder.1.self.1": "previous",
    "decoder.1.self.2": "self",
    "decoder.1.self.3": "first",
    "decoder.1.self.4": "even",
    "decoder.1.cross.1": "align, written",
    "decoder.1.cross.2": "align, read",
    "decoder.1.cross.3": "end",
    "decoder.1.cross.4": "even",
}

_NUMBERS = 16  # of places, and of words; the width of a head

_SHARP = 2.0

_LOUD = 4.0  # what is carried over must be louder than what was read


def planted_model() -> "tuple[Transformer, SentencePieceTokenizer]":
    """The model, and a tokenizer for its words."""
    texts = [source for source, _ in _sentences(200)]
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(texts), kind="unigram", vocab_size=330))
    return _plant(tokenizer), tokenizer


def planted_sample(tokenizer: SentencePieceTokenizer, count: int = 60) -> PairSample:
    """Sentences for it, each with what it must become."""
    return PairSample("planted sentences", tuple(text_item(*pair, tokenizer) for pair in _sentences(count)))


def _sentences(count: int) -> list[tuple[str, str]]:
    chance = random.Random(1)
    found = []
    for _ in range(count):
        words = chance.sample(WORDS, LENGTH)
        found.append((" ".join(words), " ".join(words[at ^ 1] for at in range(LENGTH))))
    return found


def _plant(tokenizer: SentencePieceTokenizer) -> "Transformer":
    import torch

    from regard.models.kinds.transformer import Transformer

    settings = TransformerSettings(
        vocab_size=tokenizer.embedding_rows,
        width=4 * _NUMBERS,
        heads=4,
        feedforward=8,
        encoder_layers=1,
        decoder_layers=1,
        norm="post",
        positions="learned",
        max_positions=_NUMBERS,
    )
    model = Transformer(settings).eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        if "norm" not in name:
            weight.zero_()
    # The numbers 0 to 15 of a vector say the place, 16 to 31 the word.
    model.positions.weight[:, :_NUMBERS] = settings.width**0.5 * torch.eye(_NUMBERS)
    for number, piece in enumerate([EOS, BOS, *(tokenizer.encode([word])[0][0] for word in WORDS)]):
        model.embedding.weight[piece, _NUMBERS + number] = 1
    for stack, part in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross")):
        attention = getattr(getattr(model, stack)["1"], part)
        for head in range(settings.heads):
            _aim(attention, head, PLANTED[f"{stack}.1.{part}.{head + 1}"])
    cross = dict(model.decoder.layers())["1"].cross
    cross.value.weight[:_NUMBERS, _NUMBERS : 2 * _NUMBERS] = torch.eye(_NUMBERS)
    cross.output.weight[_NUMBERS : 2 * _NUMBERS, :_NUMBERS] = _LOUD * torch.eye(_NUMBERS)
    return model


def _aim(attention: "MultiHeadAttention", head: int, role: str) -> None:
    """Let a head look at a place that follows from the place of the row, at the same word, or at a given number."""
    rows = slice(head * _NUMBERS, (head + 1) * _NUMBERS)
    places, words = slice(0, _NUMBERS), slice(_NUMBERS, 2 * _NUMBERS)
    match role:
        case "previous" | "next" | "self" | "align, written":
            attention.query.weight[rows, places] = _SHARP * _moved(role)
            attention.key.weight[rows, places] = _SHARP * _moved("self")
        case "align, read":
            attention.query.weight[rows, words] = _SHARP * _moved("self")
            attention.key.weight[rows, words] = _SHARP * _moved("self")
        case "first" | "end":
            attention.query.bias[rows.start] = 16 * _SHARP
            attention.key.weight[rows, places if role == "first" else words] = _SHARP * _moved("self")


def _moved(role: str) -> "Tensor":
    """From the number of a place to the number of the place it looks at."""
    import torch

    matrix = torch.zeros(_NUMBERS, _NUMBERS)
    for place in range(_NUMBERS):
        neighbour = place ^ 1 if place < LENGTH else place  # the end mark is not swapped
        goal = {"previous": place - 1, "next": place + 1, "self": place, "align, written": neighbour}[role]
        if 0 <= goal < _NUMBERS:
            matrix[goal, place] = 1
    return matrix

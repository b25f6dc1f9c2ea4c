"""A model whose parameters are set by hand so that the role of every head is known.

The model copies a sentence with neighbouring words swapped: "ant bee cow dog" becomes "bee ant dog cow". One
cross-attention head attends to the source word to be generated next and copies it. The other heads attend too, but do
not change the output. The first 16 elements of a vector encode the position as a one-hot vector, and the next 16 encode
the word. The queries and keys of a head depend on the position or on the word, never on both.
"""

import random
from typing import TYPE_CHECKING

from regard.interpret.annotated_pairs import PairSample, unannotated_pair
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import BOS, EOS
from regard.tokenizers.vocabulary import train_tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.attention import MultiHeadAttention
    from regard.models.kinds.transformer import Transformer

WORDS = ("ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kiwi", "lynx")

LENGTH = 8  # words per sentence

PLANTED = {
    "encoder.1.self.1": "previous",
    "encoder.1.self.2": "first",
    "encoder.1.self.3": "next",
    "encoder.1.self.4": "uniform",
    "decoder.1.self.1": "previous",
    "decoder.1.self.2": "self",
    "decoder.1.self.3": "first",
    "decoder.1.self.4": "uniform",
    "decoder.1.cross.1": "align, written",
    "decoder.1.cross.2": "align, read",
    "decoder.1.cross.3": "end",
    "decoder.1.cross.4": "uniform",
}

# The number of elements that encode the position. As many encode the word, and the head width is the same.
_BLOCK = 16

# The value of the nonzero weights of queries and keys. It is so large that a head attends to one position only.
_GAIN = 2.0

# The copied word is multiplied by this factor, which makes its vector larger than that of the decoder's input word.
_COPY_GAIN = 4.0


def planted_model() -> "tuple[Transformer, SentencePieceTokenizer]":
    """Return the planted model and a tokenizer for its words."""
    texts = [source for source, _ in _sentences(200)]
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(texts), kind="unigram", vocab_size=330))
    return _plant(tokenizer), tokenizer


def planted_sample(tokenizer: SentencePieceTokenizer, count: int = 60) -> PairSample:
    """Return sentences with their correct translations."""
    return PairSample("planted sentences", tuple(unannotated_pair(*pair, tokenizer) for pair in _sentences(count)))


def _sentences(count: int) -> list[tuple[str, str]]:
    generator = random.Random(1)
    pairs = []
    for _ in range(count):
        words = generator.sample(WORDS, LENGTH)
        pairs.append((" ".join(words), " ".join(words[position ^ 1] for position in range(LENGTH))))
    return pairs


def _plant(tokenizer: SentencePieceTokenizer) -> "Transformer":
    import torch

    from regard.models.build import build_model
    from regard.models.kinds.transformer import Transformer

    settings = TransformerSettings(
        source_vocab_size=tokenizer.embedding_rows,
        target_vocab_size=tokenizer.embedding_rows,
        width=4 * _BLOCK,
        heads=4,
        feedforward=8,
        encoder_layers=1,
        decoder_layers=1,
        norm="post",
        positions="learned",
        max_positions=_BLOCK,
    )
    model = build_model(settings).eval().requires_grad_(False)
    assert isinstance(model, Transformer)
    for name, parameter in model.named_parameters():
        if "norm" not in name:
            parameter.zero_()
    model.positions.weight[:, :_BLOCK] = settings.width**0.5 * torch.eye(_BLOCK)
    for index, token in enumerate([EOS, BOS, *(tokenizer.encode([word])[0][0] for word in WORDS)]):
        model.embedding.weight[token, _BLOCK + index] = 1
    for stack, sublayer in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross")):
        attention = getattr(getattr(model, stack)["1"], sublayer)
        for head in range(settings.heads):
            _plant_head(attention, head, PLANTED[f"{stack}.1.{sublayer}.{head + 1}"])
    cross = dict(model.decoder.layers())["1"].cross
    cross.value.weight[:_BLOCK, _BLOCK : 2 * _BLOCK] = torch.eye(_BLOCK)
    cross.output.weight[_BLOCK : 2 * _BLOCK, :_BLOCK] = _COPY_GAIN * torch.eye(_BLOCK)
    return model


def _plant_head(attention: "MultiHeadAttention", head: int, role: str) -> None:
    """Set the query and key parameters of one head for the given role; for `uniform`, they remain zero."""
    rows = slice(head * _BLOCK, (head + 1) * _BLOCK)
    positions, words = slice(0, _BLOCK), slice(_BLOCK, 2 * _BLOCK)
    match role:
        case "previous" | "next" | "self" | "align, written":
            attention.query.weight[rows, positions] = _GAIN * _shift_matrix(role)
            attention.key.weight[rows, positions] = _GAIN * _shift_matrix("self")
        case "align, read":
            attention.query.weight[rows, words] = _GAIN * _shift_matrix("self")
            attention.key.weight[rows, words] = _GAIN * _shift_matrix("self")
        case "first" | "end":
            attention.query.bias[rows.start] = 16 * _GAIN
            attention.key.weight[rows, positions if role == "first" else words] = _GAIN * _shift_matrix("self")


def _shift_matrix(role: str) -> "Tensor":
    """Return the matrix that maps the one-hot vector of a query position to that of the key position it attends to."""
    import torch

    matrix = torch.zeros(_BLOCK, _BLOCK)
    for position in range(_BLOCK):
        neighbour = position ^ 1 if position < LENGTH else position  # words are swapped in pairs; EOS stays in place
        target = {"previous": position - 1, "next": position + 1, "self": position, "align, written": neighbour}[role]
        if 0 <= target < _BLOCK:
            matrix[target, position] = 1
    return matrix

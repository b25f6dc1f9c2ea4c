"""How an attention computes its queries, keys, scores and output, in words, for the text and for the page."""

from dataclasses import dataclass

from regard.settings.anatomy import (
    ADDITIVE,
    BILINEAR,
    DOT_PRODUCT,
    SCALED_DOT_PRODUCT,
    TANH_WITH_INPUT,
    Attention,
)


@dataclass(frozen=True)
class AttentionSteps:
    """The steps of an attention in words."""

    query: str
    key: str
    score: str
    products: str  # what is multiplied element by element; the score is the sum
    joined: str
    output: str


_QUERIES_AND_SCORES = {
    SCALED_DOT_PRODUCT: (
        "the input times this head's columns of the query matrix, plus the bias",
        "the vector attended to, times this head's columns of the key matrix, plus the bias",
        "the dot product of the query and the key of each token",
        "query times key",
    ),
    DOT_PRODUCT: (
        "the input itself",
        "the vector attended to",
        "the dot product of the query and the key of each token",
        "query times key",
    ),
    BILINEAR: (
        "the input itself",
        "the vector attended to, times the key matrix",
        "the dot product of the query and the key of each token",
        "query times key",
    ),
    ADDITIVE: (
        "the input times the query matrix",
        "the vector attended to, times the key matrix, plus the bias",
        "the dot product of the score vector v and tanh(query + key) of each token",
        "v times tanh(query + key)",
    ),
}


def attention_steps(attention: Attention) -> AttentionSteps:
    """Return the steps of an attention in words."""
    joined = "the outputs of all heads"
    output = "the concatenation times the output matrix, plus the bias"
    if attention.output == TANH_WITH_INPUT:
        joined, output = "the head output and the input", f"tanh of {output}"
    return AttentionSteps(*_QUERIES_AND_SCORES[attention.scoring], joined, output)

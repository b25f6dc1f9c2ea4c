"""The pronoun task: does the model prefer the correct French pronoun for "it" to the pronoun of the other gender?

The model scores two targets that differ only in the pronoun. Both targets end with the pronoun, so that later words
that agree with it ("fatigué", "fatiguée") do not influence the score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regard.data.synthetic import Pair
from regard.interpret.annotated_pairs import AnnotatedPair, annotated_pair
from regard.interpret.teacher_forcing import MakeIntervention, encode_batches, log_probabilities
from regard.interpret.trace import Array
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

_OTHER_GENDER = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}


@dataclass(frozen=True)
class PronounContrast:
    """The same sentence with two targets: one ends with the correct pronoun, one with that of the other gender."""

    correct: AnnotatedPair
    incorrect: AnnotatedPair

    @property
    def begin(self) -> int:
        """The index of the first token that differs between the two targets."""
        tokens = zip(self.correct.target_ids, self.incorrect.target_ids, strict=False)
        return next(row for row, (correct, incorrect) in enumerate(tokens) if correct != incorrect)


def contrast(pair: Pair, tokenizer: SentencePieceTokenizer) -> PronounContrast:
    """Return a pair with an annotated "it" as a contrast between the correct and the incorrect pronoun."""
    annotated = annotated_pair(pair, tokenizer)
    return PronounContrast(*(_with_target(annotated, text, tokenizer) for text in pronoun_texts(pair)))


def pronoun_texts(pair: Pair) -> tuple[str, str]:
    """Return the target up to the correct pronoun, and up to the incorrect one: "même s'il", "même si elle"."""
    it = pair.annotations.coreference
    assert it is not None
    word = pair.annotations.target[it.target]
    before, other = pair.target[: word.start], _OTHER_GENDER[word.text.lower()]
    correct = before + word.text
    if before.endswith("s'") and other.startswith("e"):
        before = before[:-1].removesuffix("s") + "si "
    elif before.endswith(" si ") and other.startswith("i"):
        before = before.removesuffix("i ") + "'"
    return correct, before + (other.capitalize() if word.text[0].isupper() else other)


def _with_target(pair: AnnotatedPair, target: str, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    return replace(pair, target=target, target_ids=(*tokenizer.encode([target])[0], EOS), target_words=())


MinimalPair = tuple[PronounContrast, PronounContrast]

# The words whose attention to the two nouns is measured, and the kind of attention that is used for each word.
QUERIES = {"it": ("source", "source"), "cue": ("source", "source"), "pronoun": ("target", "source")}


def noun_columns(pair: AnnotatedPair) -> tuple[range, range]:
    """Return the positions of the tokens of the antecedent, and those of the distractor."""
    it = pair.annotations.coreference if pair.annotations else None
    assert it is not None and it.distractor is not None
    antecedent, distractor = pair.source_words[it.antecedent], pair.source_words[it.distractor]
    return range(antecedent.begin, antecedent.end), range(distractor.begin, distractor.end)


def query_rows(sentence: PronounContrast, pair: AnnotatedPair) -> dict[str, range]:
    """Return the token positions of each query.

    The positions of the pronoun depend on whether the target of `pair` ends with the correct or the incorrect pronoun.
    """
    it = pair.annotations.coreference if pair.annotations else None
    assert it is not None and it.cue is not None
    words = pair.source_words
    return {
        "it": range(words[it.at].begin, words[it.at].end),
        "cue": range(words[it.cue].begin, words[it.cue].end),
        "pronoun": range(sentence.begin, len(pair.target_ids) - 1),
    }


class PronounTask:
    """A set of pronoun contrasts that a model can score several times, with and without interventions."""

    def __init__(self, model: "AutoregressiveModel", contrasts: Sequence[PronounContrast]) -> None:
        self._model = model
        self.contrasts = tuple(contrasts)
        self.pairs = [pair for contrast in contrasts for pair in (contrast.correct, contrast.incorrect)]
        self.batches = encode_batches(model, self.pairs)

    def preference(self, intervention: MakeIntervention | None = None) -> Array:
        """Return, for each contrast, the log-probability of the correct target minus that of the incorrect target."""
        logs = log_probabilities(self._model, self.batches, intervention)
        totals = np.array([tokens[:-1].sum(dtype=float) for tokens in logs])  # without the log-probability of EOS
        return np.asarray(totals[::2] - totals[1::2])

"""The pronoun task: two targets that differ only in the pronoun for "it"; which one does the model prefer?

Both targets end with the pronoun, so that words that agree with it ("fatigué", "fatiguée") give nothing away.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regard.data.synthetic import Pair
from regard.interpret.annotated_pairs import AnnotatedPair, annotated_pair
from regard.interpret.teacher_forcing import MakeIntervention, log_probabilities, make_batches
from regard.interpret.trace import Array
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

_OTHER_GENDER = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}


@dataclass(frozen=True)
class PronounContrast:
    """A sentence up to its pronoun, with the correct pronoun and with that of the other gender."""

    correct: AnnotatedPair
    incorrect: AnnotatedPair

    @property
    def begin(self) -> int:
        """The first row in which the two targets differ."""
        tokens = zip(self.correct.target_ids, self.incorrect.target_ids, strict=False)
        return next(row for row, (correct, incorrect) in enumerate(tokens) if correct != incorrect)


def contrast(pair: Pair, tokenizer: SentencePieceTokenizer) -> PronounContrast:
    """Return the two targets of a pair with an annotated "it"."""
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


class PronounTask:
    """Contrasts prepared for a model, to be scored any number of times."""

    def __init__(self, model: "Transformer", contrasts: Sequence[PronounContrast]) -> None:
        self._model = model
        self.contrasts = tuple(contrasts)
        self.pairs = [pair for contrast in contrasts for pair in (contrast.correct, contrast.incorrect)]
        self.batches = make_batches(model, self.pairs)

    def preference(self, intervention: MakeIntervention | None = None) -> Array:
        """Return, for each contrast, the log-probability of the correct pronoun minus that of the incorrect one."""
        logs = log_probabilities(self._model, self.batches, intervention)
        totals = np.array([tokens[:-1].sum(dtype=float) for tokens in logs])  # without EOS
        return np.asarray(totals[::2] - totals[1::2])

"""Which pronoun a model would write for "it": two targets that differ in it alone, and the likelier one.

Both end with the pronoun, so that what agrees with it later ("fatigué", "fatiguée") tells nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regard.data.synthetic import Pair
from regard.interpret.annotated_pairs import AnnotatedPair, item_of
from regard.interpret.interventions import HeadIntervention
from regard.interpret.teacher_forcing import Batch, log_probabilities, make_batches
from regard.interpret.trace import Array
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

_OTHER = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}


@dataclass(frozen=True)
class PronounContrast:
    """A sentence up to its pronoun, with the right one and with the other; from row `begin` on they differ."""

    right: AnnotatedPair
    wrong: AnnotatedPair

    @property
    def begin(self) -> int:
        """The first row that writes something else."""
        both = zip(self.right.written_ids, self.wrong.written_ids, strict=False)
        return next(at for at, (one, other) in enumerate(both) if one != other)


def contrast(pair: Pair, tokenizer: SentencePieceTokenizer) -> PronounContrast:
    """The two targets of a pair whose truth has an "it"."""
    item = item_of(pair, tokenizer)
    return PronounContrast(*(_cut(item, text, tokenizer) for text in pronoun_texts(pair)))


def pronoun_texts(pair: Pair) -> tuple[str, str]:
    """The target up to the right pronoun, and up to the other: "même s'il", "même si elle"."""
    it = pair.truth.it
    assert it is not None
    word = pair.truth.target[it.target]
    before, other = pair.target[: word.start], _OTHER[word.text.lower()]
    right = before + word.text
    if before.endswith("s'") and other.startswith("e"):
        before = before[:-1].removesuffix("s") + "si "
    elif before.endswith(" si ") and other.startswith("i"):
        before = before.removesuffix("i ") + "'"
    return right, before + (other.capitalize() if word.text[0].isupper() else other)


def _cut(item: AnnotatedPair, target: str, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    return replace(item, target=target, written_ids=(*tokenizer.encode([target])[0], EOS), target_words=())


class PronounTask:
    """Contrasts made ready for a model, to be asked as often as one likes."""

    def __init__(self, model: "Transformer", contrasts: Sequence[PronounContrast]) -> None:
        self._model = model
        self.contrasts = tuple(contrasts)
        self.items = [item for one in contrasts for item in (one.right, one.wrong)]
        self._batches = make_batches(model, self.items)

    def preference(self, edit: Callable[[Batch], HeadIntervention] | None = None) -> Array:
        """For each contrast, by how much the right pronoun's log-probability exceeds the other's."""
        logs = log_probabilities(self._model, self._batches, edit)
        totals = np.array([one[:-1].sum(dtype=float) for one in logs])  # the end mark is not asked for
        return np.asarray(totals[::2] - totals[1::2])

"""How good a model is on pairs it does not learn from: its loss, and BLEU and chrF by the translator users get.

At the end of a run the strength of the length penalty is chosen here too. A model that has seen little finds short
texts too probable, and BLEU punishes what is short; how much, differs from corpus to corpus. The search itself knows no
penalty, so one search tells what each strength would choose.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.data.batches import in_order
from regard.data.shards import Shards
from regard.data.texts import Texts
from regard.data.tokenizer import Tokenizer
from regard.decoding.hypothesis import length_penalty
from regard.decoding.translator import Translation, Translator
from regard.evaluation.scores import Judge
from regard.model.transformer import Transformer
from regard.settings import PAPER_ALPHA, Settings
from regard.training.loop import validation_loss

QUICK_SENTENCES = 200  # enough to see a trend without taking minutes from a run
FULL_SENTENCES = 2_000  # enough to choose by
FEW_SENTENCES = 200  # on fewer BLEU is mostly chance
ALPHAS = (1.0, 1.5, 2.0, 2.5, 3.0)  # beside the model's own


@dataclass(frozen=True)
class Validation:
    """Scores after a step; `sentences` were translated for BLEU and chrF."""

    step: int
    loss: float
    bleu: float
    chrf: float
    sentences: int
    example: tuple[str, str, str]  # source, translation, reference
    alpha: float  # of the length penalty they were chosen with


class Validator:
    """Scores models on a run's validation pairs."""

    def __init__(
        self, texts: Texts, shards: Shards, tokenizer: Tokenizer, settings: Settings, *, alpha: float = PAPER_ALPHA
    ) -> None:
        """`alpha` is the model's own, until another is set or chosen."""
        self._shards = shards
        self._tokenizer = tokenizer
        self._settings = settings
        self._alpha = settings.decode.alpha if settings.decode.alpha is not None else alpha
        count = min(len(texts.valid), FULL_SENTENCES)
        self._sources = texts.valid.texts("source", 0, count)
        self._targets = texts.valid.texts("target", 0, count)

    def quick(self, model: Transformer, step: int) -> Validation:
        """With BLEU and chrF on the first sentences only."""
        return self._score(model, step, QUICK_SENTENCES, [self._alpha])

    def full(self, model: Transformer, step: int) -> Validation:
        """With BLEU and chrF on all that were read, by the alpha that is best for them if one is to be chosen."""
        chooses = self._settings.train.choose_alpha and self._settings.decode.alpha is None
        several = self._settings.decode.beams > 1 and not self._settings.decode.temperature
        enough = len(self._sources) >= FEW_SENTENCES
        others = ALPHAS if chooses and several and enough else ()
        return self._score(model, step, FULL_SENTENCES, [self._alpha, *others])

    def _score(self, model: Transformer, step: int, sentences: int, alphas: Sequence[float]) -> Validation:
        loss = validation_loss(model, in_order(self._shards.valid, tokens=self._settings.train.micro_tokens))
        if not math.isfinite(loss):
            raise FloatingPointError("the validation loss is not a finite number")
        sources, targets = self._sources[:sentences], self._targets[:sentences]
        device = next(model.parameters()).device
        translator = Translator(model, self._tokenizer, longest=self._settings.model.longest, device=device)
        # Whoever has little memory to learn with has little to validate with; no text depends on the batch.
        translator.batch_tokens = min(translator.batch_tokens, 2 * self._settings.train.micro_tokens)
        decode = replace(self._settings.decode, alpha=alphas[0])
        if len(alphas) > 1:
            decode = replace(decode, best=decode.beams, log_probabilities=True)
        found = translator.translate_all(sources, decode)
        alpha, texts = _choose(found, targets, alphas) if len(alphas) > 1 else (alphas[0], [one.text for one in found])
        judge = Judge([[target] for target in targets], names=("bleu", "chrf"))  # TER would take longest
        figures = judge.figures(list(judge.count(texts)))
        shown = step % len(sources)
        example = (sources[shown], texts[shown], targets[shown])
        return Validation(step, loss, figures["bleu"], figures["chrf"], len(sources), example, alpha)


def _choose(found: Sequence[Translation], targets: Sequence[str], alphas: Sequence[float]) -> tuple[float, list[str]]:
    """The alpha with the best BLEU, the first of equals, and what it chooses among the alternatives."""
    judge = Judge([[target] for target in targets], names=("bleu",))
    texts = {alpha: [best_by(alpha, one).text for one in found] for alpha in alphas}
    best = max(alphas, key=lambda alpha: judge.figures(list(judge.count(texts[alpha])))["bleu"])
    return best, texts[best]


def best_by(alpha: float, found: Translation) -> Translation:
    """The best of a translation and all its alternatives with another length penalty.

    Of a text in one part, which tells the log-probability of each piece.
    """

    def score(one: Translation) -> float:
        return one.log_probability / length_penalty(len(one.log_probabilities), alpha)

    return max((found, *found.alternatives), key=score)

"""How good a model is on pairs it does not learn from: its loss, and BLEU and chrF by the translator users get."""

import math
from dataclasses import dataclass

from regard.data.batches import in_order
from regard.data.shards import Shards, kept_texts
from regard.data.texts import Texts
from regard.data.tokenizer import Tokenizer
from regard.decoding.translator import Translator
from regard.evaluation.scores import Judge
from regard.model.transformer import Transformer
from regard.settings import Settings
from regard.training.loop import validation_loss

QUICK_SENTENCES = 200  # enough to see a trend without taking minutes from a run
FULL_SENTENCES = 2_000  # enough to choose by


@dataclass(frozen=True)
class Validation:
    """Scores after a step; `sentences` were translated for BLEU and chrF."""

    step: int
    loss: float
    bleu: float
    chrf: float
    sentences: int
    example: tuple[str, str, str]  # source, translation, reference


class Validator:
    """Scores models on a run's validation pairs."""

    def __init__(self, texts: Texts, shards: Shards, tokenizer: Tokenizer, settings: Settings) -> None:
        self._shards = shards
        self._tokenizer = tokenizer
        self._settings = settings
        longest = settings.model.longest
        self._pairs = kept_texts(texts.valid, tokenizer, longest=longest, most=FULL_SENTENCES)

    def quick(self, model: Transformer, step: int) -> Validation:
        """With BLEU and chrF on the first sentences only."""
        return self._score(model, step, QUICK_SENTENCES)

    def full(self, model: Transformer, step: int) -> Validation:
        """With BLEU and chrF on all that were read."""
        return self._score(model, step, FULL_SENTENCES)

    def _score(self, model: Transformer, step: int, sentences: int) -> Validation:
        loss = validation_loss(model, in_order(self._shards.valid, tokens=self._settings.train.micro_tokens))
        if not math.isfinite(loss):
            raise FloatingPointError("the validation loss is not a finite number")
        sources, targets = zip(*self._pairs[:sentences], strict=True)
        device = next(model.parameters()).device
        translator = Translator(model, self._tokenizer, longest=self._settings.model.longest, device=device)
        # Whoever has little memory to learn with has little to validate with; no text depends on the batch.
        translator.batch_tokens = min(translator.batch_tokens, 2 * self._settings.train.micro_tokens)
        texts = [translation.text for translation in translator.translate_all(sources, self._settings.decode)]
        judge = Judge([[target] for target in targets], names=("bleu", "chrf"))  # TER would take longest
        figures = judge.figures(list(judge.count(texts)))
        shown = step % len(sources)
        example = (sources[shown], texts[shown], targets[shown])
        return Validation(step, loss, figures["bleu"], figures["chrf"], len(sources), example)

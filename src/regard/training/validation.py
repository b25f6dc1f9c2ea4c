"""How good a model is on pairs it does not learn from: its loss, and BLEU and chrF by the translator users get."""

import math
from dataclasses import dataclass

from regard.data.batching.batches import sequential_batches
from regard.data.prepare.text_store import TextStore
from regard.data.prepare.token_store import EncodedCorpus, trainable_texts
from regard.evaluation.scores import Scorer
from regard.inference.backends.torch import TorchBackend
from regard.models.kinds.transformer import Transformer
from regard.settings.sections import Settings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.step import validation_loss

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

    def __init__(
        self, texts: TextStore, shards: EncodedCorpus, tokenizer: SentencePieceTokenizer, settings: Settings
    ) -> None:
        self._shards = shards
        self._tokenizer = tokenizer
        self._settings = settings
        longest = settings.model.max_positions
        self._pairs = trainable_texts(texts.valid, tokenizer, longest=longest, most=FULL_SENTENCES)

    def quick(self, model: Transformer, step: int) -> Validation:
        """With BLEU and chrF on the first sentences only."""
        return self._score(model, step, QUICK_SENTENCES)

    def full(self, model: Transformer, step: int) -> Validation:
        """With BLEU and chrF on all that were read."""
        return self._score(model, step, FULL_SENTENCES)

    def _score(self, model: Transformer, step: int, sentences: int) -> Validation:
        loss = validation_loss(
            model, sequential_batches(self._shards.valid, tokens=self._settings.train.micro_batch_tokens)
        )
        if not math.isfinite(loss):
            raise FloatingPointError("the validation loss is not a finite number")
        sources, targets = zip(*self._pairs[:sentences], strict=True)
        device = next(model.parameters()).device
        translator = TorchBackend(
            model, self._tokenizer, max_positions=self._settings.model.max_positions, device=device
        )
        # Whoever has little memory to learn with has little to validate with; no text depends on the batch.
        translator.batch_tokens = min(translator.batch_tokens, 2 * self._settings.train.micro_batch_tokens)
        texts = [translation.text for translation in translator.translate_all(sources, self._settings.decode)]
        judge = Scorer([[target] for target in targets], names=("bleu", "chrf"))  # TER would take longest
        figures = judge.figures(list(judge.count(texts)))
        shown = step % len(sources)
        example = (sources[shown], texts[shown], targets[shown])
        return Validation(step, loss, figures["bleu"], figures["chrf"], len(sources), example)

"""Scores a model on the validation pairs: its loss, and BLEU and chrF of its translations as users would get them."""

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

QUICK_SENTENCES = 200  # enough to see a trend without adding minutes to a run
FULL_SENTENCES = 2_000  # enough to choose the parameters to keep


@dataclass(frozen=True)
class Validation:
    """The scores after a step; BLEU and chrF are computed on `sentences` translations."""

    step: int
    loss: float
    bleu: float
    chrf: float
    sentences: int
    example: tuple[str, str, str]  # source, translation, reference


class Validator:
    """Scores models on the validation pairs of a run."""

    def __init__(
        self, texts: TextStore, corpus: EncodedCorpus, tokenizer: SentencePieceTokenizer, settings: Settings
    ) -> None:
        self._corpus = corpus
        self._tokenizer = tokenizer
        self._settings = settings
        max_positions = settings.model.max_positions
        self._pairs = trainable_texts(texts.valid, tokenizer, max_positions=max_positions, limit=FULL_SENTENCES)

    def quick(self, model: Transformer, step: int) -> Validation:
        """Score a model, with BLEU and chrF on the first QUICK_SENTENCES pairs."""
        return self._score(model, step, QUICK_SENTENCES)

    def full(self, model: Transformer, step: int) -> Validation:
        """Score a model, with BLEU and chrF on the first FULL_SENTENCES pairs."""
        return self._score(model, step, FULL_SENTENCES)

    def _score(self, model: Transformer, step: int, sentences: int) -> Validation:
        loss = validation_loss(
            model, sequential_batches(self._corpus.valid, tokens=self._settings.train.micro_batch_tokens)
        )
        if not math.isfinite(loss):
            raise FloatingPointError("the validation loss is not finite")
        sources, targets = zip(*self._pairs[:sentences], strict=True)
        device = next(model.parameters()).device
        translator = TorchBackend(
            model, self._tokenizer, max_positions=self._settings.model.max_positions, device=device
        )
        # A machine with little memory for training has little for validation; translations do not depend on the batch.
        translator.batch_tokens = min(translator.batch_tokens, 2 * self._settings.train.micro_batch_tokens)
        texts = [translation.text for translation in translator.translate(sources, self._settings.decode)]
        scorer = Scorer([[target] for target in targets], names=("bleu", "chrf"))  # TER would take the most time
        scores = scorer.metric_scores(list(scorer.statistics(texts)))
        index = step % len(sources)
        example = (sources[index], texts[index], targets[index])
        return Validation(step, loss, scores["bleu"], scores["chrf"], len(sources), example)

"""Scores a model on the validation pairs: the loss, and BLEU and chrF of the translations.

The model is not exported for a validation: torch translates, with the decode settings of the run. Users translate with
CTranslate2 in float32, which tests hold to the same text.
"""

import math
from dataclasses import dataclass, replace

from regard.data.batching.batches import sequential_batches
from regard.data.prepare.text_store import TextStore
from regard.data.prepare.token_store import EncodedCorpus, trainable_texts
from regard.evaluation.scores import Scorer
from regard.inference.backends.torch import BATCH_TOKENS, TorchBackend
from regard.inference.translator import Translator
from regard.models.interface import SequenceModel, as_autoregressive
from regard.settings.sections import Settings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.step import validation_loss

QUICK_SENTENCES = 200  # sentences translated in each validation during training, to show a trend without taking minutes
FULL_SENTENCES = 2_000  # maximum number of sentences translated at the end of a run to choose which parameters are kept


@dataclass(frozen=True)
class Validation:
    """The scores of a model on the validation pairs after a training step."""

    step: int
    loss: float  # per target token, over all validation pairs
    bleu: float
    chrf: float
    sentences: int  # number of translated sentences, on which BLEU and chrF are computed
    example: tuple[str, str, str]  # source, translation and reference of one sentence


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

    def quick(self, model: SequenceModel, step: int) -> Validation:
        """Score a model; BLEU and chrF are computed on the first QUICK_SENTENCES pairs."""
        return self._score(model, step, QUICK_SENTENCES)

    def full(self, model: SequenceModel, step: int) -> Validation:
        """Score a model; BLEU and chrF are computed on the first FULL_SENTENCES pairs."""
        return self._score(model, step, FULL_SENTENCES)

    def _score(self, model: SequenceModel, step: int, sentences: int) -> Validation:
        loss = validation_loss(
            model, sequential_batches(self._corpus.valid, tokens=self._settings.train.micro_batch_tokens)
        )
        if not math.isfinite(loss):
            raise FloatingPointError("the validation loss is not finite")
        sources, targets = zip(*self._pairs[:sentences], strict=True)
        # If memory limits the micro-batches of training, limit the batches here too. This does not change translations.
        batch_tokens = min(BATCH_TOKENS, 2 * self._settings.train.micro_batch_tokens)
        backend = TorchBackend(
            as_autoregressive(model), self._tokenizer.generable, device=model.device, batch_tokens=batch_tokens
        )
        translator = Translator(backend, self._tokenizer, max_positions=self._settings.model.max_positions)
        # A model without placeholders is scored on its own translations, without names in the place of spans.
        decode = replace(
            self._settings.decode, protect=self._settings.decode.protect and bool(self._tokenizer.placeholders)
        )
        texts = [translation.text for translation in translator.translate(sources, decode)]
        # TER is left out, because it would take the most time.
        scorer = Scorer([[target] for target in targets], names=("bleu", "chrf"))
        scores = scorer.metric_scores(list(scorer.statistics(texts)))
        index = step % len(sources)
        example = (sources[index], texts[index], targets[index])
        return Validation(step, loss, scores["bleu"], scores["chrf"], len(sources), example)

"""Scores a model on the validation pairs: the loss, and BLEU and chrF of the translations if the model translates.

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
from regard.settings.decode import DecodeSettings
from regard.settings.sections import Settings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.objectives import objective_of
from regard.training.step import validation_loss

QUICK_SENTENCES = 200  # sentences translated in each validation during training, to show a trend without taking minutes
FULL_SENTENCES = 2_000  # maximum number of sentences translated at the end of a run to choose which parameters are kept


@dataclass(frozen=True)
class Validation:
    """The scores of a model on the validation pairs after a training step."""

    step: int
    loss: float  # per predicted token, over all validation pairs
    bleu: float | None = None  # None if the model does not translate, as `chrf` and `example`
    chrf: float | None = None
    sentences: int = 0  # number of translated sentences, on which BLEU and chrF are computed
    example: tuple[str, str, str] | None = None  # source, translation and reference of one sentence


class Validator:
    """Scores models on the validation pairs of a run."""

    def __init__(
        self, texts: TextStore, corpus: EncodedCorpus, tokenizer: SentencePieceTokenizer, settings: Settings
    ) -> None:
        self._corpus = corpus
        self._tokenizer = tokenizer
        self._settings = settings
        # Translate as the saved model will, without the settings that belong to a single call.
        self._decode = DecodeSettings(**settings.decode.stored_with_model())
        max_positions = settings.model.max_positions
        self._pairs = trainable_texts(texts.valid, tokenizer, max_positions=max_positions, limit=FULL_SENTENCES)

    def quick(self, model: SequenceModel, step: int) -> Validation:
        """Score a model; the first QUICK_SENTENCES pairs are translated."""
        return self._score(model, step, QUICK_SENTENCES)

    def full(self, model: SequenceModel, step: int) -> Validation:
        """Score a model; the first FULL_SENTENCES pairs are translated."""
        return self._score(model, step, FULL_SENTENCES)

    def _score(self, model: SequenceModel, step: int, sentences: int) -> Validation:
        train = self._settings.train
        loss = validation_loss(
            model, sequential_batches(self._corpus.valid, tokens=train.micro_batch_tokens), train.seed
        )
        if not math.isfinite(loss):
            raise FloatingPointError("the validation loss is not finite")
        if not objective_of(model.settings).translates:
            return Validation(step, loss)
        sources, targets = zip(*self._pairs[:sentences], strict=True)
        # If memory limits the micro-batches of training, limit the batches here too. This does not change translations.
        batch_tokens = min(BATCH_TOKENS, 2 * train.micro_batch_tokens)
        backend = TorchBackend(
            as_autoregressive(model), self._tokenizer.generable, device=model.device, batch_tokens=batch_tokens
        )
        translator = Translator(backend, self._tokenizer, max_positions=self._settings.model.max_positions)
        # A model without placeholders is scored on its own translations, without names in the place of spans.
        decode = replace(self._decode, protect=self._decode.protect and bool(self._tokenizer.placeholders))
        texts = [translation.text for translation in translator.translate(sources, decode)]
        # TER is left out, because it would take the most time.
        scorer = Scorer([[target] for target in targets], names=("bleu", "chrf"))
        scores = scorer.metric_scores(list(scorer.statistics(texts)))
        index = step % len(sources)
        example = (sources[index], texts[index], targets[index])
        return Validation(step, loss, scores["bleu"], scores["chrf"], len(sources), example)

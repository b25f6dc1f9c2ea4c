"""Small recurrent models with random parameters, loaded without a folder."""

from functools import cache
from typing import Any

import torch
from tests.interpret.small_models import sentences

from regard.api import Model
from regard.inference.backends.torch import TorchBackend
from regard.inference.translator import Translator
from regard.models.kinds.recurrent import Recurrent
from regard.settings.kinds.recurrent import RecurrentSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer


@cache
def _tokenizer() -> SentencePieceTokenizer:
    return SentencePieceTokenizer(train_tokenizer(iter(sentences(200)), kind="unigram", vocab_size=330))


@cache
def recurrent_model(kind: str = "lstm", attention: str = "general", **shape: Any) -> Model:
    """Return a model of two layers on each side."""
    tokenizer = _tokenizer()
    plain = {"width": 8, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 64}
    settings = RecurrentSettings(kind=kind, attention=attention, **{**plain, **shape})  # type: ignore[arg-type]
    torch.manual_seed(5)
    network = Recurrent(settings.with_vocab_size(tokenizer.embedding_rows)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # no bias should be zero
    translator = Translator(TorchBackend(network, tokenizer.generable), tokenizer, max_positions=64)
    return Model(translator, tokenizer, lambda: network, name="recurrent")

"""Section 6.3: English constituency parsing."""

from typing import cast

import pytest
import torch
from tests.paper.small_model import StepCounter
from tests.paper.test_section_6_1_translation import LimitRecorder, WordTokenizer

from regard.inference.search.beam import search
from regard.inference.translator import Translator
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.parser import user_overrides
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.tokenizers.special_ids import BOS, EOS

PARSER = assemble(
    size_overrides("base"),
    user_overrides(
        [
            "model.encoder_layers=4",
            "model.decoder_layers=4",
            "model.width=1024",
            "model.source_vocab_size=16000",
            "model.target_vocab_size=16000",
            "decode.beam_size=21",
            "decode.length_penalty=0.3",
            "decode.max_length_offset=300",
        ]
    ),
)


def test_the_papers_parser_can_be_built():
    """Section 6.3: a 4-layer Transformer with d_model = 1024, and a vocabulary of 16,000 tokens."""
    with torch.device("meta"):
        model = Transformer(cast(TransformerSettings, PARSER.model))
    assert (len(model.encoder.layers()), len(model.decoder.layers())) == (4, 4)
    assert model.embedding.weight.shape == (16_000, 1024)


def test_the_papers_parser_can_be_decoded():
    """Section 6.3: beam size 21, alpha = 0.3, and a maximum output length of the input length + 300."""
    backend = LimitRecorder()
    translator = Translator(backend, WordTokenizer(), max_positions=PARSER.model.max_positions)
    translator.translate(["one two three"], PARSER.decode)
    assert backend.limits == {3: 303}
    logits_V = torch.randn(40)
    (hypotheses,) = search(
        lambda tokens_N1, state: (logits_V.repeat(len(tokens_N1), 1), state),
        StepCounter(),
        limits_B=torch.tensor([303]),
        decode=PARSER.decode,
        generable_V=torch.ones(40, dtype=torch.bool),
        bos=BOS,
        eos=EOS,
    )
    assert len(hypotheses) == 21
    for found in hypotheses:
        length = len(found.token_log_probabilities)
        assert found.score == pytest.approx(found.log_probability / ((5 + length) / 6) ** 0.3)

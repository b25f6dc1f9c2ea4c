"""Section 6.3: English constituency parsing."""

from regard.settings.decode import DecodeSettings
from regard.settings.parser import user_overrides
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides


def test_the_papers_constituency_parser_can_be_configured():
    """Section 6.3: 4 layers, d_model = 1024, 16,000 tokens; beam 21, alpha 0.3, output up to input + 300."""
    changes = ["model.encoder_layers=4", "model.decoder_layers=4", "model.width=1024", "tokenizer.vocab_size=16000"]
    changes += ["decode.beam_size=21", "decode.length_penalty=0.3", "decode.max_length_offset=300"]
    settings = assemble(size_overrides("base"), user_overrides(changes))
    assert settings.decode == DecodeSettings(beam_size=21, length_penalty=0.3, max_length_offset=300)
    model = settings.model
    assert (model.encoder_layers, model.decoder_layers, model.width) == (4, 4, 1024)

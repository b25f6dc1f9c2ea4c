"""Which models can be exported to CTranslate2, and which decode settings an exported model supports.

CTranslate2 treats some settings differently from torch: its samples depend on the batch, it never ends a translation
directly after a prefix, and its token log-probabilities ignore which tokens are forbidden.
"""

from regard.settings.decode import DecodeSettings
from regard.settings.model import ModelSettings


def supports_model(settings: ModelSettings) -> bool:
    """Return whether models with these settings can be exported to CTranslate2."""
    return settings.kind == "transformer"


def supports_decode(decode: DecodeSettings) -> bool:
    """Return whether CTranslate2 gives the same text and the same scores as torch with these settings."""
    forbids_tokens = decode.min_length > 0 or decode.no_repeat_ngram_size > 0
    return not (decode.temperature or decode.prefix or (decode.log_probabilities and forbids_tokens))

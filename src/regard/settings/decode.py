"""The settings of decoding."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from regard.errors import SettingsError
from regard.settings.fields import check_at_least, check_limits, check_types, setting

_MAX_LENGTH_PENALTY = 10  # maximum absolute value of `length_penalty`; a much larger one could cause an overflow


@dataclass(frozen=True, kw_only=True)
class DecodeSettings:
    """How to translate (section 6.1). A model may bring its own defaults; a call overrides them."""

    section: ClassVar[str] = "decode"

    # Maximum values of settings that may be stored with a model. They are larger than anyone needs, but small enough
    # that a malicious model folder, whose settings are the default of every call, cannot use up the memory.
    limits: ClassVar[dict[str, int]] = {
        "beam_size": 1 << 10,
        "max_length_offset": 1 << 16,
        "min_length": 1 << 16,
        "max_length": 1 << 16,
        "no_repeat_ngram_size": 1 << 16,
        "top_k": 1 << 20,
    }

    # The settings that are never stored with a model: they are different for each text, or do not change the text.
    per_call: ClassVar[tuple[str, ...]] = ("n_best", "prefix", "seed", "scores", "log_probabilities", "alignment")

    beam_size: int = setting(4, "hypotheses kept at each step; 1 is greedy search")
    length_penalty: float = setting(
        0.6, "exponent alpha of the length penalty ((5 + n) / 6)^alpha (Wu et al., 2016, GNMT)"
    )
    max_length_offset: int = setting(50, "how many tokens longer than its source a translation may be")
    n_best: int = setting(1, "translations to return, best first; at most beam_size, unless they are sampled")
    min_length: int = setting(0, "minimum number of tokens of a translation")
    max_length: int = setting(
        0, "maximum number of tokens of a translation; 0 leaves the limit to max_length_offset and the model"
    )
    no_repeat_ngram_size: int = setting(
        0, "n-grams of this size occur at most once in a translation; 0 allows repetition"
    )
    prefix: str = setting("", "text that each translation starts with")
    temperature: float = setting(
        0.0, "0 is beam search; above 0, tokens are sampled: from the model's distribution at 1, a sharper one below 1"
    )
    top_k: int = setting(0, "sample among this many most probable tokens; 0 is all")
    top_p: float = setting(1.0, "sample among the most probable tokens whose probabilities add up to this")
    seed: int = setting(1, "seed of sampling; the samples of a text depend on the seed and the text only")
    protect: bool = setting(
        True, "keep URLs, e-mail addresses, code, placeholders and the like as they are (docs/how-to/translating.md)"
    )
    scores: bool = setting(
        True, "also return the score of each translation; without it, greedy search is a little faster"
    )
    log_probabilities: bool = setting(False, "also return the log-probability of each token")
    alignment: bool = setting(False, "also return the word alignment, if the model has an alignment head")

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("beam_size", "max_length_offset", "n_best"):
            check_at_least(self, name, 1)
        for name in ("min_length", "max_length", "no_repeat_ngram_size", "temperature", "top_k", "seed"):
            check_at_least(self, name, 0)
        check_limits(self)
        if abs(self.length_penalty) > _MAX_LENGTH_PENALTY:
            raise SettingsError(
                f"decode.length_penalty must be between -{_MAX_LENGTH_PENALTY} and {_MAX_LENGTH_PENALTY}, "
                f"got {self.length_penalty}"
            )
        if self.n_best > self.beam_size and not self.temperature:
            raise SettingsError(
                f"decode.n_best ({self.n_best}) cannot exceed decode.beam_size ({self.beam_size}); "
                f"increase the beam size to {self.n_best}"
            )
        if 0 < self.max_length < self.min_length:
            raise SettingsError(
                f"decode.min_length ({self.min_length}) cannot exceed decode.max_length ({self.max_length})"
            )
        if not 0 < self.top_p <= 1:
            raise SettingsError(f"decode.top_p must be above 0 and at most 1, got {self.top_p}")
        if (self.top_k or self.top_p < 1) and not self.temperature:
            raise SettingsError(
                "decode.top_k and decode.top_p apply to sampling, and decode.temperature is 0; "
                "add --set decode.temperature=1"
            )
        if "\n" in self.prefix:
            raise SettingsError("decode.prefix must be a single line, because texts are translated line by line")

    def stored_with_model(self) -> dict[str, Any]:
        """Return the settings that are stored with a model: those that change its text and are not the default."""
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in self.per_call and getattr(self, one.name) != one.default
        }

"""The settings of decoding."""

from dataclasses import dataclass
from typing import ClassVar

from regard.errors import SettingsError
from regard.settings.fields import check_at_least, check_types, setting

_MAX_LENGTH_PENALTY = 10  # far beyond any use, and far from what overflows


@dataclass(frozen=True, kw_only=True)
class DecodeSettings:
    """How to write (section 6.1). Chosen per call; never stored in a model."""

    section: ClassVar[str] = "decode"

    beam_size: int = setting(4, "hypotheses kept at each step; 1 is greedy")
    length_penalty: float = setting(0.6, "strength of the length penalty ((5 + n) / 6)^alpha")
    max_length_offset: int = setting(50, "how many pieces longer than its source a translation may grow")
    n_best: int = setting(1, "how many translations to return, best first; at most beams, unless they are drawn")
    min_length: int = setting(0, "pieces a translation has at least")
    max_length: int = setting(0, "pieces a translation has at most; 0 leaves that to extra and to the model")
    no_repeat_ngram_size: int = setting(0, "no run of so many pieces comes twice in a translation; 0 lets them come")
    prefix: str = setting("", "what a translation begins with")
    temperature: float = setting(
        0.0, "0 searches for the best; else pieces are drawn at random: as probable as they are at 1, sharper below"
    )
    top_k: int = setting(0, "draw among so many of the likeliest pieces; 0 is among all")
    top_p: float = setting(1.0, "draw among the likeliest pieces that together have this probability")
    seed: int = setting(1, "what is drawn follows from it and from the text")
    scores: bool = setting(True, "also return how probable each text is; without, greedy search is a little quicker")
    log_probabilities: bool = setting(False, "also return the log-probability of each piece")
    alignment: bool = setting(
        False, "also return which source word each word comes from, where the head that aligns is known"
    )

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("beam_size", "max_length_offset", "n_best"):
            check_at_least(self, name, 1)
        for name in ("min_length", "max_length", "no_repeat_ngram_size", "temperature", "top_k", "seed"):
            check_at_least(self, name, 0)
        if abs(self.length_penalty) > _MAX_LENGTH_PENALTY:
            raise SettingsError(
                f"decode.length_penalty must be between -{_MAX_LENGTH_PENALTY} and {_MAX_LENGTH_PENALTY}, "
                f"got {self.length_penalty}"
            )
        if self.n_best > self.beam_size and not self.temperature:
            raise SettingsError(
                f"decode.n_best ({self.n_best}) cannot exceed decode.beam_size ({self.beam_size}); "
                f"add --set decode.beam_size={self.n_best}"
            )
        if 0 < self.max_length < self.min_length:
            raise SettingsError(
                f"decode.min_length ({self.min_length}) cannot exceed decode.max_length ({self.max_length})"
            )
        if not 0 < self.top_p <= 1:
            raise SettingsError(f"decode.top_p must be above 0 and at most 1, got {self.top_p}")
        if (self.top_k or self.top_p < 1) and not self.temperature:
            raise SettingsError(
                "decode.top_k and decode.top_p say among which pieces to draw, and nothing is drawn; "
                "add --set decode.temperature=1"
            )
        if "\n" in self.prefix:
            raise SettingsError("decode.prefix must be one line, because texts are translated line by line")

    def extra_outputs(self) -> list[str]:
        """The settings that ask for more than a text of each source."""
        asked = {"n_best": self.n_best > 1, "log_probabilities": self.log_probabilities, "alignment": self.alignment}
        return [f"decode.{name}" for name, wanted in asked.items() if wanted]

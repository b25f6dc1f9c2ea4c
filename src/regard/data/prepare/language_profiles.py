"""The language profiles of a run, made from its training texts."""

from collections.abc import Iterator

from regard.data.formats.records import SIDES, LanguagePair, Side
from regard.data.prepare.text_store import TextPairs
from regard.language_id import LanguageProfile
from regard.progress import Progress, Work

_SAMPLE_TEXTS = 20_000  # of each side, so that a large corpus takes no longer

_MAX_CHARACTERS = 1_000  # of each text, so that a few long texts take neither long nor the whole profile


def build_language_profiles(texts: TextPairs, languages: LanguagePair) -> Work[dict[str, LanguageProfile]]:
    """Return the profile of each side of the training texts whose language is known, by language."""
    profiles: dict[str, LanguageProfile] = {}
    for number, (side, language) in enumerate(zip(SIDES, languages, strict=True)):
        yield Progress("profiling the languages", number, len(SIDES))
        if language is not None and language not in profiles:
            profile = LanguageProfile.of(_sample(texts, side))
            if profile.counts:  # texts of digits have no words
                profiles[language] = profile
    yield Progress("profiling the languages", len(SIDES), len(SIDES))
    return profiles


def _sample(texts: TextPairs, side: Side) -> Iterator[str]:
    """Yield evenly spaced texts of one side, each cut at a maximum length."""
    count = min(len(texts), _SAMPLE_TEXTS)
    for number in range(count):
        index = number * len(texts) // count
        yield texts.texts(side, index, index + 1)[0][:_MAX_CHARACTERS]

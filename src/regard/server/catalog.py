"""The models that are served, and the pairs of languages that they translate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.language_id import LanguageIdentifier, LanguageProfile
from regard.model_folder import bundled
from regard.model_folder.folder import ModelFolder
from regard.model_folder.loader import open_folder
from regard.server.errors import ServeError, UnknownPair
from regard.server.language_names import language_name
from regard.settings.decode import DecodeSettings


@dataclass(frozen=True)
class ServedModel:
    """A model under the name by which clients choose it."""

    name: str
    folder: ModelFolder
    source: str
    target: str
    decode: DecodeSettings

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def has_alignment(self) -> bool:
        return self.folder.alignment is not None


@dataclass(frozen=True)
class Language:
    """A language of the served models, and the languages into which it can be translated."""

    code: str
    name: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Detection:
    """A language in which a text may be, and how sure this is, from 0 to 100."""

    language: str
    confidence: int


class Catalog:
    """The served models in the order in which the operator named them."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._models = tuple(models)
        self._by_pair: dict[tuple[str, str], ServedModel] = {}
        for model in models:
            self._by_pair.setdefault((model.source, model.target), model)

    @classmethod
    def load(cls, names: Sequence[str], decode: Mapping[str, Any] = MappingProxyType({})) -> "Catalog":
        """Verify and open model folders; without names, all bundled models. `decode` changes their decode settings."""
        models = [_served(name, decode) for name in names or bundled.available()]
        taken = [model.name for model in models]
        if double := next((name for name in taken if taken.count(name) > 1), None):
            raise ServeError(f"two models are named {double}; clients choose by the name: rename one of the folders")
        if not models:
            raise ServeError("there is no model to serve; name one with --model")
        return cls(models)

    def models(self) -> tuple[ServedModel, ...]:
        return self._models

    def languages(self) -> list[Language]:
        """Return the languages from which or into which the models translate; pairs may be chained."""
        codes = sorted({code for pair in self._by_pair for code in pair})
        return [
            Language(code, language_name(code), tuple(target for target in codes if self._find(code, target)))
            for code in codes
        ]

    def resolve(self, code: str) -> str | None:
        """Return the language of the models that a code such as "EN-US" or "pt_BR" means, or None."""
        code = code.strip().lower().replace("_", "-")
        known = {each.lower().replace("_", "-"): each for pair in self._by_pair for each in pair}
        return known.get(code) or known.get(code.split("-")[0])

    def chained(self, source: str, target: str) -> bool:
        """Return whether two models, one after the other, translate between two languages."""
        return len(self._find(source, target)) > 1

    def find(self, name: str) -> ServedModel:
        """Return the model with this name."""
        found = next((each for each in self._models if each.name == name), None)
        if found is None:
            raise UnknownPair(f"no model has this name; the models are {', '.join(each.name for each in self._models)}")
        return found

    def route(self, source: str, target: str, model: str | None = None) -> tuple[ServedModel, ...]:
        """Return the models that translate between two languages, one after the other."""
        if model is not None:
            found = self.find(model)
            if (found.source, found.target) != (source, target):
                raise UnknownPair(f"the model {found.name} translates from {found.source} to {found.target}")
            return (found,)
        models = self._find(source, target)
        if not models:
            raise UnknownPair(
                f"{language_name(target)} ({target}) is not available as a target language from "
                f"{language_name(source)} ({source})"
            )
        return models

    def identify(self, text: str) -> list[Detection]:
        """Return the languages in which a text may be, the most probable first; none if it is in no known language."""
        found = self._identifier.identify(text)
        if found.language is None:
            return []
        detections = [Detection(code, round(100 * value)) for code, value in found.probabilities.items()]
        return sorted((each for each in detections if each.confidence), key=lambda each: -each.confidence)

    @cached_property
    def _identifier(self) -> LanguageIdentifier:
        profiles: dict[str, LanguageProfile] = {}
        for model in self._models:
            profiles = {**model.folder.language_profiles, **profiles}
        return LanguageIdentifier(profiles)

    def _find(self, source: str, target: str) -> tuple[ServedModel, ...]:
        if direct := self._by_pair.get((source, target)):
            return (direct,)
        if source == target:
            return ()
        for (first, middle), model in self._by_pair.items():
            if first == source and (second := self._by_pair.get((middle, target))):
                return model, second
        return ()


def _served(name: str, decode: Mapping[str, Any]) -> ServedModel:
    folder = open_folder(Path(name))
    source, target = folder.languages
    if source is None or target is None:
        raise ServeError(f"{name}: the model does not say its languages; train it with --languages SOURCE TARGET")
    settings = replace(folder.decode, **decode)
    return ServedModel(bundled.display_path(folder.path).name, folder, source, target, settings)

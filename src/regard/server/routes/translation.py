"""What the interfaces have in common: the language of each text, and its translation as text or markup."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.documents.elements import MarkupOptions
from regard.inference.result import Translation, TranslationWarning
from regard.server.catalog import Catalog, Detection, ServedModel
from regard.server.errors import TooLarge
from regard.server.routes.document_translation import translate_markup
from regard.server.service import Client, Service, Work


@dataclass(frozen=True)
class Translated:
    """A text of a request, its language, and its translation."""

    text: str  # the translation
    source: str
    confidence: int = 100  # that the text is in this language, from 0 to 100; 0 if its language is unknown
    warnings: tuple[TranslationWarning, ...] = ()
    translation: Translation | None = None  # None if the text has markup, or is in the target language already


@dataclass(frozen=True)
class Order:
    """Texts of a request, and how to translate them."""

    texts: Sequence[str]
    source: str | None  # None: the language of each text is identified
    target: str
    client: Client
    n_best: int = 1
    decode: Mapping[str, Any] = field(default_factory=dict)  # changes to the decode settings of the model
    markup: MarkupOptions | None = None  # of texts with tags
    model: str | None = None
    is_document: bool = False


def check_sizes(service: Service, texts: Sequence[str]) -> None:
    """Raise an error if a request has too many texts, or a text is too long."""
    settings = service.settings
    if len(texts) > settings.batch_limit:
        raise TooLarge(f"a request may have at most {settings.batch_limit:,} texts")
    if any(len(text) > settings.char_limit for text in texts):
        raise TooLarge(f"a text may have at most {settings.char_limit:,} characters")


async def translate_order(service: Service, order: Order) -> list[Translated]:
    """Translate the texts of an order, each from its own language. Texts in the target language are returned as is."""
    sources = [await _source(service, text, order) for text in order.texts]
    by_source: dict[str, list[int]] = {}
    for number, (source, _) in enumerate(sources):
        by_source.setdefault(source, []).append(number)
    groups = [(source, [order.texts[number] for number in numbers]) for source, numbers in by_source.items()]
    work = [_translate(service, order, texts, source) for source, texts in groups]
    results = await asyncio.gather(*work) if len(work) > 1 else [await each for each in work]
    found = {
        number: result
        for numbers, group in zip(by_source.values(), results, strict=True)
        for number, result in zip(numbers, group, strict=True)
    }
    return [replace(found[number], confidence=confidence) for number, (_, confidence) in enumerate(sources)]


async def _translate(service: Service, order: Order, texts: list[str], source: str) -> list[Translated]:
    if source == order.target:
        return [Translated(text, source) for text in texts]
    work = Work(tuple(texts), source, order.target, order.decode, order.client, order.is_document, order.model)
    if order.markup is not None:
        documents = await translate_markup(service, work, order.markup)
        return [Translated(each.text, source, warnings=each.warnings) for each in documents]
    if order.n_best > 1:
        beam_size = service.catalog.route(source, order.target, order.model)[-1].decode.beam_size
        n_best = {"n_best": order.n_best, "beam_size": max(beam_size, order.n_best)}
        work = replace(work, decode={**order.decode, **n_best})
    translations = await service.translate(work)
    return [Translated(each.text, source, warnings=each.warnings, translation=each) for each in translations]


async def _source(service: Service, text: str, order: Order) -> tuple[str, int]:
    """Return the language of a text, and how sure this is, from 0 to 100."""
    return (order.source, 100) if order.source is not None else await identify_source(service, text, order.target)


async def identify(service: Service, text: str) -> list[Detection]:
    """Return the languages in which a text may be; between the texts of a request, other requests have their turn."""
    await asyncio.sleep(0)
    return service.identify(text)


async def identify_source(service: Service, text: str, target: str) -> tuple[str, int]:
    """Return in which language a text is, and how sure this is; if it is unknown, a language with this target."""
    if found := await identify(service, text):
        return found[0].language, found[0].confidence
    sources = [each.code for each in service.catalog.languages() if target in each.targets]
    return "en" if "en" in sources or not sources else sources[0], 0


def note_headers(catalog: Catalog, order: Order, translated: Sequence[Translated]) -> dict[str, str]:
    """Return what the answers of LibreTranslate and DeepL have no field for: warnings, and the chaining of models."""
    warnings = dict.fromkeys(warning.kind for each in translated for warning in each.warnings)
    routes = (find_models(catalog, each.source, order) for each in translated)
    pivots = dict.fromkeys(models[0].target for models in routes if len(models) > 1)
    headers = {"X-Regard-Warnings": ", ".join(warnings), "X-Regard-Pivot": ", ".join(pivots)}
    return {name: value for name, value in headers.items() if value}


def find_models(catalog: Catalog, source: str, order: Order) -> tuple[ServedModel, ...]:
    """Return the models that translate a text of an order, one after the other; none if it needs no translation."""
    return () if source == order.target else catalog.route(source, order.target, order.model)

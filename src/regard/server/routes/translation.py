"""What the interfaces have in common: the language of each text, and its translation as text or markup."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

from regard.documents.document import Document
from regard.documents.elements import MarkupOptions
from regard.inference.result import Translation, TranslationWarning
from regard.server.catalog import Catalog, Detection, ServedModel
from regard.server.errors import TooLarge
from regard.server.routes.document_translation import read_markup, translate_documents
from regard.server.service import Client, Service, Work

_T = TypeVar("_T")

_QUICK_CHARACTERS = 300  # of a text whose language is identified in less than some milliseconds


@dataclass(frozen=True)
class Translated:
    """A text of a request, its language, and its translation."""

    text: str  # the translation
    source: str
    characters: int = 0  # that are charged
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
    items: Sequence[str | Document] = order.texts
    if order.markup is not None:
        items = await read_markup(order.texts, order.markup)
    by_source: dict[str, list[int]] = {}
    characters = [0] * len(items)
    for number, ((source, _), item) in enumerate(zip(sources, items, strict=True)):
        if source != order.target:
            by_source.setdefault(source, []).append(number)
            characters[number] = len(item) if isinstance(item, str) else item.characters
    groups = [(source, [items[number] for number in numbers]) for source, numbers in by_source.items()]
    with service.charge(order.client, sum(characters)):
        results = await _all([_translate(service, order, source, group) for source, group in groups])
    found = dict(zip(chain(*by_source.values()), chain(*results), strict=True))
    return [
        replace(found.get(number) or Translated(text, source), confidence=confidence, characters=characters[number])
        for number, (text, (source, confidence)) in enumerate(zip(order.texts, sources, strict=True))
    ]


async def _all(work: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Return the results of work; if one raises an error, the others are cancelled."""
    if len(work) == 1:
        return [await work[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


async def _translate(service: Service, order: Order, source: str, items: Sequence[str | Document]) -> list[Translated]:
    """Translate texts or documents in one language."""
    work = Work((), source, order.target, order.decode, order.client, model=order.model)
    if order.markup is not None:
        translated = await translate_documents(service, work, [each for each in items if isinstance(each, Document)])
        return [Translated(each.text, source, warnings=each.warnings) for each in translated]
    if order.n_best > 1:
        beam_size = service.catalog.route(source, order.target, order.model)[-1].decode.beam_size
        n_best = {"n_best": order.n_best, "beam_size": max(beam_size, order.n_best)}
        work = replace(work, decode={**order.decode, **n_best})
    texts = tuple(each for each in items if isinstance(each, str))
    translations = await service.translate(replace(work, texts=texts))
    return [Translated(each.text, source, warnings=each.warnings, translation=each) for each in translations]


async def _source(service: Service, text: str, order: Order) -> tuple[str, int]:
    """Return the language of a text, and how sure this is, from 0 to 100."""
    return (order.source, 100) if order.source is not None else await identify_source(service, text, order.target)


async def identify(service: Service, text: str) -> list[Detection]:
    """Return the languages in which a text may be; meanwhile, other requests have their turn."""
    if len(text) > _QUICK_CHARACTERS:
        return await asyncio.to_thread(service.identify, text)
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

"""Our own interface, which offers what the others have no fields for: scores, warnings, words, and looks inside."""

from dataclasses import asdict
from functools import cache
from typing import Any

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse

from regard import __version__
from regard.documents.elements import MarkupOptions
from regard.inference.result import Translation
from regard.server.catalog import ServedModel
from regard.server.errors import UnknownPair
from regard.server.routes.inputs import InputError, check_text
from regard.server.routes.reference_page import reference_page, style_policy
from regard.server.routes.translation import (
    Order,
    Translated,
    check_sizes,
    find_models,
    identify,
    identify_source,
    translate_order,
)
from regard.server.routes.v1_fields import (
    Alternative,
    AlternativesAnswer,
    AlternativesRequest,
    Candidate,
    DetectAnswer,
    Detected,
    DetectRequest,
    LanguagesRequest,
    LookRequest,
    LookStateAnswer,
    ModelAnswer,
    ModelsAnswer,
    Notice,
    SourceWord,
    TargetWord,
    TranslateAnswer,
    TranslateRequest,
    TranslationAnswer,
    error_responses,
)
from regard.server.routes.words import find_words, target_words
from regard.server.service import Service, Work
from regard.server.wire import translation_from_dict

_SUCCESS = "Success."

_ERRORS = error_responses(400, 401, 403, 413, 422, 429, 500, 503)


def router(service: Service) -> APIRouter:
    """Return the routes of the interface."""
    routes = APIRouter(prefix="/v1")
    translation_errors = _ERRORS | error_responses(404, 504)

    @routes.post("/translate", responses=translation_errors, response_description=_SUCCESS)
    async def translate(body: TranslateRequest, request: Request) -> TranslateAnswer:
        """Translate a text, or a list of texts."""
        order = _order(service, body, request)
        translated = await translate_order(service, order)
        pairs = zip(order.texts, translated, strict=True)
        return TranslateAnswer(translations=[_answer(service, order, *pair, words=body.words) for pair in pairs])

    @routes.post("/alternatives", responses=translation_errors, response_description=_SUCCESS)
    async def alternatives(body: AlternativesRequest, request: Request) -> AlternativesAnswer:
        """Continue a translation in other ways from one of its words."""
        work = await _single(service, body, request)
        found = await service.alternatives(work, body.word, body.count, target=body.translation)
        return AlternativesAnswer(source=work.source, alternatives=[_alternative(**each) for each in found])

    @routes.post("/look", responses=translation_errors, response_description=_SUCCESS)
    async def look(body: LookRequest, request: Request) -> dict[str, Any]:
        """Return the numbers inside the model for one text, as the page `regard look --html` draws them."""
        return await service.look(
            await _single(service, body, request),
            target=body.translation,
            without=body.without,
            instead=body.instead,
            parts=body.parts,
            vectors=body.vectors,
        )

    @routes.get("/look", responses=error_responses(401, 403, 429), response_description=_SUCCESS)
    async def look_state() -> LookStateAnswer:
        """Return whether the process that looks inside models is running."""
        state, waiting = service.helper_state
        return LookStateAnswer(state=state, waiting=waiting)

    @routes.post("/detect", responses=_ERRORS, response_description=_SUCCESS)
    async def detect(body: DetectRequest) -> DetectAnswer:
        """Identify the language of a text, or of each text of a list."""
        found = [await identify(service, text) for text in _texts(service, body.text)]
        return DetectAnswer(detections=[[Detected(**asdict(each)) for each in detections] for detections in found])

    @routes.get("/models", responses=error_responses(401, 403, 429), response_description=_SUCCESS)
    async def models() -> ModelsAnswer:
        """List the served models, with their cards."""
        return ModelsAnswer(models=[_model(each) for each in service.catalog.models()])

    @cache
    def openapi() -> dict[str, Any]:
        return _openapi(service, routes)

    @cache
    def page() -> str:
        return reference_page(openapi())

    @routes.get("/openapi.json", include_in_schema=False)
    async def schema() -> JSONResponse:
        return JSONResponse(openapi())

    @routes.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        """Return the documentation, whose only style sheet is inside it."""
        return HTMLResponse(page(), headers={"Content-Security-Policy": style_policy(page())})

    return routes


def _openapi(service: Service, routes: APIRouter) -> dict[str, Any]:
    """Return the schema, with the limits of this server."""
    schema = get_openapi(
        title="/v1",
        version=__version__,
        description="Translation with scores, warnings, word alignment, and a look inside the model.",
        routes=routes.routes,
    )
    settings = service.settings
    for name, request in schema["components"]["schemas"].items():
        if not name.endswith("Request"):
            continue
        fields = request["properties"]
        for text in fields["text"].get("anyOf", [fields["text"]]):
            if text["type"] == "array":
                text["maxItems"] = settings.batch_limit
            text.get("items", text)["maxLength"] = settings.char_limit
        for field, maximum in (("n_best", 1 + settings.alternatives_limit), ("count", settings.alternatives_limit)):
            if field in fields:
                fields[field]["maximum"] = maximum
    return schema


def _texts(service: Service, text: str | list[str]) -> list[str]:
    """Return the texts of a request, after checking how many and how long they are."""
    texts = [text] if isinstance(text, str) else text
    for each in texts:
        check_text("text", each)
    check_sizes(service, texts)
    return texts


def languages(service: Service, body: LanguagesRequest) -> tuple[str | None, str]:
    """Return the languages of a request, as the models name them; raise an error if no model translates so.

    Without a source language, it is that of the model if one is named, and else None.
    """
    catalog = service.catalog
    model = catalog.find(body.model) if body.model is not None else None
    source, target = (catalog.resolve(code) if code is not None else None for code in (body.source, body.target))
    if target is None or (body.source is not None and source is None):
        raise UnknownPair(f"the models translate between {', '.join(each.code for each in catalog.languages())}")
    if model is not None:
        source = source or model.source
    if source is not None and (source != target or model is not None):
        catalog.route(source, target, body.model)
    return source, target


async def _single(service: Service, body: AlternativesRequest | LookRequest, request: Request) -> Work:
    """Return the work for a request about a single text."""
    for name in ("text", "translation"):
        if (value := getattr(body, name)) is not None:
            check_text(name, value)
    check_sizes(service, [body.text])
    source, target = languages(service, body)
    source = source or (await identify_source(service, body.text, target))[0]
    return Work((body.text,), source, target, {}, request.state.client, model=body.model)


def _order(service: Service, body: TranslateRequest, request: Request) -> Order:
    limit = 1 + service.settings.alternatives_limit
    if body.n_best > limit:
        raise InputError(f"n_best must be at most {limit}")
    if body.format != "text" and (body.n_best > 1 or body.words):
        raise InputError("n_best and words need the format text")
    texts = _texts(service, body.text)
    source, target = languages(service, body)
    return Order(
        texts,
        source,
        target,
        request.state.client,
        n_best=body.n_best,
        decode={"alignment": True, "log_probabilities": True} if body.words else {},
        markup=None if body.format == "text" else MarkupOptions(body.format),
        model=body.model,
    )


def _answer(service: Service, order: Order, text: str, translated: Translated, *, words: bool) -> TranslationAnswer:
    translation = translated.translation
    models = find_models(service.catalog, translated.source, order)
    answer = TranslationAnswer(
        text=translated.text,
        score=translation.score if translation else None,
        log_probability=translation.log_probability if translation else None,
        source=translated.source,
        target=order.target,
        detected=None if order.source else Detected(language=translated.source, confidence=translated.confidence),
        models=[each.name for each in models],
        pivot=models[0].target if len(models) > 1 else None,
        alternatives=[
            Candidate(**_candidate(each, words=words)) for each in (translation.alternatives if translation else ())
        ],
        warnings=[Notice(**asdict(each)) for each in translated.warnings],
    )
    if words and translation is not None:
        answer.words = _words(translation)
        answer.source_words = [SourceWord(**asdict(each)) for each in find_words(text)]
    return answer


def _candidate(translation: Translation, *, words: bool) -> dict[str, Any]:
    scores = {"score": translation.score, "log_probability": translation.log_probability}
    return {"text": translation.text, **scores, "words": _words(translation) if words else None}


def _alternative(word: str, probability: float, translation: dict[str, Any]) -> Alternative:
    """Return an answer of the helper process as the interface describes it."""
    candidate = _candidate(translation_from_dict(translation), words=True)
    return Alternative(word=word, probability=probability, **candidate)


def _words(translation: Translation) -> list[TargetWord]:
    return [TargetWord(**each) for each in target_words(translation)]


def _model(model: ServedModel) -> ModelAnswer:
    card = model.path / "card.md"
    return ModelAnswer(
        name=model.name,
        source=model.source,
        target=model.target,
        description=model.folder.settings.describe(),
        has_alignment=model.has_alignment,
        card=card.read_text("utf-8") if card.is_file() else None,
    )

"""The interface of DeepL, version 2, with its fields, its order of checks, and its error messages."""

import asyncio
import re
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.documents.elements import MarkupOptions
from regard.server.routes.document_jobs import DocumentJobs, Job, attachment, problem
from regard.server.routes.error_answers import answer
from regard.server.routes.inputs import InputError, Inputs, check_text, read_inputs
from regard.server.routes.translation import Order, check_sizes, note_headers, translate_order
from regard.server.service import Service

# Clients refuse these languages as targets, or do not list them, without a variant.
_TARGET_VARIANTS = {
    "en": (("EN-GB", "English (British)"), ("EN-US", "English (American)")),
    "pt": (("PT-BR", "Portuguese (Brazilian)"), ("PT-PT", "Portuguese (European)")),
}

_SECONDS_BEFORE_STATUS = 1.0  # to wait for a document, because clients ask for its status only every few seconds

_LINE_BREAK = re.compile(r"\s*\n\s*")

_UNLIMITED = 1_000_000_000_000  # characters; DeepL writes this number, too, if there is no limit


def routes(service: Service, jobs: DocumentJobs) -> list[Route]:
    """Return the routes of the interface."""
    api = _DeepL(service, jobs)
    return [
        Route("/v2/translate", api.translate, methods=["POST"]),
        Route("/v2/languages", api.languages, methods=["GET", "POST"]),
        Route("/v2/usage", api.usage, methods=["GET", "POST"]),
        Route("/v2/document", api.upload, methods=["POST"]),
        Route("/v2/document/{id}", api.status, methods=["GET", "POST"]),
        Route("/v2/document/{id}/result", api.result, methods=["GET", "POST"]),
        Route("/v2/glossary-language-pairs", _glossary_pairs, methods=["GET"]),
        *(Route(f"/{version}/glossaries", _glossaries, methods=["GET", "POST"]) for version in ("v2", "v3")),
        *(
            Route(f"/{version}/glossaries/{{rest:path}}", _glossary, methods=["GET", "PUT", "PATCH", "DELETE"])
            for version in ("v2", "v3")
        ),
    ]


class _DeepL:
    def __init__(self, service: Service, jobs: DocumentJobs) -> None:
        self._service = service
        self._jobs = jobs

    async def translate(self, request: Request) -> Response:
        inputs = await read_inputs(request)
        texts = _texts(inputs)
        source, target = self._languages(inputs)
        markup = _markup(inputs)
        if (inputs.get_text("split_sentences") or "1") != "1" and markup is None:
            texts = [_LINE_BREAK.sub(" ", text) for text in texts]
        check_sizes(self._service, texts)
        order = Order(texts, source, target, request.state.client, markup=markup)
        translated = await translate_order(self._service, order)
        show_billed = inputs.get_flag("show_billed_characters")
        extra = _extra_fields(inputs)
        content = [
            {
                "detected_source_language": each.source.upper(),
                "text": each.text,
                **({"billed_characters": each.characters} if show_billed else {}),
                **extra,
            }
            for each in translated
        ]
        return JSONResponse({"translations": content}, headers=note_headers(self._service.catalog, order, translated))

    def _languages(self, inputs: Inputs) -> tuple[str | None, str]:
        source, target = inputs.get_text("source_lang"), inputs.get_text("target_lang")
        if target is None:
            raise InputError("Parameter 'target_lang' not specified")
        catalog = self._service.catalog
        known_source = catalog.resolve(source) if source else None
        known_target = catalog.resolve(target)
        if source and known_source is None:
            raise InputError("Value for 'source_lang' not supported.")
        if known_target is None:
            raise InputError("Value for 'target_lang' not supported.")
        _check_unsupported(inputs)
        if known_source and known_source != known_target:
            catalog.route(known_source, known_target)
        return known_source, known_target

    async def languages(self, request: Request) -> Response:
        kind = (await read_inputs(request)).get_text("type") or "source"
        languages = self._service.catalog.languages()
        if kind == "source":
            sources = [each for each in languages if each.targets]
            return JSONResponse([{"language": each.code.upper(), "name": each.name} for each in sources])
        if kind != "target":
            raise InputError("Parameter 'type' is invalid. 'source' and 'target' are valid values.")
        codes = {code for each in languages for code in each.targets}
        variants = [
            variant
            for each in languages
            if each.code in codes
            for variant in _TARGET_VARIANTS.get(each.code, ((each.code.upper(), each.name),))
        ]
        return JSONResponse([{"language": code, "name": name, "supports_formality": False} for code, name in variants])

    async def usage(self, request: Request) -> Response:
        await read_inputs(request)
        count, limit = self._service.usage(request.state.client)
        return JSONResponse({"character_count": count, "character_limit": limit or _UNLIMITED})

    async def upload(self, request: Request) -> Response:
        inputs = await read_inputs(request)
        if "file" not in inputs.files:
            raise InputError("Parameter 'file' not specified")
        file = inputs.files["file"]
        file = replace(file, name=file.name or inputs.get_text("filename") or "")
        if (wanted := inputs.get_text("output_format")) and not file.name.lower().endswith(f".{wanted.lower()}"):
            raise InputError("Value for 'output_format' not supported.")
        source, target = self._languages(inputs)
        job = await self._jobs.start(file, source, target, request.state.client)
        return JSONResponse({"document_id": job.id, "document_key": job.key})

    async def status(self, request: Request) -> Response:
        job = await self._find(request)
        await asyncio.wait([job.task], timeout=_SECONDS_BEFORE_STATUS)
        content: dict[str, Any] = {"document_id": job.id}
        if not job.task.done():
            content |= {"status": "translating", "seconds_remaining": 5}
        elif error := problem(job):
            content |= {"status": "error", "error_message": error}
        else:
            content |= {"status": "done", "billed_characters": job.characters}
        return JSONResponse(content)

    async def result(self, request: Request) -> Response:
        job = await self._find(request)
        if not job.task.done():
            return answer("deepl", 503, "The document is not translated yet.", retry_after=1)
        return attachment(job)

    async def _find(self, request: Request) -> Job:
        key = (await read_inputs(request)).get_text("document_key") or ""
        job = self._jobs.find(request.path_params["id"], key)
        if job is None:
            raise HTTPException(404, "Document not found")
        return job


def _texts(inputs: Inputs) -> list[str]:
    texts = inputs.get_all("text")
    if texts is None or texts == []:
        raise InputError("Parameter 'text' not specified")
    texts = texts if isinstance(texts, list) else [texts]
    for text in texts:
        check_text("text", text)
    return texts


def _check_unsupported(inputs: Inputs) -> None:
    """Raise an error for a request whose result would not be what it asks for."""
    if inputs.get("formality") in ("more", "less"):
        raise InputError("'formality' is not supported for given 'target_lang'.")
    if inputs.get("glossary_id") is not None or inputs.get("glossary_ids") not in (None, []):
        raise HTTPException(404, "Glossary not found")


def _markup(inputs: Inputs) -> MarkupOptions | None:
    match inputs.get_text("tag_handling"):
        case None:
            return None
        case "html" | "xml" as name:
            return MarkupOptions(
                name,
                splitting_tags=frozenset(inputs.get_names("splitting_tags")),
                non_splitting_tags=frozenset(inputs.get_names("non_splitting_tags")),
                ignore_tags=frozenset(inputs.get_names("ignore_tags")),
                find_structure=str(inputs.get("outline_detection")).lower() not in ("0", "false"),
                collapse_space=True if inputs.get_text("split_sentences") in ("0", "nonewlines") else None,
            )
        case _:
            raise InputError("Value for 'tag_handling' not supported.")


def _extra_fields(inputs: Inputs) -> dict[str, str]:
    """Return the fields of an answer that are there only if the request has asked for them."""
    fields = {}
    if model := inputs.get_text("model_type"):
        fields["model_type_used"] = model.removeprefix("prefer_")
    if inputs.get("tag_handling") is not None:
        fields["tag_handling_version"] = inputs.get_text("tag_handling_version") or "v2"
    return fields


async def _glossary_pairs(request: Request) -> Response:
    await read_inputs(request)
    return JSONResponse({"supported_languages": []})


async def _glossaries(request: Request) -> Response:
    await read_inputs(request)
    if request.method == "GET":
        return JSONResponse({"glossaries": []})
    detail = "Unsupported glossary source/target language pair"
    return JSONResponse({"message": "Bad request", "detail": detail}, 400)


async def _glossary(request: Request) -> Response:
    await read_inputs(request)
    return answer("deepl", 404, "Glossary not found")

"""The interface of LibreTranslate, with its fields, its order of checks, and its error messages."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.documents.elements import MarkupOptions
from regard.documents.files import SUFFIXES
from regard.server.catalog import Catalog
from regard.server.routes.document_jobs import DocumentJobs, attachment
from regard.server.routes.error_answers import answer
from regard.server.routes.inputs import InputError, Inputs, check_text, read_inputs
from regard.server.routes.libretranslate_spec import SPEC
from regard.server.routes.translation import Order, Translated, identify, note_headers, translate_order
from regard.server.service import Service

_MAX_DETECTIONS = 3

_SHOWN = 40  # characters of a value that an error message repeats

_FORM = "application/x-www-form-urlencoded"


def routes(service: Service, jobs: DocumentJobs) -> list[Route]:
    """Return the routes of the interface."""
    api = _LibreTranslate(service, jobs)
    return [
        Route("/translate", api.translate, methods=["POST"]),
        Route("/detect", api.detect, methods=["POST"]),
        Route("/languages", api.languages, methods=["GET", "POST"]),
        Route("/frontend/settings", api.settings, methods=["GET"]),
        Route("/suggest", api.suggest, methods=["POST"]),
        Route("/translate_file", api.translate_file, methods=["POST"]),
        Route("/download_file/{name}", api.download_file, methods=["GET"]),
        Route("/spec", api.spec, methods=["GET"]),
        Route("/", api.probe, methods=["POST"]),
    ]


class _LibreTranslate:
    def __init__(self, service: Service, jobs: DocumentJobs) -> None:
        self._service = service
        self._jobs = jobs

    async def translate(self, request: Request) -> Response:
        inputs = await read_inputs(request)
        order, alternatives = self._order(inputs, request)
        translated = await translate_order(self._service, order)
        answers = [_answer(each, alternatives) for each in translated]
        is_list = isinstance(inputs.get("q"), list)
        content = {name: [each[name] for each in answers] for name in answers[0]} if is_list else answers[0]
        return JSONResponse(content, headers=note_headers(self._service.catalog, order, translated))

    def _order(self, inputs: Inputs, request: Request) -> tuple[Order, int | None]:
        """Return what a request asks to translate, and how many alternatives, checked in LibreTranslate's order."""
        q = _required(inputs, "q")
        source, target = _required_code(inputs, "source"), _required_code(inputs, "target")
        alternatives = _alternatives(inputs, self._service.settings.alternatives_limit)
        texts = q if isinstance(q, list) else [q]
        self._check_texts(texts)
        known_source, known_target = self._languages(source, target)
        markup = _markup(inputs)
        _check_pair(self._service.catalog, known_source, known_target)
        n_best = 1 + (alternatives or 0) if markup is None else 1
        client = request.state.client
        return Order(texts, known_source, known_target, client, n_best=n_best, markup=markup), alternatives

    def _languages(self, source: str, target: str) -> tuple[str | None, str]:
        """Return the languages of two codes; None for "auto"."""
        catalog = self._service.catalog
        return None if source.lower() == "auto" else _language(catalog, source), _language(catalog, target)

    def _check_texts(self, texts: list[Any]) -> None:
        settings = self._service.settings
        _check_size(len(texts), settings.batch_limit)
        for text in texts:
            check_text("q", text)
            _check_size(len(text), settings.char_limit)

    async def detect(self, request: Request) -> Response:
        text = _required(await read_inputs(request), "q")
        self._check_texts([text])
        found = [(each.confidence, each.language) for each in (await identify(self._service, text))[:_MAX_DETECTIONS]]
        return JSONResponse([{"confidence": score, "language": code} for score, code in found or [(0, "en")]])

    async def languages(self, request: Request) -> Response:
        """List the languages. A POST is refused, as by LibreTranslate, but for the form of old clients."""
        if request.method == "POST" and not request.headers.get("content-type", "").startswith(_FORM):
            return answer("libretranslate", 405, "Method Not Allowed", headers={"Allow": "GET"})
        await read_inputs(request)
        languages = self._service.catalog.languages()
        return JSONResponse(
            [
                {"code": each.code, "name": each.name, "targets": sorted({each.code, *each.targets})}
                for each in languages
            ]
        )

    async def settings(self, request: Request) -> Response:
        await read_inputs(request)
        settings, languages = self._service.settings, self._service.catalog.languages()
        codes = {code for each in languages for code in each.targets}
        target = next(each for each in reversed(languages) if each.code in codes)
        return JSONResponse(
            {
                "apiKeys": bool(settings.keys),
                "charLimit": settings.char_limit,
                "filesTranslation": True,
                "frontendTimeout": 500,
                "keyRequired": bool(settings.keys),
                "language": {
                    "source": {"code": "auto", "name": "Auto Detect"},
                    "target": {"code": target.code, "name": target.name},
                },
                "suggestions": False,
                "supportedFilesFormat": list(SUFFIXES),
            }
        )

    async def suggest(self, request: Request) -> Response:
        await read_inputs(request)
        return answer("libretranslate", 403, "Suggestions are disabled on this server.")

    async def translate_file(self, request: Request) -> Response:
        inputs = await read_inputs(request)
        if "file" not in inputs.files or not inputs.files["file"].name:
            raise InputError("Invalid request: missing file parameter")
        source, target = self._languages(_required_code(inputs, "source"), _required_code(inputs, "target"))
        _check_pair(self._service.catalog, source, target)
        job = await self._jobs.start(inputs.files["file"], source, target, request.state.client)
        try:
            await asyncio.shield(job.task)
        except asyncio.CancelledError:
            job.task.cancel()
            raise
        url = request.url_for("download_file", name=job.file_name)
        return JSONResponse({"translatedFileUrl": str(url)})

    async def download_file(self, request: Request) -> Response:
        identifier, _, key = request.path_params["name"].partition(".")[0].partition("-")
        job = self._jobs.find(identifier, key)
        if job is None or not job.task.done():
            return answer("libretranslate", 404, "Not Found")
        return attachment(job)

    async def spec(self, _: Request) -> Response:
        return JSONResponse(SPEC)

    async def probe(self, request: Request) -> Response:
        """Answer clients that test the connection with a POST to the root."""
        await read_inputs(request)
        return JSONResponse({"status": "ok"})


def _required(inputs: Inputs, name: str) -> Any:
    value = inputs.get(name)
    if value is None or value == []:
        raise InputError(f"Invalid request: missing {name} parameter")
    return value


def _required_code(inputs: Inputs, name: str) -> str:
    value: str = _required(inputs, name)
    check_text(name, value)
    return value


def _alternatives(inputs: Inputs, limit: int) -> int | None:
    """Return how many alternatives are asked for, or None."""
    value = inputs.get("alternatives")
    if value is None:
        return None
    try:
        count = max(0, int(value if isinstance(value, str | int) else str(value)))
    except ValueError:
        raise InputError("Invalid request: alternatives parameter is not a number") from None
    if count > limit:
        raise InputError(f"Invalid request: alternatives parameter must be <= {limit}")
    return count


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise InputError(f"Invalid request: request ({size}) exceeds text limit ({limit})")


def _language(catalog: Catalog, code: str) -> str:
    found = catalog.resolve(code)
    if found is None:
        raise InputError(f"{code[:_SHOWN]} is not supported")
    return found


def _markup(inputs: Inputs) -> MarkupOptions | None:
    name = inputs.get_text("format") or "text"
    if name not in ("text", "html"):
        raise InputError(f"{name[:_SHOWN]} format is not supported")
    return MarkupOptions("html") if name == "html" else None


def _check_pair(catalog: Catalog, source: str | None, target: str) -> None:
    if source is not None and source != target:
        catalog.route(source, target)


def _answer(translated: Translated, alternatives: int | None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "translatedText": translated.text,
        "detectedLanguage": {"confidence": translated.confidence, "language": translated.source},
    }
    if alternatives:
        others = translated.translation.alternatives if translated.translation else ()
        answer["alternatives"] = [each.text for each in others]
    return answer

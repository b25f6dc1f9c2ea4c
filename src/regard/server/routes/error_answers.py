"""The answer to a request that is refused, in the shape and with the status of its interface.

LibreTranslate answers `{"error": "..."}`, DeepL `{"message": "..."}`, and `/v1` `{"error": {"code", "message"}}`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.errors import UserError
from regard.server.errors import Refusal
from regard.server.proxies import path_of

Family = Literal["libretranslate", "deepl", "v1"]

# Where an interface has another status for a reason than the reason has by itself.
_STATUS: Mapping[Family, Mapping[str, int]] = {
    "libretranslate": {
        "missing_key": 400,
        "quota_exceeded": 403,
        "refused_text": 400,
    },  # Mastodon takes 403 for a used-up quota
    "deepl": {"missing_key": 403, "refused_text": 400},
    "v1": {"quota_exceeded": 429, "bad_request": 422, "unknown_pair": 404},
}

# Where clients know the message, or search it for words.
_MESSAGES: Mapping[Family, Mapping[str, str]] = {
    "libretranslate": {"queue_full": "Slowdown: {}", "rate_exceeded": "Slowdown: {}"},
    "deepl": {"quota_exceeded": "Quota for this billing period has been exceeded."},
    "v1": {},
}

_CODES = {400: "bad_request", 401: "missing_key", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}
_CODES |= {413: "too_large", 414: "too_large", 422: "invalid_request", 429: "rate_exceeded", 503: "unavailable"}

_INTERNAL_ERROR = "The server encountered an internal error and could not answer the request."


def family_of(path: str) -> Family:
    """Return the interface to which a path belongs."""
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    return "v1" if first == "v1" else "deepl" if first in ("v2", "v3") else "libretranslate"


def add_error_handlers(app: FastAPI) -> None:
    """Let an application answer every error in the shape of the interface that was called."""
    for kind in (Refusal, UserError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    request.app.state.service.metrics.count_refusal(error)
    return error_answer(family_of(path_of(request.scope)), error)


def error_answer(family: Family, error: Exception) -> Response:
    """Return the answer to a request that has raised an error. Only errors with a message for the client show it."""
    match error:
        case Refusal():
            status = _STATUS[family].get(error.code, error.status)
            message = _MESSAGES[family].get(error.code, "{}").format(error.message)
            return answer(family, status, message, code=error.code, retry_after=error.retry_after)
        case UserError():
            return answer(family, 422 if family == "v1" else 400, str(error))
        case HTTPException():
            return answer(family, error.status_code, str(error.detail), headers=error.headers or {})
        case RequestValidationError():
            return answer(family, 422, _first_problem(error))
        case _:
            return answer(family, 500, _INTERNAL_ERROR, code="internal_error")


def _first_problem(error: RequestValidationError) -> str:
    """Return where a request is wrong, and why; the value itself is left out, because it may be long."""
    problem = error.errors()[0]
    if problem["loc"] == ("body",):
        return "the body must be a JSON object, sent with the header Content-Type: application/json"
    where = ".".join(str(each) for each in problem["loc"][1:])
    return f"{where}: {problem['msg']}" if where else str(problem["msg"])


def answer(
    family: Family,
    status: int,
    message: str,
    *,
    code: str | None = None,
    retry_after: int | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> JSONResponse:
    """Return an error in the shape of an interface."""
    content: dict[str, Any]
    match family:
        case "libretranslate":
            content = {"error": message}
        case "deepl":
            content = {"message": message}
        case "v1":
            content = {"error": {"code": code or _CODES.get(status, "error"), "message": message}}
    retry = {} if retry_after is None else {"Retry-After": str(max(1, retry_after))}
    return JSONResponse(content, status, {**headers, **retry})

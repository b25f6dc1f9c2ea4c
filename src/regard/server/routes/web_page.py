"""The web page: one document at `/`, and its files under `/static/`.

The address of a file has a hash of all files in it. So browsers may keep a file for ever, and after an update of Regard
they ask for the new ones. The document itself says which files belong to it, and what this server translates.
"""

import gzip
import json
import re
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard import __version__
from regard.documents.files import SUFFIXES
from regard.page.assets import imported_modules, read_asset, served_files
from regard.server.routes.error_answers import answer
from regard.server.service import Service

_PAGE_TYPE = "text/html; charset=utf-8"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def routes(service: Service) -> list[Route]:
    """Return the routes of the page."""

    async def page(request: Request) -> Response:
        """Return the document. A browser asks for it at every visit, and gets it if it has changed."""
        content = _document(service).encode()
        tag = f'"{sha256(content).hexdigest()[:16]}"'
        headers = {"Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            # The headers of this answer replace those that the browser has kept, and the policy depends on the type.
            return Response(status_code=304, media_type=_PAGE_TYPE, headers=headers)
        return _compressed(request, content, _PAGE_TYPE, headers)

    async def static(request: Request) -> Response:
        """Return a file. One with the hash of another version is the present one, which may not be kept."""
        content = _files().get(name := request.path_params["name"])
        if content is None:
            return answer("libretranslate", 404, "Not Found")
        is_current = request.path_params["version"] == _version()
        headers = {"Cache-Control": "public, max-age=31536000, immutable" if is_current else "no-cache"}
        return _compressed(request, content, f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8", headers)

    return [
        Route("/", page, methods=["GET"]),
        Route("/static/{version}/{name}", static, methods=["GET"]),
    ]


def _document(service: Service) -> str:
    return _template().replace("{{server}}", _escaped(_facts(service)))


@cache
def _template() -> str:
    """Return the document of every server, without the facts of this one."""
    folder = f"static/{_version()}"
    preload = (f'<link rel="modulepreload" href="{folder}/{name}">' for name in imported_modules("translate.js")[1:])
    contents = {"{{static}}": folder, "{{preload}}": "\n".join(preload)}
    return re.sub("|".join(contents), lambda placeholder: contents[placeholder[0]], read_asset("page.html"))


def _facts(service: Service) -> dict[str, Any]:
    """Return what the page has to know before it asks anything."""
    settings, catalog = service.settings, service.catalog
    return {
        "version": __version__,
        "languages": [{"code": each.code, "name": each.name, "targets": each.targets} for each in catalog.languages()],
        "charLimit": settings.char_limit,
        "batchLimit": settings.batch_limit,
        "files": SUFFIXES,
        "wordingsLimit": 1 + settings.alternatives_limit,
        "keyRequired": service.keys is not None,
    }


def _escaped(value: Any) -> str:
    """Return JSON that can stand inside of a script element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")


def _compressed(request: Request, content: bytes, media_type: str, headers: dict[str, str]) -> Response:
    headers = {**headers, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers = _gzip(content), {**headers, "Content-Encoding": "gzip"}
    return Response(content, media_type=media_type, headers=headers)


@cache
def _files() -> dict[str, bytes]:
    return served_files()


@cache
def _version() -> str:
    digest = sha256()
    for name, content in sorted(_files().items()):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


@lru_cache(128)
def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)

"""Files that are being translated, and their translations, which are kept for ten minutes.

A translation has a name that cannot be guessed, and no key is needed to download it.
"""

import asyncio
import secrets
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import quote

from starlette.responses import Response

from regard.errors import UserError
from regard.server.errors import Refusal, TooLarge
from regard.server.routes.inputs import InputError, UploadedFile
from regard.server.routes.markup import Markup
from regard.server.routes.translation import Order, identify_source, translate_order
from regard.server.service import Client, Service

_SECONDS_KEPT = 600
_BYTES_KEPT = 100 << 20  # of all translated files; the oldest are dropped first

MEDIA_TYPES = {".txt": "text/plain; charset=utf-8", ".html": "text/html; charset=utf-8"}


@dataclass(frozen=True)
class Document:
    """A file to translate."""

    name: str
    text: str
    source: str | None  # None: the language is identified
    target: str

    @property
    def ending(self) -> str:
        """The ending of the file name, which decides its format."""
        return PurePath(self.name).suffix.lower()

    @property
    def translated_name(self) -> str:
        """The name under which the translation is downloaded."""
        return f"{PurePath(self.name).stem}_{self.target}{self.ending}"


@dataclass(frozen=True)
class Job:
    """A document and its translation, which is the result of a task."""

    id: str
    key: str
    document: Document
    task: "asyncio.Task[bytes]"


class DocumentJobs:
    """The documents that are being translated, and those whose translation can be downloaded."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._jobs: dict[str, Job] = {}

    def read(self, file: UploadedFile, source: str | None, target: str) -> Document:
        """Return the document in a file; raise an error if the server does not translate such a file."""
        if len(file.content) > self._service.settings.file_bytes:
            raise TooLarge(f"a file may have at most {self._service.settings.file_bytes:,} bytes")
        try:
            document = Document(file.name, file.content.decode("utf-8-sig"), source, target)
        except UnicodeDecodeError:
            raise InputError("Invalid request: the file is not text in UTF-8") from None
        if document.ending not in MEDIA_TYPES:
            raise InputError(f"Invalid request: files must end in {' or '.join(MEDIA_TYPES)}")
        return document

    def start(self, document: Document, client: Client) -> Job:
        """Begin to translate a document."""
        task = asyncio.create_task(self._translate(document, client))
        job = Job(secrets.token_hex(16).upper(), secrets.token_hex(32).upper(), document, task)
        self._jobs[job.id] = job
        task.add_done_callback(lambda _: self._finished(job))
        return job

    def find(self, identifier: str) -> Job | None:
        """Return a job, or None if there is none with this identifier, or not any more."""
        return self._jobs.get(identifier)

    def _finished(self, job: Job) -> None:
        asyncio.get_running_loop().call_later(_SECONDS_KEPT, self._jobs.pop, job.id, None)
        kept = 0
        for each in reversed([each for each in self._jobs.values() if each.task.done()]):
            kept += 0 if each.task.cancelled() or each.task.exception() else len(each.task.result())
            if kept > _BYTES_KEPT:
                del self._jobs[each.id]

    async def _translate(self, document: Document, client: Client) -> bytes:
        is_html = document.ending == ".html"
        texts = [document.text] if is_html else document.text.split("\n")
        markup = Markup("html") if is_html else None
        source = document.source or identify_source(self._service, document.text, document.target)[0]
        order = Order(texts, source, document.target, client, markup=markup, is_document=True)
        translated = await translate_order(self._service, order)
        return "\n".join(each.text for each in translated).encode()


def attachment(job: Job) -> Response:
    """Return the translated file as a download. If the translation has failed, raise its error."""
    name = quote(job.document.translated_name, safe="", errors="replace")
    return Response(
        job.task.result(),
        media_type=MEDIA_TYPES[job.document.ending],
        headers={"Content-Disposition": f"attachment; filename*=utf-8''{name}"},
    )


def problem(job: Job) -> str | None:
    """Return why a document could not be translated, in words for the client, or None if it was translated."""
    error = job.task.exception()
    return None if error is None else str(error) if isinstance(error, Refusal | UserError) else "an internal error"

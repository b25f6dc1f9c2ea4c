"""Files that are being translated, and their translations, which are kept for ten minutes.

A translation is found by the identifier of its job, which DeepL's interface shows in paths, and the key of the job,
which cannot be guessed. No other key is needed to download it.
"""

import asyncio
import secrets
from dataclasses import dataclass, field
from pathlib import PurePath
from urllib.parse import quote

from starlette.responses import Response

from regard.documents.files import HTML_SUFFIXES, File, read_file
from regard.errors import UserError
from regard.server.errors import QueueFull, Refusal, TooLarge
from regard.server.routes.document_translation import translate_documents
from regard.server.routes.inputs import UploadedFile
from regard.server.routes.translation import identify_source
from regard.server.service import Client, Service, Work

_SECONDS_KEPT = 600
_RETRY_SECONDS = 10  # a document usually takes longer than a sentence
_IDENTIFIED_TEXTS = 100  # at the start of a file, which decide its language
_BYTES_KEPT = 100 << 20  # of all translated files; the oldest are dropped first


@dataclass(frozen=True)
class Job:
    """A file and its translation, which is the result of a task."""

    name: str  # of the translated file
    media_type: str
    characters: int  # that are charged
    task: "asyncio.Task[bytes]"
    id: str = field(default_factory=lambda: secrets.token_hex(16).upper())
    key: str = field(default_factory=lambda: secrets.token_hex(32).upper())

    @property
    def file_name(self) -> str:
        """The name of the translated file in an address; its end says what format it has."""
        return f"{self.id}-{self.key}{PurePath(self.name).suffix.lower()}"


class DocumentJobs:
    """The files that are being translated, and those whose translation can be downloaded."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._jobs: dict[str, Job] = {}
        self._reading = 0  # files that are being read

    async def start(self, upload: UploadedFile, source: str | None, target: str, client: Client) -> Job:
        """Read a file and begin to translate it; raise an error if the server does not translate such a file.

        Without a source language, the language of the whole file is identified.
        """
        open_jobs = self._reading + sum(not job.task.done() for job in self._jobs.values())
        if open_jobs >= self._service.settings.queue_documents:
            raise QueueFull("too many documents are waiting", retry_after=_RETRY_SECONDS)
        if len(upload.content) > self._service.settings.file_bytes:
            raise TooLarge(f"a file may have at most {self._service.settings.file_bytes:,} bytes")
        self._reading += 1
        try:
            return await self._start(upload, source, target, client)
        finally:
            self._reading -= 1

    async def _start(self, upload: UploadedFile, source: str | None, target: str, client: Client) -> Job:
        file = await asyncio.to_thread(read_file, upload.name, upload.content)
        texts = await asyncio.to_thread(lambda: file.document.texts)
        characters = await asyncio.to_thread(lambda: file.document.characters)
        source = source or (await identify_source(self._service, "\n".join(texts[:_IDENTIFIED_TEXTS]), target))[0]
        work = Work((), source, target, {}, client, is_document=True)
        path = PurePath(upload.name)
        job = Job(
            f"{path.stem}_{target}{path.suffix}",
            f"text/{'html' if path.suffix.lower() in HTML_SUFFIXES else 'plain'}; charset={file.encoding}",
            characters if source != target else 0,
            asyncio.create_task(
                self._translate(file, work, characters) if source != target else _as_is(upload.content)
            ),
        )
        self._jobs[job.id] = job
        job.task.add_done_callback(lambda _: self._finished(job))
        return job

    def find(self, identifier: str, key: str) -> Job | None:
        """Return a job, or None if there is none with this identifier and key, or not any more."""
        job = self._jobs.get(identifier)
        return job if job and secrets.compare_digest(job.key.encode(), key.encode()) else None

    def _finished(self, job: Job) -> None:
        asyncio.get_running_loop().call_later(_SECONDS_KEPT, self._jobs.pop, job.id, None)
        kept = 0
        for each in reversed([each for each in self._jobs.values() if each.task.done()]):
            kept += 0 if each.task.cancelled() or each.task.exception() else len(each.task.result())
            if kept > _BYTES_KEPT:
                del self._jobs[each.id]

    async def _translate(self, file: File, work: Work, characters: int) -> bytes:
        with self._service.charge(work.client, characters):
            [translated] = await translate_documents(self._service, work, [file.document])
        return file.encode(translated.text)


async def _as_is(content: bytes) -> bytes:
    return content


def attachment(job: Job) -> Response:
    """Return the translated file as a download. If the translation has failed, raise its error."""
    name = quote(job.name, safe="", errors="replace")
    return Response(
        job.task.result(),
        media_type=job.media_type,
        headers={"Content-Disposition": f"attachment; filename*=utf-8''{name}"},
    )


def problem(job: Job) -> str | None:
    """Return why a document could not be translated, in words for the client, or None if it was translated."""
    error = job.task.exception()
    return None if error is None else str(error) if isinstance(error, Refusal | UserError) else "an internal error"

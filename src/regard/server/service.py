"""What the routes ask for: translation, language identification, and looks inside."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from regard.inference.result import Translation
from regard.interchange.ctranslate2.support import supports_decode
from regard.server.catalog import Catalog, Detection, ServedModel
from regard.server.chaining import chain, text_between
from regard.server.engine_pool import EngineOptions, EnginePool
from regard.server.errors import BadRequest, TooLarge
from regard.server.helper import Helper, HelperState
from regard.server.keys import Key, read_keys
from regard.server.metrics import Metrics
from regard.server.origins import is_loopback_name
from regard.server.queue import Lane, Queue
from regard.server.quotas import Usage
from regard.server.request_log import facts
from regard.server.wire import translation_from_dict
from regard.settings.decode import DecodeSettings
from regard.settings.serve import ServeSettings

_BOTH = ("alignment", "protect")  # decode settings that the first of two models needs too


MAX_INSPECTED_CHARACTERS = 1_000  # of a text whose translation is inspected; its attention weights grow with the square


@dataclass(frozen=True)
class Client:
    """Who asks."""

    name: str | None = None  # the name of the key, None without a key
    address: str = ""  # for fairness and limits; never logged
    key: Literal["none", "valid", "missing", "wrong"] = "none"

    @property
    def turn(self) -> str:
        """What takes turns in the queue: keys, and addresses without a key."""
        return f"key {self.name}" if self.name else f"address {self.address}"


@dataclass(frozen=True)
class Work:
    """Texts to translate."""

    texts: tuple[str, ...]
    source: str  # language code of a served pair
    target: str
    decode: Mapping[str, Any]  # changes to the decode settings of the model
    client: Client
    is_document: bool = False
    model: str | None = None  # a served model's name; None means the model of the pair
    until: float | None = None  # the time of the event loop at which it is given up; None: when its time has passed


class Service:
    """The models of a server and the processes that run them."""

    def __init__(self, settings: ServeSettings, decode: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Open models and keys; raise a `UserError` if they cannot be used. `decode` changes settings of all models."""
        self.settings, self._decode = settings, decode
        self.catalog = Catalog.load(settings.models, decode)
        self.keys = read_keys(Path(settings.keys)) if settings.keys else None
        self._usage = Usage(None)
        self.metrics = Metrics()
        self.queue = Queue(
            requests=settings.queue_requests,
            seconds=settings.queue_seconds,
            documents=settings.queue_documents,
            engines=settings.engines,
        )
        self.pool = EnginePool(self._options(self.catalog), self.queue, self.metrics)
        self._helper = Helper(self._options(self.catalog).models)
        self._loading = asyncio.Lock()
        self.is_draining = False

    async def start(self) -> None:
        """Read the usage of keys, and start the engine processes."""
        async with self._loading:
            self._usage = Usage(Path(self.settings.state) if self.settings.state else None)
            await self.pool.start()

    async def end(self) -> None:
        await asyncio.gather(self.pool.end(), self._helper.end())
        self._usage.close()

    async def reload(self) -> None:
        """Read keys and models again; keep the present ones if they cannot be used."""
        async with self._loading:  # of several signals, one after the other
            keys = read_keys(Path(self.settings.keys)) if self.settings.keys else None
            catalog = await asyncio.to_thread(Catalog.load, self.settings.models, self._decode)
            await self.pool.reload(self._options(catalog))
            self.keys, self.catalog = keys, catalog
            previous, self._helper = self._helper, Helper(self._options(catalog).models)
            await previous.finish()

    @property
    def is_private(self) -> bool:
        """Whether only programs on this machine can reach the server."""
        return bool(self.settings.unix_socket) or is_loopback_name(self.settings.host)

    def usage(self, client: Client) -> tuple[int, int | None]:
        """Return how many characters a client has used this month, and how many it may use; None is no limit."""
        key = self._key(client)
        return (self._usage.used(key.name), key.characters_per_month) if key else (0, None)

    async def translate(self, work: Work) -> list[Translation]:
        """Return the translation of each text; raise a `Refusal` if there is none.

        Without a model for the pair, two models translate one after the other. Nothing is charged.
        """
        models, work = self._models(work), self.with_deadline(work)
        return await self._translate(models, work) if work.texts else []

    @contextmanager
    def charge(self, client: Client, characters: int) -> Iterator[None]:
        """Note characters in the log, and charge them to the key of a client if the context ends without an error."""
        if known := facts.get():
            known.characters += characters
        with self._usage.charge(self._key(client), characters):
            yield

    def with_deadline(self, work: Work) -> Work:
        """Return work whose time begins now, unless it has begun."""
        if work.until is not None:
            return work
        seconds = self.settings.document_deadline if work.is_document else self.settings.deadline
        return replace(work, until=asyncio.get_running_loop().time() + seconds)

    def _models(self, work: Work) -> tuple[ServedModel, ...]:
        """Return the models for work, and note them in the log."""
        models = self.catalog.route(work.source, work.target, work.model)
        if known := facts.get():
            known.model = "+".join(model.name for model in models)
            known.pair = f"{work.source}-{work.target}"
        return models

    async def _translate(self, models: tuple[ServedModel, ...], work: Work) -> list[Translation]:
        translations = await self._run(models[0], work.texts, work, is_last=len(models) == 1)
        for model in models[1:]:
            texts = tuple(map(text_between, translations))
            second = await self._run(model, texts, work, is_last=True)
            translations = list(map(chain, translations, second))
        return translations

    async def alternatives(self, work: Work, at: int, count: int, *, target: str | None = None) -> list[dict[str, Any]]:
        """Return translations of one text that differ from word `at` of its translation on, counted from 0.

        Each has its `word` there, the `probability` of this word, and the `translation`, as a dictionary. `target` is
        the translation; without it, the text is translated first.
        """
        if count > self.settings.alternatives_limit:
            raise TooLarge(f"a request may ask for at most {self.settings.alternatives_limit} alternatives")
        work = self.with_deadline(work)
        if target is None:
            [translation] = await self.translate(work)
            target = translation.text
        fields = {"action": "continue", "target": target, "at": at, "count": count}
        found: list[dict[str, Any]] = await self._inspect(work, fields)
        return found

    async def look(
        self,
        work: Work,
        *,
        target: str | None = None,
        without: str | None = None,
        instead: str | None = None,
        parts: Sequence[str] = ("facts", "maps"),
        vectors: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return what the page shows of the inside of one translation, as `look_data` describes it.

        `parts` are "facts", "maps", "opening", "effects" and "page". `vectors` are addresses of heads, recurrent
        layers and "positions".
        If something is removed (`without`), the facts and maps of the full model are under "original".
        """
        fields = {
            "action": "look",
            "target": target,
            "without": without,
            "instead": instead,
            "parts": list(parts),
            "vectors": list(vectors),
        }
        found: dict[str, Any] = await self._inspect(work, fields)
        return found

    async def _inspect(self, work: Work, fields: Mapping[str, Any]) -> Any:
        """Ask the helper process about one text, which must have a model of its own."""
        models, work = self._models(work), self.with_deadline(work)
        assert work.until is not None
        if len(models) > 1 or len(work.texts) != 1:
            raise BadRequest("this needs one text, and a model that translates between its languages directly")
        if max(len(work.texts[0]), len(fields["target"] or "")) > MAX_INSPECTED_CHARACTERS:
            raise TooLarge(f"this is possible for at most {MAX_INSPECTED_CHARACTERS:,} characters")
        message = {"model": models[0].name, "decode": {**self._decode, **work.decode}, "text": work.texts[0]}
        with self.charge(work.client, len(work.texts[0])):
            return await self._helper.ask({**message, **fields}, work.until)

    def identify(self, text: str) -> list[Detection]:
        """Return the languages in which a text may be, the most probable first; none if it is in no known language."""
        return self.catalog.identify(text)

    def is_ready(self) -> bool:
        """Return whether requests can be answered now."""
        return not self.is_draining and self.pool.is_ready()

    def render_metrics(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        self.metrics.queue_requests.set(self.queue.requests)
        self.metrics.queue_tokens.set(self.queue.tokens)
        self.pool.measure()
        self.metrics.engine_up.labels("helper").set(self._helper.is_running)
        self.metrics.engine_resident_bytes.labels("helper").set(self._helper.resident_bytes)
        return self.metrics.render()

    @property
    def helper_state(self) -> tuple[HelperState, int]:
        """Whether the helper process is running, and how many requests it has not answered yet."""
        return self._helper.state, self._helper.waiting

    def _key(self, client: Client) -> Key | None:
        keys = self.keys.keys if self.keys and client.name else ()
        return next((key for key in keys if key.name == client.name), None)

    async def _run(self, model: ServedModel, texts: Sequence[str], work: Work, *, is_last: bool) -> list[Translation]:
        # The first of two models gives one translation, whatever was asked for.
        asked = {name: value for name, value in work.decode.items() if is_last or name in _BOTH}
        decode = {**self._decode, **asked}
        lane = Lane(model.name, tuple(sorted(decode.items())), work.is_document)
        assert work.until is not None
        if _needs_torch(model.decode, tuple(asked.items())):
            message = {"action": "translate", "model": model.name, "decode": decode, "texts": list(texts)}
            return list(map(translation_from_dict, await self._helper.ask(message, work.until)))
        self.pool.check(lane, tuple(texts))
        results, wait = await self.queue.submit(lane, texts, work.client.turn, work.until)
        if known := facts.get():
            known.wait += wait
            known.tokens += sum(len(each.tokens) for each in results)
        return results

    def _options(self, catalog: Catalog) -> EngineOptions:
        models = {model.name: str(model.path) for model in catalog.models()}
        return EngineOptions(models, self.settings.cache_bytes, self.settings.engines)


@lru_cache(1_000)
def _needs_torch(decode: DecodeSettings, asked: tuple[tuple[str, Any], ...]) -> bool:
    return not supports_decode(replace(decode, **dict(asked)))

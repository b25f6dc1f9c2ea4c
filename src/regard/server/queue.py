"""The queue of texts: what is admitted, in which order, and in which batches the engines get it.

There is no timer: a free engine takes what is waiting. It takes the first text of the client whose turn it is, then
texts of the same model and settings that are nearest in length, up to a quarter of a second of work. Clients take turns
by work done, so one that sends much does not delay one that sends little. Documents are a second class, which gets a
fifth of the work while sentences are waiting too.
"""

import asyncio
import math
import time
from bisect import bisect_left, insort
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from regard.server.errors import DeadlinePassed, QueueFull

_BATCH_SECONDS = 0.25
_BATCH_TEXTS = 64
_WAITING_TEXTS = 512  # of a request, that are in the queue at a time; enough for the next batches of several engines
_DOCUMENT_SHARE = 0.2
_BYTES_PER_TOKEN = 3  # an estimate; the measured rate counts tokens in the same way, so it need not be exact
_FIRST_RATE = 2_000.0  # tokens per second, until the first batches are measured
_MIN_RATE = 50.0
_MEASURED_PARTS = 8  # a batch of fewer is slower for each token
_RATE_MEMORY = 0.8  # the weight of the rate so far when a new batch is measured


@dataclass(frozen=True)
class Lane:
    """What texts must have in common to be translated in one batch."""

    model: str
    decode: tuple[tuple[str, Any], ...] = ()
    is_document: bool = False


@dataclass(eq=False)
class Item:
    """A text that waits or is being translated."""

    text: str
    lane: Lane
    client: str
    tokens: int
    number: int
    admitted: float
    future: asyncio.Future[Any]
    deaths: int = 0  # engine processes that ended while they had this text
    wait: float = 0.0

    @property
    def order(self) -> tuple[int, int]:
        return self.tokens, self.number


@dataclass
class Batch:
    """Texts that an engine translates together."""

    lane: Lane
    items: list[Item]
    tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = sum(item.tokens for item in self.items)


class _Class:
    """Sentences or documents: their texts by client and by lane."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.served = 0.0  # work done, divided by the share
        self.clients: dict[str, OrderedDict[int, Item]] = {}
        self.work: Counter[str] = Counter()  # done for each client that is waiting
        self.turns: Counter[str] = Counter()  # the last turn of each client; between equals, the earlier is next
        self.lanes: dict[Lane, list[Item]] = {}  # by length
        self.tokens = 0
        self.served_batches = 0

    def add(self, item: Item) -> None:
        if item.client not in self.clients:
            self.clients[item.client] = OrderedDict()
            # A client that comes back gets no credit for the time in which it asked for nothing.
            others = min((self.work[name] for name in self.clients if name != item.client), default=0)
            self.work[item.client] = max(self.work[item.client], others)
        self.clients[item.client][item.number] = item
        insort(self.lanes.setdefault(item.lane, []), item, key=lambda each: each.order)
        self.tokens += item.tokens

    def remove(self, item: Item) -> bool:
        """Remove a waiting item; return whether it was waiting."""
        lane = self.lanes.get(item.lane, [])
        index = bisect_left(lane, item.order, key=lambda each: each.order)
        if index == len(lane) or lane[index] is not item:
            return False
        del lane[index]
        if not lane:
            del self.lanes[item.lane]
        mine = self.clients[item.client]
        del mine[item.number]
        if not mine:
            del self.clients[item.client]
        self.tokens -= item.tokens
        return True

    def take(self, limit: float) -> Batch:
        """Remove and return the next batch, of at most `limit` tokens unless its first text alone has more."""
        client = min(self.clients, key=lambda name: (self.work[name], self.turns[name]))
        self.turns[client] = self.served_batches = self.served_batches + 1
        first = next(iter(self.clients[client].values()))
        lane = self.lanes[first.lane]
        chosen, tokens = [first], first.tokens
        after = bisect_left(lane, first.order, key=lambda each: each.order) + 1
        before = after - 2
        while len(chosen) < _BATCH_TEXTS and (before >= 0 or after < len(lane)):
            shorter = lane[before] if before >= 0 else None
            longer = lane[after] if after < len(lane) else None
            if longer is None or (shorter and first.tokens - shorter.tokens <= longer.tokens - first.tokens):
                nearest, before = shorter, before - 1
            else:
                nearest, after = longer, after + 1
            assert nearest is not None
            if tokens + nearest.tokens > limit:
                break
            chosen.append(nearest)
            tokens += nearest.tokens
        for item in chosen:
            self.work[item.client] += item.tokens
            self.remove(item)
        if not self.clients:
            self.work.clear()
            self.turns.clear()
        self.served += tokens / self.share
        return Batch(first.lane, chosen)


class Queue:
    """Texts of all clients, from which engines take batches."""

    def __init__(self, *, requests: int, seconds: float, documents: int, engines: int) -> None:
        self._max_requests, self._max_seconds, self._max_documents = requests, seconds, documents
        self._engines = engines
        self._classes = {False: _Class(1 - _DOCUMENT_SHARE), True: _Class(_DOCUMENT_SHARE)}
        self._suspects: deque[Item] = deque()  # texts whose engine died; each is tried alone
        self._open = Counter[bool]()  # requests that wait or are being translated, by class
        self._arrived = asyncio.Event()
        self._numbers = count()
        self._rate = _FIRST_RATE

    @property
    def requests(self) -> int:
        return sum(self._open.values())

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self._classes.values()) + sum(item.tokens for item in self._suspects)

    @property
    def rate(self) -> float:
        """Tokens per second of one engine."""
        return self._rate

    async def submit(self, lane: Lane, texts: Sequence[str], client: str, until: float) -> tuple[list[Any], float]:
        """Return the results of texts, and the longest time one of them waited.

        Raise `QueueFull`, or `DeadlinePassed` at the time `until` of the event loop. Texts whose caller is cancelled
        are dropped. Of many texts, only the next ones are in the queue, so that adding and removing them takes little
        time.
        """
        self._admit(texts, is_document=lane.is_document)
        rest = iter(texts)
        waiting: deque[Item] = deque()
        results: list[Any] = []
        longest = 0.0
        self._open[lane.is_document] += 1
        try:
            async with asyncio.timeout_at(until):
                waiting += (self._add(text, lane, client) for text in islice(rest, _WAITING_TEXTS))
                while waiting:
                    results.append(await waiting[0].future)
                    longest = max(longest, waiting.popleft().wait)
                    waiting += (self._add(text, lane, client) for text in islice(rest, 1))
            return results, longest
        except TimeoutError:
            raise DeadlinePassed("the translation was not finished in time; send less text at once") from None
        finally:
            self._open[lane.is_document] -= 1
            for item in waiting:
                item.future.cancel()  # has no effect on one that has its result
                if item.future.cancelled():
                    self._classes[lane.is_document].remove(item)
                else:
                    item.future.exception()  # of several, only the first is raised

    def _add(self, text: str, lane: Lane, client: str) -> Item:
        kind = self._classes[lane.is_document]
        if not kind.clients:
            kind.served = max(kind.served, self._classes[not lane.is_document].served)
        future = asyncio.get_running_loop().create_future()
        item = Item(text, lane, client, _tokens(text), next(self._numbers), time.monotonic(), future)
        kind.add(item)
        self._arrived.set()
        return item

    def check_room(self, *, is_document: bool = False) -> None:
        """Raise `QueueFull` if no request is admitted now, whatever it asks for."""
        if self._open[is_document] >= (self._max_documents if is_document else self._max_requests):
            raise self._full(is_document)

    def _admit(self, texts: Sequence[str], *, is_document: bool) -> None:
        self.check_room(is_document=is_document)
        waiting = self._classes[is_document].tokens
        if waiting and not is_document:
            tokens = waiting + sum(map(_tokens, texts))
            if tokens / self._rate > self._max_seconds * self._engines:
                raise self._full(is_document)

    def _full(self, is_document: bool) -> QueueFull:
        seconds = self._classes[is_document].tokens / self._rate / self._engines
        return QueueFull("the server is busy; try again later", retry_after=max(1, math.ceil(seconds)))

    async def take(self) -> Batch:
        """Wait for texts, and return the batch that is next."""
        while True:
            while self._suspects:
                item = self._suspects.popleft()
                if not item.future.done():
                    return Batch(item.lane, [item])
            waiting = [each for each in self._classes.values() if each.clients]
            if waiting:
                batch = min(waiting, key=lambda each: each.served).take(_BATCH_SECONDS * self._rate)
                now = time.monotonic()
                for item in batch.items:
                    item.wait = now - item.admitted
                return batch
            self._arrived.clear()
            await self._arrived.wait()

    def measured(self, text_bytes: int, seconds: float, parts: int) -> None:
        """Learn the rate from the parts of texts that a batch computed, if they were enough to use all cores."""
        if parts >= _MEASURED_PARTS and text_bytes >= _MEASURED_PARTS * _BYTES_PER_TOKEN:
            rate = text_bytes / _BYTES_PER_TOKEN / seconds
            self._rate = max(_MIN_RATE, _RATE_MEMORY * self._rate + (1 - _RATE_MEMORY) * rate)

    def put_back(self, item: Item) -> None:
        """Let a text whose engine died be tried alone, before all others."""
        self._suspects.append(item)
        self._arrived.set()


def _tokens(text: str) -> int:
    return max(1, len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)

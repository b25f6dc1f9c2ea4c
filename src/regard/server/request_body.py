"""The body of a request, which is read completely before a route gets it, but not beyond the limits for memory."""

import asyncio
from collections import Counter

from starlette.types import Message, Receive

from regard.server.errors import QueueFull, TooLarge

_MAX_BYTES = 64 << 20  # of all requests that are being received
_MAX_ADDRESS_BYTES = _MAX_BYTES // 4  # of those of one address


class BodyMemory:
    """How many bytes of bodies the server has, by address. Bodies of clients that are not limited have no address."""

    def __init__(self) -> None:
        self._bytes: Counter[str] = Counter()
        self._total = 0

    def take(self, size: int, address: str) -> None:
        """Count bytes that were received; raise `QueueFull` if they are too many."""
        if self._total + size > _MAX_BYTES or (address and self._bytes[address] + size > _MAX_ADDRESS_BYTES):
            raise QueueFull("the server is receiving too much at once; try again later", retry_after=1)
        self._total += size
        self._bytes[address] += size

    def give_back(self, size: int, address: str) -> None:
        self._total -= size
        self._bytes[address] -= size
        if not self._bytes[address]:
            del self._bytes[address]


class Body:
    """The body of a request of at most `limit` bytes."""

    def __init__(self, memory: BodyMemory, limit: int) -> None:
        self._memory, self._limit = memory, limit
        self._address = ""
        self._data = bytearray()
        self.is_complete = False

    def check_announced(self, length: str | None) -> None:
        """Refuse a body that will be too large before any of it is read."""
        if length is not None and length.isdigit() and int(length) > self._limit:
            raise TooLarge(f"the request has more than {self._limit:,} bytes")

    async def read(self, receive: Receive, address: str = "") -> bool:
        """Read the body, which counts for this address; return whether the client is still there."""
        self._address = address
        while not self.is_complete:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            block = message.get("body", b"")
            if len(self._data) + len(block) > self._limit:
                raise TooLarge(f"the request has more than {self._limit:,} bytes")
            self._memory.take(len(block), address)
            self._data += block
            self.is_complete = not message.get("more_body", False)
        return True

    def replay(self) -> Receive:
        """Return what gives the body to the application."""
        messages: list[Message] = [{"type": "http.request", "body": bytes(self._data), "more_body": False}]

        async def replayed() -> Message:
            if messages:
                return messages.pop()
            await asyncio.Event().wait()  # the gate sees when the client closes the connection
            return {"type": "http.disconnect"}

        return replayed

    def release(self) -> None:
        """Forget the body."""
        self._memory.give_back(len(self._data), self._address)
        self._data = bytearray()

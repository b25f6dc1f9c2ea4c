"""Messages between the front process and its child processes: a length of four bytes, then JSON. No pickle."""

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

from regard.inference.result import PlacedSpan, Translation, TranslationWarning

Message = dict[str, Any]

_LENGTH = struct.Struct(">I")


def encode(message: Mapping[str, Any]) -> bytes:
    data = json.dumps(message, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(data)) + data


def send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    """Send a message from a child process."""
    connection.sendall(encode(message))


def receive(connection: socket.socket) -> Message | None:
    """Return the next message in a child process, or None if the front process has ended."""
    header = _exactly(connection, _LENGTH.size)
    data = header and _exactly(connection, _LENGTH.unpack(header)[0])
    return json.loads(data) if data else None


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        block = connection.recv(min(size - len(data), 1 << 20))
        if not block:
            return None
        data += block
    return bytes(data)


async def read(reader: asyncio.StreamReader) -> Message:
    """Return the next message in the front process; raise `IncompleteReadError` if the child process has ended."""
    [size] = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    message: Message = json.loads(await reader.readexactly(size))
    return message


def translation_from_dict(values: Mapping[str, Any]) -> Translation:
    """Return the translation whose `to_dict` was sent as JSON."""
    links = values["alignment"]
    return Translation(
        **{name: values[name] for name in ("source", "text", "score", "log_probability")},
        tokens=tuple(values["tokens"]),
        log_probabilities=tuple(values["log_probabilities"]),
        word_probabilities=tuple(values["word_probabilities"]),
        alternatives=tuple(map(translation_from_dict, values["alternatives"])),
        alignment=None if links is None else tuple((link[0], link[1]) for link in links),
        warnings=tuple(_with_ranges(TranslationWarning, each) for each in values["warnings"]),
        spans=tuple(_with_ranges(PlacedSpan, each) for each in values["spans"]),
    )


def _with_ranges(kind: Any, values: Mapping[str, Any]) -> Any:
    ranges = {side: tuple(values[side]) if values[side] else None for side in ("source", "target")}
    return kind(**{**values, **ranges})

"""A connection to an HTTP server that takes little CPU time, so that the server is measured and not the client.

It sends one request after the other, keeps the connection, and opens a new one when the server has closed it.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Response:
    """The answer of a server."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)  # with names in lower case
    body: bytes = b""

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """A connection to a server at a host and port."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, values: Mapping[str, Any]) -> Response:
        """Send values as JSON, and return the answer."""
        return await self.request("POST", path, json.dumps(values).encode("ascii"), "application/json")

    async def get(self, path: str) -> Response:
        return await self.request("GET", path)

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = "",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Response:
        """Send a request, and return the answer; raise an `OSError` or `EOFError` if the server closes the connection.

        A connection that the server closed before it got the request is opened again.
        """
        fields = {"Host": f"{self._host}:{self._port}", **({"Content-Type": content_type} if content_type else {})}
        fields |= {**headers, "Content-Length": str(len(body))}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        message = "\r\n".join(lines).encode("ascii") + body
        if self._streams and self._streams[0].at_eof():
            self.close()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        try:
            writer.write(message)
            await writer.drain()
            response = await read_response(reader, method)
        except BaseException:
            self.close()
            raise
        if response.headers.get("connection", "").lower() == "close":
            self.close()
        return response

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
            self._streams = None


async def read_response(reader: asyncio.StreamReader, method: str = "POST") -> Response:
    """Return the next answer on a connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    status_line, *lines = head[:-4].decode("latin-1").split("\r\n")
    status = int(status_line.split(" ", 2)[1])
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if method == "HEAD" or status in (204, 304):
        return Response(status, headers)
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return Response(status, headers, await _read_chunks(reader))
    if "content-length" in headers:
        return Response(status, headers, await reader.readexactly(int(headers["content-length"])))
    return Response(status, headers, await reader.read())


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    while (await reader.readline()).strip():
        pass
    return body

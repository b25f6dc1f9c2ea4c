"""The HTTP protocol of uvicorn with a limit on the time in which a client must send its request.

uvicorn waits for ever for the headers and the body of a request. Here, a timer runs from the moment a connection or its
next request begins until the whole request has been received; the time to answer does not count. Another timer runs
while an answer waits until its client reads. A connection that is closed while its client still sends is first read to
the end, for a moment, because otherwise the client could lose the answer.
"""

import asyncio
import json
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEADER_BYTES = 64 << 10  # some clients put whole texts into the request line

_FLUSH_SECONDS = 60.0  # in which a client must read a part of an answer that waits
_FIRST_REQUEST_SECONDS = 0.5  # for the first request of a connection that was accepted just before the server ends
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 8 << 20


def protocol_class(receive_seconds: float) -> type[asyncio.Protocol]:
    """Return the protocol for a server whose clients must send a request within `receive_seconds`."""
    return type("TimedH11Protocol", (_TimedH11Protocol,), {"receive_seconds": receive_seconds})


class _TimedH11Protocol(H11Protocol):
    receive_seconds: float

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._receive_timer: asyncio.TimerHandle | None = None
        self._flush_timer: asyncio.TimerHandle | None = None
        self._is_lingering = False
        self._lingering_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(_LingeringTransport(transport, self))  # type: ignore[arg-type]
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_flush_timer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End the connection after its request. A client that has just connected may have sent one already."""
        if self.cycle is None:
            self.loop.call_later(_FIRST_REQUEST_SECONDS, self._shut_down)
        else:
            super().shutdown()

    def _shut_down(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_flush(None)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_flush_timer()

    def data_received(self, data: bytes) -> None:
        if self._is_lingering:
            self._lingering_bytes += len(data)
            if self._lingering_bytes > _LINGER_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        self._update_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, as JSON: its interface is not known, but most clients read `error`."""
        too_long = len(self.conn.trailing_data[0]) > MAX_HEADER_BYTES
        status, message = (431, "the headers of the request are too long") if too_long else (400, msg)
        body = json.dumps({"error": message, "message": message}).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
            ("x-content-type-options", "nosniff"),
        ]
        reason = HTTPStatus(status).phrase.encode()
        for event in (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def linger(self, transport: asyncio.Transport) -> None:
        """Close a connection; if its client is still sending, end our side first and drop what it sends."""
        self._stop_timer()
        if self._is_lingering or transport.is_closing():
            return
        if self.conn.their_state not in (h11.SEND_BODY, h11.ERROR) or not transport.can_write_eof():
            transport.close()
            self._watch_flush(None)
            return
        self._is_lingering = True
        transport.write_eof()
        transport.resume_reading()
        self._receive_timer = self.loop.call_later(_LINGER_SECONDS, transport.abort)

    def _update_timer(self) -> None:
        """Stop the timer once a request is complete, and start it when the next one begins."""
        is_receiving = self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and self._has_begun()
        if not is_receiving:
            if not self._is_lingering:
                self._stop_timer()
        elif self._receive_timer is None:
            self._start_timer()

    def _has_begun(self) -> bool:
        # Between two requests, uvicorn's own timer for idle connections runs.
        return self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0]) or self.cycle is None

    def _start_timer(self) -> None:
        self._receive_timer = self.loop.call_later(self.receive_seconds, self._receive_timed_out)

    def _stop_timer(self) -> None:
        if self._receive_timer is not None:
            self._receive_timer.cancel()
            self._receive_timer = None

    def _watch_flush(self, before: int | None) -> None:
        """Close the connection if as many bytes wait as before, and look again later."""
        self._stop_flush_timer()
        waiting = self.transport.get_write_buffer_size()
        if before is not None and waiting >= before:
            self.transport.abort()
        else:
            self._flush_timer = self.loop.call_later(_FLUSH_SECONDS, self._watch_flush, waiting)

    def _stop_flush_timer(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None

    def _receive_timed_out(self) -> None:
        self._receive_timer = None
        self.transport.abort()


class _LingeringTransport:
    """A transport whose `close` waits for a moment for a client that is still sending.

    What is written at the same time, such as head and body of an answer, is sent together, because sending is a large
    part of what an answer costs.
    """

    def __init__(self, transport: Any, protocol: _TimedH11Protocol) -> None:
        self._transport, self._protocol = transport, protocol
        self._written: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return bool(self._transport.is_closing()) or self._protocol._is_lingering

    def write(self, data: bytes) -> None:
        if not self._written:
            self._protocol.loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        self._send()
        self._protocol.linger(self._transport)

    def _send(self) -> None:
        data, self._written = b"".join(self._written), []
        if data and not self._transport.is_closing():
            self._transport.write(data)

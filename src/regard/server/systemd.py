"""Tells systemd, if it has started the server, when the server is ready, and that it still runs.

systemd gives a service of the type `notify` the name of a UNIX socket, and expects one datagram for each message. With
`WatchdogSec`, it restarts a service that is silent for longer.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping


class Supervisor:
    """systemd, or nothing if the server was started in another way."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._socket = environment.get("NOTIFY_SOCKET", "")
        is_ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        microseconds = environment.get("WATCHDOG_USEC", "")
        self._watchdog_seconds = int(microseconds) / 1e6 if is_ours and microseconds.isdecimal() else 0.0

    def tell(self, message: str) -> None:
        """Send a message such as READY=1. The server does not depend on it, so an error is ignored."""
        if not self._socket:
            return
        # A name that begins with @ is in the abstract namespace, which is written with a null byte.
        address = "\0" + self._socket[1:] if self._socket.startswith("@") else self._socket
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.setblocking(False)
            connection.sendto(message.encode(), address)

    async def keep_alive(self) -> None:
        """Tell the watchdog that the event loop runs, until this is cancelled."""
        while self._socket and self._watchdog_seconds:
            self.tell("WATCHDOG=1")
            await asyncio.sleep(self._watchdog_seconds / 3)

"""A small HTTP server for the modules of the page: it serves the files, and answers looks with a real model."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from regard.api import Model
from regard.interpret.report.look_data import (
    look_effects,
    look_facts,
    look_map,
    look_vectors,
    map_addresses,
    opening_of_few,
)
from regard.page.assets import read_asset

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>live</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/base.css"><link rel="stylesheet" href="/inside.css"></head>
<body><div class="page"><main><h1>Live</h1><section class="inside" id="inside"></section></main>
<div role="status" id="status" class="visually-hidden"></div></div><script type="module" src="/live.js"></script></body>
</html>"""

SCRIPT = """
import { makeHttpProvider } from "./http_provider.js";
import { mount } from "./inside.js";

async function send(body) {
  const response = await fetch("/look", { method: "POST", body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}
window.show = (request, options) => mount(document.getElementById("inside"), makeHttpProvider(request, send), options);
document.body.dataset.ready = "yes";
"""


@contextmanager
def live_server(model: Model) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Start the server, and yield its address and the list of the bodies that it gets."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/")
            made = {"": PAGE, "live.js": SCRIPT}
            kinds = {"js": "text/javascript", "css": "text/css"}
            self._send(made.get(name) or read_asset(name), kinds.get(name.rpartition(".")[2], "text/html"))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            self._send(json.dumps(answer(model, body)), "application/json")

        def _send(self, text: str, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", bodies
        finally:
            server.shutdown()
            thread.join()


def answer(model: Model, body: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a look that a body asks for."""
    names = ("target", "without", "instead")
    view = model.look(body["text"], **{name: body.get(name) for name in names})
    found: dict[str, Any] = {"vectors": {address: look_vectors(view, address) for address in body["vectors"]}}
    if "facts" in body["parts"]:
        found["facts"] = look_facts(view)
    if "maps" in body["parts"]:
        found["maps"] = {address: look_map(view.trace, address) for address in map_addresses(view.trace)}
    if "opening" in body["parts"]:
        opening = opening_of_few(view)
        found["opening"] = opening and asdict(opening)
    if "effects" in body["parts"] and (effects := view.head_effects()):
        found["effects"] = look_effects(view, effects)
    return found

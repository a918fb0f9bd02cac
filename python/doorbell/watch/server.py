# SPDX-License-Identifier: Apache-2.0
"""The server of `./doorbell watch`: a page, and a WebSocket that tells it what `doorbell.device.live` knows.

Every client gets a message four times a second, JSON: {"runs": [{"name": ..., what its snapshot has}, ...]}. Without
clients no run is asked for anything. It listens on this machine alone.
"""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tornado.web
import tornado.websocket
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from doorbell.device import live
from doorbell.errors import UserError

ADDRESS = "127.0.0.1"
NAMES = r"127\.0\.0\.1|localhost"  # by which it may be called: no other site's name that leads here
EVERY_S = 0.25
FILES = {"": ("page.html", "text/html"), "page.js": ("page.js", "text/javascript"),
         "charts.js": ("charts.js", "text/javascript"), "page.css": ("page.css", "text/css")}  # fmt: skip


class Page(tornado.web.RequestHandler):
    """One of the files of the page; they are all that it needs."""

    def get(self, name: str) -> None:
        if name not in FILES:
            raise tornado.web.HTTPError(404)
        file, kind = FILES[name]
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.set_header("Content-Security-Policy", "default-src 'self'; img-src data:")
        self.set_header("Cache-Control", "no-store")
        self.write((Path(__file__).parent / file).read_bytes())


class Live(tornado.websocket.WebSocketHandler):
    """A client. Tornado lets in pages of this server alone."""

    sending: asyncio.Future[None] | None = None
    """The last message, until the client has taken it."""

    def initialize(self, clients: set[Live]) -> None:
        self.clients = clients

    def open(self, *_: str, **__: str) -> None:
        self.clients.add(self)

    def on_close(self) -> None:
        self.clients.discard(self)

    def on_message(self, _: str | bytes) -> None:
        """Clients have nothing to say."""


def message() -> str:
    """What all clients get."""
    runs: list[dict[str, Any]] = [{"name": name, **(shown or {})} for name, shown in live.runs()]
    return json.dumps({"runs": runs})


def tell(client: Live, text: str) -> None:
    """Not one that has not taken its last message: it would keep all others waiting. Raises WebSocketClosedError."""
    if client.sending is None or client.sending.done():
        client.sending = asyncio.ensure_future(client.write_message(text))
        client.sending.add_done_callback(lambda sent: sent.cancelled() or sent.exception())  # on_close hears of it, too


async def _tell(clients: set[Live]) -> None:
    while True:
        if clients:
            text = message()
            for client in list(clients):
                try:
                    tell(client, text)
                except tornado.websocket.WebSocketClosedError:
                    clients.discard(client)
        await asyncio.sleep(EVERY_S)


async def _serve(port: int, ready: Callable[[str], None]) -> None:
    clients: set[Live] = set()
    app = tornado.web.Application(log_function=lambda _: None)
    app.add_handlers(NAMES, [(r"/live", Live, {"clients": clients}), (r"/(.*)", Page)])
    try:
        sockets = bind_sockets(port, ADDRESS)
    except OSError as e:
        why = "somebody else has it" if e.errno == errno.EADDRINUSE else e.strerror
        raise UserError(f"--port {port}: {why}; try another one, or 0 for any") from e
    HTTPServer(app).add_sockets(sockets)
    ready(f"http://{ADDRESS}:{sockets[0].getsockname()[1]}/")
    await _tell(clients)


def serve(port: int, ready: Callable[[str], None]) -> None:
    """Until it is interrupted. ready: is told the page's address."""
    asyncio.run(_serve(port, ready))

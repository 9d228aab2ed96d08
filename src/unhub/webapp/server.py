"""``unhub.serve``: the page on a local port, until Ctrl-C or in the background."""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from unhub.api.facade import facade, warn
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.wording import argument
from unhub.webapp.security import LARGEST_HEAD, AccessPolicy, is_loopback

if TYPE_CHECKING:
    from unhub.api.correction import Correction
    from unhub.dataset import Dataset
    from unhub.webapp.connection_limits import ConnectionLimits

PORT = 8765
BACKLOG = 128
"""clients that may wait to be accepted; they are accepted all at once, so each needs a spare file descriptor"""
IDLE_SECONDS = 5
"""how long a connection stays open between two requests"""
TRIED = 20
"""ports to try, from the first on, where none is named"""
TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
SHORTEST = 12
"""characters of the shortest token"""
CLOSE_SECONDS = 5
"""how long ``close`` waits for the server"""


@dataclass(eq=False)
class Server:
    """A page that is ready to be served.

    url: its address, with the token if there is one. title: what it shows. ``run`` serves until Ctrl-C; ``start``
    serves in the background until ``close``, which also frees the port. A ``with`` block closes it at its end.
    """

    url: str
    title: str
    _uvicorn: Any
    _socket: socket.socket
    notes: tuple[str, ...] = ()
    _thread: threading.Thread | None = field(default=None, repr=False)

    def run(self) -> None:
        """Serve until interrupted."""
        with self._socket, suppress(KeyboardInterrupt):
            self._uvicorn.run(sockets=[self._socket])

    def start(self) -> Server:
        """Serve in the background."""
        self._thread = threading.Thread(target=self._uvicorn.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving and free the port; safe to call twice."""
        self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
        self._socket.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


@facade
def serve(
    data: Dataset | Correction | str | os.PathLike[str],
    *,
    queries: Any = None,
    scores: Any = None,
    relevant: Any = None,
    targets: Any = None,
    target_bank: Any = None,
    recent: Any = None,
    judged: Any = None,
    judged_queries: Any = None,
    captions: Any = None,
    target_captions: Any = None,
    bank_captions: Any = None,
    media: Any = None,
    history: str | os.PathLike[str] | None = None,
    protocol: str | None = None,
    encoder: str | Callable[[list[str]], Any] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    browser: bool = False,
    block: bool = True,
) -> Server:
    """Serve the page that shows hubs and what a correction does to them; what ``unhub serve`` does.

    data: a Dataset, a Correction, or the path of a correction (.unhub), of an experiment file (.toml, .yaml), or of a
        folder written by reproduce.
    queries, or scores: with a correction, the queries to ask; its bank's by default.
    relevant: with a correction, which targets are right for these queries.
    targets: with a correction, its gallery, where its file does not name it.
    target_bank: with a correction, other targets, for methods of two banks.
    recent, judged, judged_queries: with a correction, what other methods are judged by, as in ``fit``.
    captions, target_captions, bank_captions: with a correction, what queries, targets and bank queries say.
    media: with a correction, a folder with a picture, sound or video per target.
    history: with a correction, the file that ``unhub monitor`` adds to; by default the one beside the correction.
    protocol: settings of an experiment's methods: "auto" (the default), "paper" or "authors".
    encoder: turns typed queries into vectors: a function of a list of texts, its name "module:function", or the name or
        folder of a sentence-transformers model. Without one, users choose from the test queries.
    host: interface to bind; the default is local only. Any other needs a token, which is made up if not given.
    port: port to bind; 8765 or the next free one by default, 0 for any free port.
    token: secret that every client must send; at least 12 letters, digits or ``- . _ ~``.
    browser: whether to open the page in the web browser.
    block: True prints the URL and returns after Ctrl-C; False serves in the background and returns at once.

    Returns the server: ``.url`` is the page's address and ``.close()`` stops it.

        page = unhub.serve("experiment.toml", port=0, block=False)
        print(page.url)
        page.close()
    """
    server = prepare(
        data, locals(), history=history, protocol=protocol, encoder=encoder, host=host, port=port, token=token
    )
    warn(server.notes)
    if not block:
        server.start()
    if browser:
        webbrowser.open(server.url)
    if block:
        print(f"{server.title}: {server.url} (press Ctrl-C to stop)", flush=True)  # noqa: T201
        server.run()
    return server


def prepare(
    data: Dataset | Correction | str | os.PathLike[str],
    parts: Mapping[str, Any] | None = None,
    *,
    history: str | os.PathLike[str] | None = None,
    protocol: str | None = None,
    encoder: str | Callable[[list[str]], Any] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
) -> Server:
    """A server that is bound to its port but does not answer yet; parts: what goes with a correction."""
    for package in ("fastapi", "uvicorn", "fastapi_offline"):
        require(package, extra="serve")
    from unhub.analysis.comparison import check_query_vector
    from unhub.analysis.monitor_points import monitor_points
    from unhub.analysis.session import PARTS, Session
    from unhub.webapp.app import make_app

    secret = token_for(host, token)
    session = Session.open(data, protocol, **{name: (parts or {}).get(name) for name in PARTS})
    encode = _encode(encoder) if isinstance(encoder, str) else encoder
    gallery = session.data.rows("targets") if session.data.kind == "vectors" else None
    if encode is not None and gallery is not None:
        check_query_vector(encode(["a"])[0], gallery)
    runs = partial(monitor_points, session, data, history)
    runs()  # a file that cannot be read is said now
    app = make_app(session, AccessPolicy.of(host, secret), encode=encode, history=runs)
    bound = bind(host, port)
    return Server(url_of(host, bound, secret), session.title, make_server(app), bound, session.notes)


def _encode(name: str) -> Callable[[list[str]], Any]:
    from unhub.encoders.loading import encode_queries

    return lambda texts: encode_queries(texts, name)


def token_for(host: str, token: str | None) -> str | None:
    """The token to require: the given one, or a new one where the host is not local."""
    if token is not None and len(token) < SHORTEST:
        raise InputError("token", f"has {len(token)} characters", f"use at least {SHORTEST} that nobody can guess")
    if token is not None and not TOKEN.fullmatch(token):
        raise InputError("token", "has a character that a URL may not hold", "use letters, digits and - . _ ~")
    if token is None and not is_loopback(host):
        return secrets.token_urlsafe(24)
    return token


def bind(host: str, port: int | None) -> socket.socket:
    """A listening socket: at the port, or at the first free one."""
    if port is not None and not isinstance(port, int):
        raise InputError("port", f"is {port!r}", "give a whole number, or 0 for any free port")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for each in [port] if port is not None else [*range(PORT, PORT + TRIED), 0]:
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host.strip("[]"), each))
        except (OSError, OverflowError) as error:
            bound.close()
            if port is not None or isinstance(error, socket.gaierror):
                reason = (getattr(error, "strerror", None) or str(error)).lower().rstrip(".")
                other = f"choose another {argument('port')} or {argument('host')}"
                raise InputError(f"cannot listen at {host}:{each}: {reason}; {other}.") from error
            continue
        bound.listen(BACKLOG)
        return bound
    raise InputError("port", f"has no free value at {host}", "choose one")


def url_of(host: str, bound: socket.socket, token: str | None) -> str:
    """The page's address for a browser."""
    port = bound.getsockname()[1]
    name = "127.0.0.1" if host in ("0.0.0.0", "localhost") else "[::1]" if host == "::" else host
    if ":" in name and not name.startswith("["):
        name = f"[{name}]"
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def make_server(app: Any, limits: ConnectionLimits | None = None) -> Any:
    """uvicorn for an app, with limits on its connections."""
    uvicorn = require("uvicorn", extra="serve")
    from unhub.webapp.connection_limits import ConnectionLimits

    limits = limits or ConnectionLimits()
    config = uvicorn.Config(
        app,
        http=limits.connection,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        ws="none",
        lifespan="off",
        log_level="critical",  # the app reports errors itself, in a sentence
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=limits.most + 1,  # beyond it every connection has a request in progress
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)

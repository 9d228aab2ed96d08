"""Starting the server: on a free port of this machine, told about once it listens, ended by Ctrl-C."""

from __future__ import annotations

import re
import secrets
import socket
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.serve.safety import LARGEST_HEAD, is_loopback

if TYPE_CHECKING:
    from unhub.serve.connections import Clients

PORT = 8765
BACKLOG = 128
"""clients that may wait to be accepted; they are accepted all at once, so that each must have a file to spare"""
IDLE_SECONDS = 5
"""for which a connection stays open between two requests"""
TRIED = 20
"""ports that are tried, from the first on, where none is named"""
PLAIN = re.compile(r"[A-Za-z0-9._~-]+")
SHORTEST = 12
"""letters that a token has at least"""


def token_for(host: str, token: str | None) -> str | None:
    """The token that is needed at a host: none on this machine unless one is given, elsewhere one in any case."""
    if token is not None and len(token) < SHORTEST:
        raise InputError(f"the token has {len(token)} letters; give at least {SHORTEST}, which nobody guesses.")
    if token is not None and not PLAIN.fullmatch(token):
        raise InputError("the token has a sign that no address may hold; use letters, digits and - . _ ~ alone.")
    if token is None and not is_loopback(host):
        return secrets.token_urlsafe(24)
    return token


def listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens at the host: on the port, or on the first that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for each in [port] if port is not None else [*range(PORT, PORT + TRIED), 0]:
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host.strip("[]"), each))
        except (OSError, OverflowError) as error:
            made.close()
            if port is not None or isinstance(error, socket.gaierror):
                reason = (getattr(error, "strerror", None) or str(error)).lower().rstrip(".")
                said = f"cannot listen at {host}:{each}: {reason}; choose another --port or --host."
                raise InputError(said) from error
            continue
        made.listen(BACKLOG)
        return made
    raise InputError(f"no port is free at {host}; choose one with --port.")


def address(host: str, opened: socket.socket, token: str | None) -> str:
    """Where the page is, as a browser takes it."""
    port = opened.getsockname()[1]
    name = "127.0.0.1" if host in ("0.0.0.0", "localhost") else "[::1]" if host == "::" else host
    if ":" in name and not name.startswith("["):
        name = f"[{name}]"
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def server_of(app: Any, clients: Clients | None = None) -> Any:
    """The server of an app: uvicorn with limits on what clients may hold."""
    uvicorn = require("uvicorn", extra="serve")
    from unhub.serve.connections import Clients

    limits = clients or Clients()
    config = uvicorn.Config(
        app,
        http=limits.connection,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        ws="none",
        lifespan="off",
        log_level="critical",  # what goes wrong is told by the app itself, in a sentence
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=limits.most + 1,  # past that every connection has a request that is being answered
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


def run(app: Any, opened: socket.socket, *, started: Callable[[], None], browser: str | None = None) -> None:
    """Serves until it is interrupted."""
    server = server_of(app)
    started()
    if browser is not None:
        webbrowser.open(browser)
    server.run(sockets=[opened])

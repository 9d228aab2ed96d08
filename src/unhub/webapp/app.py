"""The ASGI app: the API, its OpenAPI page and the page itself, behind the security middleware."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

from unhub.analysis.model import HistoryPoint
from unhub.analysis.session import Session
from unhub.foundation import VERSION
from unhub.reports.palette import stylesheet
from unhub.webapp.errors import add_error_handlers
from unhub.webapp.projection import Maps, cache_folder
from unhub.webapp.request_queue import RequestQueue
from unhub.webapp.routes import Context, Encode, router
from unhub.webapp.schemas import about
from unhub.webapp.security import AccessPolicy, SecurityMiddleware

STATIC = Path(__file__).parent / "static"
LARGE = 2000
"""bytes from which a response is compressed"""


def make_app(
    session: Session,
    policy: AccessPolicy,
    *,
    encode: Encode | None = None,
    maps: Path | None = None,
    history: Callable[[], list[HistoryPoint]] = list,
) -> Any:
    """The ASGI app of a session; maps: the folder that caches maps. history: gives what was monitored until now."""
    from fastapi_offline import FastAPIOffline

    app: FastAPI = FastAPIOffline(
        title="unhub", version=VERSION, description="How often each target is retrieved, before and after.",
        redoc_url=None, static_url="/docs-static",
    )  # fmt: skip
    choices = about(session, encoder=encode is not None)
    context = Context(session, choices.opening, choices, Maps(maps or cache_folder()), history, encode)
    app.include_router(router(context))
    add_error_handlers(app)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/static/tokens.css", include_in_schema=False)
    def tokens() -> Response:
        return Response(stylesheet("tokens.css", "guard.css"), media_type="text/css")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=LARGE, compresslevel=3)
    return SecurityMiddleware(RequestQueue(app), policy)

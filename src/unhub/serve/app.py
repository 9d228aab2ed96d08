"""The app: the API, its OpenAPI page, and the page itself, behind one door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

from unhub.explore.material import Subject
from unhub.explore.stage import Stage
from unhub.foundation.version import VERSION
from unhub.serve.answers import about
from unhub.serve.layout import Maps
from unhub.serve.map_cache import cache_folder
from unhub.serve.problems import answer_problems
from unhub.serve.routes import Encode, Served, router
from unhub.serve.safety import Door, Guard
from unhub.serve.turns import Turns

STATIC = Path(__file__).parent / "static"
LOOK = Path(__file__).parent.parent / "report" / "look"
LARGE = 2000
"""bytes from which an answer is packed"""


def make_app(subject: Subject, guard: Guard, *, encode: Encode | None = None, maps: Path | None = None) -> Any:
    """The ASGI app of a subject; maps: where laid-out maps are kept."""
    from fastapi_offline import FastAPIOffline

    app: FastAPI = FastAPIOffline(
        title="unhub", version=VERSION, description="Who takes which places, before and after a correction.",
        redoc_url=None, static_url="/docs-static",
    )  # fmt: skip
    described = about(subject, encoder=encode is not None)
    served = Served(Stage(subject), described.opening, described, Maps(maps or cache_folder()), encode)
    app.include_router(router(served))
    answer_problems(app)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/static/tokens.css", include_in_schema=False)
    def tokens() -> FileResponse:
        return FileResponse(LOOK / "tokens.css")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=LARGE, compresslevel=3)
    return Door(Turns(app), guard)

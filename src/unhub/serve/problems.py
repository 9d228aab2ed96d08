"""Bad requests: one sentence in JSON and a status below 500, never a stack trace."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from unhub.explore.stage import Abandoned
from unhub.foundation.errors import UnhubError
from unhub.foundation.printable import printable

log = logging.getLogger("unhub.serve")
_SENTENCES = {404: "there is nothing at this address.", 405: "this address does not take that method."}


@dataclass(frozen=True)
class Problem:
    """What was wrong with a request, in one sentence."""

    error: str


RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request names something that is not there or cannot be done."},
    404: {"model": Problem, "description": "There is no such item."},
    409: {"model": Problem, "description": "A newer question from the same tab took its place."},
    422: {"model": Problem, "description": "A value is missing, or of the wrong kind."},
    503: {"model": Problem, "description": "Too many requests are waiting; Retry-After says when to ask again."},
}
"""what every address may answer besides its own"""


def problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The response for a problem; what is not printable in the sentence is escaped."""
    return JSONResponse({"error": printable(sentence)}, status_code=status, headers=headers)


def answer_problems(app: FastAPI) -> None:
    """Makes the app answer every error with a sentence."""

    @app.exception_handler(UnhubError)
    def bad_input(request: Request, error: UnhubError) -> JSONResponse:
        return problem(400, str(error))

    @app.exception_handler(Abandoned)
    def abandoned(request: Request, error: Abandoned) -> JSONResponse:
        return problem(409, "nobody waits for this answer any more, so it was not computed.")

    @app.exception_handler(RequestValidationError)
    def bad_value(request: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, _sentence(error.errors()))

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> JSONResponse:
        own = str(error.detail)
        usual = own == HTTPStatus(error.status_code).phrase
        return problem(error.status_code, _SENTENCES.get(error.status_code, own) if usual else own)

    @app.exception_handler(Exception)
    def bug(request: Request, error: Exception) -> JSONResponse:
        told = f"{request.method} {request.url.path}: {type(error).__name__}: {error}"
        log.error("%s", printable(told))
        return problem(500, "this is a bug; the terminal that unhub serve runs in says more.")


def _sentence(errors: Sequence[Any]) -> str:
    """The first mistake in words: tau: input should be greater than 0."""
    first = errors[0]
    if first.get("type") == "json_invalid":
        return "the request is not valid JSON."
    place = ".".join(str(part) for part in first.get("loc", ())[1:]) or "the request"
    said = str(first.get("msg", "is not valid")).partition(", unable to parse")[0]
    return f"{place}: {said[:1].lower()}{said[1:]}."

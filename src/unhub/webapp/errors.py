"""Errors as the API answers them: one sentence in JSON, never a stack trace; settings go by the page's labels."""

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

from unhub.analysis.session import Abandoned
from unhub.foundation.errors import UnhubError
from unhub.foundation.safe_text import printable
from unhub.foundation.wording import on_command_line

log = logging.getLogger("unhub.webapp")
_SENTENCES = {404: "nothing at this URL.", 405: "this URL does not accept that HTTP method."}
LABELS = {
    "bank": "Bank",
    "direction": "Direction",
    "k": "k",
    "method": "Method",
    "strength": "Strength",
    "tau": "Temperature τ",
    "which": "Method",
}
"""name of an argument -> its label on the page; the others are options of unhub serve"""


@dataclass(frozen=True)
class ErrorBody:
    """The body of an error: what was wrong with the request, in one sentence."""

    error: str


RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {
        "model": ErrorBody,
        "description": "The request names something that does not exist, or asks for something impossible.",
    },
    404: {"model": ErrorBody, "description": "No such item."},
    409: {"model": ErrorBody, "description": "Replaced by a newer request from the same tab."},
    422: {"model": ErrorBody, "description": "A value is missing or has the wrong type."},
    503: {"model": ErrorBody, "description": "Too many requests are queued; try again after Retry-After seconds."},
}
"""errors that any endpoint may answer"""


def on_page(name: str, value: str | None) -> str:
    """An argument as the page names it: a setting by its label, anything else as an option of ``unhub serve``."""
    if name not in LABELS:
        return f"{on_command_line(name, value)} (an option of unhub serve)"
    return LABELS[name] if value is None else f"{LABELS[name]} {value}"


def error_response(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The response for an error; unprintable characters in the sentence are escaped."""
    return JSONResponse({"error": printable(sentence)}, status_code=status, headers=headers)


def add_error_handlers(app: FastAPI) -> None:
    """Make the app answer every error with a sentence."""

    @app.exception_handler(UnhubError)
    def bad_input(request: Request, error: UnhubError) -> JSONResponse:
        return error_response(400, error.sentence(on_page))

    @app.exception_handler(Abandoned)
    def abandoned(request: Request, error: Abandoned) -> JSONResponse:
        return error_response(409, "the client has gone, so this was not computed.")

    @app.exception_handler(RequestValidationError)
    def bad_value(request: Request, error: RequestValidationError) -> JSONResponse:
        return error_response(422, _sentence(error.errors()))

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> JSONResponse:
        own = str(error.detail)
        usual = own == HTTPStatus(error.status_code).phrase
        return error_response(error.status_code, _SENTENCES.get(error.status_code, own) if usual else own)

    @app.exception_handler(Exception)
    def bug(request: Request, error: Exception) -> JSONResponse:
        message = f"{request.method} {request.url.path}: {type(error).__name__}: {error}"
        log.error("%s", printable(message))
        return error_response(500, "this is a bug; see the terminal that unhub serve runs in.")


def _sentence(errors: Sequence[Any]) -> str:
    """The first mistake in words: "tau: input should be greater than 0."."""
    first = errors[0]
    if first.get("type") == "json_invalid":
        return "the request is not valid JSON."
    field = ".".join(str(part) for part in first.get("loc", ())[1:]) or "the request"
    reason = str(first.get("msg", "is not valid")).partition(", unable to parse")[0]
    return f"{field}: {reason[:1].lower()}{reason[1:]}."

"""Answers in JSON that always can be sent, whatever a file is called."""

from __future__ import annotations

import json
from typing import Any

from fastapi.responses import JSONResponse


class EscapingResponse(JSONResponse):
    """JSON in which half a character, which stands for a byte of a file's name that is no UTF-8, is an escape."""

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", errors="backslashreplace")

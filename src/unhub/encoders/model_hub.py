"""Where a model is: a folder here, or a name on a hub, which may be out of reach."""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.regular_files import stamp_at
from unhub.foundation.safe_text import reason_of

MARKER_FILES = ("modules.json", "open_clip_config.json", "config.json")
"""files that say which library a model is for"""

PATIENCE = 5.0  # seconds that a hub has to answer

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
PREFIX = "hf-hub:"


@dataclass(frozen=True)
class ModelLocation:
    """Where a model is: its name, what to load it by, its marker files, and its revision."""

    name: str
    load: str
    files: dict[str, Path] = field(default_factory=dict)
    revision: str = ""
    offline: bool = False

    @property
    def folder(self) -> Path | None:
        """The folder, if it is one here."""
        return Path(self.load) if os.path.isdir(self.load) else None


def find_model(name: str) -> ModelLocation:
    """The folder of that name, or the model of that name on the hub; an error if it is neither or out of reach."""
    path = Path(os.path.expanduser(name))
    if path.is_dir():
        return _in_folder(name, path.absolute())
    plain = name.removeprefix(PREFIX)
    if ":" in plain:  # a model of open_clip and the name of its weights; its library knows where they are
        return ModelLocation(name, name, offline=hub_problem() is not None)
    if HUB_NAME.fullmatch(plain) is None or plain.startswith("."):
        raise InputError("model", f"{name!r} is no folder here", "give the folder of a model, or its name on the hub")
    trouble = hub_problem()
    candidates = [plain] if "/" in plain else [f"sentence-transformers/{plain}", plain]
    for candidate in candidates:
        location = _cached(name, candidate) if trouble is not None else _on_hub(name, candidate)
        if location is not None:
            return location
    if trouble is None:
        raise InputError("model", f"{name!r} is neither a folder nor a public model on {_endpoint()}", "check the name")
    raise InputError(
        "model",
        f"{name!r} is neither a folder nor downloaded before, and {_endpoint()} cannot be reached ({trouble})",
        "check the connection, or give the folder of a model that is on this machine",
    )


def hub_problem() -> str | None:
    """Why the hub cannot be reached; None if it can. One short attempt, where its own client would try for long."""
    constants = require("huggingface_hub.constants", extra="encode")
    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return None if isinstance(reason, ssl.SSLError) else (getattr(reason, "strerror", None) or str(reason))
    return None


def _in_folder(name: str, path: Path) -> ModelLocation:
    files = {each: path / each for each in MARKER_FILES if (path / each).is_file()}
    state = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        size, time = stamp_at(file).version
        state.update(f"{file.relative_to(path).as_posix()} {size} {time}\n".encode())
    return ModelLocation(name, str(path), files, state.hexdigest()[:16])


def _cached(name: str, repository: str) -> ModelLocation | None:
    """The folder of an earlier download, if there is one."""
    hub = require("huggingface_hub", extra="encode")
    try:
        folder = Path(hub.snapshot_download(repository, local_files_only=True))
    except (OSError, ValueError):
        return None
    return replace(_in_folder(name, folder), revision=folder.name, offline=True)


def _on_hub(name: str, repository: str) -> ModelLocation | None:
    """The model's marker files, downloaded; None if the hub has no such public model."""
    hub, errors = require("huggingface_hub", extra="encode"), require("huggingface_hub.errors", extra="encode")
    files: dict[str, Path] = {}
    for each in MARKER_FILES:
        try:
            files[each] = Path(hub.hf_hub_download(repository, each, etag_timeout=PATIENCE))
        except errors.GatedRepoError:
            advice = "accept it there and log in (hf auth login)"
            raise InputError("model", f"{name!r} is behind a form on {_endpoint()}", advice) from None
        except errors.RepositoryNotFoundError:
            return None
        except errors.EntryNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise loading_error(name, error) from error
    revision = next((file.parent.name for file in files.values()), "")
    return ModelLocation(name, repository, files, revision)


def loading_error(name: str, error: Exception) -> InputError:
    """The error for a model that exists but cannot be loaded."""
    reason = reason_of(error, 300)
    return InputError("model", f"{name!r} cannot be loaded: {reason}", "check that its folder or name is complete")


def check_length(model: str, max_length: int | None, most: int | None) -> int | None:
    """The tokens to read of a text: ``max_length`` if the model has room for it, else as many as the model reads."""
    if max_length is not None and most is not None and max_length > most:
        raise InputError("max_length", f"is {max_length}, but model {model!r} reads {most} tokens", "pass that or less")
    return max_length or most


def _endpoint() -> Any:
    return require("huggingface_hub.constants", extra="encode").ENDPOINT

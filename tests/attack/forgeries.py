"""Correction files of a hostile author: forged and sealed, or damaged and not sealed.

Whatever is in a file, a command that reads it gives an answer or one sentence. It makes no connection, and changes
nothing outside.
"""

from __future__ import annotations

import random
import socket
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attack import hostile, warm
from attack.child import run
from attack.commands import EXPORT, FIT, STORE_FIT, enter, run_command
from attack.forging import Opened, odd_tensors
from attack.kills import Files, contents
from attack.ledger import Budget, Ledger, judge

SECONDS = 30.0
CASES, FLIPS = 40, 40
"""how many forgeries and how many damages the quick attack tries"""

READING = {
    "search": "search forged.unhub --queries queries.npy",
    "search the targets given": "search forged.unhub --queries queries.npy --targets targets.npy",
    "extend": "extend forged.unhub --targets new_targets.npy -o longer.unhub",
    "dry run": "export forged.unhub --to faiss://photos.faiss --dry-run",
    "rollback": "rollback forged.unhub",
    "search the store": "search forged.unhub --queries queries.npy --store faiss://photos.faiss",
    "rollback of the store": "rollback forged.unhub --to faiss://photos.faiss",
    "refresh": "extend forged.unhub --store faiss://photos.faiss",
    "report": "report forged.unhub --queries queries.npy --relevant relevant.tsv -o forged.html",
}
HEAVY = ("report",)
HONEST = (
    ("gallery", "search"), ("gallery", "search the targets given"), ("gallery", "extend"), ("gallery", "report"),
    ("dual", "search"), ("dual", "extend"), ("exported", "search the store"), ("exported", "dry run"),
    ("exported", "refresh"), ("exported", "rollback of the store"),
)  # fmt: skip
"""what must be answered if the file is as unhub wrote it: to refuse everything would be no defence"""
AS_IT_WAS = "as it was"
SECRETS = ("QDRANT_API_KEY", "CHROMA_TOKEN", "CHROMA_API_KEY", "PGPASSWORD", "MILVUS_TOKEN", "AWS_SECRET_ACCESS_KEY")


def attack(budget: Budget, only: str | None = None) -> Ledger:
    """Forges and damages correction files, and reads them with every command."""
    warm.imported(warm.DRAWING)
    ledger = Ledger("forgeries")
    with tempfile.TemporaryDirectory() as root, closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        bench = Bench(Path(root), listener, ledger)
        bench.prepare()
        rng = random.Random(budget.seed)
        forgeries = [*directed(bench), *sampled(bench, rng, CASES * budget.scale)]
        for case, data, command in forgeries:
            bench.read(case, data, command)
        for each in range(FLIPS * budget.scale):
            bench.read_damaged(rng, each)
    return ledger


def addresses(port: int, canary: Path) -> tuple[str, ...]:
    """Every kind of address that a file could name, at a listener of ours or at somebody's files."""
    here = f"127.0.0.1:{port}"
    return (
        f"qdrant://{here}/c",
        f"chroma://{here}/c",
        f"chroma+http://{here}/c",
        f"pgvector://u@{here}/d/t",
        f"pgvector://u@{here}/d?table=t",
        f"postgresql://u@{here}/d",
        f"milvus://{here}/c",
        f"lancedb:///t?uri=db://{here}/d",
        f"http://{here}/targets.npy",
        f"faiss://{canary}/thesis.docx",
        f"faiss://{canary}/photos.faiss",
        f"lancedb://{canary}/t",
        f"qdrant-edge://{canary}/c",
        f"{canary}/thesis.docx",
        f"{canary}/vectors.npy",
    )


def directed(bench: Bench) -> list[tuple[str, bytes, str]]:
    """The forgeries that have worked once: addresses in every field that holds one, places that are not ours."""
    made = [(f"{name}, {AS_IT_WAS}, {command}", bench.honest[name].sealed(), command) for name, command in HONEST]
    exported = bench.honest["exported"]
    record = exported.metadata["exports"][0]
    for address in addresses(bench.port, bench.canary):
        for command in ("search", "rollback", "dry run", "search the store", "rollback of the store", "refresh"):
            moved = replace(exported, metadata={**exported.metadata, "targets_source": address})
            moved.metadata["exports"] = [{**record, "origin": address}]
            made.append((f"targets_source and origin {address}, {command}", moved.sealed(), command))
    for place in ("../canary/thesis.docx", f"{bench.canary}/thesis.docx", "thesis.docx", "photos.faiss", "..", ""):
        moved = replace(exported, metadata={**exported.metadata, "exports": [{**record, "place": place}]})
        for command in ("rollback", "rollback of the store"):
            made.append((f"exports place {place}, {command}", moved.sealed(), command))
        near = {**record, "place": place, "origin": f"faiss://{bench.canary}/photos.faiss"}
        moved = replace(exported, metadata={**exported.metadata, "exports": [near]})
        made.append((f"exports place {place} beside the canary, rollback", moved.sealed(), "rollback"))
    return made


def sampled(bench: Bench, rng: random.Random, count: int) -> list[tuple[str, bytes, str]]:
    """Forgeries of any field and any tensor, for any command."""
    every: list[tuple[str, Opened, tuple[Any, ...]]] = []
    put = hostile.values(addresses(bench.port, bench.canary))
    for name, opened in bench.honest.items():
        every += [(name, opened, (path, value)) for path in hostile.places(opened.metadata) for value in put]
        for tensor, data in opened.tensors.items():
            every += [(name, opened, (tensor, told, each)) for told, each in odd_tensors(tensor, data).items()]
            every += [(name, opened, (tensor, "deleted", None))]
    rng.shuffle(every)
    commands = [name for name in READING for _ in range(1 if name in HEAVY else 8)]
    return [_forged(*each, rng.choice(commands)) for each in every[:count]]


def _forged(name: str, opened: Opened, change: tuple[Any, ...], command: str) -> tuple[str, bytes, str]:
    if len(change) == 2:
        path, value = change
        made = replace(opened, metadata=hostile.replaced(opened.metadata, path, value))
        told = f"{'.'.join(map(str, path))} is {hostile.shown(value)}"
    else:
        tensor, told, data = change
        others = {each: opened.tensors[each] for each in opened.tensors if each != tensor}
        made = replace(opened, tensors=others if data is None else {**others, tensor: data})
        told = f"tensor {tensor}: {told}"
    return f"{name}, {told}, {command}", made.sealed(), command


@dataclass
class Bench:
    """A folder in which forged files are read, one beside it that nobody may touch, and a listener nobody may call."""

    root: Path
    listener: socket.socket
    ledger: Ledger

    def __post_init__(self) -> None:
        self.work, self.home, self.canary = (self.root / name for name in ("work", "home", "canary"))
        self.honest: dict[str, Opened] = {}

    @property
    def port(self) -> int:
        """Where the listener is."""
        return int(self.listener.getsockname()[1])

    def prepare(self) -> None:
        """Writes honest correction files of three kinds, and what is beside them."""
        for folder in (self.work, self.home, self.canary):
            folder.mkdir()

        def work() -> int:
            from cli.conftest import write_problem

            enter(self.work, self.home)
            write_problem(self.work)
            dual = FIT.replace("gallery", "dual") + " --target-bank other_targets.npy"
            for words in (FIT, dual, STORE_FIT, EXPORT):
                if run_command(words) != 0:
                    raise AssertionError(words)
            return 0

        ended = run(work, memory=None, seconds=60)
        if ended.code != 0:
            raise AssertionError(ended.err)
        for name, file in (("gallery", "gallery"), ("dual", "dual"), ("exported", "photos")):
            self.honest[name] = Opened.read(self.work / f"{file}.unhub")
        for name in ("thesis.docx", "vectors.npy", "photos.faiss"):
            source = {"vectors.npy": "targets.npy"}.get(name, "photos.faiss")
            (self.canary / name).write_bytes((self.work / source).read_bytes())
        (self.work / "thesis.docx").write_text("years of work")
        self.outside = self._outside()

    def _outside(self) -> Files:
        """Everything that a forged file may not change: all but what a command was asked to write or take back."""
        mine = ("forged.", "longer.unhub", ".forged", ".longer", "photos.unhub-")
        kept = {name: data for name, data in contents(self.work).items() if not name.startswith(mine)}
        return kept | {f"canary/{name}": data for name, data in contents(self.canary).items()}

    def read(self, case: str, data: bytes, command: str) -> None:
        """Reads one forged file with one command and counts what came of it."""
        (self.work / "forged.unhub").write_bytes(data)
        ended = run(lambda: self._command(READING[command]), seconds=SECONDS)
        self.ledger.note_code(ended)
        outcome, evidence = judge(ended)
        if self._called():
            outcome, evidence = "leak", "it connected to the address in the file"
        after = self._outside()
        if after != self.outside:
            changed = sorted(name for name in self.outside | after if self.outside.get(name) != after.get(name))
            outcome, evidence = "damage", f"it changed {changed}"
            self._put_back(after)
        if AS_IT_WAS in case and outcome == "refused":
            outcome, evidence = "bug", f"an honest file is refused: {evidence}"
        self.ledger.note(outcome, case, evidence)
        for name in ("forged.unhub", "forged.html", "longer.unhub"):
            (self.work / name).unlink(missing_ok=True)

    def _command(self, words: str) -> int:
        enter(self.work, self.home)
        import os

        os.environ.update(dict.fromkeys(SECRETS, "secret"))
        return run_command(words)

    def _called(self) -> bool:
        called = False
        while True:
            try:
                self.listener.accept()[0].close()
            except BlockingIOError:
                return called
            called = True

    def _put_back(self, after: Files) -> None:
        for name, data in self.outside.items():
            path = self.canary / name[7:] if name.startswith("canary/") else self.work / name
            if after.get(name) != data:
                path.write_bytes(data)

    def read_damaged(self, rng: random.Random, number: int) -> None:
        """Loads a file with a few damaged bytes: it is refused, or it is the same correction."""
        name = rng.choice(sorted(self.honest))
        whole = bytearray(self.honest[name].sealed())
        places = sorted(rng.randrange(len(whole)) for _ in range(rng.choice((1, 1, 1, 2, 8))))
        for place in places:
            whole[place] = rng.choice((0, 255, whole[place] ^ (1 << rng.randrange(8)), rng.randrange(256)))
        if rng.random() < 0.2:
            del whole[rng.randrange(len(whole)) :]
        path = self.work / "forged.unhub"
        path.write_bytes(whole)
        ended = run(lambda: self._same_or_refused(path, name), seconds=SECONDS)
        self.ledger.note_code(ended)
        outcome, evidence = judge(ended)
        if ended.code == 3:
            outcome, evidence = "damage", "read as another correction, without a word"
        self.ledger.note(outcome, f"damage {number} of {name} at {places[:4]}", evidence)
        path.unlink()

    def _same_or_refused(self, path: Path, name: str) -> int:
        import sys

        import numpy as np

        import unhub
        from unhub.foundation.errors import UnhubError

        try:
            found = unhub.load(path)
        except UnhubError as error:
            sys.stderr.write(f"unhub: {error}\n")
            return 2
        honest = self.honest[name]
        same = np.array_equal(found.bias, honest.tensors["bias"]) and found.status == honest.metadata["status"]
        return 0 if same and found.source == honest.metadata["targets_source"] else 3

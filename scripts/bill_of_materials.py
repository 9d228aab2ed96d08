"""Bills of materials of the wheel in a folder, as CycloneDX JSON: ``python scripts/bill_of_materials.py dist``.

Two files: what ``pip install unhub`` brings, read from an environment that has nothing else in it; and what the demo's
extras bring, from ``requirements/demo.lock``. Needs cyclonedx-bom in the Python that runs it.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(folder: Path) -> int:
    """Writes both files beside the wheel and says what is in them."""
    (wheel,) = folder.glob("*.whl")
    stem = "-".join(wheel.name.split("-")[:2])
    with tempfile.TemporaryDirectory() as place:
        python = _environment(Path(place), wheel)
        _cyclonedx("environment", str(python), folder / f"{stem}.cdx.json")
    _cyclonedx("requirements", str(ROOT / "requirements" / "demo.lock"), folder / f"{stem}-demo.cdx.json")
    return 0


def _environment(place: Path, wheel: Path) -> Path:
    """The Python of a new environment with the wheel and what it needs, without pip."""
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*install, str(wheel)], check=True)
    # once more by its name, so that no path of this machine is in its record
    again = ["--no-index", "--find-links", str(wheel.parent), "--no-deps", "--force-reinstall", "unhub"]
    subprocess.run([*install, *again], check=True)
    return python


def _cyclonedx(kind: str, source: str, out: Path) -> None:
    asked = [kind, "--output-format", "JSON", "--output-reproducible", "--validate", "--output-file", str(out)]
    project = ["--pyproject", str(ROOT / "pyproject.toml")]
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *asked, *project, source], check=True)
    print(f"wrote {out}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""`make release`: what a version consists of, in one folder: the wheels of engine, application and client,
the two verifiers of one file, the bill of materials, and the SHA-256 of each.

    python -m tests.release [--out dist] [--bill build/sbom.json]

Nothing is downloaded: wheels are built with the packages of `make setup-tests`, and hold no package but ours.
The folder has to be new, so that no file of another version is in it.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from synth_engine.verifier import standalone

ROOT = Path(__file__).parents[1]
PROJECTS = (ROOT, ROOT / "deploy" / "wheel", ROOT / "client")
"""Engine, application, client."""
SUMS = "SHA256SUMS"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--bill", type=Path, help="of materials, of `make sbom`")
    options = parser.parse_args()
    if options.out.exists():
        parser.error(f"{options.out} is there already: delete it, or name a new folder")
    for path in make(options.out, bill=options.bill):
        print(path.name)  # noqa: T201
    return 0


def make(folder: Path, *, bill: Path | None = None) -> list[Path]:
    """Everything of a release in a new folder; its files, the sums last."""
    folder.mkdir(parents=True)
    for project in PROJECTS:
        offline = ("--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder))
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel")
        subprocess.run([*pip, *offline, str(project)], check=True, timeout=900)
    (folder / "verify_receipt.py").write_text(standalone.text(), "utf-8")
    shutil.copy(ROOT / "synthweb" / "ledger" / "verify_ledger.py", folder)
    if bill is not None:
        shutil.copy(bill, folder / "sbom.json")
    files = sorted(folder.iterdir())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    (folder / SUMS).write_text("".join(f"{line}\n" for line in lines))
    return [*files, folder / SUMS]


if __name__ == "__main__":
    sys.exit(main())

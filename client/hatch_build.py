"""Puts the verifier of receipts into the package: the one file that the engine writes, and no copy of it in
the repository."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "_verify_receipt.py"


class PackVerifier(BuildHookInterface):
    """From a checkout the file is written anew; a source distribution carries it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root) / "src" / "synthweb_client"
        checkout = Path(self.root).parent
        if not (checkout / "synth_engine" / "verifier").is_dir():
            if not (package / NAME).exists():
                raise RuntimeError(f"build it in a checkout of synthweb: {NAME} is missing")
            return
        sys.path.insert(0, str(checkout))
        try:
            from synth_engine.verifier import standalone  # needs the standard library alone
        finally:
            sys.path.remove(str(checkout))
        if version == "editable":
            (package / NAME).write_text(standalone.text(), "utf-8")
            return
        self._folder = tempfile.TemporaryDirectory()
        written = Path(self._folder.name) / NAME
        written.write_text(standalone.text(), "utf-8")
        place = "src/synthweb_client" if self.target_name == "sdist" else "synthweb_client"
        build_data["force_include"][str(written)] = f"{place}/{NAME}"

    def finalize(self, *_: object) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()

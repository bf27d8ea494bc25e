"""The packages that the application needs: those of requirements.txt, pinned, and the engine of the same
version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PINNED = re.compile(r"^[A-Za-z0-9._-]+(\[[^]]*\])?==")


class Pinned(MetadataHookInterface):
    """Reads requirements.txt of the checkout."""

    def update(self, metadata: dict[str, Any]) -> None:
        lines = (
            (Path(self.root).parents[1] / "requirements.txt").read_text("utf-8").splitlines()
        )
        bare = [line.split(" #")[0].strip() for line in lines if PINNED.match(line)]
        metadata["dependencies"] = [f"synth-engine=={metadata['version']}", *bare]

"""Files that appear whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` that takes its name once all of it is written, and is gone if something fails."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        temporary = Path(file.name)
        try:
            yield file
            file.flush()
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

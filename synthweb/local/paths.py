"""Where the local installation keeps its things: all below one folder, which git ignores in a checkout."""

from __future__ import annotations

import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from synthweb.lib import shipped

REPOSITORY = shipped.ROOT
LONGEST_SOCKET = 100  # a Unix socket's address holds 107 bytes


@dataclass(frozen=True)
class Places:
    """Every path, from the folder they lie in."""

    var: Path

    @property
    def keys(self) -> Path:
        return self.var / "keys"

    @property
    def database(self) -> Path:
        """Of an installation without DATABASE_URL."""
        return self.var / "synthweb.sqlite3"

    @property
    def logs(self) -> Path:
        return self.var / "log"

    @property
    def run(self) -> Path:
        return self.var / "run"

    @property
    def lock(self) -> Path:
        return self.run / "lock"

    @property
    def demo_logins(self) -> Path:
        return self.var / "demo-logins"

    @property
    def redis(self) -> Path:
        """The folder of Redis's socket. A checkout deep in the file system has it in the user's run-time
        folder."""
        here = self.var / "redis"
        if len(os.fsencode(here / "redis.sock")) <= LONGEST_SOCKET:
            return here
        base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
        return base / f"synthweb-{os.getuid()}-{_number(self.var)}"

    @property
    def broker(self) -> str:
        """Celery's address of that socket."""
        return f"redis+socket://{self.redis / 'redis.sock'}"

    def make(self) -> None:
        """Make the folders; only their owner may look inside."""
        for folder in (self.var, self.keys, self.logs, self.run, self.redis):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # `mkdir` accepts a folder that exists: in a shared TMPDIR another user may have
            # made it.
            if folder.stat().st_uid != os.getuid():
                raise PermissionError(
                    f"{folder} belongs to somebody else; remove it or set SYNTHWEB_VAR to another folder"
                )
            folder.chmod(0o700)


def _number(path: Path) -> int:
    """A number for a path that is the same in every process (Python's own hash is not)."""
    return zlib.crc32(os.fsencode(path))


def of_this_machine() -> Places:
    """The places of this installation, or of SYNTHWEB_VAR."""
    return Places(Path(os.environ.get("SYNTHWEB_VAR") or shipped.data_folder()).absolute())

"""Write the files of a command. Each appears whole or not at all, and replaces another file only if that was
asked for. What is half written has another name in the same folder, and is removed when the command ends, by
a signal as well.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType

from synth_engine.errors import InputError

INTERRUPTED = 130
_half_written: set[Path] = set()


def require(
    outputs: Mapping[str, Path | None],
    *,
    inputs: Iterable[Path | None] = (),
    overwrite: bool = True,
) -> None:
    """Refuses outputs that cannot be written, before anything is read or spent.

    outputs: the file of each option, as it is written on the command line. InputError for a folder that is
    not there, two outputs in one file, an output that is an input, and, without `overwrite`, a file that
    exists.
    """
    named = {option: path for option, path in outputs.items() if path is not None}
    for path in named.values():
        require_folder(path)
    resolved = [path.resolve() for path in named.values()]
    read = {path.resolve() for path in inputs if path is not None}
    if (
        len(set(resolved)) < len(resolved)
        or read.intersection(resolved)
        or _is_one_of(named.values(), read)
    ):
        raise InputError(
            "two of the files are the same", repair="give every output a name of its own"
        )
    for option, path in named.items():
        if not overwrite and os.path.lexists(path):
            raise InputError(
                f"the file of {option} exists", repair="name another file, or add --overwrite"
            )


def new_folder(
    path: Path,
    files: Iterable[tuple[str, bytes]],
    *,
    and_then: Callable[[Path], None] | None = None,
) -> None:
    """Writes files, each with its name, to a new folder, which appears whole or not at all. and_then: writes
    more into it. Errors: InputError."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.mkdir()
        for name, content in files:
            (part / name).write_bytes(content)
        if and_then is not None:
            and_then(part)
        part.rename(path)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise InputError(
            "the folder of the output cannot be written", repair="check space and rights"
        ) from None


def _is_one_of(outputs: Iterable[Path], inputs: Iterable[Path]) -> bool:
    """Whether an output is an input under another name: a hard link."""
    existing = [path for path in inputs if path.exists()]
    return any(path.samefile(read) for path in outputs if path.exists() for read in existing)


def require_folder(path: Path) -> None:
    """Refuses an output that cannot be written, before anything is spent."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(
            "an output cannot be written there",
            repair="name a file in an existing, writable folder",
        )


class Pending:
    """A file that will be: its content goes to `temporary`, in the same folder, until `keep` gives it its
    name."""

    def __init__(self, path: Path, temporary: Path, *, overwrite: bool) -> None:
        self._path = path
        self._overwrite = overwrite
        self.temporary = temporary
        self.committed = False

    def reserve(self, size: int) -> None:
        """Take room on the disk for `size` bytes, which `write` then uses. OSError where there is none."""
        with self.temporary.open("wb") as file:
            # Blocks are taken now, where a sparse file would only state its size: a full disk
            # is noticed before the loss is spent.
            os.posix_fallocate(file.fileno(), 0, max(1, size))
            os.fsync(file.fileno())

    def write(self, text: str) -> None:
        """Write a text into what was reserved, and force it to the disk."""
        self.write_bytes(text.encode())

    def write_bytes(self, content: bytes) -> None:
        """The same of bytes."""
        with self.temporary.open("r+b" if self.temporary.exists() else "wb") as file:
            file.write(content)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    def keep(self) -> None:
        """Give the file its name. Without `overwrite`, InputError if somebody else has taken it meanwhile."""
        if self._overwrite or not self._link():
            self.temporary.replace(self._path)
        self.committed = True

    def _link(self) -> bool:
        """Name the file without replacing another one. False where the file system has no hard links, and no
        file has that name."""
        try:
            # A link fails if the name exists, where a rename would replace a file made
            # meanwhile.
            os.link(self.temporary, self._path)
        except OSError:
            if os.path.lexists(self._path):
                raise InputError(
                    "an output exists by now", repair="name another file, or add --overwrite"
                ) from None
            return False
        self.temporary.unlink()
        return True

    def discard(self) -> None:
        """Remove what was not kept."""
        self.temporary.unlink(missing_ok=True)
        _half_written.discard(self.temporary)


def _temporary_path(path: Path) -> Path:
    """A hidden name in the same folder that nobody else has."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")


@contextlib.contextmanager
def pending(path: Path, *, overwrite: bool, reserve: int = 0) -> Iterator[Pending]:
    """A file that exists afterwards only if it was kept. InputError if there is no room for `reserve`
    bytes."""
    file = Pending(path, _temporary_path(path), overwrite=overwrite)
    _half_written.add(file.temporary)
    try:
        if reserve:
            try:
                file.reserve(reserve)
            except OSError:
                raise InputError(
                    f"there is no room for {reserve:,} bytes of an output",
                    repair="free space, or name another folder",
                ) from None
        yield file
    finally:
        file.discard()


def replace(path: Path, fill: Callable[[Path], None], *, overwrite: bool = True) -> None:
    """Writes a file under another name first. InputError where the disk does not take it."""
    with pending(path, overwrite=overwrite) as file:
        try:
            fill(file.temporary)
            file.keep()
        except OSError:
            raise InputError(
                "an output cannot be written", repair="check space and rights"
            ) from None


def clear() -> None:
    """Remove everything half written, at the end of the process."""
    for path in list(_half_written):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def end_cleanly() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP leave nothing half written: this process ends by the signal, and with
    exit code 130 by Ctrl-C. For the process of a command alone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    clear()
    if number == signal.SIGINT:
        os._exit(INTERRUPTED)
    # The signal is sent again, so that the parent process sees by what this one ended.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

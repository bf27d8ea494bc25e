"""`python -m synthweb.local.environment run|tests`: make `.venv`, with what synthweb needs or with what the
tests need besides. It is what `make` begins with, so it needs Python's standard library alone.

`.venv` is whole at every moment: it is built as `.venv.part`, from nothing or from a copy of the one that is
there, and takes its name when everything is installed. An installation that was interrupted is begun again;
what pip fetched is in pip's own store. Makes wait for each other at a lock, which the programs that this one
starts hold as well: what a killed make left running has ended before the next one begins.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from synthweb.local.status_line import StatusLine

ROOT = Path(__file__).resolve().parents[2]
VENV, PART, OLD, LOCK = (ROOT / f".venv{end}" for end in ("", ".part", ".old", ".lock"))
RUN, TESTS = "requirements.txt", "tests/requirements.txt"
LISTS = {"run": (RUN,), "tests": (RUN, TESTS)}
COMPILED = "compiled"
TAIL = 20  # lines of a program that failed
INTERRUPTED = 130
# With pip, because a folder that has Python alone was left by somebody else.
WORKS = "import pip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))"
COMPILE = """
from synth_engine import jit, watching
number = len(jit.recorded())
with watching.watched(lambda share: print(round(share * number), number, flush=True)):
    jit.warm_up()
"""


class Failed(Exception):
    """A program that is needed did not do its work; the message ends with what it wrote."""


def main(arguments: list[str]) -> int:
    """Install what is missing; 0 if all is there."""
    what = arguments[0]
    # `kill` ends the work as Ctrl-C does: what was started is ended first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _alone() as lock:
            _tidy()
            if not _is_marked(what):
                _install(what, lock=lock)
            if not _is_marked(COMPILED):
                _compile(lock=lock)
    except Failed as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. The next make begins the installation again.\n")
        return INTERRUPTED
    return 0


@contextlib.contextmanager
def _alone() -> Iterator[int]:
    """The lock of this checkout, as soon as no other make has it."""
    handle = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with StatusLine() as status:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    status.show("Another make is installing here; waiting until it is done")
                    time.sleep(0.2)
        yield handle
    finally:
        os.close(handle)


def _tidy() -> None:
    """Remove what an interrupted installation left."""
    # Between the two names of `_take_name`: the earlier one is whole.
    if OLD.exists() and PART.exists() and not VENV.exists():
        OLD.rename(VENV)
    for left in (PART, OLD):
        _remove(left)


def _remove(path: Path) -> None:
    if path.is_symlink():  # to one that several checkouts share
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


# --- what is installed --------------------------------------------------------------------------------------
def _digest(what: str) -> str:
    """What a mark says: changed requirements have another one. Compiled loops depend on what synthweb
    needs."""
    content = b"\0".join((ROOT / name).read_bytes() for name in LISTS.get(what, (RUN,)))
    return hashlib.sha256(content).hexdigest()


def _is_marked(what: str) -> bool:
    with contextlib.suppress(OSError):
        return (VENV / f"{what}.stamp").read_text() == _digest(what)
    return False


def _mark(folder: Path, what: str) -> None:
    """Note that something is there. Written anew: the copy shares its files with `.venv`."""
    path = folder / f"{what}.stamp"
    written = path.with_suffix(".new")
    written.write_text(_digest(what))
    written.replace(path)


def _is_kept() -> bool:
    """Whether there is a `.venv` to begin with: whole, and with a Python that works."""
    if not any((VENV / f"{what}.stamp").exists() for what in LISTS):
        return False
    command = [str(_python(VENV)), "-c", WORKS]
    with contextlib.suppress(OSError):
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own words
        return done.returncode == 0
    return False


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


# --- the work -----------------------------------------------------------------------------------------------
def _install(what: str, *, lock: int) -> None:
    names = LISTS[what]
    _say(f"Installing {names[-1]} into .venv (once; a few minutes) …")
    with StatusLine() as status:
        if _is_kept():
            status.show("Copying .venv")
            shutil.copytree(VENV, PART, symlinks=True, copy_function=_link)
        else:
            version = ".".join(map(str, sys.version_info[:3]))
            making = f"Making an environment of Python {version}"
            command = [sys.executable, "-m", "venv", str(PART)]
            _call(command, lock=lock, tick=lambda _line: status.show(making))
        _call(
            [
                *(str(_python(PART)), "-m", "pip", "install", "--disable-pip-version-check"),
                *("--no-color", "--progress-bar", "off", "-r", str(ROOT / names[-1])),
            ],
            lock=lock,
            tick=_Pip(names, status).tell,
        )
    for installed, lists in LISTS.items():
        if set(lists) <= set(names):
            _mark(PART, installed)
    _take_name()


def _link(source: str, target: str) -> None:
    """Another name for a file: pip and Python replace files and never write into them."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # no such names on this file system
        shutil.copy2(source, target, follow_symlinks=False)


class _Pip:
    """How far pip is, from what it says and from the packages that are in place."""

    def __init__(self, names: tuple[str, ...], status: StatusLine) -> None:
        self._total = len(set().union(*(_packages(ROOT / name) for name in names)))
        self._seen: set[str] = set()
        self._status = status
        self._before = self._installing = 0

    def tell(self, line: str) -> None:
        """line: what pip writes, or nothing, because some time went by."""
        match = re.match(
            r"(?:Collecting|Requirement already satisfied:|Ignoring) ([\w.-]+)", line
        )
        if match:
            self._seen.add(_plain(match[1]))
        if line.startswith("Installing collected packages:"):
            self._installing = line.count(",") + 1
            self._before = self._in_place()
        if self._installing:
            done = min(self._in_place() - self._before, self._installing)
            self._status.show(f"Installing {done} of {self._installing} packages")
        elif self._seen:
            number = min(len(self._seen), self._total)
            self._status.show(f"Fetching {number} of {self._total} packages")

    def _in_place(self) -> int:
        return sum(1 for _ in PART.glob("lib/python3*/site-packages/*.dist-info"))


def _packages(file: Path) -> set[str]:
    """The names of the packages that a list of requirements asks for."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {
        _plain(match[0])
        for line in lines
        if (match := re.match(r"[\w.-]+", line)) and line[0] != "-"
    }


def _plain(name: str) -> str:
    """A package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _take_name() -> None:
    """Give what was built its name. Programs in `bin` begin with the path of their Python, which is rewritten
    first."""
    for path in [*(PART / "bin").iterdir(), PART / "pyvenv.cfg"]:
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        renamed = content.replace(os.fsencode(PART), os.fsencode(VENV))
        if renamed != content:
            written = path.with_name(f"{path.name}.new")
            written.write_bytes(renamed)
            shutil.copymode(path, written)
            written.replace(path)
    if VENV.exists() or VENV.is_symlink():
        VENV.rename(OLD)
    PART.rename(VENV)
    _remove(OLD)


def _compile(*, lock: int) -> None:
    _say("Compiling loops of the engine (once; about a minute) …")
    with StatusLine() as status:
        last = ""

        def tick(line: str) -> None:
            nonlocal last
            if match := re.fullmatch(r"(\d+) (\d+)", line.strip()):
                last = f"{match[1]} of {match[2]} functions"
            status.show(f"Compiling {last}" if last else "Loading the engine")

        _call([str(_python(VENV)), "-c", COMPILE], lock=lock, tick=tick)
    _mark(VENV, COMPILED)


def _call(command: list[str], *, lock: int, tick: Callable[[str], None]) -> None:
    """Run a program to its end. tick: is given each line that it says, and an empty one every so often.
    Raises Failed with the end of what it wrote."""
    running = subprocess.Popen(  # noqa: S603 - Python, with arguments of our own
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        pass_fds=(lock,),  # it outlives a killed make, and the next one waits for it
    )
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(running, lines), daemon=True).start()
    output: list[str] = []
    try:
        while True:
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                tick("")
                continue
            if line is None:
                break
            output = [*output, line][-TAIL:]
            tick(line)
        code = running.wait()
    finally:
        running.terminate()
        running.wait()
    if code:
        raise Failed(
            f"{' '.join(command[1:4])} … failed (exit code {code}). Correct what it names, then run make "
            f"again:\n{''.join(output)}"
        )


def _read(running: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    for line in running.stdout or ():
        lines.put(line)
    lines.put(None)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What `make` begins with: `.venv`, in a checkout of its own whose requirements are three packages that the
test makes. However it is ended, the next make works, and two of them wait for each other."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from synthweb.local import environment
from synthweb.local.paths import REPOSITORY

PATIENCE = 300.0  # seconds until a state that does not come is a failure
# A package that compiles slowly enough to be met at it.
ENGINE = {
    "__init__.py": "",
    "watching.py": """
import contextlib
TELL = [print]
@contextlib.contextmanager
def watched(tell):
    TELL[0] = tell
    yield
""",
    "jit.py": """
import pathlib, time
from synth_engine import watching
import one, two
def recorded():
    return dict.fromkeys("abcd")
def warm_up():
    for number in range(4):
        watching.TELL[0](number / 4)
        with pathlib.Path("compiled").open("a") as file:
            file.write("x")
        time.sleep(0.5)
""",
}


class Checkout:
    """A folder with the Makefile, the program and three requirements."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a checkout"
        self.folder.mkdir()
        for path in ("Makefile", "synthweb/__init__.py", "synthweb/local/__init__.py"):
            self._copy(path)
        for name in ("environment", "status_line"):
            self._copy(f"synthweb/local/{name}.py")
        for name, content in ENGINE.items():
            self.write(f"synth_engine/{name}", content)
        self.wheels = folder / "wheels"
        self.wheels.mkdir()
        for name in ("one", "two", "three"):
            make_wheel(self.wheels, name, "1.0")
        self.write("requirements.txt", "# what it needs\none==1.0\ntwo==1.0\n")
        self.write("tests/requirements.txt", "-r ../requirements.txt\nthree==1.0\n")
        self.venv = self.folder / ".venv"
        self.part = self.folder / ".venv.part"

    def _copy(self, path: str) -> None:
        self.write(path, (REPOSITORY / path).read_text())

    def write(self, path: str, content: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)

    def make(self, target: str) -> subprocess.Popen[str]:
        """`make` in a session of its own; what it says is in the file `said`."""
        environment = {
            name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ
        }
        environment |= {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_CONFIG_FILE": os.devnull,
        }
        # The Python of the tests has packages; that one's base has what a bare machine has.
        python = Path(sys.base_prefix) / "bin" / "python3"
        with (self.folder / "said").open("a") as said:
            return subprocess.Popen(
                ["make", "--no-print-directory", target, f"PYTHON={python}"],
                cwd=self.folder,
                env=environment,
                stdout=said,
                stderr=said,
                text=True,
                start_new_session=True,
            )

    def said(self) -> str:
        return (self.folder / "said").read_text()

    def until(self, happened: Callable[[], object], running: subprocess.Popen[str]) -> None:
        """Wait for a state that a make comes through. One that has ended meanwhile was faster than the test,
        or failed."""
        end = time.monotonic() + PATIENCE
        while not happened() and running.poll() is None:
            assert time.monotonic() < end, self.said()
            time.sleep(0.01)

    def finish(self, target: str = "setup") -> None:
        assert self.make(target).wait(PATIENCE) == 0, self.said()

    def is_whole(self, *packages: str) -> None:
        """Its Python has the packages, their programs start, and nothing is left beside it."""
        for name in packages:
            assert subprocess.check_output([self.venv / "bin" / name], text=True) == f"{name}\n"
        subprocess.run([self.venv / "bin" / "python", "-m", "pip", "check"], check=True)
        assert {path.name for path in self.folder.glob(".venv*")} - {".venv.lock"} == {".venv"}
        mentions = [
            path
            for path in (self.venv / "bin").iterdir()
            if path.is_file() and str(self.part).encode() in path.read_bytes()
        ]
        assert mentions == []

    def built(self) -> Path:
        """The folder in which the environment is, until it has its name and then."""
        return self.part if self.part.exists() else self.venv

    def is_new(self) -> bool:
        """Whether that was begun by the present make: what the one before left is removed first."""
        return self.built().exists() and not (self.built() / "left").exists()

    def installed(self, folder: Path, name: str) -> bool:
        return any(folder.glob(f"lib/python3*/site-packages/{name}*.dist-info"))


def make_wheel(folder: Path, name: str, version: str) -> None:
    """A package with one module and one program, which says its name."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\ndef main():\n    print({name!r})\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(path, content)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_killed_at_ten_places_the_next_make_works(checkout: Checkout) -> None:
    """Failed before: after the second place each make ended with "No module named pip". Each make begins with
    what the killed one before it left, so that each place is one that a make comes to after a kill."""
    venv, compiled = checkout.venv, checkout.folder / "compiled"
    being_built: list[tuple[Callable[[Path], object], str]] = [
        (lambda _here: True, "group"),
        (lambda here: (here / "pyvenv.cfg").exists(), "group"),
        (lambda here: (here / "bin" / "python").exists(), "interrupt"),
        (lambda here: any(here.glob("lib/python3*/site-packages/pip/__init__.py")), "program"),
        (lambda here: (here / "bin" / "pip").exists(), "terminate"),
        (lambda here: checkout.installed(here, "one"), "group"),
        (lambda here: checkout.installed(here, "two"), "program"),
    ]
    for place, how in being_built:
        running = checkout.make("setup")
        checkout.until(
            lambda place=place: checkout.is_new() and place(checkout.built()), running
        )  # type: ignore[misc]
        end(running, how)
        with contextlib.suppress(OSError):
            (checkout.built() / "left").touch()
    built: list[tuple[Callable[[], object], str]] = [
        (venv.exists, "group"),
        (compiled.exists, "program"),
        (lambda: compiled.exists() and len(compiled.read_text()) > 2, "make"),
    ]
    for place, how in built:
        running = checkout.make("setup")
        checkout.until(place, running)
        assert place(), checkout.said()
        end(running, how)
    checkout.finish()
    checkout.is_whole("one", "two")
    assert "No module named" not in checkout.said()


def end(running: subprocess.Popen[str], how: str) -> None:
    """End a make, if it has not ended: it alone, its program alone, or all, as Ctrl-C and a closed terminal
    do."""
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        _end(running, how)
    running.wait(PATIENCE)


def _end(running: subprocess.Popen[str], how: str) -> None:
    if how == "make":
        running.kill()
    elif how == "program":
        for child in psutil.Process(running.pid).children():
            child.kill()
    else:
        number = {
            "group": signal.SIGKILL,
            "interrupt": signal.SIGINT,
            "terminate": signal.SIGTERM,
        }
        os.killpg(running.pid, number[how])


def test_two_makes_at_the_same_time_wait_for_each_other(checkout: Checkout) -> None:
    """Failed before: the second one removed the folder that the first one was at."""
    first, second = checkout.make("setup"), checkout.make("setup-tests")
    assert [first.wait(PATIENCE), second.wait(PATIENCE)] == [0, 0], checkout.said()
    checkout.is_whole("one", "two", "three")
    assert "Another make is installing here" in checkout.said()


def test_a_change_of_the_requirements_is_installed_beside_what_runs(checkout: Checkout) -> None:
    checkout.finish()
    held = (checkout.venv / "bin" / "one").stat().st_ino
    make_wheel(checkout.wheels, "two", "2.0")
    checkout.write("requirements.txt", "one==1.0\ntwo==2.0\n")
    running = checkout.make("setup")
    checkout.until(lambda: checkout.installed(checkout.part, "two-2"), running)
    end(running, "group")
    # An interrupted change has changed nothing.
    said = [checkout.venv / "bin" / "python", "-c", "import one, two; print(two.VERSION)"]
    assert subprocess.check_output(said, text=True) in ("1.0\n", "2.0\n")
    checkout.finish()
    assert subprocess.check_output(said, text=True) == "2.0\n"
    checkout.is_whole("one", "two")
    assert (checkout.venv / "bin" / "one").stat().st_ino == held  # not installed again


def test_a_refused_installation_says_why_and_leaves_what_was_there(checkout: Checkout) -> None:
    checkout.write("requirements.txt", "nowhere==1.0\n")
    assert checkout.make("setup").wait(PATIENCE) != 0
    assert "nowhere==1.0" in checkout.said()
    assert not checkout.venv.exists()


def test_it_needs_nothing_but_the_standard_library() -> None:
    """It runs before anything is installed. -S: without the packages of this Python."""
    command = [
        sys.executable,
        "-S",
        "-c",
        "import synthweb.local.environment, sys; print(*sys.modules)",
    ]
    loaded = subprocess.check_output(command, cwd=REPOSITORY, text=True).split()
    own = {
        "synthweb",
        "synthweb.local",
        "synthweb.local.environment",
        "synthweb.local.status_line",
    }
    assert {
        name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names
    } <= own | {"__main__"}


def test_packages_are_counted_as_the_lists_name_them() -> None:
    names = environment._packages(REPOSITORY / environment.RUN)
    assert {"django", "djangorestframework", "prometheus-client"} <= names
    assert not {"-r", "#", ""} & names

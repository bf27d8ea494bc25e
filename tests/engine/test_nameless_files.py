"""A table in a file without a name, given as /proc/self/fd/N: every kind of file is read from it as from a
path, and a process that reads it for trial does not outlive the one that asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import psutil
import pyreadstat
import pytest

from synth_engine import readers
from synth_engine.formats import Kind
from tests.engine import workbooks

FRAME = pd.DataFrame({"town": ["Rome", "Oslo", "Rome"], "age": [7, 40, 7]})


WRITERS: dict[Kind, Callable[[Path], object]] = {
    "csv": lambda path: FRAME.to_csv(path, index=False),
    "csv.gz": lambda path: FRAME.to_csv(path, index=False, compression="gzip"),
    "parquet": lambda path: FRAME.to_parquet(path),
    "xlsx": lambda path: path.write_bytes(
        workbooks.workbook({"One": [["town", "age"], *FRAME.to_numpy().tolist()]})
    ),
    "xls": lambda path: path.write_bytes(workbooks.old_workbook()),
    "sav": lambda path: pyreadstat.write_sav(FRAME, str(path)),
    "dta": lambda path: pyreadstat.write_dta(FRAME, str(path)),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_is_read_from_a_file_without_a_name(kind: Kind, tmp_path: Path) -> None:
    named = tmp_path / f"table.{kind}"
    WRITERS[kind](named)
    nameless = os.memfd_create("table")
    try:
        os.write(nameless, named.read_bytes())
        path = Path(f"/proc/self/fd/{nameless}")
        assert _cells(path, kind) == _cells(named, kind)
        assert readers.columns(path, kind=kind) == readers.columns(named, kind=kind)
        assert readers.detect(path, kind=kind) == readers.detect(named, kind=kind)
    finally:
        os.close(nameless)


def _cells(path: Path, kind: Kind) -> list[list[str | None]]:
    frames = [pd.DataFrame(block) for block in readers.blocks(path, kind=kind)]
    found: list[list[str | None]] = pd.concat(frames).to_numpy().tolist()
    assert found
    return found


ASKER = """
    import sys
    from pathlib import Path
    from synth_engine.readers import sandbox
    sandbox._TRIAL = Path(sys.argv[1])  # the real one, held up once it has begun
    sandbox.is_deadly(Path(sys.argv[2]), kind="sav", cells=0)
"""
HELD_UP = """
    import os, sys, time
    sys.path.insert(0, {folder!r})
    import sandbox_child
    sandbox_child._statistical = lambda *_: (open({mark!r}, "w").write(str(os.getpid())), time.sleep(600))
    sandbox_child.main()
"""


def test_a_trial_ends_with_the_process_that_asked_for_it(tmp_path: Path) -> None:
    mark, held_up = tmp_path / "mark", tmp_path / "held_up.py"
    folder = str(Path(readers.__file__).parent)
    held_up.write_text(textwrap.dedent(HELD_UP.format(folder=folder, mark=str(mark))))
    asker = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ASKER), str(held_up), str(tmp_path / "table")]
    )
    try:
        _wait(lambda: mark.exists() and mark.read_text())
        trial = psutil.Process(int(mark.read_text()))
        asker.send_signal(signal.SIGKILL)
        asker.wait()
        _wait(lambda: not trial.is_running() or trial.status() == psutil.STATUS_ZOMBIE)
    finally:
        asker.kill()
        asker.wait()


def _wait(happened: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)

"""What the processes of an installation hold in memory while they have nothing to do: each loads the
libraries that it needs, and those that wait for other machines load nothing of the engine that computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "dask",
    "distributed",
    "duckdb",
    "llvmlite",
    "numba",
    "numpy",
    "opendp",
    "openpyxl",
    "ortools",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "pyreadstat",
    "pyspark",
    "scipy",
    "sklearn",
}
"""Each takes ten megabytes or more."""
ARRAYS = {"numpy", "pandas", "pyarrow"}  # pandas looks for pyarrow, and loads it
TASKS = "from synthweb import celery; celery.app.loader.import_default_modules(); "
WORKER = """
from types import SimpleNamespace
from synth_engine import jit
recorded = jit.recorded
jit.recorded = lambda: dict.fromkeys(recorded(), ())  # of each function its module, and no time of a compiler
queues = SimpleNamespace(consume_from=[{queue!r}])
celery.load(SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues))))
"""
SERVER = """
import importlib
from types import SimpleNamespace
from synthweb.server import configuration
web = SimpleNamespace(wsgi=lambda: importlib.import_module("synthweb.wsgi"))
configuration.on_starting(SimpleNamespace(app=web))
"""
PROCESSES = {
    "beat": (TASKS, set[str]()),
    "worker of notifications": (
        TASKS + WORKER.format(queue="notifications"),
        set[str](),
    ),
    "worker of notifications, at work": (
        TASKS
        + "from synthweb.notifications import about_accounts, delivering\n"
        + "from django.template import engines; engines.all()",
        set[str](),
    ),
    "worker of the default queue": (TASKS + WORKER.format(queue="default"), set[str]()),
    "worker of the default queue, its child": (
        TASKS + "from synthweb.runs import reconcile, retention",
        ARRAYS,
    ),
    "worker of the confidential queue": (
        TASKS + WORKER.format(queue="confidential"),
        {"llvmlite", "numba", "numpy", "scipy"},
    ),
    "worker of the confidential queue, its child": (
        TASKS + "from synthweb.runs import worker",
        ARRAYS,
    ),
    "web": (SERVER + "configuration.on_exit(None)", {*ARRAYS, "scipy"}),
    "web, after a page": (
        SERVER + "from django.test import Client\n"
        "assert Client().get('/account/login/', SERVER_NAME='localhost').status_code == 200\n"
        "configuration.on_exit(None)",
        {*ARRAYS, "scipy"},
    ),
}
"""How each begins, and what of these it may load."""
SAY = "\nimport sys; print('loaded', *sorted({name.partition('.')[0] for name in sys.modules}))"


@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_loads_what_it_needs(process: str, tmp_path: Path) -> None:
    program, allowed = PROCESSES[process]
    done = subprocess.run(
        [sys.executable, "-c", program + SAY],
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": f"sqlite:///{tmp_path}/none",
            "DJANGO_SETTINGS_MODULE": "synthweb.settings",
            "SYNTHWEB_SECRET_KEY": "of this test",
            "SYNTHWEB_VAR": str(tmp_path),
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()[-1].split()[1:]) & HEAVY == allowed

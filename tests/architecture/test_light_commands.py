"""What a command loads: a library that takes its time is imported by what needs it, and not by every
command."""

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
    "matplotlib",
    "numba",
    "opendp",
    "ortools",
    "pandas",
    "plotly",
    "psycopg",
    "pyarrow",
    "pyreadstat",
    "pyspark",
    "scipy",
    "sklearn",
    "xlrd",
}
"""Each takes a twentieth of a second and more, or as much memory as all of pandas."""
COMMANDS = {
    "mechanisms": set[str](),
    "domain table.csv --read header=yes --out domain.json": {"pandas", "pyarrow"},
}
"""What each may load of them."""
DRIVER = """
import sys
from synth_engine import cli
code = cli.main(sys.argv[1:])
print("loaded", *sorted({name.partition(".")[0] for name in sys.modules}))
sys.exit(code)
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_what_it_needs(command: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age,sex\n31,f\n42,m\n53,f\n")
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *command.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.splitlines()[-1].split()[1:])
    assert "numpy" in loaded
    assert loaded & HEAVY == COMMANDS[command]

"""What a worker compiles before its first run is all that a run calls."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import typeof as _typeof

from synth_engine import jit, machine_code

typeof: Any = _typeof
ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "synth_engine"
# Runs after the warm-up, in a process of its own: other tests call the loops with types of their own.
SCRIPT = """
import json, sys
from pathlib import Path
from typing import Any
from synth_engine import machine_code, pipeline
from tests import compiled_types as cases

pipeline.warm_up()
ready = cases.called()
for case, method in (
    (cases.ADULT, "auto"),
    (cases.PLACES, "adaptive"),
    (cases.POINTS, "privtree"),
    (cases.WORDS, "weak-domain"),
):
    cases.run(case, method, Path(sys.argv[1]))
cases.run_database(Path(sys.argv[1]))
cases.draw_large_target(Path(sys.argv[1]))
more = {name: lists - ready[name] for name, lists in cases.called().items()}
print(json.dumps([f"{name}{machine_code.to_json(each)}" for name, lists in more.items() for each in lists]))
"""


def require_nothing_more(*arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [], (
        "not compiled by the warm-up: python -m tests.compiled_types records it"
    )


@pytest.mark.slow
def test_runs_after_the_warm_up_compile_nothing(tmp_path: Path) -> None:
    require_nothing_more("-c", SCRIPT, str(tmp_path))


@pytest.mark.nightly
def test_every_method_compiles_nothing_after_the_warm_up() -> None:
    require_nothing_more("-m", "tests.compiled_types", "run")


ONE_FUNCTION = """
import sys
from pathlib import Path
from synth_engine import jit

jit.use(Path(sys.argv[1]))
name, lists = min(jit.recorded().items())
jit.recorded = lambda: {name: lists[:1]}
jit.warm_up()
print(sum(jit.functions()[name].stats.cache_hits.values()))
"""


def test_what_an_installation_compiled_is_loaded_by_who_cannot_write_it(tmp_path: Path) -> None:
    stored = tmp_path / "stored"

    def loaded(place: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(place)}
        return subprocess.run(
            [sys.executable, "-c", ONE_FUNCTION, str(stored)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert loaded(stored) == "0"
    before = {path: path.read_bytes() for path in stored.rglob("*.nb?")}
    assert len(before) >= 2
    for path in [stored, *stored.rglob("*")]:
        path.chmod(0o555)
    assert loaded(tmp_path / "own") == "1"
    assert {path: path.read_bytes() for path in stored.rglob("*.nb?")} == before
    for path in [stored, *stored.rglob("*")]:
        path.chmod(0o755)


def test_compiled_code_that_a_process_has_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, content in (("stored", b"of the image"), ("own", b"of this processor")):
        (tmp_path / folder / "of").mkdir(parents=True)
        (tmp_path / folder / "of" / "loop.nbi").write_bytes(content)
    (tmp_path / "stored" / "of" / "loop.1.nbc").write_bytes(b"code")
    (tmp_path / "stored" / "other.py").write_bytes(b"no code of numba")
    monkeypatch.setattr(machine_code.numba.config, "CACHE_DIR", str(tmp_path / "own"))
    machine_code.restore(tmp_path / "stored")
    machine_code.restore(tmp_path / "nowhere")
    own = {path.name: path.read_bytes() for path in (tmp_path / "own").rglob("*.*")}
    assert own == {"loop.nbi": b"of this processor", "loop.1.nbc": b"code"}


SUM_OF_PAIR = """
import sys
from numba import typeof
import numpy as np
sys.path.insert(0, sys.argv[1])
import loops
from synth_engine import jit

pair = next(value for value in vars(loops).values() if hasattr(value, "_fields"))(np.zeros(2), np.ones(2))
jit.recorded = lambda: {"loops.add": [(typeof(pair),)]}
jit.warm_up()
print(loops.add(pair), sum(jit.functions()["loops.add"].stats.cache_hits.values()))
"""
LOOPS = """
from typing import NamedTuple
import numpy as np
from steps import STEP, scaled
from synth_engine.jit import compiled

class Sides(NamedTuple):
    first: np.ndarray
    second: np.ndarray

@compiled
def add(pair):
    return scaled(pair.first[0] + pair.second[0]) + STEP
"""
STEPS = """
from synth_engine.jit import compiled

STEP = 0.5

@compiled
def scaled(number):
    return 2 * number
"""


def test_code_on_disk_is_only_loaded_if_nothing_has_changed_that_it_is_made_of(
    tmp_path: Path,
) -> None:
    """A class with another name, another function of another module, and another constant."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NUMBA_CACHE_DIR": str(tmp_path / "code"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def warmed_up() -> str:
        """The result, and how many functions were loaded instead of compiled."""
        done = subprocess.run(
            [sys.executable, "-c", SUM_OF_PAIR, str(tmp_path)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    loops, steps = tmp_path / "loops.py", tmp_path / "steps.py"
    loops.write_text(LOOPS)
    steps.write_text(STEPS)
    assert warmed_up() == "2.5 0"
    assert warmed_up() == "2.5 1"
    loops.write_text(LOOPS.replace("Sides", "Ends"))
    assert warmed_up() == "2.5 0"
    steps.write_text(STEPS.replace("2 * number", "3 * number + 0"))
    assert warmed_up() == "3.5 0"
    steps.write_text(STEPS.replace("2 * number", "3 * number + 0").replace("0.5", "0.25"))
    assert warmed_up() == "3.25 0"
    assert warmed_up() == "3.25 1"


def is_compiled(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(each).startswith("compiled") for each in node.decorator_list
    )


def uncompiled(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes outside of compiled functions."""
    for node in ast.iter_child_nodes(tree):
        if not is_compiled(node):
            yield node
            yield from uncompiled(node)


def compiled_functions() -> tuple[set[str], set[str]]:
    """The compiled functions of the source by module and name: all of them, and those that Python calls."""
    trees = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text())
        for path in ENGINE.rglob("*.py")
    }
    functions = {
        f"{module}.{node.name}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if is_compiled(node) and isinstance(node, ast.FunctionDef)
    }
    calls = set()
    for module, tree in trees.items():
        names = {
            each.asname or each.name: f"{node.module}.{each.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        for node in uncompiled(tree):
            if isinstance(node, ast.Name):
                calls.add(names.get(node.id, f"{module}.{node.id}"))
            elif isinstance(node, ast.Attribute):
                of = ast.unparse(node.value)
                calls.add(f"{names.get(of, of)}.{node.attr}")
    calls &= functions
    return functions, calls


def test_every_compiled_function_that_python_calls_is_recorded() -> None:
    functions, calls = compiled_functions()
    assert len(calls) > 40
    assert calls == set(jit.recorded())
    assert calls <= functions


def test_functions_are_compiled_in_one_way() -> None:
    others = [
        path.name
        for path in ENGINE.rglob("*.py")
        if "njit" in path.read_text() and path.name != "machine_code.py"
    ]
    assert not others


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((2, 3)),
        np.zeros((2, 3)).T,
        np.zeros((4, 4), dtype=np.uint16)[::2, ::2],
        np.frombuffer(bytes(8), dtype=np.uint32),
        (np.zeros(1), 1),
        True,
        np.uint64(3),
        2.5,
    ],
)
def test_a_type_is_recorded_as_it_is(value: object) -> None:
    given = (typeof(value),)
    (word,) = machine_code.to_json(given)
    assert machine_code.from_json(json.loads(json.dumps(word))) == given[0]


def test_a_type_that_the_record_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError, match="has no word"):
        machine_code.to_json((typeof("text"),))

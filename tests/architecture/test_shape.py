"""Functions stay small enough to be read, and randomness stays where it is looked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = sorted((ROOT / "synth_engine").rglob("*.py"))
WEB = sorted(
    path for path in (ROOT / "synthweb").rglob("*.py") if "migrations" not in path.parts
)
LONGEST_VIEW = 40
MOST_ARGUMENTS = 6
# Compiled functions take plain arrays and numbers; the engine's calls are called by people's own scripts.
MANY_ARGUMENTS = {
    "synth_engine/sources/opening.py": {"open_counted"},
    "synth_engine/hierarchy/search.py": {"_tallied"},
    "synth_engine/inference/donor_kernels.py": {"take_from_neighbours"},
    "synth_engine/inference/flow.py": {"_change"},
    "synth_engine/inference/topological.py": {"_fill"},
    "synth_engine/pipeline/comparing.py": {"report"},
    "synth_engine/pipeline/measuring.py": {"synthesize", "measure"},
    "synth_engine/privacy/dirichlet_multinomial.py": {"_origins"},
}

KINDS = "synth_engine/kinds/"
# Post-processing: replayable, from a seed or a generator that is handed in. None of it is noise.
NUMPY_RANDOMNESS = {
    "synth_engine/codec/decoding.py",
    "synth_engine/codec/identifiers.py",
    # Random parts of real records for exact figures, which are for the steward alone.
    "synth_engine/trials/attacks.py",
    "synth_engine/trials/record_samples.py",
    "synth_engine/trials/shadow_models.py",
    "synth_engine/trials/training.py",
    "synth_engine/constraints/records.py",
    "synth_engine/constraints/values.py",
    "synth_engine/inference/topdown_allocation.py",
    "synth_engine/inference/column_counts.py",
    "synth_engine/inference/covering.py",
    "synth_engine/inference/view_design.py",
    "synth_engine/inference/placement.py",
    "synth_engine/inference/record_refinement.py",
    "synth_engine/inference/flow.py",
    "synth_engine/inference/mixture.py",
    "synth_engine/inference/oneway.py",
    "synth_engine/inference/refine_triples.py",
    "synth_engine/inference/topological.py",
    "synth_engine/models/trees/covariates.py",
    "synth_engine/models/trees/taxonomy.py",
    "synth_engine/models/conditional.py",
    "synth_engine/mechanisms/dpsyn.py",
    "synth_engine/models/refinement.py",
    "synth_engine/models/group_sizes.py",
    "synth_engine/models/binning.py",
    "synth_engine/models/places.py",
    "synth_engine/models/sparse_table.py",
    "synth_engine/models/trees/strings.py",
    "synth_engine/models/trees/spatial.py",
    "synth_engine/models/weights.py",
    "synth_engine/evaluation/column_shapes.py",
    "synth_engine/evaluation/expected.py",
    "synth_engine/evaluation/expected_errors.py",
    "synth_engine/evaluation/figures/k_marginals.py",
    "synth_engine/evaluation/report.py",
    "synth_engine/plans/implicates.py",
    "synth_engine/linking/drawing.py",
    "synth_engine/extras/cities/building.py",
    "synth_engine/extras/cities/placement.py",
    "synth_engine/extras/cities/rounding.py",
    "synth_engine/extras/cities/rows.py",
    "synth_engine/extras/scenarios/faults.py",
    "synth_engine/extras/scenarios/situations.py",
    "synth_engine/extras/scenarios/steps.py",
}
# The operating system's randomness, besides OpenDP's own: noise on counts, truncation by unit, which values
# that nobody has pass a threshold, fresh seeds, keys and names of temporary files.
SECURE_RANDOMNESS = {
    "synth_engine/sources/cluster.py",
    "synth_engine/sources/database.py",
    "synth_engine/room/discovery.py",
    "synth_engine/steward/filling.py",
    "synth_engine/room/growth.py",
    "synth_engine/sources/linking.py",
    "synth_engine/room/noise.py",
    "synth_engine/sources/opening.py",
    "synth_engine/sources/counting.py",
    "synth_engine/sources/snapshot.py",
    "synth_engine/pipeline/databases.py",
    "synth_engine/pipeline/measuring.py",
    "synth_engine/commands/links.py",
    "synth_engine/commands/databases.py",
    "synth_engine/commands/mixing.py",
    "synth_engine/commands/releases.py",
    "synth_engine/extras/cities/commands.py",
    "synth_engine/extras/scenarios/commands.py",
    "synth_engine/outputs.py",
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree(path)):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.end_lineno is not None
        ):
            yield node.name, node.end_lineno - node.lineno + 1


def dotted(node: ast.AST) -> str:
    """ "np.random.default_rng" of an attribute chain, else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def mentions(path: Path, *, chains: tuple[str, ...], modules: tuple[str, ...]) -> bool:
    """Whether a file names one of these attributes, or imports one of these modules or something from
    them."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and dotted(node).startswith(chains):
            return True
        if isinstance(node, ast.Import) and any(
            alias.name.startswith(modules) for alias in node.names
        ):
            return True
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            full = {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
            if any(
                one == module or one.startswith(f"{module}.")
                for one in full
                for module in modules
            ):
                return True
    return False


def with_many_arguments(path: Path) -> set[str]:
    """Functions with more arguments than one remembers, `self` and `cls` left out."""
    many = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            named = [one.arg for one in arguments if one.arg not in ("self", "cls")]
            if len(named) > MOST_ARGUMENTS:
                many.add(node.name)
    return many


def test_a_function_has_at_most_six_arguments() -> None:
    many = {name(path): with_many_arguments(path) for path in [*ENGINE, *WEB]}
    assert {path: names for path, names in many.items() if names} == MANY_ARGUMENTS


@pytest.mark.parametrize(
    "path", [path for path in WEB if path.name == "views.py" or "views" in path.parts], ids=name
)
def test_a_view_only_fetches_calls_and_renders(path: Path) -> None:
    assert [
        (function, lines) for function, lines in functions(path) if lines > LONGEST_VIEW
    ] == []


def test_numpy_randomness_is_met_in_listed_post_processing_alone() -> None:
    chains, modules = ("np.random", "numpy.random"), ("numpy.random", "random")
    found = {name(path) for path in ENGINE if mentions(path, chains=chains, modules=modules)}
    assert {file for file in found if not file.startswith(KINDS)} == NUMPY_RANDOMNESS


@pytest.mark.parametrize(
    "path", [path for path in ENGINE if name(path).startswith(KINDS)], ids=name
)
def test_kinds_of_columns_draw_from_the_generator_that_is_handed_in(path: Path) -> None:
    """They name its type and make none, so that no new kind has to be listed."""
    named = {dotted(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert {one for one in named if ".random." in one} <= {"np.random.Generator"}
    assert not mentions(path, chains=(), modules=("numpy.random", "random"))


def test_secure_randomness_is_met_in_listed_places_alone() -> None:
    chains, modules = ("os.urandom", "os.getrandom", "secrets.", "uuid."), ("secrets", "uuid")
    found = {name(path) for path in ENGINE if mentions(path, chains=chains, modules=modules)}
    assert found == SECURE_RANDOMNESS


def remembering_bytes(path: Path) -> list[str]:
    """Where random bytes might outlive the call that needs them: drawn while a module or a class is read, in
    a cached function or a generator, or in one that writes to names or attributes of others. A process that
    is forked later, as workers are, would have the same bytes as its brothers."""
    found: list[str] = []

    def look(node: ast.AST, inside: list[ast.AST]) -> None:
        if isinstance(node, ast.Call) and dotted(node.func).startswith(
            ("os.urandom", "os.getrandom", "secrets.")
        ):
            place = f"line {node.lineno}"
            if not inside:
                found.append(f"{place}: outside of a function")
            found.extend(
                f"{place}: {reason}" for function in inside for reason in _keeps(function)
            )
        deeper = (
            [*inside, node]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            else inside
        )
        for name, part in ast.iter_fields(node):
            # Defaults and decorators of a function belong to what is around it.
            within = inside if name in ("args", "decorator_list", "returns") else deeper
            for child in part if isinstance(part, list) else [part]:
                if isinstance(child, ast.AST):
                    look(child, within)

    look(tree(path), [])
    return found


def _keeps(function: ast.AST) -> list[str]:
    reasons = []
    for decorator in getattr(function, "decorator_list", []):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if "cache" in dotted(called):
            reasons.append("in a cached function")
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            reasons.append("beside a name that is global or of another function")
        if isinstance(node, ast.Yield | ast.YieldFrom):
            reasons.append("in a generator")
        targets = (
            node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        )
        if any(isinstance(target, ast.Attribute) for target in targets):
            reasons.append("beside an attribute that is set")
    return reasons


@pytest.mark.parametrize("path", [ROOT / file for file in sorted(SECURE_RANDOMNESS)], ids=name)
def test_random_bytes_are_used_in_the_call_that_draws_them(path: Path) -> None:
    assert remembering_bytes(path) == []


@pytest.mark.parametrize(
    "source",
    [
        "import os\nPOOL = os.urandom(2**20)",
        "import os\nclass Noise:\n    pool = os.urandom(2**20)",
        "import os\ndef draw(pool=bytearray(os.urandom(9))):\n    return pool.pop()",
        "import os\ndef draw():\n    global pool\n    pool += os.urandom(9)",
        "import os\nclass Noise:\n    def draw(self):\n        self.pool = os.urandom(9)",
        (
            "import os\nfrom functools import lru_cache\n@lru_cache(maxsize=8)\ndef draw(n):\n    return "
            "os.urandom(n)"
        ),
        "import secrets\ndef words():\n    while True:\n        yield secrets.randbits(64)",
    ],
)
def test_random_bytes_that_are_kept_are_found(tmp_path: Path, source: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(source)
    assert remembering_bytes(file) != []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import choice",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nx = np.random.default_rng()",
        "import numpy.random",
    ],
)
def test_the_search_for_randomness_finds_it(tmp_path: Path, source: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(source)
    assert mentions(
        file, chains=("np.random", "numpy.random"), modules=("numpy.random", "random")
    )


def test_no_module_of_the_engine_prints_or_logs() -> None:
    """Only the command line speaks, to its own streams."""
    for path in ENGINE:
        imported = {
            alias.name
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        called = {
            dotted(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)
        }
        assert not imported & {"logging", "warnings"}, name(path)
        assert "print" not in called, name(path)

"""The methods of this project beside other synthesizers, each in a Python environment of its own.

    python bench/peers.py [FOLDER] [--data adult] [--epsilon 0.1 1 10] [--peer synth_engine dpmm …]
        [--method mst …] [--runs 3]
                          [--limit SECONDS] [--cache FILE] [--document FILE] [--environments FOLDER]
                              [--checkouts FOLDER]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/ and data/. All get the same integer codes
and the same public number of codes of each column, delta = 1e-9, and draw as many rows as the table has. A
run is a process: one thread of linear algebra, processor seconds of fitting and of drawing, the most memory.
Rows are scored by one script (tools/score.py): mean distances of single columns, all pairs and 200 triples,
and the area under the curve of gradient boosting where the table has a column to predict.

The environments are made on first use from the pinned lists in bench/environments, with Python's own venv and
pip, and can be large (smartnoise-synth brings PyTorch). Programs that are in no package index are run from
checkouts of their repositories at the commits in `CHECKOUTS`, which `--checkouts` has in folders
google_dpsynth and private_pgm; the first needs Python 3.12. What ran is stored in `--cache` by table,
versions, epsilon and run, and is not run again. A run of more than `--limit` processor seconds is stopped.
`--document` writes the page docs/peers.md and its picture from everything stored. `make bench` runs the
methods of this project alone, `make bench-peers` all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from pathlib import Path
from statistics import fmean

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import against, auto
from synth_engine.privacy.conversion import rho_for

PROGRAMS = Path(__file__).resolve().parent / "environments"
HERE = "synth_engine"
PEERS: Mapping[str, tuple[str, ...]] = {
    HERE: ("auto", "mst", "aim", "bayesian-network", "independent"),
    "datasynthesizer": ("independent", "correlated"),
    "dpmm": ("mst", "privbayes", "aim"),
    "google_dpsynth": ("independent", "mst", "swift"),
    "opendp": ("mst", "aim"),
    "private_pgm": ("mst", "aim"),
    "smartnoise": ("mst", "aim"),
}
"""Methods of each environment, the quickest first."""


@dataclass(frozen=True)
class Checkout:
    """A program that is in no package index. folders: what of its repository is looked for modules in;
    python: the interpreter that it needs, empty for that of the bench."""

    repository: str
    commit: str
    folders: tuple[str, ...]
    python: str = ""


CHECKOUTS: Mapping[str, Checkout] = {
    "google_dpsynth": Checkout(
        repository="github.com/google/dpsynth",
        commit="cf8075f319b96c2e009e4ea6bb55378faccbbc80",
        folders=(".",),
        python="python3.12",
    ),
    "private_pgm": Checkout(
        repository="github.com/ryan112358/private-pgm",
        commit="4d2b3c566b148da3ef800ce76e6189c548f2da22",
        folders=("src", "mechanisms"),
    ),
}
"""They are run from `--checkouts`, a folder with one of the same name for each; without it they are left
out."""
COLUMNS = ("tvd1", "tvd2", "tvd3", "hgb_auc", "fit", "rows", "memory")
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
NOT_RUN = "not run yet"
Figures = dict[str, float]


@dataclass(frozen=True)
class Cell:
    """One setting of one method. `reason` is why it has no figures."""

    data: str
    epsilon: str
    peer: str
    method: str
    runs: tuple[Figures, ...] = ()
    reason: str = ""

    @property
    def name(self) -> str:
        return f"{self.peer} {self.method}"

    def mean(self, figure: str) -> float | None:
        found = [run[figure] for run in self.runs if figure in run]
        return fmean(found) if found else None


def _stored_in() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synthweb"


def default_environments() -> Path:
    return _stored_in() / "peers"


class Environments:
    """Python environments of the peers; that of this project is the one that runs the bench."""

    def __init__(self, folder: Path, *, checkouts: Path | None = None) -> None:
        self._folder, self._checkouts = folder, checkouts

    def missing(self, peer: str) -> str:
        """Why a peer cannot be run here; empty if it can."""
        checkout = CHECKOUTS.get(peer)
        if checkout is None:
            return ""
        if self._checkouts is None or not (self._checkouts / peer).is_dir():
            return f"needs a checkout of {checkout.repository}"
        if checkout.python and not _runs(checkout.python):
            return f"needs {checkout.python}"
        return ""

    def variables(self, peer: str) -> dict[str, str]:
        """Variables of the environment in which a peer is run."""
        checkout = CHECKOUTS.get(peer)
        if checkout is None or self._checkouts is None:
            return dict(ONE_THREAD)
        folders = [str((self._checkouts / peer / each).resolve()) for each in checkout.folders]
        return ONE_THREAD | {"PYTHONPATH": os.pathsep.join(folders)}

    def python(self, peer: str) -> Path:
        if peer == HERE:
            return Path(sys.executable)
        folder = self._folder / f"{peer}-{self.version(peer)}"
        python = folder / "bin" / "python"
        ready = folder / "ready"
        if not ready.exists():
            maker = CHECKOUTS[peer].python if peer in CHECKOUTS else ""
            subprocess.run(
                [maker or sys.executable, "-m", "venv", "--clear", folder], check=True
            )
            listed = PROGRAMS / f"{peer}.txt"
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "--requirement", listed],
                check=True,
            )
            ready.touch()
        return python

    def version(self, peer: str) -> str:
        """A digest of the pinned list, or of the engine's code."""
        if peer == HERE:
            return against.engine_version()
        return against.digest([PROGRAMS / f"{peer}.txt"])


def _runs(interpreter: str) -> bool:
    """Whether there is such an interpreter, and it starts: a shim may lead nowhere."""
    if shutil.which(interpreter) is None:
        return False
    return subprocess.run([interpreter, "-c", ""], capture_output=True).returncode == 0


class Bench:
    """Runs what is not stored, and scores its rows."""

    def __init__(
        self, folder: Path, *, cache: Path, limit: float, environments: Environments
    ) -> None:
        self._folder, self._cache, self._limit = folder, cache, limit
        self._environments = environments
        self._score = auto.script(folder, "score")
        self._stored: dict[str, Figures | str] = (
            json.loads(cache.read_text()) if cache.is_file() else {}
        )

    def cells(
        self,
        data: Sequence[str],
        epsilons: Sequence[str],
        peers: Sequence[str],
        *,
        runs: int,
        methods: Sequence[str] = (),
        stored_alone: bool = False,
    ) -> Iterator[Cell]:
        """Every setting in turn. methods: of each peer, all of them if there are none; stored_alone: nothing
        is run."""
        for name in data:
            with tempfile.TemporaryDirectory() as scratch:
                table = auto.read(self._folder, name, Path(scratch))
                for epsilon in epsilons:
                    for peer in peers:
                        for method in PEERS[peer]:
                            if methods and method not in methods:
                                continue
                            yield self._cell(
                                table,
                                epsilon,
                                peer,
                                method,
                                runs=runs,
                                scratch=None if stored_alone else Path(scratch),
                            )

    def _cell(
        self,
        table: auto.Data,
        epsilon: str,
        peer: str,
        method: str,
        *,
        runs: int,
        scratch: Path | None,
    ) -> Cell:
        found: list[Figures] = []
        for run in range(runs):
            key = " ".join(
                (
                    table.digest,
                    self._environments.version(peer),
                    epsilon,
                    peer,
                    method,
                    str(run),
                )
            )
            if key not in self._stored:
                if scratch is None:
                    continue
                if missing := self._environments.missing(peer):
                    return Cell(table.name, epsilon, peer, method, reason=missing)
                self._stored[key] = self._run(table, epsilon, peer, method, run, scratch)
                self._cache.parent.mkdir(parents=True, exist_ok=True)
                self._cache.write_text(json.dumps(self._stored, indent=1))
            figures = self._stored[key]
            if isinstance(figures, str):
                return Cell(table.name, epsilon, peer, method, reason=figures)
            found.append(figures)
        reason = "" if found else NOT_RUN
        return Cell(table.name, epsilon, peer, method, tuple(found), reason)

    def _run(
        self, table: auto.Data, epsilon: str, peer: str, method: str, run: int, scratch: Path
    ) -> Figures | str:
        train, sizes, out = (scratch / name for name in ("t.csv", "s.json", "o.csv"))
        pd.DataFrame(table.codes, columns=list(table.sizes)).to_csv(train, index=False)
        sizes.write_text(json.dumps(table.sizes))
        out.unlink(missing_ok=True)
        rho = float(rho_for(Fraction(epsilon), Fraction(auto.DELTA)))
        program = PROGRAMS / f"with_{peer}.py"
        given = [method, epsilon, auto.DELTA, f"{rho:.9f}", str(run)]
        python = self._environments.python(peer)
        try:
            done = subprocess.run(
                [python, program, train, sizes, *given, out],
                env=os.environ | self._environments.variables(peer),
                capture_output=True,
                text=True,
                check=True,
                preexec_fn=self._limited,
            )
        except subprocess.CalledProcessError as error:
            if error.returncode < 0:
                return f"more than {self._limit:g} CPU s"
            lines = [line for line in error.stderr.splitlines() if line.strip(' ")')]
            return lines[-1].strip()[:120] if lines else "stopped without a word"
        found = pd.read_csv(out)[list(table.sizes)].to_numpy()
        took: Figures = json.loads(done.stdout.splitlines()[-1])
        return auto.scored(table, found, self._score, learn=True) | took

    def _limited(self) -> None:
        seconds = int(self._limit)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def line(cell: Cell) -> str:
    if cell.reason:
        return f"  {cell.name:28} {cell.reason}"
    shown = []
    for column, form in zip(COLUMNS, ("9.4f",) * 3 + ("8.3f",) + ("9.1f",) * 3, strict=True):
        value = cell.mean(column)
        width = int(form.split(".")[0])
        shown.append(" " * width if value is None else format(value, form))
    return f"  {cell.name:28}{''.join(shown)}"


def page(cells: Sequence[Cell], *, picture: str) -> str:
    """The page, in Markdown."""
    lines = [
        "# Beside other synthesizers",
        "",
        (
            "Written by `make bench-peers` ([program](../bench/peers.py)): the same integer codes, the "
            "same public number of codes of each"
        ),
        f"column, δ = 10⁻⁹, every run in a process with one thread. {against.machine()}",
        "",
        (
            "TVD is the mean total variation distance of single columns, of all pairs and of 200 triples; "
            "AUC is that of gradient boosting for"
        ),
        (
            "the column to predict, trained on the release and tested on records that no release used. "
            "Seconds are processor seconds,"
        ),
        (
            f"without starting Python.{_spread(cells)} Pinned versions are in `bench/environments`, "
            "commits of programs that are in"
        ),
        "no package index in the program. `synth_engine` is this project.",
        "",
        f"![Error of pairs by method]({picture})",
        "",
    ]
    for data in dict.fromkeys(cell.data for cell in cells):
        lines += [
            f"## {data.capitalize()}",
            "",
            "| ε | method | TVD 1 | TVD 2 | TVD 3 | AUC | fit s | rows s | MB | runs |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        of_table = [cell for cell in cells if cell.data == data]
        lines += [_row(cell) for cell in of_table if cell.reason != NOT_RUN]
        lines += ["", *_not_run(of_table)]
    return "\n".join(lines)


def _not_run(cells: Sequence[Cell]) -> list[str]:
    """A sentence about the settings that have not run, in lines."""
    missing: dict[str, list[str]] = {}
    for cell in cells:
        if cell.reason == NOT_RUN:
            missing.setdefault(cell.name, []).append(cell.epsilon)
    if not missing:
        return []
    named = [f"{name} (ε {', '.join(epsilons)})" for name, epsilons in missing.items()]
    return [f"Not run yet: {'; '.join(named)}.", ""]


def _spread(cells: Sequence[Cell]) -> str:
    """How much the seconds of one setting differ, which other programs on the machine change; nothing where
    all take little."""
    fits = [[run["fit"] for run in cell.runs] for cell in cells if not cell.reason]
    ratios = [max(each) / min(each) for each in fits if len(each) > 1 and min(each) >= 1]
    if not ratios:
        return ""
    return f" Those of one setting differ by up to {100 * (max(ratios) - 1):.0f} % between releases."


def _row(cell: Cell) -> str:
    start = f"| {cell.epsilon} | {cell.peer} `{cell.method}` |"
    if cell.reason:
        return f"{start} {cell.reason} | | | | | | | 0 |"
    values = []
    for column in COLUMNS:
        value = cell.mean(column)
        digits = 4 if column.startswith("tvd") else 3 if column == "hgb_auc" else 1
        values.append("" if value is None else f"{value:.{digits}f}")
    return f"{start} {' | '.join(values)} | {len(cell.runs)} |"


WIDTH, HEIGHT, LEFT, BAR = 760, 18, 250, 11
"""Pixels: of the picture, of a line, where bars begin, and of a bar."""
OURS, THEIRS = "#c2571a", "#64748b"


def chart(cells: Sequence[Cell], *, data: str, epsilon: str) -> str:
    """A picture (SVG) of the errors of pairs in one setting, least first."""
    able = [cell for cell in cells if (cell.data, cell.epsilon) == (data, epsilon)]
    bars = sorted(
        ((value, cell) for cell in able if (value := cell.mean("tvd2")) is not None),
        key=lambda pair: pair[0],
    )
    most = max((value for value, _ in bars), default=1.0)
    height = HEIGHT * (len(bars) + 2)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        (
            f'<text x="8" y="14" font-weight="bold">Error of pairs (mean TVD), {escape(data)}, ε = '
            f"{escape(epsilon)}</text>"
        ),
    ]
    for at, (value, cell) in enumerate(bars, start=1):
        top = HEIGHT * at + 6
        length = (WIDTH - LEFT - 70) * value / most
        colour = OURS if cell.peer == HERE else THEIRS
        parts += [
            f'<text x="{LEFT - 8}" y="{top + 10}" text-anchor="end">{escape(cell.name)}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<text x="{LEFT + length + 6:.1f}" y="{top + 10}">{value:.4f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--data", nargs="+", choices=auto.DATA, default=["adult"])
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--peer", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--method", nargs="+", default=[], help="of each peer; by default all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1200.0)
    parser.add_argument("--cache", type=Path, default=_stored_in() / "peers.json")
    parser.add_argument("--environments", type=Path, default=default_environments())
    parser.add_argument("--checkouts", type=Path)
    parser.add_argument("--document", type=Path)
    asked = parser.parse_args()
    if not asked.folder:
        parser.error("give the folder of the benchmark, or set SYNTHWEB_BENCHMARK")
    bench = Bench(
        Path(asked.folder),
        cache=asked.cache,
        limit=asked.limit,
        environments=Environments(asked.environments, checkouts=asked.checkouts),
    )
    heading = ""
    for cell in bench.cells(
        asked.data, asked.epsilon, asked.peer, runs=asked.runs, methods=asked.method
    ):
        if heading != (heading := f"{cell.data}, epsilon {cell.epsilon}"):
            print(
                f"{heading:30}{'tvd1':>9}{'tvd2':>9}{'tvd3':>9}{'AUC':>8}{'fit s':>9}{'rows s':>9}{'MB':>9}"
            )
        print(line(cell), flush=True)
    if asked.document:
        # Everything stored, not only what was asked for this time.
        cells = list(
            bench.cells(
                asked.data, asked.epsilon, list(PEERS), runs=asked.runs, stored_alone=True
            )
        )
        picture = asked.document.parent / "images" / "peers.svg"
        picture.write_text(chart(cells, data=asked.data[0], epsilon="1"))
        asked.document.write_text(page(cells, picture="images/peers.svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

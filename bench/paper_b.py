"""The evaluation planned in *DPSyn* (Li, Zhang and Wang 2018, section 5), carried out: sums of squared errors
of k-way marginals, k from 3 to 8, and misclassification by models that were trained on synthetic records.

    python bench/paper_b.py [FOLDER]        the folder with data/ and tools/, by default ../shared; or: make
                                            paper-B

Tables: the discretised Adult, the national excerpts of the American Community Survey of 2019, and a list of
market baskets, of which each run chooses 50 or 100 items by itself: the catalogue, item numbers below 20,000,
is public (docs/baskets.md). Errors are those of the yes/no columns of the items that really are the top 50
and top 100; an item that a run did not choose is in none of its baskets. Every answer has the room's noise.
Four fifths of each table are private, the rest is for testing. Writes build/paper-b/{table.md,figure.html}.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
import plotly.graph_objects as go  # noqa: E402
from plotly.subplots import make_subplots  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from bench import coded_tables  # noqa: E402
from synth_engine import mechanisms  # noqa: E402
from synth_engine.domain import Basket, Domain, WeakBasket  # noqa: E402
from synth_engine.models.model import Model, Synthesis  # noqa: E402
from synth_engine.plans import domain_learning  # noqa: E402
from synth_engine.plans.plan import Plan  # noqa: E402
from synth_engine.plans.two_stage import StagedPlan  # noqa: E402
from synth_engine.room.rows import Rows  # noqa: E402
from synth_engine.room.session import open_session  # noqa: E402
from synth_engine.sources.opening import open_table  # noqa: E402
from synth_engine.spec import Spec  # noqa: E402
from synth_engine.values import Integers  # noqa: E402

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(10))
DELTA = Fraction(1, 10**9)
KS = tuple(range(3, 9))
MARGINALS, LARGEST_TABLE = 30, 1 << 17
"""How many of each k, drawn once; and cells up to which a table is written down."""
BASKET_EPSILONS = EPSILONS[:2]
ITEMS = 20_000
OUT = ROOT / "build" / "paper-b"
Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """A private table, one for testing, and the column to be predicted. Of baskets also the private list
    itself, and its description, which leaves open what the columns are."""

    name: str
    domain: Domain
    private: Matrix
    test: Matrix
    target: int
    baskets: tuple[Path, Domain] | None = None


@dataclass(frozen=True)
class Line:
    data: str
    epsilon: Fraction
    method: str
    views: str
    errors: tuple[float, ...]
    wrong: float
    seconds: float


def main(folder: Path) -> int:
    if not (folder / "tools" / "split.py").is_file():
        sys.stdout.write(f"Skipped: {folder} has no data and tools.\n")
        return 0
    begun = time.perf_counter()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as scratch:
        for problem in tables(folder, Path(scratch)):
            lines += references(problem)
            for epsilon in BASKET_EPSILONS if problem.baskets else EPSILONS:
                lines += runs(problem, epsilon)
    OUT.mkdir(parents=True, exist_ok=True)
    text = written(lines)
    (OUT / "table.md").write_text(text)
    (OUT / "figure.html").write_text(
        figure(lines).to_html(include_plotlyjs=True, full_html=True)
    )
    sys.stdout.write(
        f"{text}\n{OUT.relative_to(ROOT)}/figure.html; {time.perf_counter() - begun:.0f} s in all.\n"
    )
    return 0


# ---- tables
# ----------------------------------------------------------------------------------------------------


def tables(folder: Path, scratch: Path) -> Iterator[Problem]:
    adult, census = coded_tables.adult(folder, scratch), coded_tables.national(folder, scratch)
    for data, target in ((adult, "income>50K"), (census, "OWN_RENT")):
        yield parted(data.name, data.domain, data.codes, target=data.domain.names.index(target))
    with gzip.open(folder / "data" / "transactions" / "retail.dat.gz", "rt") as file:
        lines = file.read().splitlines()
    private = scratch / "private.dat"
    private.write_text(
        "".join(f"{lines[place]}\n" for place in order_of(len(lines))[: len(lines) * 4 // 5])
    )
    for top in (50, 100):
        yield of_baskets(lines, top, private=private)


def parted(name: str, domain: Domain, codes: Matrix, *, target: int) -> Problem:
    order = order_of(len(codes))
    cut = len(codes) * 4 // 5
    return Problem(name, domain, codes[order[:cut]], codes[order[cut:]], target)


def order_of(number: int) -> Matrix:
    return np.random.default_rng(0).permutation(number)


def of_baskets(lines: list[str], top: int, *, private: Path) -> Problem:
    """Yes/no columns of the most frequent items, for the evaluation alone."""
    baskets = [np.unique(np.array(line.split(), dtype=np.int64)) for line in lines]
    chosen = np.sort(
        np.argsort(-np.bincount(np.concatenate(baskets), minlength=ITEMS), kind="stable")[:top]
    )
    column = np.full(ITEMS, -1)
    column[chosen] = np.arange(top)
    codes = np.zeros((len(baskets), top), dtype=np.int64)
    for row, basket in enumerate(baskets):
        codes[row, column[basket[column[basket] >= 0]]] = 1
    domain = Domain(attributes=(Basket(name="items", items=tuple(map(str, chosen))),))
    declared = Domain(
        attributes=(WeakBasket(name="items", values=Integers(0, ITEMS - 1), keep=top),)
    )
    found = parted(
        f"retail, top {top}", domain, codes, target=int(np.argmax(codes.sum(axis=0)))
    )
    return replace(found, baskets=(private, declared))


# ---- runs
# ------------------------------------------------------------------------------------------------------


def runs(problem: Problem, epsilon: Fraction) -> Iterator[Line]:
    """DPSyn with its two ways to make records, from the same answers; and columns drawn independently."""
    for mechanism in ("dpsyn", "independent"):
        begun = time.perf_counter()
        plan, model = fitted(problem, mechanism, epsilon)
        before = time.perf_counter() - begun
        made: dict[Synthesis, str] = (
            {"mcf": "DPSyn, flow", "sts": "DPSyn, sorted"}
            if mechanism == "dpsyn"
            else {"finish": "independent"}
        )
        for synthesis, name in made.items():
            begun = time.perf_counter()
            drawn = replace(model, synthesis=synthesis).sample(model.rows, seed="paper B")
            absent = np.zeros(model.rows, dtype=np.int64)
            codes = np.stack(
                [drawn.get(name, absent).astype(np.int64) for name in problem.domain.sizes],
                axis=1,
            )
            seconds = before + time.perf_counter() - begun
            yield line(problem, epsilon, name, codes, views=described(plan), seconds=seconds)


def fitted(problem: Problem, mechanism: str, epsilon: Fraction) -> tuple[Plan, Model]:
    parameters = (
        {"records": 10 ** round(np.log10(len(problem.private)))} if mechanism == "dpsyn" else {}
    )
    spec = Spec(mechanism=mechanism, epsilon=epsilon, delta=DELTA, parameters=parameters)
    if problem.baskets is None:
        columns = {
            name: problem.private[:, i].astype(np.uint16)
            for i, name in enumerate(problem.domain.sizes)
        }
        rows = Rows(columns, domain=problem.domain)
    else:
        path, declared = problem.baskets
        rows = open_table(path, declared)
    plan = mechanisms.plan(rows.domain, spec)
    session = open_session(rows, domain=rows.domain, cap=plan.loss, planned=plan.calls)
    answers = plan.run(session)
    return plan, plan.fit(answers)


def references(problem: Problem) -> Iterator[Line]:
    """Without privacy: a resample of the private records."""
    again = np.random.default_rng(1).integers(len(problem.private), size=len(problem.private))
    yield line(
        problem,
        Fraction(0),
        "resample, not private",
        problem.private[again],
        views="",
        seconds=0.0,
    )


def described(plan: Plan) -> str:
    if isinstance(plan, StagedPlan):  # as many as for any other items
        plan = plan.config.calibrate(
            domain_learning.expected_domain(plan.domain), plan.spec, within=plan.left
        )
    sizes = plan.domain.sizes
    cliques = getattr(plan, "cliques", None)
    if cliques is None:
        return ""
    return (
        f"{len(cliques)} of up to "
        f"{max(int(np.prod([sizes[name] for name in clique])) for clique in cliques):,}"
    )


def line(
    problem: Problem,
    epsilon: Fraction,
    method: str,
    codes: Matrix,
    *,
    views: str,
    seconds: float,
) -> Line:
    errors = tuple(squared_error(problem, codes, k) for k in KS)
    wrong = misclassified(codes, problem.test, target=problem.target)
    print(
        f"  {problem.name}, epsilon {float(epsilon):g}, {method}: {seconds:.1f} s",
        file=sys.stderr,
        flush=True,
    )
    return Line(problem.name, epsilon, method, views, errors, wrong, seconds)


def squared_error(problem: Problem, codes: Matrix, k: int) -> float:
    """The sum over all cells of (share of the private records - share of the synthetic ones)², the mean over
    marginals."""
    rng, found = np.random.default_rng(k), []
    sizes, cut = list(problem.domain.sizes.values()), len(problem.private)
    for _ in range(MARGINALS):
        cells: Matrix = np.zeros(cut + len(codes), dtype=np.int64)
        most = 1
        for axis in rng.choice(len(sizes), k, replace=False):
            cells = cells * sizes[axis] + np.concatenate(
                [problem.private[:, axis], codes[:, axis]]
            )
            most *= sizes[axis]
            if most > LARGEST_TABLE:  # only cells that occur count
                cells = np.unique(cells, return_inverse=True)[1]
                most = int(cells.max()) + 1
        shares = np.bincount(cells[:cut], minlength=most) / cut
        found.append(
            float(
                (
                    (shares - np.bincount(cells[cut:], minlength=most) / max(1, len(codes)))
                    ** 2
                ).sum()
            )
        )
    return float(np.mean(found))


def misclassified(codes: Matrix, test: Matrix, *, target: int) -> float:
    """The part of the test records that a decision tree trained on these records gets wrong; all of them if
    there are none."""
    if not len(codes):
        return 1.0
    tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=20, random_state=0)
    tree.fit(np.delete(codes, target, axis=1), codes[:, target])
    return float((tree.predict(np.delete(test, target, axis=1)) != test[:, target]).mean())


# ---- what is written
# -------------------------------------------------------------------------------------------


def written(lines: list[Line]) -> str:
    head = (
        "| data | ε | method | views | "
        + " | ".join(f"SSE, k = {k}" for k in KS)
        + " | misclassified | s |"
    )
    found = [
        (
            f"Sums of squared errors of {MARGINALS} k-way marginals (shares of records), their mean; "
            "misclassification of a column by a"
        ),
        "decision tree of depth 8; δ = 10⁻⁹, one run each.",
        "",
        head,
        "|" + "---|" * head.count(" |"),
    ]
    for one in lines:
        epsilon = f"{float(one.epsilon):g}" if one.epsilon else "–"
        errors = " | ".join(f"{error:.1e}" for error in one.errors)
        found.append(
            f"| {one.data} | {epsilon} | {one.method} | {one.views} | {errors} | {one.wrong:.3f} | "
            f"{one.seconds:.1f} |"
        )
    return "\n".join(found) + "\n"


def figure(lines: list[Line]) -> go.Figure:
    names = list(dict.fromkeys(one.data for one in lines))
    drawn = make_subplots(rows=1, cols=len(names), subplot_titles=names)
    colours = {
        "DPSyn, flow": "#3b5b92",
        "DPSyn, sorted": "#7a9e4d",
        "independent": "#b5651d",
        "resample, not private": "#777777",
    }
    styles = {
        Fraction(0): "solid",
        Fraction(1, 10): "dot",
        Fraction(1): "dash",
        Fraction(10): "solid",
    }
    for one in lines:
        drawn.add_scatter(
            x=KS,
            y=one.errors,
            line={"color": colours[one.method], "dash": styles[one.epsilon]},
            name=one.method + (f", ε = {float(one.epsilon):g}" if one.epsilon else ""),
            legendgroup=f"{one.method} {one.epsilon}",
            showlegend=one.data == names[0],
            row=1,
            col=names.index(one.data) + 1,
        )
    drawn.update_xaxes(title="k")
    drawn.update_yaxes(type="log")
    drawn.update_yaxes(title="sum of squared errors", col=1)
    drawn.update_layout(title="DPSyn: k-way marginals", template="plotly_white")
    return drawn


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared"))

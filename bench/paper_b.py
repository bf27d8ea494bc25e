"""The evaluation planned in *DPSyn* (Li, Zhang and Wang 2018, section 5), carried out: sums of squared errors of k-way
marginals, k from 3 to 8, and misclassification by models that were trained on synthetic records.

    python bench/paper_b.py [FOLDER]        the folder with data/ and tools/, by default ../shared; or: make paper-B

Tables: the discretised Adult, the national excerpts of the American Community Survey of 2019, and market baskets as
yes/no columns of the top 50 and top 100 items. The top items are chosen with a tenth of mu²: the catalogue, item numbers below 20,000, is
public, every basket gives at most 20 items, drawn at random, to the counts, and each count gets rounded Gaussian noise; a
basket moves at most 20 counts by one, so the squared L2 sensitivity is 20. The basket itself is one record with all of its
columns. Every answer has the room's noise. Four fifths of each table are private, the rest is for testing.
Writes build/paper-b/{table.md,figure.html}.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
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

from bench import forecast  # noqa: E402
from synth_engine import mechanisms  # noqa: E402
from synth_engine.confidential import noise  # noqa: E402
from synth_engine.confidential.rows import Rows  # noqa: E402
from synth_engine.confidential.session import open_session  # noqa: E402
from synth_engine.domain import Domain  # noqa: E402
from synth_engine.measurement import Noise  # noqa: E402
from synth_engine.mechanisms.model import Model  # noqa: E402
from synth_engine.mechanisms.plan import Plan  # noqa: E402
from synth_engine.privacy import calibrate, conversion  # noqa: E402
from synth_engine.privacy.loss import GaussianDP  # noqa: E402
from synth_engine.spec import Spec  # noqa: E402

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(10))
DELTA = Fraction(1, 10**9)
KS = tuple(range(3, 9))
MARGINALS, LARGEST_TABLE = 30, 1 << 22
"""How many of each k, drawn once; and cells up to which a table is written down."""
BASKET_EPSILONS = EPSILONS[:2]
ITEMS, MOST_ITEMS, ITEMS_SHARE = 20_000, 20, Fraction(1, 10)
OUT = ROOT / "build" / "paper-b"
Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """A private table, one for testing, and the column to be predicted. budget: what is left of mu², where choosing the
    columns took a part of it."""

    name: str
    domain: Domain
    private: Matrix
    test: Matrix
    target: int
    budget: GaussianDP | None = None


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
    begun, lines = time.perf_counter(), []
    for problems in tables(folder):
        first = problems(EPSILONS[0])
        lines += references(first)
        for epsilon in BASKET_EPSILONS if first.budget else EPSILONS:
            lines += runs(problems(epsilon), epsilon)
    OUT.mkdir(parents=True, exist_ok=True)
    text = written(lines)
    (OUT / "table.md").write_text(text)
    (OUT / "figure.html").write_text(figure(lines).to_html(include_plotlyjs=True, full_html=True))
    sys.stdout.write(f"{text}\n{OUT.relative_to(ROOT)}/figure.html; {time.perf_counter() - begun:.0f} s in all.\n")
    return 0


# ---- tables ----------------------------------------------------------------------------------------------------


def tables(folder: Path) -> Iterator[Callable[[Fraction], Problem]]:
    """For each table what it is at an epsilon: which items are the top ones depends on noise."""
    with tempfile.TemporaryDirectory() as scratch:
        adult, census = forecast.adult(folder, Path(scratch)), forecast.national(folder, Path(scratch))
    for data, target in ((adult, "income>50K"), (census, "OWN_RENT")):
        found = parted(data.name, data.domain, data.codes, target=data.domain.names.index(target))
        yield lambda _epsilon, found=found: found
    baskets = read_baskets(folder / "data" / "transactions" / "retail.dat.gz")
    for top in (50, 100):
        yield lambda epsilon, top=top: with_top_items(baskets, top, epsilon=epsilon)


def parted(name: str, domain: Domain, codes: Matrix, *, target: int, budget: GaussianDP | None = None) -> Problem:
    order = np.random.default_rng(0).permutation(len(codes))
    cut = len(codes) * 4 // 5
    return Problem(name, domain, codes[order[:cut]], codes[order[cut:]], target, budget)


def read_baskets(path: Path) -> list[Matrix]:
    """A basket in each line: numbers of items, each of them once."""
    with gzip.open(path, "rt") as file:
        return [np.unique(np.array(line.split(), dtype=np.int64)) for line in file]


def with_top_items(baskets: list[Matrix], top: int, *, epsilon: Fraction) -> Problem:
    """Yes/no columns of the items with the largest noisy counts."""
    whole = conversion.mu_squared_for(epsilon, DELTA)
    sigma = calibrate.gaussian_sigma(whole * ITEMS_SHARE / 2, MOST_ITEMS)
    private = [baskets[place] for place in np.random.default_rng(0).permutation(len(baskets))[: len(baskets) * 4 // 5]]
    rng = np.random.default_rng()
    few = [basket if basket.size <= MOST_ITEMS else rng.choice(basket, MOST_ITEMS, replace=False) for basket in private]
    counts = np.bincount(np.concatenate(few), minlength=ITEMS)
    noisy = noise.noisy(counts, Noise(law="rounded-gaussian", scale=sigma))
    chosen = np.argsort(-noisy, kind="stable")[:top]
    column = np.full(ITEMS, -1)
    column[chosen] = np.arange(top)
    codes = np.zeros((len(baskets), top), dtype=np.int64)
    for row, basket in enumerate(baskets):
        codes[row, column[basket[column[basket] >= 0]]] = 1
    domain = Domain.from_json({f"item {item}": 2 for item in chosen})
    left = GaussianDP(mu_squared=whole * (1 - ITEMS_SHARE))
    return parted(f"retail, top {top}", domain, codes, target=0, budget=left)


# ---- runs ------------------------------------------------------------------------------------------------------


def runs(problem: Problem, epsilon: Fraction) -> Iterator[Line]:
    """DPSyn with its two ways to make records, from the same answers; and columns drawn independently."""
    for mechanism in ("dpsyn", "independent"):
        begun = time.perf_counter()
        plan, model = fitted(problem, mechanism, epsilon)
        before = time.perf_counter() - begun
        made = {"mcf": "DPSyn, flow", "sts": "DPSyn, sorted"} if mechanism == "dpsyn" else {"finish": "independent"}
        for synthesis, name in made.items():
            begun = time.perf_counter()
            drawn = replace(model, synthesis=synthesis).sample(model.rows, seed="paper B")
            codes = np.stack([drawn[name].astype(np.int64) for name in problem.domain.sizes], axis=1)
            seconds = before + time.perf_counter() - begun
            yield line(problem, epsilon, name, codes, views=described(plan), seconds=seconds)


def fitted(problem: Problem, mechanism: str, epsilon: Fraction) -> tuple[Plan, Model]:
    config = mechanisms.REGISTRY[mechanism]
    parameters = {"records": 10 ** round(np.log10(len(problem.private)))} if mechanism == "dpsyn" else {}
    spec = Spec(mechanism=mechanism, epsilon=epsilon, delta=DELTA, parameters=parameters)
    if problem.budget is None:
        plan = mechanisms.plan(problem.domain, spec)
    else:
        plan = config.from_parameters(parameters).calibrate(problem.domain, spec, within=problem.budget)
    columns = {name: problem.private[:, i].astype(np.uint16) for i, name in enumerate(problem.domain.sizes)}
    rows = Rows(columns, domain=problem.domain, ranked={})
    session = open_session(rows, domain=problem.domain, cap=plan.loss, planned=plan.calls)
    return plan, plan.fit(plan.run(session))


def references(problem: Problem) -> Iterator[Line]:
    """Without privacy: a resample of the private records."""
    again = np.random.default_rng(1).integers(len(problem.private), size=len(problem.private))
    yield line(problem, Fraction(0), "resample, not private", problem.private[again], views="", seconds=0.0)


def described(plan: Plan) -> str:
    sizes = plan.domain.sizes
    cliques = getattr(plan, "cliques", None)
    if cliques is None:
        return ""
    return f"{len(cliques)} of up to {max(int(np.prod([sizes[name] for name in clique])) for clique in cliques):,}"


def line(problem: Problem, epsilon: Fraction, method: str, codes: Matrix, *, views: str, seconds: float) -> Line:
    errors = tuple(squared_error(problem, codes, k) for k in KS)
    wrong = misclassified(codes, problem.test, target=problem.target)
    print(f"  {problem.name}, epsilon {float(epsilon):g}, {method}: {seconds:.1f} s", file=sys.stderr, flush=True)
    return Line(problem.name, epsilon, method, views, errors, wrong, seconds)


def squared_error(problem: Problem, codes: Matrix, k: int) -> float:
    """The sum over all cells of (share of the private records - share of the synthetic ones)², the mean over marginals."""
    rng, found = np.random.default_rng(k), []
    sizes, cut = list(problem.domain.sizes.values()), len(problem.private)
    for _ in range(MARGINALS):
        cells: Matrix = np.zeros(cut + len(codes), dtype=np.int64)
        most = 1
        for axis in rng.choice(len(sizes), k, replace=False):
            cells = cells * sizes[axis] + np.concatenate([problem.private[:, axis], codes[:, axis]])
            most *= sizes[axis]
            if most > LARGEST_TABLE:  # only cells that occur count
                cells = np.unique(cells, return_inverse=True)[1]
                most = int(cells.max()) + 1
        shares = np.bincount(cells[:cut], minlength=most) / cut
        found.append(float(((shares - np.bincount(cells[cut:], minlength=most) / max(1, len(codes))) ** 2).sum()))
    return float(np.mean(found))


def misclassified(codes: Matrix, test: Matrix, *, target: int) -> float:
    """The part of the test records that a decision tree trained on these records gets wrong."""
    tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=20, random_state=0)
    tree.fit(np.delete(codes, target, axis=1), codes[:, target])
    return float((tree.predict(np.delete(test, target, axis=1)) != test[:, target]).mean())


# ---- what is written -------------------------------------------------------------------------------------------


def written(lines: list[Line]) -> str:
    head = "| data | ε | method | views | " + " | ".join(f"SSE, k = {k}" for k in KS) + " | misclassified | s |"
    found = [
        f"Sums of squared errors of {MARGINALS} k-way marginals (shares of records), their mean; misclassification of a column by a",
        "decision tree of depth 8; δ = 10⁻⁹, one run each.",
        "",
        head,
        "|" + "---|" * head.count(" |"),
    ]
    for one in lines:
        epsilon = f"{float(one.epsilon):g}" if one.epsilon else "–"
        errors = " | ".join(f"{error:.1e}" for error in one.errors)
        found.append(
            f"| {one.data} | {epsilon} | {one.method} | {one.views} | {errors} | {one.wrong:.3f} | {one.seconds:.1f} |"
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
    styles = {Fraction(0): "solid", Fraction(1, 10): "dot", Fraction(1): "dash", Fraction(10): "solid"}
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

"""The experiment of *Privacy-preserving synthetic datasets over weakly constrained domains* (Rodriguez and
Howe 2018, section 4), repeated with the verb `discover`: the fidelity of three columns of Adult whose values
are sought among all English words, or pairs of them.

    python bench/paper_e.py [FOLDER]        the folder with data/adult, by default ../shared; or: make paper-E

F is the mass of the true distribution on the values that come out and do occur, times the mass of the
released distribution on the same values. 1: the same values; 0: none in common. Writes
build/paper-e/{table.md,figure.html}.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import plotly.graph_objects as go  # noqa: E402
from plotly.subplots import make_subplots  # noqa: E402

from synth_engine.measurement import Noise  # noqa: E402
from synth_engine.privacy import noise_scale, thresholds  # noqa: E402
from synth_engine.room import discovery, noise  # noqa: E402

WORDS, PAIRS = 171_000, 29_400_000_000
"""Sizes of the sets as the paper gives them. Which texts they are does not matter to F: a value that nobody
has is wrong whatever it is called, so the values that occur are the first ranks of a set of that size."""
COLUMNS = {"sex": WORDS, "workclass": PAIRS, "marital-status": PAIRS}
RHOS = (0.1, 0.5, 0.9)
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1))
RUNS = 100
OUT = ROOT / "build" / "paper-e"


def main(folder: Path) -> int:
    begun = time.perf_counter()
    table = pd.read_csv(folder / "data/adult/adult.csv.gz", dtype=str, keep_default_na=False)
    found = [
        (
            column,
            rho,
            epsilon,
            *fidelities(counts_of(table[column]), size=size, rho=rho, epsilon=epsilon),
        )
        for column, size in COLUMNS.items()
        for epsilon in EPSILONS
        for rho in RHOS
    ]
    OUT.mkdir(parents=True, exist_ok=True)
    text = written(found, rows=len(table))
    (OUT / "table.md").write_text(text)
    (OUT / "figure.html").write_text(
        figure(found).to_html(include_plotlyjs=True, full_html=True)
    )
    sys.stdout.write(
        f"{text}\n{OUT.relative_to(ROOT)}/figure.html; {time.perf_counter() - begun:.0f} s in all.\n"
    )
    return 0


def counts_of(column: pd.Series) -> dict[int, int]:
    return dict(enumerate(Counter(column).values()))


def fidelities(
    counts: dict[int, int], *, size: int, rho: float, epsilon: Fraction
) -> tuple[int, float, float, float, float]:
    """Threshold, mean and standard error of F, mean number of values that nobody has, milliseconds of a
    run."""
    law = Noise(law="discrete-laplace", scale=noise_scale.laplace_scale(epsilon, 1))
    threshold = thresholds.threshold(size, rho=rho, scale=law.scale)

    def noisy(values: list[int]) -> list[int]:
        return list(map(int, noise.noisy(np.array(values, dtype=np.int64), law)))

    total = sum(counts.values())
    scores, strangers = [], []
    begun = time.perf_counter()
    for _ in range(RUNS):
        released = dict(
            discovery.discover_values(
                counts, size=size, threshold=threshold, scale=law.scale, noisy=noisy
            )
        )
        true = sum(counts[rank] for rank in released if rank in counts) / total
        kept = sum(count for rank, count in released.items() if rank in counts)
        scores.append(true * kept / max(1, sum(released.values())))
        strangers.append(sum(rank not in counts for rank in released))
    each = (time.perf_counter() - begun) / RUNS * 1000
    return (
        threshold,
        float(np.mean(scores)),
        float(np.std(scores) / RUNS**0.5),
        float(np.mean(strangers)),
        each,
    )


def written(found: list[tuple], *, rows: int) -> str:  # type: ignore[type-arg]
    lines = [
        (
            f"Fidelity F on Adult, {rows:,} records, mean of {RUNS} runs ± its standard error; -ln rho is "
            "the number of values by"
        ),
        "chance that the theory expects.",
        "",
        "| column | values sought among | epsilon | rho | threshold | F | by chance | expected | ms a run |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for column, rho, epsilon, threshold, mean, error, strangers, each in found:
        size = f"{COLUMNS[column]:.3g}"
        lines.append(
            f"| {column} | {size} | {float(epsilon):g} | {rho} | {threshold:,} | {mean:.4f} ± {error:.4f} "
            f"| {strangers:.2f} | {-np.log(rho):.2f} | {each:.1f} |"
        )
    return "\n".join(lines) + "\n"


def figure(found: list[tuple]) -> go.Figure:  # type: ignore[type-arg]
    drawn = make_subplots(rows=1, cols=3, shared_yaxes=True, subplot_titles=list(COLUMNS))
    styles = {Fraction(1, 100): "dot", Fraction(1, 10): "dash", Fraction(1): "solid"}
    for place, column in enumerate(COLUMNS, start=1):
        for epsilon in EPSILONS:
            points = [line for line in found if line[0] == column and line[2] == epsilon]
            drawn.add_scatter(
                x=[line[1] for line in points],
                y=[line[4] for line in points],
                error_y={"array": [2 * line[5] for line in points]},
                line={"dash": styles[epsilon], "color": "#3b5b92"},
                name=f"ε = {float(epsilon):g}",
                showlegend=place == 1,
                row=1,
                col=place,
            )
    drawn.update_xaxes(title="ρ: chance of no value that nobody has")
    drawn.update_yaxes(title="fidelity F", range=[0, 1.02], col=1)
    drawn.update_layout(
        title="Weakly constrained domains: fidelity on Adult", template="plotly_white"
    )
    return drawn


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared"))

"""Repeats the paper on adaptive histograms, on commutes of Rhode Island and on draws of English words: its
figures 5 to 10 and table 1, for epsilon of 0.1, 1 and 10 and all methods that are at hand.

    python bench/paper_a.py [FOLDER]        the folder with data/lodes_ri and data/text, by default ../shared;
                                            or: make paper-A

Points are examples/commutes/commutes.parquet, made by bench/commutes.py from LODES 2019; the blocks of FOLDER
are the support of `adaptive`. Without FOLDER there is no support and no text. Every run draws the room's own
noise. Means of RUNS runs of points, one run of texts. What is asked of the figures is printed with them, met
or missed, and written with the curves to build/paper-a/{table.md,figures.html}. PARTS of the machine are used
(2), and DRAWS words (5,000,000): variables of the environment, as RUNS is.
"""

from __future__ import annotations

import html
import math
import os
import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
for threads in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import plotly.graph_objects as go  # noqa: E402
from plotly.subplots import make_subplots  # noqa: E402
from scipy.stats import binom  # noqa: E402

from bench import paper_a_points as points  # noqa: E402
from bench import paper_a_texts as texts  # noqa: E402
from synth_engine import mechanisms  # noqa: E402

RUNS, PARTS = int(os.environ.get("RUNS", "5")), int(os.environ.get("PARTS", "2"))
EPSILONS = ("1/10", "1", "10")
OUT = ROOT / "build" / "paper-a"
POINT_METHODS = (
    ("adaptive", True),
    ("adaptive", False),
    ("direct-synthesis", False),
    ("adaptive-improved", False),
    ("privtree", False),
    ("adaptive-basic", False),
)
KS = {"1/10": (0.04, 0.09, 0.08), "1": (0.015, 0.03, 0.03), "10": (0.01, 0.015, 0.015)}
FAR = 3
FOUND = {"1/10": 0.72, "1": 0.91, "10": 0.978}
STYLES = {"1/10": "dot", "1": "dash", "10": "solid"}
COLOURS = ("#3b5b92", "#7a9cc6", "#b2442c", "#3f7d4e", "#8a6bb1", "#b58900")
Line = dict[str, Any]


def task(kind: str, folder: Path, mechanism: str, epsilon: str, support: bool) -> Line:
    """One cell of the tables, in a process of the pool; what it reads is kept there for the next."""
    start = time.perf_counter()
    if kind == "points":
        found = points.measured(folder, mechanism, epsilon, runs=RUNS, support=support)
    elif kind == "truth":
        found = points.truth(folder)
    else:
        found = texts.measured(folder, mechanism, epsilon)
    spent = {
        "wall": time.perf_counter() - start,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    return (
        {"kind": kind, "mechanism": mechanism, "epsilon": epsilon, "support": support}
        | found
        | spent
    )


def tasks(folder: Path) -> Iterator[tuple[str, Path, str, str, bool]]:
    """The longest first."""
    if (folder / texts.FILE).exists():
        for name in texts.ORDER:
            if texts.suits(name):
                yield from (("texts", folder, name, epsilon, False) for epsilon in EPSILONS)
            else:
                print(f"texts: {name} is not at hand and is left out")
    else:
        print("texts are left out: no data/text in the folder")
    yield "truth", folder, "", "", False
    for name, support in POINT_METHODS:
        if name not in mechanisms.REGISTRY:
            print(f"points: {name} is not at hand and is left out")
        elif not support or (folder / points.BLOCKS).exists():
            yield from (("points", folder, name, epsilon, support) for epsilon in EPSILONS)


def named(line: Line) -> str:
    return f"{line['mechanism']}{' with support' if line['support'] else ''}"


def bounds(lines: list[Line], truth: Line) -> Iterator[tuple[str, float, float]]:
    """A claim of the paper: in words, what was measured, and the most that it may be."""
    by = {(named(line), line["epsilon"]): line for line in lines if line["kind"] == "points"}
    ours = "adaptive with support" if ("adaptive with support", "1") in by else "adaptive"
    for epsilon in EPSILONS:
        mine, basic = by[ours, epsilon]["emd"], by.get(("adaptive-basic", epsilon))
        all_of = [line["emd"] for (_, other), line in by.items() if other == epsilon]
        for depth in range(2, 9):
            if basic:
                most = {2: 0.4, 3: 0.55}.get(depth, 0.9)
                yield (
                    f"ε {epsilon}, depth {depth}: adaptive / basic",
                    mine[depth] / basic["emd"][depth],
                    most,
                )
            if depth >= 4:
                best = min(emd[depth] for emd in all_of)
                yield f"ε {epsilon}, depth {depth}: adaptive / best", mine[depth] / best, 1.05
        for city, ks, most in zip(
            points.CITIES, by[ours, epsilon]["ks"], KS[epsilon], strict=True
        ):
            yield f"ε {epsilon}: KS of distances, {city}", ks, most
    yield from others(by, truth)
    yield from totals(lines)
    for line in lines:
        if line["kind"] == "texts" and line["mechanism"] == texts.ORDER[0]:
            name, epsilon = line["mechanism"], line["epsilon"]
            yield (
                f"ε {epsilon}: texts not found by {name}",
                1 - line["share"],
                1 - FOUND[epsilon],
            )


def others(by: dict[tuple[str, str], Line], truth: Line) -> Iterator[tuple[str, float, float]]:
    if ("direct-synthesis", "10") in by:
        for depth in range(2, 6):
            direct = by["direct-synthesis", "10"]["emd"][depth]
            yield (
                f"ε 10, depth {depth}: direct / resample",
                direct / truth["resample"][depth],
                0.7,
            )


def totals(lines: list[Line]) -> Iterator[tuple[str, float, float]]:
    """How many releases of each method have a total further off than FAR scales of its noise. Laplace noise
    is there with a chance of e^-FAR, so some are: not more than the 99 % point of the binomial law."""
    off: dict[str, list[float]] = {}
    for line in lines:
        if "off" in line:
            off.setdefault(named(line), []).extend(line["off"])
    for name, all_of in off.items():
        beyond = sum(far > FAR for far in all_of)
        most = float(binom.ppf(0.99, len(all_of), math.exp(-FAR)))
        worst = (
            f"of {len(all_of)}, the worst by {max(all_of):.1f}; at most: the 99 % point of the noise's own "
            "law"
        )
        yield (
            f"{name}: releases whose total is over {FAR} noise scales off ({worst})",
            beyond,
            most,
        )


def table(lines: list[Line], truth: Line) -> str:
    """Markdown: earth-mover cumulated by depth, texts found, and what is asked for."""
    text = [
        f"{truth['records']:,} commutes, means of {RUNS} runs",
        "",
        "| method | ε | " + " | ".join(f"depth {d}" for d in range(2, 9)) + " | KS | s a run |",
    ]
    text += [
        "|" + "---|" * 11,
        "| resample | – | "
        + " | ".join(f"{value:.4f}" for value in truth["resample"][2:])
        + " | | |",
    ]
    for line in lines:
        if line["kind"] == "points":
            far = " ".join(f"{value:.3f}" for value in line["ks"])
            emd = " | ".join(f"{value:.4f}" for value in line["emd"][2:])
            text.append(
                f"| {named(line)} | {line['epsilon']} | {emd} | {far} | {line['seconds']:.1f} |"
            )
    text += ["", "| method on texts | ε | found | beginnings | s |", "|---|---|---|---|---|"]
    for line in lines:
        if line["kind"] == "texts":
            text.append(
                f"| {line['mechanism']} | {line['epsilon']} | {line['share']:.4f} | {line['partial']:.3f} "
                f"| {line['seconds']:.1f} |"
            )
    text += ["", "| asked for | found | at most | |", "|---|---|---|---|"]
    for words, found, most in bounds(lines, truth):
        text.append(
            f"| {words} | {found:.4f} | {most:.4f} | {'met' if found <= most else 'MISSED'} |"
        )
    return "\n".join(text) + "\n"


def main(folder: Path) -> int:
    began = time.perf_counter()
    with ProcessPoolExecutor(PARTS) as pool:
        lines = [one.result() for one in [pool.submit(task, *each) for each in tasks(folder)]]
    truth = next(line for line in lines if line["kind"] == "truth")
    OUT.mkdir(parents=True, exist_ok=True)
    text = table(lines, truth)
    (OUT / "table.md").write_text(text)
    (OUT / "figures.html").write_text(figures(lines, truth))
    print(text)
    peaks = sorted((line["peak"] for line in lines), reverse=True)
    print(
        f"{OUT.relative_to(ROOT)}/figures.html; {time.perf_counter() - began:.0f} s in all, at most "
        f"{peaks[0]:.1f} GB in one of {PARTS} processes"
    )
    return 0


def figures(lines: list[Line], truth: Line) -> str:
    parts = [
        emd(lines, truth),
        distances(lines, truth),
        texts_found(lines, "found"),
        texts_found(lines, "from the top"),
        heat(lines, truth),
    ]
    drawn = [
        part.to_html(include_plotlyjs=place == 0, full_html=False)
        for place, part in enumerate(parts)
        if part.data
    ]
    return (
        "<!doctype html><meta charset=utf-8><title>Adaptive histograms</title>"
        + "".join(drawn)
        + commonest(lines)
    )


def _names(lines: list[Line]) -> list[tuple[str, bool]]:
    return list(dict.fromkeys((line["mechanism"], line["support"]) for line in lines))


def _colour(lines: list[Line], line: Line) -> str:
    return COLOURS[_names(lines).index((line["mechanism"], line["support"])) % len(COLOURS)]


def _title(line: Line) -> str:
    return f"{named(line)}, ε = {line['epsilon']}"


def emd(lines: list[Line], truth: Line) -> go.Figure:
    drawn = go.Figure()
    mine = [line for line in lines if line["kind"] == "points"]
    for line in mine:
        style = {"dash": STYLES[line["epsilon"]], "color": _colour(mine, line)}
        drawn.add_scatter(y=line["emd"], name=_title(line), line=style)
    drawn.add_scatter(
        y=truth["resample"], name="resample of the source", line={"color": "black"}
    )
    drawn.update_yaxes(title="earth-mover approximation, cumulated", type="log")
    drawn.update_layout(
        title="Figure 5: by depth", xaxis_title="depth", template="plotly_white"
    )
    return drawn


def distances(lines: list[Line], truth: Line) -> go.Figure:
    drawn = make_subplots(
        rows=1, cols=len(points.CITIES), shared_yaxes=True, subplot_titles=list(points.CITIES)
    )
    mine = [line for line in lines if line["kind"] == "points"]
    for place, city in enumerate(points.CITIES, start=1):
        drawn.add_scatter(
            x=points.KILOMETRES,
            y=truth["cdf"][city],
            name="source",
            line={"color": "black"},
            row=1,
            col=place,
        )
        for line in mine:
            style = {"dash": STYLES[line["epsilon"]], "color": _colour(mine, line)}
            curve = {
                "x": points.KILOMETRES,
                "y": line["cdf"][place - 1],
                "name": _title(line),
                "showlegend": place == 1,
            }
            drawn.add_scatter(**curve, line=style, row=1, col=place)
    drawn.update_xaxes(title="kilometres")
    drawn.update_layout(
        title="Figures 6 and 7: commutes of homes within five miles", template="plotly_white"
    )
    return drawn


def texts_found(lines: list[Line], which: str) -> go.Figure:
    drawn = go.Figure()
    mine = [line for line in lines if line["kind"] == "texts"]
    for line in mine:
        style = {"dash": STYLES[line["epsilon"]], "color": _colour(mine, line)}
        drawn.add_scatter(y=line[which], name=_title(line), line=style)
    if mine and which == "found":
        drawn.add_scatter(y=mine[0]["source"], name="source", line={"color": "black"})
    number = 8 if which == "found" else 9
    end = "rarest" if which == "found" else "commonest"
    drawn.update_layout(
        title=f"Figure {number}: records whose text is found, from the {end}",
        template="plotly_white",
    )
    drawn.update_xaxes(
        title="log2 of the frequency" + ("" if which == "found" else ", from the largest down")
    )
    return drawn


def heat(lines: list[Line], truth: Line) -> go.Figure:
    mine = [
        line
        for line in lines
        if line["kind"] == "points" and line["mechanism"] in ("direct-synthesis", "adaptive")
    ]
    grids = [
        ("source", truth["destinations"]),
        *((_title(line), line["destinations"]) for line in mine),
    ]
    drawn = make_subplots(
        rows=-(-len(grids) // 4), cols=4, subplot_titles=[name for name, _ in grids]
    )
    for place, (_, grid) in enumerate(grids):
        z = [[count**0.5 for count in row] for row in grid]
        drawn.add_heatmap(
            z=z, showscale=False, colorscale="Blues", row=place // 4 + 1, col=place % 4 + 1
        )
    drawn.update_layout(
        title="Table 1: where homes within five miles of Providence work (roots of counts)",
        height=1000,
    )
    return drawn


def commonest(lines: list[Line]) -> str:
    rows = [
        (
            f"<tr><td>{html.escape(_title(line))}</td><td>"
            f"{html.escape(', '.join(f'{text} {count:,}' for text, count in line['commonest']))}</td></tr>"
        )
        for line in lines
        if line["kind"] == "texts"
    ]
    return (
        f"<h2>Figure 10: the commonest texts</h2><table>{''.join(rows)}</table>" if rows else ""
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared"))

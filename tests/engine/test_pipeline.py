"""From a table to answers and reports; and what leaves the room when something goes wrong inside."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth_engine import codec, mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.errors import Cancelled, PrivacyError, SynthError, TableError
from synth_engine.evaluation import report as comparison
from synth_engine.formats import Kind
from synth_engine.plans.plan import Plan
from synth_engine.room import counts, session
from synth_engine.room.rows import Rows
from synth_engine.spec import Spec

DOMAIN = Domain.from_json({"a": 3, "b": 2})
SPEC = Spec(mechanism="independent", epsilon=Fraction(50), seed="tea")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "0,1\n2,0\n2,1\n" * 40)
    return path


@pytest.fixture
def plan() -> Plan:
    return mechanisms.plan(DOMAIN, SPEC)


def test_answers_are_the_counts_plus_noise_of_the_planned_calls(
    table: Path, plan: Plan
) -> None:
    answers = pipeline.measure(table, plan=plan)
    assert answers.calls == plan.calls
    by_clique = {measurement.clique: measurement.values for measurement in answers.measurements}
    # At epsilon 50 noise of more than five has a chance below 1e-40.
    assert np.abs(by_clique["a",] - [40, 0, 80]).max() <= 5
    assert np.abs(by_clique["b",] - [40, 80]).max() <= 5


def test_a_release_is_a_function_of_the_answers_and_the_seed(table: Path) -> None:
    release = pipeline.synthesize(table, domain=DOMAIN, spec=SPEC)
    refitted = release.plan.fit(release.answers)
    assert refitted.to_json() == release.model.to_json()
    first, second = (
        mechanisms.draw_table(m, release.rows, release.seed) for m in (release.model, refitted)
    )
    assert first.equals(second)
    assert len(first) == release.rows
    assert abs(release.rows - 120) <= 5


def test_calls_that_were_not_planned_are_refused(
    table: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = type(plan).run

    def greedy(self: Plan, room: Any) -> Any:
        return original(self, room)[:-1]

    monkeypatch.setattr(type(plan), "run", greedy)
    with pytest.raises(PrivacyError, match="not the calls planned"):
        pipeline.measure(table, plan=plan)


def test_the_stages_are_reported_in_order(table: Path) -> None:
    seen: list[str] = []
    pipeline.synthesize(
        table, domain=DOMAIN, spec=SPEC, progress=lambda stage, _: seen.append(stage)
    )
    assert list(dict.fromkeys(seen)) == ["read", "measure", "fit"]


@pytest.mark.parametrize("stop_at", [1, 2])
def test_a_run_can_be_stopped_before_it_draws_noise(
    table: Path, plan: Plan, stop_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    opened: list[object] = []
    monkeypatch.setattr(session, "open_session", lambda *args, **_: opened.append(args))

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked >= stop_at

    with pytest.raises(Cancelled):
        pipeline.measure(table, plan=plan, cancelled=cancelled)
    assert opened == []


def test_a_reading_holds_what_the_steward_sees(table: Path) -> None:
    reading = pipeline.ingest(table, kind="csv")
    assert reading["columns"] == ["a", "b"]
    assert (reading["rows"], reading["line_count"], len(reading["preview"])) == (120, 121, 20)
    assert {entry["provenance"] for entry in reading["suggestions"]} == {"suggested"}


def test_a_report_compares_the_sample_of_that_seed_with_the_real_table(table: Path) -> None:
    release = pipeline.synthesize(table, domain=DOMAIN, spec=SPEC)
    report = pipeline.report(table, model=release.model, rows=50, seed="tea")
    assert report["private"] is False
    assert report["notice"] != comparison.wording.PRIVATE
    assert report["rows"] == {"real": 120, "synthetic": 50}
    shown = codec.as_text(DOMAIN, mechanisms.draw_table(release.model, 50, "tea").head(20))
    assert report["side_by_side"]["synthetic"] == shown.to_numpy().tolist()
    assert report["side_by_side"]["real"][:2] == [["0", "1"], ["2", "0"]]
    column = next(entry for entry in report["attributes"] if entry["name"] == "a")
    assert column["counts"]["real"] == [40, 0, 80]


def test_a_report_says_how_far_it_is_in_every_stage(table: Path) -> None:
    release = pipeline.synthesize(table, domain=DOMAIN, spec=SPEC)
    said: dict[str, list[float]] = {}
    pipeline.report(
        table,
        model=release.model,
        rows=50,
        seed="tea",
        progress=lambda stage, share: said.setdefault(stage, []).append(share),
    )
    assert list(said) == [
        "draw-table",
        "read",
        "read-values",
        "count",
        "count-synthetic",
        "compare-figures",
    ]
    # All figures together are quick; every other stage says how far it is.
    assert said.pop("compare-figures") == [0.0]
    for stage, shares in said.items():
        assert shares == sorted(shares) and shares[-1] == 1.0, stage
    # More than a beginning and an end where the engine has steps of its own.
    assert len(said["count"]) > 4 and len(said["count-synthetic"]) > 4


MARKER = "cell-of-ann-4711"


def with_locals(error: BaseException) -> str:
    """The fullest traceback that any logger could print."""
    return "".join(
        traceback.TracebackException.from_exception(error, capture_locals=True).format()
    )


def test_a_refusal_leaves_the_room_without_the_frames_that_hold_cells(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text(f"a,b\n0,1\n{MARKER},1,2\n")
    with pytest.raises(TableError) as refusal:
        pipeline.ingest(path)
    assert MARKER not in with_locals(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


@pytest.mark.parametrize(
    "entrance",
    [
        lambda path, plan: pipeline.measure(path, plan=plan),
        lambda path, plan: pipeline.compare(path, path, domain=DOMAIN),
    ],
    ids=["measure", "compare"],
)
def test_an_error_that_nobody_foresaw_leaves_the_room_as_a_type_and_a_place(
    tmp_path: Path,
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    entrance: Callable[[Path, Plan], object],
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"a,b\n0,1\n{MARKER},1\n")

    def break_down(rows: Rows, clique: tuple[str, ...], **_: object) -> None:
        raise ValueError(f"cannot count {MARKER} of {rows.codes(clique[0])}")

    monkeypatch.setattr(counts, "contingency", break_down)
    with pytest.raises(
        SynthError, match=r"^the room failed: ValueError at test_pipeline.py:\d+$"
    ) as failure:
        entrance(path, plan)
    assert MARKER not in with_locals(failure.value)
    assert failure.value.__context__ is None


class Elsewhere(Exception):
    """Something that is the caller's own: a lost lease, a database that went away."""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("stage", ["read", "measure", "count", "suggest"])
def test_what_a_callback_raises_comes_back_as_it_was_but_without_cells(
    tmp_path: Path, plan: Plan, kind: Kind, stage: str
) -> None:
    path = tmp_path / f"table.{kind}"
    if kind == "csv":
        path.write_text(f"a,b\n0,1\n{MARKER},1\n")
    else:
        pq.write_table(pa.table({"a": ["0", MARKER], "b": ["1", "1"]}), path)

    def progress(now: str, _fraction: float) -> None:
        if now == stage:
            raise Elsewhere

    entrances = {
        "read": lambda: pipeline.measure(path, kind=kind, plan=plan, progress=progress),
        "measure": lambda: pipeline.measure(path, kind=kind, plan=plan, progress=progress),
        "count": lambda: pipeline.compare(path, path, domain=DOMAIN, progress=progress),
        "suggest": lambda: pipeline.ingest(path, kind=kind, progress=progress),
    }
    with pytest.raises(Elsewhere) as failure:
        entrances[stage]()
    assert MARKER not in with_locals(failure.value)


def test_a_question_about_cancelling_may_fail_too(table: Path, plan: Plan) -> None:
    def cancelled() -> bool:
        raise Elsewhere

    with pytest.raises(Elsewhere):
        pipeline.measure(table, plan=plan, cancelled=cancelled)

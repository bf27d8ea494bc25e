"""A column whose cells have marks, such as "$1,234.50" or "12 kg", is read like its plain twin wherever the
real table is read: whatever the kind of the column, declared or learned."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import pipeline
from synth_engine.domain import (
    Attribute,
    Categorical,
    Derived,
    Domain,
    Integer,
    Number,
    Range,
    Scale,
    ScaleBins,
)
from synth_engine.evaluation import column_check, paid_figures
from synth_engine.formats import Dialect
from synth_engine.kinds import KINDS
from synth_engine.models.model import Model, Table
from synth_engine.models.weights import whole_weights
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckedFigure, CheckedRelease
from synth_engine.room.rows import Rows
from synth_engine.sources import opening
from synth_engine.steward import raw_cells

MARKER = "n/a"
ROWS = 400


@dataclass(frozen=True)
class Form:
    """How a file writes numbers: its signs, and what stands before and after each."""

    thousands: str
    decimal: str = "."
    before: str = ""
    after: str = ""

    @property
    def dialect(self) -> Dialect:
        units = tuple(unit.strip() for unit in (self.before, self.after) if unit)
        return Dialect(
            delimiter=";", decimal=self.decimal, thousands=self.thousands, units=units
        )

    def written(self, plain: str) -> str:
        """A plain number in this form; a marker as it is."""
        if plain == MARKER:
            return plain
        whole, point, digits = plain.lstrip("-").partition(".")
        grouped = f"{int(whole):,}".replace(",", self.thousands)
        sign = "-" if plain.startswith("-") else ""
        fraction = self.decimal + digits if point else ""
        return f"{sign}{self.before}{grouped}{fraction}{self.after}"


PLAIN = Dialect(delimiter=";")
FORMS = (
    Form(thousands=",", before="$"),
    Form(thousands=".", decimal=",", after=" €"),
    Form(thousands=" ", after=" kg"),
    Form(thousands="", after="%"),
    Form(thousands="'", decimal="."),
)


def scale(name: str, **facts: Any) -> Scale:
    return Scale(name=name, missing=(MARKER,), low=-10_000, high=10_000, **facts)


def learned(declared: Scale) -> ScaleBins:
    """What a run may learn of a column on a lattice: five bins, whose records lie evenly."""
    count = declared.lattice.count
    cuts = tuple(count * part // 5 for part in range(6))
    return declared.resolved(cuts=cuts, pieces=cuts, weights=(1,) * 5)


WHOLE = (
    Integer(name="integer", low=-10_000, high=10_000, missing=(MARKER,)),
    Range(name="range", of="integer", low=-10_000, high=10_000, missing=(MARKER,)),
    scale("scale", of="integer"),
    learned(scale("scale-bins", of="integer")),
)
DECIMAL = (
    Number(name="number", low=-10_000, high=10_000, missing=(MARKER,)),
    Range(name="range-number", of="number", low=-10_000, high=10_000, missing=(MARKER,)),
    scale("scale-number", of="number", step=0.25),
    learned(scale("scale-bins-number", of="number", step=0.25)),
)
GROUP = Categorical(name="group", values=("a", "b"), outside="clamp")


def table(numbers: Sequence[str], *, form: Form | None, columns: Sequence[str]) -> str:
    cells = list(numbers) if form is None else [form.written(text) for text in numbers]
    lines = [["group", *columns]]
    lines += [["ab"[place % 2], *[cell] * len(columns)] for place, cell in enumerate(cells)]
    return "".join(";".join(f'"{cell}"' for cell in line) + "\n" for line in lines)


def opened(
    folder: Path, numbers: Sequence[str], domain: Domain, form: Form | None
) -> tuple[Rows, Any]:
    path = folder / "table.csv"
    path.write_text(table(numbers, form=form, columns=domain.columns[1:]))
    dialect = PLAIN if form is None else form.dialect
    return (
        opening.open_table(path, domain, dialect=dialect),
        raw_cells.count_raw_columns(path, domain, dialect=dialect),
    )


def same_codes(domain: Domain, first: Rows, second: Rows) -> None:
    for name in domain.names:
        np.testing.assert_array_equal(first.codes(name), second.codes(name), err_msg=name)
    for attribute in domain.undeclared:
        if isinstance(attribute, Scale):
            for one, other in zip(
                first.positions(attribute.name), second.positions(attribute.name), strict=True
            ):
                np.testing.assert_array_equal(one, other, err_msg=attribute.name)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(FORMS),
    st.lists(st.integers(-12_000, 12_000).map(str) | st.just(MARKER), min_size=1, max_size=60),
)
def test_whole_numbers_are_counted_like_their_plain_twins(
    form: Form, numbers: list[str]
) -> None:
    _check_twins(WHOLE, form, numbers)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from([form for form in FORMS if form.decimal != form.thousands]),
    st.lists(
        st.integers(-48_000, 48_000).map(lambda quarters: f"{quarters / 4:.2f}")
        | st.just(MARKER),
        min_size=1,
        max_size=60,
    ),
)
def test_decimals_are_counted_like_their_plain_twins(form: Form, numbers: list[str]) -> None:
    _check_twins(DECIMAL, form, numbers)


def _check_twins(attributes: Sequence[Attribute], form: Form, numbers: list[str]) -> None:
    domain = Domain(attributes=(GROUP, *attributes))
    with tempfile.TemporaryDirectory() as folder:
        plain, plain_cells = opened(Path(folder), numbers, domain, None)
        marked, marked_cells = opened(Path(folder), numbers, domain, form)
    same_codes(domain, plain, marked)
    for name, cells in plain_cells.columns.items():
        other = marked_cells.columns[name]
        assert (cells.fit, cells.missing, cells.unread) == (
            other.fit,
            other.missing,
            other.unread,
        )
        assert (cells.leading_zeros, cells.digits) == (other.leading_zeros, other.digits)
        assert (cells.numbers is None) == (other.numbers is None)
        if cells.numbers is not None:
            np.testing.assert_array_equal(cells.numbers.values, other.numbers.values)
            np.testing.assert_array_equal(cells.numbers.counts, other.numbers.counts)
    assert plain_cells.pairs.ranks == marked_cells.pairs.ranks


def test_every_kind_that_holds_numbers_is_among_these_twins() -> None:
    held = {
        kind
        for kind, attribute in KINDS.items()
        if attribute.holds_numbers is not Attribute.holds_numbers
    }
    # Derived columns are computed, not encoded: the comparison below has one. What was not found has no
    # values.
    assert held - {"derived", "not-found"} == {each.kind for each in (*WHOLE, *DECIMAL)}


# --- the same figures, by everything that reads the real table ----------------------------------------------
def numbers(seed: int) -> list[str]:
    """Prices with two decimals, and some markers."""
    rng = np.random.default_rng(seed)
    quarters = rng.gamma(2.0, 6_000, ROWS).astype(int)
    return [
        MARKER if gone else f"{value / 4:.2f}"
        for value, gone in zip(quarters, rng.random(ROWS) < 0.05, strict=True)
    ]


LEARNED = Domain(
    attributes=(
        GROUP,
        Number(name="declared", low=0, high=10_000, missing=(MARKER,)),
        replace(DECIMAL[3], name="learned"),
        Integer(name="number", low=0, high=10_000, missing=(MARKER,)),
        Derived(name="total", rule="sum", of=("declared", "number"), decimals=2),
    )
)


def model_of(domain: Domain) -> Model:
    """Records that are spread evenly."""
    tables = tuple(
        Table(clique=(name,), weights=whole_weights(np.ones(size)))
        for name, size in domain.sizes.items()
    )
    return Model(mechanism="independent", domain=domain, rows=ROWS, tables=tables)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Dialect]]:
    """The plain table, and one for each form, with their forms."""
    folder = tmp_path_factory.mktemp("twins")
    files = []
    for place, form in enumerate((None, *FORMS[:2])):
        path = folder / f"{place}.csv"
        columns = ["declared", "learned", "number", "total"]
        path.write_text(table(numbers(5), form=form, columns=columns))
        files.append((path, PLAIN if form is None else form.dialect))
    return files


def without_rows(document: dict[str, Any]) -> dict[str, Any]:
    """A report without the first rows of the table, which it shows as they are written."""
    return {
        key: value for key, value in document.items() if key not in ("rows", "side_by_side")
    }


def test_a_comparison_has_the_same_figures(twins: list[tuple[Path, Dialect]]) -> None:
    model = model_of(LEARNED)
    first, *others = [
        without_rows(pipeline.report(path, model=model, rows=ROWS, seed="s", dialect=dialect))
        for path, dialect in twins
    ]
    assert {each["name"] for each in first["values"]} >= {"declared", "learned", "number"}
    for other in others:
        for field, value in first.items():
            assert other[field] == value, field


def test_models_and_attacks_have_the_same_figures(twins: list[tuple[Path, Dialect]]) -> None:
    synthetic = pipeline.GeneratedTable(model=model_of(LEARNED), rows=ROWS, seed="s")
    aim = pipeline.TrainingAim(target="group", protected="")
    for read in (
        lambda path, dialect: pipeline.train_models(path, synthetic, aim=aim, dialect=dialect),
        lambda path, dialect: pipeline.estimate_risks(path, synthetic, dialect=dialect),
    ):
        first, *others = [read(path, dialect) for path, dialect in twins]
        assert others == [first] * len(others)


def test_paid_figures_are_the_same(twins: list[tuple[Path, Dialect]]) -> None:
    """With so large an ε that no answer has noise, but for a chance below 10^-50."""
    model = model_of(LEARNED)
    of = CheckedRelease(core="0" * 64, seed="public", rows=ROWS, model=model)
    asked = (
        CheckedFigure(kind="distance", columns=("group", "learned")),
        CheckedFigure(kind="distance", columns=("group", "declared")),
    )
    plan = release_check.plan(of, asked, epsilon=Fraction(1_000), delta=Fraction(0))
    first, *others = [
        paid_figures.results(plan, pipeline.measure(path, plan=plan, dialect=dialect))
        for path, dialect in twins
    ]
    assert others == [first] * len(others)


@pytest.mark.parametrize("form", FORMS[:3])
def test_a_check_of_a_description_is_the_same(form: Form) -> None:
    plain = sorted(set(numbers(5)))
    written = [form.written(text) for text in plain]
    counts = [1] * len(plain)
    for attribute in (*WHOLE, *DECIMAL):
        marks = (PLAIN.marks, form.dialect.marks)
        checks = [
            column_check.check_column(attribute, texts, counts, marks=each)
            for texts, each in zip((plain, written), marks, strict=True)
        ]
        assert checks[0] == checks[1]
        words = [
            column_check.readings(attribute, texts, marks=each)
            for texts, each in zip((plain, written), marks, strict=True)
        ]
        if not isinstance(attribute, Range):
            assert words[0] == words[1]

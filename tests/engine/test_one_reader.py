"""A column that a run learned is read as the run read it, whoever opens the table again: for every kind that
is not declared, every set of values and every spelling."""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from synth_engine import codec, pipeline
from synth_engine.domain import (
    Attribute,
    Basket,
    Categorical,
    Date,
    Domain,
    Integer,
    NotFound,
    Number,
    Text,
    Undeclared,
    Weak,
)
from synth_engine.errors import DomainError
from synth_engine.evaluation import column_check
from synth_engine.formats import Marks
from synth_engine.indexing import items, resolving
from synth_engine.kinds import parse_attribute
from synth_engine.models.model import Model
from synth_engine.models.trees import strings
from synth_engine.plans import domain_learning
from synth_engine.room.rows import Rows
from synth_engine.sources.opening import open_table
from synth_engine.spec import Spec
from synth_engine.values import KINDS, SOURCES, Known, Listed, from_json

LETTERS = "abcdefghijklmnopqrstuvwxyz"
STRINGS = {"set": "strings", "alphabet": LETTERS, "min_length": 1, "max_length": 12}
LISTED = {"set": "list", "values": ["male", "Female", "other", "Straße", "10", "New York"]}
SETS: dict[str, dict[str, object]] = {
    "list": LISTED,
    "list without case": {**LISTED, "spelling": "casefold"},
    **{name: {"set": "known", "name": name} for name in SOURCES},
    "integers": {"set": "integers", "low": -20, "high": 300},
    "decimals": {"set": "decimals", "low": "-1", "high": "20", "step": "0.5"},
    "dates": {"set": "dates", "low": "2020-01-01", "high": "2021-12-31"},
    "strings": STRINGS,
    "strings in lower case": {**STRINGS, "case": "lower"},
    "strings in upper case": {**STRINGS, "alphabet": LETTERS.upper(), "case": "upper"},
    "strings with replacements": {**STRINGS, "replace": {"é": "e", "-": "", " ": "", "ß": "ss"}},
    "pattern": {"set": "pattern", "pattern": "[A-Za-z]{1,6}|[0-9]{2}"},
    "product": {
        "set": "product",
        "parts": [{**STRINGS, "max_length": 6, "case": "lower"}, {"set": "known", "name": "countries"}],
        "separator": "/",
    },
    "product of exact parts": {
        "set": "product",
        "parts": [{"set": "list", "values": ["a", "B"]}, {"set": "list", "values": ["x", "Y"]}],
        "separator": "/",
    },
    "union": {
        "set": "union",
        "parts": [{"set": "known", "name": "us-states"}, {**STRINGS, "case": "lower"}, LISTED],
    },
    "union of exact parts": {"set": "union", "parts": [LISTED, {"set": "list", "values": ["x"]}]},
}  # fmt: skip
ODD = ["", " ", "(other)", "(missing)", "((missing))", "N/A", "?", "+7", "007", "7.0", "1e1", "0.50", "é",
    "É-a", "ſ", "İ",
       "STRASSE", "2020-1-1", "20200101", "2020-01-01T00:00", "de", "ab/de", "AB/DE", "ab/", "a/x", "A/X",
       "nan"]  # fmt: skip
READINGS = [
    {"missing": ["N/A", "?"]}, {"missing": ["N/A", "?"], "outside": "missing"}, {"missing": None},
    {"missing": [""]},
    {"missing": ["(missing)"], "outside": "missing"},
]  # fmt: skip


def spellings(text: str) -> Iterator[str]:
    """The text as people and programs may spell it."""
    yield from (
        text,
        text.upper(),
        text.lower(),
        text.title(),
        text.swapcase(),
        text.casefold(),
    )
    yield from (
        f" {text}",
        f"{text} ",
        f"\t{text}",
        f"{text}\N{NO-BREAK SPACE}",
        f"  {text.upper()}  ",
    )
    yield from (unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD"))
    yield from (
        text.replace("e", "é"),
        text.replace("a", "A"),
        text.replace("a", "á"),
        text.replace("s", "ſ"),
    )
    yield from (
        text.replace("a", "ａ"),
        text.replace("ss", "ß"),
        f"-{text}",
        f"+{text}",
        f"0{text}",
        f"{text}.0",
        text * 2,
    )


def cells_of(values: Sequence[str]) -> list[str | None]:
    return [
        *dict.fromkeys([*(cell for text in values for cell in spellings(text)), *ODD]),
        None,
    ]


def stored(attribute: Attribute) -> Attribute:
    """As a release has it, once it was stored and loaded."""
    loaded = parse_attribute(attribute.to_json())
    assert loaded == attribute
    return loaded


def read_in_the_run(weak: Weak, resolved: Attribute, cells: list[str | None]) -> list[int]:
    ranking = codec.Ranking(weak)
    places = ranking.places(pa.array(cells, type=pa.string()))
    return resolving.resolved_codes(weak, resolved, ranking.ranks)[places].tolist()


def test_every_kind_of_set_is_tried() -> None:
    assert {str(document["set"]) for document in SETS.values()} == set(KINDS)
    assert set(SOURCES) <= set(SETS)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", SETS)
def test_found_values_are_read_as_in_the_run(name: str, reading: dict[str, object]) -> None:
    values = from_json(SETS[name])
    step = max(1, values.size // 11)
    some = [values.unrank(rank) for rank in range(0, min(values.size, 11 * step), step)][:11]
    cells = cells_of([*some, "male", "Female", "GERMANY", "house", "straße", "10", "ab/de"])
    try:
        weak = Weak(name="c", values=values, **reading)  # type: ignore[arg-type]
    except DomainError:
        # A marker of missing values that is a value of the set is refused.
        assert any(marker in values for marker in reading["missing"] or ())  # type: ignore[attr-defined]
        return
    asked = [rank for rank in weak.ranks(cells) if rank < values.size]
    for found in (asked, asked[::2], asked[:1], []):
        resolved = weak.from_ranks(sorted(set(found)))
        if isinstance(resolved, NotFound):
            # Nothing is read of it, by the run and by everybody after it.
            assert not found and resolved == NotFound.of(weak)
            assert stored(resolved) == resolved
            continue
        assert weak.admits(resolved)
        assert codec.encode_column(stored(resolved), cells).tolist() == read_in_the_run(
            weak, resolved, cells
        )


@pytest.mark.parametrize("name", SETS)
def test_items_are_read_as_in_the_run(name: str) -> None:
    document = SETS[name]
    values = from_json(document)
    if values.size > 1_000_000:
        document = {**document, "max_length": 3} if document["set"] == "strings" else {}
    if not document or document["set"] in ("product", "union"):
        document = {
            "set": "union",
            "parts": [{**STRINGS, "max_length": 3, "case": "lower"}, LISTED],
        }
    if document.get("max_length") == 3:
        document = {**document, "replace": {"é": "e"}} if "replace" in document else document
    basket = parse_attribute(
        {"name": "b", "kind": "weak-basket", "values": document, "keep": 2, "separator": ";"}
    )
    assert isinstance(basket, domain_learning.WeakBasket)
    some = [basket.values.unrank(rank) for rank in range(0, min(basket.values.size, 20), 3)]
    cells = cells_of([*some, "abc", "Male", "female", "GERMANY", "house"])
    baskets = [
        f"{cell or ''};{other or ''}" for cell, other in zip(cells, cells[3:], strict=False)
    ]
    ranks = [rank for cell in cells if (rank := basket.values.rank(cell or "")) is not None]
    kept = sorted(set(ranks))[:2] if len(set(ranks)) > 1 else [0]
    resolved = basket.from_ranks(kept)
    assert basket.admits(resolved)
    in_run = items.resolved_items(basket, resolved, codec.bags(basket, _texts(baskets)))
    again = stored(resolved)
    assert isinstance(again, Basket)
    read = codec.encode(Domain(attributes=(again,)), {"b": _texts(baskets)})
    assert {n: c.tolist() for n, c in in_run.items()} == {
        n: c.tolist() for n, c in read.items()
    }
    assert any(codes.any() for codes in in_run.values())


def _texts(cells: Sequence[str | None]) -> pa.Array:
    return pa.array(cells, type=pa.string())


@pytest.mark.parametrize("outside", ["other", "missing"])
@pytest.mark.parametrize("name", SETS)
def test_a_preview_says_what_a_cell_is_counted_as(name: str, outside: str) -> None:
    values = from_json(SETS[name])
    weak = Weak(name="c", values=values, missing=("N/A",), outside=outside)  # type: ignore[arg-type]
    cells = [
        cell for cell in cells_of([values.unrank(0), "male", "germany"]) if cell is not None
    ]
    ranks = sorted({rank for rank in weak.ranks(cells) if rank < values.size})
    resolved = weak.from_ranks(ranks)
    labels = dict(enumerate(resolved.labels))
    counted = [
        labels[code].strip("()") for code in codec.encode_column(resolved, cells).tolist()
    ]
    said = {
        "not in the set, counts as missing": "missing",
        "not listed, counts as missing": "missing",
    }
    for attribute in (weak, resolved):
        read = [
            said.get(words, words).strip("()")
            for words in column_check.readings(attribute, cells, marks=Marks())
        ]
        assert read == counted


WIDE = [
    {"kind": "range", "of": "integer", "low": -1000, "high": 100_000},
    {"kind": "range", "of": "integer", "low": 0, "high": 40},
    {"kind": "range", "of": "number", "low": -50.0, "high": 5000.0},
    {"kind": "range", "of": "date", "low": "2000-01-01", "high": "2019-12-31"},
    {"kind": "scale", "of": "integer", "low": -1000, "high": 100_000},
    {"kind": "scale", "of": "number", "low": -50.0, "high": 5000.0, "step": 0.5},
    {"kind": "scale", "of": "date", "low": "2000-01-01", "high": "2019-12-31"},
    {"kind": "scale", "of": "integer"},
]


def wide(document: dict[str, object], reading: dict[str, object]) -> Undeclared | None:
    try:
        attribute = parse_attribute({"name": "c", **document, **reading})
    except DomainError:
        return None  # such as a marker that lies between the bounds
    assert isinstance(attribute, Undeclared)
    return attribute


def learned(attribute: Undeclared) -> list[Attribute]:
    """Attributes that it may become."""
    if isinstance(attribute, domain_learning.Range):
        count = attribute.value_count
        places = [(0, count), (0, count // 2, count), (count // 5, count // 3, count // 2)]
        return [attribute.cut(each) for each in places]
    assert isinstance(attribute, domain_learning.Scale)
    return [
        domain_learning.scale_learning.even_bins(attribute, number) for number in (1, 7, 50)
    ]


def cells_on_a_scale(attribute: Undeclared) -> list[str]:
    """Values in and around every bin that may be learned, and as people write them."""
    numbers: list[float] = [-1001, -50, -1, 0, 0.5, 1, 8, 13.5, 20, 100_000, 100_001, 1e20]
    texts = [str(value) for value in numbers] + [
        "2000-01-01",
        "2019-12-31",
        "1999-12-31",
        "2010-06-15",
    ]
    for resolved in learned(attribute):
        if isinstance(resolved, Integer | Number):
            for cut in resolved.cuts:
                texts += [
                    str(cut),
                    str(cut - 1),
                    str(cut + 1),
                    repr(cut + 0.25),
                    f" {cut}",
                    f"+{cut}",
                    f"0{cut}",
                ]
                texts += [
                    repr(float(np.nextafter(cut, np.inf))),
                    repr(float(np.nextafter(cut, -np.inf))),
                ]
        elif isinstance(resolved, Date):
            for code in range(0, resolved.value_count, max(1, resolved.value_count // 5)):
                texts += [day.isoformat() for day in resolved.days(code)]
            texts += [
                (resolved.high + timedelta(days=1)).isoformat(),
                f" {resolved.low}",
                f"{resolved.low}T10:00",
            ]
    return list(dict.fromkeys([*texts, *ODD]))


@pytest.mark.parametrize("reading", [*READINGS, {"missing": [""], "outside": "missing"}])
@pytest.mark.parametrize("document", WIDE, ids=lambda each: f"{each['kind']} of {each['of']}")
def test_scales_are_read_as_in_the_run(
    document: dict[str, object], reading: dict[str, object], tmp_path: Path
) -> None:
    attribute = wide(document, reading)
    if attribute is None:
        return
    cells = cells_on_a_scale(attribute)
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([["c"], *([cell] for cell in cells)])
    domain = Domain(attributes=(attribute,))
    for resolved in learned(attribute):
        known = domain.resolve({"c": resolved})
        in_run = open_table(path, domain).resolve(known)
        again = open_table(path, Domain.from_json(known.to_json()))
        differing = np.flatnonzero(in_run.codes("c") != again.codes("c"))
        assert [cells[place] for place in differing.tolist()] == []


def test_a_table_is_counted_alike_in_the_run_and_afterwards(tmp_path: Path) -> None:
    """Files through the room: several columns of each kind at once, opened as described and as learned."""
    documents = [
        {"name": "word", "kind": "weak", "values": {"set": "known", "name": "english-words"}},
        {"name": "sex", "kind": "weak", "values": {**STRINGS, "case": "lower"}, "missing": [""]},
        {
            "name": "items", "kind": "weak-basket", "keep": 3, "separator": ";",
            "values": {"set": "known", "name": "countries"},
        },
    ]  # fmt: skip
    domain = Domain(attributes=tuple(map(parse_attribute, documents)))
    rows = [
        ["HOUSE", "Male", "de;FR;xx"],
        ["house ", "FEMALE", "DE; fr"],
        [" Tree", "", "us"],
        ["zz9", "m4", ""],
    ]
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["word", "sex", "items"], *rows])
    found: dict[str, Attribute] = {}
    for attribute, texts in zip(
        domain.attributes, (["house"], ["male", "female"], ["DE", "FR", "GB"]), strict=True
    ):
        assert isinstance(attribute, Weak | domain_learning.WeakBasket)
        ranks = [attribute.values.rank(text) for text in texts]
        found[attribute.name] = attribute.from_ranks(
            [rank for rank in ranks if rank is not None]
        )
    known = domain.resolve(found)
    in_run: Rows = open_table(path, domain).resolve(known)
    again = open_table(path, Domain.from_json(known.to_json()))
    assert {name: again.codes(name).tolist() for name in known.names} == {
        name: in_run.codes(name).tolist() for name in known.names
    }
    assert again.codes("word").tolist() == [0, 0, 1, 1]
    assert again.codes("sex").tolist() == [0, 1, 3, 2]
    assert again.codes("items=DE").tolist() == [1, 1, 0, 0]


def test_generated_values_are_read_as_what_they_are() -> None:
    for name, document in SETS.items():
        values = from_json(document)
        weak = Weak(name=name, values=values, missing=("N/A",))
        resolved = weak.from_ranks(range(min(values.size, 7)))
        codes = np.arange(resolved.size)
        written = resolved.write(resolved.sample(codes, np.random.default_rng(1)))
        assert codec.encode_column(resolved, written.tolist()).tolist() == codes.tolist()


@pytest.mark.parametrize("name", SETS)
def test_a_reader_counts_every_spelling_as_its_set_does(name: str) -> None:
    values = from_json(SETS[name])
    reader = from_json(values.reader.to_json())
    cells = [
        cell or ""
        for cell in cells_of([values.unrank(0), values.unrank(values.size - 1), "male"])
    ]
    assert reader.ranks(cells) == values.ranks(cells)
    assert reader.size == values.size
    if values.is_exact:
        assert all(
            rank is None or values.unrank(rank) == cell
            for cell, rank in zip(cells, values.ranks(cells), strict=True)
        )


def test_a_stored_reader_outlives_the_list_of_a_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weak = Weak(name="c", values=Known("countries"), missing=("",))
    document = weak.from_ranks([3, 5]).to_json()
    monkeypatch.setattr("synth_engine.values.lists._known", lambda name: Listed([name]))
    loaded = parse_attribute(document)
    assert isinstance(loaded, Categorical)
    assert loaded.listed([weak.values.unrank(3).lower(), "zz"]) == [weak.values.unrank(3), None]


def test_the_list_that_ships_with_the_package_never_changes() -> None:
    # Stored releases name it: another list would give their values other ranks.
    assert (
        Known("english-words").sha256
        == "212ad761133bbe21fa93aefb59e03a5d012bc2f858816fd178b57fcd047832e1"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "categorical", "values": ["Male"], "reads": {**STRINGS, "case": "lower"}},
        {
            "kind": "categorical",
            "values": ["male", "x y"],
            "reads": {**STRINGS, "case": "lower"},
        },
        {"kind": "basket", "items": ["Male"], "reads": {**STRINGS, "case": "lower"}},
        {"kind": "basket", "items": ["de"], "reads": {"set": "known", "name": "countries"}},
    ],
)
def test_a_value_that_its_set_spells_otherwise_is_refused(fields: dict[str, object]) -> None:
    further = {"other": True} if fields["kind"] == "categorical" else {}
    with pytest.raises(DomainError) as refused:
        parse_attribute({"name": "c", **fields, **further})
    assert refused.value.field in ("values", "items")


# ---- whole runs
# --------------------------------------------------------------------------------------------------


def people(path: Path, *, sexes: Sequence[str], records: int = 4_000) -> Path:
    rng = np.random.default_rng(5)
    rows = zip(
        rng.choice(sexes, p=[0.65, 0.35], size=records),
        rng.integers(0, 4, records),
        strict=True,
    )
    path.write_text("\n".join(["sex,level", *(f"{sex},{level}" for sex, level in rows)]) + "\n")
    return path


def described_people(values: dict[str, object]) -> Domain:
    # So that no value comes out by chance that nobody has.
    sex = {"name": "sex", "kind": "weak", "values": values, "rho": 1 - 1e-9, "missing": [""]}
    level = {"name": "level", "kind": "integer", "low": 0, "high": 3, "width": 1}
    return Domain(attributes=(parse_attribute(sex), parse_attribute(level)))


def report_on(
    path: Path, *, of: Path, values: dict[str, object]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Of the column: its distance, its fidelity, and the verdict on its values. path: the table that is
    compared."""
    # At an epsilon of 20 noise makes one record of "(other)" in one of fifty runs; here in one of 10⁸.
    spec = Spec(mechanism="weak-domain", epsilon=Fraction(100))
    release = pipeline.synthesize(of, domain=described_people(values), spec=spec)
    model = Model.from_json(json.loads(json.dumps(release.model.to_json())))
    report = json.loads(json.dumps(pipeline.report(path, model=model, rows=4_000, seed="seed")))
    return tuple(
        next(entry for entry in report[part] if entry["name"] == "sex")
        for part in ("attributes", "fidelity", "values")
    )  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("sexes", "values"),
    [
        (["Male", "Female"], {**STRINGS, "case": "lower"}),
        (["GERMANY", "france"], {"set": "known", "name": "country-names"}),
        (["Renée", "Zoé"], {**STRINGS, "case": "lower", "replace": {"é": "e"}}),
    ],
)
def test_a_good_release_is_compared_as_one(
    sexes: list[str], values: dict[str, object], tmp_path: Path
) -> None:
    path = people(tmp_path / "people.csv", sexes=sexes)
    column, fidelity, raw = report_on(path, of=path, values=values)
    assert column["tvd"] < 0.05
    assert fidelity["fidelity"] > 0.9
    assert raw["verdict"] is None
    assert raw["distinct"] == {"real": 2, "synthetic": 2}
    assert raw["invented"] == 0


def test_a_table_that_spells_its_values_in_another_way_is_damaged(tmp_path: Path) -> None:
    path = people(tmp_path / "people.csv", sexes=["male", "female"])
    other = people(tmp_path / "later.csv", sexes=["Male", "Female"])
    assert report_on(path, of=path, values=STRINGS)[2]["verdict"] is None
    assert report_on(other, of=path, values=STRINGS)[2]["verdict"]["level"] == "damaged"


@pytest.mark.parametrize("name", [name for name in SETS if SETS[name]["set"] == "strings"])
def test_texts_of_a_tree_are_measured_as_in_the_run(name: str) -> None:
    values = from_json(SETS[name])
    weak = Weak(name="c", values=values, missing=("N/A",))
    resolved = stored(strings.column(weak))
    cells = [cell for cell in cells_of([values.unrank(0), "male", "ab-cd"]) if cell in values]
    in_run = [values.unrank(values.rank(cell) or 0) for cell in cells]
    assert len(set(in_run)) < len(cells) or values.is_exact
    codes = codec.encode_column(resolved, cells).tolist()
    assert codes == codec.encode_column(resolved, in_run).tolist()
    assert isinstance(resolved, Text)
    assert resolved.spelled(cells) == in_run


def test_a_tree_of_texts_is_compared_in_the_spelling_of_its_set(tmp_path: Path) -> None:
    values = {
        **STRINGS,
        "alphabet": f"0123456789{LETTERS}",
        "case": "lower",
        "replace": {"-": ""},
    }
    domain = Domain(attributes=(described_people(values).attributes[0],))
    path = people(tmp_path / "people.csv", sexes=["M-a-l-e", "FEMALE"])
    spec = Spec(mechanism="adaptive", epsilon=Fraction(20))
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    model = Model.from_json(json.loads(json.dumps(release.model.to_json())))
    report = pipeline.report(path, model=model, rows=4_000, seed="seed")
    (column,) = report["attributes"]  # type: ignore[misc]
    assert column["tvd"] < 0.05  # type: ignore[index]

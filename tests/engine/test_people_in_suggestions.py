"""No draft lists who is in a table: columns that say who a row is about, whatever they hold and however often
it repeats."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from synth_engine import pipeline
from synth_engine.steward import ingest, people
from synth_engine.steward.value_lists import (
    FEWEST_PERSONS,
    MAX_CATEGORIES,
    NEARLY_ALL,
    PersonCounts,
)
from synth_engine.values import is_public_list

PERSONS = 300
FIRST = [f"{a}{b}" for a in ("An", "Ber", "Cla", "Do", "El") for b in ("na", "ta", "ra", "ris")]
NAMES = (
    *("ssn", "name", "email", "e-mail", "plate", "Kennzeichen", "iban", "personnummer", "street", "Straße",
        "mrn", "Patient MRN"),
    *("npi", "phone", "Telefon", "participant id", "patient_id", "PatientID", "hh_id", "nr", "kundennr"),
    *("Versichertennummer", "nhs_number", "user id", "employee no", "last_name", "apellido", "prénom",
        "achternaam", "efternamn"),
    *("número de paciente", "numéro client", "rekeningnummer", "policy number", "CustomerName", "passport",
        "Steuernummer", "id"),
)  # fmt: skip
FORMS = {
    "digits": lambda person: str(100_000 + 37 * person),
    "letters and digits": lambda person: f"MRN-{102_000 + 17 * person}",
    "words": lambda person: f"{FIRST[person % 20]} {FIRST[person // 20]}son",
}


def read(tmp_path: Path, columns: dict[str, list[str]]) -> ingest.Reading:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path = tmp_path / "table.csv"
    path.write_text(buffer.getvalue())
    guessed = pipeline.detect(path)
    assert guessed is not None
    return ingest.read(path, kind="csv", dialect=replace(guessed, asked=(), header=True))


def listed(facts: dict[str, Any]) -> list[str]:
    """The values that facts list, whatever their kind."""
    values = facts.get("values") or []
    return list(values if isinstance(values, list) else values.get("values") or [])


def drafts(reading: ingest.Reading) -> dict[str, list[dict[str, Any]]]:
    """The draft of each column, and everything else that it could be."""
    return {
        each["name"]: [
            each,
            *(
                choice["facts"]
                for choice in reading.hints[each["name"]]["choices"]
                if "facts" in choice
            ),
        ]
        for each in reading.suggestions
    }


@pytest.mark.parametrize("rows", [1, 2, 5, 20])
@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_names_people_is_left_out_however_often_it_repeats(
    tmp_path: Path, form: str, rows: int
) -> None:
    order = [person for person in range(PERSONS) for _ in range(rows)]
    random.Random(rows).shuffle(order)
    column = [FORMS[form](person) for person in order]
    reading = read(
        tmp_path, dict.fromkeys(NAMES, column) | {"ward": ["a", "b"] * (len(order) // 2)}
    )
    found = {name: facts[0]["kind"] for name, facts in drafts(reading).items()}
    assert found.pop("ward") in ("categorical", "weak")
    assert found == dict.fromkeys(NAMES, "identifier")
    assert not any(listed(facts) for name in NAMES for facts in drafts(reading)[name])


@pytest.mark.parametrize("rows", [1, 2, 5, 20])
@pytest.mark.parametrize(
    "value",
    [
        lambda person: f"person{person}@example.org",
        lambda person: f"{100 + person}-{10 + person % 90}-{1_000 + person}",
        lambda person: f"19{10 + person % 80}0101-{1_000 + person}",
        lambda person: f"DE{10 + person % 90}{10**17 + person}",
        lambda person: f"{person + 1} Elm Street",
        lambda person: f"Lindenstraße {person + 1}",
        lambda person: f"P{1_000 + person}",
        lambda person: f"AB{100 + person}CD",
        lambda person: f"0{30 + person % 9}/{400_000 + 31 * person}",
        lambda person: f"{person:08}",
    ],
)  # fmt: skip
def test_a_column_that_looks_like_people_is_left_out_whatever_its_name(
    tmp_path: Path, value: Any, rows: int
) -> None:
    column = [value(person) for person in range(PERSONS) for _ in range(rows)]
    reading = read(tmp_path, {"x": column, "ward": ["a", "b"] * (len(column) // 2)})
    assert reading.suggestions[0]["kind"] == "identifier"
    assert not any(listed(facts) for facts in drafts(reading)["x"])


@pytest.mark.parametrize("seed", range(6))
def test_no_list_is_drafted_unless_it_says_nothing_of_few_persons(
    tmp_path: Path, seed: int
) -> None:
    """Columns of every number of values and every skew, beside a column of persons or none."""
    draw = random.Random(seed)
    rows = 4_000
    persons = [f"P{draw.randrange(400):04}" for _ in range(rows)]
    columns: dict[str, list[str]] = {"patient_id": persons} if seed % 2 else {}
    for values in (2, 5, 40, 99, 100, 101, 400):
        weights = [draw.random() ** draw.choice((1, 8)) for _ in range(values)]
        columns[f"v{values}"] = [
            f"{FIRST[v % 20]} {v:x}" for v in draw.choices(range(values), weights, k=rows)
        ]
        columns[f"zip{values}"] = [
            str(80_001 + 7 * v) for v in draw.choices(range(values), weights, k=rows)
        ]
    # Few persons have each value, however many rows: a value for each person of a ward.
    columns["doctor"] = [f"Dr {FIRST[int(person[1:]) % 20]}" for person in persons]
    columns["ward"] = [f"ward {int(person[1:]) // 10}" for person in persons]
    for name, several in drafts(read(tmp_path, columns)).items():
        for facts in several:
            values_listed = listed(facts)
            if not values_listed or is_public_list(values_listed):
                continue
            times = Counter(columns[name])
            held = defaultdict(set)
            for row, text in enumerate(columns[name]):
                held[text].add(persons[row] if seed % 2 else row)
            assert len(values_listed) <= MAX_CATEGORIES
            assert sum(times[text] for text in values_listed) >= NEARLY_ALL * rows
            assert min(len(held[text]) for text in values_listed) >= FEWEST_PERSONS


def test_rows_of_one_person_do_not_make_a_value_public(tmp_path: Path) -> None:
    clinic = [f"clinic {chr(97 + person % 26)}" for person in range(200) for _ in range(50)]
    persons = [f"{person}" for person in range(200) for _ in range(50)]
    alone = read(tmp_path, {"clinic": clinic, "y": ["1"] * len(clinic)})
    assert len(listed(alone.suggestions[0])) == 26
    beside = read(tmp_path, {"clinic": clinic, "patient_id": persons})
    assert beside.suggestions[0]["kind"] == "weak"


def test_persons_are_counted_over_blocks_and_only_where_most_rows_have_one() -> None:
    counts = PersonCounts()
    for block in range(4):
        persons = [f"{7 * block + row % 7}" for row in range(70)]
        counts.add(
            {
                "patient_id": pa.array(persons),
                "phone": pa.array(["+49 30 123456"] + [None] * 69),
                "x": pa.array(["a"] * 69 + ["b"]),
            }
        )
    assert counts.of("x") == {"a": FEWEST_PERSONS, "b": 4}
    assert max((counts.of("patient_id") or {}).values()) == 1
    nobody = PersonCounts()
    nobody.add({"x": pa.array(["a", "b"])})
    assert nobody.of("x") is None


@pytest.mark.parametrize(
    "name",
    [
        *NAMES,
        *("Name", "NAME", "patientid", "PATIENTID", "KundenNr", "Kunden-Nr.", "KUNDENNR", "id_patient",
            "MRNPatient", "cust_firstname"),
        *("Sozialversicherungsnummer", "Matrikelnummer", "case no", "SubjectID", "subject key", "eMail",
            "E-Mail-Adresse", "Vorname"),
        *("Personalnummer", "driver license number", "account_no", "Kontonummer", "IBAN Konto", "DNI",
            "codice_cliente_id", "rut_id"),
    ],
)  # fmt: skip
def test_names_of_identifiers_are_known_in_every_spelling(name: str) -> None:
    assert people.by_name(name) is not None


@pytest.mark.parametrize("name", ["store_nr", "admission_type_id"])
def test_few_values_of_a_column_that_may_number_anything_are_asked_about(
    tmp_path: Path, name: str
) -> None:
    reading = read(
        tmp_path, {name: [str(row % 40) for row in range(2_000)], "y": ["a"] * 2_000}
    )
    hint = reading.hints[name]
    assert reading.suggestions[0]["kind"] == "identifier"
    assert hint["question"]
    assert [choice["key"] for choice in hint["choices"]] == ["who", "number"]


@pytest.mark.parametrize(
    "name",
    [
        *("age", "patient_age", "account_type", "id_type", "phone_calls", "invoice_date", "invoice_amount",
            "household size"),
        *("country", "country name", "product_name", "number_of_children", "paid", "covid", "valid", "acid",
            "Kundentyp", "Kundengruppe"),
        *("Anzahl Kunden", "age_of_patient", "members", "zip code", "ICD code", "colour", "x", "", "§",
            "nose", "note", "state name"),
    ],
)  # fmt: skip
def test_a_fact_about_somebody_is_no_name(name: str) -> None:
    assert people.by_name(name) is None


def test_a_codebook_of_persons_is_not_listed(tmp_path: Path) -> None:
    column = ingest.Column(ingest.Marks())
    column.add(pa.array(["1", "2", "1"] * 30))
    book = {"values": {"1": "anna@example.org", "2": "berta@example.org"}}
    draft = ingest.suggest.attribute("rater", column, codebook=book)
    assert not listed(draft)
    assert "@" not in str(draft)
    kept = ingest.suggest.attribute(
        "smoker", column, codebook={"values": {"1": "never", "2": "now"}}
    )
    assert listed(kept) == ["1", "2"]

"""Columns of numbers, codes and names that are no part of `bench/meaning.py`: their readings were written
down before they were drafted. Each is drafted right, or asked about with a right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.engine.held_out import (
    CODES,
    LARGE,
    LEFT_OUT,
    MONEY,
    NUMBERS,
    OUT,
    ROWS,
    WHOLE,
    Case,
    judged,
    some,
)

MEASURED: Mapping[str, tuple[str, Sequence[str], Case]] = {
    "Swiss, curly": ("betrag", [cell.replace("'", "’") for cell in LARGE], NUMBERS),
    "narrow blanks": (
        "betrag",
        [cell.replace("'", "\u202f").replace(".", ",") for cell in LARGE],
        NUMBERS,
    ),
    "a minus of Unicode, a comma": (
        "saldo",
        some(
            [cell.replace(".", ",") for cell in MONEY],
            [f"\u2212{n},50" for n in range(1, 30)],
            4,
        ),
        NUMBERS,
    ),
    "German parentheses": (
        "saldo",
        some(
            [cell.replace(".", ",").replace("'", ".") for cell in LARGE],
            [f"(1.{n:03d},50)" for n in range(1, 30)],
            4,
        ),
        NUMBERS,
    ),
    "percent with a blank": (
        "anteil",
        [f"{cell.replace('.', ',')} %" for cell in MONEY],
        NUMBERS,
    ),
    "at least": ("alter", some(WHOLE, ["≥90"], 6), OUT),
    "and above": ("age", some(WHOLE, ["90+"], 6), OUT),
    "about": ("menge", some(WHOLE, [f"ca. {n}" for n in range(20, 60)], 3), OUT),
    "Thai digits": (
        "value",
        [cell.translate({48 + digit: 0x0E50 + digit for digit in range(10)}) for cell in WHOLE],
        NUMBERS,
    ),
    "Soll and Haben": (
        "saldo",
        [f"{cell.replace('.', ',')} {'SH'[n % 2]}" for n, cell in enumerate(MONEY)],
        OUT,
    ),
    "francs before": ("preis", [f"CHF {cell}" for cell in MONEY], NUMBERS),
    "thousands and millions": (
        "umsatz",
        [f"{1 + n % 9}.{n % 10}{'kM'[n % 2]}" for n in range(ROWS)],
        OUT,
    ),
    "ISO durations": (
        "dauer",
        [f"PT{n % 5}H{n * 7 % 60}M" for n in range(ROWS)],
        OUT,
    ),
    "hours and minutes": ("dauer", [f"{n % 5}h{n * 7 % 60:02d}" for n in range(ROWS)], OUT),
    "-99 and its family": (
        "score",
        some(WHOLE, ["-97", "-98", "-99"], 8),
        {"right": [{"of": "integer", "missing": ["-97", "-98", "-99"]}]},
    ),
    "9997 to 9999": (
        "gewicht_g",
        some([str(500 + 41 * n % 4000) for n in range(ROWS)], ["9997", "9998", "9999"], 8),
        {"right": [{"of": "integer", "missing": ["9997", "9998", "9999"]}]},
    ),
    "k. A.": (
        "alter",
        some(WHOLE, ["k. A."], 7),
        {"right": [{"of": "integer", "missing": ["k. A."]}]},
    ),
    "#N/A": (
        "alter",
        some(WHOLE, ["#N/A"], 7),
        {"right": [{"of": "integer", "missing": ["#N/A"]}]},
    ),
    "a dot of SAS": (
        "score",
        some(WHOLE, ["."], 7),
        {"right": [{"of": "integer", "missing": ["."]}]},
    ),
}
NAMED: Mapping[str, tuple[str, Sequence[str], Case]] = {
    "bands of ages": (
        "alter",
        [f"{10 * (1 + n % 5)}–{10 * (1 + n % 5) + 9}" for n in range(ROWS)],
        {"right": ["codes"]},
    ),
    "bands like days": (
        "band",
        [["1-4", "5-9", "10-14", "15-19"][n % 4] for n in range(ROWS)],
        {"right": ["codes"]},
    ),
    "NACE": ("nace", [["01.1", "01.10", "10.7", "47.11"][n % 4] for n in range(ROWS)], CODES),
    "rooms": ("raum", [["3E7", "3E8", "12", "4E1"][n % 4] for n in range(ROWS)], CODES),
    "postal codes": ("plz", [str(10115 + 1000 * (n % 40)) for n in range(ROWS)], CODES),
    "Namibia": (
        "land",
        [["AT", "NA", "CH", "DE"][n % 4] for n in range(ROWS)],
        {"asked": [{"values": ["AT", "CH", "DE", "NA"]}]},
    ),
    "versions": ("build", [["2.9", "2.10", "2.1", "3.0"][n % 4] for n in range(ROWS)], CODES),
    "telephones": (
        "kontakt",
        [f"+49 30 {100000 + n // 3 * 791}" for n in range(ROWS)],
        LEFT_OUT,
    ),
    "accounts": (
        "konto",
        [f"DE{10 + n // 3}5001051754073{24931 + n // 3}" for n in range(ROWS)],
        LEFT_OUT,
    ),
    "addresses of computers": (
        "host",
        [f"10.0.{n // 12}.{n // 3 * 7 % 250}" for n in range(ROWS)],
        LEFT_OUT,
    ),
    "insured persons": (
        "versichertennr",
        [f"A{100000000 + n // 3 * 7919}" for n in range(ROWS)],
        LEFT_OUT,
    ),
    "students": (
        "matrikelnummer",
        [str(1000000 + n // 3 * 7919) for n in range(ROWS)],
        LEFT_OUT,
    ),
    "UUIDs": (
        "fall",
        [
            f"{n // 3 * 2654435761 % 2**32:08x}-1b2c-4d3e-8f40-{n // 3:012x}"
            for n in range(ROWS)
        ],
        LEFT_OUT,
    ),
    "names, family first": (
        "patient",
        [
            (
                f"{['Muster', 'Beispiel', 'Probe', 'Test', 'Niemand'][n // 3 % 5]}, "
                f"{['Anna', 'Berta', 'Carl', 'Dora', 'Emil', 'Frida', 'Gustav', 'Hanna'][n // 15]}"
            )
            for n in range(ROWS)
        ],
        LEFT_OUT,
    ),
    "bars between items": (
        "besitz",
        [["rot|blau", "rot", "blau|gelb|rot", "gelb"][n % 4] for n in range(ROWS)],
        {"asked": ["baskets"], "loses": True},
    ),
    "two forms of ü": (
        "ort",
        [["Zürich", "Zu\u0308rich", "Bern"][n % 3] for n in range(ROWS)],
        {"right": ["codes"], "remark": "differs? only"},
    ),
    "encoded twice": (
        "ort",
        [["MÃ¼nchen", "Bern"][n % 2] for n in range(ROWS)],
        {"right": ["codes"], "remark": "encoded twice"},
    ),
    "plus sign": ("delta", [f"+{n % 37}.5" for n in range(ROWS)], NUMBERS),
    "percent points": ("delta", [f"{n % 37},{n % 10} %-Punkte" for n in range(ROWS)], OUT),
    "EUR behind": ("preis", [f"{n % 37},{n % 10}0 EUR" for n in range(ROWS)], NUMBERS),
    "Euro sign before comma": (
        "preis",
        [f"€ {1 + n % 7}.{n * 37 % 1000:03d},{n % 10}0" for n in range(ROWS)],
        NUMBERS,
    ),
    "German dash cents": (
        "preis",
        [f"{n % 37},–" for n in range(ROWS)],
        OUT | {"right": ["numbers"]},
    ),
    "kg and g": (
        "gewicht",
        [f"{1 + n % 9} kg" if n % 2 else f"{100 + n} g" for n in range(ROWS)],
        OUT,
    ),
    "only kg": ("gewicht", [f"{1 + n % 39},5 kg" for n in range(ROWS)], NUMBERS),
    "scientific": (
        "konz",
        [f"{1 + n % 9}.{n % 10}E-0{1 + n % 5}" for n in range(ROWS)],
        NUMBERS,
    ),
    "comma scientific": (
        "konz",
        [f"{1 + n % 9},{n % 10}E-0{1 + n % 5}" for n in range(ROWS)],
        NUMBERS,
    ),
    "asterisk suppressed": (
        "n",
        some(WHOLE, ["*"], 6),
        {"right": [{"of": "integer", "missing": ["*"]}]},
    ),
    "n.s. quality flags": (
        "n",
        [f"{10 + n % 61}{['', 'r', 'p'][n % 3]}" for n in range(ROWS)],
        OUT,
    ),
    "footnote": (
        "n",
        [f"{10 + n % 61}{['', '*', '**'][n % 3]}" for n in range(ROWS)],
        OUT | {"right": ["numbers"]},
    ),
    "personen": ("n", [f"{1 + n} Personen" for n in range(ROWS)], OUT | {"right": ["numbers"]}),
    "range text": ("lohn", [f"{1000 + n * 10} - {1500 + n * 10}" for n in range(ROWS)], OUT),
    "blood pressure": ("rr", [f"{100 + n % 60}/{60 + n % 40}" for n in range(ROWS)], OUT),
    "ratio": ("titer", [f"1:{2 ** (n % 8)}" for n in range(ROWS)], CODES),
    "fraction ½": ("dosis", [f"{n % 20}½" if n % 2 else f"{n % 20}" for n in range(ROWS)], OUT),
    "JaNein": ("versichert", [["J", "N"][n % 2] for n in range(ROWS)], {"right": ["codes"]}),
    "ja nein weiss nicht": (
        "versichert",
        [["ja", "nein", "weiß nicht"][n % 3] for n in range(ROWS)],
        {"right": ["codes"]},
    ),
    "icd10": (
        "diagnose",
        [["E11.9", "I10", "J45.0", "F32.1"][n % 4] for n in range(ROWS)],
        {"right": ["codes"]},
    ),
    "ags": (
        "ags",
        [["01001000", "05315000", "09162000", "11000000"][n % 4] for n in range(ROWS)],
        {"right": ["codes"]},
    ),
    "ags without zero": (
        "gemeindeschluessel",
        [["1001000", "5315000", "9162000", "11000000"][n % 4] for n in range(ROWS)],
        CODES,
    ),
    "kfz": ("auto", [f"B-AB {1000 + n // 3}" for n in range(ROWS)], LEFT_OUT),
    "mac": ("geraet", [f"00:1a:2b:3c:{n // 3:02x}:4d" for n in range(ROWS)], LEFT_OUT),
    "telefon ohne +": (
        "kontakt",
        [f"030/{100000 + n // 3 * 791}" for n in range(ROWS)],
        LEFT_OUT,
    ),
    "strasse": ("wohnort", [f"Hauptstr. {n // 3}" for n in range(ROWS)], LEFT_OUT),
    "svnr": (
        "sv",
        [f"12 {100000 + n // 3 * 7:06d} M {n // 3 % 1000:03d}" for n in range(ROWS)],
        LEFT_OUT,
    ),
    "url": ("profil", [f"https://example.org/u/{n // 3}" for n in range(ROWS)], LEFT_OUT),
    "Steuer-ID": ("idnr", [str(10000000000 + n // 3 * 7919) for n in range(ROWS)], LEFT_OUT),
    "888 999": (
        "einkommen",
        some([str(1000 + n * 17) for n in range(ROWS)], ["-888", "-999"], 7),
        {"right": [{"of": "integer", "missing": ["-888", "-999"]}]},
    ),
    "99 age": (
        "alter",
        some([str(18 + n % 30) for n in range(ROWS)], ["99", "98"], 7),
        {"right": [{"of": "integer", "missing": ["98", "99"]}]},
    ),
    "9 likert": (
        "zufriedenheit",
        some([str(1 + n % 5) for n in range(ROWS)], ["9"], 7),
        {"right": ["codes", "numbers"], "asked": ["codes", "numbers"]},
    ),
    "weiß nicht beside": (
        "alter",
        some(WHOLE, ["weiß nicht"], 4),
        {
            "right": [{"of": "integer", "missing": ["weiß nicht"]}],
            "asked": [{"of": "integer", "missing": ["weiß nicht"]}],
            "loses": True,
        },
    ),
    "German JSON set": (
        "mittel",
        [["[rot, blau]", "[rot]", "[]", "[blau]"][n % 4] for n in range(ROWS)],
        {"right": ["codes"], "asked": ["baskets"], "loses": True},
    ),
    "plus sets": (
        "mittel",
        [["a+b", "a", "b", "a+b+c"][n % 4] for n in range(ROWS)],
        {"right": ["codes"], "asked": ["baskets", "codes"], "loses": True},
    ),
    "wahr falsch": (
        "ok",
        [["WAHR", "FALSCH"][n % 2] for n in range(ROWS)],
        {"right": ["codes"]},
    ),
    "x marks": (
        "ok",
        [["x", ""][n % 2] for n in range(ROWS)],
        {"right": ["codes"], "asked": ["codes"], "loses": True},
    ),
}
TABLES = {**MEASURED, **NAMED}


@pytest.mark.parametrize("name", TABLES)
def test_cells_are_drafted_right_or_asked_about(name: str, tmp_path: Path) -> None:
    column, cells, case = TABLES[name]
    verdict, said = judged(column, cells, case, tmp_path)
    assert verdict in {"right", "asked with a right answer"}, f"{verdict}: {said}"

"""Clean tables, damaged in every way that is known to be read wrong by others: each is read exactly, or
refused with the rule and the repair. What is asked is a refusal; no cell of a record is ever the name of a
column."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from synth_engine import readers
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, form_options, guess
from synth_engine.formats.evidence import weigh

Table = list[list[str]]
SEEDS = range(12)
NAMES = [
    "Ann",
    "Bob",
    "Chloé",
    "Dmitri",
    "Eva",
    "Farid",
    "Grace",
    "Hugo",
    "Ines",
    "Jürgen",
    "Kofi",
    "Lena",
]
CITIES = ["Rome", "Paris", "Köln", "New York", "Oslo", "Łódź"]


def people(draw: random.Random, rows: int) -> Table:
    table = [["name", "age", "city"]]
    return table + [
        [draw.choice(NAMES), str(draw.randint(1, 99)), draw.choice(CITIES)] for _ in range(rows)
    ]


def visits(draw: random.Random, rows: int) -> Table:
    def day() -> str:
        return f"2018-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"

    return [["day", "visitor", "count"]] + [
        [day(), draw.choice(NAMES), str(draw.randint(0, 9))] for _ in range(rows)
    ]


def sales(draw: random.Random, rows: int) -> Table:
    def sale() -> list[str]:
        return [
            f"{draw.randint(1, 28)}/{draw.randint(1, 12)}/21",
            f"${draw.randint(10, 99)}.5",
            draw.choice(CITIES),
        ]

    return [["date", "price", "place"]] + [sale() for _ in range(rows)]


def words(draw: random.Random, rows: int) -> Table:
    return [["name", "city"]] + [[draw.choice(NAMES), draw.choice(CITIES)] for _ in range(rows)]


def codes(draw: random.Random, rows: int) -> Table:
    table = [["patient_id", "ward", "result"]]
    return table + [
        [f"P{draw.randint(100, 999)}", draw.choice("ABC"), str(draw.random())[:5]]
        for _ in range(rows)
    ]


TABLES = {one.__name__: one for one in (people, visits, sales, words, codes)}


def text(table: Table, delimiter: str = ",", ends: str = "\n", **options: object) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator=ends, **options).writerows(table)
    return buffer.getvalue()


def joined(table: Table, between: str) -> str:
    return "".join(between.join(row) + "\n" for row in table)


def damaged_first_line(table: Table, draw: random.Random) -> str:
    """The header lost its delimiters, and the first record has a word in place of each number."""
    first = [
        draw.choice(["x", "?", "-", "unknown"]) if cell[:1].isdigit() else cell
        for cell in table[1]
    ]
    return " ".join(table[0]) + "\n" + text([first, *table[2:]])


def one_word(table: Table, draw: random.Random) -> str:
    """No header, and in the first record a word in place of one number."""
    first = list(table[1])
    first[draw.randrange(len(first))] = "x"
    return text([first, *table[2:]])


def marks_inside(table: Table, draw: random.Random) -> str:
    rows = [list(row) for row in table]
    at = draw.randrange(1, len(rows))
    return text(rows[:at]) + f'3"r, s",{",".join(rows[at][1:])}\n' + text(rows[at:])


def one_mark(table: Table, draw: random.Random) -> str:
    at = draw.randrange(1, len(table))
    return (
        text(table[:at])
        + ",".join([f'{table[at][0]}"', *table[at][1:]])
        + "\n"
        + text(table[at:])
    )


def backslashes(table: Table, draw: random.Random) -> str:
    at = draw.randrange(1, len(table))
    return (
        text(table[:at])
        + ",".join(['"say \\"hi\\""', *table[at][1:]])
        + "\n"
        + text(table[at:])
    )


def header_again(table: Table, draw: random.Random) -> str:
    at = draw.randrange(2, len(table))
    again = draw.choice(
        [", ".join(table[0]), ",".join(f'"{cell}"' for cell in table[0]), ",".join(table[0])]
    )
    return text(table[:at]) + again + "\n" + text(table[at:])


def mark_inside(table: Table, draw: random.Random) -> str:
    at = draw.randrange(1, len(table))
    return text(table[:at]) + "\ufeff" + text(table[at:])


def below(line: Callable[[Table], str]) -> Callable[[Table, random.Random], str]:
    def damage(table: Table, _draw: random.Random) -> str:
        return text(table) + line(table) + "\n"

    return damage


def among(line: Callable[[Table], str]) -> Callable[[Table, random.Random], str]:
    def damage(table: Table, draw: random.Random) -> str:
        at = draw.randrange(2, len(table))
        return text(table[:at]) + line(table) + "\n" + text(table[at:])

    return damage


def fixed_width(table: Table, _draw: random.Random) -> str:
    return "".join("".join(f"{cell:<14}" for cell in row).rstrip() + "\n" for row in table)


def padded(first: str) -> Callable[[Table], str]:
    return lambda table: first + "," * (len(table[0]) - 1)


DAMAGES: dict[str, Callable[[Table, random.Random], str]] = {
    "no header": lambda table, _: text(table[1:]),
    "a damaged first line": damaged_first_line,
    "no header and one word": one_word,
    "a total as first line": lambda table, _: text([["Total"] + [""] * (len(table[0]) - 1), *table[1:]]),
    "a title and no header": lambda table, _: "People of our town\n" + text(table[1:]),
    "a header in another delimiter": lambda table, _: ";".join(table[0]) + "\n" + text(table[1:]),
    "marks inside an unquoted cell": marks_inside,
    "one mark inside an unquoted cell": one_mark,
    "backslashes": backslashes,
    "the header again": header_again,
    "a byte order mark inside": mark_inside,
    "a footnote": below(lambda _: "Source: our survey"),
    "a padded footnote": below(padded("Source: our survey")),
    "a padded note of many words": below(padded("These figures are provisional until spring")),
    "a padded note among rows": among(padded("* estimated")),
    "a total below": below(lambda table: "Total:," + ",".join(["17"] * (len(table[0]) - 1))),
    "a total padded": below(padded("TOTAL")),
    "a subtotal among rows": among(lambda table: "Subtotal," + ",".join(["17"] * (len(table[0]) - 1))),
    "a padded blank line": among(padded("")),
    "a padded blank line below": below(padded("")),
    "fixed width": fixed_width,
    "runs of blanks": lambda table, _: joined([[cell.replace(" ", "_") for cell in row] for row in table],
        "   "),
    "prose": lambda table, _: "".join(f"{row[0]} was seen in {row[-1]} by us\n" for row in table[1:]),
    "blanks behind delimiters": lambda table, _: joined(table, ", "),
    "a short line": among(lambda table: table[1][0]),
    "a long line": among(lambda table: ",".join([*table[1], "more"])),
    "an open mark": among(lambda table: '"' + ",".join(table[1])),
}  # fmt: skip


def outcome(path: Path, dialect: Dialect | None) -> Table | TableError:
    cells: dict[str, list[str]] = {}
    try:
        for block in readers.blocks(path, kind="csv", dialect=dialect):
            for name, texts in block.items():
                cells.setdefault(name, []).extend(texts.to_pylist())
    except TableError as error:
        return error
    return [list(cells), *map(list, zip(*cells.values(), strict=True))]


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_never_read_wrong_without_a_word(
    tmp_path: Path, kind: str, damage: str
) -> None:
    for seed in SEEDS:
        draw = random.Random(f"{kind} {damage} {seed}")
        table = TABLES[kind](draw, draw.choice([3, 5, 20, 200]))
        path = tmp_path / f"{seed}.csv"
        path.write_text(DAMAGES[damage](table, draw))
        found = outcome(path, readers.detect(path, kind="csv"))
        if isinstance(found, TableError):
            assert found.rule and found.repair
            continue
        assert damage in ("no header",), (
            damage,
            seed,
        )  # nothing else can be read rightly without a word
        assert found[1:] == table[1:]
        assert not {cell for row in table[1:] for cell in row} & set(found[0])


@pytest.mark.parametrize(
    "encoding", ["cp1250", "cp1252", "latin-1", "mac-roman", "iso8859-2", "cp852"]
)
@pytest.mark.parametrize("kind", ["people", "words"])
def test_a_legacy_encoding_is_asked_for(tmp_path: Path, kind: str, encoding: str) -> None:
    for seed in SEEDS:
        table = [
            *TABLES[kind](random.Random(seed), 20),
            ["Jürgen", "7", "Köln"][: len(TABLES[kind](random.Random(0), 1)[0])],
        ]
        path = tmp_path / f"{seed}.csv"
        path.write_bytes(text(table).encode(encoding, "replace"))
        guessed = readers.detect(path, kind="csv")
        found = outcome(path, guessed)
        assert isinstance(found, TableError)
        assert "encoding" in found.rule
        assert guessed is not None
        answered = outcome(path, replace(guessed, encoding=encoding, asked=(), header=True))
        assert answered == [
            [cell.encode(encoding, "replace").decode(encoding) for cell in row] for row in table
        ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("kind", TABLES)
def test_an_ordinary_table_is_read_without_a_question(
    tmp_path: Path, kind: str, delimiter: str
) -> None:
    for seed in SEEDS:
        table = TABLES[kind](random.Random(seed), 20)
        path = tmp_path / f"{seed}.csv"
        path.write_text(text(table, delimiter))
        assert outcome(path, readers.detect(path, kind="csv")) == table


def test_an_answered_question_reads_the_table_rightly(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    answers: dict[str, tuple[str, dict[str, object], Table]] = {
        "no header": ("2018-01-28,Ann,3\n2018-01-29,Bob,4\n", {"header": False},
            [["column_1", "column_2", "column_3"], ["2018-01-28", "Ann", "3"], ["2018-01-29", "Bob", "4"]]),
        "names": ("2018-01-28,Ann\n2018-01-29,Bob\n", {"header": False, "names": ("day", "who")},
            [["day", "who"], ["2018-01-28", "Ann"], ["2018-01-29", "Bob"]]),
        "doubled names": ("a,a,\n1,2,3\n", {"names": ("a", "b", "c"), "header": True},
            [["a", "b", "c"], ["1", "2", "3"]]),
        "blanks": ("a b\n1  2 \n 3 4\n", {"delimiter": " ", "header": True},
            [["a", "b"], ["1", "2"], ["3", "4"]]),
        "blanks behind": ('a, b\n1, "x, y"\n', {"spaced": True, "header": True}, [["a", "b"], ["1", "x, y"]]),
        "backslashes": ('a,b\n"say \\"hi\\"","\\\\"\n"x""y",2\n', {"escape": "\\", "header": True},
            [["a", "b"], ['say "hi"', "\\"], ['x"y', "2"]]),
        "two header lines": ("2019,,2020,\nmale,female,male,female\n1,2,3,4\n",
            {"header_lines": 2, "header": True},
            [["2019 male", "2019 female", "2020 male", "2020 female"], ["1", "2", "3", "4"]]),
        "totals left out": ("name,n\nx,1\nTotal,1\n,\nSource: us,\n", {"extra_rows": "drop", "header": True},
            [["name", "n"], ["x", "1"]]),
        "totals kept": ("name,n\nx,1\nTotal,1\n", {"extra_rows": "keep", "header": True},
            [["name", "n"], ["x", "1"], ["Total", "1"]]),
    }  # fmt: skip
    for name, (content, answer, expected) in answers.items():
        path.write_text(content)
        guessed = readers.detect(path, kind="csv")
        assert guessed is not None
        assert isinstance(outcome(path, guessed), TableError), name
        said = {"delimiter": guessed.delimiter, **answer}
        assert outcome(path, Dialect(**said)) == expected, name  # type: ignore[arg-type]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_number_that_may_be_a_thousand_is_asked_about(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "table.csv"
    for cells in (
        ["1.096", "2.5"],
        ["1.096", "12345.678"],
        ["1.096", "0.250"],
        ["1.234,5", "1.096"],
    ):
        path.write_text(
            f"place{delimiter}amount\n" + "".join(f"x{delimiter}{cell}\n" for cell in cells)
        )
        found = readers.detect(path, kind="csv")
        assert found is not None
        assert "decimal" not in found.asked, cells
    for cells in (["1.096", "2.345"], ["1,096", "2,345"], ["1.096", "7"], ["1.096", "-2.000"]):
        path.write_text(
            f"place{delimiter}amount\n" + "".join(f"x{delimiter}{cell}\n" for cell in cells)
        )
        found = readers.detect(path, kind="csv")
        assert found is not None
        assert "decimal" in found.asked, cells
        refused = outcome(path, found)
        assert isinstance(refused, TableError)
        assert "decimal" in refused.repair
        answered = form_options.apply(found, ["decimal=comma", "thousands=point"])
        assert answered.asked == ()
        assert isinstance(outcome(path, answered), list)


def test_one_contrast_is_never_enough_and_evidence_against_outweighs_all() -> None:
    rows = [[f"person {place}", str(place), "Rome"] for place in range(1_000)]
    assert weigh(["Somebody", "x", "Paris"], rows).answer == "open"
    assert weigh(["name", "age", "city"], rows).answer == "header"
    assert weigh(["name", "age", "Rome"], rows).answer == "open"
    assert weigh(["name", "17", "city"], rows).answer == "open"


def test_a_header_of_years_is_one_and_of_two_numbers_is_asked() -> None:
    years = guess("country,2018,2019,2020\nDE,5,6,8\nFR,1,9,4\nIT,3,3,1\n", encoding="utf-8")
    assert (years.header, years.asked) == (True, ())
    assert guess("country,2018\nDE,5\nFR,1\n", encoding="utf-8").asked == ("header",)

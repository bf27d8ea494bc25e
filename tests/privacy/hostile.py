"""Cells and columns that try to make one record change how another is read."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import strategies as st

from synth_engine.domain import (
    Attribute,
    Basket,
    Boolean,
    Categorical,
    Date,
    DateTime,
    Integer,
    Number,
    Range,
    Scale,
    ScaleBins,
    Text,
    Weak,
    WeakBasket,
)
from synth_engine.kinds.date_time import ISO_MOMENT
from synth_engine.kinds.time_of_day import Time
from synth_engine.values import Listed, from_json

DAY = datetime.date(1600, 1, 1), datetime.date(9999, 12, 31)
CLOCK = (
    datetime.datetime.fromisoformat("1600-01-01"),
    datetime.datetime.fromisoformat("9999-12-31T23:59:59"),
)
LETTERS = from_json(
    {
        "set": "strings",
        "alphabet": "abcdefghijklmnopqrstuvwxyz",
        "min_length": 1,
        "max_length": 12,
    }
)
LISTED = ["17", "07", "abba", "clerk", "cook", "x,y", "Zoë"]

MOMENT_FORMATS = (
    ISO_MOMENT,
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S.%f",
    "%d.%m.%Y %H:%M:%S.%f",
    "%d.%m.%Y %H:%M:%S,%f",
    "%f %S:%M:%H %d/%m/%Y",
    "%Y%m%d%H%M%S%f",
    "%d/%m/%Y %I:%M:%S %p",
    "%a %d %b %Y %H:%M:%S",
    "%d %B %Y %H:%M:%S",
    "%Y-%j %H:%M:%S",
    "%G-W%V-%u %H:%M:%S",
    "%Y-%m-%d %H:%M:%SZ",
)
DAY_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%Y%m%d")


def _moments() -> list[Attribute]:
    found: list[Attribute] = []
    for number, written in enumerate(MOMENT_FORMATS):
        for missing in (None, ("", "?")):
            clock = DateTime(
                name=f"moment_{number}_{missing is None}",
                low=CLOCK[0],
                high=CLOCK[1],
                step=28,
                unit="days",
                width=1_000,
                format=written,
                missing=missing,
                outside="clamp" if missing is None else "missing",
            )
            found.append(clock)
    return found


COLUMNS: tuple[Attribute, ...] = (
    Categorical(name="job", values=("clerk", "cook", "07"), other=True),
    Categorical(name="job_missing", values=("clerk", "cook"), missing=("", "?", "nan")),
    Categorical(name="job_clamped", values=("clerk", "cook"), outside="clamp"),
    Boolean(name="member", true="yes", false="no"),
    Boolean(name="member_missing", true="1", false="0", missing=("",)),
    Integer(name="age", low=-5, high=99),
    Integer(name="age_missing", low=0, high=10**15, missing=("?", "-1"), outside="missing"),
    Number(name="gain", low=-1.5, high=1e6),
    Number(name="gain_missing", low=0, high=1e15, missing=("nan", ""), outside="missing"),
    *(
        Date(
            name=f"born_{number}",
            low=DAY[0],
            high=DAY[1],
            step_days=3_650,
            format=written,
            missing=("", "0"),
        )
        for number, written in enumerate(DAY_FORMATS)
    ),
    Time(name="left", low=datetime.time(6), high=datetime.time(22), step=7, missing=("", "?")),
    Date(name="born_clamped", low=DAY[0], high=DAY[1], step_days=3_650),
    *_moments(),
    Text(name="note", min_length=1, max_length=40, signs=("lower", "upper", "digits")),
    Text(
        name="note_led",
        min_length=1,
        max_length=40,
        signs=("lower", "digits", "blanks"),
        leading=True,
    ),
    Text(
        name="note_missing",
        min_length=1,
        max_length=900,
        signs=("lower",),
        missing=("",),
        outside="missing",
    ),
    Range(name="wide", of="integer", low=0, high=150, missing=("",)),
    Range(name="wider", of="number", low=-1e6, high=1e9, bins=5),
    Range(name="days", of="date", low=DAY[0], high=DAY[1], missing=("",)),
)
"""Columns of one code a record, of every kind, with and without missing values, and of every usual format."""

WEAK: tuple[Weak, ...] = (
    Weak(name="word", values=LETTERS),
    Weak(name="word_missing", values=LETTERS, missing=("", "?"), outside="missing"),
    Weak(name="listed", values=Listed(LISTED), missing=("nan",)),
)
BASKETS: tuple[Basket, ...] = (
    Basket(name="bag", items=("clerk", "17", "x,y")),
    Basket(name="bag_semicolon", items=("clerk", "cook"), separator=";"),
)
WEAK_BASKETS: tuple[WeakBasket, ...] = (
    WeakBasket(name="open_bag", values=Listed(LISTED), keep=2),
    WeakBasket(name="open_semicolon", values=Listed(LISTED), keep=2, separator=";"),
)


def _scales() -> list[Scale]:
    """Columns on lattices of each scale, with and without bounds and missing values; what lies beyond is at
    the end, or missing."""
    facts: dict[str, dict[str, Any]] = {
        "whole": {"of": "integer"},
        "whole_bounded": {"of": "integer", "low": -5, "high": 99},
        "whole_steps": {"of": "integer", "low": -14, "high": 7 * 10**14, "step": 7},
        "whole_widest": {"of": "integer", "low": 1 - 2**63, "high": 2**63 - 1},
        "decimals": {"of": "number", "step": 0.01},
        "decimals_bounded": {"of": "number", "low": -1.5, "high": 1e6, "step": 0.5},
        "days": {"of": "date"},
        "days_bounded": {"of": "date", "low": DAY[0], "high": DAY[1], "step": 1},
        "days_short_year": {"of": "date", "format": "%m/%d/%y"},
        "moments": {"of": "datetime"},
        "moments_bounded": {
            "of": "datetime",
            "low": CLOCK[0],
            "high": CLOCK[1],
            "format": "%d.%m.%Y %H:%M:%S.%f",
        },
    }
    missing: tuple[dict[str, Any], ...] = (
        {},
        {"missing": ("", "?"), "outside": "clamp"},
        {"missing": ("",), "outside": "missing"},
    )
    return [
        Scale(name=name, **own, **missing[number % len(missing)])
        for number, (name, own) in enumerate(facts.items())
    ]


SCALES: tuple[Scale, ...] = tuple(_scales())


def _learned(attribute: Scale) -> ScaleBins:
    """The column in bins that end at round parts of its lattice."""
    count = attribute.lattice.count
    cuts = tuple(sorted({0, 1, 7, count // 2, count // 2 + 1, count - 1, count}))
    return attribute.resolved(cuts=cuts, pieces=cuts, weights=(1,) * (len(cuts) - 1))


SCALE_BINS: tuple[ScaleBins, ...] = tuple(
    _learned(attribute)
    for attribute in SCALES
    if attribute.name in ("whole_bounded", "whole_widest", "decimals", "days", "moments")
)

MILLION = 10**6
CELLS: tuple[str, ...] = (
    *(
        "",
        " ",
        "\t",
        "  17 ",
        "?",
        "-",
        ".",
        "clerk",
        " clerk",
        "cook",
        "clerk cook;clerk",
        "yes",
        "no",
        "(other)",
    ),
    *(
        "0",
        "7",
        "12",
        " 7",
        "07",
        "+7",
        "-0",
        "1_000",
        "1,000",
        "1.000,5",
        "１７",
        "٣",
        "²",
        "0x1F",
        "0X1p3",
        "1e5",
        "1e-400",
    ),
    *(
        "1e400",
        "-1e400",
        "nan",
        "NaN",
        "-nan",
        "inf",
        "Infinity",
        "null",
        "NULL",
        "NA",
        "N/A",
        "#N/A",
        "None",
        "NaT",
    ),
    *(
        "9" * 19,
        "9" * 400,
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "999999999999999999",
        "-999999999999999999",
        "1000000000000000000",
        "-0000000000000000007",
        "0" * 1_500 + "2",
        "1.",
        ".5",
        "1e",
        "true",
        "TRUE",
    ),
    *(
        "2024-02-29",
        "2024-02-30",
        "0000-00-00",
        "9999-12-31",
        "1677-09-21",
        "2262-04-12",
        "31.12.9999",
        "12/31/2024",
    ),
    *(
        "9999-12-31 23:59:59",
        "9999-12-31T23:59:59.999999",
        "9999-12-31 23:59:59.9999999",
        "2024-05-05T10:00:00.1234567",
    ),
    *(
        "31.12.9999 23:59:59.999999",
        "05.05.2024 10:00:00.1234567",
        "05.05.2024 10:00:00.123456789",
        "now",
        "today",
    ),
    *(
        "05.05.2024 10:00:00,1234567",
        "1234567 00:00:10 05/05/2024",
        "20240505100000123456789",
        "05/05/2024 10:00:00 PM",
    ),
    *("(5)", "5-", "5-\t", "- 5", "+ 5", "-\t5", "-\u00a05", "\u2212\u202f5"),
    *("05 März 2024", "05 Mrz 2024", "05 mars. 2024", "05 May. 2024", "05 Mai 2024 10:00:00"),
    *(
        "1600-01-01 00:00:00.0",
        "Sun 05 May 2024 10:00:00",
        "05 May 2024 10:00:00",
        "2024-126 10:00:00",
        "2024-W18-7 10:00:00",
    ),
    *(
        "2024-05-05 10:00:00+09:00",
        "2024-05-05T10:00:00Z",
        "2024-02-28T24:00",
        "2024-06-30 23:59:60",
    ),
    *(
        "\ufeff",
        "\ufeffclerk",
        "clerk\ufeff",
        "a\0b",
        "\0",
        "Zoë",
        "Zoe\u0308",
        "\u2028",
        "\u00a0clerk\u00a0",
        "\x0b7\x0c",
    ),
    *(
        '"',
        '""',
        'say "so"',
        '3"r',
        "'",
        "a,b",
        "a;b",
        "a\tb",
        "a|b",
        "a\nb",
        "a\r\nb",
        "a\rb",
        "\r",
        "\n",
        "\\",
        "=1+1",
    ),
    *("x" * MILLION, "7" * MILLION, " " * 3_000 + "7"),
)
"""Cells that readers are known to stumble over, or that a library gives a meaning of its own."""

TEXTS = st.one_of(
    st.sampled_from(CELLS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.integers().map(str),
    st.floats().map(str),
    st.datetimes().map(str),
    st.datetimes(min_value=datetime.datetime.fromisoformat("1600-01-01")).map(
        lambda found: found.strftime("%d.%m.%Y %H:%M:%S.%f")
    ),
    st.dates().map(str),
    st.times().map(str),
)

SHORT = TEXTS.map(lambda text: text[:200])
"""The same, for tests that write many files."""

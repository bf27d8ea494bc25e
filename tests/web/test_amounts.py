"""How numbers read on pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from synthweb.pages.templatetags import amounts


@pytest.mark.parametrize(
    ("nano", "words"),
    [
        (0, "0"),
        (None, "0"),
        (1_000_000_000, "1"),
        (500_000_000, "0.5"),
        (2_350_000_000, "2.35"),
        (100_000_000, "0.1"),
        (12_345_000_000, "12.3"),
        (123_456_000_000, "123"),
        (1, "1e-9"),
        (123_400, "0.000123"),
    ],
)
def test_epsilon_has_three_significant_digits(nano: int | None, words: str) -> None:
    assert amounts.epsilon(nano) == words


@pytest.mark.parametrize(
    ("atto", "words"),
    [(10**9, "1e-9"), (10**12, "1e-6"), (0, "0"), (2_500_000_000, "2.5e-9"), (1, "1e-18")],
)
def test_delta_is_a_power_of_ten(atto: int, words: str) -> None:
    assert amounts.delta(atto) == words


def test_counts_have_thin_separators() -> None:
    assert amounts.count(48842) == "48\u202f842"
    assert amounts.count(999) == "999"
    assert amounts.count(None) == "–"


@pytest.mark.parametrize(
    ("part", "whole", "width"),
    [(1, 4, "25%"), (5, 4, "100%"), (0, 4, "0%"), (1, 0, "0%"), (None, None, "0%")],
)
def test_a_share_is_a_width_between_nothing_and_everything(
    part: int | None, whole: int | None, width: str
) -> None:
    assert amounts.share(part, whole) == width


def test_what_stays_of_a_budget_is_never_below_zero() -> None:
    assert amounts.left_after(4, 3) == 1
    assert amounts.left_after(4, 5) == 0
    assert amounts.left_after(4, "") == 4


@pytest.mark.parametrize(
    ("size", "words"),
    [(12, "12 B"), (632_941, "633 kB"), (2_000_000_000, "2 GB"), (None, "0 B")],
)
def test_files_have_decimal_sizes(size: int | None, words: str) -> None:
    assert amounts.file_size(size) == words


@pytest.mark.parametrize(
    ("value", "words"), [(3.2, "3 s"), (83, "1 min 23 s"), (3_700, "1 h 1 min")]
)
def test_durations_read_as_people_say_them(value: float, words: str) -> None:
    assert amounts.seconds(value) == words


@pytest.mark.parametrize(
    ("fraction", "words"),
    [
        (0, "0%"),
        (None, "0%"),
        (1, "100%"),
        (0.9999, "99.9%"),
        (0.08, "8.0%"),
        (0.0013, "0.13%"),
        (1e-7, "< 0.001%"),
    ],
)
def test_a_share_is_never_rounded_up_to_all_or_down_to_nothing(
    fraction: float | None, words: str
) -> None:
    assert amounts.percent(fraction) == words


def test_a_label_within_a_sentence_keeps_the_capitals_of_nouns() -> None:
    assert amounts.within_sentence("Aus Ihren Daten gelesen") == "aus Ihren Daten gelesen"
    assert amounts.within_sentence("") == ""


def test_no_template_makes_all_letters_of_a_label_small() -> None:
    """But for names of classes, which are English."""
    small = {
        (path.name, name)
        for path in (Path(__file__).parents[2] / "templates").rglob("*.html")
        for name in re.findall(r"([\w.]+)\|lower\b", path.read_text())
    }
    assert small == {("_operation.html", "operation.verb"), ("account.html", "row.entry.kind")}

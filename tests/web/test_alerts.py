"""deploy/alerts.yml: every rule asks for numbers that /metrics has, under labels and values that it has, and
each is in the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.cache import caches
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from synthweb.lib import disks, occurrences

ROOT = Path(__file__).parents[2]
RULES: list[dict[str, Any]] = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text())[
    "groups"
][0]["rules"]
TOKEN = "t" * 32
FUNCTIONS = {
    "absent",
    "absent_over_time",
    "rate",
    "increase",
    "delta",
    "sum",
    "histogram_quantile",
}
WORDS = FUNCTIONS | {"or", "and", "on", "by", "le", "task"}
DURATION = re.compile(r"[1-9][0-9]*[smhd]")


@pytest.fixture
def series(
    settings: Settings, db: None, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, dict[str, str]]]:
    """Everything that /metrics says of an installation in which all was told once: name and labels."""
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr("synthweb.lib.occurrences.caches", {"default": caches["process"]})
    caches["process"].clear()
    for what in (occurrences.RECONCILED, occurrences.VERIFIED):
        occurrences.note(what)
    occurrences.note(occurrences.BACKED_UP, free=1)
    disks.RoomOfWorker()()
    text = (
        Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    )
    caches["process"].clear()
    return [
        (sample.name, sample.labels)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def _selectors(expression: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Each number that an expression asks for, with what it asks of labels: name, operator, value."""
    return [
        (name, re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', labels))
        for name, labels in re.findall(r"\b(synthweb_\w+)(?:\{([^}]*)\})?", expression)
    ]


def _fits(labels: dict[str, str], name: str, sign: str, wanted: str) -> bool:
    has = labels.get(name, "")
    is_alike = has == wanted if sign in ("=", "!=") else re.fullmatch(wanted, has) is not None
    return is_alike != sign.startswith("!")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_asks_for_numbers_that_there_are(
    rule: dict[str, Any], series: list[tuple[str, dict[str, str]]]
) -> None:
    asked = _selectors(rule["expr"])
    assert asked
    for name, matchers in asked:
        known = [labels for each, labels in series if each == name]
        assert known, name
        assert all(label in labels for label, _sign, _value in matchers for labels in known)
        assert any(all(_fits(labels, *one) for one in matchers) for labels in known), (
            name,
            matchers,
        )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_has_the_form_of_one(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Synthweb[A-Za-z]+", rule["alert"])
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert set(rule["annotations"]) == {"summary"}
    assert DURATION.fullmatch(rule.get("for", "5m"))
    bare = re.sub(r"\b(synthweb_\w+)(\{[^}]*\})?", "", rule["expr"])
    assert all(DURATION.fullmatch(span) for span in re.findall(r"\[([^]]*)\]", bare))
    rest = re.sub(r"\[[^]]*\]", "", bare)
    assert set(re.findall(r"\b[a-z_]+\b", rest)) <= WORDS
    assert rest.count("(") == rest.count(")")
    assert re.search(r"[<>]|==|absent", rest)
    for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
        assert label in ("task", "queue", "folder")


def test_every_rule_has_a_test_and_a_line_of_the_documentation() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    tested = yaml.safe_load((ROOT / "deploy" / "alerts.test.yml").read_text())["tests"]
    well, *ill = tested
    assert {one["alertname"] for one in well["alert_rule_test"]} == set(names)
    assert all(one["exp_alerts"] == [] for one in well["alert_rule_test"])
    text = str(ill)
    assert [name for name in names if name not in text] == []
    page = (ROOT / "docs" / "deployment.md").read_text()
    assert re.findall(r"^\| `(Synthweb\w+)` \|", page, flags=re.MULTILINE) == names


def test_every_number_of_ours_is_in_the_documentation(
    series: list[tuple[str, dict[str, str]]],
) -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    ours = {
        re.sub(r"_(count|sum|bucket|total|created)$", "", name)
        for name, _ in series
        if name.startswith("synthweb_")
    }
    assert {name for name in ours if name not in page} == set()

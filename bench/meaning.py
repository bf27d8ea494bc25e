"""What the draft of a description says of foreign tables whose meaning is known, beside what is right.

    python bench/meaning.py FOLDER [--only FILE …]

FOLDER holds data/meaning/, tables of one situation each. Each is drafted as `python -m synth_engine domain`
does it, and judged by `meaning_cases.json`: which readings of its column are right without a question
(`right`), which a question may offer as an answer (`asked`; with cells that nothing reads, `loses`), what a
remark has to name (`remark`), and what a refusal has to name (`refused`). Prints a line for each table that
is not right, then how many tables have each verdict. Exit code 1 if a draft is silently wrong or a refusal
names the wrong repair.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import cli
from synth_engine.commands import descriptions
from synth_engine.errors import SynthError

CASES = Path(__file__).with_name("meaning_cases.json")
VERDICTS = (
    "right",
    "asked with a right answer",
    "asked, though one reading is right",
    "asked, all answers wrong",
    "silently wrong",
    "refused with wrong advice",
)
FAILURES = ("silently wrong", "refused with wrong advice")
READINGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "codes": [{"kind": "categorical"}, {"kind": "weak"}, {"kind": "boolean"}],
    "left out": [{"kind": "identifier"}],
    "numbers": [{"kind": "scale", "of": "integer"}, {"kind": "scale", "of": "number"}],
    "days": [{"kind": "scale", "of": "date"}],
    "moments": [{"kind": "scale", "of": "datetime"}],
    "times": [{"kind": "time"}],
    "baskets": [{"kind": "weak-basket"}, {"kind": "basket"}],
}
"""Names of readings in the cases, as facts of a description."""
Reading = str | Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of verdicts; returns the exit code."""
    options = _options(arguments)
    cases: Mapping[str, Mapping[str, Any]] = json.loads(CASES.read_text())
    counted: Counter[str] = Counter()
    for name, case in cases.items():
        if options.only and name not in options.only:
            continue
        verdict, said = judged(options.folder / "data" / "meaning" / name, case)
        counted[verdict] += 1
        if verdict != "right" or options.only:
            print(f"{name:11} {verdict:34} {said}")
    print(f"\n{sum(counted.values())} tables")
    for verdict in VERDICTS:
        print(f"{verdict:36} {counted[verdict]:4}")
    return int(any(counted[verdict] for verdict in FAILURES))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="What drafts say of tables whose meaning is known."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="FILE")
    return parser.parse_args(arguments)


def judged(path: Path, case: Mapping[str, Any]) -> tuple[str, str]:
    """The verdict on the draft of one table, and what was said about it. case: as in `meaning_cases.json`."""
    read = [word for fact in case.get("read", ()) for word in ("--read", fact)]
    try:
        drafted = _drafted(path, read)
    except SynthError as error:
        said = " ".join(str(error).split())
        patterns = case.get("refused", ())
        helps = any(re.search(pattern, said) for pattern in patterns)
        return ("right" if helps else "refused with wrong advice"), said
    if "column" not in case:
        return "silently wrong", "not refused"
    column = case["column"]
    attribute = _attribute(drafted, column)
    hint = drafted["hints"][column]
    of_file = [each for each in drafted["questions"] if column in each["columns"]]
    said = f"{column}: {attribute['why']}"
    right = case.get("right", ())
    if not hint["question"] and not of_file:
        if not fits(attribute, right):
            return "silently wrong", said
        remarks = " ".join([attribute["why"], *hint["remarks"], *drafted["notes"]])
        named = re.search(case.get("remark", ""), remarks) is not None
        return ("right" if named else "silently wrong"), said
    readings = [choice["facts"] for choice in hint["choices"] if "facts" in choice]
    for question in of_file:
        for choice in question["choices"]:
            flags = [f"{key}={_flag(key, value)}" for key, value in choice["form"].items()]
            again = _drafted(path, [*read, *(w for flag in flags for w in ("--read", flag))])
            readings.append(_attribute(again, column))
    # An answer that loses cells is right only where nothing reads them.
    if not case.get("loses"):
        readings = [facts for facts in readings if "" not in (facts.get("missing") or ())]
    said = f"{column}: {hint['question']} {[choice['label'] for choice in hint['choices']]}"
    if any(fits(facts, case.get("asked", ())) for facts in readings):
        return "asked with a right answer", said
    if any(fits(facts, right) for facts in readings):
        return "asked, though one reading is right", said
    return "asked, all answers wrong", said


def _flag(key: str, value: Any) -> str:
    """A fact of the form as the command line has it."""
    from synth_engine.formats import form_options

    flags = form_options.flags({key: value}).split()
    return flags[-1].partition("=")[2] if flags else ""


def _drafted(path: Path, read: Sequence[str]) -> Mapping[str, Any]:
    """The reading of a table by the command `domain`. Errors: SynthError where it refuses the table."""
    options = cli.parsed(["domain", str(path), "--out", "draft.json", *read])
    return descriptions.drafted(options)


def _attribute(drafted: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(
        each for each in drafted["suggestions"] if each["name"] == column
    )
    return found


def fits(facts: Mapping[str, Any], readings: Sequence[Reading]) -> bool:
    """Whether a description of a column is one of these readings, and loses no cell besides."""
    return any(
        _is(facts, facts_of)
        for reading in readings
        for facts_of in (READINGS[reading] if isinstance(reading, str) else [reading])
    )


def _is(facts: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for key, value in wanted.items():
        if key == "missing":
            held = set(facts.get("missing") or ()) >= set(value)
        elif key == "born":
            # Two digits of a year are those of somebody who is born by now.
            last = f"{datetime.datetime.now(datetime.UTC).year}-12-31"
            held = facts.get("low", "9999") <= "1942-01-13" < facts.get("high", "9999") <= last
        elif key == "low":
            held = str(facts.get("low", "")).startswith(value)
        else:
            held = facts.get(key) == value
        if not held:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())

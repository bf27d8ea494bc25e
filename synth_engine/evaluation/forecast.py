"""What a release will tell of a table, in words, before anything is spent: one forecast for every page and
program.

It follows from the description, the method, ε, δ and about how many records there are; nothing is read. Of
what it states nine of ten hold: a column is so, or better. How it is reckoned, and how well it holds:
docs/forecast.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeVar, get_args

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import InputError, PrivacyError
from synth_engine.evaluation import column_forecast
from synth_engine.evaluation.quality_words import ColumnWord, Relations
from synth_engine.evaluation.thousands import grouped
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.mechanisms.trees.columns import placed
from synth_engine.plans import domain_learning, two_stage
from synth_engine.plans.parameters import RECORDS
from synth_engine.plans.plan import Rule
from synth_engine.privacy.loss import plain
from synth_engine.privacy.receipt import Receipt
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject

Level = Literal["enough", "thin", "too-little"]
LEVELS = get_args(Level)
STRENGTHS = (0.8, 0.4, 0.2)
"""Strengths of relations, as correlations, that a forecast is about."""
AIM = 0.4
"""The strength from which on relations are kept where records are enough."""

_CELLS_OF_A_RELATION = 4
"""Values of each column by which a correlation is told from a table of counts, about."""
_LARGEST_NOISE: Mapping[float, tuple[float, float]] = {
    0.8: (0.02, 0.2),
    0.4: (0.02, 0.025),
    0.2: (0.003, 0.016),
}
"""The largest noise of a correlation with which relations of a strength are kept, and weak
(bench/forecast.py). The strongest are measured first, so that weaker ones need far less noise."""
_LARGER = tuple(Fraction(step, 4) for step in (5, 6, 8, 10, 12, 16, 20, 24, 32, 40)) + tuple(
    Fraction(step) for step in (15, 20, 30, 50, 80, 100, 200, 500, 1_000)
)
"""How many times as many records, or as large an ε, a repair tries."""
_DIGITS = 2
"""Of a number of records that is advised."""
_MAX_EPSILON = Fraction(10)
"""The largest ε that is advised."""
Step = TypeVar("Step")


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One change that would do. rows, epsilon: what it takes; columns: those to leave out. The others are
    None, or empty."""

    rows: int | None = None
    epsilon: Fraction | None = None
    columns: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """The change in English."""
        if self.rows is not None:
            return f"about {grouped(self.rows)} records"
        if self.epsilon is not None:
            return f"an epsilon of {plain(self.epsilon)}"
        return f"{len(self.columns)} columns fewer: without {', '.join(self.columns)}"

    def to_json(self) -> JsonObject:
        """The change as plain values: `records`, `epsilon` or `without`."""
        if self.rows is not None:
            return {"records": self.rows}
        if self.epsilon is not None:
            return {"epsilon": plain(self.epsilon)}
        return {"without": list(self.columns)}


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a release will tell.

    level: of all of it. rows, epsilon: what it is made for. columns: a word for each column, in the order of
    the description. relations: of relations of each of `STRENGTHS`, whichever they are. empty: about how many
    columns will not be found at all, and be without a value. opens_at: about how many records it takes for a
    node of a tree to be divided; None of a method without a tree. purpose: the columns that the release is
    for, and that it is judged by; empty: all. aim: what `repairs` reach; `thin` where nothing tried reaches
    `enough`. repairs: each does by itself."""

    level: Level
    rows: int
    epsilon: Fraction
    columns: Mapping[str, ColumnWord]
    relations: Mapping[float, Relations]
    empty: int = 0
    opens_at: int | None = None
    purpose: tuple[str, ...] = ()
    aim: Level = "enough"
    repairs: tuple[Repair, ...] = ()

    def named(self, word: ColumnWord) -> tuple[str, ...]:
        """The columns of that word."""
        return tuple(name for name, each in self.columns.items() if each == word)

    def to_json(self) -> JsonObject:
        """The forecast as plain values."""
        return {
            "level": self.level,
            "records": self.rows,
            "epsilon": plain(self.epsilon),
            "columns": dict(self.columns),
            "relations": [
                {"strength": strength, "word": word}
                for strength, word in self.relations.items()
            ],
            "empty": self.empty,
            "purpose": list(self.purpose),
            "reaches": self.aim,
            "repairs": [each.to_json() for each in self.repairs],
        }


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """All that a forecast follows from."""

    domain: Domain
    spec: Spec
    rows: int
    rule: Rule
    opens_at: int | None

    @property
    def purpose(self) -> tuple[str, ...]:
        """The columns that the request names as what the release is for."""
        given = self.spec.parameters
        tables = given.get("marginals")
        named = [given.get("target")]
        for table in (
            tables if isinstance(tables, Sequence) and not isinstance(tables, str) else ()
        ):
            named += table if isinstance(table, Sequence) and not isinstance(table, str) else ()
        names = {attribute.name for attribute in self.domain.attributes}
        return tuple(
            dict.fromkeys(one for one in named if isinstance(one, str) and one in names)
        )


def forecast(
    domain: Domain,
    spec: Spec,
    *,
    rows: int,
    rule: Rule = "basic",
    opens_at: int | None = None,
    advises: bool = True,
) -> Forecast:
    """What a release of `spec` will tell, with the changes that would do where it is little. rows: about how
    many records there are, public, paid for or stated. rule: how the account that pays adds up losses.
    opens_at: `min_records_to_split` of the plan. advises: whether changes are looked for.
    Errors: as of `mechanisms.plan`."""
    facts = _Facts(
        domain=domain,
        spec=mechanisms.without_prior(spec),
        rows=rows,
        rule=rule,
        opens_at=opens_at,
    )
    expected = _judged(facts)
    if expected.level == "enough" or not advises:
        return expected
    aims: tuple[Level, ...] = ("enough", "thin")
    for aim in aims if expected.level == "too-little" else aims[:1]:
        repairs = tuple(_repairs(facts, expected, aim=aim))
        if repairs:
            return replace(expected, aim=aim, repairs=repairs)
    return expected


def weakest_relations(
    domain: Domain, receipt: Receipt, *, rows: int, rule: Rule = "basic"
) -> Relations:
    """What a release like that of this receipt was to tell of relations of the least of `STRENGTHS`; unknown
    where its method has no forecast for the description. domain: the description that it was asked under.
    rows: of its table. rule: as of `forecast`."""
    spec = Spec(
        mechanism=receipt["mechanism"]["id"],
        parameters=receipt["mechanism"]["parameters"],
        epsilon=Fraction(receipt["target"]["epsilon"]),
        delta=Fraction(receipt["target"]["delta"]),
    )
    try:
        expected = forecast(domain, spec, rows=max(1, rows), rule=rule, advises=False)
    except (InputError, PrivacyError):
        return "unknown"
    return expected.relations[min(STRENGTHS)]


def _judged(facts: _Facts) -> Forecast:
    """The forecast without repairs."""
    config = mechanisms.traits(facts.spec.mechanism).from_parameters(facts.spec.parameters)
    stage = two_stage.forecast_stage(config, facts.domain, facts.spec)
    error = config.forecast(stage.domain, stage.spec, rows=facts.rows, rule=facts.rule)
    # A method that learns by itself forecasts a domain as it may become.
    known = stage.domain
    known = domain_learning.expected_domain(known) if known.undeclared else known
    asked = {question.attribute.name: question for question in stage.questions}
    columns = {
        attribute.name: column_forecast.word_of(
            attribute, error, asked.get(attribute.name), rows=facts.rows
        )
        for attribute in known.attributes
        if attribute.parts
    }
    if facts.opens_at is not None:
        columns |= _of_tree(facts, columns)
    purpose = facts.purpose
    empty = column_forecast.expected_empty(stage.questions, rows=facts.rows)
    relations = _relations(error, columns)
    judged = purpose or tuple(columns)
    return Forecast(
        level=_level([columns[name] for name in judged if name in columns], relations, empty),
        rows=facts.rows,
        epsilon=facts.spec.epsilon,
        columns=columns,
        relations=relations,
        empty=empty,
        opens_at=facts.opens_at,
        purpose=purpose,
    )


def _of_tree(facts: _Facts, columns: Mapping[str, ColumnWord]) -> dict[str, ColumnWord]:
    """The words of columns that say where a record lies: cells of a tree are divided as far as records allow,
    and no code has to stand clear of its noise by itself; where none is divided nothing is found."""
    is_open = facts.rows >= (facts.opens_at or 0)
    words: dict[str, ColumnWord] = {}
    for name in {*placed(facts.domain), *(each.name for each in facts.domain.undeclared)}:
        word = columns.get(name)
        if word is not None:
            words[name] = (
                ("coarse" if word == "not found" else word) if is_open else "not found"
            )
    return words


def _level(
    words: Sequence[ColumnWord], relations: Mapping[float, Relations], empty: int
) -> Level:
    """Little where half of the columns or more are not found; enough where all are found or coarse, half of
    them found, and relations of the strength `AIM` kept."""
    lost = max(words.count("not found"), empty)
    if 2 * lost >= len(words):
        return "too-little"
    # A method that counts no two columns together has no relations by any number of records.
    wanted = relations[AIM] in ("kept", "unknown") or set(relations.values()) == {"lost"}
    is_enough = not lost and 2 * words.count("found") >= len(words) and wanted
    return "enough" if is_enough else "thin"


def _relations(
    error: ErrorForecast, columns: Mapping[str, ColumnWord]
) -> dict[float, Relations]:
    """By the noise of a correlation in a table of two columns. Where half of the columns are not found, there
    is nothing between which relations could be."""
    if len(columns) < 2 or error.pair_noise is None:
        return dict.fromkeys(STRENGTHS, "unknown")
    noise = _CELLS_OF_A_RELATION * error.pair_noise * math.sqrt(math.pi / 2) / error.rows
    words: dict[float, Relations] = {}
    for strength in STRENGTHS:
        for_kept, for_weak = _LARGEST_NOISE[strength]
        words[strength] = (
            "kept" if noise <= for_kept else "weak" if noise <= for_weak else "lost"
        )
    if 2 * list(columns.values()).count("not found") >= len(columns):
        return dict.fromkeys(STRENGTHS, "lost")
    return words


def _repairs(facts: _Facts, expected: Forecast, *, aim: Level) -> Iterator[Repair]:
    """What would reach `aim`, each change tried by the same forecast."""
    for rows in _least(
        facts, [_rounded(facts.rows * step) for step in _LARGER], _with_rows, aim
    ):
        yield Repair(rows=rows)
    losses = [facts.spec.epsilon * step for step in _LARGER]
    for epsilon in _least(
        facts, [one for one in losses if one <= _MAX_EPSILON], _with_epsilon, aim
    ):
        yield Repair(epsilon=epsilon)
    worst = [
        name
        for word in ("not found", "coarse", "found")
        for name in expected.named(word)
        if name not in expected.purpose
    ]
    # Some columns have to be left, or there is nothing to release.
    dropped = [
        tuple(worst[:number]) for number in range(1, max(1, len(expected.columns) // 2 + 1))
    ]
    for columns in _least(facts, dropped, _without, aim):
        yield Repair(columns=columns)


def _with_rows(facts: _Facts, rows: int) -> _Facts:
    spec, changed = facts.spec, replace(facts, rows=rows)
    # Some methods plan for a number of records.
    if spec.parameters.get(RECORDS) != facts.rows:
        return changed
    return replace(changed, spec=replace(spec, parameters={**spec.parameters, RECORDS: rows}))


def _with_epsilon(facts: _Facts, epsilon: Fraction) -> _Facts:
    opens_at = facts.opens_at
    if opens_at is not None:  # noise falls as ε grows
        opens_at = math.ceil(opens_at * facts.spec.epsilon / epsilon)
    return replace(facts, spec=replace(facts.spec, epsilon=epsilon), opens_at=opens_at)


def _without(facts: _Facts, columns: tuple[str, ...]) -> _Facts:
    """Errors: InputError where another part of the description needs one of them."""
    left = tuple(one for one in facts.domain.attributes if one.name not in columns)
    return replace(facts, domain=replace(facts.domain, attributes=left, constraints=()))


def _least(
    facts: _Facts, steps: Sequence[Step], changed: Callable[[_Facts, Step], _Facts], aim: Level
) -> Iterator[Step]:
    """The first of the steps that reaches the aim; nothing where none does. A later step is never worse, so
    that halving the list finds it."""
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        if _reaches(facts, steps[middle], changed, aim):
            high = middle
        else:
            low = middle + 1
    if low < len(steps) and _reaches(facts, steps[low], changed, aim):
        yield steps[low]


def _reaches(
    facts: _Facts, step: Step, changed: Callable[[_Facts, Step], _Facts], aim: Level
) -> bool:
    try:
        level = _judged(changed(facts, step)).level
    except (InputError, PrivacyError):
        return False
    return level in ("enough", aim)


def _rounded(rows: Fraction) -> int:
    """Rounded up to few digits: nobody knows a number of records to come more exactly."""
    unit: int = 10 ** max(0, len(str(math.ceil(rows))) - _DIGITS)
    return math.ceil(rows / unit) * unit

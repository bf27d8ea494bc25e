"""From a table to answers, a release or a report: the only importer of the room.

Whatever goes wrong inside the room leaves it as one of the engine's own errors without its traceback, because the
frames of a traceback hold rows.
"""

from __future__ import annotations

import dataclasses
import functools
import secrets
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from synth_engine import codec, mechanisms, readers, verifier
from synth_engine.codec import places
from synth_engine.codec.commutes import commutes
from synth_engine.confidential import counts
from synth_engine.confidential import ingest as reading
from synth_engine.confidential import rows as confidential_rows
from synth_engine.constraints import counting
from synth_engine.domain import Domain, Weak, WeakBasket
from synth_engine.errors import Cancelled, PrivacyError, SynthError
from synth_engine.evaluation import report as comparison
from synth_engine.evaluation import string_recall, tallies, trees
from synth_engine.formats import Dialect, Kind
from synth_engine.hierarchy import StringHierarchy
from synth_engine.measurement import Answers
from synth_engine.models import group_sizes
from synth_engine.models.model import Model
from synth_engine.models.trees import factory
from synth_engine.plans.plan import Plan
from synth_engine.privacy import certificate
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.spec import Spec
from synth_engine.values.strings import Strings

Progress = Callable[[str, float], None]
_Read = Callable[[Path | str, Domain], confidential_rows.Rows]
Given = ParamSpec("Given")
Result = TypeVar("Result")

REPORT_ROWS = comparison.ROWS_SHOWN


def _nobody_watches(_stage: str, _fraction: float) -> None:
    pass


def _nobody_cancels() -> bool:
    return False


class _FromCaller(BaseException):
    """Carries an error of the caller's own callback through the room untouched."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _guarded(callback: Callable[Given, Result]) -> Callable[Given, Result]:
    def guarded(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # not ours to judge; it is raised again outside
            raise _FromCaller(error) from None

    return guarded


def _sealed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Errors leave without traceback, cause or context; foreign ones by the name of their type and place alone. What a
    guarded callback raises is the caller's own, has no frame of the room, and passes as it is."""

    @functools.wraps(function)
    def sealed(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except _FromCaller as carried:
            clean: Exception = carried.error
        except SynthError as error:
            clean = _stripped(error)
        except Exception as error:  # noqa: BLE001  # named below, without what it says
            place = traceback.extract_tb(error.__traceback__)[-1]
            clean = SynthError(
                f"the room failed: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            )
        raise clean

    return sealed


def _stripped(error: SynthError) -> SynthError:
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A model fitted to noisy answers. `seed` is the one given, or a fresh secret."""

    plan: Plan
    answers: Answers
    model: Model
    rows: int
    seed: str


@_sealed
def detect(path: Path | str, *, kind: Kind | None = None) -> Dialect | None:
    """How a CSV is written, guessed from its content, for its steward to look at; None for other kinds of files."""
    return readers.detect(path, kind=kind)


@_sealed
def encodings(path: Path | str, *, kind: Kind | None = None) -> dict[str, list[str]]:
    """The encodings that the bytes of a delimited text allow, the likeliest first, with words of the table in each: for
    its steward alone."""
    return readers.encodings(path, kind=kind)


@_sealed
def evidence(path: Path | str, *, kind: Kind | None = None, dialect: Dialect) -> dict[str, Any]:
    """What a steward, and nobody else, looks at to answer what is open about the form: `lines`, the first ones of the
    table as cells, and `words`, as `encodings` gives them."""
    words = readers.encodings(path, kind=kind) if "encoding" in dialect.asked else {}
    return {"lines": readers.first_lines(path, kind=kind, dialect=dialect), "words": words}


@_sealed
def ingest(
    path: Path | str,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
) -> dict[str, Any]:
    """What the steward, and nobody else, sees of a table: columns, suggestions, preview, rows, line_count, dialect,
    notes. Raises TableError for a table that is not well formed."""
    return reading.read(path, kind=kind, dialect=dialect, progress=_guarded(progress)).to_json()


def warm_up() -> None:
    """Load the exact sampler, which takes its time: a machine on which it does not load has to fail here, before
    anything is charged."""
    from synth_engine.confidential import session  # noqa: F401  # for the loading


def confirm(plan: Plan) -> None:
    """What a static plan asks for is proved to meet its target before anything is charged or drawn: by the verifier,
    from the receipt that there will be, and for a composition of privacy-loss distributions by somebody else's
    accountant as well. Raises VerificationError, PrivacyError."""
    if not plan.calls:
        return  # an adaptive one has its cap, a formula, and nothing else to look at yet
    verifier.verify(plan.receipt(Answers(measurements=(), calls=plan.calls)))
    if plan.certificate == "pld":
        certificate.confirm(
            plan.events,
            epsilon=plan.epsilon,
            delta=plan.delta,
            unit=plan.domain.unit,
            relation=plan.domain.relation,
        )


@_sealed
def require_columns(
    path: Path | str,
    *,
    domain: Domain,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column that the domain needs. It reads the header and no row, so that it
    may be asked before anything is charged."""
    confidential_rows.require_columns(path, domain, kind=kind, dialect=dialect)


@_sealed
def measure(
    path: Path | str,
    *,
    plan: Plan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
    cancelled: Callable[[], bool] = _nobody_cancels,
) -> Answers:
    """The noisy answers that a plan asks for. The caller has charged its loss already: whatever happens in here, it
    stays charged. Raises TableError, BudgetExceeded, Cancelled."""
    from synth_engine.confidential import session  # its exact sampler takes its time to load

    progress, cancelled = _guarded(progress), _guarded(cancelled)
    _stop_if(cancelled)
    rows = confidential_rows.open_table(
        path, plan.domain, kind=kind, dialect=dialect, progress=progress
    )
    _stop_if(cancelled)
    progress("measure", 0.0)
    room = session.open_session(rows, domain=plan.domain, cap=plan.loss, planned=plan.calls)
    answers = plan.run(room)
    if answers.calls != room.calls or (plan.calls and answers.calls != plan.calls):
        raise PrivacyError("the calls made are not the calls planned")
    progress("measure", 1.0)
    return answers


def synthesize(
    path: Path | str,
    *,
    domain: Domain,
    spec: Spec,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
    cancelled: Callable[[], bool] = _nobody_cancels,
) -> Release:
    """Plan, measure, fit. Nothing after `measure` looks at a row. Raises DomainError, SpecError, TableError."""
    plan = mechanisms.plan(domain, spec)
    confirm(plan)
    answers = measure(
        path, plan=plan, kind=kind, dialect=dialect, progress=progress, cancelled=cancelled
    )
    _stop_if(cancelled)
    progress("fit", 0.0)
    model = plan.fit(answers)
    progress("fit", 1.0)
    seed = secrets.token_hex(32) if spec.seed is None else spec.seed
    return Release(
        plan=plan, answers=answers, model=model, rows=spec.rows or model.rows, seed=seed
    )


@_sealed
def report(
    path: Path | str,
    *,
    model: Model,
    rows: int,
    seed: str,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    described: Domain | None = None,
    progress: Progress = _nobody_watches,
) -> dict[str, Any]:
    """The steward's comparison of a sample with the real table, under what is known of it, or was learned: *not
    differentially private*. described: as it was before anything was learned, which says how texts are read."""
    domain = model.domain
    drawn = model.sample(rows, seed=seed)
    cliques = comparison.cliques(domain)
    apart = places.histograms(drawn, domain=domain)
    flows = {
        each.pair: tallies.ContingencyTable(each.shape, *each.tally(drawn.__getitem__))
        for each in commutes(domain)
    }
    broken = counting.count_violations(drawn.__getitem__, domain=domain)
    ends, most = model.group_ends(rows, seed=seed), domain.unit.max_records
    sizes = None if ends is None else group_sizes.counted(ends, most=most)
    synthetic = tallies.from_codes(
        drawn,
        sizes=domain.sizes,
        cliques=cliques,
        distances=apart,
        occupied=[*trees.of_codes(drawn, domain), *_synthetic_texts(model, rows, seed)],
        commutes=flows,
        breaking=broken,
        group_sizes=sizes,
    )
    unenforced = model.sample(rows, seed=seed, enforce=False) if domain.constraints else drawn
    read = functools.partial(confidential_rows.open_table, kind=kind, dialect=dialect)
    texts = _real_texts(
        path, model=model, read=read, values=_declared_texts(described, model=model)
    )
    real = _real_tallies(
        path, domain=domain, kind=kind, dialect=dialect, progress=progress, texts=texts
    )
    first = codec.as_text(
        domain, next(mechanisms.draw_blocks(model, rows, seed)).head(REPORT_ROWS)
    )
    shown = [name for name in domain.columns if name in first]
    return comparison.compare(
        real,
        synthetic,
        domain,
        fits=confidential_rows.count_fits(path, domain, kind=kind, dialect=dialect),
        rows_real=_first_rows(path, domain=domain, kind=kind, dialect=dialect),
        rows_synthetic=_records(shown, first[shown].to_numpy().tolist()),
        unenforced=counting.count_violations(unenforced.__getitem__, domain=domain),
    )


@_sealed
def compare(
    path: Path | str,
    synthetic_path: Path | str,
    *,
    domain: Domain,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
) -> dict[str, Any]:
    """The same of two files, the second of which claims to be synthetic. `dialect` is the form of the real one."""
    for attribute in domain.undeclared:
        if isinstance(attribute, WeakBasket):
            raise attribute.error(
                "the items to be compared are not known", repair='list them: kind "basket"'
            )
    public = dataclasses.replace(
        domain, unit=PrivacyUnit(), repeats=None
    )  # synthetic records belong to nobody, one a row
    return comparison.compare(
        _real_tallies(path, domain=domain, dialect=dialect, progress=progress),
        _real_tallies(synthetic_path, domain=public, progress=progress),
        domain,
        fits=confidential_rows.count_fits(path, domain, dialect=dialect),
        rows_real=_first_rows(path, domain=domain, dialect=dialect),
        rows_synthetic=_first_rows(synthetic_path, domain=domain),
    )


def _real_tallies(
    path: Path | str,
    *,
    domain: Domain,
    progress: Progress,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    texts: Sequence[trees.OccupiedCells] = (),
) -> tallies.Tallies:
    """Exact tables of rows, hence marked as not private."""
    progress = _guarded(progress)
    rows = confidential_rows.open_table(
        path, domain, kind=kind, dialect=dialect, progress=progress
    )
    cliques = comparison.cliques(domain)
    done = 0

    def count(clique: tuple[str, ...]) -> Any:
        nonlocal done
        done += 1
        progress("count", done / len(cliques))
        return counts.contingency(rows, clique)

    apart = {pair: counts.distances(rows, pair) for pair in places.pairs(domain)}
    held = [
        trees.aggregate(each, *counts.occupied(rows, each))
        for each in trees.hierarchies(domain)
    ]
    flows = {
        each.pair: tallies.ContingencyTable(each.shape, *counts.commutes(rows, each))
        for each in commutes(domain)
    }
    broken = counts.count_violations(rows)
    sizes = None if domain.grouped is None else counts.group_sizes(rows)
    return tallies.gather(
        cliques,
        count,
        private=False,
        n=rows.total,
        distances=apart,
        occupied=[*held, *texts],
        commutes=flows,
        breaking=broken,
        group_sizes=sizes,
    )


def _synthetic_texts(model: Model, rows: int, seed: str) -> list[trees.OccupiedCells]:
    """Of a tree of texts: how often each is drawn."""
    if (tree := factory.texts(model.tree)) is None:
        return []
    written = model.written(rows, seed=seed)
    return [string_recall.of_texts(tree.hierarchy, *each) for each in written.values()]


def _real_texts(
    path: Path | str, *, model: Model, read: _Read, values: Strings | None
) -> list[trees.OccupiedCells]:
    """Of the same column, how many records have each text; read once more, as a column of unknown texts, and again without
    its rules for reading if it has any."""
    if (tree := factory.texts(model.tree)) is None:
        return []
    words = tree.hierarchy
    plain = Strings(words.alphabet, words.shortest, words.longest)
    values = plain if values is None else values
    asked = _of_texts(model, words, values)
    rows = read(path, asked)
    found = trees.aggregate(words, *counts.occupied(rows, words))
    every = (
        rows
        if asked.unit.column is None
        else read(path, dataclasses.replace(asked, unit=PrivacyUnit()))
    )
    outside, missing = counts.unread(every, words.columns[0])
    written = fits = every.total - outside - missing
    if values.to_json() != plain.to_json():
        again = read(
            path, dataclasses.replace(_of_texts(model, words, plain), unit=PrivacyUnit())
        )
        written = again.total - sum(counts.unread(again, words.columns[0]))
    told = {
        "as written": written,
        "changed": fits - written,
        "outside": outside,
        "missing": missing,
    }
    return [dataclasses.replace(found, read=told)]


def _of_texts(model: Model, words: StringHierarchy, values: Strings) -> Domain:
    """Its column of texts alone, as one of unknown texts of this set."""
    known = model.domain.attribute(words.columns[0])
    column = Weak(
        name=known.name,
        values=values,
        missing=known.missing,
        outside="other",
        provenance=known.facts["kind"],
    )
    return Domain(attributes=(column,), unit=model.domain.unit, relation=model.domain.relation)


def _declared_texts(described: Domain | None, *, model: Model) -> Strings | None:
    """How texts of the model's column are read, as it was described."""
    if described is None or (tree := factory.texts(model.tree)) is None:
        return None
    for attribute in described.undeclared:
        if attribute.name in tree.columns and isinstance(attribute, Weak):
            return attribute.values if isinstance(attribute.values, Strings) else None
    return None


def _first_rows(
    path: Path | str,
    *,
    domain: Domain,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> list[dict[str, object]]:
    return _records(
        domain.columns, reading.head(path, domain.columns, kind=kind, dialect=dialect)
    )


def _records(columns: Sequence[str], rows: list[list[str]]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("the run was cancelled")

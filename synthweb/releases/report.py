"""The report of a release: what an ethics board, a reader or a program needs to know of it, as facts and as
one HTML file.

Everything follows from released documents: receipt, model, and the expected ranges computed from these two.
The HTML opens without a network and without scripts, and prints: its style and its figures are in the file.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.translation import gettext as _

from synth_engine import mechanisms, verifier
from synth_engine.errors import SynthError
from synth_engine.evaluation import expected as ranges
from synth_engine.evaluation import style
from synth_engine.evaluation.expected_quality import ExpectedQuality
from synth_engine.evaluation.thumbnails import model_thumbnail
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.datasets.domain_cache import Cited, cited, domain_of
from synthweb.lib import guarantee, language, number_format
from synthweb.releases import (
    call_sums,
    chain,
    citation,
    expected,
    learned_domain,
    licences,
    look,
    public_table,
    trees,
    workload_report,
)
from synthweb.releases.call_sums import CallSum
from synthweb.releases.expected import FigureLine
from synthweb.releases.licences import Licence
from synthweb.releases.models import Release
from synthweb.releases.public_table import PublicTableSummary
from synthweb.releases.workload_report import Asked

SCHEMA = "synthweb/release-report/1"


@dataclass(frozen=True, kw_only=True)
class ReportColumn:
    """One column: what the description says, its expected error, and its histogram as SVG (empty without
    one)."""

    name: str
    kind: str
    values: str
    missing: str
    unit: str
    word: str
    deviation: str
    lines: tuple[FigureLine, ...]
    picture: str


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee in words and numbers. meaning: for whoever has no training; premise: what it
    presupposes."""

    sentence: str
    meaning: str
    epsilon: str
    delta: str
    rho: str
    protects: str
    unit: str
    relation: str
    premise: str


@dataclass(frozen=True, kw_only=True)
class Method:
    """How the release was made. calls: to the mechanism, by kind."""

    id: str
    title: str
    summary: str
    paper: str
    keeps: tuple[str, ...]
    adaptive: bool
    calls: tuple[CallSum, ...]
    versions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What the receipt holds, and what the verifier said of it. reason: why it was refused, empty if it was
    not."""

    core: str
    plan: str
    answers: str
    domain: str
    signed: bool
    marks: tuple[str, ...]
    reason: str
    proved: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReleaseReport:
    """All of it. quality: None before the expected ranges are computed; level: per cent of releases whose
    band holds a figure."""

    code: str
    name: str
    description: str
    organisation: str
    published: str
    year: int
    rows: int
    rows_are_public: bool
    sample_rows: int
    asked: Asked | None
    guarantee: Guarantee
    method: Method
    quality: ExpectedQuality | None
    level: int
    errors: tuple[FigureLine, ...]
    columns: tuple[ReportColumn, ...]
    sources: tuple[Cited, ...]
    public_table: PublicTableSummary | None
    constraints: tuple[str, ...]
    limits: tuple[str, ...]
    proof: Proof
    citation: citation.Citation
    licence: Licence | None
    looked: bool

    @language.in_english
    def to_json(self) -> dict[str, Any]:
        """The same facts for programs, without pictures."""
        facts = dataclasses.asdict(self)
        for column in facts["columns"]:
            del column["picture"]
        return {"schema": SCHEMA, **facts}


@language.in_english
def of(release: Release) -> ReleaseReport | None:
    """The report of a release; None before a worker has prepared its first page. The caller authorised."""
    shown = look.look_of(release)
    if shown is None:
        return None
    document = chain.receipt_of(release)
    domain = domain_of(release.domain_version)
    proof = _proof(document)
    columns = tuple(_column(each) for each in shown.columns)
    return ReleaseReport(
        code=release.code,
        name=release.name,
        description=release.description,
        organisation=release.dataset.organisation.name,
        published=f"{release.created_at:%Y-%m-%d}",
        year=release.created_at.year,
        rows=release.rows,
        rows_are_public="rows" in document["invariants"],
        sample_rows=release.sample_rows,
        asked=workload_report.asked(release),
        guarantee=_guarantee(document),
        method=_method(release, document),
        quality=shown.quality,
        level=round(100 * ranges.LEVEL),
        errors=expected.error_lines(release),
        columns=columns,
        sources=cited(domain),
        public_table=public_table.stated(document),
        constraints=learned_domain.enforced(release, domain),
        limits=_limits(release, document, columns),
        proof=proof,
        citation=citation.of_release(release),
        licence=licences.of_release(release),
        looked=receipts.is_after_looking(document),
    )


@language.in_english
def html(report: ReleaseReport) -> str:
    """The report as one file that needs nothing beside it."""
    body = render_to_string(
        "releases/report_body.html",
        {"report": report, "bar": call_sums.bar(report.method.calls)},
    )
    sheet = (settings.BASE_DIR / "static" / "css" / "report.css").read_text("utf-8")
    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {style.declarations('dark')} }} }}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(report.name)}</title>"
        f"<style>:root {{ {style.declarations('light')} }} {dark}\n{sheet}</style></head>"
        f"<body>{body}</body></html>"
    )


def _column(column: look.LookColumn) -> ReportColumn:
    histogram, error = column.histogram, column.error
    return ReportColumn(
        name=column.name,
        kind=column.kind,
        values=column.values,
        missing=column.missing,
        unit=column.unit,
        word=error.word if error else "unknown",
        deviation=error.deviation if error else "",
        lines=error.lines if error else (),
        picture=model_thumbnail(
            [bar.share.value for bar in histogram.bars],
            words=f"{column.name}: {histogram.words}",
        )
        if histogram is not None and histogram.bars
        else "",
    )


def _guarantee(document: receipts.Receipt) -> Guarantee:
    stated, unit = document["guarantee"], PrivacyUnit.from_json(document["unit"])
    relation = number_format.RELATIONS[document["relation"]]
    return Guarantee(
        sentence=number_format.in_letters(stated["sentence"]),
        meaning=guarantee.meaning(
            epsilon=Fraction(stated["epsilon"]),
            delta=Fraction(stated["delta"]),
            relation=Relation(document["relation"]),
            unit=unit,
        ),
        epsilon=f"{float(Fraction(stated['epsilon'])):.3g}",
        delta=number_format.delta(stated["delta"]),
        rho=f"{float(Fraction(stated['rho'])):.3g}" if stated.get("rho") else "",
        protects=f"{unit.sentence()}, {relation}",
        unit=unit.sentence(),
        relation=relation,
        premise=document["premise"],
    )


def _method(release: Release, document: receipts.Receipt) -> Method:
    described = next(
        (one for one in mechanisms.describe() if one["id"] == release.mechanism), None
    )
    return Method(
        id=release.mechanism,
        title=described["title"] if described else release.mechanism,
        summary=described["summary"] if described else "",
        paper=described["paper"] if described else "",
        keeps=tuple(described["keeps"]) if described else (),
        adaptive=document["mechanism"]["kind"] == "adaptive",
        calls=tuple(call_sums.of_receipt(document)),
        versions=tuple(document["versions"].items()),
    )


def _proof(document: receipts.Receipt) -> Proof:
    try:
        # Without the head, which has the moment at which it was asked for: the same release has the same
        # report.
        verified = verifier.verify(document)
        reason, sentences = "", tuple(verified.sentences)
    except SynthError as error:
        reason, sentences = str(error), ()
    return Proof(
        core=document["digest"],
        plan=document["plan"]["sha256"],
        answers=document["answers_sha256"],
        domain=document["domain_sha256"],
        signed=document["seal"] is not None,
        marks=tuple(f"{mark['at'][:10]}: {mark['text']}" for mark in document["marks"]),
        reason=reason,
        proved=tuple(map(number_format.in_letters, sentences)),
    )


def _limits(
    release: Release, document: receipts.Receipt, columns: tuple[ReportColumn, ...]
) -> tuple[str, ...]:
    """What the release does not say, and what the guarantee does not cover."""
    limits = [
        _("No row is that of a person: use the tables for totals, shares and relations."),
        _(
            "What was not measured is the model's own: relations of columns that the method did not count "
            "together may be missing."
        ),
        _("Rare values and small groups are mostly noise."),
    ]
    if receipts.is_after_looking(document):
        limits.append(
            _(
                "A choice was made after a look at real data. The guarantee does not cover that look."
            )
        )
    if receipts.is_outside(document):
        limits.insert(
            0,
            _(
                "Exact counts of the same table were published outside the guarantee. Together with them "
                "no differential privacy holds."
            ),
        )
    if document.get("suggestions_shown"):
        limits.append(
            _(
                "Suggestions read from the real table were shown before its description was confirmed."
            )
        )
    if document.get("ranges_after_looking"):
        limits.append(
            _("A range was changed after a histogram of the real values had been opened.")
        )
    _add_limits_of_learning(release, limits)
    if without := [each.name for each in columns if each.word == "unknown"]:
        limits.append(
            _("The expected error is not known of: %(names)s.") % {"names": ", ".join(without)}
        )
    if warning := trees.warning(release):
        limits.append(warning)
    return tuple(limits)


def _add_limits_of_learning(release: Release, limits: list[str]) -> None:
    """What was not found comes first; which rules are not kept and which columns were learned, last."""
    learned = learned_domain.learned(release)
    if not_found := learned_domain.not_found(release):
        limits.insert(
            0,
            _(
                "Not found, because noise is larger than what the table holds of them: %(names)s. Every "
                "synthetic table has them without a value, with items that noise chose, or anywhere in the "
                "box of their place."
            )
            % {"names": ", ".join(not_found)},
        )
    if left_out := learned_domain.left_out(release):
        limits.append(
            _(
                "Rules that are not kept, because no row could keep them with what was learned: %(rules)s."
            )
            % {"rules": "; ".join(left_out)}
        )
    others = (each for each in learned if each.name not in not_found and not each.is_declared)
    if names := [each.name for each in others]:
        limits.append(
            _(
                "Learned from the table within the budget, so rare values may be missing: %(names)s."
            )
            % {"names": ", ".join(names)}
        )

"""The noisy tables that a run paid for, as files for analysts: published answers, read from where they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synth_engine.domain import Domain
from synth_engine.evaluation import noisy_tables
from synth_engine.measurement.paid_counts import PaidCounts, paid_counts
from synth_engine.spec import Spec
from synthweb.releases import tables as table_files
from synthweb.releases.models import Release
from synthweb.runs import artefacts, planning
from synthweb.runs.models import SynthesisRun
from synthweb.runs.public_tables import StatedTable


@dataclass(frozen=True, kw_only=True)
class NoisyTables:
    """The tables in the order in which they were asked for, and the domain by which they count."""

    tables: Sequence[PaidCounts]
    domain: Domain


def of(release: Release) -> NoisyTables:
    """The tables of a release. The plan is asked again, of the stored answers: no record is read. The caller authorised. Errors:
    SpecError where the public table beside the answers was deleted; VerificationError where the answers are damaged."""
    run = SynthesisRun.objects.select_related("domain_version__dataset", "account").get(
        code=release.run_code
    )
    plan = planning.replan(
        version=run.domain_version,
        spec=Spec.from_json(run.spec),
        account=run.account,
        table=StatedTable.from_json(run.prior),
    )
    answers = artefacts.get(name=run.answers_name, digest=run.answers_digest)
    tables, domain = paid_counts(plan, answers, domain=plan.domain)
    return NoisyTables(tables=tables, domain=domain)


def csv_lines(noisy: NoisyTables) -> Iterator[str]:
    """All rows as CSV text, for people: no text in it is one that a spreadsheet would run."""
    names = noisy_tables.schema_of(noisy_tables.width_of(noisy.tables)).names
    yield from table_files.stream_lines([names])
    for block in noisy_tables.blocks(noisy.tables, noisy.domain):
        columns = [block.column(name).to_pylist() for name in names]
        yield "".join(table_files.stream_lines(zip(*columns, strict=True)))

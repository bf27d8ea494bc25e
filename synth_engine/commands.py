"""Implement each command of the command line (`cli`). A command loads only what it needs, reads its files
strictly, and shows no value of a table."""

from __future__ import annotations

import argparse
import contextlib
import csv
import dataclasses
import hashlib
import json
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from synth_engine.errors import InputError, SpecError, SynthError, TableError, VerificationError

if TYPE_CHECKING:
    from synth_engine.formats import Dialect, Kind
    from synth_engine.linking.agreement import Agreement
    from synth_engine.measurement import Answers
    from synth_engine.mechanisms import Plan
    from synth_engine.mixing.policy import FillPlan
    from synth_engine.models.model import Model
    from synth_engine.pipeline import Release, SnapshotSource
    from synth_engine.privacy.receipt import Receipt
    from synth_engine.spec import Spec

MAX_DOCUMENT_BYTES = 2**30
MAX_RESERVED_BYTES = (
    2**26
)  # bytes of the disk for a receipt or a model, before anything is spent


def mechanisms(_options: argparse.Namespace) -> None:
    """Prints the list of mechanisms."""
    from synth_engine import mechanisms as registry

    sys.stdout.write(json.dumps(registry.describe(), indent=2, ensure_ascii=False) + "\n")


def synthesize(options: argparse.Namespace) -> None:
    """Measures once, fits, draws one table, writes receipt and model if asked."""
    from synth_engine import domain as domains
    from synth_engine import mechanisms as registry
    from synth_engine import outputs, pipeline, tables

    spec = _spec(options)
    domain = domains.read(options.domain)
    prior = _prior(options)
    copies = _implicate_paths(options)
    plan = registry.plan(domain, spec, prior=prior)  # refuses before anything is read
    _require_criteria(options, plan)
    sys.stderr.write(f"note: {plan.advice}\n" if plan.advice else "")
    if registry.assumes_records(domain, spec):
        sys.stderr.write(
            f"note: {spec.mechanism} plans for 10,000 records, because neither the domain nor --param "
            "records=N says about how many there are; give the low end of what anybody could guess\n"
        )
    tables.require_format(options.out, domain=domain, declared=options.as_it_came_in)
    outputs.require(
        {
            "--out": options.out,
            "--receipt": options.receipt,
            "--model": options.model,
            "--answers": options.answers,
        }
        | {f"implicate {number}": path for number, path in enumerate(copies, 1)},
        inputs=(
            options.data,
            options.domain,
            options.form,
            options.prior,
            options.criteria,
        ),
        overwrite=options.overwrite,
    )
    sign = _signing(options)  # a key that cannot be used is refused before anything is paid for
    form = _form(options)
    counting = pipeline.Counting(
        place=options.counting,
        address=options.cluster,
        folder=options.cluster_folder,
        key_file=options.cluster_key,
    )
    # Everything that can fail without the table has been tried by the time it is read: from
    # the first noise on the loss is spent, and a failure would waste it.
    with (
        outputs.pending(options.out, overwrite=options.overwrite) as table,
        _ReleaseDocuments(options, plan, sign, form) as documents,
        _table(options) as (data, kind),
    ):
        spent = _LossReporter(spec)
        with spent.report_loss():
            release = pipeline.synthesize(
                data,
                domain=domain,
                spec=spec,
                kind=kind,
                dialect=form,
                progress=spent,
                prior=prior,
                counting=counting,
            )
            documents.write(release)
        try:
            digest = tables.fill(
                tables.Drawing(model=release.model, rows=release.rows, seed=release.seed),
                path=table.temporary,
                form=options.out.name,
                declared=options.as_it_came_in,
            )
            documents.complete(release, table_sha256=digest)
            table.keep()
        # The loss is spent: the model has to survive, since the table can be sampled from it
        # again.
        except (OSError, InputError):
            raise SynthError(documents.rescue(spent=str(spent))) from None
    _advise(release)
    _write_implicates(release, copies, options)


def learn(options: argparse.Namespace) -> None:
    """Learns undeclared columns once, and writes the description that later runs use, with receipt and
    noisy answers."""
    from synth_engine import domain as domains
    from synth_engine import outputs, pipeline
    from synth_engine.plans import description
    from synth_engine.privacy import receipt as receipts
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.spec import Spec

    spec = Spec(
        mechanism=description.MECHANISM,
        parameters={"columns": options.column},
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
    )
    plan = description.plan(
        domains.read(options.domain), spec
    )  # refuses before anything is read
    written = {"--out": options.out, "--receipt": options.receipt, "--answers": options.answers}
    read = (options.data, options.domain, options.form)
    outputs.require(written, inputs=read, overwrite=options.overwrite)
    sign = _signing(options)
    form = _form(options)
    with contextlib.ExitStack() as stack:
        room = min(MAX_RESERVED_BYTES, 4 * plan.answers_bytes())
        files = [
            stack.enter_context(
                outputs.pending(path, reserve=room, overwrite=options.overwrite)
            )
            for path in written.values()
        ]
        data, kind = stack.enter_context(_table(options))
        pipeline.confirm(plan)
        pipeline.require_columns(data, domain=plan.domain, kind=kind, dialect=form)
        pipeline.require_vouched(data, kind=kind, dialect=form)
        spent = _LossReporter(spec)
        with spent.report_loss():
            answers = pipeline.measure(data, plan=plan, kind=kind, dialect=form, progress=spent)
            document = _of_source(plan.receipt(answers), options, form=form)
            document = document if sign is None else receipts.signed(document, sign)
            described = plan.described(answers, paid_by=document)
            for file, content in zip(
                files,
                (
                    json_text(described.to_json()).encode(),
                    json_text(document).encode(),
                    answers.to_bytes(),
                ),
                strict=True,
            ):
                file.write_bytes(content)
                file.keep()
    if not_found := plan.not_found(answers):
        names = ", ".join(repr(name) for name in not_found)
        sys.stderr.write(
            f"note: not found: {names}. They stay undeclared, so that each release learns them; a larger "
            "epsilon, fewer columns, or bounds or values that are declared would do.\n"
        )


@contextlib.contextmanager
def _table(options: argparse.Namespace) -> Iterator[tuple[Path, Kind | None]]:
    """The table of a command and its kind: its file, or a copy of what --from names. Errors: InputError."""
    from synth_engine import pipeline

    if (options.data is None) == (options.source is None):
        raise InputError(
            "a table is given by its file or by --from", repair="give one of the two"
        )
    if options.source is None:
        if options.query:
            raise InputError("a file has no query", repair="leave out --query, or add --from")
        yield options.data, None
        return
    if options.form is not None or options.read:
        raise InputError(
            "the form of a query or object is its own", repair="leave out --form and --read"
        )
    with pipeline.snapshot(_source(options), progress=progress()) as path:
        yield path, "parquet"


def _source(options: argparse.Namespace) -> SnapshotSource:
    """The table that --from names. Errors: InputError."""
    from synth_engine import pipeline

    return pipeline.SnapshotSource(
        address=options.source, query=options.query, vouched_by=options.vouched_by
    )


def _implicate_paths(options: argparse.Namespace) -> list[Path]:
    """The file of each plausible table, beside that of the table. Errors: SpecError for a number that is not
    offered."""
    from synth_engine.plans import implicates

    number = whole(options.implicates, name="implicates")
    if number and not implicates.FEWEST <= number <= implicates.MOST:
        raise SpecError(
            f"{number} plausible tables are not made of one release",
            repair=f"ask for {implicates.FEWEST} to {implicates.MOST}, or leave --implicates out",
        )
    stem, dot, form = options.out.name.partition(".")
    return [
        options.out.with_name(f"{stem}.implicate-{each:02d}{dot}{form}")
        for each in range(1, number + 1)
    ]


def _write_implicates(
    release: Release, paths: Sequence[Path], options: argparse.Namespace
) -> None:
    """Several plausible tables from the same noisy answers: post-processing, after the table is there."""
    from synth_engine import tables, watching
    from synth_engine.plans import implicates

    if not paths:
        return
    show = progress()
    digest = release.plan.receipt(release.answers)["digest"]
    places = implicates.require(release.plan, release.answers)
    numbered = list(enumerate(paths, 1))
    with watching.watched(lambda share: show("implicates", share)):
        for number, path in watching.each(numbered):
            seed = implicates.seed_of(digest, number)
            answers = implicates.perturbed(release.answers, places=places, seed=seed)
            model = release.plan.fit(answers)
            # As many records as this truth has, unless a number was asked for.
            rows = release.plan.spec.rows or model.rows
            draw = tables.Drawing(model=model, rows=rows, seed=seed)
            tables.write_drawn(
                draw, path=path, overwrite=options.overwrite, declared=options.as_it_came_in
            )
    show("implicates", 1.0)


class _LossReporter:
    """Show the progress of a synthesis, and record from when on noise may have been drawn."""

    def __init__(self, spec: Any) -> None:
        self._amounts = f"epsilon = {float(spec.epsilon):.10g}" + (
            f" and delta = {float(spec.delta):g}" if spec.delta else ""
        )
        self._show = progress()
        self._measuring = False

    def __call__(self, stage: str, fraction: float) -> None:
        self._measuring = self._measuring or stage == "measure"
        self._show(stage, fraction)

    def __str__(self) -> str:
        return self._amounts

    @contextlib.contextmanager
    def report_loss(self) -> Iterator[None]:
        """Whatever goes wrong once noise may have been drawn says so: the privacy loss counts as spent."""
        try:
            yield
        except Exception as error:
            if not self._measuring:
                raise
            # A foreign error may quote a cell; only the name of its type leaves.
            text = (
                str(error)
                if isinstance(error, SynthError)
                else f"internal error: {type(error).__name__}"
            )
            raise SynthError(
                f"{text}; noise may have been drawn, so count {self} as spent"
            ) from None


class _ReleaseDocuments:
    """The receipt, the model and the noisy answers of a synthesis. Room for all is reserved before anything
    is spent, and all are written before the table; the receipt without the table's digest, which `complete`
    adds."""

    def __init__(
        self, options: argparse.Namespace, plan: Plan, sign: Any, form: Dialect | None
    ) -> None:
        from synth_engine import outputs

        room = min(MAX_RESERVED_BYTES, 4 * plan.answers_bytes())
        overwrite = {"overwrite": options.overwrite}
        self._options = options
        self._sign = sign
        self._form = form  # its file may be gone by the time that noise is drawn
        self._stack = contextlib.ExitStack()
        self._spare = options.out.with_name(f"{options.out.name}.model.json")
        self._wanted = options.model is not None
        enter = self._stack.enter_context
        with contextlib.ExitStack() as opening:
            opening.push(self._stack)
            self._model = enter(
                outputs.pending(options.model or self._spare, reserve=room, **overwrite)
            )
            self._answers = None
            if options.answers is not None:
                self._answers = enter(
                    outputs.pending(options.answers, reserve=room, **overwrite)
                )
            self._receipts = [
                enter(
                    outputs.pending(
                        options.receipt, reserve=room, overwrite=later or options.overwrite
                    )
                )
                for later in (False, True)
                if options.receipt is not None
            ]
            # Up to here a failure closes what was opened; from here on `__exit__` does.
            opening.pop_all()

    def __enter__(self) -> _ReleaseDocuments:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def write(self, release: Release) -> None:
        """Write model and receipt before the table is generated."""
        self._model.write(json_text(release.model.to_json()))
        if self._wanted:
            self._model.keep()
        if self._answers is not None:
            self._answers.write_bytes(release.answers.to_bytes())
            self._answers.keep()
        self._receipt(release, table_sha256=None, index=0)

    def complete(self, release: Release, *, table_sha256: str) -> None:
        """The receipt with the digest of the table, in the place of the one without."""
        self._receipt(release, table_sha256=table_sha256, index=1)

    def _receipt(self, release: Release, *, table_sha256: str | None, index: int) -> None:
        if self._receipts:
            document = _receipt(
                release,
                self._options,
                form=self._form,
                sign=self._sign,
                table_sha256=table_sha256,
            )
            self._receipts[index].write(json_text(document))
            self._receipts[index].keep()

    def rescue(self, *, spent: str) -> str:
        """Save the model, whether it was asked for or not, and return the message that the table could not be
        written."""
        name = self._options.model or self._spare
        try:
            if not self._wanted:
                self._model.keep()
            way = f"draw it from the model in {name.name} by the command sample, which costs nothing more"
        except (OSError, InputError):
            way = "and neither could the model"
        return f"the table could not be written, but {spent} was spent; free space, then {way}"


def _receipt(
    release: Release,
    options: argparse.Namespace,
    *,
    form: Dialect | None,
    sign: Any,
    table_sha256: str | None,
) -> Receipt:
    """The receipt of a release, with its table once that is drawn."""
    from synth_engine.privacy import receipt as receipts

    # The receipt contains a hash of a secret seed instead of the seed, which binds the table to
    # it without disclosing it.
    secret = release.plan.spec.seed is None
    sample = None
    if table_sha256 is not None:
        sample = receipts.Sample(
            rows=release.rows,
            seed=None if secret else release.seed,
            seed_commitment=receipts.seed_commitment(release.seed) if secret else None,
            table_sha256=table_sha256,
        )
    steps = {"model_sha256": receipts.digest(release.model.to_json())}
    document = release.plan.receipt(release.answers, sample=sample, post_processing=steps)
    document = _of_source(document, options, form=form)
    return document if sign is None else receipts.signed(document, sign)


def _of_source(
    document: Receipt, options: argparse.Namespace, *, form: Dialect | None
) -> Receipt:
    """The receipt with what it says of its table: which query made it, or who vouches for its formulas."""
    from synth_engine.privacy import receipt as receipts

    if options.source is not None and (digest := _source(options).query_digest):
        document = receipts.of_query(
            document, query_sha256=digest, vouched_by=options.vouched_by
        )
    elif form is not None and form.vouched_by:
        document = receipts.of_formulas(document, vouched_by=form.vouched_by)
    return document


def _advise(release: Release) -> None:
    """Says on stderr that a release holds little but noise; from public facts and the (noisy) number of
    records alone."""
    from synth_engine.evaluation import forecast as forecasts
    from synth_engine.evaluation import tree_notes

    sys.stderr.write(
        "".join(f"note: {sentence}\n" for sentence in tree_notes.sentences(release.model))
    )
    if not_found := release.plan.not_found(release.answers):
        names = ", ".join(repr(name) for name in not_found)
        sys.stderr.write(
            f"note: not found: {names}. The noise of what was asked is larger than what a cell of the "
            "table holds, so nothing is known of these columns: they are empty, have one value only or "
            "items that noise chose, or lie anywhere in the box of their place. A larger epsilon, more "
            "records, fewer columns to be learned, or a description with bounds or values would do.\n"
        )
    if left_out := release.model.domain.enforcement.left_out:
        sys.stderr.write(
            f"note: constraints left out of this release: {'; '.join(each.sentence for each in left_out)}. "
            "With what the run learned of their columns no record could keep them; a larger epsilon, more "
            "records, or a description with bounds or values would do.\n"
        )
    if not any(measured.clique for measured in release.answers.measurements):
        return  # of the number of records alone there is enough to say
    rows = max(1, release.model.rows)
    expected = forecasts.forecast(
        release.plan.domain,
        release.plan.spec,
        rows=rows,
        opens_at=release.plan.min_records_to_split(rows),
    )
    if expected.level == "too-little":
        changes = "".join(f" Would do: {each.in_words}." for each in expected.repairs)
        sys.stderr.write(
            f"note: {len(expected.named('not found'))} of {len(expected.columns)} columns are not found: the "
            f"noise is larger than what the table holds. The release is valid, but says little.{changes}\n"
        )


def forecast(options: argparse.Namespace) -> None:
    """Prints what a release would tell as JSON, from public facts alone."""
    from synth_engine import domain as domains
    from synth_engine import mechanisms as registry
    from synth_engine.evaluation import forecast as forecasts

    domain, spec = domains.read(options.domain), _spec(options)
    rows = whole(options.records, name="records")
    if not rows:
        raise SpecError(
            "a forecast is for some number of records", repair="give --records, about"
        )
    plan = registry.plan(domain, spec)
    expected = forecasts.forecast(
        domain, spec, rows=rows, opens_at=plan.min_records_to_split(rows)
    )
    sys.stdout.write(json.dumps(expected.to_json(), indent=2, ensure_ascii=False) + "\n")


def sample(options: argparse.Namespace) -> None:
    """Draws a table from a model or a description: post-processing, which costs nothing."""
    from synth_engine import row_selection, tables

    tables.require_format(options.out, declared=options.as_it_came_in)
    require_output(options, options.model, *([options.selection] if options.selection else []))
    model = _read_model(options.model, says_if_edited=True)
    selection = (
        None
        if options.selection is None
        else row_selection.RowSelection.from_json(
            read_json(options.selection, name="selection")
        )
    )
    asked = whole(options.rows, name="rows")
    rows = asked or (selection and selection.rows) or model.rows
    if selection is not None:
        row_selection.require(model, selection, rows=rows)
    draw = tables.Drawing(
        model=model,
        rows=rows,
        seed=options.seed or secrets.token_hex(32),
        selection=selection,
    )
    tables.write_drawn(
        draw,
        path=options.out,
        overwrite=options.overwrite,
        declared=options.as_it_came_in,
    )


def describe(options: argparse.Namespace) -> None:
    """Writes a model as a description that people can read and edit."""
    from synth_engine.models import description
    from synth_engine.models.model import Model

    require_output(options, options.model)
    document = description.write(Model.from_json(read_json(options.model, name="model")))
    write_json(options.out, document, overwrite=options.overwrite)


def verify(options: argparse.Namespace) -> None:
    """Prints what a receipt proves, or a bundle with all its files."""
    from synth_engine import verifier

    head = None if options.head is None else read_json(options.head, name="head")
    key = None if options.key is None else verifier.read_key(options.key)
    is_bundle, recomputed = verifier.is_bundle(options.receipt), ""
    if options.answers is not None and (options.domain is None or is_bundle):
        raise InputError(
            "what was not found is recomputed from a receipt, its description and its answers",
            repair="give RECEIPT.json, --domain and --answers of one run",
        )
    if is_bundle:
        verified = verifier.verify_bundle(
            options.receipt, head=head, key=key, core=options.digest
        )
    else:
        receipt = read_json(options.receipt, name="receipt")
        # A database learns no columns, and its receipt has no answers of one table.
        prove = verifier.verify_any if options.answers is None else verifier.verify
        verified = prove(receipt, head=head, key=key, core=options.digest)
        if options.answers is not None:
            recomputed = _recomputed_not_found(receipt, options)
        if options.bought:
            paid = [read_json(path, name="receipt") for path in options.bought]
            recomputed += "".join(
                f"{line}\n" for line in verifier.verify_purchases(receipt, paid, key=key)
            )
    sys.stdout.write(verifier.report(verified) + recomputed)


def _recomputed_not_found(receipt: Any, options: argparse.Namespace) -> str:
    """What the noisy answers say was not found and is left out, in a sentence. receipt: verified. Errors:
    VerificationError where it says otherwise."""
    from synth_engine.measurement.replay import Replay

    plan, answers = _plan_of(receipt, options.domain), _answers_of(receipt, options.answers)
    stated = receipt["post_processing"].get("not_found", [])
    if sorted(stated) != sorted(plan.not_found(answers)):
        raise VerificationError("the answers say of other columns that they were not found")
    rules = receipt["post_processing"].get("constraints_left_out", [])
    if rules != [each.sentence for each in plan.constraints_left_out(Replay(answers))]:
        raise VerificationError("the answers leave out other constraints")
    again = plan.receipt(answers)["post_processing"].get("learned_sha256")
    if again != receipt["post_processing"].get("learned_sha256"):
        raise VerificationError("the answers make another description")
    return (
        f"Recomputed from the noisy answers: not found {', '.join(stated) or 'is no column'}; left out "
        f"{'; '.join(rules) or 'is no constraint'}.\n"
    )


def check(options: argparse.Namespace) -> None:
    """Prints of each criterion whether the release meets it, by noisy answers alone. Errors: SynthError
    unless all are met."""
    from synth_engine.evaluation import criteria

    stated = criteria.from_document(read_json(options.criteria, name="file of criteria"))
    plan, model, answers = _released(options)
    criteria.require(plan, stated)
    show = progress()
    figures = criteria.private_figures(
        stated, model=model, plan=plan, answers=answers, progress=show
    )
    verdicts = []
    for criterion, figure in zip(stated, figures, strict=True):
        verdict = criteria.verdict_of_private(criterion, figure)
        verdicts.append(verdict)
        interval = "" if figure is None else f": {criteria.range_in_words(criterion, figure)}"
        sys.stdout.write(f"{_VERDICTS[verdict]}: {criteria.in_words(criterion)}{interval}\n")
    if failed := len(verdicts) - verdicts.count("met"):
        raise SynthError(f"{failed} of {len(verdicts)} criteria are not met or cannot be told")


def fit(options: argparse.Namespace) -> None:
    """Prints the coefficients of a regression as CSV, and on stderr what values count as."""
    from synth_engine import verifier
    from synth_engine.evaluation import fits

    receipt = read_json(options.receipt, name="receipt")
    verifier.verify(receipt)
    counts = fits.published(
        _plan_of(receipt, options.domain), _answers_of(receipt, options.answers)
    )
    request = fits.FitRequest(
        outcome=options.outcome, regressors=tuple(options.regressors), kind=options.kind
    )
    regression = fits.fit(counts, request)
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(
        (
            "column",
            "value",
            "estimate",
            *_FIT_RANGE,
            *(f"population_{each}" for each in _FIT_RANGE),
        )
    )
    for one in regression.coefficients:
        ranges = (one.of_table, one.of_population)
        ends = (end for each in ranges for end in (each.standard_error, each.low, each.high))
        lines.writerow((one.column, one.value, one.estimate, *ends))
    for column in regression.columns:
        for group in column.described:
            counted = "" if group.number is None else f" counts as {group.number:.6g}"
            base = " is the base" if group.values == column.base else ""
            sys.stderr.write(f"note: {column.name} {group.values}{counted}{base}\n")


_FIT_RANGE = ("standard_error", "lower", "upper")

_VERDICTS = {"met": "met", "not-met": "not met", "cannot-tell": "cannot be told"}


def _receipt_and_model(options: argparse.Namespace) -> tuple[Receipt, Model]:
    """The receipt of a release, which verifies, and its model. Errors: InputError where they are of two."""
    from synth_engine import verifier
    from synth_engine.privacy import receipt as receipts

    receipt = read_json(options.receipt, name="receipt")
    verifier.verify(receipt)
    model = _read_model(options.model)
    digest = receipts.digest(model.to_json())
    if receipt["post_processing"].get("model_sha256", digest) != digest:
        raise InputError(
            "the receipt is of another model", repair="give the two that one run wrote"
        )
    return receipt, model


def _released(options: argparse.Namespace) -> tuple[Plan, Model, Answers | None]:
    """The plan, the model and the noisy answers of a release, which belong together by its receipt. Errors:
    InputError."""
    receipt, model = _receipt_and_model(options)
    plan = _plan_of(receipt, options.domain)
    answers = None if options.answers is None else _answers_of(receipt, options.answers)
    return plan, model, answers


def _plan_of(receipt: Any, domain: Path) -> Plan:
    """The plan of a run, from its receipt and its description. Errors: InputError."""
    from synth_engine import domain as domains
    from synth_engine.evaluation import expected_errors
    from synth_engine.plans import description

    described = domains.read(domain)
    if receipt["mechanism"]["id"] == description.MECHANISM:
        return description.of_receipt(described, receipt)
    plan = expected_errors.plan_of(described, cast("Receipt", receipt))
    if plan is None:
        raise InputError(
            "the receipt is of another description, or of a run beside a public table",
            repair="give the description of the run; criteria of a run beside a public table are told by "
            "the web application alone",
        )
    return plan


def _answers_of(receipt: Any, path: Path) -> Answers:
    """The noisy answers of a run. Errors: InputError."""
    from synth_engine.measurement import Answers

    answers = Answers.load(path)
    if answers.digest != receipt["answers_sha256"]:
        raise InputError(
            "the noisy answers are of another run", repair="give those that the run wrote"
        )
    return answers


def _require_criteria(options: argparse.Namespace, plan: Plan) -> None:
    """Refuse criteria that could never be told of a release, before anything is spent. Errors: SpecError."""
    from synth_engine.evaluation import criteria

    if options.criteria is not None:
        stated = read_json(options.criteria, name="file of criteria")
        criteria.require(plan, criteria.from_document(stated))


def verifier(options: argparse.Namespace) -> None:
    """Writes the program that an auditor runs."""
    from synth_engine.verifier import standalone

    require_output(options)
    _write_text(options.out, standalone.text(), overwrite=options.overwrite)


def compare(options: argparse.Namespace) -> None:
    """Writes the comparison as JSON, or as one HTML file."""
    if options.out.suffix not in (".json", ".html"):
        raise InputError(
            "the report has another format", repair="end its name in .json or .html"
        )
    from synth_engine import domain as domains
    from synth_engine import pipeline

    require_output(
        options, options.real, options.synthetic, options.domain, options.model, options.form
    )
    if (options.target or options.protected) and not options.models:
        raise InputError("a column for models without --models", repair="add --models")
    if options.shadows and not options.risks:
        raise InputError("--shadows without --risks", repair="add --risks")
    if options.outside and (options.model or options.shadows):
        raise InputError(
            "a table that was made elsewhere is of no model or run here",
            repair="leave out --outside, or --model and --shadows",
        )
    shadowed = _request_of(options.shadows) if options.shadows else None
    domain = domains.read(options.domain)
    model = None if options.model is None else _read_model(options.model)
    form = _form(options)
    aim = pipeline.TrainingAim(target=options.target, protected=options.protected)
    aim.require(domain)
    report = pipeline.compare(
        options.real,
        options.synthetic,
        domain=domain,
        model=model,
        dialect=form,
        progress=progress(),
    )
    if options.outside:
        from synth_engine.evaluation import outside

        report["outside"] = outside.statement(options.outside)
    compared = domain if model is None else model.domain
    synthetic = pipeline.WrittenTable(path=options.synthetic, domain=compared)
    if options.models:
        report["models"] = pipeline.train_models(
            options.real, synthetic, aim=aim, dialect=form, progress=progress()
        )
    if options.risks:
        report["risks"] = pipeline.estimate_risks(
            options.real, synthetic, dialect=form, shadowed=shadowed, progress=progress()
        )
    from synth_engine.evaluation import raw_values

    if damaged := raw_values.damaged_columns(report):
        # Reasons quote values, which belong in the report alone.
        sys.stderr.write(f"note: damaged, as the report says why: {', '.join(damaged)}\n")
    if options.out.suffix == ".json":
        write_json(options.out, report, overwrite=options.overwrite)
        return
    from synth_engine.evaluation import page

    _write_text(options.out, page.html(report), overwrite=options.overwrite)


def _request_of(path: Path) -> Spec:
    """The request that a receipt states."""
    from synth_engine.spec import Spec

    receipt = read_json(path, name="the receipt")
    try:
        return Spec(
            mechanism=receipt["mechanism"]["id"],
            parameters=receipt["mechanism"]["parameters"],
            epsilon=Fraction(receipt["target"]["epsilon"]),
            delta=Fraction(receipt["target"]["delta"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the receipt states no method and target", repair="give the receipt of the release"
        ) from error


def _lists_read(suggestions: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """The columns of a draft that list values which are not public by themselves, and how many."""
    from synth_engine.values import is_public_list

    for each in suggestions:
        if each["kind"] == "categorical" and not is_public_list(each["values"]):
            yield each["name"], len(each["values"])


def drafted(options: argparse.Namespace) -> Mapping[str, Any]:
    """The reading of a table that a draft is written from: confidential."""
    from synth_engine import pipeline

    with _table(options) as (data, kind):
        form = None if kind else _form_of_draft(options)
        return pipeline.ingest(data, kind=kind, dialect=form, progress=progress())


def draft_domain(options: argparse.Namespace) -> None:
    """Writes suggestions as a domain in which every fact is marked as suggested by the data."""
    from synth_engine import domain as domains

    require_output(options, options.data, options.form)
    reading = drafted(options)
    sys.stderr.writelines(f"note: {note}\n" for note in reading["notes"])
    for question in _questions(reading):
        # Its choices are cells of the table.
        sys.stderr.write(f"question (confidential): {question}\n")
    for name, values in _lists_read(reading["suggestions"]):
        sys.stderr.write(
            f"list (confidential): {name}: {values} values were read from the table; write the kind weak "
            "in its place unless the list is written somewhere\n"
        )
    draft = {
        "schema": domains.SCHEMA_NAME,
        "relation": "add-remove",
        "unit": {"max_records": 1, "column": None},
        "attributes": reading["suggestions"],
    }
    write_json(options.out, draft, overwrite=options.overwrite)
    sys.stderr.write(
        "note: this draft was read off the data, so it is confidential; confirm each fact as public and "
        'set "provenance" to "declared" before using it\n'
    )


def synthesize_database(options: argparse.Namespace) -> None:
    """Measures a database once under one budget, fits, generates one database, writes receipt and model if
    asked."""
    from synth_engine import outputs, pipeline
    from synth_engine.domain import database as databases
    from synth_engine.privacy import receipt as receipts
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.relational import bundle, files
    from synth_engine.relational import plan as plans
    from synth_engine.relational import receipt as database_receipts

    files.require_output(options.out)
    database = databases.read_database(options.database)
    plan = plans.plan(
        database,
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
    )
    units = whole(options.units, name="units") or None
    named = {
        "--out": options.out,
        "--receipt": options.receipt,
        "--model": options.model,
        "--bundle": options.bundle,
    }
    outputs.require(named, inputs=(options.database,), overwrite=options.overwrite)
    folder = options.database.parent
    pipeline.require_database(folder, database=database)
    spent = _LossReporter(plan)
    with spent.report_loss():
        release = pipeline.synthesize_database(
            folder, plan=plan, units=units, seed=options.seed, progress=spent
        )
        model = release.model.to_json()
        # The loss is spent: the model and a receipt come first, so that the tables can be generated again
        # from it.
        if options.model is not None:
            write_json(options.model, model, overwrite=options.overwrite)
        frames = release.model.tables(release.units, seed=release.seed)
        sample = {
            "units": release.units,
            "tables_sha256": files.digest(database, frames),
        } | (
            {"seed": options.seed}
            if options.seed is not None
            else {"seed_commitment": receipts.seed_commitment(release.seed)}
        )
        document = database_receipts.build(
            plan,
            release.answers,
            post_processing={"model_sha256": receipts.digest(model)},
            sample=sample,
        )
        if options.receipt is not None:
            write_json(options.receipt, document, overwrite=options.overwrite)
        files.write(
            database, frames, options.out, form=options.format, overwrite=options.overwrite
        )
        if options.bundle is not None:
            bundle.write(
                plan,
                frames,
                options.bundle,
                receipt=document,
                model=model,
                overwrite=options.overwrite,
            )


def sample_database(options: argparse.Namespace) -> None:
    """Generates another database from a stored model: post-processing, which costs nothing."""
    from synth_engine.relational import files
    from synth_engine.relational.model import DatabaseModel

    files.require_output(options.out)
    require_output(options, options.model)
    model = DatabaseModel.from_json(read_json(options.model, name="model"))
    units = whole(options.units, name="units") or model.units
    frames = model.tables(units, seed=options.seed or secrets.token_hex(32))
    files.write(
        model.database, frames, options.out, form=options.format, overwrite=options.overwrite
    )


def compare_databases(options: argparse.Namespace) -> None:
    """Writes the errors of counts of columns, pairs and joins as JSON."""
    from synth_engine import pipeline
    from synth_engine.domain import database as databases

    require_output(options, options.database)
    database = databases.read_database(options.database)
    folder = options.database.parent
    for path in (folder, options.synthetic):
        pipeline.require_database(path, database=database)
    report = pipeline.compare_databases(folder, options.synthetic, database=database)
    write_json(options.out, report, overwrite=options.overwrite)


def check_database(options: argparse.Namespace) -> None:
    """Prints what is wrong with the keys of a real database, and refuses one of which a release would leave
    rows out."""
    from synth_engine import pipeline
    from synth_engine.domain import database as databases

    database, folder = databases.read_database(options.database), options.database.parent
    pipeline.require_database(folder, database=database)
    faults = pipeline.key_faults(folder, database=database)
    sys.stdout.write(
        json_text({name: dataclasses.asdict(of_table) for name, of_table in faults.items()})
    )
    for name, of_table in faults.items():
        if of_table.repeated:
            raise TableError(
                f"table {name!r} has a key more than once, or rows without one",
                repair="give each row a key of its own: a row that belongs to two parents needs two rows",
                column=database.table(name).key,
            )
        if of_table.orphans:
            raise TableError(
                f"table {name!r} has rows that refer to no row of its parent; a release leaves them out",
                repair="add their parents, mend the references, or release without them",
                column=database.table(name).reference,
            )
        if of_table.crowded:
            raise TableError(
                f"table {name!r} has more rows of one parent than are declared; a release leaves some out "
                "by chance",
                repair='raise "most" of the table from what is publicly known, or release without them',
                column=database.table(name).reference,
            )


def describe_database(options: argparse.Namespace) -> None:
    """Prints what a release of a database would measure, from its description alone."""
    from synth_engine.domain import database as databases
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.relational import plan as plans

    plan = plans.plan(
        databases.read_database(options.database),
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
    )
    sys.stdout.write(json_text(plan.outline()))


def verify_database(options: argparse.Namespace) -> None:
    """Prints what the receipt of a database proves, after a check that it is of the tables of a
    description."""
    from synth_engine import verifier
    from synth_engine.domain import database as databases

    database = databases.read_database(options.database)
    receipt = read_json(options.receipt, name="receipt")
    verified = verifier.verify_database(receipt, tables=database.digest, core=options.digest)
    sys.stdout.write(verifier.report(verified))


def agree_link(options: argparse.Namespace) -> None:
    """Writes the agreement of two sides from their public descriptions, and says which error it leads to
    expect."""
    from synth_engine import domain as domains
    from synth_engine.linking import agreement as agreements
    from synth_engine.privacy.loss import parse_decimal

    require_output(options, options.left, options.right)
    left, right = (
        agreements.Offer(
            domain=domains.read(getattr(options, side)),
            texts=getattr(options, f"{side}_texts"),
            attributes=getattr(options, f"{side}_columns"),
            epsilon=parse_decimal(
                getattr(options, f"{side}_epsilon") or options.epsilon, name="epsilon"
            ),
        )
        for side in agreements.SIDES
    )
    agreement = agreements.agree(
        left,
        right,
        rows=whole(options.rows, name="rows"),
        typos=parse_decimal(options.typos, name="typos"),
        functions=options.functions,
        seed=secrets.token_hex(16),
    )
    write_json(options.out, agreement.to_json(), overwrite=options.overwrite)
    sys.stderr.write(f"note: {agreement.advice}\n")


def sketch_link(options: argparse.Namespace) -> None:
    """Writes the noisy sketch of one side, and its receipt: the only thing of a link that reads a table."""
    from synth_engine import domain as domains
    from synth_engine import outputs, pipeline
    from synth_engine.linking import sketch as sketches
    from synth_engine.privacy import receipt as receipts

    outputs.require(
        {"--out": options.out, "--receipt": options.receipt},
        inputs=(options.data, options.link, options.domain, options.form),
        overwrite=options.overwrite,
    )
    agreement = _read_link(options.link)
    agreement.require_description(options.side, domains.read(options.domain))
    plan = sketches.plan(agreement, options.side)
    pipeline.confirm(plan)
    form = _form(options)
    pipeline.require_side(options.data, plan=plan, dialect=form)
    pipeline.require_vouched(options.data, dialect=form)
    spent = _LossReporter(plan)
    with spent.report_loss():
        made = pipeline.sketch(options.data, plan=plan, dialect=form, progress=spent)
        if form is not None and form.vouched_by:
            stated = receipts.of_formulas(made.receipt, vouched_by=form.vouched_by)
            made = dataclasses.replace(made, receipt=stated)
        write_json(options.out, made.to_json(), overwrite=options.overwrite)
        if options.receipt is not None:
            write_json(options.receipt, made.receipt, overwrite=options.overwrite)
    sys.stderr.write(f"note: {agreement.sentence_of_both}\n")


def estimate_link(options: argparse.Namespace) -> None:
    """Writes what two sketches say together, after a check of both receipts: post-processing, which costs
    nothing."""
    from synth_engine import verifier
    from synth_engine.linking import estimate as estimates
    from synth_engine.linking.sketch import Sketch

    require_output(options, options.link, options.first, options.second)
    agreement = _read_link(options.link)
    made = [
        Sketch.from_json(read_json(path, name="sketch"), agreement)
        for path in (options.first, options.second)
    ]
    for each in made:
        verifier.verify(each.receipt)
    estimate = estimates.estimate(*made)
    write_json(options.out, estimate.to_json(), overwrite=options.overwrite)
    sys.stdout.writelines(f"{line}\n" for line in estimate.lines)


def draw_link(options: argparse.Namespace) -> None:
    """Draws a table of each side, with ids that join as the estimate says: post-processing, which costs
    nothing."""
    from synth_engine import outputs
    from synth_engine.linking import drawing
    from synth_engine.linking.estimate import LinkEstimate

    written = {"left": options.left_out, "right": options.right_out}
    for path in written.values():
        drawing.require_format(path)
    outputs.require(
        {
            "--left-out": options.left_out,
            "--right-out": options.right_out,
            "--record": options.record,
        },
        inputs=(options.link, options.estimate, options.left, options.right),
        overwrite=options.overwrite,
    )
    estimate = LinkEstimate.from_json(
        read_json(options.estimate, name="estimate"), _read_link(options.link)
    )
    tables = drawing.draw(
        estimate,
        {"left": _read_model(options.left), "right": _read_model(options.right)},
        seed=options.seed or secrets.token_hex(32),
    )
    digests = {
        side: drawing.write(tables, side, written[side], overwrite=options.overwrite)
        for side in tables.tables
    }
    write_json(
        options.record,
        tables.record | {"tables_sha256": digests},
        overwrite=options.overwrite,
    )


def _read_link(path: Path) -> Agreement:
    from synth_engine.linking.agreement import Agreement

    return Agreement.from_json(read_json(path, name="link"))


def fill_counts(options: argparse.Namespace) -> None:
    """Writes counts that are filled to a policy: not private, and nothing of the table is afterwards."""
    from synth_engine import outputs, pipeline
    from synth_engine.mixing.policy import NOT_PRIVATE

    outputs.require(
        {"--out": options.out, "--table": options.table},
        inputs=(options.data, options.domain, options.form),
        overwrite=options.overwrite,
    )
    plan, form = _fill_plan(options), _form(options)
    if not options.outside_the_guarantee:
        raise SpecError(
            "exact counts void every guarantee of this table",
            repair="give --outside-the-guarantee to say so, or use the private alternative (mix alternative)",
        )
    pipeline.require_filling(options.data, plan=plan, dialect=form)
    pipeline.require_vouched(options.data, dialect=form)
    _say_alternative(options)
    made = pipeline.fill(options.data, plan=plan, dialect=form, progress=progress())
    write_json(options.out, made.to_json(), overwrite=options.overwrite)
    if options.table is not None:
        _write_text(options.table, made.to_csv(), overwrite=options.overwrite)
    sys.stderr.write(f"note: {NOT_PRIVATE}\n")


def private_alternative(options: argparse.Namespace) -> None:
    """Prints what a private table of the same groups would be like. Reads no row."""
    _say_alternative(options)


def _fill_plan(options: argparse.Namespace) -> FillPlan:
    from synth_engine import domain as domains
    from synth_engine.mixing.policy import FillPlan, FillPolicy
    from synth_engine.privacy.loss import parse_decimal

    return FillPlan(
        domain=domains.read(options.domain),
        by=tuple(options.by),
        day=options.day,
        policy=FillPolicy(
            least_records=whole(options.least_records, name="least-records"),
            largest_share=parse_decimal(options.largest_share, name="largest-share"),
            least_days=whole(options.least_days, name="least-days"),
        ),
    )


def _say_alternative(options: argparse.Namespace) -> None:
    from synth_engine.mixing.alternative import alternative
    from synth_engine.privacy.loss import parse_decimal

    plan = _fill_plan(options)
    private = alternative(plan, epsilon=parse_decimal(options.epsilon, name="epsilon"))
    sys.stdout.write(f"{plan.groups:,} groups. {private.sentence}\n")


def repair_table(options: argparse.Namespace) -> None:
    """Writes a synthetic table whose rows are weighted or repeated so that public totals are met:
    post-processing, which costs nothing."""
    import pandas as pd

    from synth_engine import outputs
    from synth_engine.mixing import raking, repair

    require_output(options, options.table, *options.totals)
    totals = [raking.read_totals(path) for path in options.totals]
    repair.require_way(totals, "rows" if options.repeat else "weights")
    try:
        table = pd.read_csv(options.table, dtype=str, keep_default_na=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        raise InputError(
            "the synthetic table cannot be read as CSV", repair="check its path and encoding"
        ) from None
    if raking.WEIGHT in table:
        raise InputError(
            "the table has a column of weights already",
            repair="leave it out",
            column=raking.WEIGHT,
        )
    if options.repeat:
        made = raking.repaired(table, totals[0])
    else:
        made = table.assign(**{raking.WEIGHT: raking.weights(table, totals)})
    outputs.replace(
        options.out, lambda path: made.to_csv(path, index=False), overwrite=options.overwrite
    )


def update_table(options: argparse.Namespace) -> None:
    """Writes rows of a release after a public rule, and the receipt of that table: post-processing, which
    costs nothing."""
    import pandas as pd

    from synth_engine import outputs, tables
    from synth_engine.mixing import updating

    outputs.require(
        {"--out": options.out, "--record": options.record},
        inputs=(options.model, options.receipt, options.rule),
        overwrite=options.overwrite,
    )
    rule = updating.rule_of(read_json(options.rule, name="rule"))
    release, model = _receipt_and_model(options)
    updating.require(model.domain, rule)
    seed = options.seed or secrets.token_hex(32)
    draw = tables.Drawing(
        model=model, rows=whole(options.rows, name="rows") or model.rows, seed=seed
    )
    made = updating.update(model.domain, pd.concat(draw.blocks(), ignore_index=True), rule)
    outputs.replace(
        options.out,
        lambda path: made.texts.to_csv(path, index=False, lineterminator="\n"),
        overwrite=options.overwrite,
    )
    stated = {
        "rule": rule.to_json(),
        "rows": {"generated": draw.rows, "written": len(made.texts), "left_out": made.left_out},
        "changed": list(made.changed),
        "seed": seed,
        "table_sha256": hashlib.sha256(options.out.read_bytes()).hexdigest(),
    }
    write_json(
        options.record,
        updating.receipt(release, model=model.to_json(), made=stated),
        overwrite=options.overwrite,
    )


def _questions(reading: Mapping[str, Any]) -> Iterator[str]:
    """What the steward has to answer about the form of a file and about its columns, with the answers."""
    for question in reading["questions"]:
        yield f"{question['text']} {_answers(question)}"
    for name, hint in reading["hints"].items():
        if hint["question"] and hint["choices"]:
            yield f"{name}: {hint['question']} {_answers(hint)}"


def _answers(question: Mapping[str, Any]) -> str:
    from synth_engine.formats import form_options

    answers = []
    for choice in question["choices"]:
        facts = {key: value for key, value in choice.get("form", {}).items() if value != []}
        flags = f" [{form_options.flags(facts)}]" if facts else ""
        answers.append(f"{choice['label']}{flags}")
    return "; or ".join(answers) + "."


def gazetteer(options: argparse.Namespace) -> None:
    """Writes points and partitions of a column, from a public file, into a description."""
    from synth_engine import domain as domains
    from synth_engine import outputs, references

    if (
        options.out is None or options.out.resolve() == options.domain.resolve()
    ):  # said in its help: written in place
        out, overwrite = options.domain, True
        outputs.require({"--domain": out}, inputs=(options.reference,))
    else:
        out, overwrite = options.out, options.overwrite
        require_output(options, options.reference, options.domain)
    roles = {
        role: getattr(options, role) for role in ("code", "latitude", "longitude", "weight")
    }
    parents = tuple(_pair(text) for text in options.part)
    reference, source = references.load(options.reference, parents=parents, **roles)
    document = read_json(options.domain, name="domain")
    described = references.described(document, reference, column=options.column, source=source)
    if not (waiting := references.bare(described)):
        domains.Domain.from_json(described)
    sys.stderr.writelines(
        f"note: no value is listed yet of {name}: use the command for it too\n"
        for name in waiting
    )
    write_json(out, described, overwrite=overwrite)


def _pair(text: str, *, what: str = "a partition", option: str = "--part") -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals or not name or not column:
        raise InputError(f"{what} is malformed", repair=f"write {option} NAME=COLUMN")
    return name, column


def guess_form(options: argparse.Namespace) -> None:
    """Writes how a table seems to be written; a person looks at it and corrects it. Refuses, after that, as
    long as a question about it is open."""
    from synth_engine import pipeline
    from synth_engine.formats import Dialect, form_options

    require_output(options, options.data)
    dialect = form_options.apply(pipeline.detect(options.data) or Dialect(), options.read)
    write_json(options.out, dialect.to_json(), overwrite=options.overwrite)
    if not dialect.asked:
        return
    if "encoding" in dialect.asked:
        sys.stderr.write(
            "words of the table (confidential) in each encoding that its bytes allow:\n"
        )
        for name, examples in pipeline.encodings(options.data).items():
            sys.stderr.write(f"  {name}: {', '.join(examples)}\n")
    dialect.require_answers()


def _signing(options: argparse.Namespace) -> Any:
    """Return the function that signs a receipt; None where no key is given."""
    if options.sign_with is None:
        return None
    if options.receipt is None:
        raise InputError(
            "there is nothing to sign without a receipt", repair="add --receipt RECEIPT.json"
        )
    from synth_engine.privacy import signing

    key = signing.load(options.sign_with)
    return lambda statement, schema: signing.sign(statement, schema=schema, key=key)


def _form(options: argparse.Namespace) -> Any:
    """Return the stated form of the table; None where nothing is stated. Errors: InputError, also where
    somebody vouches for formulas of a file that has none."""
    from synth_engine.formats import WORKBOOKS, Dialect, endings, form_options

    # Of what --from names, who vouches is a fact of its query.
    is_file = getattr(options, "source", None) is None
    voucher = getattr(options, "vouched_by", "") if is_file else ""
    read = [*options.read, *([f"vouched_by={voucher}"] if voucher else [])]
    if options.form is None and not read:
        return None
    stored = {} if options.form is None else read_json(options.form, name="form")
    form = form_options.apply(Dialect.from_json(stored), read)
    file = getattr(options, "real", None) or options.data
    if form.vouched_by and is_file and not str(file).lower().endswith(endings(WORKBOOKS)):
        raise InputError(
            "only a query or a workbook has somebody to vouch for it",
            repair="leave out --vouched-by and vouched_by",
        )
    return form


def _form_of_draft(options: argparse.Namespace) -> Any:
    """The form in which a draft is read. What nobody has stated is looked up in the file, and refused where
    it is in doubt: a draft shows the names of the columns, and a record must not become one."""
    from synth_engine import pipeline

    stated = _form(options)
    header = any(pair.startswith("header=") for pair in options.read)
    if options.form is not None:
        header = header or "header" in read_json(options.form, name="form")
    if header or (detected := pipeline.detect(options.data)) is None:
        return stated
    if stated is None:
        detected.require_answers()
        return detected
    from synth_engine.formats import form_options

    form_options.apply(detected, options.read).require_answers()
    if not detected.header:
        raise InputError(
            "whether the first line names the columns is not stated",
            repair="say --read header=yes or no",
        )
    return stated


def _spec(options: argparse.Namespace) -> Any:
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.spec import Spec

    parameters: dict[str, str] = {}
    for pair in options.param:
        key, equals, value = pair.partition("=")
        if not equals or not key or key in parameters:
            raise SpecError(
                "a parameter is malformed or given twice",
                repair="write --param KEY=VALUE, each key once",
            )
        parameters[key] = value
    return Spec(
        mechanism=options.mechanism,
        parameters=parameters,
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
        rows=whole(options.rows, name="rows") or None,
        seed=options.seed,
    )


def _prior(options: argparse.Namespace) -> Any:
    """The public table beside which answers are read; None without one. Errors: SpecError, TableError."""
    from synth_engine.references import load_public_table

    if options.prior is None:
        if options.prior_source or options.prior_column or options.prior_receipt:
            raise SpecError("there is no public table", repair="name its file by --prior")
        return None
    if not options.prior_source:
        raise SpecError(
            "nobody says where the public table is published",
            repair="say it by --prior-source, such as its address",
        )
    renamed = dict(
        _pair(text, what="a renamed column", option="--prior-column")
        for text in options.prior_column
    )
    table = load_public_table(options.prior, published=options.prior_source, renamed=renamed)
    if options.prior_receipt is None:
        return table
    return dataclasses.replace(table, release=_own_release(options, table.source.sha256))


def _own_release(options: argparse.Namespace, sha256: str) -> Any:
    """The earlier release of which a public table was drawn, as its receipt proves it. Errors: SpecError,
    VerificationError."""
    from synth_engine import verifier
    from synth_engine.references import OwnRelease

    receipt = read_json(options.prior_receipt, name="receipt")
    verified = verifier.verify(receipt)
    if (receipt["sample"] or {}).get("table_sha256") != sha256:
        raise SpecError(
            "the receipt is of another table than the public one",
            repair="give the receipt that was written with that table, or leave it out",
        )
    return OwnRelease(core=verified.core, guarantee=receipt["guarantee"]["sentence"])


def whole(text: str, *, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise SpecError(
            f"{name} is not a whole number of 0 or more",
            repair=f"write --{name} 1000, or leave it out",
        )
    return int(text)


def read_json(path: Path, *, name: str) -> Any:
    """Read a JSON object strictly. Raises InputError for anything else."""
    from synth_engine import strict_json

    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise InputError(f"the {name} is too large", repair="check the path")
        text = path.read_text(encoding="utf-8")
        # A key given twice would let one reader see the first value and the verifier the
        # second.
        document = strict_json.loads(text)
    except OSError:
        raise InputError(
            f"the {name} cannot be read", repair="check its path and rights"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(
            f"the {name} is not JSON in UTF-8", repair="use the file as it was written"
        ) from None
    if not isinstance(document, dict):
        raise InputError(
            f"the {name} is not a JSON object", repair="use the file as it was written"
        )
    return document


def _read_model(path: Path, *, says_if_edited: bool = False) -> Model:
    """A model, or the one that a description stands for. says_if_edited: on stderr, where somebody edited the
    description."""
    from synth_engine.models import description
    from synth_engine.models.model import Model

    document = read_json(path, name="model")
    if document.get("schema") != description.SCHEMA:
        return Model.from_json(document)
    model = description.read(document)
    if says_if_edited:
        say_if_edited(document, model)
    return model


def say_if_edited(document: Mapping[str, Any], model: Model) -> None:
    """A note on stderr where somebody edited the description that a release was written as."""
    from synth_engine.models import description

    if document.get("schema") == description.SCHEMA and description.edited(document, model):
        sys.stderr.write(
            "note: this description was edited, so the table is no release of what was measured\n"
        )


def require_output(options: argparse.Namespace, *inputs: Path | None) -> None:
    """Refuses the output of a command that has one, before anything is read."""
    from synth_engine import outputs

    outputs.require({"--out": options.out}, inputs=inputs, overwrite=options.overwrite)


def json_text(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, document: Any, *, overwrite: bool) -> None:
    _write_text(path, json_text(document), overwrite=overwrite)


def _write_text(path: Path, text: str, *, overwrite: bool) -> None:
    from synth_engine import outputs

    outputs.replace(path, lambda temporary: _fill(temporary, text), overwrite=overwrite)


def _fill(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def progress() -> Callable[[str, float], None]:
    """A line that renews itself on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        return lambda _stage, _fraction: None

    def show(stage: str, fraction: float) -> None:
        sys.stderr.write(f"\r{stage} {fraction:4.0%}" + ("\r\x1b[K" if fraction >= 1 else ""))
        sys.stderr.flush()

    return show

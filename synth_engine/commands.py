"""What each word of the command line does (`cli`). A command loads only what it needs, reads its files strictly, and tells
no value of a table."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.errors import InputError, SpecError

if TYPE_CHECKING:
    from synth_engine.pipeline import Release

LARGEST_DOCUMENT = 2**30


def mechanisms(_options: argparse.Namespace) -> None:
    """Prints the list of mechanisms."""
    from synth_engine import mechanisms as registry

    sys.stdout.write(json.dumps(registry.describe(), indent=2, ensure_ascii=False) + "\n")


def synthesize(options: argparse.Namespace) -> None:
    """Measures once, fits, draws one table, writes receipt and model if asked."""
    from synth_engine import domain as domains
    from synth_engine import mechanisms as registry
    from synth_engine import pipeline, tables
    from synth_engine.privacy import receipt as receipts

    spec = _spec(options)
    domain = domains.read(options.domain)
    plan = registry.plan(domain, spec)  # refuses before anything is read
    sys.stderr.write(f"note: {plan.advice}\n" if plan.advice else "")
    _require_outputs(options, domain=domain)
    sign = _signing(options)  # a key that cannot be used is refused before anything is paid for
    form = _form(options)
    release = pipeline.synthesize(options.data, domain=domain, spec=spec, dialect=form, progress=_progress())
    table_digest = tables.write(release.model, release.rows, seed=release.seed, path=options.out)
    model = release.model.to_json()
    _advise(release, epsilon=spec.epsilon)
    if options.model is not None:
        _write_json(options.model, model)
    if options.receipt is not None:
        secret = spec.seed is None
        drawn = receipts.Sample(
            rows=release.rows,
            seed=None if secret else release.seed,
            seed_commitment=receipts.seed_commitment(release.seed) if secret else None,
            table_sha256=table_digest,
        )
        steps = {"model_sha256": receipts.digest(model), "draw_block": registry.BLOCK}
        document = release.plan.receipt(release.answers, sample=drawn, post_processing=steps)
        _write_json(options.receipt, document if sign is None else receipts.signed(document, sign))


def _advise(release: Release, *, epsilon: Fraction) -> None:
    """Says on stderr that a release holds little but noise; from public facts and the (noisy) number of records alone."""
    from synth_engine.evaluation import tree_notes
    from synth_engine.mechanisms.planning import enough

    sys.stderr.write("".join(f"note: {each}\n" for each in tree_notes.sentences(release.model)))
    if not any(measured.clique for measured in release.answers.measurements):
        return  # of the number of records alone there is enough to say
    found = enough.verdict(release.model.domain, rows=max(1, release.model.rows), epsilon=epsilon)
    if found.level == "too-little":
        sys.stderr.write(
            f"note: in {len(found.lost)} of {len(found.strengths)} columns noise outweighs what the table holds. The "
            f"release is valid, but says little. About {found.least_rows:,} records or an epsilon of "
            f"{found.least_epsilon:.3g} would do, or fewer columns, fewer values and wider bins.\n"
        )


def sample(options: argparse.Namespace) -> None:
    """Draws a table from a model or a description: post-processing, which costs nothing."""
    from synth_engine import tables
    from synth_engine.mechanisms.models import description
    from synth_engine.mechanisms.models.model import Model

    tables.require_format(options.out)
    document = _read_json(options.model, name="model")
    described = document.get("schema") == description.SCHEMA
    model = description.read(document) if described else Model.from_json(document)
    if described and description.edited(document, model):
        sys.stderr.write("note: this description was edited, so the table is no release of what was measured\n")
    rows = _whole(options.rows, name="rows") or model.rows
    tables.write(model, rows, seed=options.seed or secrets.token_hex(32), path=options.out)


def describe(options: argparse.Namespace) -> None:
    """Writes a model as a description that people can read and edit."""
    from synth_engine import tables
    from synth_engine.mechanisms.models import description
    from synth_engine.mechanisms.models.model import Model

    tables.require_folder(options.out)
    _write_json(options.out, description.write(Model.from_json(_read_json(options.model, name="model"))))


def verify(options: argparse.Namespace) -> None:
    """Prints what a receipt proves."""
    from synth_engine.privacy import verify as verifying
    from synth_engine.privacy import verify_file

    found = verifying.verify(
        _read_json(options.receipt, name="receipt"),
        head=None if options.head is None else _read_json(options.head, name="head"),
        key=None if options.key is None else verify_file.read_key(options.key),
        core=options.digest,
    )
    sys.stdout.write(verify_file.report(found))


def verifier(options: argparse.Namespace) -> None:
    """Writes the program that an auditor runs."""
    from synth_engine import tables
    from synth_engine.privacy import standalone

    tables.require_folder(options.out)
    tables.replace(options.out, lambda path: _write_text(path, standalone.text()))


def compare(options: argparse.Namespace) -> None:
    """Writes the comparison as JSON, or as one HTML file."""
    if options.out.suffix not in (".json", ".html"):
        raise InputError("the report has another format", repair="end its name in .json or .html")
    from synth_engine import domain as domains
    from synth_engine import pipeline, tables

    tables.require_folder(options.out)
    domain = domains.read(options.domain)
    form = _form(options)
    report = pipeline.compare(options.real, options.synthetic, domain=domain, dialect=form, progress=_progress())
    if options.out.suffix == ".json":
        _write_json(options.out, report)
        return
    from synth_engine.evaluation import page

    text = page.html(report)
    tables.replace(options.out, lambda path: _write_text(path, text))


def draft_domain(options: argparse.Namespace) -> None:
    """Writes suggestions as a domain in which every fact is marked as suggested by the data."""
    from synth_engine import domain as domains
    from synth_engine import pipeline, tables

    tables.require_folder(options.out)
    reading = pipeline.ingest(options.data, dialect=_form_of_draft(options), progress=_progress())
    sys.stderr.writelines(f"note: {each}\n" for each in reading["notes"])
    draft = {
        "schema": domains.SCHEMA_NAME,
        "relation": "add-remove",
        "unit": {"max_records": 1, "column": None},
        "attributes": reading["suggestions"],
    }
    _write_json(options.out, draft)
    sys.stderr.write(
        'note: this draft was read off the data, so it is confidential; confirm each fact as public and set "provenance" '
        'to "declared" before using it\n'
    )


def gazetteer(options: argparse.Namespace) -> None:
    """Writes points and partitions of a column, from a public file, into a description."""
    from synth_engine import domain as domains
    from synth_engine import references, tables

    out = options.out or options.domain
    tables.require_folder(out)
    said = {role: getattr(options, role) for role in ("code", "latitude", "longitude", "weight")}
    parents = tuple(_pair(text) for text in options.part)
    reference, source = references.load(options.reference, parents=parents, **said)
    document = _read_json(options.domain, name="domain")
    found = references.described(document, reference, column=options.column, source=source)
    if not (waiting := references.bare(found)):
        domains.Domain.from_json(found)
    sys.stderr.writelines(f"note: no value is listed yet of {name}: use the command for it too\n" for name in waiting)
    _write_json(out, found)


def _pair(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals or not name or not column:
        raise InputError("a partition is malformed", repair="write --part NAME=COLUMN")
    return name, column


def guess_form(options: argparse.Namespace) -> None:
    """Writes how a table seems to be written; a person looks at it and corrects it. Refuses, after that, as long as
    a question about it is open."""
    from synth_engine import pipeline, tables
    from synth_engine.formats import Dialect, words

    tables.require_folder(options.out)
    found = words.apply(pipeline.detect(options.data) or Dialect(), options.read)
    _write_json(options.out, found.to_json())
    if not found.asked:
        return
    if "encoding" in found.asked:
        sys.stderr.write("words of the table (confidential) in each encoding that its bytes allow:\n")
        for name, examples in pipeline.encodings(options.data).items():
            sys.stderr.write(f"  {name}: {', '.join(examples)}\n")
    found.require_answers()


def _signing(options: argparse.Namespace) -> Any:
    """What signs a receipt; None where no key is given."""
    if options.sign_with is None:
        return None
    if options.receipt is None:
        raise InputError("there is nothing to sign without a receipt", repair="add --receipt RECEIPT.json")
    from synth_engine.privacy import signing

    key = signing.load(options.sign_with)
    return lambda statement, schema: signing.sign(statement, schema=schema, key=key)


def _form(options: argparse.Namespace) -> Any:
    """How the table is written, if that is said."""
    from synth_engine.formats import Dialect, words

    if options.form is None and not options.read:
        return None
    stored = {} if options.form is None else _read_json(options.form, name="form")
    return words.apply(Dialect.from_json(stored), options.read)


def _form_of_draft(options: argparse.Namespace) -> Any:
    """The form in which a draft is read. What nobody has stated is looked up in the file, and refused where it is in
    doubt: a draft shows the names of the columns, and a record must not become one."""
    from synth_engine import pipeline

    stated = _form(options)
    header = any(pair.startswith("header=") for pair in options.read)
    if options.form is not None:
        header = header or "header" in _read_json(options.form, name="form")
    if header or (found := pipeline.detect(options.data)) is None:
        return stated
    if stated is None:
        found.require_answers()
        return None
    from synth_engine.formats import words

    words.apply(found, options.read).require_answers()
    if not found.header:
        raise InputError("whether the first line names the columns is not stated", repair="say --read header=yes or no")
    return stated


def _spec(options: argparse.Namespace) -> Any:
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.spec import Spec

    parameters: dict[str, str] = {}
    for pair in options.param:
        key, equals, value = pair.partition("=")
        if not equals or not key or key in parameters:
            raise SpecError("a parameter is malformed or given twice", repair="write --param KEY=VALUE, each key once")
        parameters[key] = value
    return Spec(
        mechanism=options.mechanism,
        parameters=parameters,
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
        rows=_whole(options.rows, name="rows") or None,
        seed=options.seed,
    )


def _whole(text: str, *, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise SpecError(f"{name} is not a whole number of 0 or more", repair=f"write --{name} 1000, or leave it out")
    return int(text)


def _require_outputs(options: argparse.Namespace, *, domain: Any) -> None:
    from synth_engine import tables

    tables.require_format(options.out, domain=domain)
    outputs = [path for path in (options.out, options.receipt, options.model) if path is not None]
    for path in outputs:
        tables.require_folder(path)
    inputs = [path for path in (options.data, options.domain, options.form) if path is not None]
    places = [path.resolve() for path in outputs + inputs]
    if len(set(places[: len(outputs)])) < len(outputs) or set(places[: len(outputs)]) & set(places[len(outputs) :]):
        raise InputError("two of the files are the same", repair="give every output a name of its own")


def _read_json(path: Path, *, name: str) -> Any:
    """A name given twice would let a reader see one value and the verifier another."""
    from synth_engine import strict_json

    try:
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise InputError(f"the {name} is too large", repair="check the path")
        text = path.read_text(encoding="utf-8")
        document = strict_json.loads(text)
    except OSError:
        raise InputError(f"the {name} cannot be read", repair="check its path and rights") from None
    except (ValueError, RecursionError):
        raise InputError(f"the {name} is not JSON in UTF-8", repair="use the file as it was written") from None
    if not isinstance(document, dict):
        raise InputError(f"the {name} is not a JSON object", repair="use the file as it was written")
    return document


def _write_json(path: Path, document: Any) -> None:
    from synth_engine import tables

    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    tables.replace(path, lambda temporary: _write_text(temporary, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _progress() -> Callable[[str, float], None]:
    """A line that renews itself on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        return lambda _stage, _fraction: None

    def show(stage: str, fraction: float) -> None:
        sys.stderr.write(f"\r{stage} {fraction:4.0%}" + ("\r\x1b[K" if fraction >= 1 else ""))
        sys.stderr.flush()

    return show

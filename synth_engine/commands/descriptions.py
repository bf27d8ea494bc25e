"""Commands about descriptions: `learn`, `describe`, `domain`, `gazetteer` and `form`."""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth_engine.commands import inputs, release_documents
from synth_engine.commands.arguments import add_command, loss_arguments, overwrites
from synth_engine.commands.parts import (
    json_text,
    pair,
    progress,
    read_json,
    require_output,
    write_json,
)
from synth_engine.errors import InputError


def add(words: Any) -> None:
    """Add the commands about descriptions."""
    command = functools.partial(add_command, words)
    learning = command(
        "learn",
        learn,
        about="learn undeclared columns once, for all later runs: a description with its receipt",
    )
    _learn_arguments(learning)
    describing = command(
        "describe", describe, about="write a model as a description, to be read and edited"
    )
    describing.add_argument("model", metavar="MODEL.json", type=Path)
    describing.add_argument("--out", metavar="DESCRIPTION.json", type=Path, required=True)
    drafting = command(
        "domain",
        draft_domain,
        about="draft a domain from the data, to be edited and confirmed",
    )
    inputs.data_arguments(drafting)
    inputs.form_arguments(drafting)
    drafting.add_argument("--out", metavar="DOMAIN.json", type=Path, required=True)
    placing = command(
        "gazetteer",
        gazetteer,
        about="say by a public file where a column's codes lie, and of what they are parts",
    )
    _gazetteer_arguments(placing)
    guessing = command(
        "form",
        guess_form,
        about="guess how a CSV is written, to be corrected and given with it",
    )
    guessing.add_argument("data", metavar="DATA", type=Path)
    guessing.add_argument("--out", metavar="FORM.json", type=Path, required=True)
    inputs.read_argument(guessing)
    overwrites(learning, describing, drafting, placing, guessing)


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
    sign = release_documents.signing(options)
    form = inputs.form(options)
    with contextlib.ExitStack() as stack:
        room = min(release_documents.MAX_RESERVED_BYTES, 4 * plan.answers_bytes())
        files = [
            stack.enter_context(
                outputs.pending(path, reserve=room, overwrite=options.overwrite)
            )
            for path in written.values()
        ]
        data, kind = stack.enter_context(inputs.table(options))
        pipeline.confirm(plan)
        pipeline.require_columns(data, domain=plan.domain, kind=kind, dialect=form)
        pipeline.require_vouched(data, kind=kind, dialect=form)
        spent = release_documents.LossReporter(spec)
        with spent.report_loss():
            answers = pipeline.measure(data, plan=plan, kind=kind, dialect=form, progress=spent)
            document = inputs.of_source(plan.receipt(answers), options, form=form)
            document = document if sign is None else receipts.signed(document, sign)
            # What was paid for is written before anything is made of it.
            description_file, receipt_file, answers_file = files
            receipt_file.write_bytes(json_text(document).encode())
            receipt_file.keep()
            answers_file.write_bytes(answers.to_bytes())
            answers_file.keep()
            described = plan.described(answers, paid_by=document)
            description_file.write_bytes(json_text(described.to_json()).encode())
            description_file.keep()
    if not_found := plan.not_found(answers):
        names = ", ".join(repr(name) for name in not_found)
        sys.stderr.write(
            f"note: not found: {names}. They stay undeclared, so that each release learns them; a larger "
            "epsilon, fewer columns, or bounds or values that are declared would do.\n"
        )


def describe(options: argparse.Namespace) -> None:
    """Writes a model as a description that people can read and edit."""
    from synth_engine.models import description
    from synth_engine.models.model import Model

    require_output(options, options.model)
    document = description.write(Model.from_json(read_json(options.model, name="model")))
    write_json(options.out, document, overwrite=options.overwrite)


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


def drafted(options: argparse.Namespace) -> Mapping[str, Any]:
    """The reading of a table that a draft is written from: confidential."""
    from synth_engine import pipeline

    with inputs.table(options) as (data, kind):
        form = None if kind else _form_of_draft(options)
        return pipeline.ingest(data, kind=kind, dialect=form, progress=progress())


def _lists_read(suggestions: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """The columns of a draft that list values which are not public by themselves, and how many."""
    from synth_engine.values import is_public_list

    for each in suggestions:
        if each["kind"] == "categorical" and not is_public_list(each["values"]):
            yield each["name"], len(each["values"])


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


def _form_of_draft(options: argparse.Namespace) -> Any:
    """The form in which a draft is read. What nobody has stated is looked up in the file, and refused where
    it is in doubt: a draft shows the names of the columns, and a record must not become one."""
    from synth_engine import pipeline

    stated = inputs.form(options)
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
    parents = tuple(pair(text) for text in options.part)
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


def _learn_arguments(sub: argparse.ArgumentParser) -> None:
    inputs.data_arguments(sub)
    inputs.form_arguments(sub)
    sub.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    loss_arguments(sub)
    sub.add_argument(
        "--column",
        metavar="NAME",
        action="append",
        default=[],
        help="an undeclared column to learn; repeatable; absent: all of them",
    )
    sub.add_argument(
        "--out", metavar="DOMAIN.json", type=Path, required=True, help="what was learned"
    )
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    sub.add_argument("--answers", metavar="ANSWERS.npz", type=Path, required=True)
    sub.add_argument(
        "--sign-with",
        metavar="KEY.pem",
        type=Path,
        help="an Ed25519 private key that signs the receipt",
    )


def _gazetteer_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "reference",
        metavar="REFERENCE",
        type=Path,
        help="CSV or CSV.gz; a LODES crosswalk as it is",
    )
    sub.add_argument(
        "--column", metavar="NAME", required=True, help="of the description, of categories"
    )
    sub.add_argument(
        "--domain",
        metavar="DOMAIN.json",
        type=Path,
        required=True,
        help="read, and written unless --out",
    )
    sub.add_argument("--out", metavar="DOMAIN.json", type=Path)
    for role in ("code", "latitude", "longitude", "weight"):
        sub.add_argument(
            f"--{role}", metavar="COLUMN", help="of the reference; absent: by its name"
        )
    sub.add_argument(
        "--part",
        metavar="NAME=COLUMN",
        action="append",
        default=[],
        help="a partition; repeatable",
    )

"""Commands that read what a release wrote: `verify`, `check` and `fit`; and `verifier`, the program of an
auditor."""

from __future__ import annotations

import argparse
import csv
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.commands.arguments import add_command, overwrites
from synth_engine.commands.parts import progress, read_json, require_output, write_text
from synth_engine.commands.released import answers_of, plan_of, released
from synth_engine.errors import InputError, SynthError, VerificationError

if TYPE_CHECKING:
    from synth_engine.mechanisms import Plan


def add(words: Any) -> None:
    """Add the commands that check a release."""
    command = functools.partial(add_command, words)
    _verify_arguments(
        command("verify", verify, about="recompute epsilon and delta from a receipt alone")
    )
    _check_arguments(
        command(
            "check",
            check,
            about="say whether a release meets criteria that were fixed before its run, from noisy answers "
            "alone",
        )
    )
    _fit_arguments(
        command(
            "fit",
            fit,
            about="regress one column on others, with intervals that include the noise, from noisy answers "
            "alone",
        )
    )
    writing = command(
        "verifier",
        verifier,
        about="write the verifier of receipts as one file that needs only Python",
    )
    writing.add_argument("--out", metavar="FILE.py", type=Path, required=True)
    overwrites(writing)


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
    if options.bought and is_bundle:
        raise InputError(
            "purchases are verified beside the receipt that names them",
            repair="give the RECEIPT.json of the bundle with --bought",
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

    plan, answers = plan_of(receipt, options.domain), answers_of(receipt, options.answers)
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
    plan, model, answers = released(options)
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


_VERDICTS = {"met": "met", "not-met": "not met", "cannot-tell": "cannot be told"}


def require_criteria(options: argparse.Namespace, plan: Plan) -> None:
    """Refuse criteria that could never be told of a release, before anything is spent. Errors: SpecError."""
    from synth_engine.evaluation import criteria

    if options.criteria is not None:
        stated = read_json(options.criteria, name="file of criteria")
        criteria.require(plan, criteria.from_document(stated))


def fit(options: argparse.Namespace) -> None:
    """Prints the coefficients of a regression as CSV, and on stderr what values count as."""
    from synth_engine import verifier
    from synth_engine.evaluation import fits

    receipt = read_json(options.receipt, name="receipt")
    verifier.verify(receipt)
    counts = fits.published(
        plan_of(receipt, options.domain), answers_of(receipt, options.answers)
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


def verifier(options: argparse.Namespace) -> None:
    """Writes the program that an auditor runs."""
    from synth_engine.verifier import standalone

    require_output(options)
    write_text(options.out, standalone.text(), overwrite=options.overwrite)


def _verify_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "receipt", metavar="RECEIPT.json", type=Path, help="a receipt, or a bundle (.zip)"
    )
    sub.add_argument(
        "--head", metavar="HEAD.json", type=Path, help="the latest signed head of its marks"
    )
    sub.add_argument(
        "--key",
        metavar="PUBLIC.pem",
        type=Path,
        help="with which receipt and head have to be signed",
    )
    sub.add_argument("--digest", metavar="SHA256", help="of its core, as a citation names it")
    sub.add_argument(
        "--answers",
        metavar="ANSWERS.npz",
        type=Path,
        help="the noisy answers of the run, from which the columns that were not found are recomputed",
    )
    sub.add_argument(
        "--domain", metavar="DOMAIN.json", type=Path, help="with --answers: as for the run"
    )
    sub.add_argument(
        "--bought",
        metavar="RECEIPT.json",
        type=Path,
        action="append",
        default=[],
        help="the receipt of a run that learned facts of the description; repeatable: all of them",
    )


def _check_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "criteria", metavar="CRITERIA.json", type=Path, help="a list, or a file of choices"
    )
    sub.add_argument(
        "--domain", metavar="DOMAIN.json", type=Path, required=True, help="as for the run"
    )
    sub.add_argument("--model", metavar="MODEL.json", type=Path, required=True)
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    sub.add_argument(
        "--answers",
        metavar="ANSWERS.npz",
        type=Path,
        help="the noisy answers; without them only the mean distance of pairs can be told",
    )


def _fit_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("outcome", metavar="OUTCOME", help="the column that is explained")
    sub.add_argument(
        "regressors", metavar="REGRESSOR", nargs="+", help="columns that explain it"
    )
    sub.add_argument(
        "--kind", choices=("ols", "logit"), default="ols", help="least squares, or a logit"
    )
    sub.add_argument(
        "--domain", metavar="DOMAIN.json", type=Path, required=True, help="as for the run"
    )
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    sub.add_argument(
        "--answers", metavar="ANSWERS.npz", type=Path, required=True, help="the noisy answers"
    )

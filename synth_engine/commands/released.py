"""What one run wrote, read again: model, receipt, plan and noisy answers, which have to belong together."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from synth_engine.commands.parts import read_json
from synth_engine.errors import InputError

if TYPE_CHECKING:
    from synth_engine.measurement import Answers
    from synth_engine.mechanisms import Plan
    from synth_engine.models.model import Model
    from synth_engine.privacy.receipt import Receipt


def read_model(path: Path, *, says_if_edited: bool = False) -> Model:
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


def receipt_and_model(options: argparse.Namespace) -> tuple[Receipt, Model]:
    """The receipt of a release, which verifies, and its model. Errors: InputError where they are of two."""
    from synth_engine import verifier
    from synth_engine.privacy import receipt as receipts

    receipt = read_json(options.receipt, name="receipt")
    verifier.verify(receipt)
    model = read_model(options.model)
    digest = receipts.digest(model.to_json())
    if receipt["post_processing"].get("model_sha256", digest) != digest:
        raise InputError(
            "the receipt is of another model", repair="give the two that one run wrote"
        )
    return receipt, model


def released(options: argparse.Namespace) -> tuple[Plan, Model, Answers | None]:
    """The plan, the model and the noisy answers of a release, which belong together by its receipt. Errors:
    InputError."""
    receipt, model = receipt_and_model(options)
    plan = plan_of(receipt, options.domain)
    answers = None if options.answers is None else answers_of(receipt, options.answers)
    return plan, model, answers


def plan_of(receipt: Any, domain: Path) -> Plan:
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


def answers_of(receipt: Any, path: Path) -> Answers:
    """The noisy answers of a run. Errors: InputError."""
    from synth_engine.measurement import Answers

    answers = Answers.load(path)
    if answers.digest != receipt["answers_sha256"]:
        raise InputError(
            "the noisy answers are of another run", repair="give those that the run wrote"
        )
    return answers

"""The sketch of one side: one noisy table of buckets and linked columns, its plan, its receipt and its
file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NoReturn, cast

import numpy as np

from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.linking.agreement import BUCKET, Agreement, Side
from synth_engine.measurement import (
    AnsweredCall,
    Answers,
    Call,
    Counts,
    Measurement,
    Noise,
    Query,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.privacy import static_calibration
from synth_engine.privacy.loss import ratio
from synth_engine.privacy.receipt import Receipt
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/link-sketch/1"
MECHANISM = "link-sketch"


@dataclass(frozen=True, kw_only=True)
class LinkSketch(Mechanism):
    """A table of buckets and linked columns of one side of a link.

    Asks: one `measure` of the bucket and the linked columns (static).
    Privacy: discrete Laplace noise with the whole epsilon. The bucket of a record is a function of its own
    texts and of public
        numbers, so that a record falls into one cell. Proof: docs/proofs/link-sketch.md.
    Public assumptions: the agreement, in which are both descriptions' digests, the hash functions and the
    linked columns.
    """

    id: ClassVar[str] = MECHANISM
    title: ClassVar[str] = "Sketch of a link"
    summary: ClassVar[str] = (
        "Counts records by buckets of their hashed texts, so that persons in two tables can be estimated "
        "from both sketches."
    )
    paper: ClassVar[str] = "Broder 1997 (MinHash); Ping, Stoyanovich and Howe 2017 (3.2)"
    keeps: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure",)
    kind: ClassVar[Literal["static", "adaptive"]] = "static"

    agreement: Agreement
    side: Side

    def calibrate(
        self, domain: Domain, spec: Spec, *, within: Budget | None = None
    ) -> SketchPlan:
        del within
        fixed = static_calibration.noise(
            "discrete-laplace",
            (Fraction(1),),
            epsilon=spec.epsilon,
            delta=Fraction(0),
            unit=domain.unit,
            relation=domain.relation,
        )
        noise = Noise(law="discrete-laplace", scale=fixed.scales[0])
        call = Call(
            query=Query(verb="measure", clique=domain.names, cells=domain.cells(domain.names)),
            event=noise.event(histogram_sensitivity(domain.unit, domain.relation)),
        )
        return SketchPlan(
            config=self,
            domain=domain,
            spec=spec,
            calls=(call,),
            found_by=fixed.certificate,
            noise=noise,
        )


@dataclass(frozen=True, kw_only=True)
class SketchPlan(Plan):
    """A sketch with its noise set."""

    config: LinkSketch
    noise: Noise

    def ask(self, session: Session) -> None:
        session.measure(self.domain.names, noise=self.noise)

    def fit_replay(self, given: Replay) -> NoReturn:
        del given
        raise SpecError(
            "a sketch has no model of its own",
            repair="estimate a link from the sketches of both sides",
        )

    def read(self, answers: Answers) -> Sketch:
        """The sketch of these answers, with its receipt. Errors: InputError for answers of another plan."""
        given = Replay(answers)
        measured = given.measurement(self.domain.names)
        given.finish()
        return Sketch(
            agreement=self.config.agreement,
            side=self.config.side,
            counts=measured.values,
            receipt=self.receipt(answers),
        )


def plan(agreement: Agreement, side: Side) -> SketchPlan:
    """The plan of one side, from public facts alone. Its receipt names the link and the loss of a person who
    is in both tables."""
    domain, spec = agreement.domain_of(side), spec_of(agreement, side)
    return LinkSketch(agreement=agreement, side=side).calibrate(domain, spec)


def spec_of(agreement: Agreement, side: Side) -> Spec:
    """The request for the sketch of one side, as it is stored."""
    return Spec(
        mechanism=MECHANISM,
        parameters={
            "link": agreement.digest,
            "side": side,
            "epsilon_of_both": ratio(agreement.epsilon_of_both),
        },
        epsilon=agreement.side(side).epsilon,
        delta=Fraction(0),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch:
    """What left the room of one side. counts: noisy, two axes of buckets and one further axis for each linked
    column."""

    agreement: Agreement
    side: Side
    counts: Counts
    receipt: Receipt

    @property
    def noise(self) -> Noise:
        """The noise of each cell."""
        return plan(self.agreement, self.side).noise

    @property
    def answers(self) -> Answers:
        """The answers of the run, whose digest the receipt names."""
        planned = plan(self.agreement, self.side)
        clique = planned.domain.names
        measured = Measurement(clique=clique, noise=planned.noise, values=self.counts)
        return Answers((AnsweredCall(planned.calls[0], measured),))

    def to_json(self) -> JsonObject:
        return {
            "schema": SCHEMA,
            "link": self.agreement.digest,
            "side": self.side,
            "columns": [*BUCKET, *self.agreement.side(self.side).names],
            "shape": list(self.counts.shape),
            "counts": self.counts.ravel().tolist(),
            "receipt": cast("JsonObject", self.receipt),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], agreement: Agreement) -> Sketch:
        """Reads a sketch of this link, and checks that its receipt is of this plan and of these counts; what
        the receipt proves is for the verifier to say. Errors: InputError."""
        if document.get("schema") != SCHEMA:
            raise InputError(
                "the document is no sketch", repair="give the file that `link sketch` wrote"
            )
        if document.get("link") != agreement.digest:
            raise InputError(
                "the sketch is of another link",
                repair="give both sketches and the link that both sides agreed on",
            )
        side = document.get("side")
        if side not in ("left", "right"):
            raise InputError(
                "the sketch is of no side", repair="use the file as it was written"
            )
        shape = agreement.domain_of(side).shape(agreement.domain_of(side).names)
        counts = document.get("counts")
        if (
            not isinstance(counts, list)
            or len(counts) != int(np.prod(shape))
            or not all(type(count) is int and abs(count) < 2**62 for count in counts)
        ):
            raise InputError(
                "the counts of the sketch do not fit its link",
                repair="use the file as it was written",
            )
        receipt = document.get("receipt")
        if not isinstance(receipt, dict):
            raise InputError(
                "the sketch has no receipt", repair="use the file as it was written"
            )
        read = cls(
            agreement=agreement,
            side=side,
            counts=np.array(counts, dtype=np.int64).reshape(shape),
            receipt=receipt,  # type: ignore[arg-type]
        )
        read._require_receipt()
        return read

    def _require_receipt(self) -> None:
        stated = self.receipt.get("plan")
        planned = plan(self.agreement, self.side)
        if (
            not isinstance(stated, dict)
            or stated.get("sha256") != planned.digest
            or self.receipt.get("answers_sha256") != self.answers.digest
        ):
            raise InputError(
                "the receipt of the sketch is of another link, or of other counts",
                repair="use the file as it was written",
            )

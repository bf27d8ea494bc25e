"""The receipt of a release: every call, its exact noise and cost, and what follows from them.

Written once, after the room is closed; `verify` reads it and trusts none of its sums. Amounts are ratios of
integers as text, never floats. It holds nothing that depends on rows but two digests of noisy values.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata
from typing import Any, Literal

from synth_engine.errors import SpecError
from synth_engine.privacy.events import DirichletMultinomial, Event
from synth_engine.privacy.fixed import Certificate
from synth_engine.privacy.loss import NANO, nano, plain, ratio
from synth_engine.privacy.unit import PrivacyUnit, Relation

SCHEMA = "synthweb/receipt/3"
"""The first version named no certificate, and of the first two the plan did not say who is protected; the verifier reads
all of them."""
Kind = Literal["static", "adaptive"]
TOTALS = "totals of "
"""How the name of an invariant begins that says how many records have each value of a column."""
_EDITED = "edited_description_sha256"
_SENSITIVITIES = ("l1", "l2_squared", "linf")


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What is promised, never below what the certificate shows of the calls. rho: the zCDP cost of the same run,
    rounded up to the 10⁻⁹ in which ledgers count."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    certificate: Certificate

    def to_json(self, *, relation: Relation, unit: PrivacyUnit, invariants: Sequence[str] = ()) -> dict[str, str]:
        return {
            "epsilon": ratio(self.epsilon),
            "delta": ratio(self.delta),
            "rho": ratio(Fraction(nano(self.rho), NANO)),
            "certificate": self.certificate,
            "sentence": self.sentence(relation=relation, unit=unit, invariants=invariants),
        }

    def sentence(self, *, relation: Relation, unit: PrivacyUnit, invariants: Sequence[str] = ()) -> str:
        change = "added or removed" if relation is Relation.ADD_REMOVE else "replaced"
        change += "".join(f", its {name.removeprefix(TOTALS)} kept" for name in invariants if name.startswith(TOTALS))
        exact = f"epsilon = {plain(self.epsilon)}"
        if self.delta == 0:
            return f"{exact} differential privacy for {unit.sentence()} {change}."
        return f"({exact}, delta = {scientific(self.delta)}) differential privacy for {unit.sentence()} {change}."


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One table drawn from the release. Exactly one of seed (public) and seed_commitment (secret) is given."""

    rows: int
    seed: str | None = None
    seed_commitment: str | None = None
    table_sha256: str | None = None

    def __post_init__(self) -> None:
        if (self.seed is None) == (self.seed_commitment is None):
            raise SpecError("a sample shows either its seed or a commitment to it")

    def to_json(self) -> dict[str, Any]:
        fields = {"seed": self.seed, "seed_commitment": self.seed_commitment, "table_sha256": self.table_sha256}
        return {"rows": self.rows} | {key: value for key, value in fields.items() if value is not None}


def seed_commitment(seed: str) -> str:
    """What a receipt shows of a secret seed. It hides a seed of 128 random bits, not a guessable word."""
    return hashlib.sha256(b"synthweb/seed-commitment/1\x00" + seed.encode()).hexdigest()


def call_to_json(query: Mapping[str, Any], event: Event) -> dict[str, Any]:
    """One line of the journal as the receipt shows it."""
    fields = event.to_json()
    return {
        "query": dict(query),
        "noise": {key: value for key, value in fields.items() if key not in _SENSITIVITIES},
        "sensitivity": {key: value for key, value in fields.items() if key in _SENSITIVITIES},
        "cost": _cost(event),
    }


def _cost(event: Event) -> dict[str, str]:
    if isinstance(event, DirichletMultinomial):
        return {"epsilon": ratio(event.epsilon), "delta": ratio(event.delta)}
    epsilon = event.pure_epsilon()
    return {"rho": ratio(event.rho())} | ({} if epsilon is None else {"epsilon": ratio(epsilon)})


def build(
    *,
    mechanism: str,
    parameters: Mapping[str, Any],
    kind: Kind,
    plan_digest: str,
    cap: Mapping[str, str] | None,
    relation: Relation,
    unit: PrivacyUnit,
    invariants: Sequence[str],
    domain_digest: str,
    domain_facts: Mapping[str, int],
    target: tuple[Fraction, Fraction],
    guarantee: Guarantee,
    calls: Sequence[tuple[Mapping[str, Any], Event]],
    answers_digest: str,
    post_processing: Mapping[str, Any] | None = None,
    sample: Sample | None = None,
    chosen_after_looking: bool = False,
) -> dict[str, Any]:
    """The receipt as a JSON document. For a static mechanism the calls themselves are digested beforehand:
    they were fixed by public facts; an adaptive one names the cap under which it ran."""
    lines = [call_to_json(query, event) for query, event in calls]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "mechanism": {"id": mechanism, "parameters": dict(parameters), "kind": kind},
        "plan": {"sha256": plan_digest, "calls_sha256": digest(lines) if kind == "static" else None, "cap": cap},
        "relation": relation.value,
        "unit": unit.to_json(),
        "invariants": list(invariants),
        "domain_sha256": domain_digest,
        "domain_facts": dict(domain_facts),
        "target": {"epsilon": ratio(target[0]), "delta": ratio(target[1])},
        "guarantee": guarantee.to_json(relation=relation, unit=unit, invariants=invariants),
        "calls": lines,
        "answers_sha256": answers_digest,
        "post_processing": dict(post_processing or {}),
        "sample": None if sample is None else sample.to_json(),
        "chosen_after_looking": chosen_after_looking,
        "versions": versions(),
    }
    return seal(document)


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its digest renewed, after a sample was named or a look at real data was marked."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return rest | {"digest": digest(rest)}


def with_sample(document: Mapping[str, Any], sample: Sample) -> dict[str, Any]:
    """The same release, for one table drawn from it."""
    return seal(dict(document) | {"sample": sample.to_json()})


def mark_chosen_after_looking(document: Mapping[str, Any]) -> dict[str, Any]:
    """From now on the receipt says that a choice was made after a look at real data."""
    return seal(dict(document) | {"chosen_after_looking": True})


def mark_suggestions_shown(document: Mapping[str, Any]) -> dict[str, Any]:
    """The receipt says that suggestions read from the data were shown before the description was confirmed. Only that: which
    fact equals a suggestion would confirm the suggestion."""
    return seal(dict(document) | {"suggestions_shown": True})


def mark_edited(document: Mapping[str, Any], *, description: str) -> dict[str, Any]:
    """The receipt of what is drawn from a description that somebody edited, by its SHA-256: no longer what was
    measured."""
    return seal(dict(document) | {"post_processing": document["post_processing"] | {_EDITED: description}})


def is_edited(document: Mapping[str, Any]) -> bool:
    """Whether a receipt is of something drawn from an edited description."""
    return _EDITED in document["post_processing"]


def canonical(obj: Any) -> bytes:
    """Canonical JSON: sorted keys, no blanks, ASCII, no floats that JSON lacks."""
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(obj: Any) -> str:
    """SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(obj)).hexdigest()


def versions() -> dict[str, str]:
    """Of what took part in the run."""
    found = {"python": platform.python_version()}
    for name in ("numpy", "opendp"):
        found[name] = metadata.version(name)
    return found | {"synth_engine": _engine_version()}


def scientific(amount: Fraction) -> str:
    """Short text for sentences: "1e-9" where the amount is a power of ten, else its plain text."""
    if amount.numerator == 1 and str(amount.denominator).strip("0") == "1":
        return f"1e-{len(str(amount.denominator)) - 1}"
    return plain(amount)


def _engine_version() -> str:
    from synth_engine import __version__

    return __version__

"""The public table beside which the answers of a release were read, as its receipt states it."""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine import mechanisms
from synth_engine.privacy import receipt as receipts


@dataclass(frozen=True, kw_only=True)
class PublicTableSummary:
    """What a receipt states of a public table. core, guarantee: of the earlier release from which it was
    drawn; else empty."""

    name: str
    version: str
    sha256: str
    published: str
    records: int
    columns: tuple[str, ...]
    core: str
    guarantee: str


def stated(document: receipts.Receipt) -> PublicTableSummary | None:
    """None where answers were read by themselves."""
    mechanism = document["mechanism"]
    traits = mechanisms.traits(mechanism["id"])
    prior = mechanism["parameters"].get(traits.prior_key)
    # Another method has a parameter of that name.
    if not traits.takes_prior or not isinstance(prior, dict):
        return None
    release = prior.get("release") or {"core": "", "guarantee": ""}
    return PublicTableSummary(
        name=prior["name"],
        version=prior["version"],
        sha256=prior["sha256"],
        published=prior["published"],
        records=prior["records"],
        columns=tuple(prior["columns"]),
        core=release["core"],
        guarantee=release["guarantee"],
    )

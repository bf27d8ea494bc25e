"""The methods on offer. Adding one is a file here, a line in `REGISTRY`, a proof note, and a row in
docs/methods.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.mechanisms.auto.auto import Auto
from synth_engine.mechanisms.contingency_table import ContingencyTableMechanism
from synth_engine.mechanisms.dpsyn import DPSyn
from synth_engine.mechanisms.generalize.generalize import Generalize
from synth_engine.mechanisms.independent import Independent
from synth_engine.mechanisms.on_the_map.on_the_map import OnTheMap
from synth_engine.mechanisms.pairwise.aim import Aim
from synth_engine.mechanisms.pairwise.bayesian_network import BayesianNetwork
from synth_engine.mechanisms.pairwise.mst import Mst
from synth_engine.mechanisms.pairwise.privsyn import PrivSyn
from synth_engine.mechanisms.trees import columns, place_stage
from synth_engine.mechanisms.trees.adaptive import Adaptive
from synth_engine.mechanisms.trees.adaptive_basic import AdaptiveBasic
from synth_engine.mechanisms.trees.adaptive_improved import AdaptiveImproved
from synth_engine.mechanisms.trees.direct import DirectSynthesis
from synth_engine.mechanisms.trees.privtree import PrivTree
from synth_engine.mechanisms.uniform import Random
from synth_engine.mechanisms.weak_domain import WeakDomain
from synth_engine.models import group_sizes
from synth_engine.models.model import Codes, Model, generator
from synth_engine.plans import parameters, two_stage
from synth_engine.plans.estimate import Estimate
from synth_engine.plans.plan import Mechanism, MechanismFacts, Plan, Rule
from synth_engine.references import PublicTable
from synth_engine.spec import Spec

if TYPE_CHECKING:
    import pandas as pd

REGISTRY: dict[str, type[Mechanism]] = {
    Independent.id: Independent,
    BayesianNetwork.id: BayesianNetwork,
    Mst.id: Mst,
    DPSyn.id: DPSyn,
    Auto.id: Auto,
    Aim.id: Aim,
    PrivSyn.id: PrivSyn,
    Generalize.id: Generalize,
    Adaptive.id: Adaptive,
    AdaptiveImproved.id: AdaptiveImproved,
    AdaptiveBasic.id: AdaptiveBasic,
    PrivTree.id: PrivTree,
    DirectSynthesis.id: DirectSynthesis,
    Random.id: Random,
    WeakDomain.id: WeakDomain,
    OnTheMap.id: OnTheMap,
    ContingencyTableMechanism.id: ContingencyTableMechanism,
}

__all__ = [
    "REGISTRY",
    "Estimate",
    "Mechanism",
    "Model",
    "Plan",
    "describe",
    "draw_blocks",
    "draw_table",
    "estimate",
    "plan",
    "recommended",
    "traits",
    "without_prior",
]


def describe(domain: Domain | None = None) -> list[MechanismFacts]:
    """Every mechanism on offer: id, title, summary, paper, keeps, parameters (JSON schema), relations,
    losses, kind. domain: those that are for a table like it."""
    return [
        mechanism.describe()
        for mechanism in REGISTRY.values()
        if domain is None or mechanism.suits(domain)
    ]


def traits(mechanism: str) -> type[Mechanism]:
    """The class of a method, whose class variables pages read; of a method that is not on offer here, the
    defaults."""
    return REGISTRY.get(mechanism, Mechanism)


def takes_records(mechanism: str) -> bool:
    """Whether the plan of a method depends on about how many records there are, as its parameter `records`
    says."""
    config = REGISTRY.get(mechanism)
    return config is not None and parameters.RECORDS in config.parameters["properties"]


def assumes_records(domain: Domain, spec: Spec) -> bool:
    """Whether a plan would depend on a number of records that nobody has stated."""
    stated = spec.parameters.get(parameters.RECORDS) not in (None, 0, "", "0")
    return takes_records(spec.mechanism) and not domain.rows and not stated


def recommended(domain: Domain | None = None) -> str:
    """The id of the method that is right for most tables like this one: `on-the-map` where totals of one of
    two columns are public; `adaptive` where most columns say where records lie, a text over an alphabet
    counted as two such columns (what many further columns have to do with each other would matter more);
    otherwise `auto`."""
    if domain is None:
        return Auto.id
    if OnTheMap.suits(domain):
        return OnTheMap.id
    if Adaptive.suits(domain) and 2 * (
        2 * len(domain.undeclared) + len(columns.placed(domain))
    ) > len(domain.names):
        return Adaptive.id
    return Auto.id


def plan(
    domain: Domain, spec: Spec, *, rule: Rule = "basic", prior: PublicTable | None = None
) -> Plan:
    """Validate and calibrate. rule: how the account that pays adds up losses; without an account, basic.
    prior: a public table beside which answers are read.
    Errors: SpecError, DomainError, RelationMismatch; nothing is read."""
    mechanism = REGISTRY.get(spec.mechanism)
    if mechanism is None:
        raise SpecError(
            "there is no mechanism of this name", repair=f"known: {', '.join(REGISTRY)}"
        )
    key = mechanism.prior_key
    stated = spec.parameters.get(key) if mechanism.takes_prior else None
    spec = without_prior(spec)
    config = mechanism.from_parameters(spec.parameters)
    if place_stage.needed(config, domain):
        planned: Plan = place_stage.plan(
            *config.validate(domain, spec, rule=rule), domain=domain
        )
    elif two_stage.needed(config, domain):
        planned = two_stage.plan(*config.validate(domain, spec, rule=rule), domain=domain)
    else:
        planned = config.plan(domain, spec, rule=rule)
    planned = planned if prior is None else planned.with_prior(prior)
    if stated is not None and planned.spec.parameters.get(key) != stated:
        raise SpecError(
            "the request states a public table, and the one that is given is another one, or there is none",
            repair="give the file whose SHA-256 the request states, with the same place and names of columns",
        )
    return planned


def without_prior(spec: Spec) -> Spec:
    """The request as its mechanism reads it, without what it states of a public table: stored requests state
    theirs."""
    mechanism = traits(spec.mechanism)
    # Other methods may have a parameter of that name.
    if not mechanism.takes_prior or spec.parameters.get(mechanism.prior_key) is None:
        return spec
    key = mechanism.prior_key
    given = {name: value for name, value in spec.parameters.items() if name != key}
    return replace(spec, parameters=given)


def estimate(
    domain: Domain, spec: Spec, *, rows: int | None = None, rule: Rule = "basic"
) -> Estimate:
    """Calibrates a plan, once, and returns what it would give and need. Arguments and errors are those of
    `plan`; rows: how many records to assume."""
    return Estimate(plan=plan(domain, spec, rule=rule), rows=rows)


def draw_blocks(
    model: Model,
    rows: int,
    seed: str,
    *,
    codes: Iterable[Codes] | None = None,
) -> Iterator[pd.DataFrame]:
    """One table of the release in blocks of rows, so that a large one never stands in memory as values. Every
    row keeps to every constraint of the domain; columns of separate markers stand behind those of the table.
    The same model, rows and seed give the same table for ever (docs/adr/0174-one-sampler.md). codes: the
    blocks to decode, which nothing is drawn for then."""
    import pandas as pd

    from synth_engine import codec
    from synth_engine.constraints import values

    texts = model.written(rows, seed=seed)
    ends = model.group_ends(rows, seed=seed)
    start = 0
    # Each block has generators of its own, so that a block can be made again without those
    # before it.
    blocks = model.sample_blocks(rows, seed=seed) if codes is None else codes
    for number, block in enumerate(blocks):
        frame = codec.decode(
            model.domain, block, generator(seed, purpose=("decode", str(number)))
        )
        for name, (labels, places) in texts.items():
            frame[name] = pd.Series(labels[places[start : start + len(frame)]], dtype="str")
        again = generator(seed, purpose=("order", str(number)))
        frame = values.enforce(model.domain, frame, codes=block, rng=again)
        identified = codec.with_identifiers(
            model.domain,
            frame,
            start=start,
            generator=lambda name: generator(seed, purpose=("identifier", name)),
            persons=None
            if ends is None
            else group_sizes.members(ends, start=start, rows=len(frame)),
        )
        complete = codec.with_derived(model.domain, identified)
        yield codec.with_markers(model.domain, complete, block)
        start += len(frame)


def draw_table(model: Model, rows: int, seed: str) -> pd.DataFrame:
    """The same table in one piece: values, not codes; the same seed gives the same table."""
    import pandas as pd

    from synth_engine import codec

    blocks = draw_blocks(model, rows, seed)
    table = pd.concat(blocks, ignore_index=True)
    return codec.without_markers(model.domain, table)

"""The rows of a model, changed until they have its target tables, with the domain's constraints kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from synth_engine.constraints import tables as restricting
from synth_engine.domain import Domain
from synth_engine.domain.relations import Component
from synth_engine.inference.cost_tables import Axes, Truth
from synth_engine.inference.record_refinement import refine
from synth_engine.measurement import Clique
from synth_engine.models import binning as bins
from synth_engine.models.binning import in_order

Floats = npt.NDArray[np.float64]
Codes = dict[str, npt.NDArray[np.uint16]]
Wished = Sequence[tuple[Clique, Floats]]


def finished(
    codes: Codes,
    *,
    targets: Wished,
    domain: Domain,
    merged: Mapping[str, bins.Binning],
    enforce: bool,
    rng: np.random.Generator,
) -> Codes:
    """Columns of codes (of bins, where an attribute has them) whose tables are near to the targets. With `enforce`, rows
    that keep the constraints among attributes without bins still keep them."""
    names = list(codes)
    place = {name: axis for axis, name in enumerate(names)}
    axes = [(tuple(place[name] for name in clique), wished) for clique, wished in targets]
    allowed, tied = _kept(domain, merged, place) if enforce else ([], [])
    free = sorted({axis for one, _ in axes for axis in one})
    in_sequence = {attribute.name: in_order(attribute) for attribute in domain.modelled}
    found = refine(
        np.array([codes[name] for name in names]),
        targets=axes,
        rng=rng,
        allowed=[one for one in allowed if set(one[0]) & set(free)],
        tied=[one for one in tied if set(one) & set(free)],
        ordered=[in_sequence[name] for name in names],
    )
    return dict(zip(names, found, strict=True))


def judged(domain: Domain, merged: Mapping[str, bins.Binning]) -> list[Component]:
    """What of the constraints can be judged before codes are drawn within their bins."""
    return [
        component for component in domain.components if not set(component.columns) & set(merged)
    ]


def _kept(
    domain: Domain, merged: Mapping[str, bins.Binning], place: Mapping[str, int]
) -> tuple[list[tuple[Axes, Truth]], list[Axes]]:
    """Tables of cells that may be entered, and, where these were too large, attributes to be changed together only."""
    allowed: list[tuple[Axes, Truth]] = []
    tied: list[Axes] = []
    for component in judged(domain, merged):
        clique = component.columns
        axes = tuple(place[name] for name in clique)
        if len(axes) <= 3 and prod(domain.shape(clique)) <= bins.MAX_CELLS:
            allowed.append((axes, np.ascontiguousarray(restricting.possible(domain, clique))))
        else:
            tied.append(axes)
    return allowed, tied

"""What a release counted together: which groups of columns, how finely, with how much noise, and how strongly
the model has them depend on one another.

Made from the receipt and the model alone: post-processing of noisy answers, for whoever may see the release.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.privacy.candidates import smallest_of
from synth_engine.privacy.receipt import CallDocument, Receipt
from synthweb.lib.language import written_number
from synthweb.releases.models import Release

LISTED = 300  # groups in the table; the receipt has all of them
# Units: of a cell of the map, and of the map without its names.
UNIT_LARGEST, UNIT_SMALLEST, TRIANGLE = 24, 6, 480
NAMES = 130
LONGEST_NAME = 18
LEVELS = (0.02, 0.05, 0.1, 0.2, 0.4)  # lower ends of the shades of strength

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Group:
    """One group of columns that was counted. `shape`: as it was counted; `whole`: as it is described;
    `deviation`: of the noise of a cell, in records; `clearness`: how many times its noise a cell holds on
    average; `strength`: the distance of the model's table from independence, 0 to 1, None where the model has
    no table of just these."""

    columns: tuple[str, ...]
    shape: tuple[int, ...]
    whole: tuple[int, ...]
    deviation: float
    clearness: float
    strength: float | None
    in_network: bool

    @property
    def name(self) -> str:
        return " × ".join(self.columns)

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    def size(self) -> str:
        return " × ".join(str(each) for each in self.shape)

    @property
    def binned(self) -> bool:
        return self.shape != self.whole

    @property
    def faint(self) -> bool:
        return self.clearness < 1


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A pair on the map. `inside`: it was counted within a larger group alone."""

    x: int
    y: int
    shade: int
    words: str
    binned: bool
    in_network: bool
    inside: bool


@dataclass(frozen=True, kw_only=True)
class Name:
    """A column on the map: its name stands where its line ends and its row of cells begins."""

    text: str
    full: str
    x: int
    y: int


@dataclass(frozen=True, kw_only=True)
class Map:
    """Every pair of columns: one row and one line for each column, below the diagonal."""

    unit: int
    names: tuple[Name, ...]
    spots: tuple[Spot, ...]
    width: int
    height: int
    words: str

    @property
    def half(self) -> int:
        """From the middle of a line of the map up to its top."""
        return -(self.unit // 2)

    @property
    def side(self) -> int:
        """Of a cell; one unit is left between two."""
        return self.unit - 1

    @property
    def middle(self) -> int:
        return self.unit // 2

    @property
    def dot(self) -> int:
        return max(1, self.unit // 7)

    @property
    def letters(self) -> int:
        return min(12, self.unit)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A column that was cut into bins where it was counted with others. `lost`: the share of what its
    histogram says that lies within bins, where no relation reaches it; None where the model knows the column
    by all its values."""

    column: str
    codes: int
    fewest: int
    most: int
    lost: float | None

    @property
    def lost_words(self) -> str:
        return "–" if self.lost is None else f"{100 * self.lost:.0f} %"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Everything the page shows."""

    groups: tuple[Group, ...]
    more: int
    pairs: int
    of_pairs: int
    triples: int
    looked_for_triples: bool
    """Whether relations of three columns that pairs do not show were looked for."""
    faint: int
    map: Map
    cuts: tuple[Cut, ...]
    advice: tuple[str, ...]

    @property
    def has_network(self) -> bool:
        return any(group.in_network for group in self.groups)

    @property
    def levels(self) -> list[tuple[int, str]]:
        """The shades of strength, in words."""
        ends = [written_number(f"{level:g}") for level in LEVELS]
        between = [
            gettext("%(low)s to %(high)s") % {"low": low, "high": high}
            for low, high in pairwise(ends)
        ]
        first = gettext("below %(end)s") % {"end": ends[0]}
        last = gettext("%(end)s and more") % {"end": ends[-1]}
        return list(enumerate([first, *between, last]))

    @property
    def loses_detail(self) -> bool:
        """Whether the model knows a column by its bins alone, where it is counted with others."""
        return any(cut.lost is not None for cut in self.cuts)


def shows(release: Release) -> bool:
    """Whether the method counts columns together, so that there is something to show."""
    return mechanisms.traits(release.mechanism).counts_groups


def measured(release: Release) -> Measured:
    """What the receipt says was counted, beside what the model makes of it."""
    # Where cells of places were learned, columns were counted beside cells.
    document = release.model.get("coded", release.model)
    domain = Domain.from_json(document["domain"])
    tables = dict(_tables(document, domain))
    network_groups = {
        frozenset((*node["parents"], node["attribute"]))
        for node in document.get("network", ())
        if node["parents"]
    }
    groups = sorted(
        (
            _group(
                call,
                domain,
                tables=tables,
                network_groups=network_groups,
                rows=max(1, release.rows),
            )
            for call in _calls(release.receipt)
        ),
        key=lambda group: (-(group.strength or 0), group.cells, group.columns),
    )
    pairs = {frozenset(group.columns) for group in groups if len(group.columns) == 2}
    return Measured(
        groups=tuple(groups[:LISTED]),
        more=max(0, len(groups) - LISTED),
        pairs=len(pairs),
        of_pairs=math.comb(len(domain.names), 2),
        triples=len({frozenset(group.columns) for group in groups if len(group.columns) > 2}),
        looked_for_triples=_looked_for_triples(release.receipt),
        faint=sum(group.faint for group in groups),
        map=_map(groups, domain.names, tables=tables),
        cuts=tuple(_cuts(groups, document, domain)),
        advice=tuple(_advice(groups)),
    )


def _calls(receipt: Receipt) -> Iterator[CallDocument]:
    for call in receipt["calls"]:
        if (
            call["query"]["verb"] in ("measure", "interaction")
            and len(call["query"]["clique"]) > 1
        ):
            yield call


def _looked_for_triples(receipt: Receipt) -> bool:
    """Whether some of the calls selected among groups of three columns and more alone, or scored such groups
    alone. Methods that grow groups column by column have pairs among their candidates, and look for something
    else."""
    candidates = (
        call["query"].get("candidates", [])
        for call in receipt["calls"]
        if call["query"]["verb"] in ("select", "score")
    )
    return any(smallest_of(each) > 2 for each in candidates)


def _group(
    call: CallDocument,
    domain: Domain,
    *,
    tables: Mapping[frozenset[str], Floats],
    network_groups: set[frozenset[str]],
    rows: int,
) -> Group:
    columns = tuple(call["query"]["clique"])
    whole = tuple(domain.shape(columns))
    shape = tuple(call["query"].get("bins") or whole)
    deviation = deviation_of(call["noise"])
    # Its values are in units of 1 / cells records (docs/proofs/interaction.md).
    if call["query"]["verb"] == "interaction":
        deviation /= math.prod(shape)
    table = tables.get(frozenset(columns))
    return Group(
        columns=columns,
        shape=shape,
        whole=whole,
        deviation=deviation,
        clearness=rows / math.prod(shape) / deviation,
        strength=None if table is None else strength(table),
        in_network=frozenset(columns) in network_groups,
    )


def deviation_of(noise: Mapping[str, Any]) -> float:
    """The standard deviation of the noise of one cell, as a receipt has it."""
    if "sigma_squared" in noise:
        return math.sqrt(float(Fraction(noise["sigma_squared"])))
    # Laplace noise of scale b has variance 2b²; discrete noise has a little less.
    return math.sqrt(2) * float(Fraction(noise["scale"]))


def _tables(
    document: Mapping[str, Any], domain: Domain
) -> Iterator[tuple[frozenset[str], Floats]]:
    """The model's tables of several columns, by codes or by bins."""
    bins = {each["attribute"]: max(each["bins"]) + 1 for each in document.get("merged", ())}
    for entry in (*document.get("targets", ()), *document["tables"]):
        clique, weights = tuple(entry["clique"]), np.asarray(entry["weights"], dtype=np.float64)
        whole = domain.shape(clique)
        cut = tuple(bins.get(name, size) for name, size in zip(clique, whole, strict=True))
        # The document does not say whether a table is by codes or by bins; its size does.
        shape = next((one for one in (cut, whole) if math.prod(one) == weights.size), None)
        if len(clique) > 1 and shape is not None:
            yield frozenset(clique), weights.reshape(shape)


def strength(table: Floats) -> float:
    """How far a table is from that of columns which do not depend on one another: total variation
    distance."""
    shares = table / max(table.sum(), 1.0)
    alone = np.ones(())
    for axis in range(shares.ndim):
        others = tuple(other for other in range(shares.ndim) if other != axis)
        alone = np.multiply.outer(alone, shares.sum(axis=others))
    return float(np.abs(shares - alone).sum() / 2)


def _map(
    groups: Sequence[Group], names: Sequence[str], *, tables: Mapping[frozenset[str], Floats]
) -> Map:
    unit = max(UNIT_SMALLEST, min(UNIT_LARGEST, TRIANGLE // max(1, len(names))))
    place = {name: index for index, name in enumerate(names)}
    best: dict[tuple[int, int], Spot] = {}
    # Pairs first: a larger group colours a pair only if it was not counted by itself.
    for group in sorted(groups, key=lambda group: len(group.columns)):
        for pair in combinations(group.columns, 2):
            column, row = sorted(place[name] for name in pair)
            best.setdefault(
                (column, row),
                _spot(
                    group,
                    pair,
                    x=column * unit,
                    y=row * unit,
                    table=tables.get(frozenset(pair)),
                ),
            )
    listing = "; ".join(f"{group.name}{_noise_note(group)}" for group in groups[:10])
    return Map(
        unit=unit,
        names=tuple(
            Name(text=_short(name), full=name, x=index * unit + 3, y=index * unit + unit // 2)
            for index, name in enumerate(names)
        ),
        spots=tuple(best.values()),
        width=len(names) * unit + NAMES,
        height=len(names) * unit,
        words="Strength of the groups of columns that were counted, the strongest first: "
        f"{listing or 'none'}.",
    )


def _spot(group: Group, pair: tuple[str, ...], *, x: int, y: int, table: Floats | None) -> Spot:
    inside = len(group.columns) > 2
    value = group.strength if table is None or not inside else strength(table)
    where = f", within {group.name}" if inside else ""
    return Spot(
        x=x,
        y=y,
        shade=0 if value is None else sum(value >= level for level in LEVELS),
        words=f"{' × '.join(pair)}{where}{_noise_note(group)}, {group.size} cells, noise of "
        f"±{group.deviation:.3g} records a cell",
        binned=group.binned,
        in_network=group.in_network,
        inside=inside,
    )


def _noise_note(group: Group) -> str:
    return "" if group.strength is None else f": strength {group.strength:.2f}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _cuts(
    groups: Sequence[Group], document: Mapping[str, object], domain: Domain
) -> Iterator[Cut]:
    bins: dict[str, set[int]] = defaultdict(set)
    for group in groups:
        for name, count, codes in zip(group.columns, group.shape, group.whole, strict=True):
            if count < codes:
                bins[name].add(count)
    for name in domain.names:
        if name in bins:
            yield Cut(
                column=name,
                codes=domain.sizes[name],
                fewest=min(bins[name]),
                most=max(bins[name]),
                lost=_lost(name, document),
            )


def _lost(name: str, document: Mapping[str, Any]) -> float | None:
    """The part of a column's entropy that lies within the bins by which the model knows it."""
    cut = next((each for each in document.get("merged", ()) if each["attribute"] == name), None)
    if cut is None:
        return None
    shares = np.asarray(cut["within"], dtype=np.float64) / max(1.0, float(sum(cut["within"])))
    # H(codes) = H(bins) + H(codes given the bin), and the last term is out of reach.
    whole = _entropy(shares)
    within_reach = _entropy(np.bincount(cut["bins"], weights=shares).astype(np.float64))
    return None if whole <= 0 else max(0.0, 1 - within_reach / whole)


def _entropy(shares: Floats) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())


def _advice(groups: Sequence[Group]) -> Iterable[str]:
    if not groups:
        yield (
            "No two columns were counted together, so every column is drawn by itself: with this budget no "
            "relation stands out of the noise. That is still a valid release of single columns. For "
            "relations between columns, give the next one a larger ε, leave out columns that nobody will "
            "use, or describe fewer values and wider bins."
        )
    elif 2 * sum(group.faint for group in groups) > len(groups):
        yield (
            "In most of these groups noise outweighs what a cell holds on average: read their relations as "
            "hints. Fewer columns, fewer values or a larger ε would make them clearer."
        )

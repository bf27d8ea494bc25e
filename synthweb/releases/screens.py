"""What the pages of a release show: tabs, the receipt in words. Plain values; nothing here decides who sees
what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from synth_engine import mechanisms, verifier
from synth_engine.domain import Identifier
from synth_engine.errors import SynthError
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.candidates import number_of
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.datasets.domain_cache import cited, domain_of
from synthweb.datasets.selectors import table_of_run
from synthweb.lib import guarantee, number_format
from synthweb.lib.language import translated, written_number
from synthweb.lib.pagination import SortColumn, listing, query_with
from synthweb.releases import (
    call_sums,
    chain,
    citation,
    databases,
    evidence,
    findings,
    learned_domain,
    licences,
    public_links,
    public_table,
    receipt_facts,
    selectors,
    spool,
    tabs,
    trees,
    workload_report,
)
from synthweb.releases import look as looks
from synthweb.releases.forms import ComparisonForm, LicenceForm, PublicLinkForm, ShareForm
from synthweb.releases.models import Release, Sample
from synthweb.releases.tabs import Card

NOISE = {
    "discrete-laplace": gettext_noop("discrete Laplace noise"),
    "discrete-gaussian": gettext_noop("discrete Gaussian noise"),
    "rounded-gaussian": gettext_noop("rounded Gaussian noise"),
    "gumbel": gettext_noop("Gumbel noise"),
    "permute-and-flip": gettext_noop("permute and flip"),
}
NORMS = {"l1": "L1", "l2_squared": "L2 squared", "linf": "L∞"}
VERBS = {
    "measure": gettext_noop("Counted every value of"),
    "discover": gettext_noop("Looked for the frequent values of"),
    "grow": gettext_noop("Grew a tree over"),
    "resample": gettext_noop("Resampled within public totals"),
    "leaves": gettext_noop("Counted the ends of a tree over"),
    "intervals": gettext_noop("Counted intervals of"),
    "items": gettext_noop("Counted the items of"),
    "divide": gettext_noop("Chose for each group a column to divide it by, of"),
    "boxes": gettext_noop("Counted groups by classes of"),
}

CALLS = 25  # on a page
LONGEST_WORDS = 200
MOST_TRIES = 3
"""Polls of a page before a download counts as one that needs no sign."""
FILTERS = (
    ("search", "q"),
    ("mechanism", "mechanism"),
    ("dataset", "dataset"),
)  # of the list: name, key in addresses
COLUMNS = (
    SortColumn(key="name", title=gettext_noop("Release"), order=("name",)),
    SortColumn(key="dataset", title=gettext_noop("Dataset"), order=("dataset__name",)),
    SortColumn(key="method", title=gettext_noop("Method"), order=("mechanism",)),
    SortColumn(
        key="promise", title=gettext_noop("Guarantee"), order=("epsilon", "delta"), number=True
    ),
    SortColumn(
        key="rows", title=gettext_noop("Rows"), order=("rows",), number=True, falls=True
    ),
    SortColumn(
        key="columns",
        title=gettext_noop("Columns"),
        order=("column_count",),
        number=True,
        falls=True,
    ),
    SortColumn(
        key="quality", title=gettext_noop("Expected"), order=("word_place", "relation_place")
    ),
    SortColumn(key="shared", title=gettext_noop("Shared"), order=("shared_by", "readers")),
    SortColumn(
        key="published",
        title=gettext_noop("Published (UTC)"),
        order=("created_at",),
        falls=True,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Tab:
    """One of the five tabs of a release."""

    key: str
    title: str
    address: str


@dataclass(frozen=True, kw_only=True)
class CardLine:
    """A card of the tab that is open, as a line that opens it."""

    card: Card
    release: Release

    @property
    def address(self) -> str:
        """Where it is open."""
        return self.card.address(self.release)


@dataclass(frozen=True, kw_only=True)
class CallLine:
    """One mechanism call in words and numbers."""

    number: int
    what: str
    cells: int
    noise: str
    sensitivity: str
    cost: str


@dataclass(frozen=True, kw_only=True)
class ChosenCalls:
    """A page of the calls that an address asks for. kinds: of all calls. filters: what links of the page
    keep. total: of all calls."""

    page: Page[CallLine]
    kinds: tuple[str, ...]
    kind: str
    words: str
    is_narrowed: bool
    filters: str
    total: int


@dataclass(frozen=True, kw_only=True)
class ReceiptVerdict:
    """What the independent verifier said."""

    accepted: bool
    sentences: tuple[str, ...]
    epsilon: str = ""
    delta: str = ""
    caveats: tuple[str, ...] = ()

    @property
    def proved(self) -> tuple[str, ...]:
        """The sentences that are no caveats."""
        return tuple(sentence for sentence in self.sentences if sentence not in self.caveats)


def release_list(
    user: User, releases: QuerySet[Release], query: QueryDict
) -> dict[str, object]:
    """The list of releases with its filter, as `user` sees them."""
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    listed = listing(
        selectors.with_quality(selectors.with_sharing(releases, user)),
        query,
        columns=COLUMNS,
        usual="-published",
    )
    return {
        "list": listed,
        "releases": [
            (each, titles.get(each.mechanism, each.mechanism), looks.summary_of(each))
            for each in listed.rows
        ],
        "mechanisms": titles.items(),
        "query": query,
        "narrowed": any(query.get(key) for _, key in FILTERS),
    }


def frame(user: User, release: Release, *, card: str, leaf: str = "") -> dict[str, object]:
    """What every page of a release shows: name, tabs with their cards that this person may open, the sentence
    of its guarantee. card: the key of the one that is open; leaf: what is shown within it."""
    facts = receipt_facts.of(release)
    opened, offered = tabs.card_of(card), tabs.offered(user, release)
    # One that the release has nothing for says what it lacks.
    offered = offered if opened in offered else [*offered, opened]
    return {
        "release": release,
        "opened": opened,
        "tabs": tabs_of(release, offered),
        "tab_cards": [
            CardLine(card=each, release=release) for each in offered if each.tab == opened.tab
        ],
        "is_database": databases.is_database(release),
        **head(release),
        "is_rows_public": "rows" in facts.get("invariants", ()),
        "licence": licences.of_release(release),
        "may_share": selectors.may(user, release, Need.SHARE),
        "may_sample": selectors.may(user, release, Need.SAMPLE),
        "crumbs": _crumbs(release, opened, offered, leaf),
        "table": table_of_run(release.run_code),
    }


def tabs_of(release: Release, offered: Sequence[Card]) -> list[Tab]:
    """The tabs that have cards, in order; the address of each is that of its first card."""
    first = {card.tab: card for card in reversed(offered)}
    return [
        Tab(key=key, title=str(title), address=first[key].address(release))
        for key, title in tabs.TABS.items()
        if key in first
    ]


def _crumbs(
    release: Release, opened: Card, offered: Sequence[Card], leaf: str
) -> list[tuple[str, str]]:
    """Where a page of a release stands; the first card of a tab is the tab."""
    tab = next(each for each in tabs_of(release, offered) if each.key == opened.tab)
    address = opened.address(release)
    return [
        (reverse("releases:index"), gettext("Releases")),
        (reverse("releases:release", args=[release.code]), release.name),
        (tab.address, tab.title),
        *([] if address == tab.address else [(address, str(opened.title))]),
        *([("", leaf)] if leaf else []),
    ]


def _meaning(document: receipts.Receipt) -> str:
    return guarantee.meaning(
        epsilon=Fraction(document["guarantee"]["epsilon"]),
        delta=Fraction(document["guarantee"]["delta"]),
        relation=Relation(document["relation"]),
        unit=PrivacyUnit.from_json(document["unit"]),
    )


def overview(release: Release) -> dict[str, object]:
    """What the release is: mechanism, what it keeps, what it does not."""
    described = {one["id"]: one for one in mechanisms.describe()}
    domain = domain_of(release.domain_version)
    unknown = {"title": release.mechanism, "keeps": [], "summary": ""}
    return {
        "mechanism": described.get(release.mechanism, unknown),
        "citation": citation.of_release(release),
        "learned": learned_domain.learned(release),
        "not_found": learned_domain.not_found(release),
        "told": trees.warning(release),
        "asked": workload_report.asked(release),
        "looked": chain.is_after_looking(release),
        "protects": _protects(receipt_facts.of(release)),
        "triples": findings.triples(release),
        "larger_groups": findings.larger_groups(release),
        "cited": cited(domain),
        "public_table": public_table.stated(receipt_facts.of(release)),
        "constraints": learned_domain.enforced(release, domain),
        "left_out": learned_domain.left_out(release),
    }


def look(release: Release) -> dict[str, object]:
    """What the first page says of the release around its rows."""
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    return {
        "method": titles.get(release.mechanism, release.mechanism),
        "citation": citation.of_release(release),
        "protects": _protects(receipt_facts.of(release)),
        "told": trees.warning(release),
        "not_found": learned_domain.not_found(release),
        "looked": chain.is_after_looking(release),
    }


def head(release: Release) -> dict[str, object]:
    """The seal of a release and the guarantee below it, for whoever may see the release."""
    facts = receipt_facts.of(release)
    return {
        "sentence": facts["guarantee"]["sentence"],
        "meaning": "" if databases.is_database(release) else _meaning(facts),
        "seal": guarantee.seal(Fraction(facts["guarantee"]["epsilon"])),
    }


def share(user: User, release: Release) -> dict[str, object]:
    """With whom a release is shared, its licence, and the forms to change both."""
    return frame(user, release, card="share") | {
        "form": ShareForm(release=release),
        "licence_form": LicenceForm(release=release),
        "link_form": PublicLinkForm(),
        "links": public_links.links_of(release),
        "links_allowed": public_links.are_allowed(release.dataset.organisation),
        "grants": selectors.grants_of(release),
        "looked": selectors.looked_at_real(release.account),
        "marked": chain.is_after_looking(release),
    }


def draw_progress(sample: Sample, *, tries: str) -> dict[str, object]:
    """The rows that are drawn of those that were asked for. tries: of the page so far, which waits a moment
    for the download to begin."""
    rows = spool.rows_so_far(sample)
    number = int(tries) if tries.isascii() and tries.isdigit() and len(tries) < 3 else 0
    return {
        "sample": sample,
        "release": sample.release,
        "rows": rows,
        "fraction": 0.0 if rows is None else min(1.0, rows / sample.rows),
        "again": rows is not None or number < MOST_TRIES,
        "tries": number + 1 if rows is None else MOST_TRIES,
    }


def column_names(release: Release) -> list[str]:
    """The columns of a sample by which rows can be chosen."""
    columns = domain_of(release.domain_version).table_columns
    return [each.name for each in columns if not isinstance(each, Identifier)]


def comparison_form(
    release: Release,
    data: Mapping[str, Any] | None = None,
    *,
    report: Mapping[str, Any] | None = None,
) -> ComparisonForm:
    """What a comparison is to have besides. report: a stored one, whose choices are offered again."""
    asked = workload_report.asked(release)
    made = (report or {}).get("models") or {}
    risks = (report or {}).get("risks") or {}
    initial = {
        "models": bool(made),
        "target": made.get("target") or (asked.target if asked else ""),
        "protected": made.get("protected", ""),
        "risks": bool(risks),
        "shadows": any(each["name"] == "shadow models" for each in risks.get("attacks", ())),
    }
    return ComparisonForm(data, columns=column_names(release), initial=initial)


def compare(release: Release) -> dict[str, object]:
    """What the comparison page shows around the report itself."""
    tree = trees.summarise(release)
    return {
        "dataset": release.dataset,
        "notes": tree.sentences if tree else (),
        "export_url": reverse("releases:compare-json", args=[release.code]),
        "ask_url": reverse("runs:report", args=[release.code]),
    }


def receipt(user: User, release: Release, query: QueryDict) -> dict[str, object]:
    """The receipt in words and numbers. query: of the address, by which its calls are filtered and paged."""
    document = chain.receipt_of(release)
    guarantee = document["guarantee"]
    pure = Fraction(guarantee["delta"]) == 0
    sums = call_sums.of_receipt(document)
    return {
        "receipt": document,
        "calls": _chosen_calls(document["calls"], query, pure=pure),
        "epsilon": short(guarantee["epsilon"]),
        "delta": number_format.delta(guarantee["delta"]),
        "rho": short(guarantee["rho"]) if guarantee.get("rho") else "",
        "protects": _protects(document),
        "public_table": public_table.stated(document),
        "looked": receipts.is_after_looking(document),
        "signed": document["seal"],
        "evidence": evidence.of(user, release),
        "sums": sums,
        "bar": call_sums.bar(sums),
        "facts": ", ".join(
            f"{count} {origin}" for origin, count in document["domain_facts"].items()
        ),
    }


def _chosen_calls(
    calls: Sequence[receipts.CallDocument], query: QueryDict, *, pure: bool
) -> ChosenCalls:
    kind, words = query.get("kind", ""), query.get("q", "").strip()[:LONGEST_WORDS]
    kinds = sorted({call_sums.kind_of(call) for call in calls})
    kind = kind if kind in kinds else ""
    lines = [
        call_line(number, call, pure=pure)
        for number, call in enumerate(calls, start=1)
        if not kind or call_sums.kind_of(call) == kind
    ]
    wanted = words.casefold()
    lines = [line for line in lines if wanted in line.what.casefold()]
    filters = query_with(query, {})
    return ChosenCalls(
        page=Paginator(lines, CALLS).get_page(query.get("page")),
        kinds=tuple(kinds),
        kind=kind,
        words=words,
        is_narrowed=bool(kind or words or query.get("page")),
        filters=f"{filters}&" if filters else "",
        total=len(calls),
    )


def _protects(document: receipts.Receipt) -> str:
    """`one person, at most 5 rows, added or removed`."""
    return (
        f"{PrivacyUnit.from_json(document['unit']).sentence()}, "
        f"{number_format.RELATIONS[document['relation']]}"
    )


def call_line(number: int, call: receipts.CallDocument, *, pure: bool) -> CallLine:
    """One line of the journal, readable; its cost in the currency in which the calls of this receipt add
    up."""
    query, noise = call["query"], call["noise"]
    law = next(
        (value for value in noise.values() if isinstance(value, str) and value in NOISE), ""
    )
    scale = next(
        ((key, value) for key, value in noise.items() if key in ("scale", "sigma_squared")),
        ("scale", "0"),
    )
    size = short(scale[1]) if scale[0] == "scale" else f"{float(Fraction(scale[1])) ** 0.5:.3g}"
    norm, bound = next(iter(call["sensitivity"].items()), ("", ""))
    usual, other = ("epsilon", "rho") if pure else ("rho", "epsilon")
    currency = usual if usual in call["cost"] else other
    return CallLine(
        number=number,
        what=_what(query),
        cells=query["cells"],
        noise=_describe_noise(noise)
        or (
            f"{gettext(NOISE.get(law, law or gettext_noop('noise')))}, "
            f"{gettext('scale') if scale[0] == 'scale' else gettext('standard deviation')} "
            f"{written_number(size)}"
        ),
        sensitivity=f"{NORMS.get(norm, norm)} {bound}".strip(),
        cost=written_number(
            f"{'ε' if currency == 'epsilon' else 'ρ'} {short(call['cost'][currency])}"
            + _delta(call["cost"])
        ),
    )


def _describe_noise(noise: Mapping[str, Any]) -> str:
    """Of groups drawn anew: their law, which has a prior in place of noise."""
    if noise.get("law") != "dirichlet-multinomial":
        return ""
    parts = [parts for _, parts, *_ in noise["priors"]]
    least, most = (f"{part / noise['unit']:.3g}" for part in (min(parts), max(parts)))
    origins = [fewer[0] if fewer else noise["origins"] for _, _, *fewer in noise["priors"]]
    sizes = [size for size, *_ in noise["priors"]]
    against = [
        part * of / noise["unit"] / size
        for size, part, of in zip(sizes, parts, origins, strict=True)
    ]
    whole = f"{min(against):.3g} to {max(against):.3g} for each record of a group"
    return f"Dirichlet-multinomial, prior {least} to {most} records an origin, which is {whole}"


def _delta(cost: Mapping[str, str]) -> str:
    return f", δ {number_format.delta(cost['delta'])}" if "delta" in cost else ""


def _what(query: receipts.QueryDocument) -> str:
    if query["verb"] == "measure" and not query["clique"]:
        return gettext("Counted the records")
    if query["verb"] == "group-sizes":
        return gettext("Counted the people with 1 to %(rows)s rows each") % {
            "rows": query["cells"]
        }
    if query["verb"] == "score":
        return gettext("Scored %(number)s groups of columns") % {
            "number": number_of(query["candidates"])
        }
    if query.get("bins"):
        columns = zip(query["clique"], query["bins"], strict=True)
        text = (
            gettext("Measured the interaction of")
            if query["verb"] == "interaction"
            else gettext("Counted by bins")
        )
        return f"{text} {' × '.join(f'{name} ({bins})' for name, bins in columns)}"
    if query["verb"] == "refine":
        return gettext("Chose one of %(number)s columns to divide groups by") % {
            "number": number_of(query["candidates"])
        }
    if query["verb"] == "select":
        return gettext("Chose one of %(number)s groups of columns") % {
            "number": number_of(query["candidates"])
        }
    return (
        f"{translated(VERBS.get(query['verb'], query['verb']))} "
        f"{' × '.join([*query.get('clique', ()), *query.get('by', ())])}"
    ).strip()


def short(ratio: str) -> str:
    """An exact ratio as people read it: three significant digits."""
    return f"{float(Fraction(ratio)):.3g}"


def check(release: Release) -> ReceiptVerdict:
    """Recompute the guarantee from the calls by the verifier, which shares no code with the accountant."""
    try:
        verdict = (
            databases.verify(release)
            if databases.is_database(release)
            # With the head the verifier also says that no mark is missing.
            else verifier.verify(chain.receipt_of(release), head=chain.head_of(release))
        )
    except SynthError as error:
        return ReceiptVerdict(accepted=False, sentences=(str(error),))
    return ReceiptVerdict(
        accepted=True,
        sentences=tuple(verdict.sentences),
        epsilon=f"{float(verdict.epsilon):.6g}",
        delta=number_format.delta(verdict.delta),
        caveats=tuple(verdict.caveats),
    )

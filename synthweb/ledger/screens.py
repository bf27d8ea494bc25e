"""What the pages of the ledger show: facts put into the shape that a template can print."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from django.conf import settings
from django.core.paginator import Page
from django.forms import Form
from django.urls import reverse
from django.utils.translation import gettext

from synth_engine.privacy import loss
from synth_engine.privacy.unit import Relation
from synthweb.accounts.models import Organisation
from synthweb.accounts.selectors import Person
from synthweb.datasets import selectors as datasets
from synthweb.datasets.domain_cache import newest
from synthweb.datasets.models import Dataset
from synthweb.datasets.services.terms import common_rho
from synthweb.ledger import (
    chain,
    checkpoints,
    consequences,
    figures,
    filters,
    forms,
    plan_years,
    selectors,
    yearly_limits,
)
from synthweb.ledger.amounts import Amount, short_text
from synthweb.ledger.models import (
    BudgetAccount,
    BudgetRequest,
    LedgerEntry,
    PublicationPlan,
    Rule,
)
from synthweb.ledger.plan_years import PlanYear
from synthweb.ledger.protection import Protection

DELTAS = ("1e-6", "1e-9", "1e-12")


@dataclass(frozen=True, kw_only=True)
class BudgetBar:
    """One balance bar: the arguments of components/budget_bar.html."""

    unit: str
    cap: int
    held: int
    charged: int


@dataclass(frozen=True, kw_only=True)
class AccountLine:
    """An account as a line of a list or the head of its page."""

    account: BudgetAccount
    protects: str
    bars: list[BudgetBar]
    delta: str = ""
    epsilon_cap: Fraction | None = (
        None  # of a zCDP account: what its cap and its charges are worth at `delta`
    )
    epsilon_charged: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class EntryLine:
    """One entry with the answer to whether its fields still give its hash."""

    entry: LedgerEntry
    meaning: str
    amounts: list[tuple[str, int]]
    intact: bool


def account_line(account: BudgetAccount, *, delta: str = "") -> AccountLine:
    """How an account stands."""
    balance = selectors.balance(account)
    bars = [
        BudgetBar(
            unit=currency,
            cap=getattr(balance.cap, currency),
            held=getattr(balance.held, currency),
            charged=getattr(balance.charged, currency),
        )
        for currency in selectors.counted(account.rule)
        if currency != "delta" or balance.cap.delta
    ]
    line = AccountLine(
        account=account, protects=Protection.of_account(account).sentence(), bars=bars
    )
    if account.rule != Rule.ZCDP:
        return line
    # The address may contain anything; only the offered values are computed with.
    at = delta if delta in DELTAS else "1e-9"
    exact = loss.parse_amount(at, name="delta")
    return replace(
        line,
        delta=at,
        epsilon_cap=selectors.guarantee_of(balance.cap, delta=exact),
        epsilon_charged=selectors.guarantee_of(balance.charged, delta=exact),
    )


def account_page(
    account: BudgetAccount, narrow: filters.EntryFilter, page: Page[LedgerEntry], delta: str
) -> dict[str, object]:
    """The page of one account."""
    return {
        "account": account,
        "line": account_line(account, delta=delta),
        "deltas": DELTAS,
        "coverages": account.coverages.select_related("dataset"),
        "page": page,
        "query": narrow.query,
        "narrow": narrow,
        "entries": [entry_line(entry, account=account) for entry in page],
        "card": figures.over_time(account),
        "length": account.entries.count(),
        "key_name": checkpoints.key_name(),
    }


def rho_policy(organisation: Organisation) -> dict[str, object]:
    """The one ρ of all columns of unknown values, or None, and whether the operator of the installation set
    it."""
    return {"rho": common_rho(organisation), "rho_is_of_installation": bool(settings.RHO)}


def limits_of(
    account: BudgetAccount,
    *,
    decides: bool,
    year: Form | None = None,
    earmark: Form | None = None,
) -> dict[str, object]:
    """What limits the runs of an account besides its cap; forms for who decides about it."""
    most = yearly_limits.yearly_limit(account)
    main = selectors.counted(account.rule)[0]
    plans = plan_years.of_account(account)
    parts = yearly_limits.open_earmarks(account, plans)
    shown: dict[str, object] = {
        "main": main,
        "yearly_limit": most,
        "taken_this_year": yearly_limits.taken_this_year(account),
        "years": yearly_limits.years(account, parts),
        "earmarks": [
            {
                "earmark": part.earmark,
                "amounts": amounts(selectors.amount_of(part.earmark), rule=account.rule),
                "left": amounts(part.left, rule=account.rule),
            }
            for part in parts
            if part.of_year is None
        ],
        "plans": [_plan_line(plan, years, rule=account.rule) for plan, years in plans],
    }
    if decides:
        initial = {} if most is None else {"most": short_text(main, most)}
        shown["year_form"] = year or forms.YearlyLimitForm(account=account, initial=initial)
        shown["earmark_form"] = earmark or forms.EarmarkForm(account=account)
    return shown


def _plan_line(plan: PublicationPlan, years: list[PlanYear], *, rule: str) -> dict[str, object]:
    """A plan in the list of its account, with what runs of the present year may still hold; nothing of a plan
    without that year."""
    line: dict[str, object] = {"plan": plan, "first": years[0].year, "last": years[-1].year}
    present = next((year for year in years if year.is_present), None)
    if present is not None:
        line |= {"present": present.year, "left": amounts(present.left, rule=rule)}
    return line


def entry_line(entry: LedgerEntry, *, account: BudgetAccount) -> EntryLine:
    """One line of the table of entries."""
    return EntryLine(
        entry=entry,
        meaning=str(filters.MEANING[entry.kind]),
        amounts=[]
        if entry.kind == LedgerEntry.Kind.OUTSIDE
        else amounts(selectors.amount_of(entry), rule=account.rule),
        intact=chain.seal(entry, account_code=account.code) == entry.hash,
    )


def amounts(amount: Amount, *, rule: str) -> list[tuple[str, int]]:
    """(currency, integer) pairs worth showing: a delta of zero is not."""
    return [
        (currency, getattr(amount, currency))
        for currency in selectors.counted(rule)
        if currency != "delta" or amount.delta
    ]


def before_asking(dataset: Dataset) -> dict[str, object] | None:
    """What stands in the way of asking: no confirmed description, or a request that waits already."""
    waiting = dataset.budget_requests.filter(state=BudgetRequest.State.OPEN).first()
    if waiting is not None:
        return {
            "title": gettext("A request is waiting"),
            "text": gettext(
                "A custodian has not decided yet. You can ask for more after the decision."
            ),
            "address": reverse("ledger:request", args=[waiting.code]),
            "action": gettext("See the request"),
        }
    if not dataset.domain_versions.exists():
        return {
            "title": gettext("Describe the table first"),
            "text": gettext(
                "Who is protected, and against what, is part of the description, and the budget is bound "
                "to it for good."
            ),
            "address": reverse("pages:dataset", args=[dataset.code]),
            "action": gettext("Back to the dataset"),
        }
    return None


def asking(dataset: Dataset, form: forms.AskForm) -> dict[str, object]:
    """What the page of a new request says beside the form."""
    protection = selectors.protection_of(dataset)
    return {
        "protects": protection.sentence(),
        "replaces": protection.relation == Relation.REPLACE_ONE,
        "line": account_line(form.covering) if form.covering else None,
        "twins": [] if form.covering else form.twins,
        "history": dataset.budget_requests.select_related("decided_by", "account")[:10],
    }


def deciding(
    user: Person,
    budget_request: BudgetRequest,
    *,
    grant: forms.GrantForm | None = None,
    refuse: forms.RefuseForm | None = None,
) -> dict[str, object]:
    """The page of one request; with the forms for whoever may decide it."""
    context: dict[str, object] = {
        "asked": budget_request,
        "amounts": amounts(selectors.amount_of(budget_request), rule=budget_request.rule),
        "protects": selectors.protection_of(budget_request.dataset).sentence(),
        "worth": _worth(budget_request),
        "version": (version := newest(budget_request.dataset)),
        "as_suggested": None if version is None else datasets.facts_as_suggested(user, version),
    }
    rests_on = None if version is None else datasets.basis_of(version)
    context["ranges_after_looking"] = rests_on.ranges_after_looking if rests_on else []
    covering = selectors.account_of(budget_request.dataset)
    context["line"] = account_line(covering) if covering else None
    if budget_request.state != BudgetRequest.State.OPEN:
        return context | {
            "granted": budget_request.account
            if budget_request.state == BudgetRequest.State.GRANTED
            else None
        }
    context["twins"] = (
        [] if covering else selectors.accounts_with_same_content(budget_request.dataset)
    )
    context["consequences"] = consequences.of_grant(
        selectors.amount_of(budget_request),
        rule=budget_request.rule,
        protection=selectors.protection_of(budget_request.dataset),
        account=covering or budget_request.account,
    )
    context["earlier"] = consequences.earlier_grants(budget_request.dataset)
    context["approvals"] = approvals = selectors.approvals_of(budget_request)
    context["two_above"] = selectors.two_above(budget_request.dataset.organisation)
    if selectors.may_decide(user, budget_request):
        context["approved"] = any(each.custodian_id == user.pk for each in approvals)
        context["grant"] = grant or forms.GrantForm(budget_request=budget_request)
        context["refuse"] = refuse or forms.RefuseForm()
    context["own"] = budget_request.requested_by_id == user.pk
    return context


def confirming(budget_request: BudgetRequest, grant: forms.GrantForm) -> dict[str, object]:
    """The page that asks a second time before a cap grows. grant: as it was typed, and valid."""
    decision = grant.decision
    account = (
        None if decision["opening"].separate else grant.covering or decision["opening"].account
    )
    return {
        "asked": budget_request,
        "grant": grant,
        "amounts": amounts(decision["amount"], rule=budget_request.rule),
        "lapses_on": decision["lapses_on"],
        "consequences": consequences.of_grant(
            decision["amount"],
            rule=budget_request.rule,
            protection=selectors.protection_of(budget_request.dataset),
            account=account,
        ),
    }


def _worth(budget_request: BudgetRequest) -> list[tuple[str, Fraction]]:
    """What a requested rho means: (delta, epsilon) pairs."""
    if budget_request.rule != Rule.ZCDP:
        return []
    amount = selectors.amount_of(budget_request)
    return [
        (delta, selectors.guarantee_of(amount, delta=loss.parse_amount(delta, name="delta")))
        for delta in DELTAS
    ]

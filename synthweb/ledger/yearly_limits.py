"""What limits the runs of an account besides its cap: a limit for each calendar year, and parts that are set
aside, those of plans over years among them.

Both are refusals before a hold, and nothing else: sums, entries and the privacy loss of what is held are as
without them. A limit that is lifted or a part that is freed can therefore never make an account spend more
than its cap. A part that is set aside for a project or for one release can be held by runs that name it, and
by no other; what is unspent of it is free again once it ends, without a movement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet, Sum
from django.http import Http404
from django.utils import timezone

from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.ledger import movements, plan_years, selectors
from synthweb.ledger.amounts import LETTERS, MAX_COLUMN_VALUE, Amount, short_text
from synthweb.ledger.errors import Earmarked, LedgerConflict, ShareReached, YearlyLimitReached
from synthweb.ledger.models import (
    BudgetAccount,
    Earmark,
    EarmarkEnd,
    EarmarkUse,
    LedgerEntry,
    PublicationPlan,
    YearlyLimit,
)
from synthweb.ledger.plan_years import PlanYear
from synthweb.lib import codes, names

Kind = LedgerEntry.Kind


def yearly_limit(account: BudgetAccount) -> int | None:
    """The most that runs may take in a calendar year, of ε or ρ in 1e-9; None: no limit."""
    newest = YearlyLimit.objects.filter(account=account).order_by("-pk").first()
    return None if newest is None else newest.most


def taken_this_year(account: BudgetAccount) -> int:
    """What was held since the year began, in UTC, and was not given back: of ε or ρ in 1e-9. A run counts in
    the year in which it was submitted."""
    year = timezone.now().astimezone(UTC).year
    holds = _holds(account).filter(
        at__gte=datetime(year, 1, 1, tzinfo=UTC), at__lt=datetime(year + 1, 1, 1, tzinfo=UTC)
    )
    main = selectors.counted(account.rule)[0]
    return int(holds.aggregate(sum=Sum(main))["sum"] or 0)


def _holds(account: BudgetAccount) -> QuerySet[LedgerEntry]:
    """What was held and not given back."""
    given_back = LedgerEntry.objects.filter(account=account, kind=Kind.RELEASE)
    return LedgerEntry.objects.filter(account=account, kind=Kind.HOLD).exclude(
        run_code__in=given_back.values("run_code")
    )


@dataclass(frozen=True, kw_only=True)
class YearLine:
    """A calendar year (UTC) of an account, amounts of ε or ρ in 1e-9. most: the limit at its end, None for
    none; taken: what runs hold, or were charged; set_aside: what is left of the parts whose last day lies in
    it, and of the shares that plans have in it; runs: how many took something."""

    year: int
    most: int | None
    taken: int
    set_aside: int
    runs: int


def years(account: BudgetAccount, parts: Iterable[EarmarkBalance]) -> list[YearLine]:
    """From the first year in which something was taken to the last one for which something is set aside; the
    present one always. parts: the open earmarks of the account."""
    main = selectors.counted(account.rule)[0]
    present = timezone.now().astimezone(UTC).year
    taken, runs, set_aside = Counter[int](), Counter[int](), Counter[int]()
    for at, amount in _holds(account).values_list("at", main):
        taken[at.astimezone(UTC).year] += amount
        runs[at.astimezone(UTC).year] += 1
    for part in parts:
        if (last := part.last_year) is not None:
            set_aside[last] += part.left.main(account.rule)
    known = {present, *taken, *set_aside}
    limits = list(YearlyLimit.objects.filter(account=account).order_by("pk"))
    return [
        YearLine(
            year=year,
            most=_limit_of(year, limits),
            taken=taken[year],
            set_aside=set_aside[year],
            runs=runs[year],
        )
        for year in range(min(known), max(known) + 1)
    ]


def _limit_of(year: int, limits: Iterable[YearlyLimit]) -> int | None:
    """The newest limit that was set before a year was over."""
    end = datetime(year + 1, 1, 1, tzinfo=UTC)
    before = [limit.most for limit in limits if limit.at < end]
    return before[-1] if before else None


@dataclass(frozen=True)
class EarmarkBalance:
    """An earmark that has not ended. left: what a run may hold of it; held: what runs that are not over hold;
    whole: what was set aside; of_year: the year of a plan whose share it is."""

    earmark: Earmark
    left: Amount
    held: Amount
    whole: Amount
    of_year: PlanYear | None = None

    @property
    def is_usable(self) -> bool:
        """Whether a run may name it."""
        if self.earmark.use == Earmark.Use.NOBODY or (
            self.of_year and not self.of_year.is_present
        ):
            return False
        return any(self.left.as_dict.values())

    @property
    def code(self) -> str:
        """What a run names it by: the share of a year by its plan, which is the same in every year."""
        return self.earmark.code if self.earmark.plan is None else self.earmark.plan.code

    @property
    def last_year(self) -> int | None:
        """The year after which it is free again, if it has one."""
        if self.earmark.year is not None:
            return self.earmark.year
        ends_on = self.earmark.ends_on
        # It is free again on that day, so the day before is its last.
        return None if ends_on is None else (ends_on - timedelta(days=1)).year


def open_earmarks(
    account: BudgetAccount,
    plans: Iterable[tuple[PublicationPlan, list[PlanYear]]] | None = None,
) -> list[EarmarkBalance]:
    """Amounts that are set aside, the oldest first: neither freed by hand nor past its last day. The shares
    of plans come last. plans: those of the account with their years, if they were read already."""
    today = timezone.now().astimezone(UTC).date()
    earmarks = Earmark.objects.filter(account=account, plan=None, end=None).exclude(
        ends_on__lte=today
    )
    uses = list(EarmarkUse.objects.filter(earmark__in=earmarks))
    how_ended = plan_years.how_ended(use.run_code for use in uses)
    parts = [
        _balance(earmark, [each for each in uses if each.earmark_id == earmark.pk], how_ended)
        for earmark in earmarks
    ]
    return parts + [
        _share(plan, year)
        for plan, years in (plan_years.of_account(account) if plans is None else plans)
        for year in years
        if not year.is_over or any(year.reserved.as_dict.values())
    ]


def _share(plan: PublicationPlan, year: PlanYear) -> EarmarkBalance:
    year.part.plan = plan
    return EarmarkBalance(
        year.part, left=year.reserved, held=year.held, whole=year.whole, of_year=year
    )


def _balance(
    earmark: Earmark, uses: list[EarmarkUse], how_ended: Mapping[str, str]
) -> EarmarkBalance:
    """how_ended: the kind of the last entry of each run that no longer holds its price."""
    held = [use for use in uses if use.run_code not in how_ended]
    return EarmarkBalance(
        earmark,
        left=_left(earmark, uses, how_ended),
        held=plan_years.sum_of(held),
        whole=selectors.amount_of(earmark),
    )


def _left(earmark: Earmark, uses: list[EarmarkUse], how_ended: Mapping[str, str]) -> Amount:
    if earmark.use == Earmark.Use.RELEASE and any(
        how_ended.get(use.run_code) == Kind.CHARGE for use in uses
    ):
        return Amount()  # its one release is made: what it left is free
    counted = [use for use in uses if how_ended.get(use.run_code) != Kind.RELEASE]
    return selectors.amount_of(earmark) - plan_years.sum_of(counted)


def usable_earmarks(account: BudgetAccount) -> list[EarmarkBalance]:
    """Those that a run may name."""
    return [each for each in open_earmarks(account) if each.is_usable]


def earmarked(account: BudgetAccount) -> Amount:
    """All that is set aside and not used yet."""
    return left_of(open_earmarks(account))


def left_of(parts: Iterable[EarmarkBalance]) -> Amount:
    """What runs may still hold of earmarks altogether."""
    return sum((part.left for part in parts), start=Amount())


def free(account: BudgetAccount) -> Amount:
    """The amount that is free and not set aside; below 0 where a grant expired that shares count on."""
    return selectors.balance(account).free - earmarked(account)


def usable_earmark(account: BudgetAccount, code: str) -> EarmarkBalance | None:
    """The one of this code, if a run may name it: of an earmark, or of a plan, whose share of this year it
    is."""
    return usable_of(open_earmarks(account), code)


def usable_of(parts: Iterable[EarmarkBalance], code: str) -> EarmarkBalance | None:
    """The one of this code among open earmarks, if a run may name it."""
    usable = {part.code: part for part in parts if part.is_usable}
    return usable.get(codes.of_text(code))


def require(account: BudgetAccount, price: Amount, *, earmark: str = "") -> Earmark | None:
    """Raise YearlyLimitReached, Earmarked or ShareReached if a run of this price may not be held. The account
    is locked, so that of two runs the second one counts the first. earmark: the code of the one, or of the
    plan, that it is paid from; the earmark is returned. Empty: from what is free."""
    main = selectors.counted(account.rule)[0]
    most = yearly_limit(account)
    if most is not None:
        left = most - taken_this_year(account)
        if getattr(price, main) > left:
            raise YearlyLimitReached(
                f"This year {LETTERS[main]} {short_text(main, max(0, left))} may still be taken of the "
                f"account, and this costs {LETTERS[main]} {short_text(main, getattr(price, main))}",
                repair="spend less, wait for the next year, or ask a custodian to raise the limit",
                field=main,
            )
    if earmark:
        return _require_of(account, price, code=earmark)
    set_aside = earmarked(account)
    whole = selectors.balance(account).free
    # Without what is set aside it would be refused all the same: the ledger says how much is missing.
    if covers(whole, price, rule=account.rule) and not covers(
        whole - set_aside, price, rule=account.rule
    ):
        raise Earmarked(
            f"Of what is left {set_aside.text(account.rule)} is set aside",
            repair="spend less, name what it is set aside for, or ask a custodian to free it",
            field=main,
        )
    return None


def require_earmark(account: BudgetAccount, code: str) -> EarmarkBalance:
    """The one of this code. Errors: Earmarked where a run may not name it; ShareReached where a plan has no
    share this year, or nothing of it is left."""
    chosen = usable_earmark(account, code)
    if chosen is None:
        _require_share_left(account, code)
        raise Earmarked(
            "There is no such part of the budget, or nothing of it is left",
            repair="choose another, or pay from what is free",
            field="earmark",
        )
    return chosen


def _require_share_left(account: BudgetAccount, code: str) -> None:
    """Say of a plan why nothing of it can be held."""
    plan = account.publication_plans.filter(code=codes.of_text(code)).first()
    if plan is None:
        return
    years = plan_years.years_of(plan)
    this_year = next((year for year in years if year.is_present), None)
    if this_year is None:
        raise ShareReached(
            f"The plan has shares for {years[0].year} to {years[-1].year}, and this is "
            f"{plan_years.present_year()}",
            repair="pay from what is free, or ask a custodian for a plan of this year",
            field="earmark",
        )
    raise _share_reached(this_year, price=None, rule=account.rule)


def _share_reached(year: PlanYear, *, price: Amount | None, rule: str) -> ShareReached:
    """With the numbers of the year. price: of the run; None where nothing at all is left."""
    costs = "" if price is None else f", and this costs {price.text(rule)}"
    return ShareReached(
        f"The plan has {year.whole.text(rule)} for {year.year}, of which {year.taken.text(rule)} is held "
        f"or charged: {year.left.text(rule)} is left{costs}",
        repair="spend less, wait for the next year, or ask a custodian to change the plan",
        field="earmark",
    )


def _require_of(account: BudgetAccount, price: Amount, *, code: str) -> Earmark:
    chosen = require_earmark(account, code)
    if not covers(chosen.left, price, rule=account.rule):
        if chosen.of_year is not None:
            raise _share_reached(chosen.of_year, price=price, rule=account.rule)
        raise Earmarked(
            f"Of what is set aside for this, {chosen.left.text(account.rule)} is left",
            repair="spend less, pay from what is free, or ask a custodian to set more aside",
            field="earmark",
        )
    return chosen.earmark


def use_earmark(earmark: Earmark, *, run_code: str, price: Amount) -> None:
    """Record what a run holds of an earmark, in the transaction of its hold."""
    EarmarkUse.objects.create(earmark=earmark, run_code=run_code, **price.as_dict)


def set_yearly_limit(*, custodian: User, account: BudgetAccount, most: int | None) -> None:
    """Limit what runs may take of an account in a calendar year, from now on; None: no limit."""
    if most is not None and not 0 <= most <= MAX_COLUMN_VALUE:
        raise LedgerConflict(
            "The limit is not one that the ledger counts", repair="give another"
        )
    with transaction.atomic():
        locked = movements.lock(account.pk)
        YearlyLimit.objects.create(account=locked, most=most, actor=custodian.get_username())
        main = selectors.counted(locked.rule)[0]
        audit.record(
            actor=custodian,
            action="budget.yearly_limit_set",
            target=("account", locked.code),
            organisation=locked.organisation,
            detail={
                "most": "none" if most is None else f"{LETTERS[main]} {short_text(main, most)}"
            },
        )


@transaction.atomic
def earmark(
    *,
    custodian: User,
    account: BudgetAccount,
    amount: Amount,
    purpose: str,
    use: str = Earmark.Use.NOBODY,
    ends_on: date | None = None,
) -> Earmark:
    """Set aside a part of what is free. use: who may spend it. ends_on: the day from which on it is free
    again. Raises Earmarked if less is free."""
    locked = movements.lock(account.pk)
    if (
        not amount.fits(locked.rule)
        or amount.is_negative_somewhere
        or not amount.main(locked.rule)
    ):
        raise LedgerConflict(
            "The amount must be above zero, in what the account counts",
            repair="give a positive privacy loss",
        )
    if ends_on is not None and ends_on <= timezone.now().astimezone(UTC).date():
        raise LedgerConflict(
            "The last day is not in the future", repair="give a later day", field="ends_on"
        )
    if not covers(free(locked), amount, rule=locked.rule):
        raise Earmarked(
            "The account has less free than this", repair="set aside less, or grant more first"
        )
    earmark = Earmark.objects.create(
        account=locked,
        purpose=names.one_line(purpose, field="purpose"),
        use=use,
        ends_on=ends_on,
        actor=custodian.get_username(),
        **amount.as_dict,
    )
    audit.record(
        actor=custodian,
        action="budget.earmarked",
        target=("account", locked.code),
        organisation=locked.organisation,
        detail={
            "earmark": earmark.code,
            "amount": amount.text(locked.rule),
            "purpose": earmark.purpose,
            "use": earmark.use,
            "ends_on": str(ends_on or ""),
        },
    )
    return earmark


@transaction.atomic
def end_earmark(*, custodian: User, account: BudgetAccount, code: str) -> None:
    """Free what was set aside. Doing it twice is no error."""
    locked = movements.lock(account.pk)
    earmark = Earmark.objects.filter(account=locked, code=codes.of_text(code)).first()
    if earmark is None:
        raise Http404("No such earmark")
    if earmark.plan_id is not None:
        raise LedgerConflict(
            "This is the share of a year in a plan", repair="change the plan instead"
        )
    # Under the lock of the account: of two clicks one writes.
    if EarmarkEnd.objects.filter(earmark=earmark).exists():
        return
    EarmarkEnd.objects.create(earmark=earmark, actor=custodian.get_username())
    audit.record(
        actor=custodian,
        action="budget.earmark_ended",
        target=("account", locked.code),
        organisation=locked.organisation,
        detail={"earmark": earmark.code},
    )


def covers(free: Amount, amount: Amount, *, rule: str) -> bool:
    """Whether there is as much of each currency that the rule counts."""
    return all(getattr(amount, name) <= getattr(free, name) for name in selectors.counted(rule))

"""What limits the runs of an account besides its cap: a limit for each calendar year, and parts that are set aside.

Both are refusals before a hold, and nothing else: sums, entries and the privacy loss of what is held are as without them. A
limit that is lifted or a part that is freed can therefore never make an account spend more than its cap.
"""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Sum
from django.http import Http404
from django.utils import timezone

from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.ledger import movements, selectors
from synthweb.ledger.amounts import LETTERS, MAX_COLUMN_VALUE, Amount, short_text
from synthweb.ledger.errors import Earmarked, LedgerConflict, YearlyLimitReached
from synthweb.ledger.models import (
    BudgetAccount,
    Earmark,
    EarmarkEnd,
    LedgerEntry,
    YearlyLimit,
)
from synthweb.lib import codes, names

Kind = LedgerEntry.Kind


def yearly_limit(account: BudgetAccount) -> int | None:
    """The most that runs may take in a calendar year, of ε or ρ in 1e-9; None: no limit."""
    newest = YearlyLimit.objects.filter(account=account).order_by("-pk").first()
    return None if newest is None else newest.most


def taken_this_year(account: BudgetAccount) -> int:
    """What was held since the year began, in UTC, and was not given back: of ε or ρ in 1e-9. A run counts in the year in which it
    was submitted."""
    year = timezone.now().astimezone(UTC).year
    given_back = LedgerEntry.objects.filter(account=account, kind=Kind.RELEASE)
    holds = LedgerEntry.objects.filter(
        account=account,
        kind=Kind.HOLD,
        at__gte=datetime(year, 1, 1, tzinfo=UTC),
        at__lt=datetime(year + 1, 1, 1, tzinfo=UTC),
    ).exclude(run_code__in=given_back.values("run_code"))
    main = selectors.counted(account.rule)[0]
    return int(holds.aggregate(sum=Sum(main))["sum"] or 0)


def open_earmarks(account: BudgetAccount) -> list[Earmark]:
    """What is set aside, the oldest first."""
    return list(Earmark.objects.filter(account=account, end=None))


def earmarked(account: BudgetAccount) -> Amount:
    """All that is set aside."""
    return sum(map(selectors.amount_of, open_earmarks(account)), start=Amount())


def require(account: BudgetAccount, price: Amount) -> None:
    """Raise YearlyLimitReached or Earmarked if a run of this price may not be held. The account is locked, so that of two runs the
    second one counts the first."""
    main = selectors.counted(account.rule)[0]
    most = yearly_limit(account)
    if most is not None:
        left = most - taken_this_year(account)
        if getattr(price, main) > left:
            raise YearlyLimitReached(
                f"This year {LETTERS[main]} {short_text(main, max(0, left))} may still be taken of the account,"
                f" and this costs {LETTERS[main]} {short_text(main, getattr(price, main))}",
                repair="spend less, wait for the next year, or ask a custodian to raise the limit",
                field=main,
            )
    set_aside = earmarked(account)
    free = selectors.balance(account).free
    # Without what is set aside it would be refused all the same: the ledger says how much is missing.
    if not _covers(free, price, rule=account.rule):
        return
    if not _covers(free - set_aside, price, rule=account.rule):
        raise Earmarked(
            f"Of what is left {set_aside.text(account.rule)} is set aside",
            repair="spend less, or ask a custodian to free it",
            field=main,
        )


def set_yearly_limit(*, custodian: User, account: BudgetAccount, most: int | None) -> None:
    """From now on runs may take so much of an account in a calendar year; None: no limit."""
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
    *, custodian: User, account: BudgetAccount, amount: Amount, purpose: str
) -> Earmark:
    """Set aside a part of what is free. Raises Earmarked if less is free."""
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
    free = selectors.balance(locked).free - earmarked(locked)
    if not _covers(free, amount, rule=locked.rule):
        raise Earmarked(
            "The account has less free than this", repair="set aside less, or grant more first"
        )
    earmark = Earmark.objects.create(
        account=locked,
        purpose=names.one_line(purpose, field="purpose"),
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


def _covers(free: Amount, amount: Amount, *, rule: str) -> bool:
    return all(getattr(amount, name) <= getattr(free, name) for name in selectors.counted(rule))

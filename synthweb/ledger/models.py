"""The privacy-budget ledger: money, with a database that refuses to overspend.

A BudgetAccount protects one population (a privacy unit under one neighbouring relation) with a cap and one
composition rule, for good. LedgerEntries are append-only, numbered and hash-chained per account:

    GRANT    a custodian raises the cap             cap     += amount
    LAPSE    a grant expired                        cap     -= amount: what is unspent of it
    HOLD     a run is submitted                     held    += amount
    CHARGE   a run is about to draw noise           held    -= amount, charged += amount    point of no return
    RELEASE  a run ended before any noise           held    -= amount
    OUTSIDE  exact counts are about to be taken     nothing: it has no amount, and no guarantee holds
                                                    afterwards

The sums on the account are kept in the same transaction under a row lock, and CHECK (held + charged <= cap)
is the last line of defence. Amounts are integers: epsilon and rho in 1e-9, delta in 1e-18, rounded up when
spent.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from synth_engine.privacy.unit import IDENTIFIER_RULES
from synthweb.accounts.models import Organisation
from synthweb.datasets.models import Dataset
from synthweb.lib import codes
from synthweb.lib.append_only import AppendOnly


class Rule(models.TextChoices):
    BASIC = "basic", _("Basic: ε and δ add up")
    ZCDP = "zcdp", _("zCDP: ρ adds up")


class BudgetAccount(models.Model):
    """The budget of one population. Rule, unit and relation never change; the cap grows by GRANT entries, and
    only what is unspent of an expired one ever leaves it."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="budget_accounts"
    )
    name = models.CharField(max_length=200)
    rule = models.CharField(max_length=8, choices=Rule)
    relation = models.CharField(max_length=16)  # add-remove | replace-one
    max_records = models.PositiveIntegerField(default=1)
    unit_column = models.CharField(max_length=200, blank=True)
    unit_spelling = models.CharField(
        max_length=16, default="exact"
    )  # exact | casefold | integer
    # The version of the rules by which identifiers of persons are compared (`privacy.unit`).
    identifier_rules = models.PositiveSmallIntegerField(default=IDENTIFIER_RULES)
    invariants = models.JSONField(
        default=list, blank=True
    )  # names of totals that neighbouring tables share
    epsilon_cap = models.BigIntegerField(default=0)
    epsilon_held = models.BigIntegerField(default=0)
    epsilon_charged = models.BigIntegerField(default=0)
    delta_cap = models.BigIntegerField(default=0)
    delta_held = models.BigIntegerField(default=0)
    delta_charged = models.BigIntegerField(default=0)
    rho_cap = models.BigIntegerField(default=0)
    rho_held = models.BigIntegerField(default=0)
    rho_charged = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        # They hold for code that never calls the services, and for SQL that somebody types.
        constraints = [
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{currency}_{part}__gte": 0}),
                    name=f"{currency}_{part}_positive",
                )
                for currency in ("epsilon", "delta", "rho")
                for part in ("cap", "held", "charged")
            ),
            *(
                models.CheckConstraint(
                    condition=Q(
                        **{
                            f"{currency}_cap__gte": F(f"{currency}_held")
                            + F(f"{currency}_charged")
                        }
                    ),
                    name=f"{currency}_within_cap",
                )
                for currency in ("epsilon", "delta", "rho")
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Coverage(AppendOnly):
    """Which account a dataset spends from: one account for good; tables on the same people share it."""

    dataset = models.OneToOneField(Dataset, on_delete=models.PROTECT, related_name="coverage")
    account = models.ForeignKey(
        BudgetAccount, on_delete=models.PROTECT, related_name="coverages"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.dataset} spends from {self.account}"


class BudgetRequest(models.Model):
    """A steward asks a custodian for budget; the decision and its reason stay."""

    class State(models.TextChoices):
        OPEN = "open", _("Waiting for a custodian")
        GRANTED = "granted", _("Granted")
        REFUSED = "refused", _("Refused")

    class Rhythm(models.TextChoices):
        ONCE = "once", _("Once")
        YEARLY = "yearly", _("Every year")
        QUARTERLY = "quarterly", _("Every quarter")
        MONTHLY = "monthly", _("Every month")

    class Readers(models.TextChoices):
        PUBLIC = "public", _("Everybody: it will be public")
        NAMED = "named", _("Named analysts, who agreed to terms")
        INSIDE = "inside", _("People inside the organisation alone")

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    dataset = models.ForeignKey(
        Dataset, on_delete=models.PROTECT, related_name="budget_requests"
    )
    account = models.ForeignKey(
        BudgetAccount, null=True, blank=True, on_delete=models.PROTECT, related_name="requests"
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    reason = models.TextField()
    rule = models.CharField(max_length=8, choices=Rule)
    epsilon = models.BigIntegerField(default=0)
    delta = models.BigIntegerField(default=0)
    rho = models.BigIntegerField(default=0)
    releases = models.PositiveIntegerField(
        null=True, blank=True
    )  # how many its steward plans to make of it
    rhythm = models.CharField(max_length=9, choices=Rhythm, blank=True)
    readers = models.CharField(max_length=6, choices=Readers, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    decision_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Partial: a dataset has any number of decided requests.
            models.UniqueConstraint(
                fields=["dataset"], condition=Q(state="open"), name="one_open_request_a_dataset"
            )
        ]
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"Budget for {self.dataset}"


class GrantPolicy(AppendOnly):
    """From which ε on two custodians of an organisation approve a grant. The newest row applies; a change is
    a new row."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="grant_policies"
    )
    two_above = models.BigIntegerField(
        null=True, blank=True
    )  # of the account's cap after the grant, in 1e-9; None: one custodian always suffices
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "grant policies"
        constraints = [
            models.CheckConstraint(condition=Q(two_above__gte=0), name="policy_not_negative")
        ]

    def __str__(self) -> str:
        return f"Policy of {self.organisation}"


class BudgetApproval(AppendOnly):
    """The approval of a first custodian, where two are needed. It grants nothing; the grant that follows
    names it as evidence."""

    request = models.ForeignKey(
        BudgetRequest, on_delete=models.PROTECT, related_name="approvals"
    )
    custodian = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    account = models.ForeignKey(
        BudgetAccount, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )  # None: a new one
    epsilon = models.BigIntegerField(default=0)
    delta = models.BigIntegerField(default=0)
    rho = models.BigIntegerField(default=0)
    lapses_on = models.DateField(null=True, blank=True)
    reason = models.TextField()
    evidence = models.CharField(
        max_length=64
    )  # hash of the audit log's entry about this approval
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(epsilon__gte=0) & Q(delta__gte=0) & Q(rho__gte=0),
                name="approval_amounts_positive",
            )
        ]

    def __str__(self) -> str:
        return f"{self.custodian} approves {self.request}"


class YearlyLimit(AppendOnly):
    """What runs may take of an account within one calendar year, in UTC. The newest row applies; a change is
    a new row."""

    account = models.ForeignKey(
        BudgetAccount, on_delete=models.PROTECT, related_name="yearly_limits"
    )
    most = models.BigIntegerField(
        null=True, blank=True
    )  # of ε or ρ, by the rule of the account, in 1e-9; None: no limit
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(most__gte=0), name="yearly_limit_not_negative")
        ]

    def __str__(self) -> str:
        return f"Yearly limit of {self.account}"


class PublicationPlan(AppendOnly):
    """A publication of a table that grows, over years: each calendar year, in UTC, has a share of the
    account, which is an Earmark of that year. A year that is over never changes. remainder: the rule for what
    a year leaves, unless a PlanRule is newer."""

    class Remainder(models.TextChoices):
        FREE = "free", _("It is free for other runs")
        NEXT = "next", _("It goes to the next year")
        LAPSED = "lapsed", _("It lapses: nobody can spend it")

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    account = models.ForeignKey(
        BudgetAccount, on_delete=models.PROTECT, related_name="publication_plans"
    )
    name = models.CharField(max_length=200)
    remainder = models.CharField(max_length=6, choices=Remainder)
    reason = models.TextField()
    actor = models.CharField(max_length=150)  # the custodian who approved it
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.name} ({self.account})"


class PlanRule(AppendOnly):
    """Another rule for what the years of a plan leave, from a year on that was not over when it was set. Of
    several that a year has, the newest applies."""

    plan = models.ForeignKey(PublicationPlan, on_delete=models.PROTECT, related_name="rules")
    first_year = models.PositiveSmallIntegerField()  # in UTC
    remainder = models.CharField(max_length=6, choices=PublicationPlan.Remainder)
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"From {self.first_year} on {self.remainder}, of {self.plan}"


class Earmark(AppendOnly):
    """A part of an account that is set aside for a purpose. What is unspent of it is free again once a
    custodian frees it, or on its last day. The share of a year in a plan is one, too: the newest row of the
    year applies, and the plan says what becomes of the rest."""

    class Use(models.TextChoices):
        NOBODY = "nobody", _("Nobody, until it is freed")
        PROJECT = "project", _("Runs of this project, as far as it goes")
        RELEASE = "release", _("One release; what it leaves is free again")
        PLAN = "plan", _("Runs of a plan, in one year")

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    account = models.ForeignKey(
        BudgetAccount, on_delete=models.PROTECT, related_name="earmarks"
    )
    purpose = models.CharField(max_length=200)
    use = models.CharField(max_length=7, choices=Use, default=Use.NOBODY)
    plan = models.ForeignKey(
        PublicationPlan, null=True, blank=True, on_delete=models.PROTECT, related_name="shares"
    )
    year = models.PositiveSmallIntegerField(null=True, blank=True)  # of a plan, in UTC
    ends_on = models.DateField(null=True, blank=True)  # from this day on it is free, in UTC
    epsilon = models.BigIntegerField(default=0)
    delta = models.BigIntegerField(default=0)
    rho = models.BigIntegerField(default=0)
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(epsilon__gte=0) & Q(delta__gte=0) & Q(rho__gte=0),
                name="earmark_amounts_positive",
            ),
            models.CheckConstraint(
                condition=Q(use="plan", plan__isnull=False, year__isnull=False, ends_on=None)
                | (~Q(use="plan") & Q(plan=None, year=None)),
                name="share_names_plan_and_year",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} ({self.account})"


class EarmarkEnd(AppendOnly):
    """A custodian freed what was earmarked: from now on runs can hold it."""

    earmark = models.OneToOneField(Earmark, on_delete=models.PROTECT, related_name="end")
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"End of {self.earmark}"


class EarmarkUse(AppendOnly):
    """What a run held of an earmark. It counts unless the run gave its hold back."""

    earmark = models.ForeignKey(Earmark, on_delete=models.PROTECT, related_name="uses")
    run_code = models.CharField(max_length=16, unique=True)  # as in a LedgerEntry
    epsilon = models.BigIntegerField(default=0)
    delta = models.BigIntegerField(default=0)
    rho = models.BigIntegerField(default=0)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(epsilon__gte=0) & Q(delta__gte=0) & Q(rho__gte=0),
                name="earmark_use_amounts_positive",
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_code} of {self.earmark}"


class LedgerEntry(AppendOnly):
    """One movement of budget. `hash` covers every other field and `previous_hash`: a chain per account."""

    class Kind(models.TextChoices):
        GRANT = "GRANT"
        HOLD = "HOLD"
        CHARGE = "CHARGE"
        RELEASE = "RELEASE"
        LAPSE = "LAPSE"
        OUTSIDE = "OUTSIDE"

    account = models.ForeignKey(BudgetAccount, on_delete=models.PROTECT, related_name="entries")
    sequence = models.PositiveIntegerField()
    kind = models.CharField(max_length=8, choices=Kind)
    epsilon = models.BigIntegerField(default=0)
    delta = models.BigIntegerField(default=0)
    rho = models.BigIntegerField(default=0)
    dataset_code = models.CharField(max_length=16, blank=True)
    run_code = models.CharField(
        max_length=16, blank=True
    )  # runs lie above the ledger: named, not referenced
    actor = models.CharField(
        max_length=150
    )  # username, or "worker" for what a run does by itself
    reason = models.TextField(blank=True)
    # SHA-256 of the plan that a HOLD or CHARGE pays for, of the first approval that a GRANT needed, of the
    # GRANT that a LAPSE ends
    evidence = models.CharField(max_length=64, blank=True)
    lapses_on = models.DateField(
        null=True, blank=True
    )  # of a GRANT: the day from which on nothing of it can be spent, in UTC
    at = models.DateTimeField()
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        verbose_name_plural = "ledger entries"
        ordering = ["account", "sequence"]
        constraints = [
            models.UniqueConstraint(fields=["account", "sequence"], name="entry_sequence"),
            models.UniqueConstraint(fields=["hash"], name="entry_hash"),
            # Partial, because grants name no run. A worker that starts over cannot hold or
            # charge twice.
            models.UniqueConstraint(
                fields=["run_code", "kind"], condition=~Q(run_code=""), name="entry_once_a_run"
            ),
            # A charge and a release exclude each other: what was spent is never given back.
            models.UniqueConstraint(
                fields=["run_code"],
                condition=Q(kind__in=["CHARGE", "RELEASE"]),
                name="one_resolution_a_run",
            ),
            models.CheckConstraint(
                condition=Q(epsilon__gte=0) & Q(delta__gte=0) & Q(rho__gte=0),
                name="entry_amounts_positive",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["GRANT", "LAPSE"]) | ~Q(run_code=""),
                name="entry_names_its_run",
            ),
            models.CheckConstraint(
                condition=Q(lapses_on=None) | Q(kind="GRANT"), name="only_grants_lapse"
            ),
            models.CheckConstraint(
                condition=~Q(kind="LAPSE") | ~Q(evidence=""), name="lapse_names_its_grant"
            ),
            models.CheckConstraint(
                # No number could be mistaken for a loss: the one of exact counts is not finite.
                condition=~Q(kind="OUTSIDE") | Q(epsilon=0, delta=0, rho=0),
                name="outside_has_no_amount",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account} {self.sequence} {self.kind}"

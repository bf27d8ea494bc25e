"""The ledger and the audit log in the administration: to read, never to change."""

from __future__ import annotations

from django.contrib import admin

from synthweb.accounts.admin import ReadOnlyAdmin
from synthweb.audit import chain as audit_chain
from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, selectors
from synthweb.ledger.models import (
    BudgetAccount,
    BudgetApproval,
    BudgetRequest,
    Coverage,
    Earmark,
    EarmarkUse,
    GrantPolicy,
    LedgerEntry,
    PlanRule,
    PublicationPlan,
    YearlyLimit,
)


@admin.register(BudgetAccount)
class BudgetAccountAdmin(ReadOnlyAdmin):
    site_page = "ledger:account"
    list_display = [
        "name",
        "code",
        "organisation",
        "rule",
        "relation",
        "cap",
        "free",
        "chain_status",
    ]
    list_filter = [
        ("organisation", admin.RelatedOnlyFieldListFilter),
        "rule",
    ]  # none of other organisations
    search_fields = ["name", "code"]

    @admin.display
    def cap(self, account: BudgetAccount) -> str:
        return selectors.balance(account).cap.text(account.rule)

    @admin.display
    def free(self, account: BudgetAccount) -> str:
        return selectors.balance(account).free.text(account.rule)

    @admin.display(description="Chain")
    def chain_status(self, account: BudgetAccount) -> str:
        # Recomputed for every row: a stored verdict could be changed together with the entries.
        verdict = chain.verify(account)
        return (
            f"intact, {verdict.length} entries"
            if verdict.intact
            else f"BROKEN: {verdict.faults[0]}"
        )


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    organisation_path = "account__organisation"
    list_display = [
        "account",
        "sequence",
        "kind",
        "how_much",
        "actor",
        "reason",
        "run_code",
        "at",
        "fits_its_hash",
    ]
    list_filter = ["kind", ("account", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["run_code", "dataset_code", "actor", "hash"]
    ordering = ["-at", "-sequence"]
    list_select_related = ["account"]

    @admin.display
    def how_much(self, entry: LedgerEntry) -> str:
        return selectors.amount_of(entry).text(entry.account.rule)

    @admin.display(boolean=True)
    def fits_its_hash(self, entry: LedgerEntry) -> bool:
        return chain.seal(entry, account_code=entry.account.code) == entry.hash


@admin.register(BudgetRequest)
class BudgetRequestAdmin(ReadOnlyAdmin):
    site_page = "ledger:request"
    organisation_path = "dataset__organisation"
    list_display = [
        "dataset",
        "code",
        "requested_by",
        "rule",
        "state",
        "decided_by",
        "decision_reason",
        "created_at",
    ]
    list_filter = ["state"]
    list_select_related = ["dataset", "requested_by", "decided_by"]


@admin.register(BudgetApproval)
class BudgetApprovalAdmin(ReadOnlyAdmin):
    organisation_path = "request__dataset__organisation"
    list_display = ["request", "custodian", "reason", "evidence", "at"]
    list_select_related = ["request__dataset", "custodian"]


@admin.register(GrantPolicy)
class GrantPolicyAdmin(ReadOnlyAdmin):
    list_display = ["organisation", "two_above", "actor", "at"]
    list_select_related = ["organisation"]


@admin.register(YearlyLimit)
class YearlyLimitAdmin(ReadOnlyAdmin):
    organisation_path = "account__organisation"
    list_display = ["account", "most", "actor", "at"]
    list_select_related = ["account"]


@admin.register(PublicationPlan)
class PublicationPlanAdmin(ReadOnlyAdmin):
    organisation_path = "account__organisation"
    list_display = ["account", "name", "code", "remainder", "reason", "actor", "at"]
    list_select_related = ["account"]


@admin.register(PlanRule)
class PlanRuleAdmin(ReadOnlyAdmin):
    organisation_path = "plan__account__organisation"
    list_display = ["plan", "first_year", "remainder", "actor", "at"]
    list_select_related = ["plan__account"]


@admin.register(Earmark)
class EarmarkAdmin(ReadOnlyAdmin):
    organisation_path = "account__organisation"
    list_display = [
        "account",
        "purpose",
        "use",
        "plan",
        "year",
        "ends_on",
        "epsilon",
        "delta",
        "rho",
        "actor",
        "at",
        "end",
    ]
    list_select_related = ["account", "plan", "end"]


@admin.register(EarmarkUse)
class EarmarkUseAdmin(ReadOnlyAdmin):
    organisation_path = "earmark__account__organisation"
    list_display = ["earmark", "run_code", "epsilon", "delta", "rho", "at"]
    list_select_related = ["earmark__account"]


@admin.register(Coverage)
class CoverageAdmin(ReadOnlyAdmin):
    organisation_path = "account__organisation"
    list_display = ["dataset", "account", "created_at"]
    list_select_related = ["dataset", "account"]


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    organisation_path = "organisation_code"
    organisation_by_code = True
    list_display = [
        "sequence",
        "at",
        "actor",
        "action",
        "object_kind",
        "object_code",
        "fits_its_hash",
    ]
    list_filter = ["action"]
    search_fields = ["actor", "object_code", "hash"]

    @admin.display(boolean=True)
    def fits_its_hash(self, entry: AuditEntry) -> bool:
        return audit_chain.seal(entry) == entry.hash

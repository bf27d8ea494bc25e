"""The deeds of the audit log in words: one table. What is not in it is shown as it was recorded, never left out."""

from __future__ import annotations

PREVIEW, REPORT = "preview.opened", "report.opened"
READS_REAL_ROWS = (
    PREVIEW,
    REPORT,
)  # each opening of something that was made from real rows without noise

SENTENCES = {
    # people
    "organisation.created": "made the organisation",
    "user.created": "added a person",
    "user.roles_set": "changed somebody's roles",
    "user.activated": "let a person in again",
    "user.deactivated": "shut a person out",
    "user.password_reset": "gave a person a one-time password",
    "user.password_changed": "changed their own password",
    "user.signed_in": "signed in",
    "user.sign_in_failed": "failed to sign in",
    "user.sign_in_paused": "was stopped from guessing: sign-ins pause for a quarter of an hour",
    "token.created": "made an API token",
    "token.revoked": "revoked an API token",
    "demo_users.switched_on": "let the demo users in",
    "demo_users.switched_off": "shut the demo users out",
    # tables
    "dataset.uploaded": "uploaded a table",
    "ingest.requested": "had the table read",
    "dataset.read": "read the table and wrote suggestions for its steward",
    "dataset.refused": "refused the table, which could not be read as one",
    "dataset.renamed": "renamed a dataset",
    "dataset.form_said": "said how the file of a table is written",
    "dataset.replaced": "put a corrected file in the place of a table",
    "dataset.returned": "gave a refused file up for the one before it",
    "dataset.deleted": "deleted the table of a dataset",
    "columns.confirmed": "confirmed facts about columns as public knowledge",
    "domain.confirmed": "confirmed the description",
    "template.saved": "kept a description as a template",
    "template.applied": "took a template into the draft of a description",
    "template.deleted": "deleted a template of descriptions",
    "reference.declared": "declared a reference table public",
    "reference.used": "took points or partitions of a reference table into the draft of a description",
    "reference.deleted": "deleted a reference table",
    PREVIEW: "looked at real rows: first rows and suggestions, in a sitting of up to half an hour",
    "report.requested": "asked for a comparison with the real table",
    REPORT: "looked at a comparison with the real table",
    # budget
    "budget.requested": "asked for privacy budget",
    "budget.approved": "approved privacy budget, for which a second custodian is needed",
    "budget.policy_set": "set above which ε two custodians approve a grant",
    "budget.granted": "granted privacy budget",
    "budget.refused": "refused privacy budget",
    # runs and releases
    "run.submitted": "started a run, which holds its price",
    "run.cancelled": "cancelled a run",
    "run.resumed": "had a run taken up again from its stored answers",
    "release.published": "published a release",
    "check.published": "published figures of a release that were paid for",
    "release.described": "changed name or description of a release",
    "release.licensed": "stated the licence of a release",
    "release.edited": "kept an edited description of a release",
    "release.marked": "added a mark beside the receipt of a release",
    "release.shared": "shared a release",
    "release.revoked": "took a release back",
    "public_link.made": "made a public link to a release",
    "public_link.used": "served a release by a public link: requests of one day",
    "public_link.revoked": "ended a public link to a release",
    "public_links.allowed": "allowed public links in the organisation",
    "public_links.forbidden": "switched off all public links of the organisation",
    "sample.requested": "drew a sample",
}


def sentence(action: str) -> str:
    """What somebody did; the name of the action itself where this page does not know it."""
    return SENTENCES.get(action, action)


def choices(actions: list[str]) -> list[tuple[str, str]]:
    """(action, sentence) pairs for a filter, by their words."""
    return sorted(((action, sentence(action)) for action in actions), key=lambda pair: pair[1])


def what_was_seen(action: str) -> str:
    """Of an opening: what it showed; nothing for other deeds."""
    return {
        PREVIEW: "first rows and suggestions",
        REPORT: "a comparison with the real table",
    }.get(action, "")

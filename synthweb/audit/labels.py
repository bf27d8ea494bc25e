"""The deeds of the audit log in words: one table. What is not in it is shown as it was recorded, never left
out. Pages translate the words; the log and its files have them in English."""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from synthweb.lib import extras

PREVIEW, REPORT = "preview.opened", "report.opened"
READS_REAL_ROWS = (
    PREVIEW,
    REPORT,
)  # each opening of something that was made from real rows without noise

SENTENCES = {
    # people
    "organisation.created": _("made the organisation"),
    "organisation.rho_set": _("set the ρ of all columns of unknown values"),
    "organisation.appearance_set": _("set how the organisation appears"),
    "organisation.second_factor_set": _("set whether everybody needs a second factor"),
    "user.created": _("added a person"),
    "user.roles_set": _("changed somebody's roles"),
    "user.activated": _("let a person in again"),
    "user.deactivated": _("shut a person out"),
    "user.identity_linked": _("connected a person with the identity provider"),
    "user.left": _("left for good"),
    "dataset.handed_over": _("handed a dataset over to another steward"),
    "user.password_reset": _("gave a person a one-time password"),
    "user.password_changed": _("changed their own password"),
    "user.password_reset_by_mail": _("chose a new password by a link that was mailed to them"),
    "user.second_factor_added": _("set up a second factor"),
    "user.second_factor_removed": _("took a second factor away"),
    "user.passkey_added": _("set up a passkey"),
    "user.passkey_removed": _("took a passkey away"),
    "user.recovery_codes_made": _("made new recovery codes"),
    "user.reset_requested": _("asked for a mail to choose a new password"),
    "user.confirmed": _("confirmed by their password that it is them"),
    "user.signed_in": _("signed in"),
    "user.signed_in_in_emergency": _(
        "signed in by password, by the emergency account beside the identity provider"
    ),
    "user.sign_in_failed": _("failed to sign in"),
    "user.sign_in_paused": _(
        "was stopped from guessing: sign-ins pause for a quarter of an hour"
    ),
    "session.ended": _("ended sessions of their own"),
    "session.idle": _("was signed out because nobody used the session"),
    "token.created": _("made an API token"),
    "token.revoked": _("revoked an API token"),
    "token.ended": _("refused an API token whose owner has not signed in for a week"),
    "webhook.registered": _("registered a webhook"),
    "webhook.removed": _("removed a webhook"),
    "webhook.enabled": _("switched a webhook on again"),
    "webhook.disabled": _("switched off a webhook to which nothing had arrived for days"),
    "demo_users.switched_on": _("let the demo users in"),
    "demo_users.switched_off": _("shut the demo users out"),
    # tables
    "dataset.uploaded": _("uploaded a table"),
    "ingest.requested": _("had the table read"),
    "dataset.read": _("read the table and wrote suggestions for its steward"),
    "dataset.refused": _("refused the table, which could not be read as one"),
    "dataset.renamed": _("renamed a dataset"),
    "dataset.records_stated": _("stated about how many records there are"),
    "dataset.form_said": _("said how the file of a table is written"),
    "dataset.replaced": _("put a corrected file in the place of a table"),
    "dataset.returned": _("gave a refused file up for the one before it"),
    "dataset.earlier_erased": _("erased the earlier files of a table"),
    "dataset.deleted": _("deleted the table of a dataset"),
    "dataset.retention_set": _("set until when table, noisy answers and releases are kept"),
    "answers.erased": _("erased noisy answers at the end of their time"),
    "vault.key_rotated": _("changed the key of the vault"),
    "database.table_added": _("added a table to a database"),
    "database.table_removed": _("took a table out of a database"),
    "database.lookup_added": _("put a public look-up table into a database"),
    "database.lookup_removed": _("took a look-up table out of a database"),
    "database.keys_said": _("said how the tables of a database are connected"),
    "database.confirmed": _("confirmed the description of a database"),
    "keys.requested": _("had the keys of a database checked"),
    "columns.confirmed": _("confirmed facts about columns as public knowledge"),
    "domain.confirmed": _("confirmed the description"),
    "description.learned": _("learned columns of the description"),
    "template.saved": _("kept a description as a template"),
    "template.applied": _("took a template into the draft of a description"),
    "template.deleted": _("deleted a template of descriptions"),
    "reference.declared": _("declared a reference table public"),
    "reference.used": _(
        "took points or partitions of a reference table into the draft of a description"
    ),
    "reference.deleted": _("deleted a reference table"),
    PREVIEW: _(
        "looked at real rows: first rows and suggestions, in a sitting of up to half an hour"
    ),
    "report.requested": _("asked for a comparison with the real table"),
    REPORT: _("looked at a comparison with the real table"),
    # budget
    "budget.requested": _("asked for privacy budget"),
    "budget.approved": _("approved privacy budget, for which a second custodian is needed"),
    "budget.policy_set": _("set above which ε two custodians approve a grant"),
    "budget.yearly_limit_set": _("set what runs may take of an account in a year"),
    "budget.earmarked": _("set aside a part of an account for a purpose"),
    "budget.earmark_ended": _("freed a part of an account that was set aside"),
    "budget.plan_approved": _("approved a plan over years"),
    "budget.plan_changed": _("changed a plan over years"),
    "budget.granted": _("granted privacy budget"),
    "budget.refused": _("refused privacy budget"),
    # runs and releases
    "run.submitted": _("started a run, which holds its price"),
    "run.cancelled": _("cancelled a run"),
    "run.resumed": _("had a run taken up again from its stored answers"),
    "release.published": _("published a release"),
    "counts.asked": _("asked for filled counts, which are not private"),
    "counts.approved_first": _(
        "approved filled counts, for which a second custodian is needed"
    ),
    "counts.approved": _("approved filled counts, which are not private"),
    "counts.refused": _("refused filled counts"),
    "counts.withdrawn": _("took a request for filled counts back"),
    "counts.opened": _("opened a table for filled counts, outside the guarantee"),
    "counts.published": _("published filled counts, which are not private"),
    "link.proposed": _("proposed a link with a table of another organisation"),
    "link.invited": _("made another invitation to a link"),
    "link.accepted": _("accepted a link with a table of another organisation"),
    "link.started": _("started a link, which holds the prices of both sides"),
    "link.withdrawn": _("withdrew a link before anything was spent"),
    "link.sketched": _("kept the sketch of a side of a link"),
    "link.marked": _("added a mark beside the receipt of a sketch"),
    "link.drawn": _("generated the joined tables of a link"),
    "link.release_given": _("gave a release of a table for the joined tables of a link"),
    "check.published": _("published figures of a release that were paid for"),
    "check.voided": _("stated that paid figures of a release are void"),
    "description.marked": _("added a mark beside the receipt of a learned description"),
    "check.marked": _("added a mark beside the receipt of paid figures"),
    "allowance.granted": _("let analysts validate results within an allowance"),
    "allowance.revoked": _("ended an allowance for validations"),
    "release.described": _("changed name or description of a release"),
    "release.licensed": _("stated the licence of a release"),
    "release.edited": _("kept an edited description of a release"),
    "release.repaired": _("made a table of a release that meets public totals"),
    "release.repair_deleted": _("deleted a table of a release that meets public totals"),
    "release.marked": _("added a mark beside the receipt of a release"),
    "release.shared": _("shared a release"),
    "release.revoked": _("took a release back"),
    "release.withdrawn": _("withdrew a release at the end of its time"),
    "public_link.made": _("made a public link to a release"),
    "public_link.used": _("served a release by a public link: requests of one day"),
    "public_link.revoked": _("ended a public link to a release"),
    "public_links.allowed": _("allowed public links in the organisation"),
    "public_links.forbidden": _("switched off all public links of the organisation"),
    "sample.requested": _("drew a sample"),
}


def sentence(action: str) -> str:
    """What somebody did; the name of the action itself where nobody has words for it, or the extra that has
    them is off."""
    return known().get(action, action)


def known() -> dict[str, str]:
    """The words of all deeds, those of extras with them."""
    return SENTENCES | extras.sentences()


def choices(actions: list[str]) -> list[tuple[str, str]]:
    """(action, sentence) pairs for a filter of a page, by their words in its language."""
    return sorted(
        ((action, gettext(sentence(action))) for action in actions), key=lambda pair: pair[1]
    )


def what_was_seen(action: str) -> str:
    """Of an opening: what it showed; nothing for other deeds."""
    return {
        PREVIEW: _("first rows and suggestions"),
        REPORT: _("a comparison with the real table"),
    }.get(action, "")

"""The demonstration's people: one for each role and one who manages people, in an organisation of their
own."""

from __future__ import annotations

from django.db import transaction

from synthweb.accounts import services
from synthweb.accounts.models import Organisation, Role, User
from synthweb.audit import services as audit

ORGANISATION = "Demonstration"
PEOPLE = {
    "demo-steward": (Role.STEWARD, False, "uploads, describes, releases, shares, compares"),
    "demo-custodian": (Role.CUSTODIAN, False, "grants privacy budget"),
    "demo-analyst": (Role.ANALYST, False, "sees what is shared with them"),
    "demo-auditor": (Role.AUDITOR, True, "reads the ledger and the audit log, manages people"),
}


@transaction.atomic
def make() -> list[tuple[str, str, str]]:
    """Make whoever is missing and give everybody a fresh random password; name, password and purpose of
    each."""
    organisation = Organisation.objects.filter(
        name=ORGANISATION
    ).first() or services.create_organisation(actor="system", name=ORGANISATION)
    made = []
    for username, (role, is_staff, words) in PEOPLE.items():
        password = services.one_time_password()
        user = User.objects.filter(username=username, is_demo=True).first()
        if user is None:
            services.create_user(
                actor="system",
                organisation=organisation,
                person=services.NewPerson(username=username, is_staff=is_staff, is_demo=True),
                roles=[role],
                password=password,
                # The command hands these passwords out to be used as they are.
                must_change_password=False,
            )
        else:
            user.set_password(password)
            user.save(update_fields=["password"])
        made.append((username, password, words))
    return made


@transaction.atomic
def set_active(*, active: bool) -> int:
    """Let all demo users in, or keep them out; how many there are."""
    number = User.objects.filter(is_demo=True).update(is_active=active)
    # is_active alone would let old sessions and tokens work again later.
    for user in User.objects.filter(is_demo=True) if not active else ():
        services.end_access(person=user, actor="system", because="demo users switched off")
    audit.record(
        actor="system", action="demo_users.switched_on" if active else "demo_users.switched_off"
    )
    return number

"""How an organisation appears: the language of its pages, whom to ask about its releases, and its logo."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict, dataclass, replace

from django.conf import settings
from django.db import transaction

from synthweb.accounts import logos
from synthweb.accounts.models import Organisation, OrganisationAppearance, User
from synthweb.audit import services as audit
from synthweb.lib import names
from synthweb.lib.errors import Refused

MAX_CONTACT = 200


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """language: a code of settings.LANGUAGES, or nothing. contact: one line. logo: a PNG, or nothing."""

    language: str = ""
    contact: str = ""
    logo: bytes = b""

    @property
    def logo_address(self) -> str:
        """The logo as an address that a page can hold, or nothing. Browsers draw it as a picture alone,
        whatever it contains."""
        return (
            f"data:image/png;base64,{base64.b64encode(self.logo).decode()}" if self.logo else ""
        )


def of(organisation: Organisation) -> Appearance:
    """What the organisation has said, or nothing of all."""
    row = OrganisationAppearance.objects.filter(organisation=organisation).first()
    if row is None:
        return Appearance()
    return Appearance(language=row.language, contact=row.contact, logo=bytes(row.logo))


def language_of(person: User) -> str:
    """The language of a person's organisation, or nothing."""
    rows = OrganisationAppearance.objects.filter(organisation__memberships__user=person)
    return rows.order_by("pk").values_list("language", flat=True).first() or ""


@transaction.atomic
def say(*, actor: User, organisation: Organisation, appearance: Appearance) -> None:
    """Replace how the organisation appears. What is the same as before is no entry of the audit log.

    Errors: Refused for another language, a contact of more than a line, or a logo that is no PNG, broken or
    too large."""
    # Locked, so that of two people who say the same at once one writes the entry.
    organisation = Organisation.objects.select_for_update().get(pk=organisation.pk)
    appearance = replace(
        appearance,
        contact=names.one_line(appearance.contact, field="contact"),
        logo=logos.rewritten(appearance.logo),
    )
    if appearance.language and appearance.language not in dict(settings.LANGUAGES):
        raise Refused(
            "the pages are not written in this language",
            repair=f"choose one of {', '.join(dict(settings.LANGUAGES))}, or none",
            field="language",
        )
    if len(appearance.contact) > MAX_CONTACT:
        raise Refused(
            f"a contact has at most {MAX_CONTACT} characters",
            repair="shorten it",
            field="contact",
        )
    if appearance == of(organisation):
        return
    OrganisationAppearance.objects.update_or_create(
        organisation=organisation, defaults=asdict(appearance)
    )
    audit.record(
        actor=actor,
        action="organisation.appearance_set",
        target=("organisation", organisation.code),
        organisation=organisation,
        detail={
            "language": appearance.language,
            "contact": appearance.contact,
            "logo_sha256": hashlib.sha256(appearance.logo).hexdigest()
            if appearance.logo
            else "",
        },
    )

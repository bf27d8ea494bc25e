"""Descriptions kept under a name, and applied to other tables. No budget is touched, and nothing is confirmed
by it."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets.models import Dataset, DescriptionTemplate, DomainVersion
from synthweb.datasets.services.describing import Imported, import_document
from synthweb.lib import names
from synthweb.lib.errors import Conflict, Refused

MAX_NAME_LENGTH = 200


def save_template(*, actor: User, version: DomainVersion, name: str) -> DescriptionTemplate:
    """Keep a confirmed description under a name of the organisation."""
    name = names.one_line(" ".join(name.split()))
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise Refused(
            "the template has no name, or a very long one",
            repair=f"give it one of up to {MAX_NAME_LENGTH} letters",
            field="name",
        )  # fmt: skip
    organisation = version.dataset.organisation
    try:
        with transaction.atomic():
            made = DescriptionTemplate.objects.create(
                organisation=organisation, name=name, version=version, made_by=actor
            )
            _note(actor, "template.saved", version.dataset, made)
    except IntegrityError:
        raise Conflict(
            "there is a template of this name already",
            repair="choose another name, or delete that one first",
            field="name",
        ) from None  # fmt: skip
    return made


def apply_template(
    *, actor: User, dataset: Dataset, template: DescriptionTemplate, replaces: bool = False
) -> Imported:
    """Take a template into the draft, as brought and not confirmed. Errors: DomainError for a template of
    which a column is not in this table; then nothing is kept."""
    document = template.version.document
    brought = import_document(
        actor=actor, dataset=dataset, document=document, replaces=replaces, whole=True
    )
    _note(actor, "template.applied", dataset, template)
    return brought


@transaction.atomic
def delete_template(*, actor: User, template: DescriptionTemplate) -> None:
    """Forget a template; descriptions made with it stay."""
    _note(actor, "template.deleted", template.version.dataset, template)
    template.delete()


def _note(actor: User, action: str, dataset: Dataset, template: DescriptionTemplate) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("dataset", dataset.code),
        organisation=template.organisation,
        detail={"template": template.code, "name": template.name},
    )

"""Licences of releases: those that a steward chooses from, with SPDX identifier and address, and one in the
steward's own words."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import models
from django.utils.translation import gettext_lazy as _

from synthweb.releases.models import Release

SPDX = "https://spdx.org/licenses/"


class LicenceChoice(models.TextChoices):
    """What a steward chooses from."""

    NONE = "", _("None stated")
    CC_BY = "CC-BY-4.0", _("CC BY 4.0: use and pass on with attribution")
    CC0 = "CC0-1.0", _("CC0 1.0: no conditions")
    ODBL = "ODbL-1.0", _("ODbL 1.0: attribution, and derived databases under the same licence")
    OWN = "own", _("In your own words")


@dataclass(frozen=True, kw_only=True)
class Licence:
    """The licence of a release. id: an SPDX identifier, empty for one in the steward's own words; address:
    where its text is."""

    id: str
    name: str
    address: str

    @property
    def sentence(self) -> str:
        """For citations and files of plain text."""
        return (
            f"Licence: {self.name} ({self.address})"
            if self.address
            else f"Licence: {self.name}"
        )


_KNOWN = {
    LicenceChoice.CC_BY: Licence(
        id="CC-BY-4.0", name="CC BY 4.0", address="https://creativecommons.org/licenses/by/4.0/"
    ),
    LicenceChoice.CC0: Licence(
        id="CC0-1.0",
        name="CC0 1.0",
        address="https://creativecommons.org/publicdomain/zero/1.0/",
    ),
    LicenceChoice.ODBL: Licence(
        id="ODbL-1.0",
        name="ODbL 1.0",
        address="https://opendatacommons.org/licenses/odbl/1-0/",
    ),
}


def of_release(release: Release) -> Licence | None:
    """The licence of a release; None where none is stated."""
    if not release.licence:
        return None
    choice = LicenceChoice(release.licence)
    if choice == LicenceChoice.OWN:
        return Licence(id="", name=release.licence_text, address=release.licence_address)
    return _KNOWN[choice]

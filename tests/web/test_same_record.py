"""One account, one kind of record: the same table is not counted by rows beside counting the records that its
rows stand for."""

from __future__ import annotations

from typing import Any

import pytest

from synthweb.datasets import services as datasets
from synthweb.ledger import services as ledger
from synthweb.ledger.errors import UnitMismatch
from synthweb.ledger.models import LedgerEntry
from tests.cast import Cast
from tests.web import scene

JOBS = "home,work,jobs\n" + "a,x,9\nb,x,1\na,y,4\n"
ENDS = [
    {
        "name": name,
        "kind": "categorical",
        "values": values,
        "provenance": "declared",
        "other": True,
    }
    for name, values in (("home", ["a", "b"]), ("work", ["x", "y"]))
]
LEFT = {"name": "jobs", "kind": "identifier"}
FOLDED: dict[str, Any] = {
    "attributes": [*ENDS, LEFT],
    "repeats": {"column": "jobs", "most": 20},
}
ROWS: dict[str, Any] = {"attributes": [*ENDS, LEFT]}

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("first", "second"), [(FOLDED, ROWS), (ROWS, FOLDED)])
def test_the_same_table_is_not_counted_by_other_records_under_one_account(
    cast: Cast, first: dict[str, Any], second: dict[str, Any]
) -> None:
    """A job that comes or goes changes a row: that is a row removed and another one added, twice what the
    account says."""
    account = ledger.selectors.account_of(scene.funded(cast, table=JOBS, document=first))
    assert account is not None
    again = scene.read(
        scene.upload(
            steward=cast.steward, organisation=cast.organisation, table=JOBS, name="Again"
        )
    )
    datasets.declare_domain(actor=cast.steward, dataset=again, document=second)
    request = scene.ask(steward=cast.steward, dataset=again)
    held = LedgerEntry.objects.count()
    with pytest.raises(UnitMismatch, match="another number of records"):
        ledger.grant(
            custodian=cast.custodian,
            request=request,
            reason="Yes.",
            opening=ledger.Opening(account=account),
        )
    assert LedgerEntry.objects.count() == held
    other = _described(cast, first)
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=other),
        reason="Yes.",
        opening=ledger.Opening(account=account),
    )


def _described(cast: Cast, document: dict[str, Any]) -> Any:
    """Once more, described as the first."""
    found = scene.read(
        scene.upload(
            steward=cast.steward, organisation=cast.organisation, table=JOBS, name="Third"
        )
    )
    datasets.declare_domain(actor=cast.steward, dataset=found, document=document)
    return found

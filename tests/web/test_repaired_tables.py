"""Repaired tables of a release: synthetic rows that meet public totals, under a receipt that names that of
the release."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from typing import IO, Any

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from synth_engine import verifier
from synth_engine.errors import InputError
from synth_engine.privacy import receipt as receipts
from synthweb.audit.models import AuditEntry
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import repaired, repairing, table_process, withdrawing
from synthweb.releases.drawing import REFUSED
from synthweb.releases.models import RepairedTable
from tests.cast import Cast
from tests.web.rest import Caller
from tests.web.scene import Scene

pytestmark = pytest.mark.django_db
Open = Callable[..., Client]

REGIONS = "region,count\nnorth,700\nsouth,300\n(other),0\n"
WORKS = "works,count\nyes,400\nno,600\n"
PUBLISHED = "Statistical office, table 12"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made in this process, so that no test waits for one that lets others go first."""

    def made_by(module: str, job: Any, *, request: Any = None) -> IO[bytes]:
        assert module == repairing.__name__
        out = io.BytesIO()
        ended = repairing.make(json.loads(json.dumps(job)), out)
        out.seek(0)
        if ended == REFUSED:
            fault = json.load(out)
            raise InputError(fault["rule"], repair=fault["repair"], column=fault["column"])
        return out

    monkeypatch.setattr(table_process, "made_by", made_by)


def typed(totals: str = REGIONS, **changes: Any) -> dict[str, Any]:
    return {
        "totals": totals,
        "published": PUBLISHED,
        "way": "rows",
        "rows": "400",
        "name": "By region",
    } | changes


def address(scene: Scene, *more: str, name: str = "repaired") -> str:
    return reverse(f"releases:{name}", args=[scene.release.code, *more])


def whole(answer: Any) -> bytes:
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def test_a_steward_brings_totals_and_whoever_may_draw_downloads_rows_that_meet_them(
    cast: Cast, played: Scene, browser: Open
) -> None:
    spent = LedgerEntry.objects.count()
    steward = browser(cast.steward)
    begun = steward.get(address(played) + "?by=region").text
    assert "region,count\nnorth,\nsouth,\n(other),\n" in begun
    made = steward.post(address(played), typed())
    table = RepairedTable.objects.get()
    page = address(played, table.code, name="repaired-table")
    assert made.url == page and table.rows == 1000
    reader = browser(played.reader)
    shown = reader.get(page).text
    assert "exactly" in shown and PUBLISHED in shown and "By region" in shown
    assert table.code in reader.get(address(played)).text
    csv = whole(reader.get(address(played, table.code, name="repaired-csv")))
    rows = pd.read_csv(io.BytesIO(csv), dtype=str, keep_default_na=False)
    assert rows["region"].value_counts().to_dict() == {"north": 700, "south": 300}
    parquet = whole(reader.get(address(played, table.code, name="repaired-parquet")))
    typed_rows = pd.read_parquet(io.BytesIO(parquet))
    assert len(typed_rows) == 1000 and typed_rows["age"].dtype.kind == "i"

    receipt = json.loads(
        reader.get(address(played, table.code, name="repaired-receipt")).content
    )
    (total,) = receipt["totals"]
    assert total["met"] and total["largest_difference"] == 0 and total["records"] == 1000
    assert receipt["release"]["receipt"] == verifier.verify(played.release.receipt).core
    assert receipt["release"]["guarantee"]["epsilon"] == "1"
    assert receipt["published"] == PUBLISHED
    assert receipt["files"] == {
        "table.csv": hashlib.sha256(csv).hexdigest(),
        "table.parquet": hashlib.sha256(parquet).hexdigest(),
    }
    body = {name: value for name, value in receipt.items() if name != "digest"}
    assert receipts.digest(body) == receipt["digest"]
    # Post-processing: nothing is charged, and the audit log has it.
    assert LedgerEntry.objects.count() == spent
    entry = AuditEntry.objects.filter(action="release.repaired").get()
    assert entry.detail["receipt"] == receipt["digest"]
    assert steward.post(address(played, table.code, name="delete-repaired")).status_code == 302
    assert not RepairedTable.objects.exists()


@pytest.mark.usefixtures("at_once")
def test_weights_meet_several_totals_and_bins_are_named_as_the_description_names_them(
    cast: Cast, played: Scene, browser: Open
) -> None:
    # Nobody of the table is above 89: a total of 0 leaves out the rows that noise put there.
    ages = "age,count\n" + "".join(f"{low} to {low + 9},100\n" for low in range(0, 90, 10))
    regions = "region,count\nnorth,600\nsouth,300\n(other),0\n"
    both = SimpleUploadedFile("totals.csv", f"{ages}90 to 99,0\n\n{regions}".encode())
    client = browser(cast.steward)
    made = client.post(
        address(played), typed("", file=both, way="weights", rows="3000"), follow=True
    )
    assert made.status_code == 200, made.context["form"].errors
    table = RepairedTable.objects.get()
    csv = whole(client.get(address(played, table.code, name="repaired-csv")))
    rows = pd.read_csv(io.BytesIO(csv), keep_default_na=False)
    assert len(rows) == 3000
    by_region = rows.groupby("region")["weight"].sum()
    assert by_region["north"] == pytest.approx(600, abs=1e-3)
    by_age = rows.groupby(rows["age"].astype(int) // 10)["weight"].sum().reindex(range(9))
    assert by_age.tolist() == pytest.approx([100] * 9, abs=1e-3)
    assert [each["met"] for each in table.receipt["totals"]] == [True, True]
    assert 0 < table.receipt["effective_rows"] <= 3000


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"totals": ""}, "Give totals"),
    ({"published": ""}, "This field is required"),
    ({"totals": "region\nnorth\n"}, "have no column"),
    ({"totals": "region,count\nnorth,many\n"}, "whole number of 0 or more"),
    ({"totals": "place,count\nA,1\n"}, "by a column that the table has not"),
    ({"totals": "region,count\nnorth,10\n"}, "in no combination of the totals"),
    ({"totals": REGIONS + "west,3\n"}, "no row of the table is in 1 combination"),
    ({"totals": f"{REGIONS}\n{WORKS}"}, "repeated for one table of totals"),
    ({"totals": f"{REGIONS}\n{WORKS}maybe,1\n", "way": "weights"}, "different numbers"),
    ({"totals": "region,count\nnorth,900000000\n"}, "more than 20,000,000 cells"),
    ({"totals": '{"totals": 3}'}, "no object with a list"),
    ({"rows": "0"}, "greater than or equal to 1"),
)


@pytest.mark.usefixtures("at_once")
def test_totals_that_cannot_be_met_are_refused_by_name_and_stay_in_the_form(
    cast: Cast, played: Scene, browser: Open
) -> None:
    client = browser(cast.steward)
    for changes, words in WRONG:
        refused = client.post(address(played), typed(**changes))
        assert refused.status_code == 422 and words in refused.text, changes
        assert not RepairedTable.objects.exists()
        if "rows" not in changes:
            assert 'value="400"' in refused.text


@pytest.mark.usefixtures("at_once")
def test_stewards_alone_repair_and_strangers_find_nothing(
    cast: Cast, played: Scene, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser(played.reader).post(address(played), typed()).status_code == 403
    for other in (cast.analyst, cast.stranger):
        assert browser(other).post(address(played), typed()).status_code == 404
    browser(cast.steward).post(address(played), typed())
    table = RepairedTable.objects.get()
    for name in ("repaired-table", "repaired-csv", "repaired-parquet", "repaired-receipt"):
        for other in (cast.analyst, cast.stranger):
            there = address(played, table.code, name=name)
            assert browser(other).get(there).status_code == 404
    # Of another release it is not there.
    with pytest.raises(repaired.Http404):
        repaired.repaired_for(played.release, "nothing")
    monkeypatch.setattr(repaired, "MAX_TABLES", 1)
    full = browser(cast.steward).post(address(played), typed())
    assert full.status_code == 422 and "up to 1 repaired tables" in full.text
    monkeypatch.setattr(repaired, "MAX_TABLES", 20)
    withdrawing.withdraw(played.release)
    assert not RepairedTable.objects.exists()


def test_a_slow_process_ends_and_leaves_nothing(
    cast: Cast, played: Scene, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_process, "SECONDS", -1)
    slow = browser(cast.steward).post(address(played), typed())
    assert slow.status_code == 422 and "longer than" in slow.text
    assert not RepairedTable.objects.exists()


@pytest.mark.usefixtures("at_once")
def test_the_same_by_rest(cast: Cast, played: Scene) -> None:
    caller = Caller(cast.steward, "read", "share")
    there = f"/releases/{played.release.code}/repaired/"
    body = {
        "totals": {
            "totals": [
                {
                    "name": "regions",
                    "columns": ["region"],
                    "counts": [
                        {"values": ["north"], "count": 70},
                        {"values": ["south"], "count": 30},
                        {"values": ["(other)"], "count": 0},
                    ],
                }
            ]
        },
        "published": PUBLISHED,
        "rows": 300,
        "seed": "public",
    }
    assert Caller(cast.steward, "read").send(there, body).status_code == 403
    answers = [
        caller.send(there, body, headers={"Idempotency-Key": "regions"}) for _ in range(2)
    ]
    assert [each.status_code for each in answers] == [201, 201], answers[0].content
    made = answers[0].json()
    assert RepairedTable.objects.count() == 1
    assert made["receipt"]["totals"][0]["name"] == "regions" and made["way"] == "weights"
    assert made["receipt"]["seed"] == "public" and made["totals"] == body["totals"]
    reader = Caller(played.reader, "read")
    assert [each["code"] for each in reader.get(there).json()] == [made["code"]]
    assert reader.get(f"{there}{made['code']}/").json() == made
    csv = whole(reader.get(f"{there}{made['code']}/table.csv"))
    again = caller.send(there, body)
    assert whole(reader.get(f"{there}{again.json()['code']}/table.csv")) == csv
    parquet = whole(reader.get(f"{there}{made['code']}/table.parquet"))
    assert len(pd.read_parquet(io.BytesIO(parquet))) == 300
    wrong = caller.send(there, body | {"totals": {"totals": []}})
    assert wrong.status_code == 422 and "1 to 20 totals" in wrong.text
    missing = body["totals"]["totals"][0] | {"columns": ["place"]}
    unknown = caller.send(there, body | {"totals": {"totals": [missing]}})
    assert unknown.status_code == 422 and unknown.json()["errors"][0]["column"] == "place"
    gone = caller.client.delete(f"/api/v1{there}{made['code']}/")
    assert gone.status_code == 204

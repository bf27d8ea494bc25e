"""How long the describe page of a wide table takes on the server.

    python bench/describe.py [COLUMNS]

Starts from an empty database in a temporary folder, stores one dataset with suggestions for that many columns (100;
a third of them of a hundred categories), and asks for the page as a signed-in steward would. Figures are the median of
ten, in milliseconds of processor time, so that a busy machine says the same as an idle one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import environment  # noqa: E402, F401  (settings for a throw-away installation)

TIMES = 10


def suggestions(columns: int) -> list[dict[str, Any]]:
    """Every kind in turn."""
    kinds: tuple[dict[str, Any], ...] = (
        {
            "kind": "categorical",
            "values": [f"category {place}" for place in range(100)],
            "other": True,
        },
        {"kind": "integer", "low": 0, "high": 100_000, "edges": [0, 1, 1_000, 10_000, 100_000]},
        {"kind": "datetime", "low": "2019-01-01", "high": "2020-12-31", "unit": "minutes"},
    )
    return [
        {"name": f"column {place}", "missing": ["?"], "why": "As read.", **kinds[place % 3]}
        for place in range(columns)
    ]


def median(work: Callable[[], Any]) -> float:
    """Milliseconds."""

    def once() -> float:
        start = time.process_time()
        answer = work()
        assert answer.status_code in (200, 302), answer.status_code
        return (time.process_time() - start) * 1_000

    work()  # templates are compiled once
    return statistics.median(once() for _ in range(TIMES))


def main(columns: int) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "synthweb.settings"
    import django

    django.setup()
    from django.core.management import call_command
    from django.test import Client
    from django.urls import reverse

    from synthweb.accounts import services as accounts
    from synthweb.accounts.models import Role
    from synthweb.datasets import preview_store, services
    from synthweb.datasets.models import Preview

    call_command("migrate", verbosity=0)
    office = accounts.create_organisation(actor="system", name="Office")
    steward = accounts.create_user(
        actor="system", organisation=office, person=accounts.NewPerson(username="steward"), roles=[Role.STEWARD],
        password="correct horse battery staple", must_change_password=False,
    )  # fmt: skip
    dataset = services.store_stream(
        steward=steward,
        organisation=office,
        name="Wide",
        file_kind="csv",
        chunks=[b"a,b\n1,2\n"],
    )
    listed = [item | {"provenance": "suggested"} for item in suggestions(columns)]
    rows = [["a value"] * columns] * 20
    payload = {
        "columns": [item["name"] for item in listed],
        "suggestions": listed,
        "preview": rows,
        "notes": [],
    }
    preview_store.put(dataset, Preview.Kind.TABLE, "", payload | {"rows": 20})
    services.mark_ready(dataset=dataset)

    client = Client(SERVER_NAME="localhost")
    client.force_login(steward)
    address = reverse("datasets:describe", args=[dataset.code])
    page = client.get(address)
    print(f"{columns} columns: {len(page.content) / 1_000:,.0f} kB of HTML")
    print(f"the page: {median(lambda: client.get(address)):.0f} ms")
    print(
        f"the page with every editor open: {median(lambda: client.get(address + '?edit=all')):.0f} ms"
    )
    posted = {f"{place}-name": item["name"] for place, item in enumerate(listed)}
    for place, item in enumerate(listed):
        kind = item["kind"]
        fields = {"low": "0", "high": "9"} if kind == "integer" else {"values": "a"}
        posted[f"{place}-suggested"] = json.dumps({"kind": kind, "fields": fields})
    every = {
        "select": list(range(columns)),
        "all-missing": "empty",
        "all-origin": "public-file",
    }
    together = median(lambda: client.post(address, posted | every | {"do": "set-selected"}))
    print(f"setting missing values and origin of all: {together:.0f} ms")
    one = median(
        lambda: client.post(
            address, {"0-name": "column 0", "do": "edit:0"}, headers={"HX-Request": "true"}
        )
    )
    print(f"one press in place: {one:.0f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)

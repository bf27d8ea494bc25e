"""The describe page as a browser works it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from django.test import Client
from django.urls import reverse

from synthweb.datasets import preview_store, selectors, services
from synthweb.datasets.models import Dataset, Preview
from tests.cast import Cast

SUGGESTIONS: list[dict[str, Any]] = [
    {
        "name": "sector",
        "kind": "categorical",
        "values": ["Farm", "Mine"],
        "other": True,
        "missing": ["?"],
        "why": "Two.",
    },
    {
        "name": "age",
        "kind": "integer",
        "low": 17,
        "high": 90,
        "width": 1,
        "missing": None,
        "why": "Whole numbers.",
    },
    {
        "name": "works",
        "kind": "boolean",
        "true": "yes",
        "false": "no",
        "missing": None,
        "why": "Yes and no.",
    },
    {"name": "id", "kind": "identifier", "why": "All different."},
]
PREVIEW = [["Farm", "41", "yes", "a1"], ["Mine", "17", "no", "a2"]]


def ready(cast: Cast, suggestions: list[dict[str, Any]] | None = None) -> Dataset:
    """A dataset that a worker has read."""
    dataset = services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="People",
        file_kind="csv",
        chunks=[b"a,b\n1,2\n"],
    )
    listed = [item | {"provenance": "suggested"} for item in suggestions or SUGGESTIONS]
    payload = {
        "columns": [item["name"] for item in listed],
        "suggestions": listed,
        "preview": PREVIEW if suggestions is None else [],
        "rows": 2,
        "notes": [],
    }
    preview_store.put(dataset, Preview.Kind.TABLE, "", payload)
    services.mark_ready(dataset=dataset)
    return dataset


class FormReader(HTMLParser):
    """Names and values of the inputs of the describe form, or of another one, as a browser would send
    them."""

    def __init__(self, form: str = "describe") -> None:
        super().__init__()
        self._form = form
        self.found: dict[str, Any] = {}
        self._inside, self._select, self._area = False, "", ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self._inside = given.get("id") == self._form
        elif (
            given["form"] != self._form
            if "form" in given
            else not self._inside and tag != "option"
        ):
            return
        elif tag == "select":
            self._select = name
        elif (
            tag == "option"
            and self._select
            and ("selected" in given or self._select not in self.found)
        ):
            self.found[self._select] = value
        elif tag == "textarea":
            self._area, self.found[name] = name, ""
        elif tag == "input" and name not in ("", "select"):
            self._input(name, value, given)

    def _input(self, name: str, value: str, given: dict[str, str | None]) -> None:
        kind = given.get("type")
        if kind != "file" and (kind not in ("checkbox", "radio") or "checked" in given):
            self.found[name] = "on" if kind == "checkbox" else value

    def handle_data(self, data: str) -> None:
        if self._area:
            self.found[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "form"
        self._area = "" if tag == "textarea" else self._area
        self._select = "" if tag == "select" else self._select


class DescribePage:
    """The describe page as a browser works it: posts send what the page's own inputs hold."""

    def __init__(self, client: Client, dataset: Dataset) -> None:
        self.client, self.dataset = client, dataset
        self.address = reverse("datasets:describe", args=[dataset.code])

    def page(self, query: str = "") -> str:
        answer = self.client.get(self.address + query)
        assert answer.status_code == 200
        return str(answer.text)

    def inputs(self, query: str = "") -> dict[str, Any]:
        """What a browser would send with the form on the page."""
        reader = FormReader()
        reader.feed(self.page(query))
        return reader.found

    def press(
        self, button: str, *, edit: str = "", in_place: bool = False, **typed: Any
    ) -> Any:
        """Press one of the buttons with something typed; names are spelled `_0_low` for the input `0-low`.
        Where it leads to the page of lists that were read from the table, each is said to be public there."""
        answer = self.press_alone(button, edit=edit, in_place=in_place, **typed)
        if answer.status_code == 302 and answer.url == self.lists_address:
            return self.answer_lists("lists", public="The codebook.")
        return answer

    @property
    def lists_address(self) -> str:
        return reverse("datasets:lists", args=[self.dataset.code])

    def answer_lists(self, verb: str, *, public: str | None = None, **typed: str) -> Any:
        """Press a button of the page of lists, as it stands or with each list said to be public, and
        where."""
        reader = FormReader("read-lists")
        reader.feed(self.client.get(self.lists_address).text)
        fields = reader.found
        if public is not None:
            for key in [key for key in fields if key.endswith("-list")]:
                fields |= {key: "public", key.removesuffix("list") + "because": public}
        fields |= {key[1:].replace("_", "-", 1): text for key, text in typed.items()}
        return self.client.post(self.lists_address, fields | {"do": verb})

    def press_alone(
        self, button: str, *, edit: str = "", in_place: bool = False, **typed: Any
    ) -> Any:
        """The same, and nothing after it."""
        fields = self.inputs(f"?edit={edit}" if edit else "")
        verb, _, index = button.partition(":")
        if verb.startswith("confirm"):  # what a browser refuses to go without
            fields |= {f"{index}-because" if index else "because": "The codebook."}
        fields |= {
            (key[1:].replace("_", "-", 1) if key.startswith("_") else key): text
            for key, text in typed.items()
        }
        headers = {"HX-Request": "true"} if in_place else {}
        return self.client.post(self.address, fields | {"do": button}, headers=headers)

    @property
    def draft(self) -> dict[str, Any]:
        self.dataset.refresh_from_db()
        return self.dataset.draft

    @property
    def beside(self) -> dict[str, Any]:
        return selectors.draft_context(self.dataset)


def line(page: str, index: int) -> str:
    found = re.search(rf'<li class="column" id="line-{index}"[^>]*>.*?</li>', page, re.DOTALL)
    assert found
    return found.group()

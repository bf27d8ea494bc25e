"""Forms that overwrite what is stored, in two tabs or by two people: the second save is told, and nothing is
lost in silence.

A form carries what was stored when it was shown. On its return, a field that nobody touched takes what was
stored meanwhile; one that was touched here and stored otherwise meanwhile is a conflict: nothing is stored,
what was typed stays, both are shown. The form that is shown then carries what is stored now, so that the same
button stores what was typed here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

BASE = "shown"
"""The field that carries what was stored when the form was shown."""
LONGEST = 200_000
CHANGED = _(
    "This was changed in another tab or by somebody else after you opened it. Nothing is saved yet."
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One fact that was changed in two places. name: of its field."""

    name: str
    label: str
    mine: str
    theirs: str


@dataclass(frozen=True, kw_only=True)
class Merged:
    """values: what to store. conflicts: names of facts that were changed in two places, of which nothing is
    to be stored."""

    values: dict[str, str]
    conflicts: tuple[str, ...]


def text_of(value: object) -> str:
    """A stored value as a form sends it, so that the two can be compared."""
    if value is None:
        return ""
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(sorted(map(str, value)))
    return str(value).replace("\r\n", "\n").strip()


def shown_text(stored: Mapping[str, object]) -> str:
    """What a form carries: the stored values, as text."""
    return json.dumps({name: text_of(value) for name, value in stored.items()})


def digest(value: object) -> str:
    """A short digest of what is stored, where a form carries no copy of it because it may be long."""
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()[:16]


def merge(typed: Mapping[str, object], *, shown: str, stored: Mapping[str, object]) -> Merged:
    """What was typed over what is stored now. shown: what the form carried; without it, or where it is no
    JSON object, what was typed counts, as of a program that sends no such field."""
    texts = {name: text_of(value) for name, value in typed.items()}
    base = _read(shown)
    values, conflicts = dict(texts), []
    for name in texts if base is not None else ():
        before, now = (base or {}).get(name, ""), text_of(stored.get(name))
        if now in (before, texts[name]):
            continue
        if texts[name] == before:
            values[name] = now
        else:
            conflicts.append(name)
    return Merged(values=values, conflicts=tuple(conflicts))


def _read(shown: str) -> dict[str, str] | None:
    try:
        # It comes back from a browser, and is trusted no more than what is typed.
        document = json.loads(shown[:LONGEST]) if shown else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    return {str(name): text_of(value) for name, value in document.items()}


class MergedForm(forms.Form):
    """A form of values that are stored together. stored: what is stored now, by the names of the fields;
    without it the form is one like any other."""

    def __init__(
        self, *args: Any, stored: Mapping[str, object] | None = None, **kwargs: Any
    ) -> None:
        if stored is not None:
            kwargs["initial"] = {**stored, **(kwargs.get("initial") or {})}
        super().__init__(*args, **kwargs)
        self.stored = stored
        self.differences: list[Difference] = []
        if stored is not None:
            self.fields[BASE] = forms.CharField(
                required=False, widget=forms.HiddenInput, initial=shown_text(stored)
            )

    def clean(self) -> dict[str, Any] | None:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.stored is None:
            return cleaned
        shown = cleaned.pop(BASE, "")
        merged = merge(
            {name: cleaned[name] for name in self.stored if name in cleaned},
            shown=shown,
            stored=self.stored,
        )
        for name, value in merged.values.items():
            if name not in merged.conflicts and value != text_of(cleaned[name]):
                cleaned[name] = self.stored[name]
        self.differences = [
            Difference(
                name=name,
                label=str(self.fields[name].label or name),
                mine=text_of(cleaned[name]),
                theirs=text_of(self.stored[name]),
            )
            for name in merged.conflicts
        ]
        if self.differences:
            # What is shown with the conflict is what is stored now: the same button then stores what was
            # typed.
            data = QueryDict(mutable=True)
            data.update(self.data)
            data[BASE] = shown_text(self.stored)
            self.data = data
            raise forms.ValidationError(CHANGED, code="changed-meanwhile")
        return cleaned

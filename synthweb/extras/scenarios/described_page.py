"""The page that makes test data from a description, without data: which description, and what stands around
the editor."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from synth_engine.errors import InputError
from synth_engine.models import description
from synthweb.accounts.models import User
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset

TEMPLATE = "scenarios/described.html"
MOST_BYTES = 1_000_000
"""Of a description that is brought: it travels with the form."""


def brought(request: HttpRequest) -> str:
    """The description that came in as a file, or with the form; empty without one. Errors: InputError."""
    if request.POST.get("do") != "describe":
        return request.POST.get("description", "")
    file = request.FILES.get("document")
    if file is None:
        raise InputError("no file came in", repair="choose a description in JSON")
    content: bytes = file.read(MOST_BYTES + 1)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "the description is not JSON in UTF-8", repair="save it as UTF-8"
        ) from None


def read(text: str) -> object:
    """The document that a text is. Errors: InputError, DomainError."""
    # A browser writes the ends of lines in a form with two signs; within a text of JSON there is none.
    content = text.replace("\r", "").encode("utf-8", "surrogatepass")
    if len(content) > MOST_BYTES:
        raise InputError(
            f"the description is longer than {MOST_BYTES:,} bytes",
            repair="use REST or the command line",
        )
    return description.parse(content)


def frame(user: User, *, dataset: Dataset | None, text: str, problem: str) -> dict[str, Any]:
    """The context around the editor: the descriptions to choose from, and the chosen one. text: of one that
    was brought."""
    described = [each for each in datasets.datasets_of(user) if each.domain_versions.all()]
    return {
        "crumbs": [
            (reverse("releases:index"), gettext("Releases")),
            ("", gettext("Test data from a description")),
        ],
        "described": described,
        "dataset": dataset,
        "is_brought": bool(text) and not problem,
        "problem": problem,
    }

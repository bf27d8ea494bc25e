"""HTML as tests compare it: without the whitespace that the formatter of templates adds."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse
from django.test import Client

VERBATIM = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)


class Reader(Client):
    """A client whose answers have `text` as tests compare it."""

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        if not response.streaming:
            response.text = html_of(response)
        return response


def html_of(response: HttpResponse) -> str:
    """The body of a response; where it is HTML, on one line and without blanks beside tags."""
    text = response.content.decode(response.charset or "utf-8", errors="replace")
    return compact(text) if "html" in response.headers.get("Content-Type", "") else text


def compact(html: str) -> str:
    """HTML without the whitespace that begins or ends the content of an element; what is preformatted
    stays."""
    parts = VERBATIM.split(html)
    return "".join(part if index % 2 else _compact(part) for index, part in enumerate(parts))


def _compact(html: str) -> str:
    html = re.sub(r"[ \t\r\n]+", " ", html)  # narrow blanks in numbers stay
    html = re.sub(r" ?(/?>)", r"\1", html)
    html = re.sub(r"> <", "><", html)
    html = re.sub(r"(<[^/][^>]*>) ", r"\1", html)
    return re.sub(r" (</[^>]+>)", r"\1", html)

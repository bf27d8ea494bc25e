"""Which language a page is in, and how its numbers are written.

Pages are in the language that a visitor chose (a cookie), else in that of their organisation, else in the one
that the browser asks for. REST, files and everything that is stored or hashed are in English in every case:
programs read them, and receipts must not depend on who asks. Addresses of pages end in a slash, and those of
files do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

from synthweb.lib import sentences

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_SENTENCE_END = re.compile(r"(?<=[.?]) (?=[A-Z“0-9])")
DECIMAL_POINT = re.compile(r"(?<![0-9.])([0-9]+)\.([0-9]+)(?![0-9]*\.[0-9])")
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
ENGLISH = "en"  # of all messages
REST = "/api/v1/"
LANGUAGE = "language"
"""In the session: the language of the organisation of whoever is signed in, or nothing."""
COMMA_LANGUAGES = frozenset({"de"})  # write 0,5 for 0.5


class LanguageMiddleware(LocaleMiddleware):
    """Chooses the language of a page; files and REST are always in English."""

    def process_request(self, request: HttpRequest) -> None:
        """Activates the language of the request for everything that answers it."""
        if is_read_by_programs(request.path_info):
            translation.activate("en")
            request.LANGUAGE_CODE = "en"
        else:
            super().process_request(request)
            prefer(request, request.session.get(LANGUAGE, ""))


def prefer(request: HttpRequest, language: str) -> None:
    """Answers a page in the language of an organisation, unless the visitor chose one. language: its code, or
    nothing."""
    has_chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME) in dict(settings.LANGUAGES)
    if language in dict(settings.LANGUAGES) and not has_chosen:
        translation.activate(language)
        request.LANGUAGE_CODE = language


def is_read_by_programs(address: str) -> bool:
    """Whether an address is one of REST, of a file or of a probe."""
    return address.startswith(REST) or not address.endswith("/")


def in_english(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorates what makes a file or a stored document: its texts are in English, whoever asks."""

    @wraps(function)
    def english(*args: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        with translation.override("en"):
            return function(*args, **keywords)

    return english


def translated(text: str) -> str:
    """A title or an explanation of the engine, or one that is marked in Python, in the language of the page,
    also with numbers in it (`sentences`); a text that is not in the catalogue stays."""
    if not text or translation.get_language() in (None, ENGLISH):
        return text
    message = translation.gettext(text)
    if message != text:
        return message
    return sentences.translated_sentence(text, message=translated, number=written_number)


def translated_sentences(text: str) -> str:
    """A text of several sentences, each of them in the language of the page."""
    whole = translated(text)
    return whole if whole != text else " ".join(map(translated, _SENTENCE_END.split(text)))


def written_number(text: str) -> str:
    """A number as people write it in the language of the page, also within a text: `0.5` is `0,5` in German.
    For pages alone. What has several points, such as a date or a version, stays."""
    language = translation.get_language() or "en"
    return DECIMAL_POINT.sub(r"\1,\2", text) if language in COMMA_LANGUAGES else text


def typed_number(text: str) -> str:
    """A number that a person typed, with a decimal point: `0,5` counts as `0.5` where the language of the
    page writes a comma. Nothing else is changed: what is no number is refused by whoever reads it, as it was
    typed."""
    language = translation.get_language() or "en"
    if language in COMMA_LANGUAGES and DECIMAL_COMMA.fullmatch(text.strip()):
        return text.replace(",", ".")
    return text

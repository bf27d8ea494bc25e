"""How numbers read on every page: the ledger's integers as ε, ρ and δ, counts with thin separators, shares of
a bar.

Loaded for every template (settings), so no page formats an amount by itself.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from django import template
from django.utils.translation import gettext

from synthweb.lib import guarantee, language, terms
from synthweb.lib.language import written_number
from synthweb.lib.number_format import GREEK, RELATIONS, grouped, in_letters

register = template.Library()

# The ledger counts in integers, nano for ε and ρ, atto for δ, because sums of floats drift.
SCALES = {"epsilon": 10**9, "rho": 10**9, "delta": 10**18}
Number = int | float | None


def significant(value: Fraction | float, digits: int = 3) -> str:
    """`value` to some significant digits without an exponent where that stays readable: 0.5, 2.35, 1e-9."""
    number = float(value)
    if number == 0 or not math.isfinite(number):
        return "0" if number == 0 else "∞"
    if not 1e-4 <= abs(number) < 1e6:
        mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(exponent)}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    text = f"{number:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@register.filter
def amount(value: int | None, unit: str) -> str:
    """A ledger integer of `unit` ("epsilon", "rho", "delta") as people read it."""
    return "0" if not value else written_number(significant(Fraction(int(value), SCALES[unit])))


@register.filter
def epsilon(value: int | None) -> str:
    """Nano-ε as a number: 1000000000 → 1."""
    return amount(value, "epsilon")


@register.filter
def rho(value: int | None) -> str:
    """Nano-ρ as a number."""
    return amount(value, "rho")


@register.filter
def delta(value: int | None) -> str:
    """Atto-δ as a number: 1000000000 → 1e-9."""
    return amount(value, "delta")


@register.inclusion_tag("components/term.html")
def term(key: str, word: str = "") -> dict[str, str]:
    """A technical word with its explanation, which appears on hover and when it has the focus. word: another
    form of it."""
    usual, meaning = terms.TERMS[key]
    # A page can use a word twice, and loads parts of itself later: a name made of the word would not be
    # unique.
    return {
        "word": word or str(usual),
        "meaning": str(meaning),
        "name": f"term-{secrets.token_hex(6)}",
    }


@register.filter
def strength(value: int | None) -> str:
    """The word for an ε of the ledger: 1000000000 → careful."""
    return guarantee.strength(Fraction(int(value or 0), SCALES["epsilon"]))


@register.simple_tag
def strengths() -> str:
    """Every word for ε, in a sentence."""
    return guarantee.strength_sentence()


@register.filter
def greek(unit: str) -> str:
    """The letter of a currency: "epsilon" → ε."""
    return GREEK.get(unit, unit)


@register.filter
def signs(text: object) -> str:
    """What the engine says, in the letters of our pages: "(epsilon = 1, delta = 1e-9)" → "ε 1, δ 1e-9"."""
    return in_letters(str(text))


@register.filter
def translated(text: object) -> str:
    """A title or an explanation of the engine in the language of the page; what is not in the catalogue
    stays."""
    return language.translated(str(text)) if text else ""


@register.filter
def translated_list(texts: Iterable[object]) -> str:
    """Several texts of the engine in the language of the page, with commas between."""
    return ", ".join(language.translated(str(text)) for text in texts)


@register.filter
def relation(value: str) -> str:
    """A neighbouring relation in words: "add-remove" → added or removed."""
    return gettext(RELATIONS.get(value, value))


@register.filter
def number(value: Number, digits: int = 3) -> str:
    """A plain number to some significant digits."""
    return "–" if value is None else written_number(significant(value, int(digits)))


@register.filter
def written(text: object) -> str:
    """A number that is a text already, also one with its unit, as the language of the page writes it: 4.3 % →
    4,3 %."""
    return written_number(str(text))


@register.filter
def count(value: Number) -> str:
    """A count with thin separators: 48842 → 48 842."""
    return "–" if value is None else grouped(int(value))


@register.filter
def percent_number(fraction: Number) -> int:
    """A fraction as a whole number from 0 to 100."""
    return round(100 * min(1.0, max(0.0, float(fraction or 0))))


@register.filter
def share(part: Number, whole: Number) -> str:
    """`part` of `whole` as a width: 12.5%. An empty whole is a full bar of nothing: 0%."""
    if not part or not whole:
        return "0%"
    return f"{100 * min(1.0, max(0.0, float(part) / float(whole))):.4g}%"


@register.filter
def percent(fraction: Number) -> str:
    """A fraction for people to read: 72.3%, 6.0%, 0.13%; all is 100%, and what is less is never rounded up to
    it."""
    value = 100 * float(fraction or 0)
    if value >= 1:
        text = f"{value:.0f}%" if value >= 100 - 1e-9 else f"{min(value, 99.9):.1f}%"
    else:
        text = f"{value:.2g}%" if value >= 0.001 or not value else "< 0.001%"
    return written_number(text)


@register.filter
def left_after(whole: int | None, part: int | None) -> int:
    """What stays of a budget: never below zero."""
    return max(0, int(whole or 0) - int(part or 0))


@register.filter
def short_hash(digest: str | None) -> str:
    """The first twelve characters of a digest; the whole of it belongs in a title or on the receipt."""
    return f"{digest[:12]}…" if digest else "–"


@register.filter
def band(expected: Any) -> str:
    """A span of time from its two ends: 30–60 s, 40 s to 2 min."""
    low, high = (
        expected[key] if isinstance(expected, Mapping) else getattr(expected, key)
        for key in ("low", "high")
    )
    if high <= 60:
        return f"{low}–{high} s"
    if low >= 60 and low % 60 == high % 60 == 0 and high < 3600:
        return f"{low // 60}–{high // 60} min"
    span = gettext("%(low)s to %(high)s") % {"low": seconds(low), "high": seconds(high)}
    return span.replace(" min 0 s", " min").replace(" h 0 min", " h")


@register.filter
def forecast(expected: Any) -> str:
    """The forecast of time with its band: about 45 s (30–60 s)."""
    middle = expected["middle"] if isinstance(expected, Mapping) else expected.middle
    about = seconds(middle).replace(" min 0 s", " min").replace(" h 0 min", " h")
    return gettext("about %(time)s (%(band)s)") % {"time": about, "band": band(expected)}


@register.filter
def file_size(size: int | None) -> str:
    """Bytes in decimal units: 632941 → 633 kB."""
    value = float(size or 0)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return written_number(f"{value:.3g} {unit}")
        value /= 1000
    return written_number(f"{value:.3g} TB")


@register.filter
def seconds(value: Number) -> str:
    """A duration as people say it: 83 → 1 min 23 s."""
    total = round(float(value or 0))
    if total < 60:
        return f"{total} s"
    minutes, rest = divmod(total, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


@register.filter
def within_sentence(label: str) -> str:
    """A label that goes on a sentence: its first letter is small, and nouns of other languages keep
    theirs."""
    text = str(label)
    return text[:1].lower() + text[1:]

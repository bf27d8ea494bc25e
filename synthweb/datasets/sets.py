"""The public set of values of a column whose categories are not known beforehand: as typed, as JSON, and
back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synth_engine.domain.document import parse
from synth_engine.errors import DomainError
from synth_engine.values.strings import CASES
from synthweb.datasets.list_fields import join, join_pairs, split, split_pairs

KNOWN = {
    "english-words": _("English words"),
    "countries": _("Countries, by two letters (ISO 3166)"),
    "country-names": _("Countries, by name"),
    "us-states": _("States of the USA, by two letters"),
    "currencies": _("Currencies, by three letters (ISO 4217)"),
    "time-zones": _("Time zones, like Europe/Paris"),
}
CHOICES: Mapping[str, str | Promise] = {
    "": _("choose"),
    "english-words": KNOWN["english-words"],
    "word-pairs": _("Pairs of English words"),
    "words-or-pairs": _("English words, and pairs of them"),
    **{name: label for name, label in KNOWN.items() if name != "english-words"},
    "list": _("A public list"),
    "integers": _("Whole numbers of a range"),
    "decimals": _("Decimal numbers of a range"),
    "dates": _("Days of a range"),
    "strings": _("Every text over an alphabet"),
    "pattern": _("Every text that fits a pattern"),
    "json": _("Another set, as JSON"),
}
INPUTS: dict[str, tuple[str, ...]] = {
    "word-pairs": ("separator",),
    "words-or-pairs": ("separator",),
    "list": ("set_values",),
    "integers": ("set_low", "set_high"),
    "decimals": ("set_low", "set_high", "set_step"),
    "dates": ("set_low", "set_high"),
    "strings": (
        "with_lower",
        "with_upper",
        "with_digits",
        "with_blank",
        "alphabet",
        "set_min_length",
        "set_max_length",
        "set_case",
        "set_replace",
    ),
    "pattern": ("set_pattern",),
    "json": ("document",),
}
"""Of each set. None is called like an input of another kind, so that nothing suggested from data slips in
here."""
ALL_INPUTS = tuple(dict.fromkeys(key for keys in INPUTS.values() for key in keys))
_USUAL_SEPARATOR = "-"
_WORDS = {"set": "known", "name": "english-words"}
# Fewer digits than the 4,300 above which `int` refuses a text.
_WHOLE = re.compile(r"[+-]?[0-9]{1,1000}")
_RUNS = {
    f"{run[0]}-{run[-1]}": run
    for run in ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789")
}
TICKED = "on"  # what a browser sends of a box
SIGNS = {
    "with_lower": "abcdefghijklmnopqrstuvwxyz",
    "with_upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "with_digits": "0123456789",
    "with_blank": " ",
}
"""What a box of an alphabet stands for, in this order before the signs that are typed."""
READ: Mapping[str, str | Promise] = {
    CASES[0]: _("as they are written"),
    "lower": _("in small letters"),
    "upper": _("in capital letters"),
}
"""The case that texts of a table are read in."""
_LABELS = {
    "set_low": "lowest", "set_high": "highest", "set_step": "step", "alphabet": "alphabet",
    "set_pattern": "pattern",
    "set_min_length": "shortest", "set_max_length": "longest",
}  # fmt: skip


def document_of(fields: Mapping[str, str], *, column: str) -> dict[str, object]:
    """The set that is typed, as JSON. Whether there is such a set is for the engine to say. Errors:
    DomainError."""
    chosen = fields.get("set") or ""
    if chosen in KNOWN:
        return {"set": "known", "name": chosen}
    match chosen:
        case "word-pairs":
            return _pairs(fields)
        case "words-or-pairs":
            return {"set": "union", "parts": [_WORDS, _pairs(fields)]}
        case "list":
            return {"set": "list", "values": split(fields.get("set_values") or "")}
        case "integers":
            return {
                "set": chosen,
                **{key: _whole(fields, f"set_{key}", column=column) for key in ("low", "high")},
            }
        case "decimals" | "dates" | "pattern":
            return {
                "set": chosen,
                **{
                    _in_json(key): _needed(fields, key, column=column) for key in INPUTS[chosen]
                },
            }
        case "strings":
            lengths = {
                key: _whole(fields, f"set_{key}", column=column)
                for key in ("min_length", "max_length")
            }
            read = _read(fields, column=column)
            return {
                "set": chosen,
                "alphabet": _alphabet(fields, column=column),
                **lengths,
                **read,
            }
        case "json":
            return _json(fields.get("document") or "", column=column)
    raise DomainError(
        "the public set is not chosen",
        repair="choose which values there may be",
        column=column,
        field="set",
    )


def typed_of(document: Mapping[str, Any]) -> dict[str, str]:
    """A set's JSON as it would have been typed; as JSON, where there is no input for it."""
    plain = {key: value for key, value in document.items() if key not in ("size", "sha256")}
    kind = str(plain.get("set"))
    if kind == "known" and plain.get("name") in KNOWN:
        return {"set": str(plain["name"])}
    if kind == "list" and "spelling" not in plain:
        return {"set": kind, "set_values": join(map(str, plain.get("values") or ()))}
    if kind == "strings" and (strings := _strings_typed(plain)):
        return strings
    if kind in ("integers", "decimals", "dates", "pattern"):
        return {"set": kind, **{key: str(plain.get(_in_json(key), "")) for key in INPUTS[kind]}}
    if (separator := _separator_of(plain)) is not None:
        return {"set": "word-pairs", "separator": separator}
    parts = plain.get("parts")
    if kind == "union" and isinstance(parts, list) and len(parts) == 2 and _is_words(parts[0]):
        separator = _separator_of(parts[1])
        if separator is not None:
            return {"set": "words-or-pairs", "separator": separator}
    return {"set": "json", "document": json.dumps(document, ensure_ascii=False)}


def _strings_typed(plain: Mapping[str, Any]) -> dict[str, str] | None:
    """None where typing would lose something of it, such as a blank at the end of the signs."""
    lengths = {
        key: str(plain.get(_in_json(key), "")) for key in ("set_min_length", "set_max_length")
    }
    document = {"set": "strings", **_alphabet_typed(str(plain.get("alphabet", ""))), **lengths}
    if (case := plain.get("case", CASES[0])) != CASES[0]:
        document["set_case"] = str(case)
    try:
        if replace := plain.get("replace"):
            document["set_replace"] = join_pairs(replace)
        again = document_of(document, column="")
    except (AttributeError, TypeError, DomainError):
        return None
    return (
        document
        if again
        == {key: value for key, value in plain.items() if (key, value) != ("case", CASES[0])}
        else None
    )


def _read(fields: Mapping[str, str], *, column: str) -> dict[str, object]:
    """How texts of the table are read: their case, and characters that are replaced or taken away."""
    document: dict[str, object] = {}
    if (case := fields.get("set_case") or CASES[0]) != CASES[0]:
        document["case"] = case
    pairs = split_pairs(fields.get("set_replace") or "")
    if pairs is None or len(dict(pairs)) < len(pairs):
        rule = "“characters replaced” has a line that cannot be read, or a character twice"
        raise DomainError(
            rule,
            repair="write one a line, like é = e; nothing after = takes it away",
            column=column,
            field="set_replace",
        )
    return document | ({"replace": dict(pairs)} if pairs else {})


def _in_json(key: str) -> str:
    return key.removeprefix("set_")


def _pairs(fields: Mapping[str, str]) -> dict[str, object]:
    separator = fields.get("separator") or _USUAL_SEPARATOR
    return {"set": "product", "parts": [_WORDS, _WORDS], "separator": separator}


def _separator_of(document: Any) -> str | None:
    """Of pairs of words."""
    if not isinstance(document, Mapping) or document.get("set") != "product":
        return None
    parts = document.get("parts")
    pair = isinstance(parts, list) and len(parts) == 2 and all(map(_is_words, parts))
    return str(document.get("separator")) if pair else None


def _is_words(part: Any) -> bool:
    return isinstance(part, Mapping) and (part.get("set"), part.get("name")) == (
        "known",
        "english-words",
    )


def _needed(fields: Mapping[str, str], key: str, *, column: str) -> str:
    text = str(fields.get(key) or "").strip()
    if not text:
        raise DomainError(
            f"“{_LABELS[key]}” is empty", repair="fill it in", column=column, field=key
        )
    return text


def _whole(fields: Mapping[str, str], key: str, *, column: str) -> int:
    text = _needed(fields, key, column=column)
    if not _WHOLE.fullmatch(text):
        raise DomainError(
            f"“{_LABELS[key]}” is not a whole number",
            repair="write digits only",
            column=column,
            field=key,
        )
    return int(text)


def _alphabet(fields: Mapping[str, str], *, column: str) -> str:
    """The boxes that are ticked, then the signs that are typed; a-z, A-Z and 0-9 stand for the whole run."""
    ticked = "".join(signs for key, signs in SIGNS.items() if fields.get(key))
    text = (
        str(fields.get("alphabet") or "").strip()
        if ticked
        else _needed(fields, "alphabet", column=column)
    )
    for run, letters in _RUNS.items():
        text = text.replace(run, letters)
    return ticked + text


def _alphabet_typed(alphabet: str) -> dict[str, str]:
    """The boxes and signs that stand for an alphabet, its order kept."""
    fields = {}
    for key, signs in SIGNS.items():
        if alphabet.startswith(signs):
            fields[key], alphabet = TICKED, alphabet.removeprefix(signs)
    return fields | ({"alphabet": alphabet} if alphabet else {})


def _json(text: str, *, column: str) -> dict[str, object]:
    try:
        document = parse(text.encode())
    except DomainError:
        document = None
    if not isinstance(document, dict):
        raise DomainError(
            "the set is no JSON object",
            repair='write it like {"set": …}',
            column=column,
            field="document",
        )
    return document

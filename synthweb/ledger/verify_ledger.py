#!/usr/bin/env python3
"""Check what an installation of synthweb says about its privacy budget, with nothing but Python 3.9 or newer.

    python verify_ledger.py ledger-CODE.json                      an export: hashes, links, movements, sums
    python verify_ledger.py ledger-CODE.csv                       the same from the CSV
    python verify_ledger.py ledger-CODE.json --head head.json     … and that a signed checkpoint is in it
    python verify_ledger.py --head head.json --key signing.pub    a signed checkpoint alone
    python verify_ledger.py audit.json                            entries of the audit log
    python verify_ledger.py ledger-and-audit-CODE.json --key signing.pub
                                                                  all accounts and the audit log of an
                                                                      organisation

Give the public key that you were handed when the installation was set up, or compare the key's name that is
printed. Give --head several times for several checkpoints. Exit code 0: everything fits, and nothing is
missing. 1: something does not fit, or is missing from a file that says that it is whole. 2: a file cannot be
read. 3: what is there fits, and it is not the whole chain. This file shares no code with synthweb.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import json
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

STEPS = {
    "epsilon": 10**9,
    "delta": 10**18,
    "rho": 10**9,
}  # the ledger's integers in one of each
COUNTED = {"basic": ("epsilon", "delta"), "zcdp": ("rho",)}
ENTRY_FIELDS = {
    "sequence",
    "at",
    "kind",
    *STEPS,
    "dataset",
    "run",
    "actor",
    "reason",
    "evidence",
    "account",
}
Point = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z
Facts = dict[str, Any]
OUTSIDE = "OUTSIDE"
NEVER = "9999-12-31"  # sorts after every day on which a grant expires
HEAD = "synthweb/chain-head/1"
EVERYTHING = "synthweb/ledger-and-audit/1"
NO_TABLE = "this is neither an export of entries nor of the audit log"


class Wrong(Exception):
    """Something does not fit."""


class Unreadable(Exception):
    """A file is not what it should be."""


# --- hashes -------------------------------------------------------------------------------------------------
def canonical(value: Any) -> bytes:
    """The one spelling that is hashed and signed: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8"
    )


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


# --- reading files ------------------------------------------------------------------------------------------
def read(path: str) -> Facts:
    """An export as {"entries": [{"covered", "hash"}], …}, from its JSON or its CSV."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
    try:
        if raw.lstrip()[:1] == b"{":
            return dict(json.loads(raw.decode("utf-8")))
        return _from_csv(path)
    except (ValueError, KeyError, TypeError, InvalidOperation, csv.Error) as error:
        raise Unreadable(f"{path}: {NO_TABLE} ({type(error).__name__})") from None


def _from_csv(path: str) -> Facts:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        entries = [_from_row(row) for row in csv.DictReader(file)]
    kind = "audit" if entries and "action" in entries[0]["covered"] else "ledger"
    return {"schema": f"synthweb/{kind}/1", "entries": entries}


def _from_row(row: dict[str, str]) -> Facts:
    # The export wrote one ' before what a spreadsheet could take for a formula.
    facts: Facts = {
        name: text[1:] if text.startswith("'") else text for name, text in row.items()
    }
    known = facts.pop("hash")
    facts.pop("in_words", None)  # for people
    if not facts.get("lapses_on"):
        facts.pop("lapses_on", None)  # entries without an end have no such field
    facts["sequence"] = int(facts["sequence"])
    if "detail" in facts:
        facts["detail"] = json.loads(facts["detail"])
    for name, steps in STEPS.items():
        if facts.get(name) == "":
            del facts[name]  # exact counts have no amount
        elif name in facts:
            amount = Decimal(facts[name]) * steps
            if amount != int(amount):
                raise ValueError(name)
            facts[name] = int(amount)
    return {"covered": facts, "hash": known}


# --- an export ----------------------------------------------------------------------------------------------
def check_links(entries: list[Facts], first: str | None) -> None:
    """Every entry gives its hash; neighbours are linked, and in order."""
    before: Facts | None = None
    for entry in entries:
        facts = entry["covered"]
        where = f"entry {facts['sequence']}"
        if digest(facts) != entry["hash"]:
            raise Wrong(f"{where}: its fields do not give its hash; it was changed")
        if facts["sequence"] <= (before["covered"]["sequence"] if before else 0):
            raise Wrong(f"{where}: out of order")
        if (
            before
            and facts["sequence"] == before["covered"]["sequence"] + 1
            and facts["previous_hash"] != before["hash"]
        ):
            raise Wrong(f"{where}: does not continue from the entry before it")
        if facts["sequence"] == 1 and first and facts["previous_hash"] != first:
            raise Wrong(f"{where}: does not start from what the account fixed at its opening")
        before = entry


def missing(entries: list[Facts], wanted: Iterable[tuple[int, int]]) -> str:
    """Which entries of these ranges are not there, in words; nothing if all are. The entries are in order."""
    there = [entry["covered"]["sequence"] for entry in entries]
    gaps = []
    for low, high in wanted:
        after = low
        for number in [*there[bisect_left(there, low) : bisect_right(there, high)], high + 1]:
            if number > after:
                gaps.append(f"{after}" if number == after + 1 else f"{after} to {number - 1}")
            after = number + 1
    return ", ".join(gaps)


def replay(entries: list[Facts]) -> Facts:
    """The movements played through. Returns cap, held and charged, each in every currency."""
    sums: Facts = {part: dict.fromkeys(STEPS, 0) for part in ("cap", "held", "charged")}
    holds: Facts = {}
    grants: dict[str, Facts] = {}
    paid: dict[str, list[tuple[Facts, dict[str, int]]]] = {}  # run → its parts by grant
    for entry in entries:
        facts = entry["covered"]
        where = f"entry {facts['sequence']}"
        expected = ENTRY_FIELDS | {"previous_hash"}
        if facts["kind"] == "GRANT":
            expected |= set(facts) & {"lapses_on"}
        if facts["kind"] == OUTSIDE:
            # No amount: the loss of exact counts is not finite, and nothing is moved.
            expected -= set(STEPS)
        if set(facts) != expected:
            raise Wrong(f"{where}: has other fields than an entry has")
        if facts["kind"] == OUTSIDE:
            continue
        if min(facts[name] for name in STEPS) < 0:
            raise Wrong(f"{where}: an amount below zero")
        _play(facts, sums, holds, where)
        _spend(entry, grants, paid, where)
        if facts["kind"] == "LAPSE":
            _move(sums["cap"], {name: facts[name] for name in STEPS}, -1)
        if any(
            sums["held"][name] + sums["charged"][name] > sums["cap"][name] for name in STEPS
        ):
            raise Wrong(f"{where}: more is held and charged than was granted")
    return sums


def _play(facts: Facts, sums: Facts, holds: Facts, where: str) -> None:
    kind, run, amount = facts["kind"], facts["run"], {name: facts[name] for name in STEPS}
    if kind == "GRANT":
        _move(sums["cap"], amount, 1)
    elif kind == "HOLD":
        if run in holds:
            raise Wrong(f"{where}: run {run} holds a second time")
        holds[run] = amount
        _move(sums["held"], amount, 1)
    elif kind in ("CHARGE", "RELEASE"):
        if holds.get(run) != amount:
            raise Wrong(f"{where}: run {run} does not hold that amount")
        # The run stays known, so that a second hold, charge or release of it is a fault.
        holds[run] = None
        _move(sums["held"], amount, -1)
        _move(sums["charged"], amount, 1 if kind == "CHARGE" else 0)
    elif kind != "LAPSE":
        raise Wrong(f"{where}: no movement is called {kind}")


def _spend(
    entry: Facts,
    grants: dict[str, Facts],
    paid: dict[str, list[tuple[Facts, dict[str, int]]]],
    where: str,
) -> None:
    """Keep account of the unspent part of each grant: those that expire first pay first, and those that never
    do pay last."""
    facts = entry["covered"]
    amount = {name: facts[name] for name in STEPS}
    if facts["kind"] == "GRANT":
        end = facts.get("lapses_on", NEVER)
        grants[entry["hash"]] = {"end": end, "number": len(grants), "unspent": amount}
    elif facts["kind"] == "HOLD":
        parts = []
        for grant in sorted(grants.values(), key=lambda each: (each["end"], each["number"])):
            part = {name: min(amount[name], grant["unspent"][name]) for name in STEPS}
            _move(grant["unspent"], part, -1)
            _move(amount, part, -1)
            parts.append((grant, part))
        paid[facts["run"]] = parts
    elif facts["kind"] == "RELEASE":
        for grant, part in paid.pop(facts["run"]):
            _move(grant["unspent"], part, 1)
    elif facts["kind"] == "LAPSE":
        ended = grants.get(facts["evidence"])
        # Days are written so that their texts are in the order of the days.
        if ended is None or facts["at"][:10] < ended["end"]:
            raise Wrong(f"{where}: no grant had expired")
        if ended["unspent"] != amount:
            raise Wrong(f"{where}: another amount lapses than was unspent")
        _move(ended["unspent"], amount, -1)


def _move(total: dict[str, int], amount: dict[str, int], sign: int) -> None:
    for name, value in amount.items():
        total[name] += sign * value


def check_export(export: Facts, heads: list[Facts]) -> tuple[list[str], bool]:
    """The sentences to print about an export, and whether it is a whole chain; Wrong if something does not
    fit."""
    entries, filters = export["entries"], export.get("filters", {})
    is_audit = _is_audit(export)
    identity = export.get("account") or (heads[0] if heads else {}).get("identity")
    first = digest(identity) if identity else None
    if not is_audit:
        _check_frame(export, identity, first)
    check_links(entries, "0" * 64 if is_audit else first)
    last = entries[-1]["covered"]["sequence"] if entries else 0
    gaps = missing(entries, [(1, max(last, export.get("length", 0)))])
    if gaps and "length" in export and not filters:
        raise Wrong(f"missing: entries {gaps}, though the file says that nothing was left out")
    whole = not gaps and not filters
    # Of the audit log, a file never says where it ends.
    held = [_holds(entries, head, whole=whole and not is_audit) for head in heads]
    if not whole:
        narrowed = ", ".join(f"{name} {value}" for name, value in filters.items())
        reasons = [f"filtered by {narrowed}"] * bool(narrowed) + [
            f"missing: entries {gaps}"
        ] * bool(gaps)
        of_all = (
            " The log is one chain for all organisations, so a file of one of them has gaps: the file of "
            "all accounts and the audit log says which entries belong to it."
            if is_audit
            else ""
        )
        return [
            f"Intact as far as it goes: each of {len(entries)} entries is as it was written.",
            f"This is NOT the whole chain ({'; '.join(reasons)}): what is missing"
            f"{'' if is_audit else ', and the balance,'} cannot be checked from it.{of_all}",
            *held,
        ], False
    if is_audit:
        counted = (
            f"Intact: {len(entries)} entries of the audit log from the first on; a head says whether more "
            "follow."
        )
        return [counted, *held], True
    _check_end(export, first)
    sums = replay(entries)
    for head in heads:
        # Balances are comparable only where checkpoint and file end at the same entry.
        if head["length"] == len(entries) and head.get("balance") != sums:
            raise Wrong(
                "the entries add up to another balance than the signed checkpoint states"
            )
    if "length" in export:
        counted = f"Intact: {len(entries)} entries, all of the chain."
    else:
        counted = (
            f"Intact: {len(entries)} entries from the first on; a CSV does not say whether more follow, a "
            "head does."
        )
    return [counted, *_balance(sums, identity), *_outside(entries), *held], True


def _is_audit(export: Facts) -> bool:
    return str(export.get("schema", "")).startswith("synthweb/audit/")


# --- all accounts and the audit log -------------------------------------------------------------------------
def check_everything(
    document: Facts, heads: list[Facts], key: bytes | None
) -> tuple[list[str], list[str]]:
    """The sentences to print about a file of all accounts and the audit log, and what is wrong with it."""
    statement = check_signed(document["signed"], key, EVERYTHING)
    exports = {_name(export): export for export in document["accounts"]}
    # Each is what a checkpoint of the account says, signed at the same time.
    signed = {
        facts["chain"]: {**facts, "at": statement["at"]} for facts in statement["accounts"]
    }
    known: dict[str, list[Facts]] = {}
    for head in heads:
        known.setdefault(head["chain"], []).append(head)
    lines = [
        (
            f"Signed: {len(signed)} accounts and the audit log of organisation "
            f"{statement['organisation']}, at {statement['at']}, by the key"
        ),
        _key_line(statement, key),
    ]
    faults = [
        f"account {code} is not among those that were signed"
        for code in exports.keys() - signed.keys()
    ]
    if len(exports) != len(document["accounts"]):
        faults.append("an account is in the file more than once")
    faults += [
        f"a signed checkpoint is of {name}, which is not in the file"
        for name in known.keys() - signed.keys() - {"audit"}
    ]
    for code, facts in signed.items():
        try:
            sentences = _check_account(exports.get(code), facts, known.get(code, []))
            lines += [f"{code}: {sentences[0]}", *sentences[1:]]
        except Wrong as wrong:
            faults.append(f"account {code}: {wrong}")
    try:
        lines += _check_log(document["audit"], statement["audit"], known.get("audit", []))
    except Wrong as wrong:
        faults.append(f"audit log: {wrong}")
    return lines, faults


def _check_account(export: Facts | None, facts: Facts, heads: list[Facts]) -> list[str]:
    if export is None:
        raise Wrong("it is not in the file")
    if export["account"] != facts["identity"]:
        raise Wrong("what was fixed at its opening is not what was signed")
    # What is signed is the length, so that nobody shortens both the file and what it says of itself.
    lines, whole = check_export(export | {"length": facts["length"]}, [facts, *heads])
    if not whole:
        raise Wrong("the file says that it is filtered")
    return lines


def _check_log(export: Facts, signed: Facts, heads: list[Facts]) -> list[str]:
    entries = export["entries"]
    check_links(entries, "0" * 64)
    # One chain for all organisations: which entries are of this one, and their hashes, were signed.
    ranges = [(low, high) for low, high in signed["entries"]]
    if gaps := missing(entries, ranges):
        raise Wrong(f"missing: entries {gaps}")
    if len(entries) != sum(high - low + 1 for low, high in ranges):
        raise Wrong("it has entries that are not among those that were signed")
    hashes = "".join(str(entry["hash"]) for entry in entries)
    if hashlib.sha256(hashes.encode()).hexdigest() != signed["digest"]:
        raise Wrong("its entries are not those that were signed")
    held = [_holds(entries, head, whole=False) for head in heads]
    return [f"audit log: Intact: {len(entries)} entries, all of this organisation.", *held]


def _check_frame(export: Facts, identity: Facts | None, first: str | None) -> None:
    if export.get("first_hash", first) != first:
        raise Wrong("the hash that the chain starts from is not that of the account's identity")
    for entry in export["entries"]:
        if identity and entry["covered"]["account"] != identity["account"]:
            raise Wrong(f"entry {entry['covered']['sequence']}: belongs to another account")


def _check_end(export: Facts, first: str | None) -> None:
    entries = export["entries"]
    if export.get("length", len(entries)) != len(entries):
        raise Wrong(
            f"{len(entries)} entries, but the file says that the chain has {export['length']}"
        )
    if export.get("head") and export["head"] != (entries[-1]["hash"] if entries else first):
        raise Wrong("the last entry is not the head that the file names")


def _holds(entries: list[Facts], head: Facts, *, whole: bool) -> str:
    """The chain has the signed checkpoint in it: nothing was taken away or rewritten up to there."""
    if head["length"] == 0:
        return "The signed checkpoint is that of an empty chain."
    covering = [entry for entry in entries if entry["covered"]["sequence"] == head["length"]]
    if covering and covering[0]["hash"] != head["head"]:
        raise Wrong(
            f"entry {head['length']} is not the one that the signed checkpoint names: the chain was rewritten"
        )
    if not covering and whole:
        raise Wrong(
            f"the signed checkpoint is entry {head['length']}, the file ends before it: the end was cut "
            "off or filtered out"
        )
    if not covering:
        return (
            f"The entry that the signed checkpoint names ({head['length']}) is not in this file: no "
            "comparison."
        )
    return f"The chain holds the signed checkpoint, entry {head['length']} at {head['at']}."


def _balance(sums: Facts, identity: Facts | None) -> Iterator[str]:
    counted = COUNTED[identity["rule"]] if identity else tuple(STEPS)
    for name in counted:
        if any(part[name] for part in sums.values()) or name == counted[0]:
            parts = {part: Decimal(values[name]) / STEPS[name] for part, values in sums.items()}
            free = parts["cap"] - parts["held"] - parts["charged"]
            yield (
                f"  {name}: granted {_n(parts['cap'])}, held {_n(parts['held'])}, charged "
                f"{_n(parts['charged'])}, free {_n(free)}"
            )


def _outside(entries: list[Facts]) -> Iterator[str]:
    """What was published without a guarantee, after which none holds for the same people."""
    for entry in entries:
        facts = entry["covered"]
        if facts["kind"] == OUTSIDE:
            yield (
                f"  OUTSIDE THE GUARANTEE: entry {facts['sequence']}, at {facts['at']}, exact counts "
                f"{facts['run']} of dataset {facts['dataset']}. The sums above do not cover them, and no "
                "guarantee holds together with them."
            )


def _n(value: Decimal) -> str:
    return (
        f"{value.normalize():f}"
        if value == 0 or abs(value) >= Decimal("0.0001")
        else f"{value.normalize():e}"
    )


# --- a signed checkpoint ------------------------------------------------------------------------------------
def check_head(document: Facts, key: bytes | None) -> Facts:
    """The statement of a signed checkpoint. `key` is the public key it must be signed with, or None for the
    one inside."""
    statement = check_signed(document, key, HEAD)
    if "identity" in statement and digest(statement["identity"]) != statement["first_hash"]:
        raise Wrong("the hash that the chain starts from is not that of the account's identity")
    return statement


def check_signed(document: Facts, key: bytes | None, expected: str) -> Facts:
    """The statement of a signed document of the schema that is expected; Wrong if its signature does not
    fit."""
    try:
        statement, inside = (
            dict(document["statement"]),
            base64.b64decode(document["public_key"], validate=True),
        )
        signature = base64.b64decode(document["signature"], validate=True)
        schema = document["schema"]
    except (KeyError, TypeError, ValueError):
        raise Unreadable("this is not a signed document") from None
    if schema != expected:
        raise Unreadable(f"this is not a signed document of the kind {expected}")
    # Without a given key a signature shows that nothing changed since somebody signed, not who.
    if key is not None and key != inside:
        raise Wrong("it is signed with another key than the one given")
    if not ed25519_fits(
        inside, canonical({"schema": schema, "statement": statement}), signature
    ):
        raise Wrong("the signature does not fit: what it signs was changed afterwards")
    if statement.get("key") != hashlib.sha256(inside).hexdigest():
        raise Wrong("it names another key than the one that signed it")
    return statement


def read_key(path: str) -> bytes:
    """The 32 bytes of a public key in a PEM file."""
    try:
        lines = Path(path).read_text("ascii").split("-----")
        der = base64.b64decode("".join(lines[2].split()), validate=True)
    except (OSError, ValueError, IndexError):
        raise Unreadable(f"{path}: this is not a public key in PEM") from None
    if len(der) != 44 or der[:12].hex() != "302a300506032b6570032100":
        raise Unreadable(f"{path}: this is not a public key of the kind Ed25519")
    return der[12:]


# Ed25519 (RFC 8032), checking only: everything here is public, so nothing has to be hidden from a clock.
PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME
ROOT = pow(2, (PRIME - 1) // 4, PRIME)  # of -1


def ed25519_fits(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether S·B = R + h·A for the signature (R, S) of `message` under the key A."""
    if len(public) != 32 or len(signature) != 64:
        return False
    key, commitment = _point(public), _point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    # RFC 8032, 5.1.7: S below the order, or S + order would be a second signature.
    if key is None or commitment is None or scalar >= ORDER:
        return False
    challenge = (
        int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little")
        % ORDER
    )
    left, right = _times(scalar, BASE), _plus(commitment, _times(challenge, key))
    return (left[0] * right[2] - right[0] * left[2]) % PRIME == 0 and (
        left[1] * right[2] - right[1] * left[2]
    ) % PRIME == 0


def _point(encoded: bytes) -> Point | None:
    """The point that 32 bytes stand for; None where they stand for none."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= PRIME:
        return None
    squared = (y * y - 1) * pow(CURVE * y * y + 1, -1, PRIME) % PRIME
    x = pow(squared, (PRIME + 3) // 8, PRIME)
    if (x * x - squared) % PRIME:
        x = x * ROOT % PRIME
    if (x * x - squared) % PRIME or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = PRIME - x
    return (x, y, 1, x * y % PRIME)


def _plus(left: Point, right: Point) -> Point:
    a = (left[1] - left[0]) * (right[1] - right[0]) % PRIME
    b = (left[1] + left[0]) * (right[1] + right[0]) % PRIME
    c = 2 * left[3] * right[3] * CURVE % PRIME
    d = 2 * left[2] * right[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME)


def _times(scalar: int, point: Point) -> Point:
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = _plus(total, point)
        point, scalar = _plus(point, point), scalar >> 1
    return total


BASE = _point((4 * pow(5, -1, PRIME) % PRIME).to_bytes(32, "little")) or (0, 1, 1, 0)


# --- the program --------------------------------------------------------------------------------------------
def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("export", nargs="?", help="an export, JSON or CSV")
    parser.add_argument(
        "--head", action="append", default=[], help="a signed checkpoint of the same chain"
    )
    parser.add_argument("--key", help="the installation's public key, signing.pub")
    chosen = parser.parse_args(arguments)
    if not chosen.export and not chosen.head:
        parser.error("give an export, a signed checkpoint, or both")
    try:
        code, lines = _verdict(chosen.export, chosen.head, chosen.key)
    except Wrong as wrong:
        code, lines = 1, [f"NOT INTACT: {wrong}"]
    except (Unreadable, KeyError, TypeError, AttributeError) as problem:
        sys.stderr.write(f"{problem if isinstance(problem, Unreadable) else NO_TABLE}\n")
        return 2
    sys.stdout.write("\n".join(lines) + "\n")
    return code


def _verdict(
    path: str | None, head_paths: list[str], key_path: str | None
) -> tuple[int, list[str]]:
    """The exit code and what to print."""
    key = read_key(key_path) if key_path else None
    heads = [check_head(read(head), key) for head in head_paths]
    lines = []
    for head in heads:
        lines += [
            f"Signed: chain {head['chain']}, {head['length']} entries, at {head['at']}, by the key",
            _key_line(head, key),
        ]
    if path is None:
        return 0, lines
    export = read(path)
    if export.get("schema") == EVERYTHING:
        sentences, faults = check_everything(export, heads, key)
        lines += sentences + [f"NOT INTACT: {fault}" for fault in faults]
        if faults:
            return 1, lines
        return 0, [*lines, "Intact: everything that was signed is there, as it was written."]
    if any(head["chain"] != _name(export) for head in heads):
        raise Wrong("the export and the signed checkpoint are of different chains")
    sentences, whole = check_export(export, heads)
    return (0 if whole else 3), lines + sentences


def _key_line(statement: Facts, key: bytes | None) -> str:
    known = "" if key else ", which you should compare with the one you know"
    return f"  {statement['key']}{known}"


def _name(export: Facts) -> str | None:
    if _is_audit(export):
        return "audit"
    if "account" in export:
        return str(export["account"]["account"])
    return str(export["entries"][0]["covered"]["account"]) if export["entries"] else None


if __name__ == "__main__":
    sys.exit(main())

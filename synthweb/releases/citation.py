"""How to cite a release or a table drawn from it: a sentence, and a BibTeX entry.

A citation says what was published, by whom and when, the guarantee, and the digest of the core of the receipt
that proves it: whoever reads it can ask for that receipt and check it. The core never changes, so a citation
stays right whatever becomes of the release and of its licence. It never holds a seed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from synth_engine.privacy import receipt as receipts
from synthweb.lib.number_format import grouped, in_letters
from synthweb.releases import chain, licences, receipt_facts, tables
from synthweb.releases.models import Release, Sample

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
} | {sign: f"\\{sign}" for sign in "{}%&#_$"}
_GREEK = {"ε": r"$\varepsilon$", "δ": r"$\delta$", "ρ": r"$\rho$"}
_SPACE = re.compile(r"\s+")
LOOKED = "Chosen after looking at real data."
EDITED = "Drawn from an edited description of the release, not from what was measured."


@dataclass(frozen=True, kw_only=True)
class Citation:
    """The same in two forms."""

    plain: str
    bibtex: str


def of_release(release: Release) -> Citation:
    document = receipts.with_marks(receipt_facts.of(release), chain.marks_of(release))
    return _cite(
        release,
        receipt=document,
        key=release.code,
        what=f"release {release.code}",
        at=release.created_at,
    )


def of_sample(sample: Sample) -> Citation:
    """A table, which the commitment to its seed names; the digest is that of its release."""
    release = sample.release
    what = f"{grouped(sample.rows)} rows, sample {sample.code} of release {release.code}"
    selection = tables.selection_of(sample)
    if selection is not None:
        what += f", rows chosen where {_line(selection.words)}"
    return _cite(
        release,
        receipt=chain.receipt_of_sample(sample),
        key=sample.code,
        what=what,
        at=sample.created_at,
    )


def _cite(
    release: Release, *, receipt: receipts.Receipt, key: str, what: str, at: datetime
) -> Citation:
    name, organisation = _line(release.name), _line(release.dataset.organisation.name)
    kind = f"Synthetic data, {what}"
    promise = in_letters(receipt["guarantee"]["sentence"]).removesuffix(".")
    made = f"Made with synthweb {receipt['versions']['synth_engine']}, method {receipt['mechanism']['id']}"
    looked = f" {LOOKED}" if receipts.is_after_looking(receipt) else ""
    edited = f" {EDITED}" if receipts.is_edited(receipt) else ""
    sample_note = (
        f" Seed commitment {receipt['sample']['seed_commitment']}." if receipt["sample"] else ""
    )
    licence = licences.of_release(release)
    licensed = f" {licence.sentence}." if licence else ""
    note = (
        f"{made}. {promise}.{edited}{looked}{sample_note}{licensed} "
        f"Receipt SHA-256 {receipt['digest']}"
    )
    fields = {
        "author": f"{{{_tex(organisation)}}}",
        "title": f"{{{_tex(name)}}}",
        "year": f"{at:%Y}",
        "month": f"{at.month}",
        "howpublished": _tex(kind),
        "note": _tex(note),
    }
    body = ",\n".join(f"  {field} = {{{text}}}" for field, text in fields.items())
    return Citation(
        plain=f"{organisation} ({at:%Y}). {name}. {kind}, {at.day} {at:%B %Y}. {note}.",
        bibtex=f"@misc{{synthweb-{key},\n{body}\n}}",
    )


def _line(text: str) -> str:
    """On one line, whatever somebody typed."""
    return _SPACE.sub(" ", text).strip()


def _tex(text: str) -> str:
    """As TeX reads it: signs that mean something to it are escaped, and thin spaces its own."""
    signs = _ESCAPED | _GREEK | {"\u202f": r"\,"}
    # Sign by sign in one pass: replacing one after the other would escape what was escaped.
    return "".join(signs.get(sign, sign) for sign in text)

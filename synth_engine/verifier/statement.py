"""The verifier checks the parts of a receipt that are not numbers, and writes the sentences of its report.

Standard library only, and nothing shared with what writes receipts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from synth_engine.verifier.calls import SHA256, TOTALS, amount, refuse

PURCHASE_ORIGINS = frozenset(("bought", "declared-after-looking"))
"""Origins of facts that rest on what an earlier run learned."""
_ORIGINS = {"declared", "declared (shorthand)", "public-file", "learned"} | PURCHASE_ORIGINS
_CERTIFICATES = {
    "basic": "the epsilons of the calls add up",
    "zcdp": "the rho of the calls adds up and is converted",
    "gdp": "the mu² of the calls adds up, as for one Gaussian answer, whose delta at epsilon is known "
    "exactly",
    "pld": "the privacy-loss distributions of the calls, fixed beforehand, are composed",
}


_PREMISE = (
    "The guarantee compares tables, the empty one among them, that differ in whole, well-formed records. "
    "Not protected are whether a run succeeds and how long it takes: a run fails for a line with another "
    "number of cells, quotation marks that do not pair, merged cells, and a file that is damaged or beyond "
    "the stated limits of size, and for nothing that a well-formed record holds."
)
_SPELLINGS = {
    "casefold": "but for upper and lower case and forms of the same letter",
    "integer": "and whole numbers by their value",
}
_MAX_TEXT = 1_000
"""Letters of a text about a public table."""
_EDITED = "edited_description_sha256"
"""Of which description a table was drawn, where somebody edited it: beside the sample."""


def _check_facts(facts: Mapping[Any, Any]) -> None:
    if not all(isinstance(k, str) and type(v) is int and v >= 0 for k, v in facts.items()):
        refuse("the domain facts are malformed")
    # The guarantee holds for a domain that does not depend on the table.
    if facts.get("suggested"):
        refuse("the domain holds facts that were only suggested by the data")
    if not set(facts) <= _ORIGINS | {"suggested"}:
        refuse("the domain holds facts of an unknown origin")


def _check_not_found(receipt: Mapping[str, Any]) -> None:
    """A column that was not found was asked about, and one on a lattice has one code at most wherever it is
    counted by itself. Whether the answers say so little cannot be seen here: a receipt holds none."""
    names = receipt["post_processing"].get("not_found", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        refuse("the columns that were not found are malformed")
    left_out = receipt["post_processing"].get("constraints_left_out", [])
    if not isinstance(left_out, list) or not all(isinstance(rule, str) for rule in left_out):
        refuse("the constraints that were left out are malformed")
    queries = [call["query"] for call in receipt["calls"]]
    for name in names:
        # Not every verb has columns. The two of a place are found by one tree.
        asked = [
            query
            for query in queries
            if query.get("clique") == [name]
            or (query["verb"] == "grow" and name in query.get("clique", []))
        ]
        if not asked:
            refuse("a column that nobody asked about is stated as not found")
        on_lattice = any(query["verb"] == "intervals" for query in asked)
        if on_lattice and any(
            query["verb"] != "intervals" and query["cells"] != 1 for query in asked
        ):
            refuse("a column that was not found is counted by more than one code")


def _check_premise(receipt: Mapping[str, Any]) -> None:
    """Check premise and spelling: nothing else in the receipt confirms these words, so only known ones are
    accepted."""
    if receipt["premise"] != _PREMISE:
        refuse("the receipt states a premise that the verifier does not know")
    unit = receipt["unit"]
    known = isinstance(unit.get("spelling"), str) and unit["spelling"] in _SPELLINGS
    if "spelling" in unit and (unit["column"] is None or not known):
        refuse("the privacy unit is malformed")


def _check_source(receipt: Mapping[str, Any]) -> None:
    """Check what the receipt says about the query, or the formulas, that made its table."""
    source = receipt.get("source")
    if source is None and "source" not in receipt:
        return
    if not isinstance(source, dict) or "vouched_by" not in source:
        refuse("what the receipt says about its source is malformed")
    digest, formulas = source.get("query_sha256"), source.get("formulas")
    if set(source) == {"query_sha256", "vouched_by"}:
        if not isinstance(digest, str) or not SHA256.fullmatch(digest):
            refuse("the query has no SHA-256")
    elif set(source) != {"formulas", "vouched_by"} or formulas is not True:
        refuse("what the receipt says about its source is malformed")
    # Of a query nobody has to vouch; results of formulas are not read without anybody's word.
    check_voucher(source["vouched_by"], may_be_empty=not formulas)


def check_voucher(voucher: object, *, may_be_empty: bool = False) -> None:
    """Check who vouches for what the receipt says: the name stands in a sentence of the report, which it must
    not break."""
    if not isinstance(voucher, str) or len(voucher) > _MAX_TEXT or not voucher.isprintable():
        refuse("who vouches for the source is malformed")
    if not voucher and not may_be_empty:
        refuse("nobody vouches for the formulas")


def formulas_sentence(voucher: str) -> str:
    """On whose word the results of formulas are read."""
    return (
        "The table holds stored results of formulas. That each of them is computed from its own row alone "
        f"rests on the word of {voucher}: nothing here shows it."
    )


def _sentence_of_source(source: Mapping[str, str]) -> str:
    if "formulas" in source:
        return formulas_sentence(source["vouched_by"])
    query = (
        f"The table is the result of a query of a database (SHA-256 {source['query_sha256']})"
    )
    if source["vouched_by"]:
        return (
            f"{query}. That each of its records is of one privacy unit alone rests on the word of "
            f"{source['vouched_by']}: the query was not proved to choose only rows and columns."
        )
    return f"{query}, which chooses rows and columns of one table and nothing else."


_PUBLIC_TABLES = {"auto": "prior", "on-the-map": "earlier"}
"""The methods that read answers beside a public table, and the parameter that states it."""


def _prior_of(receipt: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The public table beside which answers were read. Other methods may have a parameter of that name."""
    mechanism = receipt["mechanism"]
    key = _PUBLIC_TABLES.get(mechanism["id"])
    prior: Mapping[str, Any] | None = None if key is None else mechanism["parameters"].get(key)
    return prior


def _check_prior(prior: Mapping[str, Any] | None) -> None:
    if prior is None:
        return
    texts = {"name", "version", "sha256", "published"}
    if not isinstance(prior, dict) or set(prior) - {"release"} != texts | {
        "records",
        "columns",
    }:
        refuse("the public table is malformed")
    _check_texts(prior, texts)
    if not SHA256.fullmatch(prior["sha256"]):
        refuse("the public table has no SHA-256")
    columns = prior["columns"]
    if not isinstance(columns, list) or not columns or type(prior["records"]) is not int:
        refuse("the public table shares no column")
    release = prior.get("release")
    if release is None and "release" not in prior:
        return
    if not isinstance(release, dict) or set(release) != {"core", "guarantee"}:
        refuse("the earlier release of the public table is malformed")
    _check_texts(release, {"core", "guarantee"})
    if not SHA256.fullmatch(release["core"]):
        refuse("the earlier release of the public table is malformed")


def _check_texts(document: Mapping[str, Any], names: set[str]) -> None:
    # They stand in sentences of the report, which they must not break into lines of their own.
    if not all(
        isinstance(document[name], str)
        and 0 < len(document[name]) <= _MAX_TEXT
        and document[name].isprintable()
        for name in names
    ):
        refuse("the public table is malformed")


_SKETCH = "link-sketch"
"""The mechanism of the sketch of one side of a link."""


def _check_link(receipt: Mapping[str, Any]) -> None:
    """Check what the receipt of a sketch says about its link: a person in both tables loses more than by it
    alone."""
    if receipt["mechanism"]["id"] != _SKETCH:
        return
    stated = receipt["mechanism"]["parameters"]
    if set(stated) != {"link", "side", "epsilon_of_both"} or stated["side"] not in (
        "left",
        "right",
    ):
        refuse("what the sketch says about its link is malformed")
    if not isinstance(stated["link"], str) or not SHA256.fullmatch(stated["link"]):
        refuse("the link of the sketch is no SHA-256")
    if amount(stated, "epsilon_of_both") <= amount(receipt["guarantee"], "epsilon"):
        refuse("both sides of the link claim no more than this one")


def check_rest(receipt: Mapping[str, Any]) -> None:
    _check_prior(_prior_of(receipt))
    _check_link(receipt)
    _check_premise(receipt)
    _check_source(receipt)
    _check_facts(receipt["domain_facts"])
    _check_not_found(receipt)
    if not all(isinstance(version, str) for version in receipt["versions"].values()):
        refuse("the versions are malformed")
    sample = receipt["sample"]
    # People read the sentence and not the numbers, so it is built again and compared.
    if receipt["guarantee"]["sentence"] != _guarantee_sentence(receipt):
        refuse("the sentence says something else than the numbers")
    if sample is not None:
        _check_sample(sample)


def _check_sample(sample: Mapping[str, Any]) -> None:
    if type(sample.get("rows")) is not int or sample["rows"] < 0:
        refuse("the sample has no number of rows")
    parts = {"rows", "seed", "seed_commitment", "table_sha256"}
    parts |= {_EDITED, "chosen_after_looking", "selection"}
    if not set(sample) <= parts:
        refuse("the sample has unknown parts")
    if sample.get("chosen_after_looking", True) is not True:
        refuse("the sample's mark of a look is malformed")
    selection = sample.get("selection", {"where": []})
    if not isinstance(selection, dict) or not selection or set(selection) - {"where", "quotas"}:
        refuse("the sample's selection is malformed")
    # With both, a secret seed would be public; with neither, the table has no seed at all.
    if ("seed" in sample) == ("seed_commitment" in sample):
        refuse("the sample must show either its seed or a commitment to it")
    if not isinstance(sample.get("seed", ""), str):
        refuse("the sample's seed is no text")
    for name in ("seed_commitment", "table_sha256", _EDITED):
        if name in sample and not (
            isinstance(sample[name], str) and SHA256.fullmatch(sample[name])
        ):
            refuse(f"the sample's {name} is no SHA-256")


def sentences(receipt: Mapping[str, Any], epsilon: Fraction, certificate: str) -> list[str]:
    calls = len(receipt["calls"])
    lines = [
        _guarantee_sentence(receipt),
        f"{calls} call{'s' if calls > 1 else ''} recomputed; they add up to epsilon = {float(epsilon):.9g}.",
        f"The mechanism is {receipt['mechanism']['kind']}; {_CERTIFICATES[certificate]}.",
        f"The plan's digest, recomputed from this receipt, is {receipt['plan']['sha256']}: the evidence of "
        "the entry HOLD in the ledger has to be the same.",
    ]
    lines.append(receipt["premise"])
    if receipt["unit"]["column"] is not None:
        how = _SPELLINGS.get(receipt["unit"].get("spelling"), "without the blanks around it")
        lines.append(
            f"People are told apart by how {receipt['unit']['column']} is spelled, {how}."
        )
    if "source" in receipt:
        lines.append(_sentence_of_source(receipt["source"]))
    if receipt.get("suggestions_shown"):
        lines.append(SUGGESTIONS_SENTENCE)
    if receipt.get("ranges_after_looking"):
        lines.append(RANGES_SENTENCE)
    if not_found := receipt["post_processing"].get("not_found"):
        lines.append(
            f"Nothing was found of: {', '.join(not_found)}. The run states this; the receipt holds no "
            "answers from which it could be recomputed."
        )
    if left_out := receipt["post_processing"].get("constraints_left_out"):
        lines.append(
            "Declared, and left out because no record could keep it with what was learned: "
            f"{'; '.join(left_out)}. The run states this, too."
        )
    if receipt["invariants"]:
        lines.append("The number of rows is public and exact.")
    for name in (name for name in receipt["invariants"] if name != "rows"):
        lines.append(
            f"How many records have each {name.removeprefix(TOTALS)} is public and exact, and is not "
            "protected."
        )
    return lines


SUGGESTIONS_SENTENCE = (
    "Suggestions read from the data were shown before the description was confirmed; that every fact in it "
    "is public rests on the word of the person who confirmed it."
)
RANGES_SENTENCE = (
    "A range of the description was changed after a histogram of the real values had been opened; the "
    "guarantee does not cover what was chosen because of it."
)
LOOKED_CAVEAT = (
    "A choice was made after a look at real data; that look is not covered by the guarantee."
)
OUTSIDE_CAVEAT = (
    "Exact counts of the same table were published outside the guarantee, filled to a policy. This receipt "
    "proves what its calls cost; together with those counts NO differential privacy holds for the records "
    "of the table."
)


def caveats_of(receipt: Mapping[str, Any], *, looked: bool, outside: bool = False) -> list[str]:
    """Sentences about what the guarantee does not cover. looked: whether a mark states that a choice was made
    after somebody looked at real data; outside: whether one states that exact counts of the table were
    published."""
    caveats = [OUTSIDE_CAVEAT] if outside or receipt.get("outside_guarantee") else []
    sample = receipt["sample"] or {}
    if looked or receipt["chosen_after_looking"] or sample.get("chosen_after_looking"):
        caveats.append(LOOKED_CAVEAT)
    if sample.get(_EDITED) is not None:
        caveats.append(
            "The table is not drawn from what was measured but from a description that somebody edited "
            "afterwards; the guarantee covers it as far as they used nothing but the release and public "
            "knowledge."
        )
    # No name of the view: parameters are texts that are never printed.
    if receipt["mechanism"]["id"] == "relational":
        caveats.append(
            "This receipt is of one view of a database of several tables, and proves nothing about its "
            "other tables: the database has a receipt of its own, which holds those of all views."
        )
    if receipt["mechanism"]["id"] == _SKETCH:
        stated = receipt["mechanism"]["parameters"]
        caveats.append(
            f"This receipt is of the sketch of the {stated['side']} side of link {stated['link']}. For a "
            "person who is in the tables of both sides, the two sketches add up to epsilon = "
            f"{_decimal(amount(stated, 'epsilon_of_both'))}."
        )
    prior = _prior_of(receipt)
    if prior is not None:
        caveats.append(
            f"Answers were read beside a table that somebody calls public: {prior['name']} "
            f"({prior['published']}), with SHA-256 {prior['sha256']}. The guarantee does not protect "
            "whoever is in that table."
        )
    if prior is not None and "release" in prior:
        caveats.append(
            "That table was drawn from an earlier release, whose loss stands on its own receipt, with the "
            f"core {prior['release']['core']}: {prior['release']['guarantee']}"
        )
    return caveats


def _guarantee_sentence(receipt: Mapping[str, Any]) -> str:
    claim, unit = receipt["guarantee"], receipt["unit"]
    m = unit["max_records"]
    single_record = m == 1 and unit["column"] is None
    who = (
        "one record" if single_record else f"one person, at most {m} row{'s' if m > 1 else ''}"
    )
    change = "added or removed" if receipt["relation"] == "add-remove" else "replaced"
    change += "".join(
        f", its {name.removeprefix(TOTALS)} kept"
        for name in receipt["invariants"]
        if name != "rows"
    )
    return f"{amounts_sentence(claim)} differential privacy for {who} {change}."


def amounts_sentence(claim: Mapping[str, Any]) -> str:
    """Epsilon and delta of a claim in words."""
    amounts = f"epsilon = {_decimal(amount(claim, 'epsilon'))}"
    delta = amount(claim, "delta")
    if not delta:
        return amounts
    power = len(str(delta.denominator)) - 1
    text = f"1e-{power}" if delta == Fraction(1, 10**power) else _decimal(delta)
    return f"({amounts}, delta = {text})"


def _decimal(value: Fraction) -> str:
    """Exact decimal digits where they end soon, else the ratio."""
    for digits in range(41):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            text = str(scaled.numerator).rjust(digits + 1, "0")
            text = (
                f"{text[: len(text) - digits]}.{text[len(text) - digits :]}" if digits else text
            )
            return text if len(text) <= 40 else f"{value.numerator}/{value.denominator}"
    return f"{value.numerator}/{value.denominator}"

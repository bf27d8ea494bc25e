"""Two public tables with the description that their publishers give: Adult, discretised, and the national
excerpts of the American Community Survey (NIST, 2019)."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine import domain as domains
from synth_engine.domain import Domain
from synth_engine.sources import opening

Matrix = npt.NDArray[np.int64]

# What the survey's data dictionary does not say in its lists: which texts are missing values, and how numbers
# are binned.
CENSUS_NUMBERS = {"AGEP": "integer", "NOC": "integer", "NPF": "integer", "DENSITY": "number",
    "PINCP": "integer",
                  "POVPIP": "integer", "WGTP": "integer", "PWGTP": "integer"}  # fmt: skip
CENSUS_ZERO_BELOW = {"NOC", "WGTP"}
CENSUS_LAST = {"POVPIP": 501}
CENSUS_WITHOUT_LIST = {"INDP"}


@dataclass(frozen=True, kw_only=True)
class CodedTable:
    """A table, its public domain, and its codes to compare with."""

    name: str
    path: Path
    domain: Domain
    codes: Matrix


def census_domain(dictionary: dict[str, Any]) -> Domain:
    """The public description of the survey's table, from its dictionary alone."""
    attributes = [
        _census_attribute(name, entry["values"])
        for name, entry in dictionary.items()
        if name not in CENSUS_WITHOUT_LIST
    ]
    return Domain.from_json({"relation": "add-remove", "attributes": attributes})


def _census_attribute(name: str, values: dict[str, Any]) -> dict[str, Any]:
    missing = {"missing": ["N"]} if "N" in values else {}
    if name in CENSUS_NUMBERS:
        low = 0 if name in CENSUS_ZERO_BELOW else values["min"]
        bounds = {"low": low, "high": CENSUS_LAST.get(name, values["max"])}
        return {"name": name, "kind": CENSUS_NUMBERS[name], **bounds, **missing}
    texts = [text for text in values if text != "N"]
    return {
        "name": name,
        "kind": "categorical",
        "values": texts,
        **missing,
        **({} if missing else {"outside": "clamp"}),
    }


def adult(folder: Path, scratch: Path) -> CodedTable:
    subprocess.run(
        [sys.executable, str(folder / "tools" / "split.py"), str(scratch)], check=True
    )
    return _data("adult", scratch / "train.csv", domains.read(scratch / "domain.json"))


def national(folder: Path, _scratch: Path) -> CodedTable:
    place = folder / "data" / "nist_acs"
    described = census_domain(json.loads((place / "data_dictionary.json").read_text()))
    return _data("national2019", place / "national2019.csv.gz", described)


def _data(name: str, path: Path, described: Domain) -> CodedTable:
    table = opening.open_table(path, described)
    return CodedTable(
        name=name,
        path=path,
        domain=described,
        codes=_matrix({name: table.codes(name) for name in described.names}, described),
    )


def _matrix(codes: dict[str, Any], described: Domain) -> Matrix:
    return np.stack(
        [np.asarray(codes[name], dtype=np.int64) for name in described.names], axis=1
    )

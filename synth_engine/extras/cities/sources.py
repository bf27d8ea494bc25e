"""The sources of a city: models of releases with their receipts, and descriptions that were written without
data.

No table is read here: a source is a model, so that everything made of it is post-processing and costs no
privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from synth_engine import codec, strict_json, verifier
from synth_engine.errors import InputError, SpecError, VerificationError
from synth_engine.extras.cities.specification import SourceFiles
from synth_engine.kinds.attribute import Attribute
from synth_engine.models import description
from synth_engine.models.model import Model
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import plain, scientific
from synth_engine.strict_json import JsonObject
from synth_engine.tables import Drawing

MAX_DOCUMENT_BYTES = 2**30
WITHOUT_DATA = (
    "A description without a receipt: whoever wrote it says that it was written without data. Nothing "
    "proves it."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class CitySource:
    """A model that feeds tables. statement: what a receipt of the city says of it."""

    name: str
    model: Model
    statement: JsonObject

    @cached_property
    def columns(self) -> dict[str, Attribute]:
        """The columns of a generated table, by their names."""
        return {column.name: column for column in self.model.domain.table_columns}

    def require(self, column: str, *, of: str) -> None:
        """Errors: SpecError where it has no such column. of: what names the column."""
        if column not in self.columns:
            raise SpecError(
                f"{of}: the source {self.name!r} has no column {column!r}",
                repair=f"use one of {', '.join(self.columns)}",
            )

    def draw(self, rows: int, *, seed: str) -> pd.DataFrame:
        """Generated rows, as values."""
        blocks = list(Drawing(model=self.model, rows=rows, seed=seed).blocks())
        return pd.concat(blocks, ignore_index=True)

    def texts(self, frame: pd.DataFrame, column: str) -> pd.Series:
        """A column of generated rows as a file writes it."""
        written: pd.Series = codec.as_text(self.model.domain, frame)[column]
        return written


def of_release(name: str, model: Model, receipt: dict[str, Any]) -> CitySource:
    """A source whose model and receipt somebody keeps together, as an installation keeps a release. Errors:
    SpecError that names it, where the receipt does not verify, or names another model."""
    digest = receipts.digest(model.to_json())
    # Receipts of an installation do not name the model: whoever calls says that both belong together.
    stated = receipt["post_processing"].get("model_sha256", digest)
    return CitySource(
        name=name,
        model=model,
        statement={"source": name, "model_sha256": digest}
        | _proven(receipt, name=name, model=digest, stated=stated),
    )


def of_description(name: str, document: Mapping[str, Any]) -> CitySource:
    """A source that was written by hand. Errors: SpecError that names it."""
    try:
        model = description.read(document)
    except InputError as error:
        raise SpecError(f"source {name!r}: {error.text}") from None
    return CitySource(
        name=name,
        model=model,
        statement={
            "source": name,
            "model_sha256": receipts.digest(model.to_json()),
            "receipt": None,
            "statement": WITHOUT_DATA,
        },
    )


def load(name: str, files: SourceFiles, *, folder: Path) -> CitySource:
    """A source from its files. Errors: SpecError that names it, where a file is missing or the receipt does
    not prove the model."""
    document = _json(folder / files.model, name=name, what="model")
    try:
        read = description.read if files.described else Model.from_json
        model = read(document)
    except InputError as error:
        raise SpecError(f"source {name!r}: {error.text}") from None
    digest = receipts.digest(model.to_json())
    statement: JsonObject = {"source": name, "model_sha256": digest}
    if files.receipt is None:
        return CitySource(
            name=name,
            model=model,
            statement=statement | {"receipt": None, "statement": WITHOUT_DATA},
        )
    receipt = _json(folder / files.receipt, name=name, what="receipt")
    return CitySource(
        name=name,
        model=model,
        statement=statement
        | _proven(
            receipt,
            name=name,
            model=digest,
            stated=receipt.get("post_processing", {}).get("model_sha256"),
        ),
    )


def _proven(receipt: dict[str, Any], *, name: str, model: str, stated: object) -> JsonObject:
    """The guarantee of a receipt that holds for a model. stated: the digest of the model that the receipt is
    of."""
    try:
        if verifier.is_database(receipt):
            raise VerificationError("it is of a database, and a source is one table")
        verified = verifier.verify(receipt)
    except VerificationError as error:
        raise SpecError(
            f"source {name!r}: its receipt does not verify: {error}",
            repair="use the receipt as it was published",
        ) from None
    if stated != model:
        raise SpecError(
            f"source {name!r}: its receipt is of another model",
            repair="give the model that was published with that receipt",
        )
    return {
        "receipt": verified.core,
        **({"caveats": list(verified.caveats)} if verified.caveats else {}),
        "mechanism": receipt["mechanism"]["id"],
        "relation": receipt["relation"],
        "unit": receipt["unit"],
        "guarantee": {
            "epsilon": plain(Fraction(receipt["guarantee"]["epsilon"])),
            "delta": scientific(Fraction(receipt["guarantee"]["delta"])),
            "sentence": receipt["guarantee"]["sentence"],
        },
    }


def _json(path: Path, *, name: str, what: str) -> Any:
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise ValueError
        document = strict_json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise SpecError(
            f"source {name!r}: the file of its {what} is not there",
            repair="make the release, or name its file; paths start at the folder of the specification",
        ) from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise SpecError(
            f"source {name!r}: the file of its {what} is no JSON object",
            repair="use the file as it was written",
        )
    return document

"""The receipt of a table that was made of a release by post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from synth_engine import verifier
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import plain, scientific
from synth_engine.strict_json import JsonObject


def receipt(
    release: Mapping[str, Any],
    *,
    model: Mapping[str, Any],
    schema: str,
    statement: str,
    made: Mapping[str, Any],
) -> JsonObject:
    """release: the receipt of the release, which is verified; model: its document. schema, statement: of the
    kind of table, in words. made: what else the receipt states of it. Errors: VerificationError."""
    verified = verifier.verify(dict(release))
    guarantee = release["guarantee"]
    document: JsonObject = {
        "schema": schema,
        "statement": statement,
        "release": {
            "receipt": verified.core,
            **({"caveats": list(verified.caveats)} if verified.caveats else {}),
            "model_sha256": receipts.digest(model),
            "relation": release["relation"],
            "unit": release["unit"],
            "guarantee": {
                "epsilon": plain(Fraction(guarantee["epsilon"])),
                "delta": scientific(Fraction(guarantee["delta"])),
                "sentence": guarantee["sentence"],
            },
        },
        **made,
    }
    return document | {"digest": receipts.digest(document)}

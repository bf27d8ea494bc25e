"""The verifier of receipts: recomputes from a receipt alone what it claims.

A package of its own, so that an auditor can read it by itself: it imports the standard library and its
error, and shares no code with what writes receipts. `standalone` writes all of it as one file.
"""

from synth_engine.verifier.bundle import is_bundle, verify_bundle
from synth_engine.verifier.database import is_database, verify_any, verify_database
from synth_engine.verifier.paid_descriptions import verify_purchases
from synth_engine.verifier.program import read, read_key, report
from synth_engine.verifier.receipt import KINDS, Verified, verify

__all__ = [
    "KINDS",
    "Verified",
    "is_bundle",
    "is_database",
    "read",
    "read_key",
    "report",
    "verify",
    "verify_any",
    "verify_bundle",
    "verify_database",
    "verify_purchases",
]

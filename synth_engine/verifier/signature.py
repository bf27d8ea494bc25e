"""Ed25519 signatures for the verifier (RFC 8032, section 5.1.7), from whole-number arithmetic alone.

Standard library only, and nothing shared with what signs. It checks signatures of public documents, so it may
take as long as it likes for one input and less for another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

_PRIME = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_CURVE_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
_ROOT_OF_MINUS_ONE = pow(2, (_PRIME - 1) // 4, _PRIME)
_PEM_PREFIX = bytes.fromhex("302a300506032b6570032100")
"""The bytes before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410)."""
_Point = tuple[int, int, int, int]
"""A point in extended coordinates: X, Y, Z, T with x = X / Z, y = Y / Z and x y = T / Z."""
_NEUTRAL: _Point = (0, 1, 1, 0)
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE_Y = 4 * pow(5, -1, _PRIME) % _PRIME
_BASE_POINT: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _PRIME)
"""The generator B of RFC 8032, section 5.1."""


def signature_fits(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the 64 bytes are a signature of the message under the public key of 32 bytes."""
    if len(public) != 32 or len(signature) != 64:
        return False
    key, start = _decode_point(public), _decode_point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    # RFC 8032, 5.1.7, step 1: S + order would be a second signature of the same message.
    if key is None or start is None or scalar >= _ORDER:
        return False
    challenge = (
        int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little")
        % _ORDER
    )
    # Step 3 without the cofactor: S B = R + k A, which is stricter than eight times both sides.
    left, right = (
        _multiply_point(scalar, _BASE_POINT),
        _add_points(start, _multiply_point(challenge, key)),
    )
    # The same point: X1 / Z1 = X2 / Z2 and Y1 / Z1 = Y2 / Z2.
    return (left[0] * right[2] - right[0] * left[2]) % _PRIME == 0 and (
        left[1] * right[2] - right[1] * left[2]
    ) % _PRIME == 0


def signed_bytes(schema: str, statement: Any) -> bytes:
    """The bytes of a document that are signed: one spelling of its schema and its statement."""
    document = {"schema": schema, "statement": statement}
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode("utf-8")


def key_name(public: bytes) -> str:
    """How a public key is named: the SHA-256 of its 32 bytes."""
    return hashlib.sha256(public).hexdigest()


def key_of_pem(text: str) -> bytes | None:
    """The 32 bytes of an Ed25519 public key in PEM; None if it is none."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if (
        len(lines) < 3
        or lines[0] != "-----BEGIN PUBLIC KEY-----"
        or lines[-1] != "-----END PUBLIC KEY-----"
    ):
        return None
    raw = bytes_of("".join(lines[1:-1]))
    if raw is None or len(raw) != 44 or not raw.startswith(_PEM_PREFIX):
        return None
    return raw[len(_PEM_PREFIX) :]


def bytes_of(text: Any) -> bytes | None:
    """Decode a text of base64; None if it is none."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None


def _decode_point(encoded: bytes) -> _Point | None:
    """A point from its y and the sign of its x; None where there is none on the curve."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    # Only the canonical encoding of a point is accepted, so that a key has one name.
    if y >= _PRIME:
        return None
    square = (y * y - 1) * pow(_CURVE_D * y * y + 1, -1, _PRIME) % _PRIME
    # RFC 8032, 5.1.3: a root of the square or of its negative, as the prime is 5 mod 8.
    x = pow(square, (_PRIME + 3) // 8, _PRIME)
    if (x * x - square) % _PRIME:
        x = x * _ROOT_OF_MINUS_ONE % _PRIME
    if (x * x - square) % _PRIME or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _PRIME - x
    return x, y, 1, x * y % _PRIME


def _add_points(left: _Point, right: _Point) -> _Point:
    # RFC 8032, 5.1.4: complete on this curve, so doubling needs no formula of its own.
    a = (left[1] - left[0]) * (right[1] - right[0]) % _PRIME
    b = (left[1] + left[0]) * (right[1] + right[0]) % _PRIME
    c = 2 * left[3] * right[3] * _CURVE_D % _PRIME
    d = 2 * left[2] * right[2] % _PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _PRIME, g * h % _PRIME, f * g % _PRIME, e * h % _PRIME


def _multiply_point(scalar: int, point: _Point) -> _Point:
    product = _NEUTRAL
    while scalar:
        if scalar & 1:
            product = _add_points(product, point)
        point = _add_points(point, point)
        scalar >>= 1
    return product

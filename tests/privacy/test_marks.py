"""What stands beside the core of a receipt: a chain of marks, a signature, the latest head. Whatever is taken
out is noticed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import verifier
from synth_engine.errors import InputError, VerificationError
from synth_engine.privacy import receipt, signing
from synth_engine.verifier import program as verifier_program
from synth_engine.verifier import signature as verifier_signature
from tests.privacy.test_hostile_receipts import check
from tests.privacy.test_verifier import (
    DELTA,
    RECEIPTS,
    Document,
    adaptive,
    core_sha256,
    honest,
    resealed,
)

KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))
PUBLIC = KEY.public_key().public_bytes_raw()
AT = "2026-03-01T09:30:00.000000Z"


def by(key: Ed25519PrivateKey) -> receipt.Sign:
    return lambda statement, schema: signing.sign(statement, schema=schema, key=key)


def marked(document: Document, number: int, *, key: Ed25519PrivateKey | None = KEY) -> Document:
    """The receipt with so many marks beside it, signed if there is a key."""
    marks: list[dict[str, Any]] = []
    for place in range(number):
        marks.append(
            receipt.mark(
                document,
                after=marks[-1] if marks else None,
                kind=receipt.LOOKED if place == 0 else receipt.DESCRIBED,
                at=AT,
                text=f"Something became known, {place}.",
                sign=None if key is None else by(key),
            )
        )
    found = receipt.with_marks(document, marks)
    return found if key is None else receipt.signed(found, by(key))


def head_of(document: Document, *, key: Ed25519PrivateKey = KEY) -> Document:
    return signing.sign(receipt.ends(document) | {"at": AT}, schema=receipt.HEAD, key=key)


def test_a_signed_receipt_with_its_head_is_complete_and_says_so() -> None:
    document = json.loads(json.dumps(marked(honest(), 2)))
    found = verifier.verify(
        document, head=head_of(document), key=PUBLIC, core=document["digest"]
    )
    assert found.signed_by == signing.name(KEY.public_key())
    said = " ".join(found.sentences)
    assert "no mark is missing" in said
    assert "signed with the key that was given" in said
    assert [caveat for caveat in found.caveats if "look at real data" in caveat]


def test_without_a_head_the_marks_beyond_the_last_one_are_unknown_and_without_a_signature_that_is_said() -> (
    None
):
    alone = " ".join(verifier.verify(marked(honest(), 2)).sentences)
    assert "Marks are unknown beyond number 2" in alone
    assert "compare this name" in alone
    unsigned = " ".join(verifier.verify(marked(honest(), 0, key=None)).sentences)
    assert "NOT SIGNED" in unsigned
    assert "Marks are unknown beyond number 0" in unsigned


def test_the_core_and_its_digest_stay_the_same_whatever_stands_beside_them() -> None:
    document = honest()
    every = [marked(document, number) for number in range(3)]
    every.append(
        receipt.with_sample(
            every[2], receipt.Sample(rows=9, seed="s", edited="a" * 64, after_looking=True)
        )
    )
    assert {each["digest"] for each in every} == {document["digest"]}
    assert all(receipt.core(each) == receipt.core(document) for each in every)


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_mark_that_was_taken_out_is_noticed(gone: int) -> None:
    """In the middle the chain shows it, at the end the signature; without a signature, the head."""
    document = marked(honest(), 3)
    head = head_of(document)
    del document["marks"][gone]
    with pytest.raises(VerificationError, match="marks are missing"):
        verifier.verify(document)
    document["seal"] = None
    if gone < 2:
        with pytest.raises(VerificationError, match="marks are missing"):
            verifier.verify(document)
    with pytest.raises(VerificationError, match="marks are missing"):
        verifier.verify(document, head=head)
    with pytest.raises(VerificationError, match=r"not signed|marks are missing"):
        verifier.verify(document, key=PUBLIC)


def test_all_marks_taken_out_and_the_chain_with_them_is_noticed() -> None:
    document = marked(honest(), 1)
    head = head_of(document)
    bare = {name: value for name, value in document.items() if name not in ("marks", "seal")}
    with pytest.raises(VerificationError, match="missing or unknown fields"):
        verifier.verify(bare | {"digest": core_sha256(bare)})
    emptied = document | {"marks": [], "seal": None}
    with pytest.raises(VerificationError, match="the head names mark 1"):
        verifier.verify(emptied, head=head)


@pytest.mark.parametrize(
    "field", ["text", "at", "kind", "previous", "core", "sequence", "hash"]
)
def test_a_mark_that_was_changed_is_noticed(field: str) -> None:
    document = marked(honest(), 2)
    values = {
        "at": "2020-01-01T00:00:00Z",
        "kind": receipt.DESCRIBED,
        "sequence": 7,
        "text": "Nothing.",
    }
    document["marks"][0][field] = values.get(field, "f" * 64)
    with pytest.raises(VerificationError, match=r"mark \d"):
        verifier.verify(document)


def rehashed(mark: Document) -> Document:
    """What a forger does who changed a mark: its digest fits again, its signature does not."""
    statement = {name: value for name, value in mark.items() if name not in ("hash", "signed")}
    made = receipt.mark(
        {"digest": mark["core"]},
        after=None,
        kind=mark["kind"],
        at=mark["at"],
        text=mark["text"],
    )
    assert made.keys() == mark.keys()
    return statement | {"hash": made["hash"], "signed": mark["signed"]}


def test_a_mark_with_a_digest_that_fits_again_has_no_signature_that_fits() -> None:
    document = marked(honest(), 1)
    document["marks"][0]["text"] = "Nothing of importance."
    document["marks"] = [rehashed(document["marks"][0])]
    document["seal"] = None
    with pytest.raises(VerificationError, match="signature of mark 1 does not fit"):
        verifier.verify(document)


def test_a_mark_that_was_rewritten_with_its_digest_does_not_fit_the_next_one() -> None:
    """Where marks have no signature, the chain alone shows it."""
    document = marked(honest(), 2, key=None)
    verifier.verify(document)
    first, _ = document["marks"]
    document["marks"][0] = rehashed(first | {"text": "Nothing of importance."})
    with pytest.raises(VerificationError, match="mark 2 does not continue"):
        verifier.verify(document)


def doctored(document: Document) -> dict[str, Document]:
    """What can be taken out of the core of an adaptive run, with every digest renewed by the forger."""
    without_call = copy.deepcopy(document)
    del without_call["calls"][-1]
    other_answers = copy.deepcopy(document) | {"answers_sha256": "f" * 64}
    not_looked = copy.deepcopy(document) | {"chosen_after_looking": False}
    return {name: resealed(each) for name, each in locals().items() if name != "document"}


@pytest.mark.parametrize("what", ["without_call", "other_answers", "not_looked"])
def test_what_is_taken_out_of_the_core_of_an_adaptive_run_is_noticed(what: str) -> None:
    """By the signature, by the digest that a citation names, by the head, and by the marks of the release."""
    true = resealed(adaptive() | {"chosen_after_looking": True})
    document = marked(true, 0)
    verifier.verify(document, head=head_of(document), key=PUBLIC, core=true["digest"])
    forged = doctored(document)[what]
    assert forged["digest"] != document["digest"]
    with pytest.raises(VerificationError, match="the core was changed"):
        verifier.verify(forged, key=PUBLIC)
    forged["seal"] = None
    verifier.verify(forged)  # alone, nothing shows it; so it says what is not known
    with pytest.raises(VerificationError, match="not signed"):
        verifier.verify(forged, key=PUBLIC)
    with pytest.raises(VerificationError, match="not the one of the digest"):
        verifier.verify(forged, core=true["digest"])
    with pytest.raises(VerificationError, match="head is that of another release"):
        verifier.verify(forged, head=head_of(document))
    with pytest.raises(VerificationError, match="belongs to another release"):
        verifier.verify(forged | {"marks": marked(true, 1)["marks"]})


@pytest.mark.parametrize(
    "part",
    ["edited_description_sha256", "chosen_after_looking", "seed_commitment", "rows"],
)
def test_what_is_taken_out_of_the_sample_is_noticed(part: str) -> None:
    drawn = receipt.Sample(
        rows=9, seed_commitment="b" * 64, edited="a" * 64, after_looking=True
    )
    document = receipt.signed(receipt.with_sample(marked(honest(), 0), drawn), by(KEY))
    assert len(verifier.verify(document, key=PUBLIC).caveats) == 2
    changed = copy.deepcopy(document)
    if part == "rows":
        changed["sample"]["rows"] = 10
    elif part == "seed_commitment":
        changed["sample"][part] = "c" * 64
    else:
        del changed["sample"][part]
    with pytest.raises(VerificationError, match="sample was changed or left out"):
        verifier.verify(changed, key=PUBLIC)
    with pytest.raises(VerificationError, match="sample was changed or left out"):
        verifier.verify(document | {"sample": None}, key=PUBLIC)


def test_another_key_is_refused_where_one_is_given() -> None:
    document = marked(honest(), 1, key=OTHER)
    verifier.verify(document, head=head_of(document, key=OTHER))
    with pytest.raises(VerificationError, match="another key than the one given"):
        verifier.verify(document, key=PUBLIC)
    signed = marked(honest(), 1)
    with pytest.raises(VerificationError, match="the head is signed with another key"):
        verifier.verify(signed, head=head_of(signed, key=OTHER), key=PUBLIC)


def test_an_older_head_says_that_it_is_older() -> None:
    document = honest()
    before, after = marked(document, 1), marked(document, 3)
    later = receipt.with_marks(before, after["marks"])
    assert any(
        "older than the receipt" in said
        for said in verifier.verify(later, head=head_of(before)).sentences
    )


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_stored_receipt_is_not_signed_and_can_be_given_marks(name: str) -> None:
    document = RECEIPTS[name]
    verifier.verify(document)
    with pytest.raises(VerificationError, match="not signed"):
        verifier.verify(document, key=PUBLIC)
    with pytest.raises(VerificationError):
        verifier.verify(document, head=head_of(marked(honest(), 1)))
    published = receipt.seal(document | {"sample": None})  # as an installation holds it
    later = marked(published, 1)
    assert later["digest"] == published["digest"]
    assert verifier.verify(later, head=head_of(later), key=PUBLIC).core == published["digest"]


# --- signatures ---------------------------------------------------------------------------------------------
RFC = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
            "6bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d"
            "8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6"
            "594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]
"""Tests 1 to 3 of RFC 8032, section 7.1."""


@pytest.mark.parametrize(("public", "message", "signature"), RFC)
def test_signatures_of_the_standard_fit(public: str, message: str, signature: str) -> None:
    parts = [bytes.fromhex(part) for part in (public, message, signature)]
    assert verifier_signature.signature_fits(*parts)
    assert not verifier_signature.signature_fits(parts[0], parts[1] + b"x", parts[2])
    for place in (0, 31, 32, 63):
        turned = bytearray(parts[2])
        turned[place] ^= 1
        assert not verifier_signature.signature_fits(parts[0], parts[1], bytes(turned))


@settings(max_examples=25)
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_a_signature_of_the_library_fits_and_one_with_a_scalar_that_is_too_large_does_not(
    secret: bytes, message: bytes
) -> None:
    key = Ed25519PrivateKey.from_private_bytes(secret)
    signature, public = key.sign(message), key.public_key().public_bytes_raw()
    assert verifier_signature.signature_fits(public, message, signature)
    larger = (
        int.from_bytes(signature[32:], "little")
        + 2**252
        + 27742317777372353535851937790883648493
    )
    assert not verifier_signature.signature_fits(
        public, message, signature[:32] + larger.to_bytes(32, "little")
    )


@settings(max_examples=50)
@given(st.binary(max_size=70), st.binary(max_size=5), st.binary(max_size=70))
def test_bytes_that_are_no_signature_do_not_fit(
    public: bytes, message: bytes, signature: bytes
) -> None:
    assert not verifier_signature.signature_fits(public, message, signature)


def test_a_key_is_read_from_its_pem_and_nothing_else_is(tmp_path: Path) -> None:
    pem = KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    path = tmp_path / "signing.pub"
    path.write_bytes(pem)
    assert verifier_program.read_key(path) == PUBLIC
    for wrong in (b"", b"x" * 20_000, pem.replace(b"PUBLIC", b"PRIVATE"), b"\xff", pem[:60]):
        path.write_bytes(wrong)
        with pytest.raises(VerificationError, match="no Ed25519 public key"):
            verifier_program.read_key(path)


def test_a_private_key_that_cannot_sign_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        signing.load(tmp_path / "none.key")
    path = tmp_path / "some.key"
    sealed = serialization.BestAvailableEncryption(b"secret")
    for encryption in (None, sealed):
        text = b"nothing" if encryption is None else KEY.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )  # fmt: skip
        path.write_bytes(text)
        with pytest.raises(InputError, match="passphrase"):
            signing.load(path)


# --- fuzzing ------------------------------------------------------------------------------------------------
SIGNED = receipt.signed(
    receipt.with_sample(
        marked(honest(DELTA), 2), receipt.Sample(rows=9, seed_commitment="b" * 64)
    ),
    by(KEY),
)
HEAD = head_of(SIGNED)
hostile = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, 2, 3, -1, 10**59, 1.5]),
    st.sampled_from(
        ["", "a", "x\nepsilon = 0", "\u202e", "f" * 64, AT, receipt.LOOKED, "====", "AAAA"]
    ),
    st.sampled_from([[], {}, [None], {"a": 1}]).map(copy.deepcopy),
)


@settings(max_examples=300)
@given(st.data())
def test_marks_signatures_and_heads_that_were_garbled_are_refused_in_words(
    data: st.DataObject,
) -> None:
    document, head = copy.deepcopy(SIGNED), copy.deepcopy(HEAD)
    target: Any = data.draw(
        st.sampled_from([document["marks"], document["seal"], head, document["sample"]])
    )
    while True:
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        key = data.draw(st.sampled_from(keys))
        inner = target[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        target = inner
    before = copy.deepcopy(target)
    target[key] = data.draw(hostile)
    if target == before and type(target[key]) is type(before[key]):
        return
    if (
        key == "signed" and target[key] is None
    ):  # the signature over the whole receipt covers the mark as well
        verifier.verify(document, head=head, key=PUBLIC)
        return
    with pytest.raises(VerificationError) as refused:
        verifier.verify(document, head=head, key=PUBLIC)
    assert str(refused.value) == " ".join(str(refused.value).split())
    check(document)

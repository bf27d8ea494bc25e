"""Passkeys as a second factor (WebAuthn): a key of a phone, a computer or a stick signs what the page asks it
to.

The page shows the question, which is random and kept in the session; the browser answers for the host that it
sees, and python-fido2 checks the answer. A question is asked once: its answer takes it out of the session.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.utils import timezone
from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from synthweb.accounts import second_factors, services
from synthweb.accounts.models import Passkey, User
from synthweb.lib import names

PASSKEY = "passkey"
LONGEST = 20_000
"""Characters of an answer: those of real browsers have up to some four thousand."""
MOST = 20  # of one person
_ADDING, _SIGNING_IN = "passkey_to_add", "passkey_to_sign_in"


class NotAPasskey(Exception):
    """An answer that proves nothing: of another host, person or question, or no answer at all."""


def of(user: User, request: HttpRequest) -> list[Passkey]:
    """The passkeys of a person for the host of the request: browsers use no other here."""
    return list(Passkey.objects.filter(user=user, host=_host(request)).order_by("added_at"))


# --- adding one ---------------------------------------------------------------------------------------------
def question_to_add(request: HttpRequest, user: User) -> str:
    """What the browser is asked, as JSON, to make a new passkey of a person."""
    options, state = _server(request).register_begin(
        PublicKeyCredentialUserEntity(
            # The same for all passkeys of a person; the standard wants no name in it.
            id=hashlib.sha256(f"synthweb user {user.pk}".encode()).digest(),
            name=user.get_username(),
            display_name=user.get_username(),
        ),
        credentials=_credentials(of(user, request)),
        # It follows a password: whoever holds it need not unlock it, and a stick need not keep who it is of.
        resident_key_requirement=ResidentKeyRequirement.DISCOURAGED,
        user_verification=UserVerificationRequirement.PREFERRED,
    )
    request.session[_ADDING] = state
    return json.dumps(dict(options.public_key))


@transaction.atomic
def add(request: HttpRequest, *, user: User, name: str, answer: str) -> list[str]:
    """Keep the passkey that `answer` made. Recovery codes, shown this once, if it is the first second factor
    of `user`; otherwise none. Raises NotAPasskey."""
    state = request.session.pop(_ADDING, None)
    # What browsers send is data of a stranger: the library raises whatever its parsers raise.
    try:
        made = _server(request).register_complete(state, json.loads(answer[:LONGEST]))
        credential = made.credential_data
    except Exception as error:
        raise NotAPasskey from error
    if credential is None or Passkey.objects.filter(user=user).count() >= MOST:
        raise NotAPasskey
    is_first = not second_factors.has_one(user)
    _stored, is_new = Passkey.objects.get_or_create(
        digest=_digest(credential),
        defaults={
            "user": user,
            "host": _host(request),
            "name": names.one_line(name),
            "credential": bytes(credential),
            "uses": made.counter,
        },
    )
    if not is_new:
        raise NotAPasskey
    services.record_change(user=user, actor=user, action="user.passkey_added")
    return second_factors.write_codes(user) if is_first else []


@transaction.atomic
def remove(*, user: User, code: str) -> bool:
    """Take away one of somebody's own passkeys; with the last second factor their recovery codes go. Whether
    there was one."""
    removed, _ = Passkey.objects.filter(user=user, code=code).delete()
    if removed:
        if not second_factors.has_one(user):
            user.recovery_codes.all().delete()
        services.record_change(user=user, actor=user, action="user.passkey_removed")
    return bool(removed)


# --- signing in ---------------------------------------------------------------------------------------------
def question_to_sign_in(request: HttpRequest, user: User) -> str:
    """What the browser is asked, as JSON, to prove that a passkey of `user` is there; empty where they have
    none for this host."""
    known = of(user, request)
    if not known:
        return ""
    options, state = _server(request).authenticate_begin(
        credentials=_credentials(known),
        user_verification=UserVerificationRequirement.PREFERRED,
    )
    request.session[_SIGNING_IN] = state
    return json.dumps(dict(options.public_key))


def check(request: HttpRequest, user: User, answer: str) -> str:
    """PASSKEY if `answer` was made by a passkey of `user` for the question of this session; empty
    otherwise."""
    try:
        credential, uses = _proved(request, user, answer)
    except NotAPasskey:
        return ""
    # A key that counts its uses counts up: no larger number comes from a copy. Others say 0 each time.
    used = Passkey.objects.filter(
        Q(uses=0) | Q(uses__lt=uses), user=user, digest=_digest(credential)
    )
    # One conditional UPDATE: of two answers with one number, one is refused.
    return PASSKEY if used.update(uses=uses, used_at=timezone.now()) else ""


def _proved(
    request: HttpRequest, user: User, answer: str
) -> tuple[AttestedCredentialData, int]:
    """The credential of `user` that made `answer` for the question of this session, and how often it was used
    so far. Raises NotAPasskey."""
    state = request.session.pop(_SIGNING_IN, None)
    known = _credentials(of(user, request))
    # As above: whatever the parsers of the library raise.
    try:
        parsed = AuthenticationResponse.from_dict(json.loads(answer[:LONGEST]))
        credential = _server(request).authenticate_complete(state, known, parsed)
    except Exception as error:
        raise NotAPasskey from error
    return credential, parsed.response.authenticator_data.counter


# --- what the library is told -------------------------------------------------------------------------------
def _server(request: HttpRequest) -> Fido2Server:
    origin = f"{request.scheme}://{request.get_host()}"
    party = PublicKeyCredentialRpEntity(id=_host(request), name=second_factors.ISSUER)
    # Exactly this origin; the library's own rule takes other hosts below ours as well.
    return Fido2Server(party, verify_origin=lambda seen: seen == origin)


def _host(request: HttpRequest) -> str:
    """The name of the host, of those in `SYNTHWEB_HOSTS`, without its port."""
    return split_domain_port(request.get_host())[0]


def _credentials(passkeys: Iterable[Passkey]) -> list[AttestedCredentialData]:
    return [AttestedCredentialData(bytes(passkey.credential)) for passkey in passkeys]


def _digest(credential: AttestedCredentialData) -> str:
    return hashlib.sha256(credential.credential_id).hexdigest()

"""Validations by the client: asked within an allowance, waited for, and verified on arrival."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from django.utils import timezone
from synthweb_client import Client, NotMeasured, Retries, ServerRefused, figures

from synthweb.accounts import services
from synthweb.accounts.models import User
from synthweb.ledger.amounts import Amount
from synthweb.runs import services as runs
from synthweb.runs import ticks, validations, worker
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene as scenes
from tests.web.scene import Scene

ASKED = [figures.count("region=north"), figures.marginal("works"), figures.ks("age")]


def client_of(server: str, user: User, *, wait: Callable[[float], None]) -> Client:
    _, token = services.create_token(user=user, name="v", scopes=["read", "spend"], days=1)
    return Client(server, token=token, retries=Retries(wait=wait))


def waiting() -> SynthesisRun:
    return SynthesisRun.objects.filter(check_run__allowance__isnull=False).latest("pk")


def measure(_seconds: float) -> None:
    """What a worker does while the client waits, until the answer is shown."""
    worker.synthesize(code=waiting().code)
    scenes.let_ticks_pass()


def test_a_validation_from_the_allowance_to_the_receipt(server: str, scene: Scene) -> None:
    validations.grant(
        actor=scene.release.created_by,
        release=scene.release,
        amount=Amount(epsilon=10**9 // 2),
        until=timezone.now().date() + timedelta(days=7),
    )
    with client_of(server, scene.reader, wait=measure) as client:
        release = client.release(scene.release.code)
        price = release.price(ASKED, epsilon="0.2")
        assert (price.fits, price.price.epsilon) == (True, Decimal("0.2"))
        validation = release.validate(ASKED, epsilon="0.2")
        count, table, distance = validation.figures()
        assert count.lower <= count.value <= count.upper
        assert len(table.table) == 3
        assert 0 <= distance.lower <= distance.upper <= 1
        assert validation.receipt().epsilon == Fraction(1, 5)
        (allowance,) = release.allowances()
        assert (allowance.open, allowance.left.epsilon) == (True, Decimal("0.3"))
        assert [each.facts.code for each in release.validations()] == [validation.facts.code]
        with pytest.raises(ServerRefused) as refused:
            release.validate(ASKED, epsilon="0.4")
        assert refused.value.code == "beyond-allowance"


def test_a_validation_that_ends_without_an_answer_is_said(
    server: str, scene: Scene, cast: Cast
) -> None:
    validations.grant(
        actor=cast.custodian,
        release=scene.release,
        amount=Amount(epsilon=10**8),
        until=timezone.now().date() + timedelta(days=7),
    )

    def cancel(_seconds: float) -> None:
        if waiting().is_open:
            runs.cancel(actor=cast.steward, run=waiting())
        scenes.let_ticks_pass(ticks.MOST // 4)

    with client_of(server, scene.reader, wait=cancel) as client:
        validation = client.release(scene.release.code).validate(ASKED, epsilon="0.1")
        with pytest.raises(NotMeasured):
            validation.figures()

"""No run is finished without the result that it was paid for: a kind that stores none fails, whatever kind it
is, and what it was paid for can still be made of its stored answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from synth_engine.plans.release_check import CheckedFigure
from synthweb.datasets import services as datasets
from synthweb.runs import linking, paid_job, services, worker
from synthweb.runs.checks import CheckRequest, ReleaseCheck
from synthweb.runs.databases import DatabaseRequest
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene, test_databases, test_links, test_purchases

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("places")]
State = SynthesisRun.State


def release_of_table(cast: Cast) -> SynthesisRun:
    return scene.submit(steward=cast.steward, dataset=scene.funded(cast))


def check(cast: Cast) -> SynthesisRun:
    earlier = release_of_table(cast)
    worker.synthesize(code=earlier.code)
    earlier.refresh_from_db()
    assert earlier.release is not None, earlier.failure
    figures = (CheckedFigure(kind="distance", columns=("age",)),)
    request = CheckRequest(figures=figures, epsilon=Fraction(1, 4))
    return services.submit(
        ReleaseCheck(release=earlier.release, request=request), steward=cast.steward
    )


def description(cast: Cast) -> SynthesisRun:
    dataset = scene.funded(cast, table=test_purchases.TABLE)
    datasets.declare_domain(
        actor=cast.steward, dataset=dataset, document=test_purchases.undeclared()
    )
    return test_purchases.submitted(cast, dataset)


def release_of_database(cast: Cast) -> SynthesisRun:
    root = test_databases.described(cast)
    test_databases.funded(cast, root)
    test_databases.checked(cast, root)
    request = DatabaseRequest(dataset=root, epsilon=Fraction(1), delta=Fraction(1, 10**9))
    return services.submit(request, steward=cast.steward)


def sketch(cast: Cast) -> SynthesisRun:
    link = test_links.started(test_links.sides_of(cast))
    return linking.runs_of(link)[0]


MADE: dict[str, Callable[[Cast], SynthesisRun]] = {
    "ReleaseOfTable": release_of_table,
    "ReleaseOfDatabase": release_of_database,
    "Check": check,
    "SketchOfSide": sketch,
    "DescriptionPurchase": description,
}
"""A run of each kind that is submitted."""


def test_every_kind_is_tried_here() -> None:
    assert {kind.__name__ for kind in paid_job.KINDS.values()} == MADE.keys()


@pytest.mark.parametrize("name", MADE)
def test_a_run_that_stores_no_result_is_not_finished(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (kind,) = (each for each in paid_job.KINDS.values() if each.__name__ == name)
    run = MADE[name](cast)

    def publish(*_: object) -> Mapping[str, Any]:
        return {}

    with monkeypatch.context() as forgetful:
        forgetful.setattr(kind, "publish", publish)
        forgetful.setattr(kind, "settle", lambda *_: None)
        forgetful.setattr(kind, "published", lambda *_: None)
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "internal")
    assert "NoResult" in run.failure["text"]
    services.resume(actor=cast.steward, run=run)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure

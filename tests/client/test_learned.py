"""Columns that are learned once, asked for by the client."""

from __future__ import annotations

from synthweb_client import Client, Retries

from synthweb.accounts import services
from synthweb.datasets import services as datasets
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene, test_purchases


def learn(_seconds: float) -> None:
    """What a worker does while the client waits."""
    worker.synthesize(code=SynthesisRun.objects.get().code)


def test_columns_are_learned_once_and_listed_with_their_receipt(
    server: str, cast: Cast
) -> None:
    dataset = scene.funded(cast, table=test_purchases.TABLE)
    document = test_purchases.undeclared()
    datasets.declare_domain(actor=cast.steward, dataset=dataset, document=document)
    _, token = services.create_token(
        user=cast.steward, name="learns", scopes=["read", "spend"], days=1
    )
    with Client(server, token=token, retries=Retries(wait=learn)) as client:
        table = client.dataset(dataset.code)
        assert table.learned() == ()
        run = table.learn(["age"], epsilon="2", key="once").wait()
        assert table.learn(["age"], epsilon="2", key="once").code == run.code
        (kept,) = table.learned()
    assert (kept.run, kept.asked, kept.columns) == (run.code, 2, ("age",))

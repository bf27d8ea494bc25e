"""Schemathesis against every address of the OpenAPI document, as steward, custodian, analyst and auditor:
requests that the document allows and requests that it does not, for objects of one's own, of another
organisation, and for releases that are not shared. Nothing fails with an error of ours, answers are what the
document says, and no object of others is ever in one.

Few examples an operation, the same at every run; SCHEMATHESIS_EXAMPLES=200 in the environment draws as many,
at random, and among them words of our own source."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from pytest_django import Settings
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi import checks

from synthweb.accounts.models import Organisation, Role, User
from synthweb.accounts.services import NewPerson, create_token, create_user
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import BudgetAccount, BudgetRequest
from synthweb.notifications.models import Webhook
from synthweb.references.models import ReferenceTable
from synthweb.releases.models import Release, Sample
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun
from synthweb.wsgi import application
from tests import extras
from tests.cast import PASSWORD, Cast
from tests.nightly import by_day
from tests.web import doorbell, scene
from tests.web.addresses import filled_counts_of, link_of, repaired_of, upload_of
from tests.web.scene import Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "0"))
FEW = 4
ROLES = ("steward", "custodian", "analyst", "auditor")
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
OWN, FOREIGN, HIDDEN = "own", "foreign", "hidden"


@pytest.fixture(autouse=True)
def _broker_in_memory() -> Iterator[None]:
    with doorbell.queue_at(doorbell.IN_MEMORY):
        yield


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Requests in this process share the test's transaction: they do not close its connection, as after a
    real one."""
    both = (request_started, request_finished)
    for signal in both:
        signal.disconnect(close_old_connections)
    yield
    for signal in both:
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def _no_words_of_our_source(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hypothesis, and Schemathesis itself, draw constants of the modules that are loaded, also where nothing
    is random: what a worker has run before, and every line that anybody writes, would give other examples."""
    none = providers.Constants()
    if not EXAMPLES:
        monkeypatch.setattr(providers, "_get_local_constants", lambda: none)
    providers.CONSTANTS_CACHE.cache.clear()
    yield
    providers.CONSTANTS_CACHE.cache.clear()


class World:
    """Two organisations that have played the whole main job, and a release of ours that is shared with
    nobody."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.there = self._elsewhere(cast.elsewhere)
        self.here = scene.play(
            steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
        )
        run = scene.submit(steward=cast.steward, dataset=self.here.dataset)
        worker.synthesize(code=run.code)
        run.refresh_from_db()
        assert run.release is not None
        self.unshared = run.release
        self.people = {**cast.by_name(), "analyst": self.here.reader}

    @staticmethod
    def _elsewhere(organisation: Organisation) -> Scene:
        def person(name: str, role: Role) -> User:
            return create_user(
                actor="system",
                organisation=organisation,
                person=NewPerson(username=name),
                roles=[role],
                password=PASSWORD,
            )

        played = scene.play(
            steward=person("canary-steward", Role.STEWARD),
            custodian=person("canary-custodian", Role.CUSTODIAN),
            organisation=organisation,
        )
        User.objects.filter(pk=played.reader.pk).update(username="canary-analyst")
        Dataset.objects.filter(organisation=organisation).update(
            name="canary-table", description="canary-words"
        )
        SynthesisRun.objects.filter(dataset__organisation=organisation).update(
            name="canary-run"
        )
        Organisation.objects.filter(pk=organisation.pk).update(name="canary-organisation")
        return played

    def forbidden(self, role: str) -> set[str]:
        """What never stands in an answer to this role."""
        there = {"organisation": self.cast.elsewhere}
        datasets = Dataset.objects.filter(**there)
        words = {
            "canary-",
            self.cast.elsewhere.code,
            _webhook(self.there.dataset.steward),
            link_of(self.there).code,
            filled_counts_of(self.there).code,
            *(code(self.there) for code in extras.merged("CODES").values()),
            repaired_of(self.there).code,
            upload_of(self.there).code,
            *BudgetAccount.objects.filter(**there).values_list("code", flat=True),
            *ReferenceTable.objects.filter(**there).values_list("code", flat=True),
        }
        for model in (SynthesisRun, Release, BudgetRequest):
            words |= set(
                model.objects.filter(dataset__in=datasets).values_list("code", flat=True)
            )
        words |= {
            *datasets.values_list("code", flat=True),
            *datasets.values_list("content_key", flat=True),
        }
        words |= {
            str(receipt["digest"])
            for receipt in Release.objects.filter(dataset__in=datasets).values_list(
                "receipt", flat=True
            )
        }
        for sample in Sample.objects.exclude(requested_by=self.people[role]).select_related(
            "release__dataset"
        ):
            in_the_log = (
                role in ("auditor", "steward")
                and sample.release.dataset.organisation != self.cast.elsewhere
            )
            words |= {sample.seed} if len(sample.seed) > 3 else set()
            words |= set() if in_the_log else {sample.code}
        if role == "analyst":
            words |= {self.unshared.code, str(self.unshared.receipt["digest"])}
        return words

    def parameters(self, path: str) -> list[dict[str, str | int]]:
        """What may stand for the parameters of an address: ours, another organisation's, what is not shared,
        nonsense."""
        kind = re.search(r"/v1/([\w-]+)/\{code\}", path)
        if kind is None:
            return [{}]
        codes = [self._code(played, kind[1]) for played in (self.here, self.there)]
        codes += [self.unshared.code] if kind[1] == "releases" else []
        codes += [self.here.own_sample.code] if kind[1] == "samples" else []
        named: list[dict[str, str | int]]
        named = (
            [{"username": "reader"}, {"username": "canary-analyst"}]
            if "{username}" in path
            else [{}]
        )
        named = [{**more, "number": 1} for more in named] if "{number}" in path else named
        return [{"code": code, **more} for code in codes for more in named] + [{}]

    @staticmethod
    def _code(played: Scene, kind: str) -> str:
        return str(
            {
                "datasets": played.fresh.code,
                "releases": played.release.code,
                "samples": played.sample.code,
                "runs": played.waiting.code,
                "budget-requests": played.request.code,
                "accounts": played.account.code,
                "references": played.reference.code,
                "webhooks": _webhook(played.dataset.steward),
                "links": link_of(played).code,
                "filled-counts": filled_counts_of(played).code,
                "uploads": upload_of(played).code,
                **{
                    before.removesuffix("/"): code(played)
                    for before, code in extras.merged("CODES").items()
                },
            }[kind]
        )


def _webhook(user: User) -> str:
    webhook, _ = Webhook.objects.get_or_create(
        user=user, url="https://example.org/hook", events=[]
    )
    return webhook.code


def check_operation(
    operation: Any, *, world: World, headers: dict[str, str], forbidden: set[str]
) -> int:
    """Ask one operation many times; how many answers were looked at."""
    asked = 0
    strategies = [
        operation.as_strategy(mode, path_parameters=parameters or None)
        for parameters in world.parameters(operation.path)
        for mode in MODES
    ]
    number = EXAMPLES or FEW * (2 if len(strategies) > len(MODES) else 1)

    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=not EXAMPLES,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate] if not EXAMPLES else [Phase.generate, Phase.shrink],
    )
    @given(case=st.one_of(strategies))
    def ask(case: Any) -> None:
        nonlocal asked
        response = case.call(headers=headers)
        asked += 1
        case.validate_response(response, checks=CHECKS)
        text = response.content.decode("utf-8", "replace")
        assert not [word for word in forbidden if word in text], (
            f"{operation.label} showed something of others"
        )

    ask()
    return asked


def _example(failure: BaseException) -> str:
    """The curl command that does it again."""
    return next(
        (line.strip()[:500] for line in str(failure).splitlines() if "curl " in line), ""
    )


@pytest.mark.parametrize("role", by_day(("steward", "analyst"), ROLES))
def test_every_operation_keeps_its_word_and_shows_nothing_of_others(
    cast: Cast, role: str, settings: Settings
) -> None:
    load_all_checks()
    world = World(cast)
    _, token = create_token(
        user=world.people[role],
        name="all",
        scopes=["read", "spend", "share", "grant", "webhooks", "people"],
        days=1,
    )
    # With the version of tus: else no request for an upload would get further than that.
    headers = {"Authorization": f"Bearer {token}", "Tus-Resumable": "1.0.0"}
    document = schemathesis.openapi.from_wsgi(
        "/api/v1/schema/?format=json", application, headers=headers
    )
    document.config.analysis.constants.enabled = bool(EXAMPLES)  # as `_no_words_of_our_source`
    settings.SAMPLE_MAX_ROWS = (
        500  # not before: the document would say so if nobody had asked for one yet
    )
    forbidden = world.forbidden(role)
    assert len(forbidden) > 15
    asked, found = {}, []
    for result in document.get_all_operations():
        operation = result.ok()
        try:
            asked[operation.label] = check_operation(
                operation, world=world, headers=headers, forbidden=forbidden
            )
        except (AssertionError, BaseExceptionGroup) as failure:
            found.append(
                f"{operation.label}: {str(getattr(failure, 'exceptions', failure))[:400]}\n"
                f"{_example(failure)}"
            )
    assert not found, "\n\n".join(found)
    assert len(asked) > 30
    assert min(asked.values()) >= 1, asked


def test_the_canary_is_in_the_answers_to_those_whose_it_is(cast: Cast) -> None:
    """So that looking for it can fail: the other organisation's own steward gets it."""
    from tests.web.rest import Caller

    world = World(cast)
    assert world.there.release.code in world.forbidden("steward")
    seen = (
        Caller(User.objects.get(username="canary-steward"), "read")
        .get("/datasets/")
        .content.decode()
    )
    assert "canary-" in seen
    assert world.there.dataset.code in seen
    own = Caller(cast.steward, "read").get("/datasets/").content.decode()
    assert not [word for word in world.forbidden("steward") if word in own]

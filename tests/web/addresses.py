"""Every address of the application, by its route, and what stands in for the parameters of each."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import timedelta
from fractions import Fraction

from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from synth_engine.linking import agreement as agreements
from synth_engine.linking.agreement import Offer
from synth_engine.mixing.policy import FillPlan, FillPolicy
from synth_engine.plans.release_check import CheckedFigure
from synthweb.accounts.models import ApiToken, Passkey
from synthweb.accounts.services import create_token
from synthweb.api.urls import urlpatterns
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import PartialUpload
from synthweb.datasets.services import resuming
from synthweb.ledger.models import Earmark, PublicationPlan
from synthweb.notifications.models import Webhook
from synthweb.releases import plausible, public_links, services
from synthweb.releases.models import (
    Edition,
    PaidCheck,
    PublicLink,
    ReleaseGrant,
    RepairedTable,
)
from synthweb.runs import validations
from synthweb.runs.checks import CheckRequest
from synthweb.runs.models import (
    CheckRun,
    FilledCounts,
    Link,
    LinkSide,
    SynthesisRun,
    ValidationAllowance,
)
from tests import extras
from tests.cast import Cast
from tests.web.scene import Scene

ADMIN = "admin/"
PUBLIC = "public/"
PUBLIC_TOKEN = "a-token-that-only-tests-have"


def routes() -> dict[str, str]:
    """Every route of the resolver → its full name; the admin's own are checked by a rule of their own."""
    return {
        route: namespace + (pattern.name or "")
        for route, namespace, pattern in _walk(get_resolver().url_patterns)
    }


def rest_routes() -> dict[str, URLPattern]:
    """Every route below /api/v1/ → what it leads to."""
    return {route: pattern for route, _, pattern in _walk(urlpatterns)}


def _walk(
    patterns: Iterable[URLPattern | URLResolver], *, prefix: str = "", namespace: str = ""
) -> Iterator[tuple[str, str, URLPattern]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{pattern.namespace}:" if pattern.namespace else namespace
            yield from _walk(pattern.url_patterns, prefix=route, namespace=inner)
        else:
            yield route, namespace, pattern


def fill(route: str, *, scene: Scene, cast: Cast) -> str:
    """The address of `route` for the objects of the scene, which the first call makes."""
    named = make_all(scene, cast)
    if route.endswith("^(?P<path>(?s:.*))$"):
        return "/" + route.removesuffix("^(?P<path>(?s:.*))$") + "nowhere"

    def value(found: re.Match[str]) -> str:
        return str(named[_before_code(route) if found[1] == "code" else found[1]])

    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", value, route)


def make_all(scene: Scene, cast: Cast) -> dict[str, object]:
    """What stands for each parameter, and for `code` by what stands before it. The objects are made once: a
    test that takes back what it does calls this before."""
    if not scene.named:
        scene.named.update(_others(scene, cast) | _codes(scene, cast))
    if not plausible.is_ready(scene.release):
        plausible.store(scene.release, b"made by a worker")
    return scene.named


def _before_code(route: str) -> str:
    """What `code` names depends on where it stands."""
    for part in ("sessions/", "passkeys/", "tokens/", "webhooks/"):
        if part in route:
            return part
    found = re.search(r"([\w-]+/)<\w+:code>", route)
    return found[1] if found else "code"


def _codes(scene: Scene, cast: Cast) -> dict[str, object]:
    return {
        "sessions/": "k7mq2wz9ha",  # of no session
        "passkeys/": _passkey(cast),
        "tokens/": _token(cast),
        "webhooks/": _webhook(cast),
        "datasets/": scene.dataset.code,
        "templates/": scene.template.code,
        "references/": scene.reference.code,
        "releases/": scene.release.code,
        "samples/": scene.sample.code,
        "runs/": scene.waiting.code,
        "requests/": scene.request.code,
        "budget-requests/": scene.request.code,
        "accounts/": scene.account.code,
        "links/": link_of(scene).code,
        "filled-counts/": filled_counts_of(scene).code,
        "uploads/": upload_of(scene).code,
        **{before: code(scene) for before, code in extras.merged("CODES").items()},
    }


def _others(scene: Scene, cast: Cast) -> dict[str, object]:
    return {
        "slug": "rest",
        "uidb64": "MQ",
        "pk": cast.analyst.pk,
        "number": 1,
        "username": scene.reader.username,
        "dataset_code": scene.fresh.code,
        "sample_code": scene.sample.code,
        "grant": ReleaseGrant.objects.get(release=scene.release, analyst=scene.reader).pk,
        "kind": "csv",
        "form": "csv",
        "table": scene.fresh.code,
        "sheet": "commutes-all",
        "key": "dependence",
        "edition": _edition(scene),
        "token": PUBLIC_TOKEN,
        "link": _public_link(scene).code,
        "check_code": _check(scene),
        "purchase": "0" * 64,  # of no run
        "repaired_code": repaired_of(scene).code,
        "earmark": _earmark(scene),
        "plan": _plan(scene),
        "allowance": _allowance(scene).code,
        "validation": _validation(scene),
        "name": "agreement",
    }


def upload_of(scene: Scene) -> PartialUpload:
    """An upload that the steward has begun."""
    steward = scene.dataset.steward
    begun = PartialUpload.objects.filter(person=steward, state=PartialUpload.State.OPEN)
    return begun.first() or resuming.begin(
        person=steward,
        organisation=scene.dataset.organisation,
        file_name="people.csv",
        length=100,
    )


def _public_link(scene: Scene) -> PublicLink:
    """A public link to the release, whose token is known to the tests."""
    link, _made = PublicLink.objects.get_or_create(
        digest=public_links.digest_of(PUBLIC_TOKEN),
        defaults={
            "release": scene.release,
            "created_by": scene.release.created_by,
            "expires_at": timezone.now() + timedelta(days=1),
        },
    )
    return link


def _edition(scene: Scene) -> str:
    """One edited description of the release."""
    found = Edition.objects.filter(release=scene.release).first()
    if found is None:
        document = services.description_of(scene.release) | {"rows": 5}
        steward = scene.release.created_by
        found = services.keep_edition(
            actor=steward, release=scene.release, document=document, note="Fewer rows."
        )
    return found.code


def _check(scene: Scene) -> str:
    """A check of the release, with its receipt in place of one of its own: to have a budget charged takes
    seconds."""
    steward, receipt = scene.release.created_by, scene.release.receipt
    check, _ = PaidCheck.objects.get_or_create(
        release=scene.release,
        run_code="check",
        defaults={"created_by": steward, "receipt": receipt, "figures": [], "epsilon": 1},
    )
    return check.code


def _webhook(cast: Cast) -> str:
    """The steward's one webhook."""
    webhook, _ = Webhook.objects.get_or_create(
        user=cast.steward, url="https://example.org/hook", events=[]
    )
    return webhook.code


def _earmark(scene: Scene) -> str:
    """A part of the account that is set aside; so little that no run of the tests misses it."""
    earmark, _ = Earmark.objects.get_or_create(
        account=scene.account, purpose="Later", defaults={"epsilon": 1}
    )
    return earmark.code


def _plan(scene: Scene) -> str:
    """A plan over years of the account; so little that no run of the tests misses it."""
    plan, made = PublicationPlan.objects.get_or_create(
        account=scene.account, name="Commutes", defaults={"remainder": "next"}
    )
    if made:
        Earmark.objects.create(
            account=scene.account,
            plan=plan,
            use=Earmark.Use.PLAN,
            year=timezone.now().year + 1,
            purpose="Commutes",
            epsilon=1,
        )
    return plan.code


def _allowance(scene: Scene) -> ValidationAllowance:
    """An allowance of each reader of the release."""
    allowance, _made = ValidationAllowance.objects.get_or_create(
        release=scene.release,
        defaults={
            "granted_by": scene.release.created_by,
            "epsilon": 2 * 10**8,
            "expires_at": timezone.now() + timedelta(days=1),
        },
    )
    return allowance


def _validation(scene: Scene) -> str:
    """A validation of the reader, with the receipt of the release in place of one of its own."""
    allowance = _allowance(scene)
    if run := SynthesisRun.objects.filter(check_run__allowance=allowance).first():
        return run.code
    figures = (CheckedFigure(kind="marginal", columns=("works",)),)
    asked = CheckRequest(figures=figures, epsilon=Fraction(1, 20))
    run = validations.submit(analyst=scene.reader, release=scene.release, request=asked)
    own = CheckRun.objects.get(run=run)
    own.paid_check = PaidCheck.objects.create(
        release=scene.release,
        run_code=run.code,
        created_by=scene.reader,
        receipt=scene.release.receipt,
        is_validation=True,
        figures=[],
        epsilon=1,
    )
    # Its answer is shown since an hour.
    own.due_at = run.finished_at = timezone.now() - timedelta(hours=1)
    own.save()
    run.save(update_fields=["finished_at"])
    return run.code


def repaired_of(scene: Scene) -> RepairedTable:
    """A repaired table of the release, with a row in each file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr("table.csv", "region\nnorth\n")
        packed.writestr("table.parquet", "PAR1")
    table, _made = RepairedTable.objects.get_or_create(
        release=scene.release,
        name="Regions",
        defaults={
            "published": "Nowhere",
            "totals": {"totals": []},
            "way": RepairedTable.Way.ROWS,
            "rows": 1,
            "receipt": {
                "digest": "0" * 64,
                "seed": "public",
                "effective_rows": 1,
                "release": {"receipt": "0" * 64},
                "totals": [
                    {
                        "name": "region",
                        "records": 1,
                        "combinations": 1,
                        "largest_difference": 0.0,
                        "met": True,
                    }
                ],
            },
            "content": content.getvalue(),
            "created_by": scene.release.created_by,
        },
    )
    return table


def link_of(scene: Scene) -> Link:
    """A link that the steward proposed, with the agreement that it would have with a table of its kind."""
    found = Link.objects.filter(sides__dataset=scene.dataset).first()
    if found is not None:
        return found
    version = scene.dataset.domain_versions.get(number=1)
    offer = Offer(
        domain=domain_of(version), texts=("region",), attributes=("works",), epsilon=Fraction(1)
    )
    agreement = agreements.agree(offer, offer, rows=300, seed="0" * 32)
    link = Link.objects.create(
        name="Commutes and schools",
        invitation=scene.dataset.code,
        invited_epsilon="1",
        rows=300,
        typos="0",
        seed="0" * 32,
        agreement=agreement.to_json(),
    )
    LinkSide.objects.create(
        link=link,
        side=LinkSide.Side.LEFT,
        dataset=scene.dataset,
        domain_version=version,
        account=scene.account,
        steward=scene.release.created_by,
        texts=["region"],
        columns=["works"],
        epsilon="1",
    )
    return link


def filled_counts_of(scene: Scene) -> FilledCounts:
    """Filled counts that the steward asked for, and about which nobody has decided."""
    version = scene.dataset.domain_versions.get(number=1)
    plan = FillPlan(domain=domain_of(version), by=("region",), policy=FillPolicy())
    counts, _made = FilledCounts.objects.get_or_create(
        account=scene.account,
        defaults={
            "dataset": scene.dataset,
            "domain_version": version,
            "asked_by": scene.release.created_by,
            "name": "Regions",
            "purpose": "The law asks for exact numbers.",
            "plan": plan.to_json(),
            "plan_digest": plan.digest,
            "epsilon": "1",
        },
    )
    return counts


def _passkey(cast: Cast) -> str:
    """A passkey of the steward, for another host: nobody is asked for it here."""
    passkey, _ = Passkey.objects.get_or_create(
        digest="0" * 64,
        defaults={
            "user": cast.steward,
            "name": "Phone",
            "host": "elsewhere",
            "credential": b"",
        },
    )
    return passkey.code


def _token(cast: Cast) -> str:
    """The steward's one token."""
    token = ApiToken.objects.filter(user=cast.steward).first()
    if token is None:
        token, _ = create_token(user=cast.steward, name="t", scopes=["read"], days=1)
    return token.code

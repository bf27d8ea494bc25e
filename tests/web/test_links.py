"""Links of tables of two organisations in the web: agreed, charged on both sides, sketched, estimated and
drawn."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from django.http import Http404
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synth_engine import verifier
from synth_engine.errors import DomainError, SpecError
from synthweb.accounts.models import Organisation, Role, User
from synthweb.accounts.services import NewPerson, create_token, create_user
from synthweb.api.models import KeptAnswer
from synthweb.datasets import services as datasets
from synthweb.datasets import vault
from synthweb.datasets.models import Dataset
from synthweb.ledger import selectors as ledger_selectors
from synthweb.ledger import services as ledger
from synthweb.ledger import yearly_limits
from synthweb.ledger.amounts import Amount
from synthweb.ledger.errors import Earmarked, Overspend
from synthweb.ledger.models import BudgetAccount, Earmark, EarmarkUse, LedgerEntry
from synthweb.notifications import selectors as notifications
from synthweb.notifications.models import Notification
from synthweb.runs import failpoints, link_services, linking, reconcile, ticks, worker
from synthweb.runs import services as runs
from synthweb.runs.errors import NotOpen, NotReady
from synthweb.runs.linking import LinkTerms, SeenLink, SideOffer
from synthweb.runs.models import Link, LinkSide, SynthesisRun
from tests.cast import PASSWORD, Cast
from tests.web import scene
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = ("name", "born")
LEFT_CANARY, RIGHT_CANARY = "Xanthippe Canaryleft", "Zebulon Canaryright"
SYLLABLES = ("ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "pa", "re", "so", "ti")
PERSONS = 240
SHARED = 120
ONE = Fraction(1)


def persons() -> list[tuple[str, str]]:
    """Names and days of birth that nobody has."""
    names = [" ".join(parts) for parts in itertools.product(SYLLABLES, SYLLABLES, SYLLABLES)]
    return [
        (name.replace(" ", ""), f"19{50 + index % 40}-0{1 + index % 9}-1{index % 10}")
        for index, name in enumerate(names[: 2 * PERSONS - SHARED])
    ]


def table(column: str, people: Sequence[tuple[str, str]], canary: str) -> str:
    """A table of one side: texts, and a column with two values."""
    rows = [
        f"{name},{born},{'yes' if index % 3 else 'no'}"
        for index, (name, born) in enumerate(people)
    ]
    return "\n".join([f"name,born,{column}", f"{canary},1901-02-03,yes", *rows]) + "\n"


def document(column: str, *, relation: str = "add-remove", most: int = 1) -> dict[str, Any]:
    return {
        "schema": "synth_engine/domain/1",
        "relation": relation,
        "unit": {"max_records": most, "column": None},
        "attributes": [
            {"name": "name", "kind": "identifier", "provenance": "declared"},
            {"name": "born", "kind": "identifier", "provenance": "declared"},
            {
                "name": column,
                "kind": "boolean",
                "true": "yes",
                "false": "no",
                "provenance": "declared",
            },
        ],
    }


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Two organisations with a table each, described and with budget, that share persons."""

    left: Dataset
    right: Dataset
    steward: User
    other: User
    other_custodian: User

    @property
    def left_offer(self) -> SideOffer:
        return SideOffer(dataset=self.left, texts=TEXTS, columns=("tenant",))

    @property
    def right_offer(self) -> SideOffer:
        return SideOffer(dataset=self.right, texts=TEXTS, columns=("graduate",))

    def seen(self, user: User, link: Link) -> SeenLink:
        return linking.link_for(user, link.code)


def described(
    *,
    steward: User,
    custodian: User,
    organisation: Organisation,
    table: str,
    document: dict[str, Any],
    name: str,
    epsilon: int = 4,
) -> Dataset:
    """A dataset of an organisation that is read, described and has budget."""
    made = scene.read(
        scene.upload(steward=steward, organisation=organisation, table=table, name=name)
    )
    datasets.declare_domain(actor=steward, dataset=made, document=document)
    ledger.grant(
        custodian=custodian,
        request=scene.ask(steward=steward, dataset=made, epsilon=epsilon),
        reason="Agreed.",
    )
    return made


def sides_of(
    cast: Cast, *, right: dict[str, Any] | None = None, right_epsilon: int = 4
) -> Sides:
    """A register of housing here, one of education elsewhere."""
    people = persons()
    custodian = create_user(
        actor="system",
        organisation=cast.elsewhere,
        person=NewPerson(username="other-custodian"),
        roles=[Role.CUSTODIAN],
        password=PASSWORD,
        must_change_password=False,
    )
    return Sides(
        left=described(
            steward=cast.steward,
            custodian=cast.custodian,
            organisation=cast.organisation,
            table=table("tenant", people[:PERSONS], LEFT_CANARY),
            document=document("tenant"),
            name="Housing",
        ),
        right=described(
            steward=cast.stranger,
            custodian=custodian,
            organisation=cast.elsewhere,
            table=table("graduate", people[PERSONS - SHARED :], RIGHT_CANARY),
            document=right or document("graduate"),
            name="Education",
            epsilon=right_epsilon,
        ),
        steward=cast.steward,
        other=cast.stranger,
        other_custodian=custodian,
    )


def terms(epsilon: Fraction = ONE, other: Fraction = ONE) -> LinkTerms:
    return LinkTerms(
        name="Housing and education", epsilon=epsilon, other_epsilon=other, rows=PERSONS
    )


def proposed(sides: Sides) -> tuple[Link, str]:
    return link_services.propose(steward=sides.steward, offer=sides.left_offer, terms=terms())


def accepted(sides: Sides) -> Link:
    link, token = proposed(sides)
    agreed, _price = linking.preview(link, sides.right_offer, steward=sides.other)
    return link_services.accept(
        steward=sides.other, token=token, offer=sides.right_offer, agreement=agreed.digest
    )


def started(sides: Sides) -> Link:
    link = accepted(sides)
    return link_services.start(
        actor=sides.steward,
        seen=sides.seen(sides.steward, link),
        agreement=linking.agreement_of(link).digest,
    )


def finished(sides: Sides) -> Link:
    link = started(sides)
    for run in linking.runs_of(link):
        worker.synthesize(code=run.code)
    scene.let_ticks_pass()
    link.refresh_from_db()
    return link


def spent(dataset: Dataset) -> tuple[int, int]:
    """What the account of a dataset holds and has spent of ε."""
    account = BudgetAccount.objects.get(coverages__dataset=dataset)
    balance = ledger_selectors.balance(account)
    return balance.held.epsilon, balance.charged.epsilon


NANO = 10**9


def test_both_sides_are_held_then_charged_together_and_estimated(cast: Cast) -> None:
    sides = sides_of(cast)
    link = accepted(sides)
    assert spent(sides.left) == spent(sides.right) == (0, 0)
    link = link_services.start(
        actor=sides.steward,
        seen=sides.seen(sides.steward, link),
        agreement=linking.agreement_of(link).digest,
    )
    assert spent(sides.left) == spent(sides.right) == (NANO, 0)
    first, second = linking.runs_of(link)
    worker.synthesize(code=first.code)
    # Both are charged, although no worker has taken the second one.
    assert spent(sides.left) == spent(sides.right) == (0, NANO)
    second.refresh_from_db()
    assert second.state == "held" and ledger_selectors.is_charged(second.code)
    link.refresh_from_db()
    assert link.state == "charged" and link.estimate is None
    worker.synthesize(code=second.code)
    link.refresh_from_db()
    assert link.state == "finished", list(SynthesisRun.objects.values_list("state", "failure"))
    assert spent(sides.left) == spent(sides.right) == (0, NANO)
    assert LedgerEntry.objects.filter(kind=LedgerEntry.Kind.CHARGE).count() == 2
    assert link.estimate is not None
    both = link.estimate["both"]
    assert 0 <= both["low"] <= both["value"] <= both["high"]
    digest = linking.agreement_of(link).digest
    for side in LinkSide.objects.filter(link=link):
        assert side.receipt is not None
        (caveat,) = verifier.verify(side.receipt).caveats
        assert f"{side.side} side of link {digest}" in caveat and "epsilon = 2" in caveat


# --- by the pages -------------------------------------------------------------------------------------------
def _posted(client: Client, name: str, data: dict[str, Any], *args: str) -> Any:
    return client.post(reverse(f"runs:{name}", args=args), data)


PROPOSAL = {
    "name": "Housing and education",
    "texts": "name\nborn",
    "columns": ["tenant"],
    "epsilon": "1",
    "other_epsilon": "1",
    "rows": "240",
    "typos": "0",
}


def test_two_stewards_link_their_tables_by_the_pages(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    sides = sides_of(cast)
    here, there = browser(sides.steward), browser(sides.other)
    new = reverse("runs:propose-link", args=[sides.left.code])
    assert here.get(new).status_code == 200
    assert "runs:propose" not in here.get(reverse("pages:dataset", args=[sides.left.code])).text
    made = here.post(new, PROPOSAL)
    token = made.context["token"]
    link = Link.objects.get()
    page = reverse("runs:link", args=[link.code])
    assert token in made.text and token not in here.get(page).text

    invitation = {"invitation": token}
    terms_page = _posted(there, "join-link", invitation)
    assert "Statistics Office" in terms_page.text and "tenant" in terms_page.text
    chosen = invitation | {"dataset": sides.right.code}
    assert "graduate" in _posted(there, "join-link", chosen).text
    offered = chosen | {"texts": "name\nborn", "columns": ["graduate"]}
    priced = _posted(there, "join-link", offered)
    assert Link.objects.get().state == "proposed"
    digest = priced.context["price"].digest
    answer = _posted(there, "join-link", offered | {"confirmed": digest})
    assert answer.url == page
    assert spent(sides.left) == spent(sides.right) == (0, 0)
    assert there.get(page).context.get("price") is None

    price = here.get(page).context["price"]
    assert price.digest == digest
    _posted(here, "start-link", {"agreement": digest}, link.code)
    assert spent(sides.left) == spent(sides.right) == (NANO, 0)
    for run in linking.runs_of(link):
        worker.synthesize(code=run.code)
    scene.let_ticks_pass()
    assert spent(sides.left) == spent(sides.right) == (0, NANO)
    for client, own in ((here, "left"), (there, "right")):
        shown = client.get(page)
        names = [each.name for each in shown.context["estimate"].ranges]
        assert names == ["left", "right", "both", "left_only", "right_only"]
        for name in linking.FILES:
            file = client.get(reverse("runs:link-file", args=[link.code, name]))
            assert file.status_code == 200, name
            assert "Canary" not in file.text and "canary" not in file.text
        run = SynthesisRun.objects.get(sketch_run__side__side=own)
        assert (
            reverse("runs:link", args=[link.code])
            in client.get(reverse("runs:run", args=[run.code])).text
        )
        assert client.get(reverse("runs:links")).status_code == 200
        assert client.get(reverse("runs:choices", args=[run.code])).status_code == 404
    # The name of a dataset, its code and its people stay in their organisation.
    for client, other in ((here, sides.right), (there, sides.left)):
        text = client.get(page).text
        assert other.name not in text.replace(link.name, "") and other.code not in text
        assert other.steward.username not in text


# --- what is refused, before anything is spent --------------------------------------------------------------
def test_sides_that_cannot_be_linked_are_refused_by_name_and_nothing_is_held(
    cast: Cast,
) -> None:
    sides = sides_of(cast, right_epsilon=4)
    lacking = replace(sides.left_offer, texts=("surname", "born"))
    with pytest.raises(DomainError, match="the table has no such column") as refused:
        link_services.propose(steward=sides.steward, offer=lacking, terms=terms())
    assert refused.value.column == "surname"
    unknown = replace(sides.left_offer, columns=("income",))
    with pytest.raises(DomainError, match="no such column that can be linked"):
        link_services.propose(steward=sides.steward, offer=unknown, terms=terms())
    link, token = proposed(sides)
    with pytest.raises(DomainError, match="the right side has no such column"):
        linking.preview(
            link, replace(sides.right_offer, columns=("tenant",)), steward=sides.other
        )
    with pytest.raises(SpecError, match="matched by 2 and 1 columns of texts"):
        linking.preview(link, replace(sides.right_offer, texts=("name",)), steward=sides.other)
    # Nobody accepts what is their own, nor with an invitation that was replaced.
    with pytest.raises(Http404):
        link_services.invited(user=sides.steward, token=token)
    second = link_services.invite_again(
        actor=sides.steward, seen=sides.seen(sides.steward, link)
    )
    with pytest.raises(Http404):
        link_services.invited(user=sides.other, token=token)
    with pytest.raises(NotReady, match="another agreement than the one that you have read"):
        link_services.accept(
            steward=sides.other, token=second, offer=sides.right_offer, agreement="0" * 64
        )
    agreed, _price = linking.preview(link, sides.right_offer, steward=sides.other)
    link = link_services.accept(
        steward=sides.other, token=second, offer=sides.right_offer, agreement=agreed.digest
    )
    with pytest.raises(NotOpen, match="the side that proposed the link starts it"):
        link_services.start(
            actor=sides.other, seen=sides.seen(sides.other, link), agreement=agreed.digest
        )
    assert not SynthesisRun.objects.exists()
    assert spent(sides.left) == spent(sides.right) == (0, 0)


@pytest.mark.parametrize(
    ("right", "rule"),
    [
        (document("graduate", relation="replace-one"), "losses cannot be added up"),
        (document("graduate", most=3), "has up to 3 records, and a link counts one of each"),
    ],
)
def test_another_relation_or_unit_is_refused_before_it_is_accepted(
    cast: Cast, browser: Callable[..., Client], right: dict[str, Any], rule: str
) -> None:
    sides = sides_of(cast, right=right)
    _link, token = proposed(sides)
    answer = _posted(
        browser(sides.other),
        "join-link",
        {
            "invitation": token,
            "dataset": sides.right.code,
            "texts": "name\nborn",
            "columns": ["graduate"],
        },
    )
    assert answer.status_code == 422 and rule in html.unescape(answer.text)
    assert "name\nborn" in answer.text, "what was typed stays"
    assert Link.objects.get().state == "proposed"


def test_either_side_withdraws_before_the_charge_and_neither_halfway(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    sides = sides_of(cast)
    link = started(sides)
    assert spent(sides.left) == spent(sides.right) == (NANO, 0)
    first, _second = linking.runs_of(link)
    with pytest.raises(NotOpen, match="withdraw the link on its own page"):
        runs.cancel(actor=sides.steward, run=first)
    answer = _posted(browser(sides.other), "withdraw-link", {}, link.code)
    assert answer.status_code == 302
    assert spent(sides.left) == spent(sides.right) == (0, 0)
    for run in linking.runs_of(link):
        worker.synthesize(code=run.code)
        run.refresh_from_db()
        assert run.state == "cancelled"
    page = browser(sides.steward).get(reverse("runs:link", args=[link.code])).text
    assert "The other side withdrew" in page

    link = started(sides)
    first, second = linking.runs_of(link)
    worker.synthesize(code=second.code)
    for user in (sides.steward, sides.other):
        with pytest.raises(NotOpen, match="both sides of this link are charged"):
            link_services.withdraw(actor=user, seen=sides.seen(user, link))
    assert spent(sides.left) == spent(sides.right) == (0, NANO)
    # The other worker was lost between the charge and its answers: both charges stay, nothing is drawn again.
    SynthesisRun.objects.filter(pk=first.pk).update(state="charged")
    worker.synthesize(code=first.code)
    first.refresh_from_db()
    link.refresh_from_db()
    assert (first.state, link.state, link.estimate) == ("failed", "charged", None)
    assert spent(sides.left) == spent(sides.right) == (0, NANO)


@pytest.mark.parametrize(
    ("point", "state"),
    [
        (failpoints.AFTER_CHARGE, "finished"),
        ("counted-0", "finished"),
        ("allowed-0", "finished"),
        ("begun-0", "charged"),
        ("drawn-0", "charged"),
        ("stored-0", "finished"),
    ],
)
def test_a_sketch_whose_worker_dies_goes_on_unless_noise_may_be_lost(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, point: str, state: str
) -> None:
    class Killed(BaseException):
        pass

    def reach(there: str) -> None:
        if there == point:
            raise Killed

    sides = sides_of(cast)
    link = started(sides)
    first, second = linking.runs_of(link)
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "reach", reach)
        with pytest.raises(Killed):
            worker.synthesize(code=first.code)
    SynthesisRun.objects.filter(pk=first.pk).update(lease_held=False)
    assert reconcile.fail_interrupted() == 0
    for run in (first, second):
        worker.synthesize(code=run.code)
    link.refresh_from_db()
    first.refresh_from_db()
    assert (link.state, link.estimate is not None) == (state, state == "finished")
    assert (first.state == "failed", first.calls_begun) == (state == "charged", 1)
    assert spent(sides.left) == spent(sides.right) == (0, NANO)


def test_a_cap_of_either_side_refuses_both_and_tells_the_other_no_figure(cast: Cast) -> None:
    sides = sides_of(cast, right_epsilon=1)
    link, token = link_services.propose(
        steward=sides.steward, offer=sides.left_offer, terms=terms(other=Fraction(2))
    )
    agreed, _price = linking.preview(link, sides.right_offer, steward=sides.other)
    link = link_services.accept(
        steward=sides.other, token=token, offer=sides.right_offer, agreement=agreed.digest
    )
    with pytest.raises(NotReady, match="the other side cannot make its sketch"):
        link_services.start(
            actor=sides.steward,
            seen=sides.seen(sides.steward, link),
            agreement=agreed.digest,
        )
    link.refresh_from_db()
    assert link.state == "accepted" and not SynthesisRun.objects.exists()
    assert spent(sides.left) == spent(sides.right) == (0, 0)

    link, token = link_services.propose(
        steward=sides.steward, offer=sides.left_offer, terms=terms(epsilon=Fraction(9))
    )
    agreed, _price = linking.preview(link, sides.right_offer, steward=sides.other)
    link = link_services.accept(
        steward=sides.other, token=token, offer=sides.right_offer, agreement=agreed.digest
    )
    with pytest.raises(Overspend):
        link_services.start(
            actor=sides.steward,
            seen=sides.seen(sides.steward, link),
            agreement=agreed.digest,
        )
    assert spent(sides.left) == spent(sides.right) == (0, 0)


def set_aside(sides: Sides, custodian: User, *, epsilon: int) -> Earmark:
    """A part of the budget of the left side, set aside for its link before there is one."""
    return yearly_limits.earmark(
        custodian=custodian,
        account=BudgetAccount.objects.get(coverages__dataset=sides.left),
        amount=Amount(epsilon=epsilon * NANO),
        purpose="Link with the register of education",
        use=Earmark.Use.RELEASE,
    )


def test_budget_that_was_set_aside_for_a_link_pays_for_it_alone(cast: Cast) -> None:
    sides = sides_of(cast)
    earmark = set_aside(sides, cast.custodian, epsilon=4)
    # Of four nothing is free, so that whoever names no part is refused, before anything is held on either
    # side.
    link = accepted(sides)
    digest = linking.agreement_of(link).digest
    with pytest.raises(Earmarked):
        link_services.start(
            actor=sides.steward, seen=sides.seen(sides.steward, link), agreement=digest
        )
    assert spent(sides.left) == spent(sides.right) == (0, 0)

    paid = replace(sides.left_offer, earmark=earmark.code)
    link, token = link_services.propose(steward=sides.steward, offer=paid, terms=terms())
    agreed, _price = linking.preview(link, sides.right_offer, steward=sides.other)
    link = link_services.accept(
        steward=sides.other, token=token, offer=sides.right_offer, agreement=agreed.digest
    )
    link_services.start(
        actor=sides.steward, seen=sides.seen(sides.steward, link), agreement=agreed.digest
    )
    assert spent(sides.left) == spent(sides.right) == (NANO, 0)
    account = earmark.account
    assert yearly_limits.earmarked(account).epsilon == 3 * NANO
    # Withdrawn before the charge, the link gives it back to the part.
    link_services.withdraw(actor=sides.other, seen=sides.seen(sides.other, link))
    assert yearly_limits.earmarked(account).epsilon == 4 * NANO

    link, token = link_services.propose(steward=sides.steward, offer=paid, terms=terms())
    agreed, _price = linking.preview(link, sides.right_offer, steward=sides.other)
    link = link_services.accept(
        steward=sides.other, token=token, offer=sides.right_offer, agreement=agreed.digest
    )
    link = link_services.start(
        actor=sides.steward, seen=sides.seen(sides.steward, link), agreement=agreed.digest
    )
    for run in linking.runs_of(link):
        worker.synthesize(code=run.code)
    assert spent(sides.left) == spent(sides.right) == (0, NANO)
    assert EarmarkUse.objects.filter(earmark=earmark).count() == 2
    assert not yearly_limits.open_earmarks(account)[0].is_usable, "its one release is made"


def test_a_part_that_is_not_there_or_too_small_is_refused_on_its_own_side_alone(
    cast: Cast, browser: Callable[[User], Client]
) -> None:
    sides = sides_of(cast)
    earmark = set_aside(sides, cast.custodian, epsilon=2)
    for code in ("nothing", "0000000000"):
        with pytest.raises(Earmarked, match="no such part"):
            link_services.propose(
                steward=sides.steward,
                offer=replace(sides.left_offer, earmark=code),
                terms=terms(),
            )
    client = browser(sides.steward)
    page = client.get(reverse("runs:propose-link", args=[sides.left.code]))
    assert f"{earmark.purpose}: ε 2 left" in html.unescape(page.text)
    typed = {
        "texts": "name\nborn", "columns": ["tenant"], "epsilon": "3", "other_epsilon": "1",
        "rows": "240", "typos": "0", "earmark": earmark.code,
    }  # fmt: skip
    assert client.post(page.request["PATH_INFO"], typed).status_code == 200
    link = Link.objects.get()
    shown = client.get(reverse("runs:link", args=[link.code]))
    assert earmark.purpose in shown.text
    token = link_services.invite_again(
        actor=sides.steward, seen=sides.seen(sides.steward, link)
    )
    agreed, _price = linking.preview(link, sides.right_offer, steward=sides.other)
    link = link_services.accept(
        steward=sides.other, token=token, offer=sides.right_offer, agreement=agreed.digest
    )
    with pytest.raises(Earmarked, match="Of what is set aside for this, ε 2 is left"):
        link_services.start(
            actor=sides.steward,
            seen=sides.seen(sides.steward, link),
            agreement=agreed.digest,
        )
    assert spent(sides.left) == spent(sides.right) == (0, 0)
    # The other side sees neither the part nor its purpose.
    theirs = browser(sides.other).get(reverse("runs:link", args=[link.code]))
    assert earmark.purpose not in theirs.text and earmark.code not in theirs.text


def test_a_table_that_cannot_be_opened_ends_the_link_before_either_is_charged(
    cast: Cast,
) -> None:
    sides = sides_of(cast)
    link = started(sides)
    vault.erase(sides.right.vault_name)
    first, second = linking.runs_of(link)
    worker.synthesize(code=first.code)
    for run in (first, second):
        run.refresh_from_db()
    link.refresh_from_db()
    assert (first.state, second.state, link.state) == ("failed", "cancelled", "failed")
    assert spent(sides.left) == spent(sides.right) == (0, 0)


# --- by REST ------------------------------------------------------------------------------------------------
def test_a_program_links_two_tables_by_rest(cast: Cast) -> None:
    sides = sides_of(cast)
    here, there = (
        Client(
            headers={
                "Authorization": "Bearer "
                + create_token(user=user, name="t", scopes=["read", "spend"], days=1)[1]
            }
        )
        for user in (sides.steward, sides.other)
    )

    def post(client: Client, address: str, body: dict[str, Any]) -> Any:
        return client.post(f"/api/v1/links/{address}", body, content_type="application/json")

    asked = {
        "dataset": sides.left.code, "texts": ["name", "born"], "columns": ["tenant"],
        "epsilon": "1", "other_epsilon": "1", "rows": 240, "name": "By REST",
    }  # fmt: skip
    made = post(here, "", asked)
    assert made.status_code == 201, made.text
    code, invitation = made.json()["code"], made.json()["invitation"]
    shown = post(there, "invitation/", {"invitation": invitation}).json()
    assert shown["texts"] == ["name", "born"] and shown["columns"][0]["name"] == "tenant"
    offer = {
        "invitation": invitation, "dataset": sides.right.code,
        "texts": ["name", "born"], "columns": ["graduate"],
    }  # fmt: skip
    wrong = post(there, "agreement/", offer | {"columns": ["tenant"]})
    assert wrong.status_code == 422 and "no such column" in wrong.text
    priced = post(there, "agreement/", offer).json()
    assert priced["price"]["epsilon"] == "1"
    digest = {"agreement_sha256": priced["agreement_sha256"]}
    assert post(there, "accept/", offer | digest).status_code == 201
    accepted_link = here.get(f"/api/v1/links/{code}/").json()
    assert (accepted_link["state"], accepted_link["earmark"]) == ("accepted", "")
    wrong = post(here, "", asked | {"earmark": "0000000000"})
    assert wrong.status_code == 409 and "no such part of the budget" in wrong.text
    assert post(here, f"{code}/start/", {"agreement_sha256": "0" * 64}).status_code == 409
    begun = post(here, f"{code}/start/", digest)
    assert begun.status_code == 202
    assert [run["code"] is None for run in begun.json()["runs"]] == [False, True]
    for run in SynthesisRun.objects.all():
        worker.synthesize(code=run.code)
    scene.let_ticks_pass()
    assert post(here, f"{code}/withdraw/", {}).status_code == 409
    link = there.get(f"/api/v1/links/{code}/").json()
    both = link["estimate"]["both"]
    assert link["state"] == "finished" and 0 <= both["low"] <= both["high"]
    assert sides.left.code not in json.dumps(link) and "Housing" not in json.dumps(link)
    for name in linking.FILES:
        file = there.get(f"/api/v1/links/{code}/files/{name}/")
        assert file.status_code == 200 and "anary" not in file.text
    assert [each["code"] for each in there.get("/api/v1/links/").json()] == [code]


def test_stewards_of_both_sides_draw_tables_that_join(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    sides = sides_of(cast)
    link = finished(sides)
    page = reverse("runs:link", args=[link.code])
    both = ((browser(sides.steward), sides.left), (browser(sides.other), sides.right))
    for client, dataset in both:
        assert _posted(client, "give-release", {"release": "none"}, link.code).url == page
        run = scene.submit(steward=dataset.steward, dataset=dataset)
        worker.synthesize(code=run.code)
        run.refresh_from_db()
        address = reverse("runs:link-tables", args=[link.code])
        assert client.get(address).url == page, "both sides have to give a release"
        _posted(client, "give-release", {"release": run.release.code}, link.code)
    for client, _dataset in both:
        assert client.get(page).status_code == 200
        answer = client.get(address)
        content = b"".join(answer.streaming_content)
        archive = zipfile.ZipFile(io.BytesIO(content))
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
        assert not any("anary" in text for text in texts.values())
        ids = [
            {row["link_id"] for row in csv.DictReader(io.StringIO(texts[f"{side}.csv"]))}
            for side in ("left", "right")
        ]
        record = json.loads(texts["record.json"])
        # The noise may say that more persons are in both tables than one of them has rows.
        both_have = min(round(link.estimate["both"]["value"]), *record["rows"].values())
        assert len(ids[0] & ids[1]) == record["shared"] == both_have
        assert set(record["receipts"].values()) == {
            side.receipt["digest"] for side in LinkSide.objects.filter(link=link)
        }


# --- notices and repeated requests --------------------------------------------------------------------------
def test_the_steward_of_the_other_side_is_notified_and_nobody_who_acted(cast: Cast) -> None:
    sides = sides_of(cast)

    def told() -> list[tuple[str, str]]:
        found = Notification.objects.filter(event="link.changed").order_by("pk")
        rows = found.values_list("user__username", "key")
        return [(name, key.partition(" ")[2]) for name, key in rows]

    link = finished(sides)
    here, there = sides.steward.username, sides.other.username
    assert told() == [
        (here, "accepted"),
        (there, "started"),
        (here, "finished"),
        (there, "finished"),
    ]
    # The message names the link, which both sides see, and nothing of the other organisation.
    for notification in Notification.objects.filter(event="link.changed"):
        assert (notification.kind, notification.subject_code) == ("link", link.code)
        assert notification.name == link.name
    second = accepted(sides)
    link_services.withdraw(actor=sides.other, seen=sides.seen(sides.other, second))
    assert told()[-1] == (here, "withdrawn")


def test_a_repeated_proposal_is_one_link_whose_invitation_is_given_once(cast: Cast) -> None:
    sides = sides_of(cast)
    caller = Caller(sides.steward, "spend")
    body = {
        "dataset": sides.left.code,
        "texts": list(TEXTS),
        "columns": ["tenant"],
        "epsilon": "1",
        "other_epsilon": "1",
        "rows": PERSONS,
    }
    first, second = (
        caller.send("/links/", body, headers={"Idempotency-Key": "once"}) for _ in range(2)
    )
    assert first.status_code == second.status_code == 201
    token = first.json()["invitation"]
    assert token and second.json() == first.json() | {"invitation": ""}
    assert Link.objects.count() == 1
    # Nowhere in the database is the invitation itself.
    assert not KeptAnswer.objects.filter(body__contains=token).exists()
    other = caller.send("/links/", body | {"rows": 5}, headers={"Idempotency-Key": "once"})
    assert other.status_code == 409


def test_no_notice_and_no_kept_answer_of_a_link_holds_a_row(cast: Cast) -> None:
    sides = sides_of(cast)
    finished(sides)
    stored = json.dumps(
        [
            *Notification.objects.values_list("name", flat=True),
            *KeptAnswer.objects.values_list("body", flat=True),
            *Link.objects.values_list("estimate", flat=True),
            *LinkSide.objects.values_list("sketch", flat=True),
        ],
        default=str,
    )
    for canary in (LEFT_CANARY, RIGHT_CANARY):
        assert canary not in stored and canary.split()[0] not in stored


# --- what one side learns of the other one's work -----------------------------------------------------------
def test_the_other_side_sees_on_ticks_that_something_is_done(
    cast: Cast, browser: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    # No tick is reached while a test runs, however slow the machine is.
    monkeypatch.setattr(ticks, "TICK", timedelta(hours=1))
    sides = sides_of(cast)
    link = started(sides)
    here, there = browser(sides.steward), browser(sides.other)
    left, right = linking.runs_of(link)

    def told(client: Client) -> tuple[object, ...]:
        rest = client.get(f"/api/v1/links/{link.code}/").json()
        page = client.get(reverse("runs:link", args=[link.code]))
        files = tuple(
            name
            for name in linking.FILES
            if client.get(f"/api/v1/links/{link.code}/files/{name}/").status_code == 200
        )
        kept = ("state", "charged_at", "finished_at", "estimate")
        states = tuple(run["state"] for run in rest["runs"])
        return (*(rest[name] for name in kept), states, files, page.context["estimate"])

    before = told(there)
    assert before == ("started", None, None, None, ("waiting", "held"), ("agreement",), None)
    worker.synthesize(code=left.code)
    assert told(there) == before
    assert told(here)[4:6] == (
        ("finished", "waiting"),
        ("agreement", "left-receipt", "left-sketch"),
    )
    worker.synthesize(code=right.code)
    link.refresh_from_db()
    assert link.state == "finished"
    for client in (here, there):
        assert told(client)[:4] == before[:4]
    waiting = notifications.notifications_of(sides.other).count()
    scene.let_ticks_pass(1)
    for client in (here, there):
        state, charged, ended, estimate, states, files, _shown = told(client)
        assert (state, states, files) == ("finished", ("finished",) * 2, linking.FILES)
        assert estimate is not None
        assert charged == ended is not None
    Notification.objects.update(at=timezone.now())
    assert notifications.notifications_of(sides.other).count() == waiting + 1


def test_why_the_other_sides_run_gives_nothing_is_not_told(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticks, "TICK", timedelta(hours=1))
    sides = sides_of(cast)
    link = started(sides)
    first, _second = linking.runs_of(link)

    def reach(place: str) -> None:
        if place == failpoints.AFTER_CHARGE:
            raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "reach", reach)
        worker.synthesize(code=first.code)
    first.refresh_from_db()
    assert first.state == "failed"

    def states(user: User) -> list[str]:
        return [run.state for run in linking.runs_seen(sides.seen(user, link))]

    assert (states(sides.steward)[0], states(sides.other)[0]) == ("failed", "waiting")
    scene.let_ticks_pass(ticks.MOST + 1)
    assert (states(sides.steward)[0], states(sides.other)[0]) == ("failed", "no-answer")

"""Pages in two languages; everything that is stored, hashed, downloaded or read by programs in English
alone."""

from __future__ import annotations

import html as html_entities
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from django.apps import apps
from django.conf import settings
from django.core import serializers
from django.core.exceptions import ValidationError
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import Client
from django.utils import translation

from synth_engine.evaluation import summaries, value_histograms, wording
from synth_engine.evaluation.dependences import LostDependence
from synth_engine.evaluation.figures import risks
from synth_engine.privacy.receipt import Guarantee
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.accounts.models import User
from synthweb.ledger.forms import AmountInput
from synthweb.lib import language
from synthweb.pages.templatetags import amounts
from tests import catalogue
from tests.cast import Cast
from tests.web import addresses, scene

Browser = Callable[..., Client]
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
NOT_TRANSLATED = ("docs/", "admin/")  # guides and Django's own
WORDS = 8  # a message of fewer words may be a name or a part of another text
ENGLISH = re.compile(
    r"\b(the|of|are|is|with|would|have|has|this|that|from|by|and|for|added|removed|alone)\b"
)
LEAST_ENGLISH = 2  # such words in a text: one alone may be part of a name
NAMES = re.compile(
    r"First release|Commutes of a year|Validation of First release|To publish a synthetic table\."
)
"""What people of the scene typed."""
SPOKEN = ("title", "aria-label", "placeholder", "alt")
WITHOUT_END = frozenset(
    ["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source"]
)
MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|\+00:00)?")
CSRF = re.compile(rb"(csrfmiddlewaretoken\" value=\"|X-CSRFToken\": \")[A-Za-z0-9]{64}")
SIGNATURE = re.compile(rb"[A-Za-z0-9+/]{80,}={0,2}")  # of a document with a moment


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    """A request leaves its language to the thread; the next test begins with English."""
    yield
    translation.deactivate()


@pytest.fixture
def played(cast: Cast, places: None) -> scene.Scene:
    """The main job, played once."""
    return scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )


def body(answer: HttpResponseBase) -> bytes:
    """What was answered, without moments and what depends on them."""
    whole = (
        b"".join(answer) if isinstance(answer, StreamingHttpResponse) else bytes(answer.content)
    )
    return SIGNATURE.sub(b"", MOMENT.sub(b"", CSRF.sub(b"", whole)))


# --- the choice of a language -------------------------------------------------------------------------------
def test_a_browser_that_asks_for_german_gets_german_and_others_english(
    client: Client, db: None
) -> None:
    german = client.get("/account/login/", headers=GERMAN)
    assert german.headers["Content-Language"] == "de"
    assert '<html lang="de"' in german.text
    for asked in ({}, {"Accept-Language": "fr"}, {"Accept-Language": "en-US,de;q=0.3"}):
        answer = client.get("/account/login/", headers=asked)
        assert '<html lang="en"' in answer.text


def test_the_switch_is_a_form_and_its_choice_outlives_the_header_of_the_browser(
    db: None,
) -> None:
    client = Client(enforce_csrf_checks=True)
    page = client.get("/account/login/?next=/releases/").text
    form = re.search(r'<form[^>]*action="/language/".*?</form>', page, re.DOTALL)
    assert form is not None
    fields = dict(re.findall(r'name="(\w+)"\s+value="([^"]*)"', form[0]))
    assert fields["language"] == "de"
    assert client.post("/language/", {"language": "de"}).status_code == 403
    answer = client.post(
        "/language/", {k: html_entities.unescape(v) for k, v in fields.items()}
    )
    assert (answer.status_code, answer.headers["Location"]) == (
        302,
        "/account/login/?next=/releases/",
    )
    cookie = client.cookies[settings.LANGUAGE_COOKIE_NAME]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("de", True, "Lax")
    chosen = client.get("/account/login/", headers={"Accept-Language": "en"})
    assert '<html lang="de"' in chosen.text
    assert "Anmelden" in chosen.text


def test_the_switch_leads_nowhere_else(client: Client, db: None) -> None:
    answer = client.post("/language/", {"language": "de", "next": "https://example.org/"})
    assert answer.headers["Location"] == "/"


def test_a_language_that_there_is_not_changes_nothing(client: Client, db: None) -> None:
    client.post("/language/", {"language": "tlh"})
    assert settings.LANGUAGE_COOKIE_NAME not in client.cookies


# --- numbers ------------------------------------------------------------------------------------------------
def test_numbers_of_pages_are_written_as_the_language_writes_them() -> None:
    with translation.override("de"):
        assert amounts.number(0.25) == "0,25"
        assert amounts.epsilon(500_000_000) == "0,5"
        assert amounts.percent(0.0612) == "6,1%"
        assert amounts.file_size(1_500_000) == "1,5 MB"
        assert amounts.share(1, 8) == "12.5%"  # a width, for a style sheet
        assert amounts.number(1e-9) == "1e-9"
    assert amounts.number(0.25) == "0.25"


@pytest.mark.parametrize(
    ("address", "programs"),
    [
        ("/", False),
        ("/releases/ab/receipt/", False),
        ("/releases/ab/receipt.json", True),
        ("/releases/ab/report.html", True),
        ("/api/v1/releases/", True),
        ("/livez", True),
    ],
)
def test_files_and_rest_are_in_english(address: str, programs: bool) -> None:
    assert language.is_read_by_programs(address) is programs


# --- what programs read -------------------------------------------------------------------------------------
@pytest.mark.same_on_every_database  # asks what the table of test_authorisation_matrix.py asks
def test_files_and_rest_are_the_same_bytes_in_german(
    cast: Cast, played: scene.Scene, browser: Browser
) -> None:
    compared = 0
    for user in (cast.steward, played.reader, cast.auditor):
        client = browser(user)
        for route in addresses.routes():
            if route.startswith("admin/"):
                continue
            address = addresses.fill(route, scene=played, cast=cast)
            if not language.is_read_by_programs(address):
                continue
            english, german = client.get(address), client.get(address, headers=GERMAN)
            assert english.status_code == german.status_code, address
            assert german.headers.get("Content-Type") == english.headers.get("Content-Type")
            assert german.headers.get("Content-Language", "en") == "en", address
            if english.status_code == 200:
                assert body(german) == body(english), address
                compared += 1
    assert compared > 60


# --- what is stored -----------------------------------------------------------------------------------------
def test_nothing_that_is_stored_is_translated(cast: Cast, places: None) -> None:
    with translation.override("de"):
        scene.play(
            steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
        )
    stored = "\n".join(
        serializers.serialize("json", model._base_manager.all(), ensure_ascii=False)
        for model in apps.get_models()
        if model._meta.managed
    )
    assert "Commutes" in stored
    translated = [
        entry.msgstr
        for entry in catalogue.read()
        if entry.msgstr != entry.msgid and len(entry.msgstr) >= 12 and "%(" not in entry.msgstr
    ]
    assert [text for text in translated if text in stored] == []


# --- pages --------------------------------------------------------------------------------------------------
def pages(client: Client, cast: Cast, played: scene.Scene) -> Iterator[tuple[str, str]]:
    """Address and HTML of each page that this person may see."""
    for route in addresses.routes():
        if route.startswith(NOT_TRANSLATED):
            continue
        address = addresses.fill(route, scene=played, cast=cast)
        if language.is_read_by_programs(address):
            continue
        answer = client.get(address, headers=GERMAN)
        if answer.status_code == 200 and not answer.streaming:
            yield address, answer.content.decode()


def shown(html: str) -> str:
    """Texts and attributes that people read or hear, without what is marked as English, on one line."""
    html = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    html = re.sub(
        r'<(span|div|p|ul|li|section|td)\b[^>]*\blang="en"[^>]*>.*?</\1>',
        " ",
        html,
        flags=re.DOTALL,
    )
    html = re.sub(r'<input type="hidden"[^>]*>', " ", html)
    return html_entities.unescape(re.sub(r"\s+", " ", html))


class GermanTexts(HTMLParser):
    """Collects the texts of a page that are to be German, each as one piece: what is marked as English, code
    and scripts are left out."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)

    @property
    def _is_left_out(self) -> bool:
        return any(left_out for _, left_out in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        left_out = (
            tag in ("script", "style", "code", "pre", "option") or given.get("lang") == "en"
        )
        if not left_out and not self._is_left_out:
            self.texts += [given[name] or "" for name in SPOKEN if name in given]
        if tag not in WITHOUT_END:
            self._open.append((tag, left_out))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._is_left_out:
            self.texts.append(re.sub(r"\s+", " ", data).strip())


RESULT_PAGES = ("/compare/", "/compare/all/", "/beside/", "/risk/", "/models/")
"""Pages whose sentences depend on the noise of a release: their patterns are tested one by one."""


def english_texts(html: str) -> list[str]:
    """The texts of a German page that are English by their small words."""
    return [
        text
        for text in GermanTexts(html).texts
        if len(ENGLISH.findall(NAMES.sub("", text))) >= LEAST_ENGLISH
    ]


def english_messages() -> list[str]:
    """Messages that are another text in German, and long enough not to be a part of something else."""
    return [
        re.sub(r"\s+", " ", text)
        for entry in catalogue.read()
        for text in (entry.msgid, entry.msgid_plural)
        if text
        and entry.translated()
        and entry.msgstr != entry.msgid
        and len(text.split()) >= WORDS
        and "%(" not in text
    ]


@pytest.mark.same_on_every_database  # asks what the table of test_authorisation_matrix.py asks
@pytest.mark.parametrize("name", ["steward", "reader"])
def test_a_walk_in_german_meets_no_english_message_and_no_open_placeholder(
    name: str, cast: Cast, played: scene.Scene, browser: Browser
) -> None:
    person: User = played.reader if name == "reader" else cast.steward
    messages, faults, visited = english_messages(), [], 0
    for address, html in pages(browser(person), cast, played):
        visited += 1
        text = shown(html)
        faults += [f"{address}: {message}" for message in messages if message in text]
        if not address.startswith("/releases/") or not address.endswith(RESULT_PAGES):
            faults += [f"{address}: {message}" for message in english_texts(html)]
        faults += [f"{address}: {found}" for found in re.findall(r"%\(\w+\)[sd]?", text)]
    assert not faults, "\n".join(faults)
    assert visited >= (40 if name == "steward" else 20)


def test_an_english_message_would_be_noticed() -> None:
    message = "This page does not exist, or you may not see it."
    assert message in english_messages()
    assert message in shown(f'<a class="skip-link"\n  href="#content">\n {message}</a>')
    assert message not in shown(f'<span lang="en">{message}</span>')


def test_an_english_text_with_numbers_would_be_noticed() -> None:
    verdict = wording.distance_verdict(0.023, chance=0.01)["words"]
    page = f'<p class="verdict">{verdict}</p><p lang="en">{verdict}</p><code>{verdict}</code>'
    assert english_texts(page) == [verdict]
    with translation.override("de"):
        assert english_texts(f"<p>{language.translated(verdict)}</p>") == []
        assert "2,3" in language.translated(verdict)


@pytest.mark.parametrize("value", [0.0, 0.0004, 0.03, 0.08, 0.5])
@pytest.mark.parametrize("chance", [0.0, 0.02])
def test_every_verdict_of_a_comparison_is_translated(value: float, chance: float) -> None:
    parts = [
        "median 39 real, 37 synthetic",
        "mean 40 real, 38.5 synthetic, the total of as many values -4%",
        "mean 40 real, 38.5 synthetic",
        "the highest hundredth begins at 90 real, 80 synthetic",
        "the lowest hundredth ends at 17 real, 18 synthetic",
        "0.6 of 100 synthetic values lie beyond all real ones",
        "0.6 of 100 synthetic values occur nowhere in the real table",
    ]
    verdicts = [
        wording.distance_verdict(value, chance=chance),
        wording.distance_verdict(value, chance=chance, of="last digits"),
        wording.value_verdict(value, chance=chance, levels=["same"], parts=parts),
        wording.other_verdict(value),
        wording.missing_verdict(value, chance, chance=0.0),
        wording.LOST,
        wording.MADE_UP,
        wording.gap_verdict(value, chance=chance),
        wording.moved_verdict(value, chance=chance, kilometres=12.5),
        wording.group_mean_verdict(value, chance=chance),
        wording.dependence_verdict(real=value, synthetic=chance),
        wording.dependence_verdict(real=chance, synthetic=value),
        wording.rank_verdict(real=value, synthetic=-value, chance=chance),
        wording.rank_verdict(real=value, synthetic=chance, chance=0.0),
    ]
    with translation.override("de"):
        for verdict in verdicts:
            shown = language.translated(verdict["words"])
            assert shown != verdict["words"]
            assert not re.search(
                r"\b(the|of|are|difference|records|alone|values|mean)\b", shown
            ), shown


def _summaries() -> list[str]:
    kinds: tuple[summaries.Relation, ...] = ("dependence", "correlation")
    parts: list[tuple[str, wording.Level, float]] = [
        ("a × b", "large", 0.2),
        ("a × c", "same", 0.0),
    ]
    made = [
        summaries.of_relations(
            LostDependence(real=real, preserved=0, invented=invented, lost=None),
            parts[first:],
            kind=kind,
        )
        for real in (0, 1, 66)
        for invented in (0, 3)
        for first in (0, 1)
        for kind in kinds
    ]
    every: list[list[wording.Level]] = [
        ["same"],
        ["same", "large"],
        ["damaged", "small"],
        ["unseen", "same"],
        ["damaged", "unseen", "same"],
    ]
    made += [
        summaries.of_levels(levels, things=things, first="age")
        for levels in every
        for things in (
            "columns",
            "pairs of columns",
            "triples of columns",
            "tables of 4 columns",
        )
    ]
    return [each["verdict"]["words"] for each in made]


@pytest.mark.parametrize("words", _summaries())
def test_every_summary_of_a_comparison_is_translated(words: str) -> None:
    with translation.override("de"):
        shown = language.translated(words)
    assert not re.search(r"\b(the|of|are|is|pairs|columns|table|alone)\b", shown), shown


@pytest.mark.parametrize("left", [{}, {"real": 0.0004}, {"real": 0.02, "synthetic": 0.2}])
@pytest.mark.parametrize("right", [{}, {"synthetic": 0.007}, {"real": 0.3, "synthetic": 0.02}])
def test_what_lies_outside_an_axis_is_translated(
    left: dict[str, float], right: dict[str, float]
) -> None:
    words = value_histograms.tails({"left": left, "right": right, "ends": ["17.5", "91"]})
    with translation.override("de"):
        shown = language.translated(words)
    assert not re.search(r"\b(the|of|values|lie|above|below)\b", shown), shown
    assert ("91" in shown) == bool(right)


def test_names_and_values_in_a_sentence_stay_as_they_are() -> None:
    with translation.override("de"):
        assert (
            language.translated("Mean of yes by the records")
            == "Mittelwert von yes nach the records"
        )
        assert language.translated("Records with no") == "Datensätze mit no"
        assert (
            language.translated("k-marginal score, 3 columns") == "k-marginal-Wert, 3 Spalten"
        )
        assert language.translated("A name of somebody") == "A name of somebody"
    assert language.translated("Records with no") == "Records with no"


def test_what_attacks_found_is_translated() -> None:
    shadows = (
        "Shadow models: 20 small tables were released by the method of this release; epsilon and delta "
        "allow at most 95% right answers."
    )
    with translation.override("de"):
        shown = language.translated(f"{risks.NEVER_THE_GUARANTEE} {shadows}")
        verdict = language.translated(
            "A leak: membership, linkability. Lower bounds, never the guarantee."
        )
    assert shown.startswith("Das sind untere Schranken")
    assert shown.endswith("höchstens 95% richtige Antworten zu.")
    assert verdict == (
        "Ein Leck: Zugehörigkeit, Verknüpfbarkeit. Untere Schranken, nie die Garantie."
    )


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_every_guarantee_is_translated(relation: Relation, delta: Fraction) -> None:
    for unit in (PrivacyUnit(), PrivacyUnit(max_records=5, column="person")):
        claim = Guarantee(epsilon=Fraction(1), delta=delta, rho=Fraction(0), certificate="zcdp")
        sentence = claim.sentence(relation=relation, unit=unit)
        with translation.override("de"):
            shown = language.translated(sentence)
        assert "epsilon = 1" in shown
        assert not re.search(r"\b(privacy for|one|added|replaced)\b", shown), shown


def test_a_visitor_with_a_public_link_switches_below_its_address(db: None) -> None:
    client = Client()
    page = client.get(f"/public/{'A' * 43}/")
    assert 'action="/language/"' not in page.text
    answer = client.post("/public/language/", {"language": "de", "next": "/public/x/"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/public/x/")
    assert client.cookies[settings.LANGUAGE_COOKIE_NAME].value == "de"


def test_a_number_may_be_typed_with_the_comma_of_its_language() -> None:
    typed = ("0,5", " 1,25 ", "1,5e-9", "0.5", "1,000,000", "1.000,5", "x")
    with translation.override("de"):
        assert [language.typed_number(text) for text in typed] == [
            "0.5", " 1.25 ", "1.5e-9", "0.5", "1,000,000", "1.000,5", "x",
        ]  # fmt: skip
        assert AmountInput(currency="epsilon").clean("0,5") == 5 * 10**8
    with translation.override("en"):
        assert [language.typed_number(text) for text in typed] == list(typed)
        with pytest.raises(ValidationError):
            AmountInput(currency="epsilon").clean("0,5")

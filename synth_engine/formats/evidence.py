"""Decide whether the first line of a table names its columns or is a record.

A record that is taken for the header becomes public: names of columns are. So a line is called a header only
where the evidence is strong and nothing speaks against it; anything else is a question to a person.

The evidence is added up in bits. If the first line were a record like the n below it, the chance that it
alone has a word in a column of numbers would be at most 1 / (n + 1), by exchangeability, and the chance that
its cell is in no other row is about (singletons + 1) / (n + 1) (Good 1953, after Turing). Both are bounded
for each column, because one damaged cell must never be enough. Words that usually name columns, and a style
of letters that the rows do not have, add to that. A number, date, price or address in the line, or a cell
that is found again in its column, is evidence of a record, and no sum of bits outweighs it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from synth_engine.formats.currencies import CURRENCY_SIGNS

Answer = Literal["header", "record", "open"]

ENOUGH = 8.0  # bits; a contrast in one column alone reaches 7
_CONTRAST, _MOST_CONTRAST, _MOST_UNSEEN = 4.0, 7.0, 5.0
_ALL_CONTRAST, _STYLE, _NAME, _PART, _MOST_NAMES = 3.0, 3.0, 4.0, 2.0, 12.0
_FEWEST_ROWS = 8  # by which unseen values are judged

_NUMBER = re.compile(
    rf"[+-]?\s?[{CURRENCY_SIGNS}]?\s?[+-]?"
    r"(?=[.,]?\d)(\d{1,3}([ ,.'\u00a0\u202f]\d{3})+|\d+)?([.,]\d+)?([eE][+-]?\d+)?"
    rf"\s?([%{CURRENCY_SIGNS}]|[A-Z]{{3}})?"
)
_MONTH = r"[A-Za-zäéûÀ-ÿ]{3,10}\.?"
_DATE = re.compile(
    r"\d{1,4}[./-]\d{1,2}([./-]\d{1,4})?([T ,]+\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?(\.\d+)?( "
    r"?[AaPp]\.?[Mm]\.?)?"
    rf"|\d{{1,2}}[ .-]*{_MONTH}[ .,-]*\d{{2,4}}( .*)?|{_MONTH}[ .-]*\d{{1,2}}?[ ,.-]+\d{{2,4}}( .*)?"
)
_ADDRESS = re.compile(
    r"\S+@\S+\.\S+|(https?|ftp)://\S+|\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}"
)
_SPECIAL = frozenset(
    """
    - -- --- . .. ... ? * na n/a n.a. n.a nan null none nil <null> #n/a missing unknown unbekannt inconnu
    other sonstige total totals sum summe gesamt insgesamt yes no true false y n t f ja nein oui non male
    female m refused nd n.d. not available applicable tbd tba
    """.split()  # noqa: SIM905  # words are read as lines
) | {"not available", "not applicable", "grand total", "no answer"}
_NAMES = frozenset(
    """
    id ids key code index idx no nr num number row record ref reference uid uuid guid name names firstname
    lastname surname forename title label description desc text comment comments note notes remark remarks
    type kind category categories class group status state country region county district province city town
    place location municipality address street zip zipcode postcode postal lat latitude lon lng long longitude
    x y z date day month year week weekday hour minute second time timestamp datetime start end begin from to
    birth birthday birthdate dob age sex gender race ethnicity education degree occupation job profession
    income salary wage pay price cost amount sum value values total count counts quantity qty units unit size
    weight height width length depth area volume distance rate ratio percent percentage share score rank
    rating level grade marital relationship religion language nation nationality email mail phone telephone
    mobile fax url link website web user username customer client person people patient doctor hospital
    diagnosis disease symptom treatment drug dose school university student teacher course subject company
    firm organisation organization org department dept division team employee employer manager product item
    items brand model make sku supplier vendor store shop branch order invoice payment currency account
    balance bank loan credit debit tax vat discount species population density code_name version source target
    result outcome response answer question variable var mean median std min max average avg low high color
    colour latitude_deg flag active enabled created updated modified deleted party vote votes candidate
    precinct temperature temp humidity pressure wind rain speed direction station sensor channel frequency
    energy power album artist song genre author book publisher isbn actor director film movie game player
    season goals points wins losses home away league match nom prenom prénom adresse ville pays âge sexe
    date_naissance naissance code_postal libelle libellé commune département departement région année annee
    mois jour heure montant prix quantité valeur vorname nachname alter geschlecht stadt ort land plz straße
    strasse datum jahr monat tag uhrzeit zeit preis betrag menge wert anzahl größe groesse gewicht beruf
    einkommen nombre apellido edad sexo ciudad pais país fecha año ano mes dia día precio cantidad valor
    provincia municipio nome cognome età eta sesso città citta paese comune regione data anno mese giorno
    prezzo quantità idade cidade estado naam leeftijd geslacht plaats gemeente jaar maand bedrag imię imie
    nazwisko wiek płeć plec miasto kraj rok miesiąc cena ilość jméno jmeno příjmení prijmeni věk vek pohlaví
    pohlavi město mesto země měsíc počet namn ålder kön stad kommun år navn alder køn by имя фамилия возраст
    пол город страна дата год месяц цена количество адрес όνομα ηλικία φύλο πόλη χώρα 名前 氏名 年齢 性別 都市
    市 国 日付 年 月 価格 数量 住所 姓名 年龄 性别 城市 国家 日期 价格 地址 이름 나이 성별 도시 날짜 가격
    """.split()  # noqa: SIM905  # words are read as lines
)


@dataclass(frozen=True, kw_only=True)
class HeaderVerdict:
    """The verdict on a first line: header, record or open; `header` is the more likely one of the first
    two."""

    answer: Answer
    header: bool
    bits: float


def kind_of_cell(cell: str) -> str:
    """Return what a cell looks like: blank, special (a marker, or a word that stands for no value), number,
    date, address or word."""
    text = cell.strip()
    if not text:
        return "blank"
    if text.casefold() in _SPECIAL:
        return "special"
    if _NUMBER.fullmatch(text):
        return "number"
    if _DATE.fullmatch(text):
        return "date"
    return "address" if _ADDRESS.fullmatch(text) else "word"


def is_name(cell: str) -> bool:
    """Whether a cell is a word that usually names a column."""
    return cell.strip().casefold() in _NAMES


def weigh(first: Sequence[str], rows: Sequence[Sequence[str]]) -> HeaderVerdict:
    """Whether `first` is the header of `rows`, the records below it. Rows of another width are not looked
    at."""
    below = [row for row in rows if len(row) == len(first)]
    if len(first) > 1:  # a header that stands there again is refused where it stands
        below = [row for row in below if list(row) != list(first)]
    kinds = [kind_of_cell(cell) for cell in first]
    if not below:
        data = any(kind in ("number", "date", "address") for kind in kinds)
        return HeaderVerdict(
            answer="open" if data or rows else "header", header=not data, bits=0.0
        )
    columns = [[row[place] for row in below] for place in range(len(first))]
    types = [[kind_of_cell(cell) for cell in column] for column in columns]
    counted = _counted_along(first, kinds, below)
    if _is_record(kinds, types):
        places = range(len(first))
        # Names that count the columns, or years in a row, look like a record and may be a
        # header.
        counted_from = [[str(start + place) for place in places] for start in (0, 1)]
        numbered = [cell.strip() for cell in first] in counted_from or (
            _rises(first, places) and not any(_rises(row, places) for row in below)
        )
        return HeaderVerdict(answer="open" if numbered else "record", header=False, bits=0.0)
    against = any(
        _speaks_against(first[place], kinds[place], columns[place], types[place])
        for place in range(len(first))
        if place not in counted
    )
    bits = _bits(first, kinds, columns, types)
    if counted:
        bits += min(_MOST_CONTRAST, _CONTRAST + math.log2(len(below) + 1))
    if against or bits < ENOUGH:
        return HeaderVerdict(answer="open", header=not against and bits >= _CONTRAST, bits=bits)
    return HeaderVerdict(answer="header", header=True, bits=bits)


def _counted_along(
    first: Sequence[str], kinds: Sequence[str], below: Sequence[Sequence[str]]
) -> set[int]:
    """Places of at least three whole numbers that rise by equal steps, as years do, where no row has such
    numbers."""
    places = [place for place, kind in enumerate(kinds) if kind == "number"]
    if len(places) < 3 or len(below) < 2 or not _rises(first, places):
        return set()
    return set() if any(_rises(row, places) for row in below) else set(places)


def _rises(row: Sequence[str], places: Sequence[int]) -> bool:
    cells = [row[place].strip() for place in places]
    if not all(re.fullmatch(r"\d{1,9}", cell) for cell in cells):
        return False
    steps = {int(after) - int(before) for before, after in itertools.pairwise(cells)}
    return len(steps) == 1 and 0 not in steps


def _is_record(kinds: Sequence[str], types: Sequence[Sequence[str]]) -> bool:
    """Whether the line has only numbers and dates, each above cells of the same kind."""
    alike = all(
        kind in ("number", "date")
        and all(below in (kind, "blank", "special") for below in column)
        for kind, column in zip(kinds, types, strict=True)
    )
    return alike and bool(kinds)


def _speaks_against(cell: str, kind: str, column: Sequence[str], types: Sequence[str]) -> bool:
    """Whether a cell of the first line is more like a value of its column than like its name."""
    if kind in ("number", "date", "address"):
        return True
    if kind in ("blank", "special"):
        return kind == "special" and any(
            one.strip().casefold() == cell.strip().casefold() for one in column
        )
    key = cell.strip().casefold()
    if any(one.strip().casefold() == key for one in column):
        return True
    if not re.search(r"\d", cell):
        return False
    shapes = Counter(
        _shape(one) for one, below in zip(column, types, strict=True) if below == "word"
    )
    # A cell such as B7 above A12 and C3 has the shape of the values, and is probably one.
    return bool(shapes) and shapes[_shape(cell)] * 2 > len(column)


def _shape(cell: str) -> str:
    text = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", cell.strip()))
    return re.sub(r"(a9?[ _-]?)\1+", r"\1", text)


def _bits(
    first: Sequence[str],
    kinds: Sequence[str],
    columns: Sequence[Sequence[str]],
    types: Sequence[Sequence[str]],
) -> float:
    contrasts = 0
    bits = 0.0
    for cell, kind, column, below in zip(first, kinds, columns, types, strict=True):
        if kind != "word":
            continue
        contrast = _contrast(below)
        contrasts += contrast > 0
        bits += contrast or _unseen(cell, column)
    if contrasts == len(first):
        bits += _ALL_CONTRAST
    # Words that are names of columns occur in records too, so that their sum is bounded.
    support = min(_MOST_NAMES, sum(_named(cell) for cell in first)) + _style(
        first, kinds, columns, types
    )
    if contrasts == 1 and len(first) > 1 and not support:
        return min(bits, ENOUGH - 1)  # one damaged cell, even beside a rare value, is no header
    return bits + support


def _contrast(types: Sequence[str]) -> float:
    """A word above a column that has numbers, or dates, and no words."""
    counts = Counter(types)
    # Up to one damaged cell in twenty weakens a contrast, and more than that end it.
    typed = max(counts["number"], counts["date"])
    others = sum(counts[one] for one in ("number", "date", "address", "word")) - typed
    if not typed:
        return 0.0
    if not others:
        return min(_MOST_CONTRAST, _CONTRAST + math.log2(typed + 1))
    return (
        min(_MOST_CONTRAST, max(0.0, math.log2((typed + 1) / (others + 1))))
        if others * 20 <= typed
        else 0.0
    )


def _unseen(cell: str, column: Sequence[str]) -> float:
    """A word that no row has, above a column whose values repeat."""
    counts = Counter(one.strip().casefold() for one in column if one.strip())
    total = sum(counts.values())
    if total < _FEWEST_ROWS or cell.strip().casefold() in counts:
        return 0.0
    # Good-Turing estimate of the chance that the next value is one that no row has.
    chance = (sum(count == 1 for count in counts.values()) + 1) / (total + 1)
    return min(_MOST_UNSEEN, -math.log2(chance)) if chance <= 0.25 else 0.0


def _named(cell: str) -> float:
    """A word that usually names a column, or a compound with one."""
    text = cell.strip()
    if is_name(text) and len(text) > 1:  # a letter alone may be a damaged cell
        return _NAME
    parts = [one.casefold() for one in re.findall(r"[^\W\d_]+?(?=[A-Z][a-z]|[\W\d_]|$)", text)]
    if len(parts) > 1 and len(parts) <= 6 and any(part in _NAMES for part in parts):
        return _NAME if "_" in text or re.fullmatch(r"[a-z]+([A-Z][a-z0-9]*)+", text) else _PART
    return 0.0


def _style(
    first: Sequence[str],
    kinds: Sequence[str],
    columns: Sequence[Sequence[str]],
    types: Sequence[Sequence[str]],
) -> float:
    """Letters of one style in all cells of the first line, and of another one in most words below."""
    words = [cell.strip() for cell, kind in zip(first, kinds, strict=True) if kind == "word"]
    if len(words) < 2:
        return 0.0
    below = [
        cell.strip()
        for column, column_kinds in zip(columns, types, strict=True)
        for cell, kind in zip(column, column_kinds, strict=True)
        if kind == "word"
    ]
    for style in (str.islower, str.isupper):
        if all(map(style, words)) and below and sum(map(style, below)) * 5 <= len(below):
            return _STYLE
    return 0.0

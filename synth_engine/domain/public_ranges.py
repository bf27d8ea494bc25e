"""Ranges that are public knowledge: what the name of a column says about its numbers, whatever a table holds.

The table below is fixed, and none of its bounds was fitted to values. The names are read in the languages in
which names of months are (`kinds/month_names.py`): English, German, French, Spanish, Italian, Dutch, Swedish
and Portuguese. Amounts of money, counts and lengths of time have no such range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth_engine.domain.column_names import without_accents, words


@dataclass(frozen=True, kw_only=True)
class PublicRange:
    """Numbers from `low` to `high`, both included.

    reason: why no other number means anything there; a whole sentence.
    names: words of a column's name, without accents: one of these groups of words has to be in it.
    other_words: other words that may stand in the name; None where any may."""

    key: str
    low: int
    high: int
    reason: str
    names: tuple[frozenset[str], ...]
    other_words: frozenset[str] | None


def _names(text: str) -> tuple[frozenset[str], ...]:
    """Groups of words, as `a b, c` has them."""
    return tuple(frozenset(group.split()) for group in text.replace("\n", " ").split(","))


_FILLERS = frozenset(
    """
    the of in at on a an per von der des im am bei zum zur de la le du des d en el del los di da do das della
    dell nel al van het bij av vid no na year years yr yrs jahr jahre jahren an ans annee annees ano anos anni
    jaar jaren ar
    """.split()  # noqa: SIM905  # words are read as lines
)
_PEOPLE = frozenset(
    """
    patient patients person persons participant respondent subject mother father parent child baby employee
    worker member customer client student pupil applicant driver victim householder head donor patienten
    patientin mutter vater eltern kind mitarbeiter kunde kunden schuler mere pere enfant madre padre hijo
    figlio moeder vader mor far barn mae pai filho birth death admission diagnosis entry onset interview
    survey enrolment enrollment visit marriage tod diagnose aufnahme befragung geburt deces naissance muerte
    nacimiento morte nascita
    """.split()  # noqa: SIM905
)
_MOMENTS = frozenset(
    """
    start end begin birth death admission discharge departure arrival event call accident crash
    incident order sale pickup dropoff geburt tod aufnahme unfall beginn ende abfahrt ankunft naissance deces
    nacimiento muerte nascita morte
    """.split()  # noqa: SIM905
)
_CHANGES = frozenset(
    """
    change changes growth delta diff difference increase decrease return yield gain loss error veranderung
    wachstum differenz zunahme abnahme anstieg rendite croissance variation cambio crecimiento variacion
    crescita variazione groei verandering tillvaxt variacao crescimento
    """.split()  # noqa: SIM905
)
_ON_CALENDAR = (
    _FILLERS | _MOMENTS | {"number", "num", "no", "nr", "nummer", "numero", "local", "utc"}
)

REGISTRY = (
    PublicRange(
        key="year-of-birth",
        low=1900,
        high=2050,
        reason="Nobody who was born before 1900 is alive.",
        names=_names(
            "birth year, yob, born year, geburtsjahr, jahrgang, annee naissance, ano nacimiento, "
            "anno nascita, ano nascimento, geboortejaar, jaar geboorte, fodelsear"
        ),
        other_words=_FILLERS | _PEOPLE | {"geburts"},
    ),
    PublicRange(
        key="age",
        low=0,
        high=120,
        reason="An age in years: only one person is proved to have become older than 120.",
        names=_names("age, alter, lebensalter, edad, eta, idade, leeftijd, alder"),
        other_words=_FILLERS | _PEOPLE,
    ),
    PublicRange(
        key="percent",
        low=0,
        high=100,
        reason="A percentage of a whole.",
        names=_names(
            "percent, percentage, pct, prozent, prozentsatz, prozentanteil, pourcentage, porcentaje, "
            "percentuale, percentagem, porcentagem, procent, procentandel"
        ),
        other_words=None,
    ),
    PublicRange(
        key="latitude",
        low=-90,
        high=90,
        reason="A latitude lies between the poles.",
        names=_names(
            "latitude, lat, breitengrad, latitud, latitudine, breedtegraad, breddgrad, geobreite"
        ),
        other_words=None,
    ),
    PublicRange(
        key="longitude",
        low=-180,
        high=180,
        reason="A longitude is counted from Greenwich, half around the earth.",
        names=_names(
            "longitude, lon, lng, langengrad, laengengrad, longitud, longitudine, lengtegraad, langdgrad"
        ),
        other_words=None,
    ),
    PublicRange(
        key="weekday",
        low=0,
        high=7,
        reason="A day of the week, counted from 0 or from 1.",
        names=_names(
            "weekday, dayofweek, day week, dow, wochentag, jour semaine, dia semana, giorno settimana, "
            "weekdag, dag week, veckodag"
        ),
        other_words=_ON_CALENDAR,
    ),
    PublicRange(
        key="month",
        low=1,
        high=12,
        reason="A month of the year.",
        names=_names(
            "month, monat, geburtsmonat, mois, mes, mese, maand, geboortemaand, manad, fodelsemanad"
        ),
        other_words=_ON_CALENDAR,
    ),
    PublicRange(
        key="day-of-month",
        low=1,
        high=31,
        reason="A day of the month.",
        names=_names(
            "day, day month, tag, tag monats, geburtstag, jour, jour mois, dia, dia mes, giorno, "
            "giorno mese, dag, dag maand, dag manad"
        ),
        other_words=_ON_CALENDAR,
    ),
    PublicRange(
        key="week",
        low=0,
        high=53,
        reason="A week of the year.",
        names=_names(
            "week, iso week, kalenderwoche, kw, semaine, semana, settimana, vecka, veckonummer"
        ),
        other_words=_ON_CALENDAR,
    ),
    PublicRange(
        key="quarter",
        low=1,
        high=4,
        reason="A quarter of the year.",
        names=_names("quarter, quartal, trimestre, kwartaal, kvartal"),
        other_words=_ON_CALENDAR,
    ),
    PublicRange(
        key="hours-of-week",
        low=0,
        high=168,
        reason="A week has 168 hours.",
        names=_names(
            "hours week, weekly hours, wochenstunden, stunden woche, heures semaine, horas semana, "
            "ore settimana, uren week, timmar vecka"
        ),
        other_words=_FILLERS | _PEOPLE | {"usual", "worked", "work", "pro", "par", "por"},
    ),
    PublicRange(
        key="hour",
        low=0,
        high=24,
        reason="An hour of the day.",
        names=_names("hour, hour day, stunde, uhrzeit, heure, hora, ora, uur, timme"),
        other_words=_ON_CALENDAR | {"day", "tages", "tag"},
    ),
    PublicRange(
        key="minute",
        low=0,
        high=60,
        reason="A minute of the hour.",
        names=_names("minute, minute hour, minuut, minut"),
        other_words=_ON_CALENDAR,
    ),
    PublicRange(
        key="ph",
        low=0,
        high=14,
        reason="The scale of pH values.",
        names=_names("ph"),
        other_words=_FILLERS
        | {"value", "wert", "valeur", "valor", "valore", "water", "soil", "blood"},
    ),
    PublicRange(
        key="apgar",
        low=0,
        high=10,
        reason="The scale of Apgar scores.",
        names=_names("apgar"),
        other_words=_FILLERS | {"score", "min", "minute", "minutes", "minuten"},
    ),
    PublicRange(
        key="glasgow",
        low=3,
        high=15,
        reason="The Glasgow coma scale.",
        names=_names("gcs, glasgow coma"),
        other_words=_FILLERS | {"score", "scale", "total", "admission"},
    ),
)


def of_name(name: str) -> PublicRange | None:
    """The range of which a column's name speaks; None if it speaks of none."""
    name_words = {without_accents(word) for word in words(name)}
    if "%" in name:
        name_words.add("percent")
    if _CHANGES & name_words:
        return None
    for each in REGISTRY:
        for group in each.names:
            others = name_words - group
            if group <= name_words and (each.other_words is None or others <= each.other_words):
                return each
    return None


def states(name: str, facts: Mapping[str, Any]) -> PublicRange | None:
    """The public range of a column that a description states; None where its bounds are others. facts: of the
    column, as in a domain's JSON."""
    known = of_name(name)
    if known is None or facts.get("kind") != "scale":
        return None
    if facts.get("of") not in ("integer", "number"):
        return None
    return known if (facts.get("low"), facts.get("high")) == (known.low, known.high) else None

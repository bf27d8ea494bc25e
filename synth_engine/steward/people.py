"""Which columns say who a row is about: identifiers, names of persons, addresses, telephone numbers and other
ways to reach somebody.

A column is judged by its name, in the languages of the pages and the usual ones of registers, and by the form
of its texts; never by how often its values repeat, because a person may have many rows. What is found here is
left out of a draft, whatever the values are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain.column_names import words

_NUMBERED = (
    "id ids nr nrs no num number numbers nummer nummern numero número numéro núm ref reference referenz "
    "code codes kode codigo código key keys schlüssel kennung kennzeichen uid uuid guid identifier "
    "identifikation identifikator"
)
_KEYS = frozenset(_NUMBERED.split())
"""Words that make an identifier out of a word for a person or a document: customer no, Vertragsnummer."""
_CODES = frozenset("code codes kode codigo código".split())  # noqa: SIM905
_ALONE = frozenset(
    [
        "id",
        "ids",
        "nr",
        "no",
        "uid",
        "uuid",
        "guid",
        "identifier",
        "identifikation",
        "identifikator",
    ]
)
"""Those that make an identifier of any column."""
_PERSONS = frozenset(
    """
    patient patienten person personen participant respondent proband probanden teilnehmer customer client
    kunde kunden member mitglied mitglieder employee worker mitarbeiter student pupil learner schüler matrikel
    household hh haushalt haushalts user nutzer benutzer citizen bürger resident bewohner insured versicherte
    versicherten versicherter subscriber taxpayer voter wähler physician doctor provider prescriber arzt nurse
    teacher lehrer candidate bewerber applicant borrower debtor creditor eigentümer halter driver fahrer
    passenger victim offender inmate prisoner beneficiary donor spender persona paciente cliente empleado
    alumno usuario ciudadano personne élève salarié assuré foyer usager patiënt klant deelnemer persoon
    leerling medewerker burger kund anställd hushåll elev medlem
    """.split()  # noqa: SIM905  # words are read as lines
)
_DOCUMENTS = frozenset(
    """
    subject staff personal owner insurance versicherung versicherungs steuer case fall akten chart sin study
    studien account konto konten invoice rechnung rechnungs policy police vertrag vertrags contract licence
    license führerschein passport pass ausweis claim bank iban card karte kreditkarte creditcard record serial
    registration tax national social security cuenta factura compte facture rekening
    """.split()  # noqa: SIM905
)
_NAMING = frozenset(
    """
    ssn sin nino nhs mrn npi dea ehr emr iban bic passport imei imsi vin bbl uuid guid personnummer
    samordningsnummer personennummer sozialversicherungsnummer rentenversicherungsnummer steuernummer steuerid
    svnr ahv bsn burgerservicenummer curp nss nir dni nie nif cpf pesel fiscalcode codicefiscale ssnr hicn mbi
    urn ausweisnummer email emails mail mails correo courriel phone phones telephone tel telefon telefono
    teléfono téléphone telefoon mobile mobil handy fax cellphone whatsapp plate plates licenceplate
    licenseplate numberplate kennzeichen nummernschild matricula matrícula immatriculation kenteken
    registreringsnummer street strasse straße gata gatuadress calle rue straat address addresses adresse
    anschrift dirección direccion adres adress hausnummer housenumber surname surnames firstname lastname
    fullname middlename nickname maidenname fname lname vorname vornamen nachname nachnamen familienname
    geburtsname rufname apellido apellidos prénom prenom achternaam voornaam förnamn efternamn ip ipaddress
    username login twitter facebook instagram handle
    """.split()  # noqa: SIM905
)
"""Words that say it by themselves."""
_NAMES = frozenset("name names namen naam namn nombre nombres nom noms".split())  # noqa: SIM905
_PERSON_FACTS = frozenset(
    [
        "first",
        "last",
        "full",
        "middle",
        "family",
        "given",
        "maiden",
        "birth",
        "christian",
        "legal",
        "contact",
        "nick",
        "sur",
        "fore",
        "vor",
        "nach",
    ]
)
_MEASURES = frozenset(
    """
    type types typ tipo kind class klasse category kategorie group gruppe status state count counts anzahl
    calls length länge date datum day days month monat year jahr time zeit age alter sex gender geschlecht
    amount betrag balance saldo total sum size grösse größe rate score share percent anteil level stufe flag
    valid verified opt in missing risk income einkommen region country land city ort type de since seit
    """.split()  # noqa: SIM905
)
_VALUES = frozenset(
    [
        "value",
        "values",
        "wert",
        "price",
        "preis",
        "prix",
        "precio",
        "weight",
        "height",
        "salary",
        "lohn",
        "gehalt",
        "temperature",
    ]
)
"""Words that make a fact about a person, an account or an address of it: account type, patient age."""
_COMPOUND_ENDS = (
    "nummer",
    "nummern",
    "nr",
    "kennung",
    "kennzeichen",
    "schlüssel",
    "number",
    "identifier",
)
_MAIL = r"[^\s@]@[^\s@]"
_STREET = (
    r"(?i)^[0-9]+[a-z]? .*\b(street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|way|"
    r"place|pl|terrace|rue)\b"
    r"|(strasse|straße|str\.|gasse|weg|platz|allee|gatan|vägen|straat|laan) ?[0-9]+ "
    r"?[a-z]?$|^(calle|rue|via|avenida|av\.) .*[0-9]"
)
_PERSON_NUMBER = (
    r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$|^[0-9]{6}([0-9]{2})?[-+][0-9]{4}$|^[A-Z]{2}[0-9]{2}[A-Z0-9 "
    r"]{11,30}$|^[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2} [0-9]{1,4}[EH]?$"
)
_PHONE = r"^\+?[0-9][0-9 ()./-]{5,18}[0-9]$"
_PHONE_SIGNS = r"^\+|[()]|[0-9][ /-][0-9]{2,}[ /-][0-9]|^[0-9]{3,5}[/ ]"
_DATED = (
    r"^[0-9]{1,4}[-/. ][0-9]{1,2}[-/. "
    r"][0-9]{1,4}|^(19|20)[0-9]{2}[^0-9]+((19|20)[0-9]{2}|[0-9]{2})$|[0-9]:[0-9]{2}|^[1-9][0-9.,]* [-–] "
    r"[1-9][0-9.,]*$"
)
_FEWEST_SIGNS = 3  # of a code of letters and digits
_FEWEST_DIGITS = 7  # of a number between other signs
_SAMPLED = 2_000  # texts
_MOST = 0.9  # of the rows
_HALF = 0.5  # of the rows: so many addresses are a column of addresses


@dataclass(frozen=True, kw_only=True)
class PersonSign:
    """Why a column seems to say who a row is about.

    why: in words.
    certain: False where a column of anything else may look the same, so that its steward is asked.
    counts: whether its values tell persons apart well enough to count persons by."""

    why: str
    certain: bool = True
    counts: bool = True


def measures(name: str) -> bool:
    """Whether by its name a column measures something."""
    parts = words(name)
    return bool(parts) and parts[-1] in _MEASURES | _VALUES


def sign(name: str, texts: pa.Array, counts: NDArray[np.int64]) -> PersonSign | None:
    """Why a column of these different texts, with the rows of each, seems to say who a row is about; None if
    it does not."""
    return by_name(name) or by_form(texts, counts)


def by_name(name: str) -> PersonSign | None:
    """The same by the column's name alone."""
    parts = words(name)
    if not parts or parts[-1] in _MEASURES:
        return None
    if any(_is_naming(part) for part in (*parts, "".join(parts))):
        return PersonSign(
            why="By its name the column says who somebody is, or where to reach them."
        )
    if set(parts) & _NAMES and (len(parts) == 1 or set(parts) & (_PERSONS | _PERSON_FACTS)):
        return PersonSign(why="By its name the column has names of persons.")
    persons, documents, keys = (set(parts) & each for each in (_PERSONS, _DOCUMENTS, _KEYS))
    if (persons and keys) or (documents and keys - _CODES):
        return PersonSign(
            why="By its name the column has identifiers of people or of their documents."
        )
    if parts[0] in _MEASURES:
        return None
    if persons and len(parts) == 1:
        return PersonSign(why="By its name the column says who a row is about.", certain=False)
    if set(parts) & _ALONE or any(
        part.endswith(_COMPOUND_ENDS) and part not in _COMPOUND_ENDS for part in parts
    ):
        return PersonSign(
            why="By its name the column has identifiers.", certain=False, counts=False
        )
    return None


def _is_naming(part: str) -> bool:
    """Whether one word says it: by itself, or as a person or document with a key or a name written behind
    it."""
    if part in _NAMING:
        return True
    of_names = _PERSONS | _PERSON_FACTS
    for ends, kinds in ((_KEYS, _PERSONS), (_KEYS - _CODES, _DOCUMENTS), (_NAMES, of_names)):
        for end in ends:
            if part != end and part.endswith(end) and part.removesuffix(end) in kinds:
                return True
    return False


def by_form(texts: pa.Array, counts: NDArray[np.int64]) -> PersonSign | None:
    """The same by the form of the texts.

    texts: different ones, shape (n,). counts: rows of each, shape (n,)."""
    if not len(texts):
        return None
    # Some thousand texts tell as much as all of them, and much faster.
    some = np.arange(0, len(texts), -(-len(texts) // _SAMPLED))
    texts, weights = texts.take(pa.array(some)), counts[some] / counts[some].sum()

    def share(pattern: str) -> float:
        fits = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
        return float(weights[fits].sum())

    if share(_MAIL) >= _HALF:
        return PersonSign(why="They look like e-mail addresses.")
    if share(_PERSON_NUMBER) >= _HALF:
        return PersonSign(why="They look like numbers that name persons or their accounts.")
    if share(_STREET) >= _HALF:
        return PersonSign(why="They look like postal addresses.")
    if share(_DATED) >= _HALF:
        return None
    digits = pc.utf8_length(pc.replace_substring_regex(texts, "[^0-9]", "")).to_numpy()
    phones = pc.match_substring_regex(texts, _PHONE).to_numpy(zero_copy_only=False)
    if (
        weights[phones & (digits >= _FEWEST_DIGITS)].sum() >= _MOST
        and share(_PHONE_SIGNS) >= _HALF
    ):
        return PersonSign(why="They look like telephone numbers.")
    return _of_one_length(texts, digits)


def _of_one_length(texts: pa.Array, digits: NDArray[np.int64]) -> PersonSign | None:
    """Letters and digits, or long numbers, that all have one length, as keys of records have. digits: shape
    (n,), how many each has."""
    lengths = pc.utf8_length(texts).to_numpy()
    length = int(lengths[0])
    if len(texts) < 2 or length < _FEWEST_SIGNS or (lengths != length).any():
        return None
    if pc.any(pc.match_substring_regex(texts, r"\s")).as_py():
        return None  # words, or a number with its unit
    letters = pc.match_substring_regex(texts, r"\p{L}").to_numpy(zero_copy_only=False)
    mixed = (letters & (digits > 0)).all()
    long_numbers = not letters.any() and (digits >= _FEWEST_DIGITS).all()
    if not mixed and not long_numbers:
        return None
    return PersonSign(
        why=f"All are letters and digits of one length, {length}, as identifiers are."
        if mixed
        else f"All are numbers of one length, {length}, as identifiers are.",
        certain=False,
        counts=False,
    )

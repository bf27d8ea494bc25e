"""Metadata of a release for others' tools: Croissant, which data sets are loaded by, and DataCite, by which
they get a DOI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synthweb.lib.zip_stream import ArchivedFile
from synthweb.releases import licences
from synthweb.releases.report import ReleaseReport, ReportColumn

CROISSANT = "http://mlcommons.org/croissant/1.0"
# As the specification publishes it (https://docs.mlcommons.org/croissant/docs/croissant-spec.html, appendix
# 1).
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {"integer": "sc:Integer", "number": "sc:Float"}
"""Types of the columns whose every value is one; others, and those with markers of missing values or with
units, are texts."""


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """A table as a file: where it lies beside the metadata, its size in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str

    @classmethod
    def of(cls, file: ArchivedFile) -> TableFile:
        return cls(path=file.name, size=file.size, sha256=file.sha256)


def croissant(report: ReleaseReport, *, table: TableFile) -> dict[str, Any]:
    """A document of Croissant 1.0 about one table of a release, as JSON-LD."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": report.name,
        "description": _abstract(report),
        "conformsTo": CROISSANT,
        "citeAs": report.citation.bibtex,
        "datePublished": report.published,
        **_croissant_licence(report),
        "version": "1.0.0",
        "identifier": f"sha256:{report.proof.core}",
        "creator": {"@type": "sc:Organization", "name": report.organisation},
        "publisher": {"@type": "sc:Organization", "name": report.organisation},
        "keywords": ["synthetic data", "differential privacy"],
        "rai:dataCollectionType": ["Synthetic data generation"],
        "rai:dataLimitations": list(report.limits),
        "rai:personalSensitiveInformation": [
            f"{report.guarantee.sentence} {report.guarantee.meaning}"
        ],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "table",
                "name": "table.csv",
                "description": "A synthetic table drawn from the release with a public seed.",
                "contentUrl": table.path,
                "contentSize": f"{table.size} B",
                "encodingFormat": "text/csv",
                "sha256": table.sha256,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "records",
                "name": "records",
                "description": f"{report.sample_rows} synthetic records.",
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"records/{column.name}",
                        "name": column.name,
                        "description": ", ".join(filter(None, (column.kind, column.values))),
                        "dataType": _type_of(column),
                        "source": {
                            "fileObject": {"@id": "table"},
                            "extract": {"column": column.name},
                        },
                    }
                    for column in report.columns
                ],
            }
        ],
    }


def datacite(report: ReleaseReport) -> dict[str, Any]:
    """The fields of DataCite 4.5 that follow from a release; whoever registers the DOI adds it."""
    organisation = {"name": report.organisation, "nameType": "Organizational"}
    return {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "creators": [organisation],
        "titles": [{"title": report.name}],
        "publisher": {"name": report.organisation},
        "publicationYear": report.year,
        "types": {
            "resourceTypeGeneral": "Dataset",
            "resourceType": "Differentially private synthetic data",
        },
        "subjects": [{"subject": "synthetic data"}, {"subject": "differential privacy"}],
        "dates": [{"date": report.published, "dateType": "Issued"}],
        "language": "en",
        **_rights(report),
        "alternateIdentifiers": [
            {"alternateIdentifier": report.code, "alternateIdentifierType": "Release"},
            {
                "alternateIdentifier": report.proof.core,
                "alternateIdentifierType": "SHA-256 of the core of the receipt",
            },
        ],
        "sizes": [f"{report.sample_rows} records", f"{len(report.columns)} columns"],
        "formats": ["text/csv"],
        "version": "1.0.0",
        "descriptions": [
            {"description": _abstract(report), "descriptionType": "Abstract"},
            {
                "description": " ".join(
                    filter(
                        None,
                        (f"{report.method.title}.", report.method.summary, report.method.paper),
                    )
                ),
                "descriptionType": "Methods",
            },
            {"description": " ".join(report.limits), "descriptionType": "TechnicalInfo"},
        ],
    }


def _croissant_licence(report: ReleaseReport) -> dict[str, str]:
    licence = report.licence
    return {} if licence is None else {"license": licence.address or licence.name}


def _rights(report: ReleaseReport) -> dict[str, list[dict[str, str]]]:
    """The property Rights of DataCite, with the SPDX identifier where the licence has one."""
    licence = report.licence
    if licence is None:
        return {}
    rights = {"rights": licence.name}
    if licence.address:
        rights["rightsUri"] = licence.address
    if licence.id:
        rights |= {
            "rightsIdentifier": licence.id,
            "rightsIdentifierScheme": "SPDX",
            "schemeUri": licences.SPDX,
        }
    return {"rightsList": [rights]}


def _type_of(column: ReportColumn) -> str:
    plain = not column.missing and not column.unit
    return _TYPES.get(column.kind, "sc:Text") if plain else "sc:Text"


def _abstract(report: ReleaseReport) -> str:
    return " ".join(
        filter(
            None,
            (
                report.description,
                "Synthetic data with a guarantee:",
                report.guarantee.sentence,
                report.guarantee.meaning,
            ),
        )
    )

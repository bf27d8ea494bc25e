"""Reads releases of a synthweb server: facts, first rows, estimates with intervals, samples, and receipts
verified on arrival.

    from synthweb_client import Client

    with Client("https://synthetic.example.org", token="synthweb_…") as client:
        for release in client.releases():
            print(release.code, release.name, release.facts.guarantee)
"""

from synthweb_client import figures
from synthweb_client.cities import City
from synthweb_client.client import Client
from synthweb_client.documents import (
    Allowance,
    Amount,
    Bar,
    Cell,
    CityFacts,
    Column,
    ColumnLook,
    Estimate,
    EstimatedColumn,
    FirstRows,
    Licence,
    LinkFacts,
    LinkOffer,
    Marginal,
    Me,
    PaidCell,
    PaidFigure,
    PaidGroup,
    Price,
    Quality,
    ReleaseFacts,
    RepairedFacts,
    SampleFacts,
    ValidationFacts,
)
from synthweb_client.downloads import Progress
from synthweb_client.errors import (
    Busy,
    ConnectionFailed,
    IncompatibleServer,
    NewerServer,
    NotMeasured,
    NotReady,
    ReceiptRefused,
    ReleaseUnavailable,
    ServerRefused,
    SynthwebError,
    TokenRefused,
    WebhookRefused,
)
from synthweb_client.implicates import CombinedEstimate, combine
from synthweb_client.links import Link
from synthweb_client.receipts import Receipt
from synthweb_client.releases import Release, Sample
from synthweb_client.repaired import RepairedTable
from synthweb_client.transport import API_VERSION, Retries
from synthweb_client.validations import Validation
from synthweb_client.webhooks import WebhookEvent, verify_webhook

__all__ = [
    "API_VERSION",
    "Allowance",
    "Amount",
    "Bar",
    "Busy",
    "Cell",
    "City",
    "CityFacts",
    "Client",
    "Column",
    "ColumnLook",
    "CombinedEstimate",
    "ConnectionFailed",
    "Estimate",
    "EstimatedColumn",
    "FirstRows",
    "IncompatibleServer",
    "Licence",
    "Link",
    "LinkFacts",
    "LinkOffer",
    "Marginal",
    "Me",
    "NewerServer",
    "NotMeasured",
    "NotReady",
    "PaidCell",
    "PaidFigure",
    "PaidGroup",
    "Price",
    "Progress",
    "Quality",
    "Receipt",
    "ReceiptRefused",
    "Release",
    "ReleaseFacts",
    "ReleaseUnavailable",
    "RepairedFacts",
    "RepairedTable",
    "Retries",
    "Sample",
    "SampleFacts",
    "ServerRefused",
    "SynthwebError",
    "TokenRefused",
    "Validation",
    "ValidationFacts",
    "WebhookEvent",
    "WebhookRefused",
    "combine",
    "figures",
    "verify_webhook",
]

"""A synthweb server from a program: releases with facts, first rows, estimates with intervals, samples and
receipts that are verified on arrival; tables, budget and runs for stewards.

    from synthweb_client import Client

    with Client("https://synthetic.example.org", token="synthweb_…") as client:
        for release in client.releases():
            print(release.code, release.name, release.facts.guarantee)
"""

from synthweb_client import figures, rows
from synthweb_client.budget import Account, AccountFacts, BudgetRequest, Entry, RequestFacts
from synthweb_client.cities import City
from synthweb_client.client import Client
from synthweb_client.datasets import (
    Brought,
    Dataset,
    DatasetFacts,
    DescriptionVersion,
    Learned,
    Refusal,
)
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
    RunEnded,
    ServerRefused,
    SynthwebError,
    TokenRefused,
    WebhookRefused,
)
from synthweb_client.implicates import CombinedEstimate, combine
from synthweb_client.links import Link
from synthweb_client.receipts import Receipt
from synthweb_client.release_documents import (
    Citation,
    ColumnError,
    Distance,
    Edition,
    ExpectedErrors,
    Node,
    PaidCheck,
    Share,
    Verdict,
    Void,
)
from synthweb_client.releases import Release
from synthweb_client.repaired import RepairedTable
from synthweb_client.runs import Run, RunEvent, RunFacts
from synthweb_client.samples import Sample
from synthweb_client.transport import API_VERSION, Retries
from synthweb_client.validations import Validation
from synthweb_client.webhooks import WebhookEvent, verify_webhook

__all__ = [
    "API_VERSION",
    "Account",
    "AccountFacts",
    "Allowance",
    "Amount",
    "Bar",
    "Brought",
    "BudgetRequest",
    "Busy",
    "Cell",
    "Citation",
    "City",
    "CityFacts",
    "Client",
    "Column",
    "ColumnError",
    "ColumnLook",
    "CombinedEstimate",
    "ConnectionFailed",
    "Dataset",
    "DatasetFacts",
    "DescriptionVersion",
    "Distance",
    "Edition",
    "Entry",
    "Estimate",
    "EstimatedColumn",
    "ExpectedErrors",
    "FirstRows",
    "IncompatibleServer",
    "Learned",
    "Licence",
    "Link",
    "LinkFacts",
    "LinkOffer",
    "Marginal",
    "Me",
    "NewerServer",
    "Node",
    "NotMeasured",
    "NotReady",
    "PaidCell",
    "PaidCheck",
    "PaidFigure",
    "PaidGroup",
    "Price",
    "Progress",
    "Quality",
    "Receipt",
    "ReceiptRefused",
    "Refusal",
    "Release",
    "ReleaseFacts",
    "ReleaseUnavailable",
    "RepairedFacts",
    "RepairedTable",
    "RequestFacts",
    "Retries",
    "Run",
    "RunEnded",
    "RunEvent",
    "RunFacts",
    "Sample",
    "SampleFacts",
    "ServerRefused",
    "Share",
    "SynthwebError",
    "TokenRefused",
    "Validation",
    "ValidationFacts",
    "Verdict",
    "Void",
    "WebhookEvent",
    "WebhookRefused",
    "combine",
    "figures",
    "rows",
    "verify_webhook",
]

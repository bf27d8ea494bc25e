"""Who gets which answer where: every address × everybody, from a table that a new address has to be written
into.

Columns: nobody signed in; a steward of another organisation; an analyst with whom nothing is shared; an
analyst with whom the release is shared; steward, custodian and auditor of the organisation; an auditor who
manages people. 302 sends to the sign-in page, or says that something was done; 404 stands for "not yours to
know of".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from synthweb.accounts.models import User
from synthweb.audit.models import AuditEntry
from synthweb.releases.services import description_of
from tests import extras
from tests.cast import Cast
from tests.web import addresses, doorbell, scene
from tests.web.scene import Scene

PEOPLE = ("nobody", "stranger", "analyst", "reader", "steward", "custodian", "auditor", "staff")
MATRIX = """
                                                                  nob str ana rea ste cus aud sta
GET                                                               302 200 200 200 200 200 200 200
GET    datasets/upload/                                           302 200 403 403 200 403 403 403
POST   datasets/upload/                                           302 422 403 403 422 403 403 403
GET    datasets/<code:code>/upload/                               302 404 404 404 200 200 200 200
GET    datasets/<code:code>/upload/again/                         405 405 405 405 405 405 405 405
POST   datasets/<code:code>/upload/again/                         302 404 404 404 302 403 403 403
GET    datasets/<code:code>/settings/                             302 404 404 404 200 403 403 403
POST   datasets/<code:code>/settings/                             302 404 404 404 422 403 403 403
GET    datasets/<code:code>/settings/form/                        405 405 405 405 405 405 405 405
POST   datasets/<code:code>/settings/form/                        302 404 404 404 422 403 403 403
GET    datasets/<code:code>/settings/form/answer/                 405 405 405 405 405 405 405 405
POST   datasets/<code:code>/settings/form/answer/                 302 404 404 404 302 403 403 403
GET    datasets/<code:code>/replace/                              302 404 404 404 200 403 403 403
POST   datasets/<code:code>/replace/                              302 404 404 404 422 403 403 403
GET    datasets/<code:code>/replace/back/                         405 405 405 405 405 405 405 405
POST   datasets/<code:code>/replace/back/                         302 404 404 404 302 403 403 403
GET    datasets/<code:code>/replace/erase-earlier/                405 405 405 405 405 405 405 405
POST   datasets/<code:code>/replace/erase-earlier/                302 404 404 404 302 403 403 403
GET    datasets/<code:code>/delete/                               302 404 404 404 200 403 403 403
POST   datasets/<code:code>/delete/                               302 404 404 404 422 403 403 403
GET    datasets/<code:code>/retention/                            302 404 404 404 200 403 403 403
POST   datasets/<code:code>/retention/                            302 404 404 404 302 403 403 403
GET    datasets/<code:code>/                                      302 404 404 404 200 200 200 200
GET    datasets/<code:code>/runs/                                 302 404 404 404 200 200 200 200
GET    retention/                                                 302 200 403 403 200 200 200 200
GET    log-read/                                                  302 405 405 405 405 405 405 405
POST   log-read/                                                  302 403 403 403 403 403 302 302
GET    search/                                                    302 200 200 200 200 200 200 200
GET    docs/                                                      302 200 200 200 200 200 200 200
GET    docs/<path:slug>/                                          302 200 200 200 200 200 200 200
GET    account/login/                                             200 302 302 302 302 302 302 302
POST   account/login/                                             200 302 302 302 302 302 302 302
GET    account/login/code/                                        302 302 302 302 302 302 302 302
POST   account/login/code/                                        302 302 302 302 302 302 302 302
GET    account/login/provider/                                    404 404 404 404 404 404 404 404
GET    account/login/provider/return/                             404 404 404 404 404 404 404 404
GET    account/logout/                                            405 405 405 405 405 405 405 405
POST   account/logout/                                            302 302 302 302 302 302 302 302
GET    account/                                                   302 200 200 200 200 200 200 200
GET    account/reset/                                             200 200 200 200 200 200 200 200
POST   account/reset/                                             200 200 200 200 200 200 200 200
GET    account/reset/<uidb64>/<token>/                            200 200 200 200 200 200 200 200
POST   account/reset/<uidb64>/<token>/                            200 200 200 200 200 200 200 200
GET    account/second-factor/                                     302 200 200 200 200 200 200 200
GET    account/second-factor/app/                                 302 200 200 200 200 200 200 200
POST   account/second-factor/app/                                 302 200 200 200 200 200 200 200
GET    account/second-factor/passkey/                             302 200 200 200 200 200 200 200
POST   account/second-factor/passkey/                             302 200 200 200 200 200 200 200
GET    account/second-factor/passkeys/<slug:code>/remove/         405 405 405 405 405 405 405 405
POST   account/second-factor/passkeys/<slug:code>/remove/         302 404 404 404 302 404 404 404
GET    account/second-factor/codes/                               405 405 405 405 405 405 405 405
POST   account/second-factor/codes/                               302 302 302 302 200 302 302 302
GET    account/second-factor/remove/                              405 405 405 405 405 405 405 405
POST   account/second-factor/remove/                              302 302 302 302 302 302 302 302
GET    account/sessions/                                          302 200 200 200 200 200 200 200
GET    account/sessions/others/end/                               405 405 405 405 405 405 405 405
POST   account/sessions/others/end/                               302 302 302 302 302 302 302 302
GET    account/sessions/<slug:code>/end/                          405 405 405 405 405 405 405 405
POST   account/sessions/<slug:code>/end/                          302 404 404 404 404 404 404 404
GET    account/password/                                          302 200 200 200 200 200 200 200
POST   account/password/                                          302 200 200 200 200 200 200 200
GET    account/tokens/                                            302 200 200 200 200 200 200 200
POST   account/tokens/                                            302 200 200 200 200 200 200 200
GET    account/tokens/<slug:code>/revoke/                         405 405 405 405 405 405 405 405
POST   account/tokens/<slug:code>/revoke/                         302 404 404 404 302 404 404 404
GET    account/notifications/                                     302 200 200 200 200 200 200 200
POST   account/notifications/                                     302 200 200 200 200 200 200 200
GET    account/notifications/webhooks/                            302 200 200 200 200 200 200 200
POST   account/notifications/webhooks/                            302 200 200 200 200 200 200 200
GET    account/notifications/webhooks/<slug:code>/test/           405 405 405 405 405 405 405 405
POST   account/notifications/webhooks/<slug:code>/test/           302 404 404 404 302 404 404 404
GET    account/notifications/webhooks/<slug:code>/enable/         405 405 405 405 405 405 405 405
POST   account/notifications/webhooks/<slug:code>/enable/         302 404 404 404 302 404 404 404
GET    account/notifications/webhooks/<slug:code>/remove/         405 405 405 405 405 405 405 405
POST   account/notifications/webhooks/<slug:code>/remove/         302 404 404 404 302 404 404 404
GET    account/people/                                            302 403 403 403 403 403 403 200
POST   account/people/                                            302 403 403 403 403 403 403 200
GET    account/organisation/                                      302 403 403 403 403 403 403 200
POST   account/organisation/                                      302 403 403 403 403 403 403 302
GET    account/people/second-factor/                              405 405 405 405 405 405 405 405
POST   account/people/second-factor/                              302 403 403 403 403 403 403 302
GET    account/people/<int:pk>/                                   302 403 403 403 403 403 403 200
POST   account/people/<int:pk>/                                   302 403 403 403 403 403 403 200
GET    account/people/<int:pk>/second-factor/remove/              405 405 405 405 405 405 405 405
POST   account/people/<int:pk>/second-factor/remove/              302 403 403 403 403 403 403 302
GET    account/people/<int:pk>/active/                            405 405 405 405 405 405 405 405
POST   account/people/<int:pk>/active/                            302 403 403 403 403 403 403 302
GET    account/people/<int:pk>/one-time-password/                 405 405 405 405 405 405 405 405
POST   account/people/<int:pk>/one-time-password/                 302 403 403 403 403 403 403 200
GET    datasets/                                                  302 200 403 403 200 200 200 200
GET    datasets/templates/                                        302 200 403 403 200 403 403 403
GET    datasets/templates/<slug:code>/delete/                     405 405 405 405 405 405 405 405
POST   datasets/templates/<slug:code>/delete/                     302 404 403 403 302 403 403 403
GET    datasets/<slug:code>/describe/template/                    405 405 405 405 405 405 405 405
POST   datasets/<slug:code>/describe/template/                    302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/domain/<int:number>/template/         405 405 405 405 405 405 405 405
POST   datasets/<slug:code>/domain/<int:number>/template/         302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/describe/                             302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/describe/                             302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/describe/point/                       302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/describe/point/                       302 404 404 404 422 403 403 403
GET    datasets/<slug:code>/describe/evidence/                    405 405 405 405 405 405 405 405
POST   datasets/<slug:code>/describe/evidence/                    302 404 404 404 200 403 403 403
GET    datasets/<slug:code>/describe/rule-values/                 302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/describe/lists/                       302 404 404 404 302 403 403 403
POST   datasets/<slug:code>/describe/lists/                       302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/describe/import/                      405 405 405 405 405 405 405 405
POST   datasets/<slug:code>/describe/import/                      302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/describe/set/                         405 405 405 405 405 405 405 405
POST   datasets/<slug:code>/describe/set/                         302 404 404 404 200 403 403 403
GET    datasets/<slug:code>/describe/DOMAIN.json                  302 404 404 404 200 403 403 403
GET    datasets/<slug:code>/domain/<int:number>/                  302 404 404 404 200 200 200 200
GET    datasets/<slug:code>/domain/<int:number>/DOMAIN.json       302 404 404 404 200 200 200 200
GET    datasets/<slug:code>/domain/<int:number>/table-schema.json 302 404 404 404 200 200 200 200
GET    references/                                                302 200 403 403 200 200 200 200
GET    references/new/                                            302 200 403 403 200 403 403 403
POST   references/new/                                            302 422 403 403 422 403 403 403
GET    references/for/<slug:dataset_code>/                        302 404 404 404 200 403 403 403
POST   references/for/<slug:dataset_code>/                        302 404 404 404 422 403 403 403
GET    references/for/<slug:dataset_code>/forget/                 405 405 405 405 405 405 405 405
POST   references/for/<slug:dataset_code>/forget/                 302 404 404 404 302 403 403 403
GET    references/<slug:code>/                                    302 404 404 404 200 200 200 200
GET    references/<slug:code>/version/                            302 404 404 404 200 403 403 403
POST   references/<slug:code>/version/                            302 404 404 404 422 403 403 403
GET    references/<slug:code>/delete/                             405 405 405 405 405 405 405 405
POST   references/<slug:code>/delete/                             302 404 404 404 302 403 403 403
GET    releases/                                                  302 200 200 200 200 200 200 200
GET    releases/verify_receipt.py                                 302 200 200 200 200 200 200 200
GET    public/language/                                           302 302 302 302 302 302 302 302
POST   public/language/                                           302 302 302 302 302 302 302 302
GET    public/<slug:token>/                                       200 200 200 200 200 200 200 200
GET    public/<slug:token>/report.html                            200 200 200 200 200 200 200 200
GET    public/<slug:token>/bundle.zip                             200 200 200 200 200 200 200 200
GET    public/<slug:token>/table.csv                              200 200 200 200 200 200 200 200
GET    releases/public-links/                                     302 200 403 403 200 200 200 200
GET    releases/public-links/allow/                               302 405 405 405 405 405 405 405
POST   releases/public-links/allow/                               302 403 403 403 403 302 403 403
GET    releases/<slug:code>/public-links/                         302 405 405 405 405 405 405 405
POST   releases/<slug:code>/public-links/                         302 404 404 403 422 403 403 403
GET    releases/<slug:code>/public-links/<slug:link>/revoke/      302 405 405 405 405 405 405 405
POST   releases/<slug:code>/public-links/<slug:link>/revoke/      302 404 404 403 302 403 403 403
GET    releases/side-by-side/                                     302 200 200 200 200 200 200 200
GET    releases/<slug:code>/                                      302 404 404 200 200 200 200 200
GET    releases/<slug:code>/describe/                             302 404 404 403 200 403 403 403
POST   releases/<slug:code>/describe/                             302 404 404 403 200 403 403 403
GET    releases/<slug:code>/about/                                302 404 404 200 200 200 200 200
GET    releases/<slug:code>/allowances/                           302 404 404 403 200 200 403 403
GET    releases/<slug:code>/database-files/                       302 404 404 404 404 403 403 403
GET    releases/<slug:code>/database-measured/                    302 404 404 404 404 403 403 403
GET    releases/<slug:code>/look/                                 302 404 404 200 200 403 403 403
GET    releases/<slug:code>/database/                             302 404 404 404 404 403 403 403
GET    releases/<slug:code>/database/schema.sql                   302 404 404 404 404 403 403 403
GET    releases/<slug:code>/database/tables.<slug:form>           302 404 404 404 404 403 403 403
GET    releases/<slug:code>/recreate.py                           302 404 404 200 200 403 403 403
GET    releases/<slug:code>/network/                              302 404 404 200 200 200 200 200
GET    releases/<slug:code>/measured/                             302 404 404 200 200 200 200 200
GET    releases/<slug:code>/expected/                             302 404 404 200 200 403 403 403
GET    releases/<slug:code>/marginals/                            302 404 404 200 200 403 403 403
GET    releases/<slug:code>/fits/                                 302 404 404 200 200 403 403 403
GET    releases/<slug:code>/criteria/                             302 404 404 200 200 403 403 403
GET    releases/<slug:code>/paid/                                 302 404 404 200 200 403 403 403
GET    releases/<slug:code>/paid/<slug:check_code>/receipt.json   302 404 404 200 200 403 403 403
GET    releases/<slug:code>/paid/<slug:check_code>/void/          302 405 405 405 405 405 405 405
POST   releases/<slug:code>/paid/<slug:check_code>/void/          302 404 404 403 302 403 403 403
GET    releases/<slug:code>/paid/new/                             302 404 404 403 200 403 403 403
POST   releases/<slug:code>/paid/new/                             302 404 404 403 200 403 403 403
GET    releases/<slug:code>/validation/                           302 404 404 200 200 200 200 200
GET    releases/<slug:code>/validation/new/                       302 404 404 200 403 403 403 403
POST   releases/<slug:code>/validation/new/                       302 404 404 200 403 403 403 403
GET    releases/<slug:code>/validation/allow/                     302 405 405 405 405 405 405 405
POST   releases/<slug:code>/validation/allow/                     302 404 404 403 422 422 403 403
GET    releases/<slug:code>/validation/<slug:allowance>/end/      302 405 405 405 405 405 405 405
POST   releases/<slug:code>/validation/<slug:allowance>/end/      302 404 404 403 302 302 403 403
GET releases/<slug:code>/validation/<slug:validation>/receipt.json 302 404 404 200 200 403 403 403
GET    releases/<slug:code>/quality/                              302 404 404 200 200 403 403 403
GET    releases/<slug:code>/groups/                               302 404 404 200 200 403 403 403
GET    releases/<slug:code>/groups.csv                            302 404 404 404 404 403 403 403
GET    releases/<slug:code>/tree/                                 302 404 404 200 200 403 403 403
GET    releases/<slug:code>/tree.csv                              302 404 404 404 404 403 403 403
GET    releases/<slug:code>/map/                                  302 404 404 200 200 403 403 403
GET    releases/<slug:code>/map/<slug:sheet>.csv                  302 404 404 404 404 403 403 403
GET    releases/<slug:code>/compare/map/                          302 404 404 403 302 403 403 403
GET    releases/<slug:code>/compare/map/<slug:sheet>.csv          302 404 404 403 404 403 403 403
GET    releases/<slug:code>/compare/                              302 404 404 403 200 403 403 403
GET    releases/<slug:code>/compare/all/                          302 404 404 403 200 403 403 403
GET    releases/<slug:code>/compare/part/<slug:key>/              302 404 404 403 200 403 403 403
GET    releases/<slug:code>/compare/report.json                   302 404 404 403 200 403 403 403
GET    releases/<slug:code>/samples/                              302 404 404 200 200 403 403 403
POST   releases/<slug:code>/samples/                              302 404 404 200 200 403 403 403
GET    releases/<slug:code>/samples/<slug:sample_code>/           302 404 404 200 404 403 403 403
GET    releases/<slug:code>/samples/<slug:sample_code>/progress/  302 404 404 200 404 403 403 403
GET    releases/<slug:code>/samples/<slug:sample_code>/table.csv  302 404 404 200 404 403 403 403
GET releases/<slug:code>/samples/<slug:sample_code>/table.parquet 302 404 404 200 404 403 403 403
GET    releases/<slug:code>/samples/<slug:sample_code>/table.xlsx 302 404 404 200 404 403 403 403
GET releases/<slug:code>/samples/<slug:sample_code>/receipt.json  302 404 404 200 404 403 403 403
GET    releases/<slug:code>/repaired/                             302 404 404 200 200 403 403 403
POST   releases/<slug:code>/repaired/                             302 404 404 403 422 403 403 403
GET    releases/<slug:code>/repaired/<slug:repaired_code>/        302 404 404 200 200 403 403 403
GET releases/<slug:code>/repaired/<slug:repaired_code>/table.csv  302 404 404 200 200 403 403 403
GET releases/<slug:code>/repaired/<slug:repaired_code>/table.parquet 302 404 404 200 200 403 403 403
GET releases/<slug:code>/repaired/<slug:repaired_code>/receipt.json 302 404 404 200 200 403 403 403
GET    releases/<slug:code>/repaired/<slug:repaired_code>/delete/ 302 405 405 405 405 405 405 405
POST   releases/<slug:code>/repaired/<slug:repaired_code>/delete/ 302 404 404 403 302 403 403 403
GET    releases/<slug:code>/description/                          302 404 404 200 200 403 403 403
POST   releases/<slug:code>/description/                          302 404 404 403 422 403 403 403
GET    releases/<slug:code>/description.json                      302 404 404 200 200 403 403 403
GET    releases/<slug:code>/description/<slug:edition>.json       302 404 404 200 200 403 403 403
GET    releases/<slug:code>/dictionary.json                       302 404 404 200 200 200 200 200
GET    releases/<slug:code>/dictionary.csv                        302 404 404 200 200 200 200 200
GET    releases/<slug:code>/share/                                302 404 404 403 200 403 403 403
POST   releases/<slug:code>/share/                                302 404 404 403 200 403 403 403
GET    releases/<slug:code>/share/<int:grant>/revoke/             302 405 405 405 405 405 405 405
POST   releases/<slug:code>/share/<int:grant>/revoke/             302 404 404 403 302 403 403 403
GET    releases/<slug:code>/licence/                              302 405 405 405 405 405 405 405
POST   releases/<slug:code>/licence/                              302 404 404 403 302 403 403 403
GET    releases/<slug:code>/receipt/                              302 404 404 200 200 200 200 200
GET    releases/<slug:code>/receipt/verification/                 302 404 404 200 200 200 200 200
GET    releases/<slug:code>/receipt/loss.csv                      302 404 404 200 200 200 200 200
GET    releases/<slug:code>/receipt/loss.svg                      302 404 404 200 200 200 200 200
GET    releases/<slug:code>/files/                                302 404 404 200 200 403 403 403
GET    releases/<slug:code>/report.html                           302 404 404 200 200 403 403 403
GET    releases/<slug:code>/report.json                           302 404 404 200 200 403 403 403
GET    releases/<slug:code>/datacite.json                         302 404 404 200 200 403 403 403
GET    releases/<slug:code>/bundle.zip                            302 404 404 200 200 403 403 403
GET    releases/<slug:code>/implicates.zip                        302 404 404 200 200 403 403 403
GET    releases/<slug:code>/implicates/making/                    302 404 404 302 302 403 403 403
POST   releases/<slug:code>/implicates/making/                    302 404 404 302 302 403 403 403
GET    releases/<slug:code>/bought/<slug:purchase>/receipt.json   302 404 404 404 404 404 404 404
GET    releases/<slug:code>/receipt.json                          302 404 404 200 200 200 200 200
GET    releases/<slug:code>/marks-head.json                       302 404 404 200 200 200 200 200
GET    runs/                                                      302 200 403 403 200 200 200 200
GET    runs/notice/                                               302 302 403 403 302 403 403 403
GET    runs/seen/                                                 302 405 405 405 405 405 405 405
POST   runs/seen/                                                 302 302 403 403 302 403 403 403
GET    runs/<slug:code>/                                          302 404 404 404 200 200 200 200
GET    runs/<slug:code>/choices.json                              302 404 404 404 200 200 200 200
GET    runs/<slug:code>/cancel/                                   302 404 404 404 200 403 403 403
POST   runs/<slug:code>/cancel/                                   302 404 404 404 302 403 403 403
GET    runs/<slug:code>/resume/                                   302 405 405 405 405 405 405 405
POST   runs/<slug:code>/resume/                                   302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/releases/new/                         302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/releases/new/                         302 404 404 404 200 403 403 403
GET    datasets/<slug:code>/releases/new/estimate/                302 405 405 405 405 405 405 405
POST   datasets/<slug:code>/releases/new/estimate/                302 404 404 404 200 403 403 403
GET    datasets/<slug:code>/learn/                                302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/learn/                                302 404 404 404 200 403 403 403
GET    datasets/<slug:code>/tables/                               302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/tables/                               302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/tables/document/                      302 405 405 405 405 405 405 405
POST   datasets/<slug:code>/tables/document/                      302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/tables/check/                         302 405 405 405 405 405 405 405
POST   datasets/<slug:code>/tables/check/                         302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/tables/lookups/                       302 405 405 405 405 405 405 405
POST   datasets/<slug:code>/tables/lookups/                       302 404 404 404 422 403 403 403
GET    datasets/<slug:code>/tables/lookups/<int:number>/remove/   302 405 405 405 405 405 405 405
POST   datasets/<slug:code>/tables/lookups/<int:number>/remove/   302 404 404 404 302 403 403 403
GET    datasets/<slug:code>/tables/<slug:table>/remove/           302 405 405 405 405 405 405 405
POST   datasets/<slug:code>/tables/<slug:table>/remove/           302 404 404 404 404 403 403 403
GET    datasets/<slug:code>/tables/release/                       302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/tables/release/                       302 404 404 404 200 403 403 403
GET    datasets/<slug:code>/links/new/                            302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/links/new/                            302 404 404 404 422 403 403 403
GET    datasets/<slug:code>/filled-counts/new/                    302 404 404 404 200 403 403 403
POST   datasets/<slug:code>/filled-counts/new/                    302 404 404 404 422 403 403 403
GET    filled-counts/                                             302 200 200 200 200 200 200 200
GET    filled-counts/<slug:code>/                                 302 404 404 404 200 200 200 200
GET    filled-counts/<slug:code>/approve/                         302 405 405 405 405 405 405 405
POST   filled-counts/<slug:code>/approve/                         302 404 404 404 403 422 403 403
GET    filled-counts/<slug:code>/refuse/                          302 405 405 405 405 405 405 405
POST   filled-counts/<slug:code>/refuse/                          302 404 404 404 403 422 403 403
GET    filled-counts/<slug:code>/withdraw/                        302 405 405 405 405 405 405 405
POST   filled-counts/<slug:code>/withdraw/                        302 404 404 404 302 403 403 403
GET    filled-counts/<slug:code>/counts.<slug:kind>               302 404 404 404 404 404 404 404
GET    links/                                                     302 200 403 403 200 200 200 200
GET    links/join/                                                302 200 403 403 200 403 403 403
POST   links/join/                                                302 422 403 403 422 403 403 403
GET    links/<slug:code>/                                         302 404 404 404 200 200 200 200
GET    links/<slug:code>/invite/                                  302 405 405 405 405 405 405 405
POST   links/<slug:code>/invite/                                  302 404 404 404 200 403 403 403
GET    links/<slug:code>/start/                                   302 405 405 405 405 405 405 405
POST   links/<slug:code>/start/                                   302 404 404 404 302 403 403 403
GET    links/<slug:code>/withdraw/                                302 405 405 405 405 405 405 405
POST   links/<slug:code>/withdraw/                                302 404 404 404 302 403 403 403
GET    links/<slug:code>/release/                                 302 405 405 405 405 405 405 405
POST   links/<slug:code>/release/                                 302 404 404 404 302 403 403 403
GET    links/<slug:code>/tables.zip                               302 404 404 404 302 403 403 403
GET    links/<slug:code>/files/<slug:name>.json                   302 404 404 404 200 200 200 200
GET    releases/<slug:code>/report/                               302 404 404 403 302 403 403 403
POST   releases/<slug:code>/report/                               302 404 404 403 302 403 403 403
GET    releases/<slug:code>/marginals.csv                         302 404 404 200 200 403 403 403
GET    releases/<slug:code>/marginals.parquet                     302 404 404 200 200 403 403 403
GET    releases/<slug:code>/expected/making/                      302 404 404 302 302 403 403 403
POST   releases/<slug:code>/expected/making/                      302 404 404 302 302 403 403 403
GET    releases/<slug:code>/marginals/making/                     302 404 404 302 302 403 403 403
POST   releases/<slug:code>/marginals/making/                     302 404 404 302 302 403 403 403
GET    ledger/                                                    302 200 403 403 200 200 200 200
GET    ledger/rho/                                                405 405 405 405 405 405 405 405
POST   ledger/rho/                                                302 403 403 403 403 302 403 403
GET    ledger/audit/                                              302 403 403 403 403 403 200 200
GET    ledger/audit/chain/                                        302 403 403 403 403 403 200 200
GET    ledger/audit/entries.<export_kind:kind>                    302 403 403 403 403 403 200 200
GET    ledger/audit/real-rows/                                    302 200 403 403 200 403 200 200
GET    ledger/audit/real-rows/entries.<export_kind:kind>          302 200 403 403 200 403 200 200
GET    ledger/audit/datasets/<slug:code>/                         302 404 404 404 200 403 200 200
GET ledger/audit/datasets/<slug:code>/entries.<export_kind:kind>  302 404 404 404 200 403 200 200
GET    ledger/audit/people/<str:username>/                        302 404 403 200 403 403 200 200
GET ledger/audit/people/<str:username>/entries.<export_kind:kind> 302 404 403 200 403 403 200 200
GET    ledger/audit/head.json                                     302 403 403 403 403 403 200 200
GET    ledger/audit/ledger-and-audit.json                         302 403 403 403 403 403 200 200
GET    ledger/signing.pub                                         302 200 200 200 200 200 200 200
GET    ledger/verify_ledger.py                                    302 200 200 200 200 200 200 200
GET    ledger/ask/<slug:dataset_code>/                            302 404 404 404 200 403 403 403
POST   ledger/ask/<slug:dataset_code>/                            302 404 404 404 200 403 403 403
GET    ledger/requests/<slug:code>/                               302 404 403 403 200 200 200 200
GET    ledger/requests/<slug:code>/accuracy/                      302 404 403 403 200 200 200 200
GET    ledger/requests/<slug:code>/grant/                         405 405 405 405 405 405 405 405
POST   ledger/requests/<slug:code>/grant/                         302 404 403 403 403 422 403 403
GET    ledger/requests/<slug:code>/refuse/                        405 405 405 405 405 405 405 405
POST   ledger/requests/<slug:code>/refuse/                        302 404 403 403 403 422 403 403
GET    ledger/accounts/<slug:code>/                               302 404 403 403 200 200 200 200
GET    ledger/accounts/<slug:code>/yearly-limit/                  405 405 405 405 405 405 405 405
POST   ledger/accounts/<slug:code>/yearly-limit/                  302 404 403 403 403 302 403 403
GET    ledger/accounts/<slug:code>/earmark/                       405 405 405 405 405 405 405 405
POST   ledger/accounts/<slug:code>/earmark/                       302 404 403 403 403 422 403 403
GET    ledger/accounts/<slug:code>/earmarks/<slug:earmark>/end/   405 405 405 405 405 405 405 405
POST   ledger/accounts/<slug:code>/earmarks/<slug:earmark>/end/   302 404 403 403 403 302 403 403
GET    ledger/accounts/<slug:code>/plans/new/                     302 404 403 403 403 200 403 403
POST   ledger/accounts/<slug:code>/plans/new/                     302 404 403 403 403 422 403 403
GET    ledger/accounts/<slug:code>/plans/<slug:plan>/             302 404 403 403 200 200 200 200
GET    ledger/accounts/<slug:code>/plans/<slug:plan>/years.csv    302 404 403 403 200 200 200 200
GET    ledger/accounts/<slug:code>/plans/<slug:plan>/change/      302 404 403 403 403 200 403 403
POST   ledger/accounts/<slug:code>/plans/<slug:plan>/change/      302 404 403 403 403 422 403 403
GET    ledger/accounts/<slug:code>/chain/                         302 404 403 403 200 200 200 200
GET    ledger/accounts/<slug:code>/head.json                      302 404 403 403 200 200 200 200
GET    ledger/accounts/<slug:code>/entries.<export_kind:kind>     302 404 403 403 200 200 200 200
GET    api/v1/me/                                                 401 200 200 200 200 200 200 200
GET    api/v1/me/history/                                         401 200 200 200 200 200 200 200
GET    api/v1/organisation/                                       401 403 403 403 403 403 403 200
PUT    api/v1/organisation/                                       401 403 403 403 403 403 403 200
GET    api/v1/people/second-factor/                               401 403 403 403 403 403 403 200
PUT    api/v1/people/second-factor/                               401 403 403 403 403 403 403 200
GET    api/v1/mechanisms/                                         401 200 200 200 200 200 200 200
GET    api/v1/datasets/                                           401 200 403 403 200 200 200 200
POST   api/v1/datasets/                                           401 400 403 403 400 403 403 403
GET    api/v1/datasets/<slug:code>/                               401 404 404 404 200 200 200 200
GET    api/v1/datasets/<slug:code>/tables/                        401 404 404 404 200 403 403 403
POST   api/v1/datasets/<slug:code>/tables/                        401 404 404 404 409 403 403 403
GET    api/v1/datasets/<slug:code>/tables/document/               401 405 405 405 405 405 405 405
PUT    api/v1/datasets/<slug:code>/tables/document/               401 404 404 404 422 403 403 403
GET    api/v1/datasets/<slug:code>/tables/runs/                   401 405 405 405 405 405 405 405
POST   api/v1/datasets/<slug:code>/tables/runs/                   401 404 404 404 409 403 403 403
GET    api/v1/datasets/<slug:code>/learned/                       401 404 404 404 200 200 200 200
POST   api/v1/datasets/<slug:code>/learned/                       401 404 404 404 422 403 403 403
GET    api/v1/datasets/<slug:code>/domain/                        401 404 404 404 200 200 200 200
PUT    api/v1/datasets/<slug:code>/domain/                        401 404 404 404 201 403 403 403
GET    api/v1/datasets/<slug:code>/domain/draft/                  401 404 404 404 200 403 403 403
POST   api/v1/datasets/<slug:code>/domain/draft/                  401 404 404 404 200 403 403 403
POST   api/v1/datasets/<slug:code>/domain/draft/template/         401 404 404 404 200 403 403 403
GET    api/v1/datasets/<slug:code>/domain/draft/reference/        401 405 405 405 405 405 405 405
POST   api/v1/datasets/<slug:code>/domain/draft/reference/        401 404 404 404 200 403 403 403
GET    api/v1/references/                                         401 200 403 403 200 200 200 200
POST   api/v1/references/                                         401 400 403 403 400 403 403 403
GET    api/v1/references/<slug:code>/                             401 404 404 404 200 200 200 200
DELETE api/v1/references/<slug:code>/                             401 404 404 404 204 403 403 403
GET    api/v1/references/<slug:code>/versions/                    401 405 405 405 405 405 405 405
POST   api/v1/references/<slug:code>/versions/                    401 404 404 404 400 403 403 403
GET    api/v1/references/<slug:code>/versions/<int:number>/       401 404 404 404 200 200 200 200
GET    api/v1/description-templates/                              401 200 403 403 200 403 403 403
POST   api/v1/description-templates/                              401 404 404 404 201 403 403 403
GET    api/v1/datasets/<slug:code>/domain/<int:number>/           401 404 404 404 200 200 200 200
GET api/v1/datasets/<slug:code>/domain/<int:number>/table-schema/ 401 404 404 404 200 200 200 200
PATCH  api/v1/datasets/<slug:code>/                               401 404 404 404 200 403 403 403
DELETE api/v1/datasets/<slug:code>/                               401 404 404 404 409 403 403 403
GET    api/v1/datasets/<slug:code>/file/                          401 405 405 405 405 405 405 405
PUT    api/v1/datasets/<slug:code>/file/                          401 404 404 404 415 403 403 403
GET    api/v1/datasets/<slug:code>/form/                          401 405 405 405 405 405 405 405
PUT    api/v1/datasets/<slug:code>/form/                          401 404 404 404 409 403 403 403
GET    api/v1/datasets/<slug:code>/go-back/                       401 405 405 405 405 405 405 405
POST   api/v1/datasets/<slug:code>/go-back/                       401 404 404 404 409 403 403 403
GET    api/v1/datasets/<slug:code>/erase-earlier/                 401 405 405 405 405 405 405 405
POST   api/v1/datasets/<slug:code>/erase-earlier/                 401 404 404 404 409 403 403 403
GET    api/v1/datasets/<slug:code>/read-again/                    401 405 405 405 405 405 405 405
POST   api/v1/datasets/<slug:code>/read-again/                    401 404 404 404 202 403 403 403
GET    api/v1/datasets/<slug:code>/history/                       401 404 404 404 200 403 200 200
GET    api/v1/budget-requests/                                    401 200 403 403 200 200 200 200
POST   api/v1/budget-requests/                                    401 404 403 403 201 403 403 403
GET    api/v1/budget-requests/<slug:code>/                        401 404 403 403 200 200 200 200
GET    api/v1/budget-requests/<slug:code>/grant/                  401 405 405 405 405 405 405 405
POST   api/v1/budget-requests/<slug:code>/grant/                  401 404 403 403 403 200 403 403
GET    api/v1/budget-requests/<slug:code>/refuse/                 401 405 405 405 405 405 405 405
POST   api/v1/budget-requests/<slug:code>/refuse/                 401 404 403 403 403 200 403 403
GET    api/v1/accounts/                                           401 200 403 403 200 200 200 200
GET    api/v1/accounts/<slug:code>/                               401 404 403 403 200 200 200 200
GET    api/v1/accounts/<slug:code>/entries/                       401 404 403 403 200 200 200 200
GET    api/v1/accounts/<slug:code>/entries.json                   401 404 403 403 200 200 200 200
GET    api/v1/accounts/<slug:code>/entries.csv                    401 404 403 403 200 200 200 200
GET    api/v1/accounts/<slug:code>/head/                          401 404 403 403 200 200 200 200
GET    api/v1/accounts/<slug:code>/plans/                         401 404 403 403 200 200 200 200
POST   api/v1/accounts/<slug:code>/plans/                         401 404 403 403 403 201 403 403
GET    api/v1/accounts/<slug:code>/plans/<slug:plan>/             401 404 403 403 200 200 200 200
PATCH  api/v1/accounts/<slug:code>/plans/<slug:plan>/             401 404 403 403 403 200 403 403
GET    api/v1/audit/                                              401 403 403 403 403 403 200 200
GET    api/v1/audit/real-rows/                                    401 200 403 403 200 403 200 200
GET    api/v1/audit/head/                                         401 403 403 403 403 403 200 200
GET    api/v1/audit/entries.json                                  401 403 403 403 403 403 200 200
GET    api/v1/audit/entries.csv                                   401 403 403 403 403 403 200 200
GET    api/v1/audit/ledger-and-audit.json                         401 403 403 403 403 403 200 200
GET    api/v1/signing.pub                                         401 200 200 200 200 200 200 200
GET    api/v1/verify_ledger.py                                    401 200 200 200 200 200 200 200
GET    api/v1/forecasts/                                          401 405 405 405 405 405 405 405
POST   api/v1/forecasts/                                          401 404 403 403 200 403 403 403
GET    api/v1/runs/                                               401 200 403 403 200 200 200 200
POST   api/v1/runs/                                               401 404 403 403 202 403 403 403
GET    api/v1/runs/<slug:code>/                                   401 404 404 404 200 200 200 200
GET    api/v1/runs/<slug:code>/cancel/                            401 405 405 405 405 405 405 405
POST   api/v1/runs/<slug:code>/cancel/                            401 404 404 404 200 403 403 403
GET    api/v1/runs/<slug:code>/resume/                            401 405 405 405 405 405 405 405
POST   api/v1/runs/<slug:code>/resume/                            401 404 404 404 409 403 403 403
GET    api/v1/runs/<slug:code>/log/                               401 404 404 404 200 200 200 200
GET    api/v1/uploads/                                            401 200 403 403 200 403 403 403
POST   api/v1/uploads/                                            401 201 403 403 201 403 403 403
GET    api/v1/uploads/<slug:code>/                                401 404 403 403 200 403 403 403
PATCH  api/v1/uploads/<slug:code>/                                401 404 403 403 204 403 403 403
DELETE api/v1/uploads/<slug:code>/                                401 404 403 403 204 403 403 403
POST   api/v1/uploads/<slug:code>/                                401 404 403 403 405 403 403 403
GET    api/v1/uploads/<slug:code>/dataset/                        401 405 405 405 405 405 405 405
POST   api/v1/uploads/<slug:code>/dataset/                        401 404 403 403 409 403 403 403
GET    api/v1/uploads/<slug:code>/replace/                        401 405 405 405 405 405 405 405
POST   api/v1/uploads/<slug:code>/replace/                        401 404 403 403 409 403 403 403
GET    api/v1/filled-counts/                                      401 200 200 200 200 200 200 200
POST   api/v1/filled-counts/                                      401 404 404 404 409 403 403 403
GET    api/v1/filled-counts/plan/                                 401 405 405 405 405 405 405 405
POST   api/v1/filled-counts/plan/                                 401 404 404 404 409 403 403 403
GET    api/v1/filled-counts/<slug:code>/                          401 404 404 404 200 200 200 200
GET    api/v1/filled-counts/<slug:code>/approve/                  401 405 405 405 405 405 405 405
POST   api/v1/filled-counts/<slug:code>/approve/                  401 404 404 404 403 409 403 403
GET    api/v1/filled-counts/<slug:code>/refuse/                   401 405 405 405 405 405 405 405
POST   api/v1/filled-counts/<slug:code>/refuse/                   401 404 404 404 403 200 403 403
GET    api/v1/filled-counts/<slug:code>/withdraw/                 401 405 405 405 405 405 405 405
POST   api/v1/filled-counts/<slug:code>/withdraw/                 401 404 404 404 200 403 403 403
GET    api/v1/links/                                              401 200 403 403 200 200 200 200
POST   api/v1/links/                                              401 404 403 403 201 403 403 403
GET    api/v1/links/invitation/                                   401 405 405 405 405 405 405 405
POST   api/v1/links/invitation/                                   401 404 403 403 404 403 403 403
GET    api/v1/links/agreement/                                    401 405 405 405 405 405 405 405
POST   api/v1/links/agreement/                                    401 404 403 403 404 403 403 403
GET    api/v1/links/accept/                                       401 405 405 405 405 405 405 405
POST   api/v1/links/accept/                                       401 404 403 403 404 403 403 403
GET    api/v1/links/<slug:code>/                                  401 404 404 404 200 200 200 200
GET    api/v1/links/<slug:code>/invitation/                       401 405 405 405 405 405 405 405
POST   api/v1/links/<slug:code>/invitation/                       401 404 404 404 200 403 403 403
GET    api/v1/links/<slug:code>/start/                            401 405 405 405 405 405 405 405
POST   api/v1/links/<slug:code>/start/                            401 404 404 404 409 403 403 403
GET    api/v1/links/<slug:code>/withdraw/                         401 405 405 405 405 405 405 405
POST   api/v1/links/<slug:code>/withdraw/                         401 404 404 404 200 403 403 403
GET    api/v1/links/<slug:code>/release/                          401 405 405 405 405 405 405 405
PUT    api/v1/links/<slug:code>/release/                          401 404 404 404 200 403 403 403
GET    api/v1/links/<slug:code>/tables.zip                        401 404 404 404 409 403 403 403
GET    api/v1/links/<slug:code>/files/<slug:name>/                401 404 404 404 200 200 200 200
GET    api/v1/releases/                                           401 200 200 200 200 200 200 200
GET    api/v1/releases/<slug:code>/                               401 404 404 200 200 200 200 200
PATCH  api/v1/releases/<slug:code>/                               401 404 404 403 200 403 403 403
GET    api/v1/releases/<slug:code>/licence/                       401 405 405 405 405 405 405 405
PUT    api/v1/releases/<slug:code>/licence/                       401 404 404 403 200 403 403 403
GET    api/v1/releases/<slug:code>/expected/                      401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/expected-errors/               401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/fit/                           401 404 404 422 422 403 403 403
GET    api/v1/releases/<slug:code>/marginals/                     401 404 404 422 422 403 403 403
GET    api/v1/releases/<slug:code>/marginals.csv                  401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/marginals.parquet              401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/report.html                    401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/report.json                    401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/datacite.json                  401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/tables/                        401 404 404 404 404 403 403 403
GET    api/v1/releases/<slug:code>/tables.zip                     401 404 404 404 404 403 403 403
GET    api/v1/releases/<slug:code>/bundle.zip                     401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/criteria/                      401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/paid/                          401 404 404 200 200 403 403 403
POST   api/v1/releases/<slug:code>/paid/                          401 404 404 403 202 403 403 403
POST   api/v1/releases/<slug:code>/paid/price/                    401 404 404 403 200 403 403 403
GET api/v1/releases/<slug:code>/paid/<slug:check_code>/receipt/   401 404 404 200 200 403 403 403
POST   api/v1/releases/<slug:code>/paid/<slug:check_code>/void/   401 404 404 403 201 403 403 403
GET    api/v1/releases/<slug:code>/implicates.zip                 401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/allowances/                    401 404 404 200 200 200 200 200
POST   api/v1/releases/<slug:code>/allowances/                    401 404 404 403 201 201 403 403
GET    api/v1/releases/<slug:code>/allowances/<slug:allowance>/   401 405 405 405 405 405 405 405
DELETE api/v1/releases/<slug:code>/allowances/<slug:allowance>/   401 404 404 403 204 204 403 403
GET    api/v1/releases/<slug:code>/validations/                   401 404 404 200 200 200 200 200
POST   api/v1/releases/<slug:code>/validations/                   401 404 404 202 403 403 403 403
POST   api/v1/releases/<slug:code>/validations/price/             401 404 404 200 403 403 403 403
GET    api/v1/releases/<slug:code>/validations/<slug:validation>/ 401 404 404 200 200 200 200 200
GET api/v1/releases/<slug:code>/validations/<slug:validation>/receipt/ 401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/first-rows/                    401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/model/                         401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/recreate.py                    401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/network/                       401 404 404 404 404 404 404 404
GET    api/v1/releases/<slug:code>/verification/                  401 404 404 200 200 200 200 200
GET    api/v1/releases/<slug:code>/receipt/                       401 404 404 200 200 200 200 200
GET    api/v1/releases/<slug:code>/marks/                         401 404 404 200 200 200 200 200
GET    api/v1/releases/<slug:code>/dictionary/                    401 404 404 200 200 200 200 200
GET    api/v1/releases/<slug:code>/description/                   401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/editions/                      401 404 404 200 200 403 403 403
POST   api/v1/releases/<slug:code>/editions/                      401 404 404 403 201 403 403 403
GET    api/v1/releases/<slug:code>/editions/<slug:edition>/       401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/samples/                       401 404 404 200 200 403 403 403
POST   api/v1/releases/<slug:code>/samples/                       401 404 404 201 201 403 403 403
GET    api/v1/releases/<slug:code>/repaired/                      401 404 404 200 200 403 403 403
POST   api/v1/releases/<slug:code>/repaired/                      401 404 404 403 201 403 403 403
GET    api/v1/releases/<slug:code>/repaired/<slug:repaired_code>/ 401 404 404 200 200 403 403 403
DELETE api/v1/releases/<slug:code>/repaired/<slug:repaired_code>/ 401 404 404 403 204 403 403 403
GET api/v1/releases/<slug:code>/repaired/<slug:repaired_code>/table.csv 401 404 404 200 200 403 403 403
GET api/v1/releases/<slug:code>/repaired/<slug:repaired_code>/table.parquet 401 404 404 200 200 403 403 403
GET    api/v1/releases/<slug:code>/grants/                        401 404 404 403 200 403 403 403
POST   api/v1/releases/<slug:code>/grants/                        401 404 404 403 201 403 403 403
GET    api/v1/releases/<slug:code>/grants/<str:username>/         401 405 405 405 405 405 405 405
DELETE api/v1/releases/<slug:code>/grants/<str:username>/         401 404 404 403 204 403 403 403
GET    api/v1/samples/<slug:code>/                                401 404 404 200 404 404 404 404
GET    api/v1/samples/<slug:code>/receipt/                        401 404 404 200 404 404 404 404
GET    api/v1/samples/<slug:code>/table.csv                       401 404 404 200 404 404 404 404
GET    api/v1/samples/<slug:code>/table.parquet                   401 404 404 200 404 404 404 404
GET    api/v1/samples/<slug:code>/table.xlsx                      401 404 404 200 404 404 404 404
GET    api/v1/webhooks/                                           401 200 200 200 200 200 200 200
POST   api/v1/webhooks/                                           401 201 201 201 201 201 201 201
GET    api/v1/webhooks/<slug:code>/                               401 404 404 404 200 404 404 404
DELETE api/v1/webhooks/<slug:code>/                               401 404 404 404 204 404 404 404
GET    api/v1/webhooks/<slug:code>/test/                          401 405 405 405 405 405 405 405
POST   api/v1/webhooks/<slug:code>/test/                          401 404 404 404 202 404 404 404
GET    api/v1/webhooks/<slug:code>/enable/                        401 405 405 405 405 405 405 405
POST   api/v1/webhooks/<slug:code>/enable/                        401 404 404 404 200 404 404 404
GET    api/v1/schema/                                             401 200 200 200 200 200 200 200
GET    api/v1/docs/                                               302 200 200 200 200 200 200 200
GET    api/v1/^(?P<path>(?s:.*))$                                 404 404 404 404 404 404 404 404
POST   api/v1/^(?P<path>(?s:.*))$                                 404 404 404 404 404 404 404 404
GET    language/                                                  302 302 302 302 302 302 302 302
POST   language/                                                  302 302 302 302 302 302 302 302
GET    livez                                                      200 200 200 200 200 200 200 200
GET    readyz                                                     200 200 200 200 200 200 200 200
GET    metrics                                                    404 404 404 404 404 404 404 404
GET    favicon.ico                                                302 302 302 302 302 302 302 302
"""
SIGN_IN_REQUIRED = (302, 401)
BODIES: dict[str, Callable[[Scene, Cast], dict[str, Any]]] = {
    "POST api/v1/runs/": lambda played, _: {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    },
    "POST api/v1/forecasts/": lambda played, _: {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    },
    "PUT api/v1/organisation/": lambda *_: {"contact": "data@office.example"},
    "PUT api/v1/people/second-factor/": lambda *_: {"required": False},
    "POST api/v1/budget-requests/": lambda played, _: {
        "dataset": played.dataset.code,
        "rule": "basic",
        "epsilon": 1,
        "reason": "More.",
    },
    "POST api/v1/budget-requests/<slug:code>/grant/": lambda *_: {"reason": "Agreed."},
    "POST api/v1/budget-requests/<slug:code>/refuse/": lambda *_: {"reason": "No."},
    "POST api/v1/releases/<slug:code>/samples/": lambda *_: {"rows": 3},
    "POST api/v1/releases/<slug:code>/repaired/": lambda *_: {
        "totals": {
            "totals": [
                {
                    "name": "works",
                    "columns": ["works"],
                    "counts": [
                        {"values": ["yes"], "count": 5},
                        {"values": ["no"], "count": 5},
                        {"values": [""], "count": 0},
                    ],
                }
            ]
        },
        "published": "Nowhere",
        "rows": 300,
    },
    "POST api/v1/releases/<slug:code>/editions/": lambda scene, _: {
        "note": "Rows.",
        "document": description_of(scene.release) | {"rows": 7},
    },
    "POST api/v1/releases/<slug:code>/grants/": lambda _, cast: {
        "analyst": cast.analyst.username
    },
    "PUT api/v1/releases/<slug:code>/licence/": lambda *_: {"licence": "CC0-1.0"},
    "PUT api/v1/datasets/<slug:code>/domain/": lambda *_: scene.DOMAIN,
    "POST api/v1/datasets/<slug:code>/domain/draft/": lambda *_: scene.DOMAIN,
    "POST api/v1/datasets/<slug:code>/domain/draft/template/": lambda played, _: {
        "template": played.template.code
    },
    "POST api/v1/datasets/<slug:code>/domain/draft/reference/": lambda played, _: {
        "reference": played.reference.code,
        "column": "region",
    },
    # The dataset that asks for itself is in no database.
    "POST api/v1/datasets/<slug:code>/tables/": lambda played, _: {
        "dataset": played.dataset.code
    },
    "PUT api/v1/datasets/<slug:code>/tables/document/": lambda *_: scene.DOMAIN,
    "POST api/v1/datasets/<slug:code>/tables/runs/": lambda *_: {"epsilon": "0.1"},
    "POST api/v1/datasets/<slug:code>/learned/": lambda *_: {"epsilon": "0.1"},
    "POST api/v1/releases/<slug:code>/paid/": lambda *_: CHECK,
    "POST api/v1/releases/<slug:code>/paid/price/": lambda *_: CHECK,
    "POST api/v1/releases/<slug:code>/paid/<slug:check_code>/void/": lambda *_: {
        "reason": "Measured under another reading."
    },
    "POST api/v1/releases/<slug:code>/validations/": lambda *_: CHECK,
    "POST api/v1/releases/<slug:code>/validations/price/": lambda *_: CHECK,
    "POST api/v1/releases/<slug:code>/allowances/": lambda *_: {
        "epsilon": "0.1",
        "until": f"{timezone.now().date() + timedelta(days=7):%Y-%m-%d}",
    },
    "POST api/v1/uploads/<slug:code>/dataset/": lambda *_: {"name": "People"},
    "POST api/v1/uploads/<slug:code>/replace/": lambda played, _: {
        "dataset": played.fresh.code
    },
    "POST api/v1/filled-counts/": lambda played, _: {
        "dataset": played.dataset.code,
        "by": ["region"],
        "plan_sha256": "0" * 64,
        "purpose": "The law asks for exact numbers.",
    },
    "POST api/v1/filled-counts/plan/": lambda played, _: {
        "dataset": played.dataset.code,
        "by": ["region"],
    },
    "POST api/v1/filled-counts/<slug:code>/approve/": lambda *_: {
        "plan_sha256": "0" * 64,
        "reason": "Agreed.",
    },
    "POST api/v1/filled-counts/<slug:code>/refuse/": lambda *_: {"reason": "No."},
    "POST api/v1/links/": lambda played, _: {
        "dataset": played.dataset.code,
        "texts": ["region"],
        "columns": ["works"],
        "epsilon": "0.1",
        "other_epsilon": "0.1",
        "rows": 300,
    },
    "POST api/v1/links/invitation/": lambda *_: {"invitation": "none"},
    "POST api/v1/links/agreement/": lambda played, _: {
        "invitation": "none",
        "dataset": played.dataset.code,
        "texts": ["region"],
    },
    "POST api/v1/links/accept/": lambda played, _: {
        "invitation": "none",
        "dataset": played.dataset.code,
        "texts": ["region"],
        "agreement_sha256": "0" * 64,
    },
    "POST api/v1/links/<slug:code>/start/": lambda *_: {"agreement_sha256": "0" * 64},
    "PUT api/v1/links/<slug:code>/release/": lambda played, _: {"release": played.release.code},
    "POST api/v1/webhooks/": lambda *_: {
        "url": "https://hooks.example.org/here",
        "events": ["run.finished"],
    },
    "POST api/v1/description-templates/": lambda played, _: {
        "dataset": played.dataset.code,
        "number": 1,
        "name": "Kept",
    },
}
BODIES |= extras.merged("BODIES") | {
    "POST api/v1/accounts/<slug:code>/plans/": lambda *_: {
        "name": "Commutes",
        "remainder": "next",
        "reason": "Yearly.",
        "shares": [{"year": timezone.now().year + 1, "epsilon": "1e-9"}],
    },
    "PATCH api/v1/accounts/<slug:code>/plans/<slug:plan>/": lambda *_: {
        "reason": "More.",
        "shares": [{"year": timezone.now().year + 1, "epsilon": "2e-9"}],
    },
}
CHECK = {"figures": [{"kind": "distance", "columns": ["age"]}], "epsilon": "0.1"}
TUS = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0"}
HEADERS = {
    "POST api/v1/uploads/": {
        **TUS,
        "Upload-Length": "100",
        "Upload-Metadata": "filename cGVvcGxlLmNzdg==",
    },
    "POST api/v1/uploads/<slug:code>/": TUS,
    "PATCH api/v1/uploads/<slug:code>/": TUS,
    "DELETE api/v1/uploads/<slug:code>/": TUS,
}
KINDS = {
    "POST api/v1/datasets/": "text/csv",
    "PATCH api/v1/uploads/<slug:code>/": "application/offset+octet-stream",
}
QUERIES = {
    "PUT api/v1/datasets/<slug:code>/domain/": "?because=The+codebook.&lists_because=The+codebook.",
    "PUT api/v1/datasets/<slug:code>/tables/document/": "?because=The+codebook.",
}
READS = re.compile(
    "SELECT|SAVEPOINT|RELEASE SAVEPOINT|ROLLBACK TO SAVEPOINT|PRAGMA|SET CONSTRAINTS"
)
UNWATCHED = re.compile(
    # Last sign-in; the log, which is looked at by itself, and its end; requests of visitors.
    'UPDATE "accounts_user" SET "last_login"|(INSERT INTO|UPDATE|DELETE FROM) "accounts_usersession"'
    '|INSERT INTO "audit_auditentry"|(INSERT INTO|UPDATE) "audit_chainhead"'
    '|(INSERT INTO|UPDATE) "releases_publiclinkuse"'
    # Whoever asked for a run has seen its end.
    '|INSERT INTO "runs_runseen"'
)
READING_IS_RECORDED = {"preview.opened", "report.opened"}
Execute = Callable[[str, Any, bool, Any], Any]


def rows() -> dict[tuple[str, str], tuple[int, ...]]:
    """(method, route) → expected status for each of PEOPLE."""
    table = {}
    lines = [line for text in (MATRIX, *extras.said("MATRIX")) for line in text.splitlines()]
    for line in filter(str.strip, lines[2:]):
        method, *middle = line.split()
        route = " ".join(middle[: -len(PEOPLE)])
        table[method, route] = tuple(int(status) for status in middle[-len(PEOPLE) :])
    return table


@pytest.fixture(autouse=True)
def _sign_ins_stay_recent(settings: Settings) -> None:
    """All addresses are asked with one sign-in: on a busy machine that takes longer than a sign-in counts as
    recent."""
    settings.REAUTHENTICATION_MINUTES = settings.IDLE_MINUTES = 24 * 60


@pytest.fixture
def clients(cast: Cast, played: Scene) -> dict[str, Client]:
    return {person: _client(person, cast, played) for person in PEOPLE}


@pytest.fixture(autouse=True)
def _broker_in_memory() -> Iterator[None]:
    with doorbell.queue_at(doorbell.IN_MEMORY):
        yield


def _client(person: str, cast: Cast, played: Scene, **options: Any) -> Client:
    client = Client(**options)
    users: dict[str, User] = {**cast.by_name(), "reader": played.reader}
    if person in users:
        client.force_login(users[person])
    return client


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside never happened."""
    point = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)


@contextmanager
def changes() -> Iterator[list[str]]:
    """The statements that change something, once it has ended: but for the record of who looked at real
    data."""
    changed: list[str] = []
    last = AuditEntry.objects.order_by("pk").last()

    def watch(execute: Execute, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not READS.match(sql) and not UNWATCHED.match(sql):
            changed.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield changed
    entries = AuditEntry.objects.exclude(action__in=READING_IS_RECORDED)
    changed += entries.filter(pk__gt=last.pk if last else 0).values_list("action", flat=True)


def ask(client: Client, method: str, route: str, *, played: Scene, cast: Cast) -> Any:
    address = addresses.fill(route, scene=played, cast=cast) + QUERIES.get(
        f"{method} {route}", ""
    )
    body = BODIES.get(f"{method} {route}", lambda *_: {})(played, cast)
    options: dict[str, Any] = {
        "headers": {"Accept": "*/*"} | HEADERS.get(f"{method} {route}", {})
    }
    if method != "GET" and route.startswith("api/"):
        kind = KINDS.get(f"{method} {route}", "application/json")
        options |= {"data": json.dumps(body), "content_type": kind}
    response = getattr(client, method.lower())(address, **options)
    if response.streaming:
        b"".join(response.streaming_content)
    return response


# --- the table ----------------------------------------------------------------------------------------------
def test_every_address_has_a_row() -> None:
    listed = {route for _, route in rows()}
    routed = {route for route in addresses.routes() if not route.startswith(addresses.ADMIN)}
    assert routed - listed == set(), "write a row for each of these addresses"
    assert listed - routed == set(), "these addresses are gone: take their rows out"


@pytest.mark.slow
def test_everybody_gets_the_answer_that_the_table_says(
    cast: Cast, played: Scene, clients: dict[str, Client]
) -> None:
    wrong = []
    addresses.make_all(played, cast)  # before anything is undone
    for (method, route), expected in rows().items():
        for person, status in zip(PEOPLE, expected, strict=True):
            with undone(), changes() as changed:
                got = ask(clients[person], method, route, played=played, cast=cast).status_code
            if got != status:
                wrong.append(f"{method} {route} as {person}: {got}, not {status}")
            if method == "GET":
                wrong += [f"{route} as {person} changes {what}" for what in changed]
            if "logout" in route:
                clients[person] = _client(person, cast, played)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "address",
    ["/datasets/?q=%00", "/releases/?q=a%00b", "/runs/?dataset=%00", "/api/v1/runs/%00/"],
)
def test_a_nul_in_an_address_is_a_bad_request_and_no_failure(
    cast: Cast, browser: Any, address: str
) -> None:
    """PostgreSQL refuses to look for it; SQLite, on which most tests run, does not mind."""
    assert browser(cast.steward).get(address).status_code == 400


def test_strangers_and_nobody_reach_no_object(cast: Cast, played: Scene) -> None:
    """The table itself: whoever wrote a 2xx for a stranger behind a code made a mistake."""
    open_to_all = {
        "docs/<path:slug>/",
        "api/v1/^(?P<path>(?s:.*))$",
        "account/reset/<uidb64>/<token>/",  # its token is what opens it
    }
    for (method, route), expected in rows().items():
        names_an_object = "<" in route.replace("<export_kind:kind>", "")  # that is csv or json
        # The token of a public link is what opens it, to whoever has it.
        if (
            names_an_object
            and route not in open_to_all
            and not route.startswith(addresses.PUBLIC)
        ):
            nobody, stranger = expected[:2]
            assert nobody in (*SIGN_IN_REQUIRED, 405), (method, route)
            assert stranger in (403, 404, 405), (method, route)


@pytest.mark.slow
def test_the_administration_is_closed_to_all_but_auditors_and_those_who_manage_people(
    clients: dict[str, Client],
) -> None:
    for address in _administration():
        for person in PEOPLE[:-2]:
            response = clients[person].get(address)
            assert response.status_code in (302, 403), (address, person, response.status_code)


@pytest.mark.slow
def test_nothing_can_be_changed_in_the_administration(clients: dict[str, Client]) -> None:
    for address in _administration():
        for person in ("auditor", "staff"):
            with undone(), changes() as changed:
                response = clients[person].post(address, {"post": "yes", "_save": "Save"})
            assert not changed, (address, person, response.status_code)


def _administration() -> list[str]:
    """Every address of the administration, with an object of its model where it has one; nothing is signed
    out."""
    found = []
    for route in addresses.routes():
        if route.startswith(addresses.ADMIN) and "logout" not in route and "(?P" not in route:
            _, app_label, model_name, *_ = [*route.split("/"), "", "", ""]
            model = apps.all_models.get(app_label, {}).get(model_name)
            one = model._default_manager.first() if model else None
            found.append("/" + re.sub(r"<[^>]+>", str(one.pk if one else 1), route))
    assert len(found) > 10
    return found


# --- methods ------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_no_unsafe_method_works_without_a_csrf_token(cast: Cast, played: Scene) -> None:
    client = _client("steward", cast, played, enforce_csrf_checks=True)
    for route in addresses.routes():
        if route.startswith(addresses.ADMIN):
            continue
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            response = ask(client, method, route, played=played, cast=cast)
            nothing_there = (
                response.status_code == 404 and route == "api/v1/^(?P<path>(?s:.*))$"
            )
            assert nothing_there or response.status_code in (403, 405, 415), (
                method,
                route,
                response.status_code,
            )

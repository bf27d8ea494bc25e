"""Who gets which answer at the addresses of test data (`tests/extras`)."""

from __future__ import annotations

from typing import Any

TEST_DATA: dict[str, Any] = {
    "rows": 3,
    "scenario": {
        "schema": "synth_engine/scenario/1",
        "steps": [{"kind": "near-duplicates", "copies": 1}],
    },
}
MATRIX = """
GET    releases/test-data/                                        302 200 403 403 200 403 403 403
POST   releases/test-data/                                        302 200 403 403 200 403 403 403
GET    releases/<slug:code>/test-data/                            302 404 404 200 200 403 403 403
POST   releases/<slug:code>/test-data/                            302 404 404 200 200 403 403 403
GET    api/v1/scenarios/                                          401 200 200 200 200 200 200 200
GET    api/v1/test-data/                                          401 405 405 405 405 405 405 405
POST   api/v1/test-data/                                          401 404 403 403 200 403 403 403
GET    api/v1/releases/<slug:code>/test-data/                     401 405 405 405 405 405 405 405
POST   api/v1/releases/<slug:code>/test-data/                     401 404 404 200 200 403 403 403
"""
SCOPES = """
GET    scenarios/                                    read
POST   test-data/                                    read
POST   releases/<slug:code>/test-data/               read
"""
BODIES = {
    "POST api/v1/test-data/": lambda played, _: {"dataset": played.dataset.code, **TEST_DATA},
    "POST api/v1/releases/<slug:code>/test-data/": lambda *_: TEST_DATA,
}
STORING = {"POST api/v1/test-data/"}

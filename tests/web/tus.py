"""A client of the tus protocol, as small as can be, for the tests."""

from __future__ import annotations

import base64
from typing import Any

from tests.web.rest import Caller

VERSION = {"Tus-Resumable": "1.0.0"}
BYTES = "application/offset+octet-stream"


def metadata(file_name: str) -> str:
    return f"filename {base64.b64encode(file_name.encode()).decode()}"


class Tus:
    """What a program with a token does."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def begin(self, length: object, *, file_name: str = "people.csv", **headers: str) -> Any:
        return self.caller.client.post(
            "/api/v1/uploads/",
            headers=VERSION
            | {"Upload-Length": str(length), "Upload-Metadata": metadata(file_name)}
            | headers,
        )

    def begun(self, length: int, **options: Any) -> str:
        answer = self.begin(length, **options)
        assert answer.status_code == 201, answer.content
        assert answer["Location"].endswith(f"/api/v1/uploads/{answer.json()['code']}/")
        return str(answer.json()["code"])

    def append(
        self, code: str, offset: object, data: bytes, *, kind: str = BYTES, **headers: str
    ) -> Any:
        return self.caller.client.patch(
            f"/api/v1/uploads/{code}/",
            data,
            content_type=kind,
            # Django's client leaves both out where there is no body.
            CONTENT_TYPE=kind,
            CONTENT_LENGTH=str(len(data)),
            headers=VERSION | {"Upload-Offset": str(offset)} | headers,
        )

    def offset(self, code: str) -> int:
        answer = self.head(code)
        assert answer.status_code == 200, answer.content
        assert answer["Cache-Control"] == "no-store"
        return int(answer["Upload-Offset"])

    def head(self, code: str, **headers: str) -> Any:
        return self.caller.client.head(f"/api/v1/uploads/{code}/", headers=VERSION | headers)

    def end(self, code: str) -> Any:
        return self.caller.client.delete(f"/api/v1/uploads/{code}/", headers=VERSION)

    def finish(self, code: str, **facts: Any) -> Any:
        return self.caller.send(f"/uploads/{code}/dataset/", {"name": "People"} | facts)

    def send(self, content: bytes, *, step: int, **options: Any) -> str:
        """A whole file, in requests of `step` bytes; the code of the upload."""
        code = self.begun(len(content), **options)
        for offset in range(0, len(content), step):
            answer = self.append(code, offset, content[offset : offset + step])
            assert answer.status_code == 204, answer.content
            assert int(answer["Upload-Offset"]) == min(len(content), offset + step)
        return code

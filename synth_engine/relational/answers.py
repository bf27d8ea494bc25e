"""All answers of a run about a database: those about each view, and the file in which they are stored."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from synth_engine.errors import InputError
from synth_engine.measurement import Answers


@dataclass(frozen=True, eq=False)
class DatabaseAnswers:
    """The answers about each view, in the order of the views."""

    views: tuple[Answers, ...]

    def __iter__(self) -> Iterator[Answers]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    @property
    def digest(self) -> str:
        """SHA-256 over the digests of the answers about each view."""
        return hashlib.sha256("\n".join(each.digest for each in self).encode()).hexdigest()

    def to_bytes(self) -> bytes:
        """One archive with a file of answers for each view."""
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for number, answers in enumerate(self):
                archive.writestr(_name(number), answers.to_bytes())
        return file.getvalue()

    @classmethod
    def load(cls, path: Path | str) -> DatabaseAnswers:
        """Reads what `to_bytes` wrote. Errors: InputError if it is something else."""
        try:
            with zipfile.ZipFile(path) as archive:
                files = [archive.read(_name(n)) for n in range(len(archive.namelist()))]
        except (OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                "this is no file of noisy answers", repair="measure again"
            ) from error
        return cls(tuple(Answers.load(io.BytesIO(each)) for each in files))


def _name(number: int) -> str:
    return f"{number}.npz"

"""All answers of a run, and the file in which they are kept."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from synth_engine.errors import InputError, PrivacyError
from synth_engine.hierarchy import Growth
from synth_engine.measurement.answer import Discovery, GroupSizes, Leaves, Measurement, Scores
from synth_engine.measurement.noise import Noise
from synth_engine.measurement.question import Call, Counts
from synth_engine.privacy.dirichlet_multinomial import Resampled
from synth_engine.privacy.receipt import canonical

SCHEMA = "synth_engine/answers/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Everything a mechanism got from the room, in the order in which it asked."""

    measurements: tuple[Measurement, ...]
    selections: tuple[int, ...] = ()
    discoveries: tuple[Discovery, ...] = ()
    calls: tuple[Call, ...] = field(default=())
    group_sizes: GroupSizes | None = None
    scores: tuple[Scores, ...] = ()
    growths: tuple[Growth, ...] = ()
    leaves: tuple[Leaves, ...] = ()
    resampled: Resampled | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over cliques, noise, shapes and little-endian values; independent of the file format."""
        sha = hashlib.sha256(SCHEMA.encode())
        sha.update(canonical(self._header()))
        for values in self._arrays().values():
            sha.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
        return sha.hexdigest()

    def save(self, path: Path | str) -> None:
        """Write one .npz file without pickles."""
        Path(path).write_bytes(self.to_bytes())

    def to_bytes(self) -> bytes:
        """One .npz file without pickles."""
        header = np.frombuffer(canonical(self._header()), dtype=np.uint8)
        file = io.BytesIO()
        np.savez_compressed(
            file, header=header, allow_pickle=False, **self._arrays(), **self._parts()
        )
        return file.getvalue()

    @classmethod
    def load(cls, path: Path | str) -> Answers:
        """Read what `save` wrote. Errors: InputError if it is something else."""
        try:
            with np.load(Path(path), allow_pickle=False) as archive:
                header = json.loads(archive["header"].tobytes())
                if header["schema"] != SCHEMA:
                    raise KeyError("schema")
                measurements = tuple(
                    Measurement(
                        clique=tuple(m["clique"]),
                        noise=Noise.from_json(m["noise"]),
                        values=archive[f"values_{i}"],
                        interaction=m.get("interaction", False),
                    )
                    for i, m in enumerate(header["measurements"])
                )
                calls = tuple(Call.from_json(call) for call in header["calls"])
                sizes = header.get("group_sizes")
                sizes = sizes and GroupSizes(
                    noise=Noise.from_json(sizes["noise"]), values=archive["group_sizes"]
                )
                resampled = Resampled.read(header.get("resampled"), archive)
                discoveries = tuple(map(Discovery.from_json, header.get("discoveries", ())))
                selections = tuple(header["selections"])
                scores = tuple(
                    Scores(noise=Noise.from_json(s["noise"]), values=archive[f"scores_{i}"])
                    for i, s in enumerate(header.get("scores", ()))
                )
                growths = tuple(
                    Growth.read(
                        g,
                        {
                            part: archive[f"grown_{i}_{part}"]
                            for part in ("opened", "counts", "sizes")
                        },
                    )
                    for i, g in enumerate(header.get("growths", ()))
                )
                leaves = tuple(
                    Leaves.read(
                        header_of_leaves,
                        {
                            part: archive[f"leaves_{i}_{part}"]
                            for part in ("values", "levels", "prefixes")
                        },
                    )
                    for i, header_of_leaves in enumerate(header.get("leaves", ()))
                )
        except (
            OSError,
            EOFError,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            PrivacyError,
            BadZipFile,
        ) as error:
            raise InputError(
                "this is no file of noisy answers", repair="measure again"
            ) from error
        return cls(
            measurements=measurements,
            selections=selections,
            discoveries=discoveries,
            calls=calls,
            group_sizes=sizes or None,
            scores=scores,
            growths=growths,
            leaves=leaves,
            resampled=resampled,
        )

    def _arrays(self) -> dict[str, Counts]:
        arrays = {f"values_{i}": m.values for i, m in enumerate(self.measurements)}
        arrays |= {f"scores_{i}": scores.values for i, scores in enumerate(self.scores)}
        arrays |= {
            f"grown_{i}_{name}": a
            for i, tree in enumerate(self.growths)
            for name, a in tree.arrays().items()
        }
        arrays |= {f"leaves_{i}_values": leaves.values for i, leaves in enumerate(self.leaves)}
        arrays |= {} if self.resampled is None else self.resampled.arrays()
        return arrays | (
            {} if self.group_sizes is None else {"group_sizes": self.group_sizes.values}
        )

    def _parts(self) -> dict[str, npt.NDArray[Any]]:
        """Of partitions, whose digests are in the header."""
        named = (
            (i, name, array)
            for i, leaves in enumerate(self.leaves)
            for name, array in leaves.arrays().items()
        )
        return {f"leaves_{i}_{name}": array for i, name, array in named if name != "values"}

    def _header(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "measurements": [m.header() for m in self.measurements],
            "selections": list(self.selections),
            "calls": [call.to_json() for call in self.calls],
            # Left out where they were not asked for, so that answers from before there were any keep their digest.
            **(
                {}
                if self.group_sizes is None
                else {"group_sizes": {"noise": self.group_sizes.noise.to_json()}}
            ),
            **({} if self.resampled is None else {"resampled": self.resampled.header()}),
            **(
                {"discoveries": [leaves.to_json() for leaves in self.discoveries]}
                if self.discoveries
                else {}
            ),
            **(
                {"scores": [self._score_header(scores) for scores in self.scores]}
                if self.scores
                else {}
            ),
            **(
                {"growths": [growth.header() for growth in self.growths]}
                if self.growths
                else {}
            ),
            **({"leaves": [leaves.header() for leaves in self.leaves]} if self.leaves else {}),
        }

    @staticmethod
    def _score_header(scores: Scores) -> dict[str, Any]:
        return {"noise": scores.noise.to_json(), "number": int(scores.values.size)}

"""Receipt, model and noisy answers of a synthesis: room is reserved before anything is spent, and what was
spent is said whatever goes wrong."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from synth_engine.commands import inputs
from synth_engine.commands.parts import json_text, progress
from synth_engine.errors import InputError, SynthError

if TYPE_CHECKING:
    from synth_engine.formats import Dialect
    from synth_engine.mechanisms import Plan
    from synth_engine.pipeline import Release
    from synth_engine.privacy.receipt import Receipt


MAX_RESERVED_BYTES = (
    2**26
)  # bytes of the disk for a receipt or a model, before anything is spent


class LossReporter:
    """Show the progress of a synthesis, and record from when on noise may have been drawn."""

    def __init__(self, spec: Any) -> None:
        self._amounts = f"epsilon = {float(spec.epsilon):.10g}" + (
            f" and delta = {float(spec.delta):g}" if spec.delta else ""
        )
        self._show = progress()
        self._measuring = False

    def __call__(self, stage: str, fraction: float) -> None:
        self._measuring = self._measuring or stage == "measure"
        self._show(stage, fraction)

    def __str__(self) -> str:
        return self._amounts

    @contextlib.contextmanager
    def report_loss(self) -> Iterator[None]:
        """Whatever goes wrong once noise may have been drawn says so: the privacy loss counts as spent."""
        try:
            yield
        except Exception as error:
            if not self._measuring:
                raise
            # A foreign error may quote a cell; only the name of its type leaves.
            text = (
                str(error)
                if isinstance(error, SynthError)
                else f"internal error: {type(error).__name__}"
            )
            raise SynthError(
                f"{text}; noise may have been drawn, so count {self} as spent"
            ) from None


class ReleaseDocuments:
    """The receipt, the model and the noisy answers of a synthesis. Room for all is reserved before anything
    is spent, and all are written before the table; the receipt without the table's digest, which `complete`
    adds."""

    def __init__(
        self, options: argparse.Namespace, plan: Plan, sign: Any, form: Dialect | None
    ) -> None:
        from synth_engine import outputs

        room = min(MAX_RESERVED_BYTES, 4 * plan.answers_bytes())
        overwrite = {"overwrite": options.overwrite}
        self._options = options
        self._sign = sign
        self._form = form  # its file may be gone by the time that noise is drawn
        self._stack = contextlib.ExitStack()
        self._spare = options.out.with_name(f"{options.out.name}.model.json")
        self._wanted = options.model is not None
        enter = self._stack.enter_context
        with contextlib.ExitStack() as opening:
            opening.push(self._stack)
            self._model = enter(
                outputs.pending(options.model or self._spare, reserve=room, **overwrite)
            )
            self._answers = None
            if options.answers is not None:
                self._answers = enter(
                    outputs.pending(options.answers, reserve=room, **overwrite)
                )
            self._receipts = [
                enter(
                    outputs.pending(
                        options.receipt, reserve=room, overwrite=later or options.overwrite
                    )
                )
                for later in (False, True)
                if options.receipt is not None
            ]
            # Up to here a failure closes what was opened; from here on `__exit__` does.
            opening.pop_all()

    def __enter__(self) -> ReleaseDocuments:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def write(self, release: Release) -> None:
        """Write model and receipt before the table is generated."""
        self._model.write(json_text(release.model.to_json()))
        if self._wanted:
            self._model.keep()
        if self._answers is not None:
            self._answers.write_bytes(release.answers.to_bytes())
            self._answers.keep()
        self._receipt(release, table_sha256=None, index=0)

    def complete(self, release: Release, *, table_sha256: str) -> None:
        """The receipt with the digest of the table, in the place of the one without."""
        self._receipt(release, table_sha256=table_sha256, index=1)

    def _receipt(self, release: Release, *, table_sha256: str | None, index: int) -> None:
        if self._receipts:
            document = _receipt(
                release,
                self._options,
                form=self._form,
                sign=self._sign,
                table_sha256=table_sha256,
            )
            self._receipts[index].write(json_text(document))
            self._receipts[index].keep()

    def rescue(self, *, spent: str) -> str:
        """Save the model, whether it was asked for or not, and return the message that the table could not be
        written."""
        name = self._options.model or self._spare
        try:
            if not self._wanted:
                self._model.keep()
            way = f"draw it from the model in {name.name} by the command sample, which costs nothing more"
        except (OSError, InputError):
            way = "and neither could the model"
        return f"the table could not be written, but {spent} was spent; free space, then {way}"


def _receipt(
    release: Release,
    options: argparse.Namespace,
    *,
    form: Dialect | None,
    sign: Any,
    table_sha256: str | None,
) -> Receipt:
    """The receipt of a release, with its table once that is drawn."""
    from synth_engine.privacy import receipt as receipts

    # The receipt contains a hash of a secret seed instead of the seed, which binds the table to
    # it without disclosing it.
    secret = release.plan.spec.seed is None
    sample = None
    if table_sha256 is not None:
        sample = receipts.Sample(
            rows=release.rows,
            seed=None if secret else release.seed,
            seed_commitment=receipts.seed_commitment(release.seed) if secret else None,
            table_sha256=table_sha256,
        )
    steps = {"model_sha256": receipts.digest(release.model.to_json())}
    document = release.plan.receipt(release.answers, sample=sample, post_processing=steps)
    document = inputs.of_source(document, options, form=form)
    return document if sign is None else receipts.signed(document, sign)


def signing(options: argparse.Namespace) -> Any:
    """Return the function that signs a receipt; None where no key is given."""
    if options.sign_with is None:
        return None
    if options.receipt is None:
        raise InputError(
            "there is nothing to sign without a receipt", repair="add --receipt RECEIPT.json"
        )
    from synth_engine.privacy import signing

    key = signing.load(options.sign_with)
    return lambda statement, schema: signing.sign(statement, schema=schema, key=key)

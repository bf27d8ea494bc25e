"""Every error the engine raises on purpose. No message ever holds a value of a row.

SynthError
├── InputError                 what a person gave us; exit code 2 on the command line, 400/422 in the web
│   ├── DomainError            the public description contradicts itself or is incomplete
│   ├── SpecError              mechanism, parameters or privacy loss are not usable
│   └── TableError             the table cannot be read: line, column, rule, repair
├── PrivacyError               a promise would be broken; nothing was drawn
│   ├── BudgetExceeded         the filter refuses the next event
│   ├── RelationMismatch       a mechanism stated for another neighbouring relation
│   └── UnsupportedEvent       an accountant meets an event it does not know
├── VerificationError          a receipt does not prove what it claims
└── Cancelled                  the caller asked to stop
"""

from __future__ import annotations


class SynthError(Exception):
    """Root of the tree."""


class InputError(SynthError):
    """Bad input: `rule` says what is wrong, `repair` how to mend it, `column` and `line` where."""

    def __init__(
        self, rule: str, *, repair: str = "", column: str | None = None, line: int | None = None
    ) -> None:
        self.rule, self.repair, self.column, self.line = rule, repair, column, line
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """One line: where, what, how to mend."""
        where = [f"line {self.line}"] if self.line is not None else []
        where += [f"column {self.column!r}"] if self.column is not None else []
        line = f"{', '.join(where)}: {self.rule}" if where else self.rule
        return f"{line}; {self.repair}" if self.repair else line

    def as_dict(self) -> dict[str, str | int | None]:
        """The same as fields, for pages and REST."""
        return {
            "rule": self.rule,
            "repair": self.repair,
            "column": self.column,
            "line": self.line,
        }


class DomainError(InputError):
    """The public description contradicts itself, is incomplete, or holds unconfirmed facts. `field` is the
    key of the column's description that it is about, such as "low" or "written/decimals"; empty where it is
    about the whole."""

    def __init__(
        self,
        rule: str,
        *,
        repair: str = "",
        column: str | None = None,
        line: int | None = None,
        field: str = "",
    ) -> None:
        super().__init__(rule, repair=repair, column=column, line=line)
        self.field = field


class SpecError(InputError):
    """Mechanism, parameters or privacy loss are not usable."""


class TableError(InputError):
    """The table cannot be read as declared."""


class PrivacyError(SynthError):
    """A privacy promise would be broken; nothing was drawn."""


class BudgetExceeded(PrivacyError):
    """The filter refuses the next event."""


class RelationMismatch(PrivacyError):
    """A guarantee stated for one neighbouring relation was asked for under another."""


class UnsupportedEvent(PrivacyError):
    """An accountant or verifier met an event it does not know."""


class VerificationError(SynthError):
    """A receipt does not prove what it claims."""


class Cancelled(SynthError):
    """The caller asked to stop between two stages."""

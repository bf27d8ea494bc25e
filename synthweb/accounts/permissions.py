"""Who may do what: the only table of roles and needs. Selectors of all apps ask it; a new role or need is
added here.

A role counts within the organisation that holds it. What a need is about (a dataset, a release, an account)
may restrict it further: the selectors of its app know how.
"""

from __future__ import annotations

from enum import Enum

from synthweb.accounts.models import Role


class Need(Enum):
    """What somebody wants to do."""

    VIEW = "view"  # that a table, run or account exists, its status and public description
    UPLOAD = "upload"  # bring in tables and public reference tables
    DESCRIBE = "describe"  # change the description of a table
    REAL = "real"  # see what was made from real rows
    SPEND = "spend"  # ask for budget, run mechanisms
    SAMPLE = "sample"  # draw and download synthetic tables
    COMPARE = "compare"  # see a release beside the real data
    SHARE = "share"  # hand releases to analysts, take them back
    ALLOW = "allow"  # let analysts validate results within an allowance
    VALIDATE = "validate"  # have figures of a release measured within an allowance
    GRANT = "grant"  # decide about budget
    AUDIT = "audit"  # read every account of the organisation
    LOG = "log"  # read the whole audit log
    OPENINGS = "openings"  # read who looked at real rows

    @property
    def roles(self) -> frozenset[Role]:
        """The roles that meet this need."""
        return _ROLES[self]

    @property
    def of_table(self) -> bool:
        """Whether it needs the table itself, which a deleted dataset has not."""
        return self in (Need.DESCRIBE, Need.REAL, Need.SPEND)


# Separation of duties: the role that spends budget neither grants it nor reads the whole log.
_STEWARD = frozenset({Role.STEWARD})
_ROLES = {
    Need.VIEW: frozenset({Role.STEWARD, Role.CUSTODIAN, Role.AUDITOR}),
    Need.UPLOAD: _STEWARD,
    Need.DESCRIBE: _STEWARD,
    Need.REAL: _STEWARD,
    Need.SPEND: _STEWARD,
    Need.SAMPLE: _STEWARD,
    Need.COMPARE: _STEWARD,
    Need.SHARE: _STEWARD,
    Need.ALLOW: frozenset({Role.STEWARD, Role.CUSTODIAN}),
    # Stewards have figures measured without an allowance.
    Need.VALIDATE: frozenset(),
    Need.GRANT: frozenset({Role.CUSTODIAN}),
    Need.AUDIT: frozenset({Role.CUSTODIAN, Role.AUDITOR}),
    Need.LOG: frozenset({Role.AUDITOR}),
    Need.OPENINGS: frozenset({Role.AUDITOR, Role.STEWARD}),
}

GIVEN_BY_SHARING = frozenset({Need.VIEW, Need.SAMPLE, Need.VALIDATE})
"""What an analyst may do with a release that a steward shared with them, and with no other."""

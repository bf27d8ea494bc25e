"""What the run life cycle raises on purpose; bad input is the engine's InputError, too little budget the
ledger's.

SynthwebError (synthweb.lib.errors)
├── Conflict
│   ├── NotReady   the dataset lacks a confirmed description, a budget, or a release to compare
│   ├── BeyondAllowance  a validation costs more than its analyst's allowances have left
│   ├── KeyReused  the key of one request came with another
│   └── NotOpen    the run is over, or in a state in which this cannot be done
├── LeaseLost      another worker, the reconciler or a cancellation took the row over: write nothing more
└── NoResult       a kind of run stored no result: its end is taken back
"""

from __future__ import annotations

from synthweb.lib.errors import Conflict, SynthwebError


class NotReady(Conflict):
    """Something has to be done first; the repair says what."""

    code = "not-ready"


class BeyondAllowance(Conflict):
    """A validation costs more than the allowances of its analyst have left, or they have none."""

    code = "beyond-allowance"


class NotOpen(Conflict):
    """The run is in a state in which this cannot be done."""

    code = "not-open"


class KeyReused(Conflict):
    """The key that makes a repeated request one run came with another request before."""

    code = "key-reused"


class LeaseLost(SynthwebError):
    """This worker's fencing token is no longer the newest."""


class NoResult(SynthwebError):
    """A kind of run would be finished without the result that its row names."""

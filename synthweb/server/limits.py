"""What one connection may cost the server. Times are in seconds, sizes in bytes, rates in bytes a second."""

from __future__ import annotations

THREADS = 8
"""Of each process, for requests; health has threads of its own."""
CONNECTIONS = 500
"""Of each process at once. Beyond it the kernel keeps new ones waiting."""
PER_ADDRESS = 100
"""Of these from one address, where no proxy is declared."""

LONGEST_LINE = 4_094
"""Of the first line of a request, the address included (gunicorn's own limit)."""
LONGEST_HEAD = 32 * 1024
"""Of the first line and all headers."""
HEAD_SECONDS = 15.0
"""From the opening of a connection to the end of the headers."""
IDLE_SECONDS = 5.0
"""Between two requests of one connection."""

BUFFERED_BODY = 5 * 1024**2 + 64 * 1024
"""Bodies up to here are received before a thread is taken; longer ones, tables, are encrypted while they come
in."""
BUFFERED_TOGETHER = 64 * 1024**2
"""Of all requests that a process is receiving."""
LONG_BODIES = 3
"""Longer bodies that a process receives at once: each holds a thread."""
GRACE_SECONDS = 20.0
"""Nothing comes or goes for so long: the connection is cut. So is one that is slower than SLOWEST after
it."""
SLOWEST = 4 * 1024

UNSENT = 8 * 1024**2
"""Of an answer, waits for a slow reader without a thread; of all answers of a process UNSENT_TOGETHER."""
UNSENT_TOGETHER = 256 * 1024**2
LINGER_SECONDS = 2.0
"""For which a closed connection still reads, so that the client can read the answer before it learns of the
end."""
LINGER_BYTES = 1024**2

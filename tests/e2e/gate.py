"""Between a browser and a server: bytes pass, are held up, or the connection is cut, when a test says so."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType
from urllib.parse import SplitResult

CHUNK = 65_536


class Gate:
    """Passes connections on to a server. As a context manager it ends with its threads."""

    def __init__(self, server: SplitResult) -> None:
        self._server = (server.hostname or "", server.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://{server.hostname}:{self._listener.getsockname()[1]}"
        self._ends: set[socket.socket] = set()
        self._most: int | None = None
        self._is_cut = self._is_over = False
        self._changed = threading.Condition()

    def hold(self, *, after: int) -> None:
        """From here on, each connection passes so many bytes to the server and waits."""
        with self._changed:
            self._most = after

    def cut(self) -> None:
        """Close every connection, and each new one at once."""
        with self._changed:
            self._is_cut = True
            for end in self._ends:
                with contextlib.suppress(OSError):
                    # A reset: a browser that is still sending does not notice the end of what it receives.
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    end.shutdown(socket.SHUT_RD)
                end.close()
            self._ends = set()
            self._changed.notify_all()

    def open(self) -> None:
        """Everything passes."""
        with self._changed:
            self._most, self._is_cut = None, False
            self._changed.notify_all()

    def __enter__(self) -> Gate:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._is_over:
                client, _ = self._listener.accept()
                if self._is_cut:
                    client.close()
                    continue
                server = socket.create_connection(self._server)
                self._ends |= {client, server}
                for source, target in ((client, server), (server, client)):
                    threading.Thread(
                        target=self._pass,
                        args=(source, target),
                        kwargs={"held": source is client},
                        daemon=True,
                    ).start()

    def _pass(self, source: socket.socket, target: socket.socket, *, held: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                with self._changed:
                    while held and self._most is not None and passed >= self._most:
                        if self._is_cut or source not in self._ends:
                            return
                        self._changed.wait()
                target.sendall(data)
                passed += len(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

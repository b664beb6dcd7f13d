# SPDX-License-Identifier: GPL-2.0-or-later
"""Something between our daemons and the API server: bytes go through as they are, until it is told to answer every request itself with an
error, or to be deaf. The daemons' own configuration is made to point here.

Whoever comes through it is known to the server by an address of its own (127.0.0.2), so that the audit log tells who did what.
"""

import http.server
import re
import socket
import ssl
import threading
import time
from pathlib import Path

SOURCE = "127.0.0.2"


class Answers(http.server.BaseHTTPRequestHandler):
    """One code for every request."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        code = self.server.code
        if code is None:  # the fault is over
            self.close_connection = True
            return
        self.server.answered += 1
        text = b"Too many requests, please try again later.\n" if code == 429 else b"internal error\n"
        self.send_response(code)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        if code == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class Between:
    def __init__(self, world):
        self.world = world
        port = int(world.url.rpartition(":")[2])
        self.upstream = ("127.0.0.1", port)
        self.code, self.deaf, self.ending = None, threading.Event(), False
        self.answered = 0
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(world.dir / "kube/server.crt", world.dir / "kube/server.key")
        self.tls.set_alpn_protocols(["http/1.1"])
        self.lock, self.open = threading.Lock(), set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "https://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.before = {}
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_through(self, part):
        """The part's configuration points here; it must be started again to see that. Undone by close()."""
        path = Path(self.world.dir / f"accounts/{part}.kubeconfig")
        self.before[path] = path.read_text()
        path.write_text(re.sub(re.escape(self.world.url), self.url, self.before[path]))
        assert path.read_text() != self.before[path]

    # ---- what it does ----

    def answer(self, code):
        """From now on every request gets this code; None: as before. Nobody keeps a connection."""
        self.code = code
        self._cut()

    def be_deaf(self, on):
        """Nothing goes through, and nobody is told; what was under way is lost."""
        if on:
            self.deaf.set()
        else:
            self.deaf.clear()
            self._cut()

    def close(self):
        self.ending = True
        self.listener.close()
        self._cut()
        for path, text in self.before.items():
            path.write_text(text)

    # ---- connections ----

    def _cut(self):
        with self.lock:
            for s in self.open:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _accept(self):
        while not self.ending:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _keep(self, s):
        with self.lock:
            self.open.add(s)

    def _drop(self, *sockets):
        with self.lock:
            self.open -= set(sockets)
        for s in sockets:
            s.close()

    def _serve(self, client):
        self._keep(client)
        try:
            if self.code is not None:
                with self.tls.wrap_socket(client, server_side=True) as s:
                    self._keep(s)
                    Answers(s, s.getpeername(), self)
                    self._drop(s)
            else:
                self._pass(client)
        except (OSError, ValueError):
            pass
        finally:
            self._drop(client)

    def _pass(self, client):
        server = socket.create_connection(self.upstream, timeout=10, source_address=(SOURCE, 0))
        server.settimeout(None)
        self._keep(server)
        back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
        back.start()
        self._pump(client, server)
        back.join()
        self._drop(server)

    def _pump(self, source, to):
        try:
            while data := source.recv(65536):
                while self.deaf.is_set() and not self.ending:
                    data = b""  # lost; the connection is cut when it hears again
                    time.sleep(0.05)
                if not data:
                    break
                to.sendall(data)
        except OSError:
            pass
        for s in (source, to):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

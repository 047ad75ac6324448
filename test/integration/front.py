"""What stands before the simulated API server in a real cluster: TLS, client certificates, tokens; and a proxy.

The front speaks TLS, checks who asks, answers 401 like kube-apiserver, and passes everything else on. What it accepts
can be changed while it runs; connections that are open then stay, until drop().
"""
import base64
import contextlib
import http.client
import http.server
import json
import select
import socket
import ssl
import subprocess
import threading


class Authority:
    """A certificate authority in a folder; openssl does the work."""

    def __init__(self, directory, name):
        self.directory, self.name = directory, name
        directory.mkdir(exist_ok=True)
        self.cert, self.key = self.pair(name, ["-x509", "-addext", "basicConstraints=critical,CA:TRUE",
                                               "-addext", "keyUsage=critical,keyCertSign"])

    def pair(self, name, arguments):
        cert, key = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", f"/CN={name}", "-keyout", key, "-out", cert, *arguments],
                       check=True, capture_output=True)
        return cert, key

    def issue(self, name, *extensions):
        """(certificate, key) as paths."""
        more = [x for e in extensions for x in ("-addext", e)]
        return self.pair(f"{self.name}-{name}", ["-CA", self.cert, "-CAkey", self.key, *more])


def base64_of(path):
    return base64.b64encode(path.read_bytes()).decode()


class Front:
    """HTTPS on a free port of the loopback, before the API server at `backend`."""

    def __init__(self, backend, server_pair, client_ca=None, tokens=None):
        self.backend, self.tokens = backend, tokens
        self.requests, self.rejected, self.sockets = [], 0, set()
        self.lock = threading.Lock()
        self.present(server_pair, client_ca)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # connections that break are what is tested
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"

    def present(self, server_pair, client_ca=None):
        """For handshakes from now on. With client_ca, callers need a certificate of it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*server_pair)
        if client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_ca)
        self.context = context

    def drop(self):
        """Cuts every connection."""
        with self.lock:
            sockets, self.sockets = self.sockets, set()
        for s in sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.drop()

    def subjects(self):
        return [r["subject"] for r in self.requests]

    def check(self, request):
        """What to answer instead of passing on: None or 401."""
        if self.tokens is None:
            return None
        token = (request.headers["Authorization"] or "").removeprefix("Bearer ")
        return None if token in self.tokens else 401

    def handler(self):
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                self.raw = self.request.dup()  # the TLS socket takes the descriptor of the other one
                with front.lock:
                    front.sockets.add(self.raw)
                self.request = front.context.wrap_socket(self.request, server_side=True)
                super().setup()

            def finish(self):
                with front.lock:
                    front.sockets.discard(self.raw)
                self.raw.close()
                super().finish()

            def serve(self):
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                status = front.check(self)
                cert = self.request.getpeercert() or {}
                subject = dict(x for rdn in cert.get("subject", ()) for x in rdn).get("commonName")
                front.requests.append({"method": self.command, "path": self.path, "status": status, "subject": subject,
                                       "token": self.headers["Authorization"]})
                if status is None:
                    self.pass_on(body)
                else:
                    front.rejected += 1
                    self.reply(status, json.dumps({"kind": "Status", "code": status, "message": "Unauthorized"}))

            def reply(self, status, text):
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def pass_on(self, body):
                c = http.client.HTTPConnection(*front.backend)
                try:
                    c.request(self.command, self.path, body or None, {
                        k: v for k, v in self.headers.items() if k in ("Content-Type", "Accept")})
                    r = c.getresponse()
                    self.send_response(r.status)
                    for k, v in r.headers.items():
                        if k in ("Content-Type", "Retry-After"):
                            self.send_header(k, v)
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    while piece := r.read1(65536):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                        self.wfile.flush()
                    self.wfile.write(b"0\r\n\r\n")
                finally:
                    c.close()

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = serve

            def log_message(self, *_):
                pass

        return Handler


class Proxy:
    """An HTTP proxy that can CONNECT; counts and remembers who asked for what."""

    def __init__(self):
        self.connects = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        self.connects.append((method, target, head.decode()))
        host, port = target.rsplit(":", 1)
        # An fgpu that ends may reset what it has not read.
        with contextlib.suppress(ConnectionError), client, socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            pairs = {client: server, server: client}
            while True:
                for s in select.select(list(pairs), [], [])[0]:
                    piece = s.recv(65536)
                    if not piece:
                        return
                    pairs[s].sendall(piece)

    def stop(self):
        self.listener.close()

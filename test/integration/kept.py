"""An API server that holds what somebody left in it, uids included, and changes nothing: lists, and watches that stay open and silent."""
import http.server
import json
import threading
import urllib.parse

RESOURCES = {"/api/v1/pods": "PodList", "/api/v1/nodes": "NodeList"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, code, reason):
        self.answer(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code})

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        if url.path not in RESOURCES:
            self.fail(404, "NotFound")
        elif "sendInitialEvents" in query:
            self.fail(422, "Invalid")  # as before WatchList: then it lists
        elif "watch" in query:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.server.over.wait()
        else:
            self.answer(200, {"kind": RESOURCES[url.path], "apiVersion": "v1", "metadata": {"resourceVersion": "100000"},
                              "items": self.server.objects[url.path]})

    def refuse(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.fail(403, "Forbidden")

    do_POST = do_PATCH = do_PUT = refuse


class Kept:
    def __init__(self, nodes, pods):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # fgpu ends before its watches do
        self.server.objects = {"/api/v1/nodes": nodes, "/api/v1/pods": pods}
        self.server.over = threading.Event()
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.over.set()
        self.server.shutdown()
        self.server.server_close()

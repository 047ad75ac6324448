"""A client of /v1/stream: what the web page does, and no more."""
import http.client
import json
import socket
import threading

PATIENCE_S = 60


class Gone(Exception):
    """The stream has ended."""


def events(lines):
    """(event, id, data) of server-sent events; comments are events without a name."""
    event, last, data = "message", None, []
    for line in lines:
        line = line.decode().rstrip("\n").rstrip("\r")
        if line == "":
            if data:
                yield event, last, json.loads("\n".join(data))
            event, data = "message", []
        elif line.startswith(":"):
            yield "", None, line[1:].strip()
        else:
            field, _, value = line.partition(": ")
            if field == "event":
                event = value
            elif field == "id":
                last = int(value)
            elif field == "data":
                data.append(value)


class Stream:
    """One connection."""

    def __init__(self, address, generation=None, started_at=None, last_id=None, headers=None, receive_bytes=None):
        self.connection = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
        if receive_bytes is not None:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            s.settimeout(PATIENCE_S)
            s.connect(address)
            self.connection.sock = s
        query = "&".join(f"{k}={v}" for k, v in (("generation", generation), ("startedAt", started_at)) if v is not None)
        more = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        self.connection.request("GET", "/v1/stream" + ("?" + query if query else ""), headers={**more, **(headers or {})})
        self.response = self.connection.getresponse()
        self.events = events(self.response)

    def next(self):
        try:
            return next(self.events)
        except (StopIteration, http.client.IncompleteRead, ConnectionError):
            raise Gone from None

    def until(self, name):
        while True:
            event = self.next()
            if event[0] == name:
                return event

    def close(self):
        if self.connection.sock is not None:
            self.connection.sock.close()
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Follower:
    """What a page knows: /state, and after that only what the stream says. Comes back after a cut; reads anew when told."""

    def __init__(self, fgpu):
        self.fgpu, self.reloads, self.cuts, self.texts = fgpu, 0, 0, 0
        self.lock = threading.Condition()
        self.over = False
        self.error = None
        self.read()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def read(self):
        state = self.fgpu.state()
        with self.lock:
            self.generation, self.started_at = state["metadata"]["generation"], state["metadata"]["startedAt"]
            self.nodes = {n["name"]: n for n in state["nodes"]}
            self.decisions = {d["decision"]: d for d in state["decisions"]}
            self.cluster = None

    def run(self):
        try:
            while not self.over:
                try:
                    with Stream(self.fgpu.ops, self.generation, self.started_at) as s:
                        if s.response.status == 503:  # the streams of others, who have just gone
                            raise Gone
                        assert s.response.status == 200, s.response.read()
                        while not self.over:
                            self.apply(*s.next())
                except (Gone, OSError):
                    self.cuts += 1
        except Exception as e:  # noqa: BLE001
            self.error = e

    def apply(self, event, last, data):
        with self.lock:
            self.texts += 1
            if event == "nodes":
                assert last == data["generation"]
                for n in data["nodes"]:
                    self.nodes[n["name"]] = n
                for name in data["gone"]:
                    self.nodes.pop(name, None)
                self.generation = last
            elif event == "cluster":
                self.cluster, self.generation = data, last
            elif event == "decisions":
                self.decisions.update({d["decision"]: d for d in data["decisions"]})
                self.generation = last
        if event == "reload":
            self.reloads += 1
            self.read()

    def equals(self, state):
        assert self.error is None, self.error
        with self.lock:
            return self.nodes == {n["name"]: n for n in state["nodes"]}

    def stop(self):
        self.over = True
        self.thread.join(PATIENCE_S)
        assert self.error is None, self.error

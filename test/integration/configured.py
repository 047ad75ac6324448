"""A running fgpu whose configuration a test changes."""
import signal

from processes import HEAD, eventually, request

# What the cluster of this module starts with says nothing else.
START = "clientConnection: {bindDeadline: 2s}\n"
# For tests that know where a pod goes: a strategy that learns nothing. The default one looks at the pods that all tests
# which share an fgpu have asked for.
BINPACK = "nodeStrategy: binpack, deviceStrategy: binpack"


class Configured:
    """An fgpu whose file is ours to change."""

    def __init__(self, cluster):
        self.cluster, self.fgpu, self.path = cluster, cluster.fgpu, cluster.directory / "fgpu.yaml"

    def configz(self):
        r = request(self.fgpu.ops, "GET", "/configz")
        assert r.status == 200, r.body
        return r.json

    def write(self, body, head=HEAD):
        """As a careful editor does: the file is never half there."""
        new = self.path.with_suffix(".new")
        new.write_text(head + body)
        new.rename(self.path)

    def hup(self):
        """Sends SIGHUP; returns /configz once that reading is through."""
        before = sum(self.reloads().values())
        self.fgpu.process.send_signal(signal.SIGHUP)
        eventually(lambda: sum(self.reloads().values()) > before, "an answer to SIGHUP")
        return self.configz()

    def reloads(self):
        return {k.split('"')[1]: v for k, v in self.fgpu.metrics().items()
                if k.startswith("fgpu_config_reloads_total")}

    def reload(self, body, head=HEAD):
        self.write(body, head)
        return self.hup()

    def effective(self, body):
        """The same, and it must be in effect in the end."""
        z = self.reload(body)
        assert z["lastReload"]["outcome"] in ("in_effect", "waiting", "unchanged"), z["lastReload"]
        wanted = z["lastReload"]["hash"]
        return eventually(lambda: (lambda now: now["hash"] == wanted and now)(self.configz()), "it to be in effect")

    def metric(self, name):
        return self.fgpu.metrics()["fgpu_config_" + name]

"""scripts/bench --handshakes: bursts of binds over plain HTTP and over mTLS, with certificates of every kind.

kube-scheduler keeps two idle connections, so of N binds at once N - 2 open a connection. test/e2e/handshakes is such a client, with the
transport of kube-scheduler. Binds are accepted at once by bench_api, so what is left are connections, handshakes and fgpu. Plain and
encrypted runs alternate; CPU time is that of each process, less what the plain run took for the same binds.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import ROOT, Cluster, say  # noqa: E402

NODES = 1000
KINDS = {"rsa-3072": "rsa:3072", "rsa-2048": "rsa:2048", "p-256": "ec -pkeyopt ec_paramgen_curve:P-256", "ed25519": "ed25519"}


def certificates(directory, kind):
    """A CA, and the certificates of fgpu and of kube-scheduler, all with keys of this kind."""
    def openssl(*args):
        subprocess.run(["openssl", *(str(a) for a in args)], check=True, capture_output=True, cwd=directory)
    newkey = ["-newkey", *KINDS[kind].split(), "-nodes"]
    openssl("req", "-x509", *newkey, "-subj", "/CN=ca", "-days", 2, "-keyout", "ca.key", "-out", "ca.crt",
            "-addext", "keyUsage=critical,keyCertSign")
    for name, cn, usage in (("tls", "fgpu", "serverAuth"), ("scheduler", "system:kube-scheduler", "clientAuth")):
        (directory / "ext").write_text("basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                                       f"extendedKeyUsage={usage}\nsubjectAltName=IP:127.0.0.1\n")
        openssl("req", *newkey, "-subj", f"/CN={cn}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", 1, "-days", 1,
                "-extfile", "ext", "-out", f"{name}.crt")


class Side:
    """fgpu, plain or with TLS, and who calls it."""

    def __init__(self, a, directory, kind, tls12):
        self.a, self.tls12, self.directory = a, tls12, pathlib.Path(directory)
        serving = ""
        if kind:
            certificates(self.directory, kind)
            serving = ("serving:\n  tls:\n    onLoopback: tls\n    allowedNames: [\"system:kube-scheduler\"]\n" +
                       "".join(f"    {k}: {self.directory}/{f}\n" for k, f in
                               (("certFile", "tls.crt"), ("keyFile", "tls.key"), ("clientCAFile", "ca.crt"))))
        self.kind, self.next, self.runs = kind, 0, []
        self.per_run = 2 + sum(a.bursts) * a.rounds
        self.c = Cluster(a.build, self.directory, NODES, 0, self.per_run * a.repeats + 1, more=serving)

    def run(self, profile=None):
        port = self.c.addresses["verbs"][1]
        files = [x for flag, f in (("-ca", "ca.crt"), ("-cert", "scheduler.crt"), ("-key", "scheduler.key"))
                 for x in (flag, self.directory / f)] if self.kind else []
        out = subprocess.run(
            [str(x) for x in (self.a.client, "-url", f"http{'s' if self.kind else ''}://127.0.0.1:{port}", "-pid", self.c.fgpu.process.pid,
                              "-bursts", ",".join(map(str, self.a.bursts)), "-rounds", self.a.rounds, "-nodes", NODES,
                              "-first", self.next, *files, *(["-tls12"] if self.tls12 else []),
                              *(["-profile", profile] if profile else []))], stdout=subprocess.PIPE, check=True)
        self.next += self.per_run
        self.runs.append([json.loads(line) for line in out.stdout.splitlines()])


def middle(side, burst, key):
    return statistics.median(run[burst][key] for run in side.runs)


def spread(side, burst, key):
    values = [run[burst][key] for run in side.runs]
    return f"{min(values):.1f} to {max(values):.1f}"


def rows(a, plain, side):
    for i, n in enumerate(a.bursts):
        opened = middle(side, i, "connections")
        row = [side.kind, side.runs[0][i]["version"], side.runs[0][i]["group"], n, f"{opened / a.rounds:.0f}",
               f"{middle(plain, i, 'p50_ms'):.2f}", f"{middle(plain, i, 'p99_ms'):.2f}", f"{middle(side, i, 'p50_ms'):.2f}",
               f"{middle(side, i, 'p99_ms'):.2f}", spread(side, i, "p99_ms")]
        for key in ("client_cpu_ms", "server_cpu_ms"):
            row.append(f"{(middle(side, i, key) - middle(plain, i, key)) / opened:.2f}" if opened > a.rounds * 8 else "")
        row.append(f"{middle(side, i, 'hello_retries'):.0f} / {middle(side, i, 'resumed'):.0f}")
        row.append(sum(run[i]["unanswered"] for run in side.runs))
        yield "| " + " | ".join(map(str, row)) + " |"


def main():
    p = argparse.ArgumentParser(prog="scripts/bench --handshakes", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--client", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="what to measure")
    p.add_argument("--kind", action="append", choices=KINDS, help="only this kind of keys (may be repeated)")
    p.add_argument("--bursts", default="1,16,100,400", help="how many binds at once")
    p.add_argument("--rounds", type=int, default=10, help="bursts of each size in a run")
    p.add_argument("--repeats", type=int, default=3, help="runs of each, which alternate")
    p.add_argument("--profile", help="CPU profile of the caller's side in the last run, with one kind")
    a = p.parse_args()
    a.bursts = [int(x) for x in a.bursts.split(",")]
    print("| keys | version | group | binds at once | connections opened | plain p50 ms | p99 | mTLS p50 ms | p99 | p99 of runs | "
          "CPU ms a handshake, caller | fgpu | HelloRetryRequest / resumed | unanswered |\n|---|" + "---|" * 13)
    for kind in a.kind or KINDS:
        for tls12 in (False, True):
            with tempfile.TemporaryDirectory(prefix="fgpu-bench-") as d, tempfile.TemporaryDirectory(prefix="fgpu-bench-") as e:
                say(f"{kind}, TLS 1.{2 if tls12 else 3}")
                sides = []
                try:
                    for directory, k in ((d, None), (e, kind)):
                        sides.append(Side(a, directory, k, tls12))
                        sides[-1].c.wait_ready()
                    for i in range(a.repeats):
                        sides[0].run()
                        sides[1].run(a.profile if i == a.repeats - 1 and not tls12 else None)
                    print("\n".join(rows(a, *sides)), flush=True)
                finally:
                    for side in sides:
                        side.c.close()
    print(f"\nload average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs; medians of {a.repeats} runs of {a.rounds} bursts")


if __name__ == "__main__":
    main()

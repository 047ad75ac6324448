"""check.py DEB ROOT BUILD: the tests of scripts/check-package that need a root of Debian, ROOT, which they change. They run as root of
namespaces of their own. BUILD has fgpu-demo, whose simulated API server the service is run against."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

PACKAGING = pathlib.Path(__file__).resolve().parent
CREDENTIALS = "run/credentials/fgpu.service"
EXPOSURE_MAX = "12"  # of 100, by systemd-analyze: what it thinks of a service with access to the network and nothing else
WAIT_S = 60


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"check-package: {' '.join(map(str, command))}: exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


def equal(what, found, wanted):
    if found != wanted:
        sys.exit(f"check-package: {what}: {found}, not {wanted}")


def files_of(root):
    """Every file and folder, but what dpkg writes about itself."""
    own = {"var/lib/dpkg/status", "var/lib/dpkg/status-old", "var/lib/dpkg/available", "var/lib/dpkg/lock", "var/lib/dpkg/lock-frontend",
           "var/lib/dpkg/triggers", "var/lib/dpkg/diversions", "var/lib/dpkg/statoverride", "var/log", "var/log/dpkg.log"}
    found = set()
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = str(pathlib.Path(folder, name).relative_to(root))
            if not any(path == p or path.startswith(p + "/") for p in own):
                found.add(path)
    return found


class Root:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        (self.path / "etc").mkdir(exist_ok=True)
        (self.path / "dev/null").touch()  # for the package's scripts
        run("mount", "--bind", "/dev/null", self.path / "dev/null")
        shutil.copy(self.path / "usr/share/base-passwd/passwd.master", self.path / "etc/passwd")  # what its script does
        shutil.copy(self.path / "usr/share/base-passwd/group.master", self.path / "etc/group")

    def dpkg(self, *words):
        return run("dpkg", f"--root={self.path}", "--force-confold", *words)

    def status(self):
        done = subprocess.run(["dpkg-query", f"--admindir={self.path}/var/lib/dpkg", "-W", "-f", "${db:Status-Abbrev}", "fgpu"],
                              capture_output=True, text=True)
        return done.stdout.strip()

    def inside(self, *words):
        return run("chroot", self.path, *words)


def newer(deb, place):
    """The same package as version 9.9.9, with another configuration."""
    run("dpkg-deb", "-R", deb, place)
    control = place / "DEBIAN/control"
    control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 9.9.9+"))
    with open(place / "etc/fgpu/fgpu.yaml", "a") as f:
        f.write("# of version 9.9.9\n")
    run("dpkg-deb", "--root-owner-group", "-b", place, place.with_suffix(".deb"))
    return place.with_suffix(".deb")


def runs(root):
    if not root.inside("/usr/bin/fgpu", "version").startswith("fgpu v"):
        sys.exit("check-package: fgpu version says something else")
    if "kubectl fgpu" not in root.inside("/usr/bin/kubectl-fgpu", "--help"):
        sys.exit("check-package: kubectl-fgpu is no plugin of kubectl")
    for page in ("man1/fgpu-serve.1.gz", "man1/kubectl-fgpu.1.gz", "man5/fgpu.yaml.5.gz"):
        run("gzip", "-t", root.path / "usr/share/man" / page)
    root.inside("/usr/bin/fgpu", "check-config", "/usr/share/doc/fgpu/examples/fgpu.yaml")


def unit_is_sound(root):
    """In systemd's words: nothing that it does not know or take, and little that the service could reach."""
    root.inside("/bin/sh", "-c", "mkdir -p /proc /sys && mount -t proc proc /proc")
    said = root.inside("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", "/lib/systemd/system/fgpu.service")
    equal("systemd-analyze verify", said.strip(), "")
    root.inside("systemd-analyze", "security", "--no-pager", "--offline=true", f"--threshold={EXPOSURE_MAX}", "fgpu.service")


def configure(root, url, folder):
    """What README.Debian tells the admin to do, and what systemd does with LoadCredential."""
    etc = root.path / "etc/fgpu"
    certificates = folder / "certificates"
    run("sh", root.path / "usr/share/doc/fgpu/examples/certificates.sh", certificates)
    for name in ("ca.crt", "tls.crt", "tls.key"):
        shutil.copy(certificates / name, etc)
    root.inside("/usr/bin/fgpu", "signing-key", "--out", "/etc/fgpu/signing-key.pem")
    etc.joinpath("kubeconfig").write_text(f"""apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{}}}}]
""")
    credentials = root.path / CREDENTIALS
    credentials.mkdir(parents=True)
    for line in (root.path / "lib/systemd/system/fgpu.service").read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "LoadCredential":
            name, _, source = value.partition(":")
            shutil.copy(root.path / source.lstrip("/"), credentials / name)
            (credentials / name).chmod(0o440)  # what stat shows of root's file with an ACL for the user
    root.inside("/usr/bin/fgpu", "check-config", "/etc/fgpu/fgpu.yaml")
    return certificates


def curl(*words):
    return subprocess.run(["curl", "-s", "--max-time", "10", *words], stdout=subprocess.PIPE, text=True).stdout


def ready_under_the_unit(root, build, folder):
    server = subprocess.Popen([build / "fgpu-demo", "apiserver", "--nodes", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    url = line[line.index("http"):].split()[0]
    certificates = configure(root, url, folder)
    log = folder / "fgpu.log"
    with open(log, "w") as f:
        service = subprocess.Popen([sys.executable, PACKAGING / "confine.py", root.path, "fgpu.service"], stdout=f, stderr=f)
    end = time.monotonic() + WAIT_S
    while curl("http://127.0.0.1:9441/readyz") != "ok":
        if service.poll() is not None or time.monotonic() > end:
            sys.exit(f"check-package: the service does not become ready under its unit:\n{log.read_text()}")
        time.sleep(0.2)
    pod = ('{"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"},"spec":{"containers":[{"name":"c","resources":'
           '{"limits":{"fgpu.io/gpu-milli":"300"}}}]}},"NodeNames":["node-0","node-00"]}')
    tls = ["--cacert", certificates / "ca.crt", "--cert", certificates / "scheduler.crt", "--key", certificates / "scheduler.key"]
    said = curl(*tls, "https://127.0.0.1:9443/v1/filter", "-H", "content-type: application/json", "-d", pod)
    if '"NodeNames":["node' not in said:
        sys.exit(f"check-package: filter answers {said!r}\n{log.read_text()}")
    (root.path / "tmp").mkdir(exist_ok=True)
    (root.path / "tmp/state.json").write_text(curl(*tls, "https://127.0.0.1:9442/state"))
    if "node-" not in root.inside("/usr/bin/fgpu", "state", "--state", "/tmp/state.json"):
        sys.exit("check-package: fgpu state shows no node of /state")
    (root.path / "tmp/state.json").unlink()
    if "can be read by others" in log.read_text():
        sys.exit(f"check-package: a warning about what is as it should be:\n{log.read_text()}")
    service.terminate()
    equal("exit code of the service after SIGTERM", service.wait(WAIT_S), 0)
    server.terminate()
    server.wait(WAIT_S)


def main():
    deb, path, build = sys.argv[1:]
    root, folder = Root(path), pathlib.Path(path).parent
    before = files_of(root.path)
    root.dpkg("-i", deb)
    equal("status after installing", root.status(), "ii")
    runs(root)
    unit_is_sound(root)
    ready_under_the_unit(root, pathlib.Path(build).resolve(), folder)

    config = root.path / "etc/fgpu/fgpu.yaml"
    config.write_text(config.read_text() + "# of the admin\n")
    root.dpkg("-i", newer(deb, folder / "newer"))
    equal("the admin's configuration after an upgrade", config.read_text().splitlines()[-1], "# of the admin")
    root.dpkg("-i", deb)  # and back
    equal("the admin's configuration after going back", config.read_text().splitlines()[-1], "# of the admin")
    runs(root)

    root.dpkg("-r", "fgpu")
    equal("status after removing", root.status(), "rc")
    equal("the program after removing", (root.path / "usr/bin/fgpu").exists(), False)
    equal("the configuration after removing", config.exists(), True)
    root.dpkg("-P", "fgpu")
    admin = {f"etc/fgpu/{name}" for name in ("kubeconfig", "signing-key.pem", "tls.crt", "tls.key", "ca.crt")}
    left = files_of(root.path) - before
    equal("keys that a purge leaves", admin - left, set())
    shutil.rmtree(root.path / "etc/fgpu")
    equal("what a purge leaves", sorted(p for p in files_of(root.path) - before if not p.startswith(("proc/", "run/"))), [])
    print("installed, run under its unit, upgraded, removed and purged:", pathlib.Path(deb).name)


if __name__ == "__main__":
    main()

"""What is in an image: the program, the libraries that it needs with the package of each, and a few files that they read."""
import dataclasses
import functools
import gzip
import os
import pathlib
import re
import subprocess
import tempfile

TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
USER = 65532  # as the manifests have it

# The driver's library, which fgpu-node loads from the node, was linked with a C library that had these apart.
FOR_THE_DRIVER = ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6")

PLAIN_FILES = {
    "etc/passwd": f"root:x:0:0:root:/:/nonexistent\nfgpu:x:{USER}:{USER}:fgpu:/:/nonexistent\n",
    "etc/group": f"root:x:0:\nfgpu:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",  # without it the C library asks DNS before /etc/hosts
}


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    source: str  # its source package and version
    copyright: str
    by_us: bool = False  # built from a source package of Debian's


@dataclasses.dataclass(frozen=True)
class File:
    path: str  # in the image, without the first slash
    content: bytes
    mode: int
    package: Package | None  # None: of fgpu itself


class Debian:
    """The packages that are installed below a folder ("": on this machine)."""

    def __init__(self, root, arch):
        self.root, self.arch = root, arch
        self.folders = [f"/lib/{TRIPLETS[arch]}", f"/usr/lib/{TRIPLETS[arch]}"]

    def query(self, *arguments):
        return subprocess.run(["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", *arguments], check=True, capture_output=True,
                              text=True).stdout

    def bytes_of(self, path):
        return pathlib.Path(self.root + path).read_bytes()

    def library(self, name):
        """Its path, and its package."""
        for folder in self.folders:
            path = f"{folder}/{name}"
            if os.path.exists(self.root + path):
                return path, self.owner(path)
        raise SystemExit(f"image: no library {name} in {' '.join(self.folders)} of {self.root or '/'}; run scripts/install-deps")

    @functools.cache
    def owner(self, path):
        # Packages say /lib or /usr/lib; on a machine both are one folder.
        for said in (path, "/usr" + path, path.removeprefix("/usr")):
            try:
                return self.package(self.query("-S", said).split(": ")[0].split(",")[0])
            except subprocess.CalledProcessError:
                pass
        raise SystemExit(f"image: {path} belongs to no package of Debian")

    @functools.cache
    def package(self, name):
        plain, version, source = self.query("-W", "-f", "${Package} ${Version} ${source:Package} ${source:Version}", name).split(" ", 2)
        return Package(plain, version, source, self.copyright(plain))

    def copyright(self, package):
        path = pathlib.Path(f"{self.root}/usr/share/doc/{package}/copyright")
        if not path.exists() and path.with_suffix(".gz").exists():
            return gzip.decompress(path.with_suffix(".gz").read_bytes()).decode()
        return path.read_text()


def outdated(files):
    """Packages of this machine that are older than what apt knows of, in words."""
    names = sorted({f.package.name for f in files if f.package and not f.package.by_us})
    text = subprocess.run(["apt-cache", "policy", *names], check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"LC_ALL": "C"}).stdout
    for name, here, newest in re.findall(r"^(\S+):\n  Installed: (\S+)\n  Candidate: (\S+)", text, re.M):
        if here != newest:
            yield f"{name} is {here} here, and {newest} in Debian: bring this machine up to date before you use the image"


def elf_words(path):
    """(libraries that it needs, its loader or None)"""
    text = subprocess.run(["readelf", "-W", "-d", "-l", str(path)], check=True, capture_output=True, text=True).stdout
    loader = re.search(r"program interpreter: (/[^\]]+)\]", text)
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text), loader and loader[1]


def version_of(program, emulator, curl):
    """It is run with the libcurl that it will have, and so has all the symbols that it needs of it."""
    command = [str(program), "--version" if program.name == "fgpu-node" else "version"]
    preload = {"LD_LIBRARY_PATH": str(curl)}
    if emulator:
        command, preload = [*emulator, "-E", f"LD_LIBRARY_PATH={curl}", *command], {}
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | preload).stdout
    found = re.match(r"\S+ (v[\d.]+)\W+(?:commit )?([0-9a-f]+|unknown)", text)
    if not found:
        raise SystemExit(f"image: {program} says no version: {text}")
    return found[1], found[2]


def stripped(program, arch):
    """Without what only a debugger reads; the build id stays, and leads to the file in build/."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([f"{TRIPLETS[arch]}-strip", "--strip-unneeded", "-D", "-o", out.name, str(program)], check=True)
        return pathlib.Path(out.name).read_bytes()


def libraries(needed, loader, debian, slim):
    """Files of all libraries that those need, by the names under which they are looked for."""
    found, todo = {}, list(needed)
    while todo:
        name = todo.pop()
        if name in found or name == os.path.basename(loader):
            continue
        if name in slim:
            path, package = debian.folders[1] + "/" + name, slim[name][1]
            source = slim[name][0]
        else:
            path, package = debian.library(name)
            source = pathlib.Path(debian.root + path)
        found[name] = File(path[1:], source.read_bytes(), 0o644, package)
        todo += elf_words(source)[0]
    return list(found.values())


def time_zones(debian):
    """The tz database without its two other countings of leap seconds; links are files."""
    top = pathlib.Path(debian.root + "/usr/share/zoneinfo")
    package = debian.package("tzdata")
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top)
        if name.parts[0] not in ("posix", "right", "localtime") and path.is_file():
            content = path.read_bytes()
            if content.startswith(b"TZif"):
                yield File(f"usr/share/zoneinfo/{name}", content, 0o644, package)


def image_files(name, program, debian, curl):
    needed, loader = elf_words(program)
    source = (curl / "version").read_text().strip()
    slim = {"libcurl-gnutls.so.4": (curl / "libcurl-gnutls.so.4",
                                    Package("curl", source, f"curl {source}", (curl / "copyright").read_text(), by_us=True))}
    if name == "fgpu-node":
        needed += FOR_THE_DRIVER
    files = [File(f"usr/bin/{name}", stripped(program, debian.arch), 0o755, None)]
    files += [File(path, text.encode(), 0o644, None) for path, text in PLAIN_FILES.items()]
    files += [File(loader[1:], debian.bytes_of(loader), 0o755, debian.owner(os.path.realpath(debian.root + loader)[len(debian.root):]))]
    files += libraries(needed, loader, debian, slim)
    if name == "fgpu":
        files += time_zones(debian)
    # Who looks for known flaws in an image reads which distribution it is of, and a file for each package.
    files += [File("etc/os-release", debian.bytes_of("/usr/lib/os-release"), 0o644, debian.package("base-files"))]
    for package in sorted({f.package for f in files if f.package}, key=lambda p: p.name):
        files.append(File(f"usr/share/doc/{package.name}/copyright", package.copyright.encode(), 0o644, package))
        files.append(File(f"var/lib/dpkg/status.d/{package.name}", status(package, debian.arch).encode(), 0o644, None))
    return sorted(files, key=lambda f: f.path)


def status(package, arch):
    return (f"Package: {package.name}\nStatus: install ok installed\nArchitecture: {arch}\nVersion: {package.version}\n"
            f"Source: {package.source.replace(' ', ' (', 1)})\n")

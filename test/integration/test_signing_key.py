"""fgpu signing-key: what it writes, prints, and never does."""
import hashlib
import stat
import subprocess

from processes import BINARY


def run(*args):
    return subprocess.run([str(BINARY), "signing-key", *args], capture_output=True, text=True, timeout=120)


def openssl(*args):
    return subprocess.run(["openssl", *args], capture_output=True, check=True, timeout=120).stdout


def test_signing_key__new_pair__private_for_the_owner_and_others_can_read_it(tmp_path):
    path = tmp_path / "key.pem"
    r = run("--out", str(path))
    assert (r.returncode, r.stderr) == (0, "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    public = tmp_path / "key.pem.pub"
    assert openssl("pkey", "-in", str(path), "-pubout") == public.read_bytes()
    der = openssl("pkey", "-pubin", "-in", str(public), "-outform", "DER")
    assert r.stdout.splitlines()[0] == "id: " + hashlib.sha256(der).hexdigest()[:16]
    assert f"create secret generic fgpu-signing \\\n    --from-file=key.pem={path} " in r.stdout
    secret = path.read_text().splitlines()[1]
    assert secret not in r.stdout


def test_signing_key__two_runs__two_keys_and_nothing_written_over(tmp_path):
    path = tmp_path / "key.pem"
    assert run("--out", str(path)).returncode == 0
    before = path.read_bytes(), (tmp_path / "key.pem.pub").read_bytes()
    r = run("--out", str(path))
    assert (r.returncode, r.stdout) == (1, "") and f"{path}: already exists" in r.stderr
    assert (path.read_bytes(), (tmp_path / "key.pem.pub").read_bytes()) == before
    assert run("--out", str(tmp_path / "other.pem")).returncode == 0
    assert (tmp_path / "other.pem").read_bytes() != before[0]


def test_signing_key__cannot__says_what_to_do(tmp_path):
    r = run("--out", str(tmp_path / "no" / "key.pem"))
    assert r.returncode == 1 and "make it first" in r.stderr
    for args in ([], ["--out"], ["--out", ""], ["--out", "a", "b"], ["--nonsense"]):
        r = run(*args)
        assert r.returncode == 2 and "signing-key --help" in r.stderr, args
    assert run("--help").stdout.startswith("Usage: fgpu signing-key --out FILE")

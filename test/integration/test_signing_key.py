"""fgpu signing-key: what it writes, prints, and never does."""
import hashlib
import stat
import subprocess

from processes import run


def signing_key(*args):
    return run("signing-key", *args)


def openssl(*args):
    return subprocess.run(["openssl", *args], capture_output=True, check=True, timeout=120).stdout


def test_signing_key__new_pair__private_for_the_owner_and_others_can_read_it(tmp_path):
    path = tmp_path / "key.pem"
    r = signing_key("--out", str(path))
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
    assert signing_key("--out", str(path)).returncode == 0
    before = path.read_bytes(), (tmp_path / "key.pem.pub").read_bytes()
    r = signing_key("--out", str(path))
    assert (r.returncode, r.stdout) == (1, "") and f"{path}: already exists" in r.stderr
    assert (path.read_bytes(), (tmp_path / "key.pem.pub").read_bytes()) == before
    assert signing_key("--out", str(tmp_path / "other.pem")).returncode == 0
    assert (tmp_path / "other.pem").read_bytes() != before[0]


def test_signing_key__cannot__says_what_to_do(tmp_path):
    r = signing_key("--out", str(tmp_path / "no" / "key.pem"))
    assert r.returncode == 1 and "make it first" in r.stderr
    for args in ([], ["--out"], ["--out", ""], ["--out", "a", "b"], ["--nonsense"]):
        r = signing_key(*args)
        assert r.returncode == 2 and "signing-key --help" in r.stderr, args
    assert signing_key("--help").stdout.startswith("Usage: fgpu signing-key --out FILE")

"""Signing keys for tests: made by the program itself, read by openssl."""
import subprocess

from objects import unique
from processes import run


def new_key(directory, name=None):
    """A private key; the public one lies beside it."""
    path = directory / (name or unique("key") + ".pem")
    assert run("signing-key", "--out", path).returncode == 0
    return path


def public(key):
    return key.with_name(key.name + ".pub")


def key_id(path):
    der = subprocess.run(["openssl", "pkey", "-in", str(path), "-pubout", "-outform", "DER"], check=True,
                         capture_output=True).stdout
    digest = subprocess.run(["openssl", "dgst", "-sha256", "-r"], input=der, check=True, capture_output=True).stdout
    return digest[:16].decode()

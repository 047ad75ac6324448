"""confine.py ROOT UNIT: becomes the process that the unit would start, in ROOT, under what the unit leaves it of the kernel: only the system
calls of its SystemCallFilter, no capability, no gain of any, no memory that is writable and code at once. A stand-in for systemd where none
runs; the unit's other walls (folders, devices, users) are not built."""
import ctypes
import errno
import os
import pathlib
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_MDWE, PR_CAPBSET_DROP = 38, 65, 24
NOBODY = 65534
SCMP_ACT_ALLOW, SCMP_ACT_ERRNO_EPERM = 0x7fff0000, 0x00050000 | errno.EPERM


def settings(unit):
    for line in unit.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            yield key, value


def members(root, group):
    said = subprocess.run(["chroot", root, "systemd-analyze", "syscall-filter", "--no-pager", group], check=True, capture_output=True, text=True)
    for line in said.stdout.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith("#"):
            yield from members(root, word) if word.startswith("@") else [word]


def allowed_calls(root, unit):
    allowed = set(members(root, "@default"))
    for key, value in settings(unit):
        if key == "SystemCallFilter":
            names = {name for group in value.lstrip("~").split() for name in members(root, group)}
            allowed = allowed - names if value.startswith("~") else allowed | names
    return allowed


def prctl(what, value):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(what, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {what}")


def load_filter(allowed):
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(SCMP_ACT_ERRNO_EPERM)))
    for name in sorted(allowed):
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # of this architecture
            assert lib.seccomp_rule_add_array(context, ctypes.c_uint32(SCMP_ACT_ALLOW), number, 0, None) == 0, name
    assert lib.seccomp_load(context) == 0


def main():
    root, name = sys.argv[1:]
    unit = pathlib.Path(root, "lib/systemd/system", name)
    says = dict(settings(unit))
    allowed = allowed_calls(root, unit)
    os.chroot(root)
    os.chdir("/")
    if os.getuid() == 0 and open("/proc/self/uid_map").read().split()[2] != "1":
        os.setgroups([0])  # for the ACL of the credentials, which shows as the group's rights
        for capability in range(64):
            try:
                prctl(PR_CAPBSET_DROP, capability)
            except OSError:
                break
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if says.get("MemoryDenyWriteExecute") == "yes":
        try:
            prctl(PR_SET_MDWE, 1)
        except OSError:
            print("confine: this kernel cannot forbid writable code; not tried", file=sys.stderr)
    load_filter(allowed)
    try:
        os.nice(-1 if os.getuid() == 0 else 0)
        sys.exit("confine: the filter does not hold: nice() is of @resources")
    except PermissionError:
        pass
    environment = {"PATH": "/usr/bin:/bin", "CREDENTIALS_DIRECTORY": f"/run/credentials/{name}"}
    words = [word.replace("${CREDENTIALS_DIRECTORY}", environment["CREDENTIALS_DIRECTORY"]) for word in says["ExecStart"].split()]
    os.execve(words[0], words, environment)


if __name__ == "__main__":
    main()

"""The configuration on the command line: the effective one, written out, with the origin of every value."""

import re

import pytest
import yaml

from processes import HEAD, run

KUBECONFIG = ("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
              "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
              "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n")


def test_write_config_to__defaults_file_and_flags__a_file_that_says_the_same(tmp_path):
    source, target, again = (tmp_path / n for n in ("a.yaml", "b.yaml", "c.yaml"))
    source.write_text(HEAD + "packing: {candidates: 7}\nsizes: {'on': {milli: 5}}\nlogging: {verbosity: 1}\n")
    r = run("serve", "--config", str(source), "-v", "4", "--ops-address", "127.0.0.1:77",
            "--write-config-to", str(target))
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")  # no cluster is looked for
    written = yaml.safe_load(target.read_text())
    assert (written["packing"]["candidates"], written["packing"]["nodeStrategy"]) == (7, "rsp")
    assert written["sizes"] == {"on": {"milli": 5}}
    assert (written["logging"]["verbosity"], written["serving"]["opsAddress"]) == (4, "127.0.0.1:77")
    assert run("check-config", str(target)).returncode == 0
    assert run("serve", "--config", str(target), "--write-config-to", str(again)).returncode == 0
    assert again.read_text() == target.read_text()


def test_write_config_to__cannot__says_so(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text(HEAD + "packing: {candidates: x}\n")
    r = run("serve", "--config", str(bad), "--write-config-to", str(tmp_path / "out"))
    assert r.returncode == 3 and ":3:23: packing.candidates" in r.stderr
    assert not (tmp_path / "out").exists()
    r = run("serve", "--write-config-to", str(tmp_path / "no" / "out"))
    assert r.returncode == 1 and "No such file or directory" in r.stderr
    r = run("serve", "--write-config-to", "/dev/full")
    assert r.returncode == 1 and "No space left on device" in r.stderr


def test_effective__every_key_once__with_its_origin(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(HEAD + "packing:\n  candidates: 7\n")
    r = run("check-config", "--effective", str(path))
    assert r.returncode == 0
    lines = dict(line.split(": ", 1) for line in r.stdout.splitlines())
    assert lines["packing.candidates"] == f"7  # {path}:4:3"
    assert lines["packing.hold"] == '"3s"  # default'
    keys = [line.split("  ")[0] for line in run("check-config", "--keys").stdout.splitlines()]
    assert list(lines) == [k for k in keys if "[]" not in k and ".NAME" not in k]
    path.write_text(HEAD + "packing: 7\n")
    r = run("check-config", "--effective", str(path))
    assert r.returncode == 3 and r.stdout == "" and ":3:10: packing" in r.stderr


def test_several_files__each_has_its_verdict(tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(HEAD)
    bad.write_text(HEAD + "x: 1\n")
    r = run("check-config", str(bad), str(good), str(tmp_path / "none"))
    assert r.returncode == 3
    assert r.stdout.startswith(f"{good}: valid, hash ") and r.stdout.count("\n") == 1
    assert f"{bad}:3:1: unknown key 'x'" in r.stderr and f"{tmp_path / 'none'}: No such file" in r.stderr


@pytest.mark.parametrize("text, place", [
    ("signing: off\ndevices: {handOff: agent}\n", "4:20"),
    ("devices:\n  overrides:\n  - nodeSelector: {a: b}\n    handOff: agent\nsigning: {mode: off}\n", "6:14"),
    ("timeWindows:\n- {name: night, from: '20:00', to: '06:00', timeZone: UTC, devices: {handOff: agent}}\nsigning: off\n", "4:79"),
])
def test_signing_off__with_an_agent__is_refused_with_the_remedy(tmp_path, text, place):
    path = tmp_path / "a.yaml"
    path.write_text(HEAD + text)
    r = run("check-config", str(path))
    assert r.returncode == 3 and r.stderr.startswith(f"{path}:{place}: handOff is agent and signing is off"), r.stderr
    assert "fgpu signing-key --out FILE" in r.stderr
    path.write_text(HEAD + re.sub(r"off\b", "on", text))
    assert run("check-config", str(path)).returncode == 0


def test_signing_off__labels_that_look_like_an_agent__are_none(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(HEAD + "signing: off\ndevices: {overrides: [{nodeSelector: {handOff: agent}, maxSharers: 2}]}\n")
    r = run("check-config", str(path))
    assert r.returncode == 0, r.stderr


def test_signing_off_by_flag__with_an_agent__does_not_start(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(HEAD + "devices: {handOff: agent}\n")
    r = run("serve", "--config", str(path), "--signing-key", "off")
    assert r.returncode == 3 and "--signing-key FILE" in r.stderr and "handOff" in r.stderr


def test_wrong_use__exit_code_2():
    for args in ([], ["--effective"], ["--effective", "a", "b"], ["--keys", "a"], ["--schema", "a"], ["--nonsense"]):
        r = run("check-config", *args)
        assert r.returncode == 2 and r.stderr, args


def check(tmp_path, text, *options):
    path = tmp_path / "fgpu.yaml"
    path.write_text(HEAD + text)
    return run("check-config", *options, str(path))


def test_errors__several_in_one_mapping__all_are_reported(tmp_path):
    r = check(tmp_path, "sizes: {small: {milli: 1500, memroy: 4Gi}}\n"
                        "nodePools: [{nodeSelector: {a: b}, state: ajar, command: ['']}]\n"
                        "packing: {candidates: -1, nodeStrategy: best, hold: soon}\n")
    assert r.returncode == 3
    for what in ("sizes.small.milli: 1500", "unknown key 'memroy'", "nodePools[0].state", "nodePools[0].command",
                 "packing.candidates", "packing.nodeStrategy", "packing.hold"):
        assert what in r.stderr, (what, r.stderr)


def test_errors__more_than_are_shown__how_many_and_what_to_do(tmp_path):
    r = check(tmp_path, "".join(f"unknown{i}: 1\n" for i in range(23)))
    assert r.returncode == 3 and r.stderr.count("unknown key") == 20
    assert r.stderr.endswith("and 3 more; correct these first\n"), r.stderr


GROUP = ("nodePools:\n- {name: a, nodeSelector: {p: a}, state: open}\n- {name: b, nodeSelector: {p: b}, state: %s}\n"
         "changeOvers: [{name: g, pools: [a, b]}]\n")
WINDOW = "timeWindows:\n- {name: night, from: '20:00', to: '08:00', timeZone: UTC, nodePools: [%s]}\n"
A_CLOSES, B_OPENS = "{name: a, nodeSelector: {p: a}, state: closed}", "{name: b, nodeSelector: {p: b}, state: open}"
WARNED = {
    "clientConnection: {holdOff: 0s}\n": ":3:20: warning: clientConnection.holdOff: less than 5s",
    "devices: {overcommit: {memory: 1.5}}\n": ":3:24: warning: devices.overcommit.memory: pods can be given more memory",
    "devices: {overrides: [{nodeSelector: {a: b}, overcommit: {memory: 2}}]}\n":
        "warning: devices.overrides: element 0, overcommit.memory",
    "packing: {nodeStrategy: binpack, candidate: {nodeStrategy: binpack}}\n":
        ":3:46: warning: packing.candidate.nodeStrategy: the candidate is",
    "packing: {deviceStrategy: binpack, candidate: {deviceStrategy: binpack}}\n":
        ":3:48: warning: packing.candidate.deviceStrategy: the candidate is",
    "nodePools:\n- {nodeSelector: {p: n, q: m}, state: closed}\n- {nodeSelector: {p: n}, state: open}\n":
        ":3:1: warning: nodePools: entry 0 says closed and never holds, because entry 1",
    "timeWindows: [{name: all, from: '00:00', to: '24:00', timeZone: UTC, packing: {nodeStrategy: spread}}]\n":
        "while the window all is open, which is always",
    "timeWindows: [{name: idle, from: '08:00', to: '09:00', timeZone: UTC}]\n": "the window idle is open, nothing is different",
    "timeWindows:\n- {name: a, from: '20:00', to: '08:00', timeZone: UTC, nodePools: [{nodeSelector: {p: n}, state: open}]}\n"
    "- {name: b, days: [mon], from: '07:00', to: '09:00', timeZone: UTC, nodePools: [{nodeSelector: {p: n}, state: closed}]}\n":
        ":3:1: warning: nodePools: while the window b is open, entry 0 says open and never holds",
    GROUP % "open": ":6:1: warning: changeOvers: 2 pools of the group g are open, so none of them is opened",
    GROUP % "closed" + WINDOW % B_OPENS: "warning: changeOvers: while the window night is open, 2 pools of the group g are open",
}
FINE = [
    "consistency: strict\nclientConnection: {holdOff: 0s}\n",  # which rests on no time
    "devices: {overcommit: {compute: 2}}\n",
    "packing: {nodeStrategy: binpack, candidate: {nodeStrategy: binpack, deviceStrategy: spread}}\n",
    "packing: {candidate: {deviceStrategy: best-fit}}\n",
    GROUP % "closed" + WINDOW % f"{A_CLOSES}, {B_OPENS}",
    # the usual way: the rule, then its exception; and a window that differs from the file
    "nodePools:\n- {nodeSelector: {p: n}, state: open}\n- {nodeSelector: {p: n, q: m}, state: closed}\n",
    "nodePools: [{nodeSelector: {p: n}, state: closed}]\ntimeWindows:\n"
    "- {name: a, from: '20:00', to: '08:00', timeZone: UTC, nodePools: [{nodeSelector: {p: n}, state: open}]}\n"
    "- {name: b, from: '08:00', to: '09:00', timeZone: UTC, nodePools: [{nodeSelector: {p: n}, state: closed}]}\n",
]


@pytest.mark.parametrize("text,warning", WARNED.items())
def test_valid_and_hardly_meant__is_a_warning_and_with_strict_an_error(tmp_path, text, warning):
    r = check(tmp_path, text)
    assert r.returncode == 0 and ": valid, hash " in r.stdout
    assert warning in r.stderr and r.stderr.count("\n") == 1, r.stderr
    r = check(tmp_path, text, "--strict")
    assert r.returncode == 3 and warning in r.stderr and r.stdout == ""


@pytest.mark.parametrize("text", FINE)
def test_valid_and_meant__no_warning(tmp_path, text):
    r = check(tmp_path, text, "--strict")
    assert (r.returncode, r.stderr) == (0, "")


def test_serve__a_configuration_with_warnings__logs_them(tmp_path):
    path = tmp_path / "fgpu.yaml"
    path.write_text(HEAD + "devices: {overcommit: {memory: 1.5}}\n")
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    r = run("serve", "--config", str(path), "--kubeconfig", str(kubeconfig), "--signing-key", str(tmp_path / "none"))
    assert r.returncode == 3, "no such key: nothing is served"
    assert "hardly what is meant" in r.stderr and "devices.overcommit.memory" in r.stderr, r.stderr

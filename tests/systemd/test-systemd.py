# SPDX-License-Identifier: MIT
"""The units of systemd in a container that systemd itself boots: this machine's files, seen through an
overlay, with the project installed in it. inside.py has the checks.

usage: test-systemd.py BUILD-DIRECTORY

Skipped (77) if such a container cannot boot: not root, no systemd-nspawn, or a machine that does
not permit it. The part with a user's systemd is left out, with a note, if libpam-systemd is
missing.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
BOOT = 300
USER = "side-test"
SERVICE = """[Unit]
Description=Tests of sided
After=basic.target
Wants=basic.target
[Service]
Type=oneshot
Environment=HOME=/root
ExecStart=/usr/bin/python3 /try/inside.py {program} {user}
StandardOutput=file:/try/seen
StandardError=file:/try/errors
ExecStopPost=/bin/systemctl --no-block poweroff
"""
EXPECTED = ["started", "units", "socket", "activation", "restart", "kill", "default", "sent", "tight", "stop", "user", "all"]


def skip(why):
    print(why)
    sys.exit(SKIP)


def call(*words):
    return subprocess.run(words, check=False, capture_output=True, text=True)


def must(*words):
    done = call(*words)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(build, root):
    must("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root)
    options = json.loads(must("meson", "introspect", build, "--buildoptions"))
    prefix = next(o["value"] for o in options if o["name"] == "prefix")
    if prefix not in ("/usr", "/usr/local"):
        skip(f"installed in {prefix}, where systemd does not look")


def make_user(lower):
    """Makes an account that only the container has."""
    with open("/etc/passwd", encoding="utf-8") as passwd:
        accounts = passwd.read()
    number = 61000
    while f":{number}:" in accounts:
        number += 1
    os.makedirs(os.path.join(lower, "etc"))
    with open(os.path.join(lower, "etc/passwd"), "w", encoding="utf-8") as passwd:
        passwd.write(f"{accounts}{USER}:x:{number}:{number}::/home/{USER}:/bin/sh\n")
    with open("/etc/group", encoding="utf-8") as group, \
            open(os.path.join(lower, "etc/group"), "w", encoding="utf-8") as out:
        out.write(f"{group.read()}{USER}:x:{number}:\n")
    with open("/etc/shadow", encoding="utf-8") as shadow, \
            open(os.open(os.path.join(lower, "etc/shadow"), os.O_CREAT | os.O_WRONLY, 0o600), "w",
                 encoding="utf-8") as out:
        out.write(f"{shadow.read()}{USER}:*:19000:0:99999:7:::\n")
    home = os.path.join(lower, "home", USER)
    os.makedirs(home)
    os.chown(home, number, number)


def main(build):
    if os.geteuid():
        skip("only root can boot a container")
    if not shutil.which("systemd-nspawn") or not os.path.exists("/lib/systemd/systemd"):
        skip("systemd-nspawn is not there: install the package systemd-container")
    with tempfile.TemporaryDirectory(prefix="side-systemd-") as work:
        root = os.path.join(work, "root")
        layers = os.path.join(work, "layers")
        lower, upper, inner, share = (os.path.join(layers, n) for n in ("lower", "upper", "inner", "share"))
        os.mkdir(root)
        os.mkdir(layers)
        # Layers must not be nested, so the test's are not in the machine's file system.
        mounted = call("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", layers)
        if mounted.returncode:
            skip(f"nothing can be mounted here: {mounted.stderr.strip()}")
        try:
            for path in (lower, upper, inner, share):
                os.mkdir(path)
            try_in(build, root, (lower, upper, inner), share)
        finally:
            call("umount", "-l", layers)


def try_in(build, root, layers, share):
    lower, upper, inner = layers
    install(build, lower)
    make_user(lower)
    here = os.path.dirname(os.path.abspath(__file__))
    for name in ("inside.py", "../checks.py", "../waiting.py"):
        shutil.copy(os.path.join(here, name), share)
    shutil.copy(os.environ["SYSTEMD_PROGRAM"], os.path.join(share, "program"))
    units = os.path.join(lower, "etc/systemd/system")
    os.makedirs(units)
    with open(os.path.join(units, "side-test.service"), "w", encoding="utf-8") as unit:
        unit.write(SERVICE.format(program="/try/program", user=USER))
    mounted = call("mount", "-t", "overlay", "overlay", "-o",
                   f"lowerdir={lower}:/,upperdir={upper},workdir={inner}", root)
    if mounted.returncode:
        skip(f"no overlay can be mounted here: {mounted.stderr.strip()}")
    try:
        boot(root, share)
    finally:
        call("umount", "-l", root)


def boot(root, share):
    words = ["systemd-nspawn", "-q", "-D", root, f"--machine=side-test-{os.getpid()}", "--register=no",
             "--keep-unit", f"--bind={share}:/try", "-b", "systemd.unit=side-test.service"]
    try:
        console = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 errors="replace", check=False, timeout=BOOT)
        outcome = f"status {console.returncode}\n{console.stdout[-3000:]}{console.stderr[-3000:]}"
    except subprocess.TimeoutExpired as late:
        outcome = f"not down after {BOOT} seconds\n{(late.stdout or b'')[-3000:].decode(errors='replace')}"
    texts = {}
    for name in ("seen", "errors"):
        try:
            with open(os.path.join(share, name), encoding="utf-8", errors="replace") as file:
                texts[name] = file.read()
        except FileNotFoundError:
            texts[name] = ""
    if not texts["seen"] and not texts["errors"]:
        skip(f"no container boots here: {outcome}")
    print(texts["seen"], end="")
    if [w.replace("no-users", "user") for w in texts["seen"].split()] != EXPECTED:
        sys.exit(f"{texts['errors']}\n{outcome}")


main(sys.argv[1])

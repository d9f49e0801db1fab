#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Commands that analyse traces, record, and send requests to the daemon, with one failing call for
each site (commands.py).
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cmd"))

from commands import RUNTIME, WORK, content, fails
from harness import SIDE, end_daemon, environment, equal, kill_recording, run_tests, side

SAMPLE, CHANNELS, READSIDE, TALKER = (os.environ[name] for name in ("CTF_SAMPLE", "CTF_CHANNELS", "READSIDE", "TALKER"))
for arguments in ([SAMPLE, "write", "one"], [SAMPLE, "write2", "two"], [CHANNELS, "channels", "1", "0"], [CHANNELS, "packed", "2", "3"]):
    subprocess.run(arguments, cwd=WORK, check=True, stdout=subprocess.DEVNULL)
LOST = "(is|are) not recorded|(was|were) lost|recorded nothing"


def test_view():
    fails("view", "one")
    fails("view", "--json", "two")
    fails("view", "packed")
    fails("view", "--filter", "x > 3 && x < 100", "two")


def test_report():
    fails("report", "one")
    fails("report", "--json", "two")
    fails("report", "--callers", "5", "--losses", "channels")


def test_export():
    for form in ("csv", "jsonl", "chrome", "perfetto"):
        fails("export", "--to", form, "two")


def test_expand():
    fails("expand", "-o", "out", "channels")


def received(output):
    """Returns what a receiver stores, without the id of the stream, which differs between runs."""
    if output[1] is None:
        return output
    shutil.rmtree(os.path.join(WORK, "received"), True)
    done = side("receive", "out", "-o", "received", cwd=WORK, env=environment(SIDE_RUNTIME=RUNTIME))
    return output[0], done.status, content(os.path.join(WORK, "received"))


def test_send():
    fails("send", "channels", "out", normal=received)


def test_receive():
    subprocess.run([SIDE, "send", "channels", "stream"], cwd=WORK, check=True, stderr=subprocess.DEVNULL, env=environment(SIDE_RUNTIME=RUNTIME))
    fails("receive", "stream", "-o", "out")


def without_uuid(output):
    """Returns a recovered trace, without its UUID in metadata and packets, which differs between runs."""
    def cut(files, uuid=None):
        text = files.get("metadata")
        if text:
            found = re.search(rb'uuid = "([-0-9a-f]+)"', text).group(1)
            uuid = [found, bytes.fromhex(found.decode().replace("-", ""))]
        result = {}
        for name, item in files.items():
            for part in uuid or [] if isinstance(item, bytes) else []:
                item = item.replace(part, b"UUID")
            result[name] = cut(item, uuid) if isinstance(item, dict) else item
        return result
    return output[0], output[1] and cut(output[1])


def test_recover():
    """Recovers repeatedly from the same buffers of a killed recorder and program."""
    buffers, kept = os.path.join(WORK, "buffers"), os.path.join(WORK, "kept")
    os.mkdir(buffers)
    kill_recording([TALKER, "100", "wait"], buffers, os.path.join(WORK, "lost"), RUNTIME)
    shutil.copytree(buffers, kept)
    shutil.copytree(os.path.join(WORK, "lost"), os.path.join(WORK, "lost-kept"))

    def restore():
        for name, copy in ((buffers, kept), (os.path.join(WORK, "lost"), os.path.join(WORK, "lost-kept"))):
            shutil.rmtree(name, True)
            shutil.copytree(copy, name)
    fails("recover", "buffers", "-o", "out", prepare=restore, normal=without_uuid)


def events(output):
    """Returns the events of a recorded trace."""
    if output[1] is None:
        return output
    done = side("view", "--json", "out", cwd=WORK, env=environment(SIDE_RUNTIME=RUNTIME))
    names = re.findall(r'"event":"([^"]*)"', done.out)
    return output[0], done.status, names


def test_record():
    """The program's own calls succeed: see test-programs.py. The status is the program's, so a loss is reported by a message."""
    fails("record", "-o", "out", "--", TALKER, "3", normal=events, reports=LOST)


def test_list():
    fails("list", TALKER)
    fails("list", "--json", TALKER)
    # A function without an exit probe is listed with the reason.
    fails("probe", "list", TALKER, shown="memory")


def test_save_and_load():
    env = environment(SIDE_RUNTIME=RUNTIME)
    try:
        for words in (["create", "s", "-o", os.path.join(WORK, "session")], ["add-context", "-s", "s", "vpid", "vtid"],
                      ["enable-event", "-s", "s", "web:*", "--filter", "x > 3 && name == \"a\\\"b\""]):
            done = side(*words, env=env)
            equal(done.status, 0, done.err)
        fails("save", "s", modules="side:")
        saved = os.path.join(WORK, "saved")
        with open(saved, "w", encoding="utf-8") as file:
            file.write(side("save", "s", env=env).out)

        def destroy():
            side("destroy", "s", env=env)

        def reported(output):
            """Returns the sessions of the daemon after a load that reports success."""
            return output, side("save", "s", env=env).out
        fails("load", saved, prepare=destroy, normal=reported)
    finally:
        end_daemon(env)


def counted(output):
    """Returns output without numbers, which differ between runs."""
    return re.sub(rb"[0-9.]+", b"N", output[0]), output[1]


def test_sessions():
    """The verbs of sessions. With status 0, the daemon has done what was requested."""
    env = environment(SIDE_RUNTIME=RUNTIME)
    create = ["create", "s", "-o", os.path.join(WORK, "session")]
    event = ["enable-event", "-s", "s", "web:*"]
    ring = ["enable-channel", "-s", "s", "--mode", "overwrite", "ring"]

    def after(*steps):
        def prepare():
            side("destroy", "s", env=env)
            shutil.rmtree(os.path.join(WORK, "session"), True)
            for step in steps:
                done = side(*step, env=env)
                equal(done.status, 0, f"{step}: {done.err}")
        return prepare

    def saved(output):
        return counted(output), side("save", env=env).out, re.sub("[0-9]+", "N", side("list", "--json", env=env).out)

    verbs = (
        (create, ()),
        (ring, (create,)),
        (["enable-event", "-s", "s", "web:*", "--filter", "x > 3"], (create,)),
        (["add-context", "-s", "s", "vpid", "vtid"], (create,)),
        (["track", "-s", "s", "--pid", "1"], (create,)),
        (["start", "s"], (create, ring, event)),
        (["snapshot", "s"], (create, ring, event, ["start", "s"])),
        (["stop", "s"], (create, ring, event, ["start", "s"])),
        (["destroy", "s"], (create, ring, event, ["start", "s"])),
    )
    side("list", "--daemon", env=env)
    try:
        for verb, steps in verbs:
            fails(*verb, modules="side:", prepare=after(*steps), normal=saved, reports="session s is not the current one")
        after(create, ring, event, ["start", "s"])()
        for words in (["list"], ["list", "--json"], ["status"], ["status", "s"], ["status", "--json", "s"], ["top", "-n", "1", "-i", "10ms", "s"]):
            fails(*words, modules="side:", normal=counted, reports="cannot read which session is the current one")
    finally:
        end_daemon(env)


def test_readside():
    for more in ([], ["-f", "text"], ["-f", "s-expr"], ["--json"], ["--check"], ["-d"]):
        fails(*more, TALKER, modules="readside", executable=READSIDE)
    fails("--diff", TALKER, TALKER, modules="readside", executable=READSIDE)


try:
    run_tests(dict(globals()))
finally:
    shutil.rmtree(WORK, True)

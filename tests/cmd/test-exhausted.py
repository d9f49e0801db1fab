#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Commands that read traces, ELF files, streams of frames and definitions, with one failed allocation for each call path that allocates
(exhaust.c): the output is the whole output, or the exit status is an error with a message that memory is short. No command ends by a signal.

The short form tries every fourth call path, chosen by a seed (SIDE_EXHAUST_SEED). SIDE_TEST_LONG=1: each call path, also with each further
allocation failing, and with each K-th.
"""
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile

from harness import LONG, SIDE, contains, end_daemon, environment, equal, kill_recording, run_tests, side, true

WORK = tempfile.mkdtemp(prefix="side-exhausted-")
EXHAUST, SAMPLE, CHANNELS, READSIDE, TALKER = (os.environ[name] for name in ("EXHAUST", "CTF_SAMPLE", "CTF_CHANNELS", "READSIDE", "TALKER"))
SEED = int(os.environ.get("SIDE_EXHAUST_SEED", "1"))
for arguments in ([SAMPLE, "write", "one"], [SAMPLE, "write2", "two"], [CHANNELS, "channels", "1", "0"], [CHANNELS, "packed", "2", "3"]):
    subprocess.run(arguments, cwd=WORK, check=True, stdout=subprocess.DEVNULL)


def content(path):
    """A file, or all files below a directory."""
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            return file.read()
    return {name: content(os.path.join(path, name)) for name in sorted(os.listdir(path))}


class Command:
    """A command to run with failing allocations. `prepare` restores what it changes. `normal` removes what differs between runs."""

    def __init__(self, *arguments, program="side-more", executable=SIDE, prepare=None, normal=None):
        self.arguments, self.program, self.executable = arguments, program, executable
        self.prepare, self.normal = prepare, normal or (lambda output: output)

    def run(self, **changes):
        """Returns the status, the output including that in OUT, and the messages."""
        out = os.path.join(WORK, "out")
        shutil.rmtree(out, True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(out)
        if self.prepare:
            self.prepare()
        result = subprocess.run([self.executable, *self.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=120, check=False, cwd=WORK,
                                env=environment(LD_PRELOAD=EXHAUST, EXHAUST_PROGRAM=self.program, SIDE_RUNTIME=WORK, **changes))
        written = content(out) if os.path.exists(out) and not result.returncode else None
        return result.returncode, self.normal((result.stdout, written)), result.stderr.decode(errors="replace")

    def numbers(self):
        counts = os.path.join(WORK, "counts")
        self.run(EXHAUST_COUNT=counts)
        with open(counts, encoding="utf-8") as file:
            found = [int(line) for line in file]
        true(found, "allocations were counted")
        return found

    def ways(self):
        paths = self.numbers()
        if not LONG:
            chosen = random.Random(SEED).sample(paths, (len(paths) + 3) // 4)
            return [{"EXHAUST_AT": str(number)} for number in chosen]
        return ([{"EXHAUST_AT": str(number)} for number in paths] + [{"EXHAUST_FROM": str(number)} for number in paths] +
                [{"EXHAUST_EVERY": str(number)} for number in range(2, 60)])


def exhaust(*arguments, **more):
    command = Command(*arguments, **more)
    status, wanted, err = command.run()
    equal(status, 0, err)
    for way in command.ways():
        where = f"{arguments} {way} (seed {SEED})"
        status, out, err = command.run(**way)
        true(status >= 0, f"{where}: ends by signal {-status}")
        if not status:
            true(out == wanted, f"{where}: another output with status 0")
        elif "EXHAUST_AT" in way:
            true("memory" in err, f"{where}: status {status} does not name the reason: {err}")
        else:
            true(err.strip() not in ("", "side:"), f"{where}: status {status} without a message")


def test_view():
    exhaust("view", "one")
    exhaust("view", "packed")


def test_view_json():
    exhaust("view", "--json", "two")


def test_view_filter():
    exhaust("view", "--filter", "x > 3 && x < 100", "two")


def test_report():
    exhaust("report", "one")
    exhaust("report", "--json", "two")
    exhaust("report", "--callers", "5", "--losses", "channels")


def test_export():
    for form in ("csv", "jsonl", "chrome", "perfetto"):
        exhaust("export", "--to", form, "two")


def test_expand():
    exhaust("expand", "-o", "out", "channels")


def received(output):
    """What a receiver stores, without the identity of the stream, which differs between runs."""
    if output[1] is None:
        return output
    shutil.rmtree(os.path.join(WORK, "received"), True)
    done = side("receive", "out", "-o", "received", cwd=WORK, env=environment(SIDE_RUNTIME=WORK))
    return output[0], done.status, content(os.path.join(WORK, "received"))


def test_send():
    exhaust("send", "channels", "out", normal=received)


def test_receive():
    subprocess.run([SIDE, "send", "channels", "stream"], cwd=WORK, check=True, stderr=subprocess.DEVNULL, env=environment(SIDE_RUNTIME=WORK))
    exhaust("receive", "stream", "-o", "out")


def without_uuid(output):
    """A recovered trace, without its UUID in metadata and packets, which differs between runs."""
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
    """Recover repeatedly from the same buffers of a killed recorder and program."""
    buffers, kept = os.path.join(WORK, "buffers"), os.path.join(WORK, "kept")
    os.mkdir(buffers)
    kill_recording([TALKER, "100", "wait"], buffers, os.path.join(WORK, "lost"), WORK)
    shutil.copytree(buffers, kept)
    shutil.copytree(os.path.join(WORK, "lost"), os.path.join(WORK, "lost-kept"))

    def restore():
        for name, copy in ((buffers, kept), (os.path.join(WORK, "lost"), os.path.join(WORK, "lost-kept"))):
            shutil.rmtree(name, True)
            shutil.copytree(copy, name)
    exhaust("recover", "buffers", "-o", "out", prepare=restore, normal=without_uuid)


def test_save_and_load():
    env = environment(SIDE_RUNTIME=WORK)
    try:
        for words in (["create", "s", "-o", os.path.join(WORK, "session")], ["add-context", "-s", "s", "vpid", "vtid"],
                      ["enable-event", "-s", "s", "web:*", "--filter", "x > 3 && name == \"a\\\"b\""]):
            done = side(*words, env=env)
            equal(done.status, 0, done.err)
        exhaust("save", "s", program="side")
        saved = os.path.join(WORK, "saved")
        with open(saved, "w", encoding="utf-8") as file:
            file.write(side("save", "s", env=env).out)

        def destroy():
            side("destroy", "s", env=env)

        def reported(output):
            """The sessions of the daemon after a load that reports success."""
            return output, side("save", "s", env=env).out
        exhaust("load", saved, prepare=destroy, normal=reported)
    finally:
        end_daemon(env)


def test_readside():
    for more in ([], ["-f", "text"], ["-f", "s-expr"], ["--json"], ["--check"], ["-d"]):
        exhaust(*more, TALKER, program="readside", executable=READSIDE)
    exhaust("--diff", TALKER, TALKER, program="readside", executable=READSIDE)


try:
    run_tests(dict(globals()))
finally:
    shutil.rmtree(WORK, True)

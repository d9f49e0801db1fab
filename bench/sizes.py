# SPDX-License-Identifier: MIT
"""Bytes an event in the trace, for side and LTTng, for each recorded payload: sizes.py BUILD

Computed from the packets: their content less their headers, divided by their events. Both tracers
begin a packet with the same 84 bytes.
"""
import os
import struct
import subprocess
import sys
import tempfile

build = sys.argv[1]
side = os.path.join(build, "programs/side/side")
ours = os.path.join(build, "bench/record-side")
theirs = os.path.join(build, "bench/record-lttng")
EVENTS = 10000
HEADER = 84
WARM_UP = 10  # The programs also fire these.
PAYLOADS = (("u32", "u32"), ("u32+string16", "u32_string"), ("8xu64", "u64x8"), ("1KiB", "kib"))  # And the event.
work = tempfile.TemporaryDirectory()
environment = dict(os.environ, LTTNG_HOME=work.name, LTTNG_UST_HOME=work.name, HOME=work.name,
                   LTTNG_UST_REGISTER_TIMEOUT="-1")


def run(*command, **more):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def content(directory):
    """Returns the bytes of records in all data streams below a directory."""
    size = 0
    for path, folders, names in os.walk(directory):
        folders[:] = [folder for folder in folders if folder != "index"]
        for name in names:
            if name == "metadata" or name.startswith((".", "side_session")):
                continue
            with open(os.path.join(path, name), "rb") as file:
                data = file.read()
            at = 0
            while at + HEADER <= len(data):
                bits, packet = struct.unpack_from("<QQ", data, at + 48)
                size += bits // 8 - HEADER
                at += packet // 8
    return size


def size_of_ours(payload, event):
    output = os.path.join(work.name, "side-" + event)
    run(side, "record", "-q", "-o", output, "--buffer-size", "16M", "--", ours, "count", payload, str(EVENTS))
    return content(output) / (EVENTS + WARM_UP)


def size_of_theirs(payload, event):
    name = "sizes-" + event
    output = os.path.join(work.name, name)
    for command in (("create", name, "--output", output),
                    ("enable-channel", "-u", "-s", name, "bench", "--subbuf-size=16M", "--num-subbuf=4"),
                    ("enable-event", "-u", "-s", name, "-c", "bench", "bench:" + event), ("start", name)):
        run("lttng", "--no-sessiond", *command)
    run(theirs, "count", payload, str(EVENTS))
    for command in ("stop", "destroy"):
        run("lttng", "--no-sessiond", command, name)
    return content(output) / (EVENTS + WARM_UP)


def main():
    daemon = None
    if os.path.exists(theirs):
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        for _ in range(100):
            if not subprocess.run(["lttng", "--no-sessiond", "list"], env=environment, capture_output=True).returncode:
                break
            subprocess.run(["sleep", "0.1"], check=True)
    try:
        print("%-14s %8s %8s   bytes an event" % ("payload", "side", "LTTng"))
        for payload, event in PAYLOADS:
            peer = "%8.2f" % size_of_theirs(payload, event) if daemon else "       -"
            print("%-14s %8.2f %s" % (payload, size_of_ours(payload, event), peer), flush=True)
    finally:
        if daemon:
            daemon.terminate()
            daemon.wait()


main()

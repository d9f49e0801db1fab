# SPDX-License-Identifier: MIT
"""Sends requests to the daemon at intervals, each by a new connection as `side` does: `pinger.py
SOCKET SECONDS REQUEST PID...`, until the end of standard input.

It prints `ready`, and at the end two lists as JSON: how long each answer took, in seconds, and the
failures. The time ends when the daemon has sent its answer. Time in which this process or the main
threads of the given ones could run but had no processor does not count (delays.py).
"""
import json
import select
import socket
import struct
import sys
import time

import speaker
from delays import of_main_threads, of_thread

SO_TIMESTAMPNS = 35
TIMEOUT = 30


def receive(one):
    """Returns the answer, and how long ago it was sent, in nanoseconds."""
    text = ""
    while True:
        data, ancillary, _, _ = one.recvmsg(1 << 17, socket.CMSG_SPACE(16))
        now = time.time_ns()
        answer = json.loads(data)
        if "part" in answer:
            text += answer["part"]
            if answer["more"]:
                continue
            answer = json.loads(text)
        sent = [struct.unpack("qq", content[:16]) for level, kind, content in ancillary
                if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)]
        return answer, now - (sent[0][0] * 10**9 + sent[0][1])


def answer_time(path, request, pids):
    own, others = of_thread(), of_main_threads(pids)
    begin = time.monotonic_ns()
    with speaker.connect(path, TIMEOUT) as control:
        control.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        control.send(request)
        own = of_thread() - own
        answer, ago = receive(control)
        end = time.monotonic_ns()
    if not answer.get("ok"):
        raise ValueError(answer)
    return (end - begin - ago - own - (of_main_threads(pids) - others)) / 1e9


def main(path, seconds, request, *pids):
    times, failures = [], []
    data = json.dumps({"version": 1, **json.loads(request)}).encode()
    print("ready", flush=True)
    while True:
        try:
            times.append(answer_time(path, data, pids))
        except (OSError, ValueError) as error:
            failures.append(f"{type(error).__name__}: {error}")
        if select.select([sys.stdin], [], [], float(seconds))[0]:
            break
    print(json.dumps([times, failures]))


if __name__ == "__main__":
    main(*sys.argv[1:])

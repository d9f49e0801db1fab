# SPDX-License-Identifier: MIT
"""The messages of src/protocol/protocol.h, encoded by the test: what a hostile program sends instead of the agent."""
import array
import json
import os
import socket
import struct

MAGIC, VERSION = 0x45444953, 5
HELLO, CONFIG, EVENTS, ACK, BYE, CHANNEL, RULE, REFRESH = 1, 2, 3, 4, 5, 6, 7, 8
ARRIVE, WELCOME, DONE, PROBES, PROBED, PUSH, PASS = 9, 10, 11, 12, 13, 14, 15
CONTROL_THREAD = 2
FEATURE_PROBES = 4
MESSAGE_MAX = 65536


def message(kind, body):
    return struct.pack("<IHHII", MAGIC, VERSION, kind, 16 + len(body), 0) + body


def kind_of(received):
    return struct.unpack_from("<H", received, 6)[0] if len(received) >= 16 else 0


def names(procname, exe):
    texts = procname.encode() + b"\0", exe.encode() + b"\0"
    return struct.pack("<II", len(texts[0]), len(texts[1])) + b"".join(texts)


def hello(token, procname="hostile", exe="/hostile", pid=None):
    return message(HELLO, struct.pack("<IIQQIIII", pid or os.getpid(), 1, token, 0, 8, FEATURE_PROBES, 0, 0) +
                   names(procname, exe))


def arrive(token, procname="hostile", exe="/hostile", control=CONTROL_THREAD):
    return message(ARRIVE, struct.pack("<IIIIQQ", os.getpid(), control, 0, 0, token, 0) + names(procname, exe))


def events(token, sequence, last, data):
    return message(EVENTS, struct.pack("<QIIII", token, sequence, last, len(data), 0) + data)


def event_head(number, channel, size):
    """Returns the head of a description without contexts."""
    return struct.pack("<IHHII", number, channel, 0, 0, size)


def pass_to(path):
    text = path.encode() + b"\0"
    return message(PASS, struct.pack("<II", len(text), 0) + text)


def done(token, serial, state=0):
    return message(DONE, struct.pack("<QQII", token, serial, state, 0))


def new_socket():
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def connect(path, timeout=10):
    one = new_socket()
    one.settimeout(timeout)
    try:
        one.connect("\0" + path[1:] if path.startswith("@") else path)
    except OSError:
        one.close()
        raise
    return one


def send_with(one, data, *descriptors):
    one.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])


def receive(one):
    """Returns a message and its descriptors."""
    descriptors = array.array("i")
    data, ancillary, _, _ = one.recvmsg(MESSAGE_MAX, socket.CMSG_SPACE(4 * descriptors.itemsize))
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(content[:len(content) - len(content) % descriptors.itemsize])
    return data, list(descriptors)


class Instance:
    """A program that a session has accepted: its first connection, doorbell and rings."""

    def __init__(self, path, token, procname="hostile"):
        self.token = token
        self.rings = []
        self.socket = connect(path)
        self.socket.send(hello(token, procname))
        data, descriptors = receive(self.socket)
        if kind_of(data) != CONFIG:
            raise OSError(f"no CONFIG: {data[:96]!r}")
        config = struct.unpack_from("<10I", data, 16)
        if not config[0]:
            raise OSError(f"refused: {data[96:].decode(errors='replace')}")
        self.doorbell = descriptors[0] if descriptors else -1
        for _ in range(config[9]):
            self.drop(receive(self.socket)[1])
        for _ in range(config[7]):
            data, descriptors = receive(self.socket)
            nr_rules = struct.unpack_from("<QII", data, 16)[2]
            self.rings += descriptors
            for _ in range(nr_rules):
                receive(self.socket)

    @staticmethod
    def drop(descriptors):
        for descriptor in descriptors:
            os.close(descriptor)

    def close(self):
        self.socket.close()
        self.drop(self.rings)
        if self.doorbell >= 0:
            os.close(self.doorbell)


def ask(path, request, *descriptors, timeout=10):
    """Sends one request to the control socket; returns its answer."""
    with connect(path, timeout) as control:
        data = json.dumps({"version": 1, **request}).encode()
        if descriptors:
            send_with(control, data, *descriptors)
        else:
            control.send(data)
        text = ""
        while True:
            answer = json.loads(control.recv(1 << 17))
            if "part" not in answer:
                return answer
            text += answer["part"]
            if not answer["more"]:
                return json.loads(text)

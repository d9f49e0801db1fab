# SPDX-License-Identifier: MIT
"""Messages of the agent's protocol (src/protocol/protocol.h), encoded and decoded by the test."""
import array
import os
import socket
import struct

MAGIC, VERSION = 0x45444953, 5
(HELLO, CONFIG, EVENTS, ACK, BYE, CHANNEL, RULE, REFRESH, ARRIVE, WELCOME, DONE, PROBES, PROBED, PUSH, PASS,
 MISSED) = range(1, 17)
SYNC, THREAD, SIGNAL = 1, 2, 3


def message(kind, body, version=VERSION):
    return struct.pack("<IHHII", MAGIC, version, kind, 16 + len(body), 0) + body


def names(name, exe):
    name, exe = name + b"\0", exe + b"\0"
    return struct.pack("<II", len(name), len(exe)) + name + exe


def arrive(token, control=THREAD, signal_number=0, flags=0, parent=0, name=b"spoken", exe=b"/spoken"):
    return message(ARRIVE, struct.pack("<IIIIQQ", os.getpid(), control, signal_number, flags, token, parent) +
                   names(name, exe))


def done(token, serial, state=0):
    return message(DONE, struct.pack("<QQII", token, serial, state, 0))


def passing(path):
    text = path.encode() + b"\0"
    return message(PASS, struct.pack("<II", len(text), 0) + text)


def hello(token, features=4, control=THREAD, signal_number=0, parent=0, name=b"spoken", exe=b"/spoken"):
    return message(HELLO, struct.pack("<IIQQIIII", os.getpid(), os.getppid(), token, parent, 8, features, control,
                                      signal_number) + names(name, exe))


def refresh(token, generation):
    return message(REFRESH, struct.pack("<QQ", token, generation))


def events(token, sequence, last, data=b""):
    return message(EVENTS, struct.pack("<QIIII", token, sequence, last, len(data), 0) + data)


def bye(token):
    return message(BYE, struct.pack("<Q", token))


def kind_of(data):
    return struct.unpack_from("<H", data, 6)[0] if len(data) >= 16 else None


def read_welcome(data):
    """Returns (accepted, serial, {path: generation}, reason)."""
    serial, accepted, nr, _, _ = struct.unpack_from("<QIIII", data, 16)
    at, sessions = 40, {}
    for _ in range(nr):
        generation, = struct.unpack_from("<Q", data, at)
        end = data.index(b"\0", at + 8)
        sessions[data[at + 8:end].decode()] = generation
        at = end + 1
    return bool(accepted), serial, sessions, data[at:].split(b"\0")[0].decode()


def dial(path, timeout=None):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(timeout)
    try:
        one.connect("\0" + path[1:] if path.startswith("@") else path)
    except OSError:
        one.close()
        raise
    return one


def send_with(one, data, fds):
    one.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])


def hear(one):
    """Returns a message, whose descriptors are closed; b"" if the connection is closed."""
    try:
        data, extra, _, _ = one.recvmsg(1 << 17, socket.CMSG_SPACE(64))
    except ConnectionResetError:
        return b""
    for level, kind, payload in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds = array.array("i")
            fds.frombytes(payload[:len(payload) - len(payload) % 4])
            for fd in fds:
                os.close(fd)
    return data

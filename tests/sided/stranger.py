# SPDX-License-Identifier: MIT
"""A program that speaks the protocol of a session itself, as its own user: `stranger.py SOCKET VERB
[NUMBER]`.

It prints one line of JSON when it is ready, and holds its resources until its standard input is
closed.

  descriptors     introduce itself, and print the received descriptors
  scribble        and write to all of them, repeatedly
  connect N       N connections, each with a batch of descriptions that never ends
  hello N         N processes that introduce themselves, and stay
  keep N          N processes that introduce themselves as programs whose ring memory can be reclaimed, and never release it
  refill N        N of them that use reclaimed memory, and request more all the time
  complain N      N batches of descriptions of which none can be accepted
"""
import array
import fcntl
import json
import mmap
import os
import random
import select
import socket
import struct
import sys

HELLO, CONFIG, EVENTS, ARRIVE = 1, 2, 3, 9
MESSAGE_MAX = 65536
F_GET_SEALS = 1034


def message(kind, body):
    return struct.pack("<IHHII", 0x45444953, 5, kind, 16 + len(body), 0) + body


def names():
    texts = b"stranger\0", b"/stranger\0"
    return struct.pack("<II", len(texts[0]), len(texts[1])) + b"".join(texts)


def hello(token, features=4):
    return message(HELLO, struct.pack("<IIQQIIII", os.getpid(), 1, token, 0, 8, features, 0, 0) + names())


def arrive(token):
    return message(ARRIVE, struct.pack("<IIIIQQ", os.getpid(), 2, 0, 0, token, 0) + names())


def events(token, sequence, last, data):
    return message(EVENTS, struct.pack("<QIIII", token, sequence, last, len(data), 0) + data)


def connect(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(60)
    one.connect(path)
    return one


def receive(one):
    descriptors = array.array("i")
    data, ancillary, _, _ = one.recvmsg(MESSAGE_MAX, socket.CMSG_SPACE(32))
    for _, _, content in ancillary:
        descriptors.frombytes(content[:len(content) - len(content) % 4])
    return data, list(descriptors)


def introduce(path, token, features=4):
    """Returns the connection and all received descriptors, or the reason of a refusal."""
    one = connect(path)
    one.send(hello(token, features))
    data, descriptors = receive(one)
    config = struct.unpack_from("<10I", data, 16)
    if not config[0]:
        return None, data[16 + 96:].rstrip(b"\0").decode(errors="replace")
    for _ in range(config[9]):
        descriptors += receive(one)[1]
    for _ in range(config[7]):
        data, more = receive(one)
        descriptors += more
        for _ in range(struct.unpack_from("<QII", data, 16)[2]):
            receive(one)
    return one, descriptors


def is_writable(descriptor):
    """Also if the process got it read-only, unless it is sealed."""
    try:
        seals = fcntl.fcntl(descriptor, F_GET_SEALS)
    except OSError:
        seals = 0
    return not seals & 8  # F_SEAL_WRITE


def print_json(what):
    print(json.dumps(what), flush=True)


def is_over(seconds=0.0):
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def hold():
    while not is_over(60):
        pass


LEASE_AT, LEASE_FREE, LEASE_USED, LEASE_REVOKED, LEASE_ASKED = 2048, 0, 1, 3, 4
WITH_LEASE = 4 | 16


def keep(descriptors):
    """Claims all memory. It exists, or is requested."""
    for fd in descriptors:
        rings = mmap.mmap(fd, 4096)
        if rings[LEASE_AT] == LEASE_FREE:
            rings[LEASE_AT] = LEASE_USED
        yield rings


def refill(descriptors):
    """Writes after the end of the memory that is left, and reports wrong values about it."""
    for fd in descriptors:
        # As seen by a program that mapped everything early.
        rings = mmap.mmap(fd, os.fstat(fd).st_size)
        yield rings


def enlarge(descriptors):
    """If the files are truncated, enlarges them again, and uses that. Returns their size then."""
    sizes = [os.fstat(fd).st_size for fd in descriptors]
    all_rings = [mmap.mmap(fd, size) for fd, size in zip(descriptors, sizes)]
    while not all(os.fstat(fd).st_size < size for fd, size in zip(descriptors, sizes)):
        if is_over(0.05):
            sys.exit()
    for fd, size, rings in zip(descriptors, sizes, all_rings):
        os.ftruncate(fd, size)
        rings[0:size:4096] = rings[0:size:4096]
    return sum(sizes)


def misuse(all_rings):
    for rings in all_rings:
        for state in (LEASE_ASKED, LEASE_FREE, LEASE_ASKED, LEASE_REVOKED, 77, LEASE_ASKED):
            rings[LEASE_AT] = state
        # After the end of a file this is a SIGBUS, which ends this process only.
        for at in range(8192, len(rings), 4096):
            rings[at] = 1


def introduce_many(path, number, features=4, use=None):
    """Makes children that hold their resources. Returns how many of them were accepted."""
    accepted = 0
    for _ in range(number):
        read, write = os.pipe()
        if not os.fork():
            one, descriptors = introduce(path, random.getrandbits(62) | 1, features)
            all_rings = list(use(descriptors)) if one and use else []
            os.write(write, b"1" if one else b"0")
            os.close(write)
            while os.getppid() != 1 and not is_over(0.01 if use == refill else 1):
                if use == refill:
                    misuse(all_rings)
            os._exit(0)
        os.close(write)
        accepted += os.read(read, 1) == b"1"
        os.close(read)
    return accepted


def main():
    path, verb = sys.argv[1:3]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    token = random.getrandbits(62) | 1
    if verb in ("descriptors", "scribble"):
        one, descriptors = introduce(path, token)
        stats = [os.fstat(fd) for fd in descriptors]
        print_json([[stat.st_dev, stat.st_ino] for fd, stat in zip(descriptors, stats) if is_writable(fd)])
        maps = [mmap.mmap(fd, stat.st_size) for fd, stat in zip(descriptors, stats)] if verb == "scribble" else []
        while maps and not is_over():
            for one_map in maps:
                for at in range(512, min(len(one_map), 16384), 8):
                    one_map[at:at + 8] = bytes(8)
        hold()
    elif verb == "connect":
        _, answer = introduce(path, token)
        held = []
        while len(held) < number and not is_over():
            try:
                one = connect(path)
                one.send(events(token, 0, 0, b""))
                one.setblocking(False)
                held.append(one)
            except OSError:
                break
        print_json([len(held), answer if isinstance(answer, str) else ""])
        hold()
    elif verb == "hello":
        print_json(introduce_many(path, number))
        hold()
    elif verb in ("keep", "refill"):
        print_json(introduce_many(path, number, WITH_LEASE, {"keep": keep, "refill": refill}[verb]))
        hold()
    elif verb == "enlarge":
        one, descriptors = introduce(path, token, WITH_LEASE)
        print_json(enlarge(descriptors))
        hold()
    elif verb == "complain":
        one, _ = introduce(path, token)
        for _ in range(number):
            one.send(events(token, 0, 1, struct.pack("<IHHII", 1, 60000, 0, 0, 0)))
            receive(one)
        print_json(number)
        hold()


main()

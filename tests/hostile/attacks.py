# SPDX-License-Identifier: MIT
"""The attacks: `attacks.py NAME ARGUMENTS`, run as a hostile user.

Each prints `ready` when it runs, continues until its standard input ends, and then prints what it
did. It must not fail if the daemon refuses it: the defences are supposed to do that.
"""
import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import speaker
from speaker import Instance

REFUSALS = OSError, ValueError, struct.error


def report(*words):
    print(*words, flush=True)


def is_over(seconds=0.0):
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def ready():
    report("ready")


def new_token():
    return random.getrandbits(63) | 1


def join(path):
    """Returns an instance, as soon as there is space for one; None at the end of the attack."""
    while not is_over(0.05):
        with contextlib.suppress(*REFUSALS):
            return Instance(path, new_token())
    return None


def hand_in(control, name, listener):
    """Hands in a listening socket, as soon as the daemon accepts the request; returns its answer, or
    None at the end of the attack.
    """
    while not is_over(0.05):
        with contextlib.suppress(*REFUSALS):
            return speaker.ask(control, {"verb": "door", "pid": os.getpid(), "path": name}, listener.fileno())
    return None


def open_with(path, data):
    """Returns a connection on which this has been sent, or None."""
    one = speaker.new_socket()
    one.setblocking(False)
    try:
        one.connect(path)
        one.send(data)
        return one
    except OSError:
        one.close()
        return None


def drop_closed(connections):
    poller = select.poll()
    for one in connections:
        poller.register(one, select.POLLHUP | select.POLLERR)
    closed = {number for number, _ in poller.poll(0)}
    for one in [one for one in connections if one.fileno() in closed]:
        one.close()
        connections.remove(one)


def keep_open(path, data, most):
    """Keeps as many connections with this message as possible, opened again when they are closed."""
    connections, made = [], 0
    first = True
    while not is_over(0.01):
        while len(connections) < most:
            one = open_with(path, data)
            if not one:
                break
            connections.append(one)
            made += 1
        if first and not is_over(0.2):
            ready()
        first = False
        drop_closed(connections)
    report("made", made, "held", len(connections))


def all_connections(path):
    """Holds all connections of a session: each has begun a batch of descriptions and never ends it."""
    one = join(path)
    if one:
        keep_open(path, speaker.events(one.token, 0, 0, b""), 600)


def silent(path):
    """Holds all connections that have not sent anything yet."""
    connections, first = [], True
    while not is_over(0.01):
        while len(connections) < 600:
            one = speaker.new_socket()
            one.setblocking(False)
            try:
                one.connect(path)
            except OSError:
                one.close()
                break
            connections.append(one)
        if first:
            ready()
            first = False
        drop_closed(connections)
    report("held", len(connections))


def acknowledgements(path):
    """Batches with thousands of refusals whose acknowledgements are never read."""
    one = join(path)
    if not one:
        return
    data = b"".join(speaker.event_head(number, 60000, 0) for number in range(4000))
    batch = speaker.events(one.token, 0, 1, data)
    connections, made, first = [], 0, True
    while not is_over(0.01):
        while len(connections) < 120:
            other = speaker.new_socket()
            other.setblocking(False)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            try:
                other.connect(path)
                for _ in range(12):
                    other.send(batch)
            except OSError:
                if not other.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) and made % 2:
                    other.close()
                    break
            connections.append(other)
            made += 1
        if first:
            ready()
            first = False
        drop_closed(connections)
    report("connections", made)


def pids(path, how):
    """A connection that outlives its process: the process id noted for it is printed, and used when
    another process has it.
    """
    connections, numbers = [], []
    for _ in range(8):
        one = speaker.new_socket()
        child = os.fork()
        if not child:
            try:
                one.connect(path)
            except OSError:
                os._exit(1)
            os._exit(0)
        os.waitpid(child, 0)
        connections.append(one)
        numbers.append(child)
    report("ready", *numbers)
    sys.stdin.readline()
    sent = 0
    for one in connections:
        if how != "direct":
            with contextlib.suppress(OSError):
                one.send(speaker.pass_to(how))
    time.sleep(0.2)
    for one, number in zip(connections, numbers):
        for pid in (number, os.getpid()):
            with contextlib.suppress(OSError):
                one.send(speaker.hello(new_token(), pid=pid))
                sent += 1
    report("sent", sent)
    while not is_over(1):
        pass


def doorbell(path, how):
    """Writes to the page by which programs wake the recorder: that of all users, if there is one, or
    that of the attacker's rings.
    """
    one = join(path)
    if not one:
        ready()
        while not is_over(1):
            pass
        return
    shared = one.doorbell >= 0
    # The words `sleeping` and `sequence` of struct ring_doorbell.
    begin = 64 if shared else 1024
    try:
        page = mmap.mmap(one.doorbell if shared else one.rings[0], 4096)
    except OSError as error:
        ready()
        report("refused", error)
        return
    libc = ctypes.CDLL(None)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    rounds = 0
    ready()
    while not is_over():
        for _ in range(500):
            rounds += 1
            if how == "quiet":
                page[begin:begin + 4] = bytes(4)
            elif how == "ring":
                for word in range(begin // 4, begin // 4 + 4):
                    page[4 * word:4 * word + 4] = struct.pack("<I", rounds & 0xffffffff)
                    libc.syscall(202, ctypes.c_void_p(address + 4 * word), 1, 1000, 0, 0, 0)
            else:
                page[begin - 56:begin + 64] = os.urandom(120)
    report("rounds", rounds)
    sys.stdout.flush()
    os._exit(0)


def lingering_socket(keep):
    """Returns a socket whose last close() waits for an hour."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    one = socket.socket()
    one.connect(listener.getsockname())
    keep += [listener, listener.accept()[0]]
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    one.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            one.send(bytes(65536))
    one.setblocking(True)
    return one


def linger_once(path, data):
    """Sends a socket along with a message, and closes it before the receiver does: the receiver's
    close is the last one then.
    """
    os.close(sys.stdout.fileno())
    keep = []
    one = lingering_socket(keep)
    with contextlib.suppress(OSError):
        keep.append(speaker.connect(path))
        speaker.send_with(keep[-1], data, one.fileno())
    # If it was refused, or the receiver was faster, this is the close that blocks: in a process
    # that does nothing else.
    one.close()
    while True:
        time.sleep(1)


def linger(path):
    """Sends unsolicited descriptors whose last close blocks."""
    for data in 8 * (speaker.arrive(new_token()), speaker.hello(new_token()), speaker.message(speaker.BYE, bytes(8)), b"x"):
        if not os.fork():
            linger_once(path, data)
    ready()
    while not is_over(1):
        pass


def rendezvous(name):
    listener = speaker.new_socket()
    listener.bind("\0" + name[1:])
    listener.listen(16)
    return listener


def blocking_rendezvous(control):
    """Hands in a listening socket, and makes it block afterwards."""
    name = f"@hostile-{os.getpid()}"
    listener = rendezvous(name)
    answer = hand_in(control, name, listener)
    listener.setblocking(True)
    fcntl.fcntl(listener, fcntl.F_SETFL, fcntl.fcntl(listener, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    connections = []
    ready()
    while not is_over(0.2):
        # Only as many as make the daemon call accept() once more than there are connections.
        with contextlib.suppress(OSError):
            connections.append(speaker.connect(name, 1))
            fcntl.fcntl(listener, fcntl.F_SETFL, fcntl.fcntl(listener, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    report("answer", json.dumps(answer))


def twice(path):
    """ARRIVE twice on a connection, and once more on another one of the same process."""
    rounds = 0
    report("ready")
    while not is_over():
        with contextlib.suppress(OSError):
            one = speaker.connect(path)
            for _ in range(random.randrange(2, 4)):
                one.send(speaker.arrive(new_token()))
            time.sleep(0.003)
            other = speaker.connect(path)
            other.send(speaker.arrive(new_token()))
            time.sleep(0.003)
            for last in random.sample((one, other), 2):
                last.close()
            rounds += 1
    report("rounds", rounds)


def arrive_once(name):
    """A program arrives through a rendezvous socket, and exits."""
    with contextlib.suppress(OSError):
        one = speaker.connect(name)
        one.send(speaker.arrive(new_token()))
        speaker.receive(one)


def removed_rendezvous(control):
    """ARRIVE through a rendezvous socket that is removed in the meantime, because its only program has exited."""
    rounds, answers = 0, 0
    while not is_over():
        name = f"@hostile-removed-{os.getpid()}-{rounds}"
        rounds += 1
        listener = rendezvous(name)
        answers += bool(hand_in(control, name, listener))
        listener.close()
        child = os.fork()
        if not child:
            arrive_once(name)
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.3)
        late = []
        with contextlib.suppress(OSError):
            late += [speaker.connect(name) for _ in range(4)]
        if rounds == 1:
            ready()
        time.sleep(1.5)
        for one in late:
            with contextlib.suppress(OSError):
                one.send(speaker.arrive(new_token()))
                time.sleep(0.05)
            one.close()
    report("rounds", rounds, "answers", answers)


def keep_programs(count, join):
    """Processes that call join() and keep its result until the attack is over."""
    children = []
    for _ in range(int(count)):
        child = os.fork()
        if not child:
            kept = join()  # open until the process is killed
            signal.pause()
            del kept
        children.append(child)
    time.sleep(0.5)
    ready()
    while not is_over(1):
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    report("programs", len(children))


def many(path, count):
    """Idle programs, each with its rings."""
    def join():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for _ in range(50):
            with contextlib.suppress(*REFUSALS):
                one = Instance(path, new_token())
                one.socket.close()
                return one
            time.sleep(0.02)
        return None
    keep_programs(count, join)


def arrivals(path, count):
    """Programs that join the daemon and stay, each in a separate process."""
    def join():
        os.close(sys.stdout.fileno())
        one = None
        with contextlib.suppress(OSError):
            one = speaker.connect(path)
            one.send(speaker.arrive(new_token()))
            speaker.receive(one)
        return one
    keep_programs(count, join)


def rendezvous_sockets(control, count):
    """Rendezvous sockets that no program uses."""
    listeners, refused = [], 0
    while len(listeners) < int(count) and refused < 3 and not is_over():
        name = f"@hostile-many-{os.getpid()}-{len(listeners)}-{refused}"
        listener = rendezvous(name)
        answer = {}
        with contextlib.suppress(*REFUSALS):
            answer = speaker.ask(control, {"verb": "door", "pid": os.getpid(), "path": name}, listener.fileno())
        if answer.get("ok"):
            # The daemon has a copy.
            listeners.append(listener)
        else:
            refused += 1
        listener.close()
    report("ready", len(listeners))
    while not is_over(1):
        pass


def never_done(path):
    """A program that receives each change and never answers."""
    one = speaker.connect(path)
    one.send(speaker.arrive(new_token(), procname="systemd"))
    speaker.receive(one)
    ready()
    while not is_over(1):
        pass


def flood(control):
    """All connections to the control socket that one user can have, each with a request whose answer is never read."""
    connections = []
    data = json.dumps({"version": 1, "verb": "top", "interval": 10000000}).encode()
    first = True
    while not is_over(0.02):
        while len(connections) < 300:
            one = open_with(control, data)
            if not one:
                break
            connections.append(one)
        if first:
            ready()
            first = False
        drop_closed(connections)
    report("held", len(connections))


def describe(program, count):
    """Programs whose descriptions take all the memory that a session has for them."""
    children = [subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(int(count))]
    for child in children:
        child.stdout.readline()
    ready()
    while not is_over(1):
        pass
    for child in children:
        child.kill()
        child.wait()
    report("programs", len(children))


def start_and_exit(program):
    """Programs that start and exit at once, repeatedly."""
    rounds = 0
    ready()
    while not is_over():
        subprocess.run([program, "1"], stdout=subprocess.DEVNULL, check=False)
        rounds += 1
    report("programs", rounds)


ATTACKS = {function.__name__: function for function in
           (all_connections, silent, acknowledgements, pids, doorbell, linger, blocking_rendezvous, twice, removed_rendezvous, many, arrivals, rendezvous_sockets, never_done, flood, describe,
            start_and_exit)}

if __name__ == "__main__":
    ATTACKS[sys.argv[1]](*sys.argv[2:])

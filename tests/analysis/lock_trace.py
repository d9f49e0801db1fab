# SPDX-License-Identifier: MIT
"""Writes traces of locks in CTF 1.8, byte by byte: what programs do, what they cannot do, and losses."""
import os
import random
import struct
import uuid

START = 1_700_000_000  # seconds
OBJECTS = {"mutex": "mutex", "rwlock": "rwlock", "cond": "cond", "spin": "spinlock", "barrier": "barrier"}
FUNCTIONS = ["pthread_mutex_init", "pthread_mutex_destroy", "pthread_mutex_lock_req", "pthread_mutex_lock", "pthread_mutex_trylock",
             "pthread_mutex_timedlock_req", "pthread_mutex_timedlock", "pthread_mutex_unlock", "pthread_rwlock_init",
             "pthread_rwlock_destroy", "pthread_rwlock_rdlock_req", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock_req",
             "pthread_rwlock_wrlock", "pthread_rwlock_tryrdlock", "pthread_rwlock_unlock", "pthread_spin_lock_req", "pthread_spin_lock",
             "pthread_spin_unlock", "pthread_cond_init", "pthread_cond_destroy", "pthread_cond_wait_req", "pthread_cond_wait",
             "pthread_cond_signal", "sem_wait_req", "sem_wait", "sem_trywait", "sem_post", "pthread_barrier_wait_req",
             "pthread_barrier_wait", "pthread_join_req", "pthread_join"]

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;
trace {
	major = 1; minor = 8; uuid = "%(uuid)s"; byte_order = le;
	packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; };
};
env { hostname = "host"; domain = "ust"; tracer_name = "other"; vpid = 7; procname = "program"; };
clock { name = "k"; freq = 1000000000; offset_s = %(start)d; offset = 0; absolute = true; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := time;
stream {
	id = 0;
	packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size;
		u64 packet_size; u64 events_discarded; u32 cpu_id; };
	event.header := struct { u16 id; time timestamp; };
	event.context := struct { s32 _vtid; };
};
"""


def object_name(function):
    if function.startswith("sem_"):
        return "semaphore"
    return OBJECTS.get(function.split("_")[1], "thread")


def has_result(function):
    return not function.endswith(("_req", "_unlock", "_signal", "_post"))


def describe(function, number):
    fields = f"x64 _{object_name(function)};"
    if function.startswith("pthread_cond_wait"):
        fields += " x64 _mutex;"
    if has_result(function):
        fields += " s32 _result;"
    fields += " x64 _caller;"
    return f'event {{ name = "pthread:{function}"; id = {number}; stream_id = 0; fields := struct {{ {fields} }}; }};\n'


class LockTrace:
    """Events in the order of their times, in packets."""

    def __init__(self, path, seed=1):
        self.path, self.identity = path, uuid.UUID(int=random.Random(seed).getrandbits(128), version=4)
        self.packets, self.records, self.discarded = [], [], 0

    def add(self, ns, thread, function, address, result=0, mutex=0, caller=0x401000):
        body = struct.pack("<Q", address)
        if function.startswith("pthread_cond_wait"):
            body += struct.pack("<Q", mutex)
        if has_result(function):
            body += struct.pack("<i", result)
        body += struct.pack("<Q", caller)
        self.records.append((ns, struct.pack("<HQi", FUNCTIONS.index(function), ns, thread) + body))

    def end_packet(self, lost=0):
        """Ends a packet, in which so many events were lost."""
        self.discarded += lost
        if self.records or lost:
            self.packets.append((self.records, self.discarded))
        self.records = []

    def write(self):
        self.end_packet()
        os.makedirs(self.path)
        with open(os.path.join(self.path, "metadata"), "w", encoding="utf-8") as file:
            file.write(METADATA % {"uuid": self.identity, "start": START})
            for number, function in enumerate(FUNCTIONS):
                file.write(describe(function, number))
        with open(os.path.join(self.path, "stream_0"), "wb") as file:
            for records, discarded in self.packets:
                payload = b"".join(record for _, record in records)
                size = (24 + 44 + len(payload)) * 8
                file.write(struct.pack("<I", 0xc1fc1fc1) + self.identity.bytes + struct.pack("<I", 0))
                file.write(struct.pack("<QQQQQI", records[0][0], records[-1][0], size, size, discarded, 0))
                file.write(payload)


def write_deadlock(path, lost=0, lost_before=0):
    """Two threads of which each waits for the lock of the other one."""
    first, second = 0x1000, 0x2000
    trace = LockTrace(path)
    now = 1000
    # A pause in the middle lets losses be before or during the deadlock.
    for thread, function, address in ((1, "pthread_mutex_lock_req", first), (1, "pthread_mutex_lock", first), (1, "pthread_mutex_unlock", first)):
        trace.add(now, thread, function, address)
        now += 1000
    trace.end_packet()
    trace.add(now, 1, "sem_post", 0x3000)
    trace.end_packet(lost_before)
    now += 1_000_000
    for thread, function, address in ((1, "pthread_mutex_lock_req", first), (1, "pthread_mutex_lock", first),
                                      (2, "pthread_mutex_lock_req", second), (2, "pthread_mutex_lock", second)):
        trace.add(now, thread, function, address)
        now += 1000
    trace.end_packet()
    trace.add(now, 1, "pthread_mutex_lock_req", second)
    trace.end_packet(lost)
    trace.add(now + 1000, 2, "pthread_mutex_lock_req", first)
    trace.write()
    return path


def write_anything(path, seed, count=3000):
    """Writes events in an order that no program has, with values that none has."""
    chance = random.Random(seed)
    trace = LockTrace(path, seed)
    addresses = [0, 1, 0x1000, 0x1040, 0x1080, 2**64 - 1, 2**63]
    now = 0
    for number in range(count):
        now += chance.choice([0, 0, 1, 50, 2_000_000, 2**40])
        trace.add(now, chance.choice([-2**31, -1, 0, 1, 2, 3, 2**31 - 1]), chance.choice(FUNCTIONS), chance.choice(addresses),
                  result=chance.choice([0, 0, 0, 0, 16, 110, 130, 35, -1, 2**31 - 1, -2**31]), mutex=chance.choice(addresses),
                  caller=chance.choice([0, 0x401000, 2**64 - 1]))
        if number % 500 == 499:
            trace.end_packet(chance.choice([0, 0, 7]))
    trace.write()

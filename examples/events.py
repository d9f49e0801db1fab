#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events of a Python program, with ctypes alone.

    side record -o trace -- python3 events.py
    LD_PRELOAD=libside-console-tracer.so python3 events.py

An Event is described once, by the library's builder (<side/builder.h>), and emitted by calling it. While
nobody listens a call is one look at the event's enabled word. Copy this file as it is: the module part is
all that a program needs.
"""
import ctypes
import struct
import sys
import time

LOGLEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
LIB = ctypes.CDLL("libside.so.0")


class Arg(ctypes.Structure):
    """struct side_arg: a label, flags, and 60 bytes for the value."""
    _pack_ = 1
    _fields_ = [("type", ctypes.c_uint16), ("flags", ctypes.c_uint16), ("value", ctypes.c_ubyte * 60)]


class Vec(ctypes.Structure):
    """struct side_arg_vec: a pointer in a slot of 16 bytes, and the number of arguments."""
    _pack_ = 1
    _fields_ = [("args", ctypes.c_void_p), ("rest", ctypes.c_ubyte * (16 - ctypes.sizeof(ctypes.c_void_p))),
                ("len", ctypes.c_uint32)]


class State(ctypes.Structure):
    """struct side_event_state_0, as far as a call site looks."""
    _fields_ = [("version", ctypes.c_uint32), ("nr_callbacks", ctypes.c_uint32), ("enabled", ctypes.c_size_t)]


def function(name, result, *arguments):
    found = getattr(LIB, name)
    found.restype, found.argtypes = result, arguments
    return found


P, S, U, I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_int
create = function("side_builder_create", P, S, S, I, ctypes.c_uint64)
add_field = function("side_builder_add_field", I, P, P, S, P)
register = function("side_builder_register", I, P)
error = function("side_builder_error", S, P)
state_of = function("side_builder_state", P, P)
integer = function("side_builder_integer", P, P, U, I, I)
boolean = function("side_builder_bool", P, P)
floating = function("side_builder_float", P, P, U, I)
string = function("side_builder_string", P, P, U, I)
side_call = function("side_call", None, P, P)

ORDER = 0 if sys.byteorder == "little" else 1
# What a field may be: label of the argument, how the value is packed, the builder's function.
TYPES = {"bool": (1, "?", boolean), "f32": (15, "f", lambda b: floating(b, 4, ORDER)),
         "f64": (16, "d", lambda b: floating(b, 8, ORDER)), "str": (18, None, lambda b: string(b, 1, ORDER))}
for index, code in enumerate("BHIQ"):
    TYPES[f"u{8 << index}"] = (2 + index, code, lambda b, size=1 << index: integer(b, size, 0, ORDER))
    TYPES[f"s{8 << index}"] = (7 + index, code.lower(), lambda b, size=1 << index: integer(b, size, 1, ORDER))


class Event:
    """Event("shop", "order", number="u64", article="str"); later event(12, "tea")."""

    def __init__(self, provider, name, loglevel="info", **fields):
        builder = create(provider.encode(), name.encode(), LOGLEVELS.index(loglevel), 0)
        self.fields = [TYPES[kind][:2] for kind in fields.values()]
        for field, kind in fields.items():
            add_field(builder, None, field.encode(), TYPES[kind][2](builder))
        if register(builder):
            raise ValueError(error(builder).decode())
        # The event lives as long as the process: builders are never destroyed here.
        self.state = state_of(builder)
        self.word = State.from_address(self.state)

    def __bool__(self):
        return self.word.enabled != 0

    def __call__(self, *values):
        if not self.word.enabled:
            return
        if len(values) != len(self.fields):
            raise TypeError(f"{len(self.fields)} values expected, {len(values)} given")
        args = (Arg * len(values))()
        kept = []
        for arg, (label, code), value in zip(args, self.fields, values):
            arg.type = label
            if code is None:
                kept.append(ctypes.c_char_p(value.encode(errors="surrogateescape")))
                code, value = "P", ctypes.cast(kept[-1], P).value
            struct.pack_into("=" + code if code != "P" else code, arg.value, 0, value)
        vec = Vec(args=ctypes.addressof(args), len=len(values))
        side_call(self.state, ctypes.byref(vec))


# What follows is the example.
order = Event("shop", "order", number="u64", article="str", price="f64", express="bool")
stock = Event("shop", "stock", loglevel="debug", article="str", change="s32")


def main(number):
    for i in range(number):
        order(i, f"article {i % 3}", i * 0.5, i % 2 == 0)
        if stock:  # what takes time to find out is found out only when somebody listens
            stock(f"article {i % 3}", -(i % 3) - 1)
        time.sleep(0.001)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)

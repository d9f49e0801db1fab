# SPDX-License-Identifier: MIT
"""Runs inside gdb: computes a table's fetches at their location, by registers and memory as gdb reads them.

JOB in the environment is a JSON object: binary, jobs: [{address, fields: [[name, type, size, limit, ops, members]],
expressions}]. For each job it prints a line of JSON: values by the fetches, and by gdb's own reading of the
expressions.
"""
import json
import os
import struct

import gdb

REGISTERS = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"] + [f"r{n}" for n in range(8, 16)] + ["rip"]
ALL = (1 << 64) - 1
UNSIGNED, SIGNED, HEX, BOOL, FLOAT, STRING, BYTES = range(1, 8)
STRUCT = 9


def register(number):
    name = "eflags" if number == 49 else REGISTERS[number]
    return int(gdb.parse_and_eval(f"(unsigned long)${name}")) & ALL


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address & ALL, size))


def text(address, limit):
    found = b""
    while len(found) < limit:
        byte = memory(address + len(found), 1)
        if byte == b"\0":
            break
        found += byte
    return found.decode()


def signed(number):
    return number - (1 << 64) if number >> 63 else number


SUMS = {1: lambda a, b: a + b, 2: lambda a, b: a - b, 3: lambda a, b: a * b, 6: lambda a, b: a & b, 7: lambda a, b: a | b,
        8: lambda a, b: a ^ b, 9: lambda a, b: a << b if b < 64 else 0, 10: lambda a, b: a >> b,
        11: lambda a, b: signed(a) >> min(b, 63), 12: lambda a, b: a == b, 13: lambda a, b: a != b,
        14: lambda a, b: signed(a) < signed(b), 15: lambda a, b: signed(a) <= signed(b),
        16: lambda a, b: signed(a) > signed(b), 17: lambda a, b: signed(a) >= signed(b)}


def members(value):
    """The members of a structure, including those of base classes and of unnamed members."""
    found = {}
    for field in value.type.strip_typedefs().fields():
        if not hasattr(field, "bitpos") or field.artificial:
            continue
        if field.is_base_class or not field.name:
            inner = members(value[field])
        else:
            inner = {field.name: own_value(value[field])}
        for name, one in inner.items():
            found[name if name not in found else name + "_2"] = one
    return found


NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_CHAR)


def innermost(kind):
    while kind.code == gdb.TYPE_CODE_ARRAY:
        kind = kind.target().strip_typedefs()
    return kind


def is_number(kind):
    return kind.code in NUMBERS


def numbers_of(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_ARRAY:
        return [each for i in range(kind.range()[0], kind.range()[1] + 1) for each in numbers_of(value[i])]
    return [float(value) if kind.code == gdb.TYPE_CODE_FLT else int(value)]


def own(text):
    """gdb's own value: a number, a string, bytes, members; "none" if the compiler has not kept it."""
    try:
        return own_value(gdb.parse_and_eval(text))
    except gdb.error:
        return "none"


def own_value(value):
    try:
        kind = value.type.strip_typedefs()
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
            kind = value.type.strip_typedefs()
        value.fetch_lazy()
        if value.is_optimized_out:
            return "none"
        target = kind.target().strip_typedefs() if kind.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ARRAY) else None
        if target is not None and target.sizeof == 1 and target.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR):
            return {"text": value.string()}
        if kind.code == gdb.TYPE_CODE_FLT:
            return float(value)
        if kind.code == gdb.TYPE_CODE_STRUCT and str(kind).startswith("std::"):
            return {"text": value["_M_dataplus"]["_M_p"].string()}
        if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return {"members": members(value)}
        if kind.code == gdb.TYPE_CODE_ARRAY and is_number(innermost(kind)):
            return numbers_of(value)
        if kind.code == gdb.TYPE_CODE_ARRAY:
            return {"bytes": memory(int(value.address), kind.sizeof).hex()} if value.address is not None else "none"
        return int(value)
    except gdb.error:
        return "none"


def thread_pointer():
    return int(gdb.parse_and_eval("(unsigned long)$fs_base"))


def block(module):
    """The thread-local block, from the list of the C library."""
    blocks = int.from_bytes(memory(thread_pointer() + 8, 8), "little")
    return int.from_bytes(memory(blocks + 16 * module, 8), "little")


def run(ops, bias, site):
    """The number, and the length if the fetch sets one."""
    number, length = 0, None
    aside = []
    for code, reg, size, value in ops:
        if code == 1:
            number = value & ALL
        elif code == 2:
            number = register(reg)
        elif code == 3:
            number = int(gdb.parse_and_eval(f"$xmm{reg}.v2_int64[{value // 8}]")) & ALL
        elif code == 4:
            number = (value + bias) & ALL
        elif code == 5:
            number = (site + bias) & ALL
        elif code == 12:
            number = (thread_pointer() + value) & ALL
        elif code == 32:
            number = (number + value) & ALL
        elif code == 33:
            number = (number + (register(reg) << size)) & ALL
        elif code == 34:
            number = int.from_bytes(memory(number, size), "little")
        elif code == 35:
            number >>= size
        elif code == 36:
            number &= (1 << size) - 1
        elif code == 38:
            aside.append(number)
        elif code == 39:
            number = SUMS[size](aside.pop(), number) & ALL
        elif code == 40:
            length, number = number, 0
        elif code == 42:
            number = block(number)
        elif code == 37:
            number &= (1 << size) - 1
            if number >> (size - 1):
                number = (number - (1 << size)) & ALL
        else:
            raise ValueError(f"operation {code}")
    return number, length


def value_of(field, bias, site):
    _, kind, size, limit, ops, inner = (*field, [])[:6]
    if kind == STRUCT:
        return {"members": {one[0]: value_of(one, bias, site) for one in inner}}
    number, length = run(ops, bias, site)
    limit = limit if length is None else min(limit, length)
    if kind == STRING:
        return text(number, limit)
    if kind == BYTES:
        return memory(number, limit).hex()
    if field[3]:
        return [number_of(int.from_bytes(memory(number + i * size, size), "little"), kind, size) for i in range(limit)]
    return number_of(number, kind, size)


def number_of(number, kind, size):
    number &= (1 << (8 * size)) - 1
    if kind == SIGNED and number >> (8 * size - 1):
        number -= 1 << (8 * size)
    if kind == FLOAT:
        return struct.unpack("<f" if size == 4 else "<d", number.to_bytes(size, "little"))[0]
    return number


def bias_of(path):
    with open(path, "rb") as file:
        if file.read(18)[16] == 2:
            return 0
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as maps:
        return next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))


def main():
    order = json.loads(os.environ["JOB"])
    gdb.execute("set confirm off")
    gdb.execute("set debuginfod enabled off", to_string=True)
    gdb.execute("file " + order["binary"])
    gdb.execute("starti", to_string=True)
    bias = bias_of(order["binary"])
    for job in order["jobs"]:
        gdb.execute(f"tbreak *{job['address'] + bias}", to_string=True)
        gdb.execute("continue", to_string=True)
        values = {field[0]: value_of(field, bias, job["address"]) for field in job["fields"]}
        output = {text: own(text) for text in job.get("expressions", [])}
        print("RESULT " + json.dumps({"values": values, "gdb": output}), flush=True)
    gdb.execute("kill")


main()

# SPDX-License-Identifier: MIT
"""Computes from a script the JSON of a description (docs/spec/description-json.md) that a trace must have."""
import json
import os
import struct

import model
import viewed

LOGLEVELS = ["EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG"]
INTEGERS = {2: "u8", 3: "u16", 4: "u32", 5: "u64", 6: "u128", 7: "s8", 8: "s16", 9: "s32", 10: "s64",
            11: "s128", 13: "pointer"}
ATTRIBUTES = ["null", "bool", "u8", "u16", "u32", "u64", "u128", "s8", "s16", "s32", "s64", "s128",
              "float_binary16", "float_binary32", "float_binary64", "float_binary128", "string"]
ANY = object()  # matches anything


def text(raw):
    """Returns the text, and the properties of its units."""
    if raw["hex"] is None:
        return None, None
    shown = viewed.text_of(model.text_bytes(raw, bytes.fromhex(raw["hex"])))
    encoding = None if raw["unit"] == 1 else "utf%d%s" % (raw["unit"] * 8, "be" if raw["be"] else "le")
    return shown, encoding


def real_text(raw):
    if len(raw) == 16:
        return ANY
    if len(raw) == 2:
        value = model.half_value(int.from_bytes(raw, "little"))
    else:
        (value,) = struct.unpack({4: "<f", 8: "<d"}[len(raw)], raw)
    if value != value:
        return "-nan" if raw[-1] & 0x80 else "nan"
    return "%.17g" % value


def attribute(entry):
    key, encoding = text(entry["key"])
    name = ATTRIBUTES[entry["type"]]
    out = dict(key=key, type=name)
    if encoding:
        out["key_encoding"] = encoding
    if name == "string":
        out["value"], encoding = text(entry["text"])
        if encoding:
            out["value_encoding"] = encoding
        elif entry["text"]["hex"] is None:
            out["value_encoding"] = ANY
        return out
    raw = bytes.fromhex(entry["hex"])
    number = int.from_bytes(raw, "little", signed=name[0] == "s")
    if name == "null":
        out["value"] = None
    elif name == "bool":
        out["value"] = raw != b"\0"
    elif name.startswith("float"):
        out["value"] = real_text(raw)
        out["bits"] = "0x%0*x" % (len(raw) * 2, number)
    else:
        out["value"] = str(number) if name.endswith("128") else number
    return out


def fields(members):
    return [dict(name=viewed.text_of(name.encode("utf-8")), type=type_of(type)) for name, type in members]


def mappings(type, unsigned):
    mask = (1 << 64) - 1
    return [dict(begin=begin & mask if unsigned else begin, end=end & mask if unsigned else end, label=label)
            for begin, end, label in type["m"]]


def scalar(type, kind):
    """Returns the members of a scalar type, gathered or not."""
    order = "be" if type.get("be") else "le"
    if kind == "bool":
        return dict(size=type["size"], len_bits=type["bits"], byte_order=order)
    if kind in ("int", "pointer"):
        return dict(size=type.get("size", 8), len_bits=type.get("bits", 0),
                    signed=bool(type.get("signed", 0)), byte_order=order)
    if kind == "float":
        return dict(size=type["size"], byte_order=order)
    if kind == "str":
        return dict(unit_size=type["unit"], byte_order=order)
    return {}


def gather(type):
    kind = type["g"]
    if kind == "enum":
        return dict(type="gather_enum", mappings=mappings(type, False), element=type_of(type["e"]))
    out = dict(offset=type["off"], access_mode="pointer" if type["ptr"] else "direct")
    names = {"int": "integer", "str": "string"}
    out["type"] = "gather_" + names.get(kind, kind)
    out.update(scalar(type, kind))
    if kind in ("bool", "int", "pointer"):
        out["offset_bits"] = type.get("shift", 0)
    elif kind == "struct":
        out.update(size=type["size"], fields=fields(type["m"]))
    elif kind == "array":
        out.update(length=type["n"], element=type_of(type["e"]))
    elif kind == "vla":
        out.update(length=type_of(type["l"]), element=type_of(type["e"]))
    return out


def type_of(type):
    kind = type["t"]
    if kind == "gather":
        out = gather(type)
    elif kind == "dyn":
        out = dict(type="dynamic")
    elif kind == "struct":
        out = dict(type="struct", fields=fields(type["m"]))
    elif kind == "array":
        out = dict(type="array", length=type["n"], element=type_of(type["e"]))
    elif kind in ("vla", "visitor"):
        out = dict(type="vla" if kind == "vla" else "vla_visitor", length=type_of(type["l"]),
                   element=type_of(type["e"]))
    elif kind == "opt":
        out = dict(type="optional", element=type_of(type["e"]))
    elif kind == "variant":
        out = dict(type="variant", selector=type_of(type["sel"]),
                   options=[dict(begin=begin, end=end, type=type_of(option))
                            for begin, end, option in type["o"]])
    elif kind in ("enum", "bitmap"):
        out = dict(type="enum" if kind == "enum" else "enum_bitmap",
                   mappings=mappings(type, kind == "bitmap"), element=type_of(type["e"]))
    else:
        names = {"int": INTEGERS.get(type.get("label")), "float": "float_binary%d" % (type.get("size", 0) * 8),
                 "str": "string_utf%d" % (type.get("unit", 0) * 8)}
        out = dict(type=names.get(kind, kind), **scalar(type, kind))
    out["attributes"] = [attribute(entry) for entry in type.get("a", [])]
    return out


def event(script):
    return dict(schema=1, provider=script["provider"], event=script["event"],
                loglevel=LOGLEVELS[script["loglevel"]], variadic=bool(script["variadic"]),
                flags=script["variadic"], type_labels=51, attribute_types=17,
                attributes=[attribute(entry) for entry in script.get("a", [])],
                fields=fields(script["m"]))


def difference(want, got, path=""):
    if want is ANY:
        return None
    if isinstance(want, dict) and isinstance(got, dict):
        for name in sorted(set(want) | set(got)):
            if want.get(name) is ANY:
                continue
            if name not in want or name not in got:
                return "%s: %s has no %s" % (path, "it" if name in want else "the script", name)
            found = difference(want[name], got[name], path + "." + name)
            if found:
                return found
        return None
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (w, g) in enumerate(zip(want, got)):
            found = difference(w, g, "%s[%d]" % (path, i))
            if found:
                return found
        return None
    same = type(want) is type(got) and want == got
    return None if same else "%s: %r instead of %r" % (path, got, want)


def descriptions(trace):
    """Returns the descriptions in a trace's metadata, by the full name of the event."""
    out = {}
    with open(os.path.join(trace, "metadata"), "rb") as metadata:
        for line in metadata.read().decode("utf-8").split("\n"):
            begin = line.find("/* side.event ")
            if begin >= 0:
                found = json.loads(line[begin + len("/* side.event "):line.rindex("*/")])
                out[found["provider"] + ":" + found["event"]] = found
    return out

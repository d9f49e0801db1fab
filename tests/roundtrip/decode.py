# SPDX-License-Identifier: MIT
"""Converts what Babeltrace 2 finds in a trace to the forms of model.py, and compares two forms."""
import struct

import bt2
from bt2 import native_bt


def labels_of(field):
    try:
        return set(field.labels)
    except AssertionError:  # no label: this module does not expect that
        return set()


def option_name(field):
    return field.cls.option_at_index(field.selected_option_index).name


def plain(field):
    if isinstance(field, bt2._VariantFieldConst):
        return ("variant", option_name(field), plain(field.selected_option))
    if isinstance(field, bt2._StructureFieldConst):
        return ("struct", [(name, plain(field[name])) for name in field])
    if isinstance(field, bt2._ArrayFieldConst):
        return ("array", [plain(element) for element in field])
    if isinstance(field, bt2._EnumerationFieldConst):
        return ("enum", int(field), labels_of(field))
    if isinstance(field, bt2._IntegerFieldConst):
        signed = isinstance(field, bt2._SignedIntegerFieldConst)
        return ("int", int(field), field.cls.field_value_range, signed,
                int(field.cls.preferred_display_base))
    if isinstance(field, bt2._RealFieldConst):
        bits = 32 if isinstance(field, bt2._SinglePrecisionRealFieldConst) else 64
        value = float(field)
        return ("real", bits, "nan" if value != value else struct.pack("<d", value))
    if isinstance(field, bt2._StringFieldConst):
        # Babeltrace 2.0.4 sometimes leaves the text of an older event in an empty string.
        value = str(field).encode("utf-8", "surrogateescape")
        return ("str", value[:native_bt.field_string_get_length(field._ptr)])
    raise TypeError(type(field))


def events(directory):
    """Returns (name, form) of every event, ordered by time; a loss is an event, too."""
    for message in bt2.TraceCollectionMessageIterator(directory):
        if isinstance(message, bt2._EventMessageConst):
            event = message.event
            payload = event.payload_field
            yield event.name, ("struct", []) if payload is None else plain(payload)
        elif isinstance(message, (bt2._DiscardedEventsMessageConst,
                                  bt2._DiscardedPacketsMessageConst)):
            yield "LOST", ("int", message.count or 0, 64, False, 10)


def difference(want, got, path=""):
    """Returns None, or a message."""
    if want[0] != got[0]:
        return "%s: %r instead of %r" % (path, got, want)
    if want[0] == "struct":
        if [name for name, _ in want[1]] != [name for name, _ in got[1]]:
            return "%s: members %r instead of %r" % (path, [n for n, _ in got[1]],
                                                     [n for n, _ in want[1]])
        pairs = [(w, g, "%s.%s" % (path, name)) for (name, w), (_, g) in zip(want[1], got[1])]
    elif want[0] == "array":
        if len(want[1]) != len(got[1]):
            return "%s: %d elements instead of %d" % (path, len(got[1]), len(want[1]))
        pairs = [(w, g, "%s[%d]" % (path, i)) for i, (w, g) in enumerate(zip(want[1], got[1]))]
    elif want[0] == "variant":
        if want[1] != got[1]:
            return "%s: option %s instead of %s" % (path, got[1], want[1])
        pairs = [(want[2], got[2], path + "." + want[1])]
    else:
        if want[0] == "int" and want[4] is None:
            got = got[:4] + (None,)
        return None if want == got else "%s: %r instead of %r" % (path, got, want)
    for pair in pairs:
        found = difference(*pair)
        if found:
            return found
    return None

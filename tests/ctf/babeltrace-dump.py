# SPDX-License-Identifier: MIT
"""Prints the events of a trace as Babeltrace 2 reads them, in the form of `sample read`; with
--contexts, of `sample read-contexts`.
"""
import json
import sys

import bt2


def number(value):
    value = float(value)
    if value != value:
        return "NaN"
    return "%.17g" % value


def show(field):
    if isinstance(field, bt2._VariantFieldConst):
        return show(field.selected_option)
    if isinstance(field, bt2._StructureFieldConst):
        return "{" + ", ".join(json.dumps(name) + ": " + show(field[name]) for name in field) + "}"
    if isinstance(field, bt2._ArrayFieldConst):
        return "[" + ", ".join(show(element) for element in field) + "]"
    if isinstance(field, bt2._EnumerationFieldConst):
        if set(field.cls) == {"false", "true"}:
            return str(int(field))
        try:
            labels = sorted(field.labels, key=lambda label: label.encode())
        except AssertionError:  # The value has no label, which the module does not expect.
            labels = []
        return "[" + ", ".join([str(int(field))] + [json.dumps(label) for label in labels]) + "]"
    if isinstance(field, bt2._IntegerFieldConst):
        return str(int(field))
    if isinstance(field, bt2._RealFieldConst):
        return number(field)
    if isinstance(field, bt2._StringFieldConst):
        return json.dumps(str(field))
    raise TypeError(type(field))


def main():
    for message in bt2.TraceCollectionMessageIterator(sys.argv[1]):
        if type(message) is bt2._EventMessageConst:
            event = message.event
            clock = event.stream.cls.default_clock_class
            time = message.default_clock_snapshot.ns_from_origin if clock is not None else 0
            fields = [event.payload_field]
            if "--contexts" in sys.argv[2:]:
                contexts = (event.common_context_field, event.specific_context_field)
                fields = [field for field in contexts if field is not None] + fields
            print(event.name, time, *(show(field) if field is not None else "{}" for field in fields))
        elif type(message) is bt2._DiscardedEventsMessageConst:
            print("discarded", message.count)


main()

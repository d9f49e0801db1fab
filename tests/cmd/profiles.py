# SPDX-License-Identifier: MIT
"""Readers of folded stacks, speedscope, pprof and pictures, written from the descriptions of the formats. Each returns {path: weights}, outermost function first."""
import gzip
import json
import xml.etree.ElementTree


def folded(text):
    result = {}
    for line in text.splitlines():
        path, weight = line.rsplit(" ", 1)
        path = tuple(path.split(";"))
        assert path not in result, path
        result[path] = int(weight)
    return result


def evented(profile, names):
    """{path: time without callees} of a profile of events, which must be balanced and in the order of time."""
    result, stack, now = {}, [], profile["startValue"]
    for event in profile["events"]:
        assert set(event) == {"type", "frame", "at"} and event["at"] >= now, event
        if stack:
            path = tuple(names[i] for i in stack)
            result[path] = result.get(path, 0) + event["at"] - now
        now = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert event["type"] == "C" and stack.pop() == event["frame"], event
    assert not stack and now <= profile["endValue"] and profile["unit"] == "nanoseconds"
    return {path: weight for path, weight in result.items() if weight}


def speedscope(path):
    """{name of a profile: {path: weight}}"""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    names = [frame["name"] for frame in content["shared"]["frames"]]
    result = {}
    for profile in content["profiles"]:
        assert profile["name"] not in result
        if profile["type"] == "evented":
            result[profile["name"]] = evented(profile, names)
            continue
        assert profile["type"] == "sampled"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        result[profile["name"]] = {tuple(names[i] for i in sample): weight
                                   for sample, weight in zip(profile["samples"], profile["weights"])}
    return result


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return number, at


def message(data):
    """{field: [values]}: numbers, or bytes."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        assert key & 7 in (0, 2), key
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            assert at <= len(data)
        fields.setdefault(key >> 3, []).append(value)
    return fields


def pprof(path):
    """(types of values, {path: values}, {function: file})"""
    with gzip.open(path) as file:
        profile = message(file.read())
    texts = [text.decode() for text in profile[6]]
    assert texts[0] == "", "the first text is empty"
    types = [tuple(texts[message(kind)[field][0]] for field in (1, 2)) for kind in profile[1]]
    functions = {}
    for function in map(message, profile[5]):
        functions[function[1][0]] = texts[function[2][0]], texts[function.get(4, [0])[0]]
    mappings = {message(mapping)[1][0] for mapping in profile.get(3, [])}
    locations = {}
    for location in map(message, profile[4]):
        assert location.get(2, [0])[0] in mappings | {0}
        locations[location[1][0]] = functions[message(location[4][0])[1][0]][0]
    samples = {}
    for sample in map(message, profile.get(2, [])):
        path = tuple(locations[number] for number in reversed(sample[1]))
        assert path not in samples, path
        samples[path] = sample[2]
    return types, samples, dict(functions.values())


def svg(text):
    """{path: (x, width, title, fill)}, from the positions of the rectangles: a function lies on that of its caller."""
    root = xml.etree.ElementTree.fromstring(text)
    name = "{http://www.w3.org/2000/svg}%s"
    assert root.tag == name % "svg" and not list(root.iter(name % "script"))
    result, below = {}, []
    for group in root.iter(name % "g"):
        title, rectangle = group.find(name % "title").text, group.find(name % "rect")
        x, y, width = (float(rectangle.get(key)) for key in ("x", "y", "width"))
        while below and below[-1][1] <= y:
            below.pop()
        assert not below or (below[-1][1] == y + 17 and below[-1][0] - 0.11 <= x and x + width <= below[-1][0] + below[-1][2] + 0.11), title
        below.append((x, y, width, title.rsplit(": ", 1)[0]))
        path = tuple(entry[3] for entry in below)
        assert path not in result, path
        result[path] = x, width, title, rectangle.get("fill")
    return result

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Values that a probe reads from slots of return addresses, while side watches the returns, are the program's: it prints
the addresses after its calls. The slots are those of the call itself, of its callers, and of the call that returns;
whole or in part, in numbers, bytes and strings.
"""
import atexit
import os
import shutil
import subprocess
import tempfile

from harness import *

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
SOURCE = os.environ["SOURCES"] + "/slots.c"
# At this address all bytes of the printed labels are letters, except the lowest one of behind_aligned.
FIXED = ["-no-pie", "-Wl,--section-start=watched=0x61620000"]
TURNS, DEPTH = 3, 40
OTHERS = [word for name in ("middle", "outer", "tail", "texts", "aligned", "before_tail", "before_texts", "before_deep")
          for word in ("--function", name, "--exit")]


def built(name, *options):
    path = f"{FOLDER}/{name}"
    subprocess.run(["gcc", "-O1", *options, SOURCE, "-o", path], check=True)
    return path


def traced(path, *options):
    """The labels that the program has printed, and the events by name."""
    shutil.rmtree(FOLDER + "/trace", ignore_errors=True)
    done = side("trace", "-q", "-o", FOLDER + "/trace", "-c", path, *options)
    equal(done.status, 0, done.err)
    labels = {name: int(value) for name, value in (line.split() for line in done.out.splitlines())}
    # The results of the functions: outer, before_tail, before_texts and aligned three times, and before_deep.
    equal(labels.pop("sum"), sum((n + 3) + (n + 3) + (n + 2) + (n + 2) for n in range(TURNS)) + DEPTH + 1)
    seen = side("view", "-q", "--json", FOLDER + "/trace")
    equal(seen.status, 0, seen.err)
    events = {}
    for line in json_lines(seen.out):
        if "fields" in line:
            events.setdefault(line["event"].removeprefix("probe:"), []).append(line["fields"])
    return labels, events


def bytes_of(value):
    return list(value.to_bytes(8, "little"))


def text_of(value):
    return value.to_bytes(8, "little").split(b"\0")[0].decode("ascii")


def check_leaf(path, has_text):
    texts = ["--arg", "string:here:%rsp+0", "--arg", "string:part:%rsp+2", "--arg", "string:behind:%rsp+8",
             "--ret", "string:here:%rsp-8"]
    labels, events = traced(
        path, *OTHERS, "--function", "leaf", "--exit", "--arg", "x64:own:%rsp+0", "--arg", "pointer:again:%rsp+0", "--arg", "x32:low:%rsp+0",
        "--arg", "x32:high:%rsp+4", "--arg", "x16:inner:%rsp+1", "--arg", "u8:byte:%rsp+3", "--arg", "x64:across:%rsp+4", "--arg", "bytes[11]:odd:%rsp+3",
        "--arg", "bytes[24]:whole:%rsp+0", "--arg", "x64:frame:%rbp+8", "--arg", "x64:end:%rbp+5", "--ret", "x64:own:%rsp-8",
        "--ret", "x16:inner:%rsp-6", "--ret", "bytes[5]:odd:%rsp-7", "--ret", "x64:frame:%rbp+8", *(texts if has_text else []))
    own = [labels[name] for name in ("behind_leaf", "behind_tail", "behind_text_leaf", "behind_aligned")] * TURNS
    entries, exits = events["leaf"], events["leaf_return"]
    equal([entry["own"] for entry in entries], own)
    equal([entry["again"] for entry in entries], own)
    equal([entry["low"] for entry in entries], [n & 0xffffffff for n in own])
    equal([entry["high"] for entry in entries], [n >> 32 for n in own])
    equal([entry["inner"] for entry in entries], [n >> 8 & 0xffff for n in own])
    equal([entry["byte"] for entry in entries], [n >> 24 & 0xff for n in own])
    equal([entry["across"] & 0xffffffff for entry in entries], [n >> 32 for n in own])
    equal([entry["odd"][:5] for entry in entries], [bytes_of(n)[3:] for n in own])
    equal([entry["whole"][:8] for entry in entries], [bytes_of(n) for n in own])
    # At the start of leaf, rbp is the frame of the caller, which has an unwatched caller except for outer and middle.
    equal([entry["frame"] for entry in entries[::4]], [labels["behind_middle"]] * TURNS)
    equal([entry["whole"][16:] for entry in entries[::4]], [bytes_of(labels["behind_middle"])] * TURNS)
    equal([entry["end"] >> 24 for entry in entries[::4]], [labels["behind_middle"] & (1 << 40) - 1] * TURNS)
    equal([entry["whole"][8:] for entry in entries[2::4]], [[*b"abcdefgh", *bytes_of(labels["behind_texts"])]] * TURNS)
    equal([one["own"] for one in exits], own)
    equal([one["inner"] for one in exits], [n >> 16 & 0xffff for n in own])
    equal([one["odd"] for one in exits], [bytes_of(n)[1:6] for n in own])
    equal([one["frame"] for one in exits[::4]], [labels["behind_middle"]] * TURNS)
    if has_text:
        equal([entry["here"] for entry in entries], [text_of(n) for n in own])
        equal([entry["part"] for entry in entries], [text_of(n >> 16) for n in own])
        equal([entry["behind"] for entry in entries[2::4]], ["abcdefgh" + text_of(labels["behind_texts"])] * TURNS)
        equal([one["here"] for one in exits], [text_of(n) for n in own])


def check_deep(path, has_text):
    texts = ["--arg", "string:here:%rsp+0", "--arg", "string:frame_text:%rbp+8"] if has_text else []
    labels, events = traced(path, *OTHERS, "--function", "deep", "--exit", "--arg", "x64:own:%rsp+0", "--arg", "x64:frame:%rbp+8",
                            "--arg", "x64:far:*(%rbp+0)+8", "--arg", "x32:upper:%rbp+12", *texts)
    own = [labels["behind_first"]] + [labels["behind_deep"]] * DEPTH
    entries = events["deep"]
    equal([entry["own"] for entry in entries], own)
    equal([entry["frame"] for entry in entries[1:]], own[:-1])
    equal([entry["upper"] for entry in entries[1:]], [n >> 32 for n in own[:-1]])
    equal([entry["far"] for entry in entries[2:]], own[:-2])
    if has_text:
        equal([entry["here"] for entry in entries], [text_of(n) for n in own])
        equal([entry["frame_text"] for entry in entries[1:]], [text_of(n) for n in own[:-1]])


def check_filter(path):
    """With a filter, fields become arguments of an event before they are recorded."""
    labels, events = traced(path, *OTHERS, "--function", "leaf", "--exit", "--arg", "x64:own:%rsp+0", "--arg", "string:here:%rsp+0",
                            "--filter", 'here == "ACba"')
    equal([entry["own"] for entry in events["leaf"]], [labels["behind_tail"]] * TURNS)


def check_inside(path):
    """A location inside a function whose call is watched."""
    labels, events = traced(path, *OTHERS, "--function", "leaf", "--exit", "--probe", "leaf+0xb", "--arg", "x64:own:%rsp+8",
                            "--arg", "x64:frame:*(%rsp+0)+8", "--arg", "bytes[12]:odd:%rsp+6")
    equal(labels["leaf_inside"] - labels["leaf"], 0xb)
    own = [labels[name] for name in ("behind_leaf", "behind_tail", "behind_text_leaf", "behind_aligned")] * TURNS
    (name,) = set(events) - {"leaf", "leaf_return"} - {word + end for word in OTHERS for end in ("", "_return")}
    equal([entry["own"] for entry in events[name]], own)
    equal([entry["odd"][2:10] for entry in events[name]], [bytes_of(n) for n in own])
    equal([entry["frame"] for entry in events[name][::4]], [labels["behind_middle"]] * TURNS)


if __name__ == "__main__":
    fixed, moved = built("fixed", *FIXED), built("moved", "-pie", "-fPIE")
    for program, has_text in ((fixed, True), (moved, False)):
        check_leaf(program, has_text)
        check_deep(program, has_text)
    check_filter(fixed)
    check_inside(fixed)
    check_inside(moved)

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Flame graphs as pictures: valid XML with the weights of the folded stacks; in Chromium, names do not extend beyond their functions."""
import random
import shutil

import call_trace
import profiles
from call_trace import enter, leave
from harness import *

WIDTH = 1180
work = tempfile.TemporaryDirectory()

# Prints the labels that are wider than their rectangle, and the number of all.
SCRIPT = """
const labels = [...document.querySelectorAll("g text")];
const wide = labels.filter(text => {
	const label = text.getBBox(), box = text.parentNode.querySelector("rect").getBBox();
	return label.x < box.x || label.x + label.width > box.x + box.width || label.y < box.y - 1;
});
document.title = labels.length + " " + wide.length;
"""


def path(name):
    return os.path.join(work.name, name)


def random_calls(seed, names, count):
    chance, opened, events, now = random.Random(seed), [], [], 1000
    for call in range(1, count + 1):
        now += chance.randrange(1, 100)
        while opened and chance.random() < 0.5:
            name, number, begin = opened.pop()
            events.append((now, leave(name, number, now - begin)))
            now += chance.randrange(1, 100)
        if len(opened) < 12:
            name = chance.choice(names)
            opened.append((name, call, now))
            events.append((now, enter(name, call)))
    while opened:
        now += 10
        name, number, begin = opened.pop()
        events.append((now, leave(name, number, now - begin)))
    return events


def picture(*args):
    result = side("flame", "--format", "svg", *args)
    equal((result.status, result.err), (0, ""), args)
    return result.out


def totals(trace):
    result = {}
    for names, weight in profiles.folded(side("flame", "--format", "folded", trace).out).items():
        for depth in range(1, len(names) + 1):
            result[names[:depth]] = result.get(names[:depth], 0) + weight
    return result


def compare(trace, text):
    wanted, drawn = totals(trace), profiles.svg(text)
    whole = sum(weight for names, weight in wanted.items() if len(names) == 1)
    for names, (_, width, title, _) in drawn.items():
        true(abs(width - wanted[names] / whole * WIDTH) <= 0.051, (names, width))
        contains(title, f", {wanted[names] * 100 / whole:.1f}%")
    narrow = {names for names in wanted if names not in drawn}
    true(all(wanted[names] / whole * WIDTH < 0.1 for names in narrow), narrow)
    equal(f">{len(narrow)} call paths are too narrow" in text, bool(narrow))
    return drawn


def test_random_calls():
    for seed, names in ((1, ["main", "a", "b"]), (2, [f"function_with_a_long_name_{i}<int&>" for i in range(9)])):
        trace = call_trace.write(path(f"random{seed}"), random_calls(seed, names, 3000))
        text = picture(trace)
        drawn = compare(trace, text)
        true(len(drawn) > 100, len(drawn))
        equal(side("export", trace, "--format", "svg").out, text)


def test_hostile_names():
    names = ["</text><script>alert(1)</script>", "a&b\"c'", "\x01\x1b[31m\x7f", "\ufffe\uffff", "\u540d" * 300, "%s%n", "a;b"]
    events, now = [], 1000
    for number, name in enumerate(names, 1):
        events += [(now, enter(name, number)), (now + 100, leave(name, number, 100))]
        now += 200
    drawn = profiles.svg(picture(call_trace.write(path("hostile"), events)))
    equal(sorted(names for (names,) in drawn), sorted(
        ["</text><script>alert(1)</script>", "a&b\"c'", "??[31m?", "??", "\u540d" * 300, "%s%n", "a;b"]))


def test_comparison():
    before = call_trace.write(path("before"), [(100, enter("same", 1)), (200, leave("same", 1, 100)), (300, enter("slower", 2)), (400, leave("slower", 2, 100)),
                                               (500, enter("faster", 3)), (700, leave("faster", 3, 200))])
    after = call_trace.write(path("after"), [(100, enter("same", 1)), (200, leave("same", 1, 100)), (300, enter("slower", 2)), (500, leave("slower", 2, 200)),
                                             (500, enter("faster", 3)), (600, leave("faster", 3, 100))])
    drawn = profiles.svg(picture("--base", before, after))
    fills = {name: tuple(bytes.fromhex(fill[1:])) for (name,), (_, _, _, fill) in drawn.items()}
    true(fills["slower"][0] > fills["slower"][2] and fills["faster"][2] > fills["faster"][0], fills)
    equal(len(set(fills["same"])), 1, fills)
    contains(drawn[("slower",)][2], "slower: 200 ns, 50.0%; itself 200 ns; before 100 ns")


def test_in_chromium():
    chromium = shutil.which("chromium")
    if not chromium:
        print("no Chromium")
        return
    text = picture(call_trace.write(path("labels"), random_calls(3, ["WWWW", "a_function", "W" * 70, "\u540d" * 8], 2000)))
    with open(path("page.html"), "w", encoding="utf-8") as file:
        file.write(f"<!DOCTYPE html><meta charset=utf-8><body>{text}<script>{SCRIPT}</script>")
    page = run(chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                "--user-data-dir=" + path("profile"), "--dump-dom", f"file://{path('page.html')}", env=environment())
    labels, wide = map(int, re.search("<title>([0-9]+) ([0-9]+)</title>", page.stdout).groups())
    true(labels > 50, labels)
    equal(wide, 0)


run_tests(globals())

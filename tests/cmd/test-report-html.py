#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side report --html`: its numbers are those of `report --json`, `leaks --json` and `locks --json`, and it works in Chromium.

Without Chromium, the tests of the page in a browser are left out with a note.

usage: test-report-html.py DIRECTORY [TEST...]
       test-report-html.py --pictures DIRECTORY

DIRECTORY is for a package of npm, axe-core, which knows the rules of accessibility. Without npm or a network, its test is skipped.
With --pictures, the pictures of the documentation are made in DIRECTORY instead.
"""
import html.parser
import sys

FOLDER = None if "--pictures" in sys.argv else sys.argv.pop(1)

import call_trace
import synthetic
from harness import *

# tests/ is in the path from here on.
import browser
import npm

SIZE_MAX = 5_000_000
HOSTILE = "</script><script>window.bad=1</script><!--<img src=x onerror=window.bad=1>"


class Blocks(html.parser.HTMLParser):
    """The elements and the blocks of data of a page, as an independent parser sees them."""

    def __init__(self, text):
        super().__init__()
        self.blocks, self.scripts, self.tags, self.policy = {}, 0, [], ""
        self.open = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]
        if tag == "script":
            self.open = found.get("id", "")
            self.scripts += 1

    def handle_data(self, data):
        if self.open:
            self.blocks[self.open] = self.blocks.get(self.open, "") + data

    def handle_endtag(self, tag):
        if tag == "script":
            self.open = None


def make_page(work, trace, *args):
    page = os.path.join(work, "page.html")
    done = side("report", "--html", page, *args, trace)
    equal((done.status, done.out), (0, ""), done.err)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    equal(sorted(name for name in os.listdir(work) if "partial" in name), [])
    true(len(text.encode()) <= SIZE_MAX, f"{len(text.encode())} bytes")
    return page, text


def read_page(text):
    blocks = Blocks(text).blocks
    return json.loads(blocks["report-data"]), json.loads(blocks["chart-data"])


def lines_of(*args):
    done = side(*args)
    equal(done.status, 0, done.err)
    return json_lines(done.out)


def of(lines, kind):
    return [line for line in lines if line["type"] == kind]


# ---- traces ----

def call_events():
    """A server: 40 requests with two queries each, and a parser that calls itself."""
    time, call, packet = 1000, 0, []

    def add(function, duration, *inner):
        nonlocal time, call
        call += 1
        own, begin = call, time
        packet.append((time, call_trace.enter(function, own)))
        for each in inner:
            time += 50
            add(*each)
        time = max(time + 10, begin + duration)
        packet.append((time, call_trace.leave(function, own, time - begin)))

    for number in range(40):
        size = 1000 + number * 37
        add("serve", 0, ("parse_request", 300, ("parse_request", 100)), ("query_rows", size), ("query_rows", size // 2),
            ("std::vector<row>::push_back", 40), ("write_reply", 400 + number))
        time += 500
    return packet


def make_calls(work):
    events = call_events()
    half = len(events) // 2
    return call_trace.write(os.path.join(work, "calls"), events[:half], 17, events[half:])


def make_synthetic(work):
    trace = os.path.join(work, "two-hosts")
    synthetic.make(trace)
    return trace


def write_huge(path, functions=6000, threads=1500):
    """Calls of many functions with long names in many threads, and events of many names."""
    call = 0
    packet, time = [], 1
    for number in range(functions * 4):
        call += 1
        name = f"namespace_<{number % functions:06}>::" + "<" * 150
        thread = number % threads
        identity = ((thread % 60000) + 1 << 48) | call
        packet.append((time, thread, call_trace.enter(name, identity)))
        time += 1 + number * number % 977
        packet.append((time, thread, call_trace.leave(name, identity, 5 + number % 1000)))
        time += 3
    parts = [packet[start:start + 500] for start in range(0, len(packet), 500)]
    losses = [item for part in parts for item in (part, 3)]
    return call_trace.write(path, *losses, threads=True)


# ---- the file ----

def test_lines_are_those_of_the_report():
    with tempfile.TemporaryDirectory() as work:
        for make in (make_calls, make_synthetic):
            trace = make(work)
            lines, _ = read_page(make_page(work, trace)[1])
            expected = lines_of("report", "--json", "--counts", "--calls", "--losses", "--callers", "100", trace)
            # The page has percentiles of functions, too.
            found = [{name: value for name, value in line.items() if name not in ("p50_ns", "p90_ns", "p99_ns", "errors")}
                     if line["type"] == "function" else line for line in lines]
            equal(found, expected)


def test_options_of_the_report():
    with tempfile.TemporaryDirectory() as work:
        trace = make_synthetic(work)
        options = ["--pair", "db:begin", "db:end", "--key", "id", "--slowest", "5", "--histogram", "number", "--by", "event", "-e", "db:*,app:*"]
        lines, chart = read_page(make_page(work, trace, *options)[1])
        expected = lines_of("report", "--json", *options, trace)
        for kind in ("overview", "histogram", "durations", "pair", "slow"):
            equal(of(lines, kind), of(expected, kind), kind)
        equal(chart["restricted"], 1)


def test_timeline_has_each_event():
    with tempfile.TemporaryDirectory() as work:
        trace = make_synthetic(work)
        lines, chart = read_page(make_page(work, trace)[1])
        events = lines_of("view", "--json", trace)
        events = [event for event in events if "event" in event]
        counts = {}
        for event in events:
            context = event["stream_context"]
            key = (event.get("hostname"), context["vpid"], context["vtid"])
            counts[key] = counts.get(key, 0) + 1
        equal(sorted(thread["events"] for thread in chart["threads"]), sorted(counts.values()))
        for thread in chart["threads"]:
            equal(sum(count for count in thread["bins"] if count > 0), thread["events"])
        lost = sum(line["lost"] for line in of(lines, "process"))
        marks = [chart["losses"][at:at + 5] for at in range(0, len(chart["losses"]), 5)]
        true(marks, "losses are marked")
        equal(sum(mark[3] for mark in marks), of(lines, "overview")[0]["lost"], lost)
        true(all(mark[1] <= mark[2] for mark in marks), marks)


def test_tree_is_that_of_the_report():
    with tempfile.TemporaryDirectory() as work:
        trace = make_calls(work)
        _, chart = read_page(make_page(work, trace)[1])
        (tree,) = chart["trees"]
        nodes, paths = tree["nodes"], []
        for at in range(0, len(nodes), 5):
            parent, name, total, own, count = nodes[at:at + 5]
            paths.append(((paths[parent][0] if parent >= 0 else ()) + (tree["names"][name],), total, own, count))
        expected, stack = [], []
        for line in of(lines_of("report", "--json", "--tree", trace), "branch"):
            stack[line["depth"]:] = [line["function"]]
            expected.append((tuple(stack), line.get("total_ns", 0), line.get("self_ns", 0), line["calls"]))
        equal(sorted(paths), sorted(expected))
        equal(tree["weight"], sum(total for path, total, _, _ in expected if len(path) == 1))
        slices = [chart["slices"][at:at + 5] for at in range(0, len(chart["slices"]), 5)]
        equal(sum(each[2] for each in slices if each[3] == 0), tree["weight"])
        equal(len(slices), chart["all_slices"])


def test_call_without_a_return():
    """The box of the call in the flame graph contains the boxes of its callees; the timeline has no bar for the call."""
    with tempfile.TemporaryDirectory() as work:
        trace = call_trace.write(os.path.join(work, "exit"), [
            (1000, call_trace.enter("main", 1)), (2000, call_trace.enter("parse", 2)), (2500, call_trace.leave("parse", 2, 500)),
            (3000, call_trace.enter("quit", 3)), (3100, call_trace.enter("save", 4)), (3400, call_trace.leave("save", 4, 300))])
        _, chart = read_page(make_page(work, trace)[1])
        (tree,) = chart["trees"]
        nodes = [tree["nodes"][at:at + 5] for at in range(0, len(tree["nodes"]), 5)]
        equal({tree["names"][name]: (total, own) for _, name, total, own, _ in nodes},
              {"main": (800, 0), "parse": (500, 500), "quit": (300, 0), "save": (300, 300)})
        equal(tree["weight"], 800)
        equal(sorted(chart["slices"][2::5]), [300, 500])


def record_locks(work):
    """Allocations and locks of a program, with stacks; None if there is no such program."""
    trace = os.path.join(work, "locks")
    if not os.environ.get("SEEDED_LOCKS"):
        return None
    done = side("record", "-w", "libc", "-w", "pthread", "--context", "backtrace,vtid,vpid,procname", "-o", trace, "--", os.environ["SEEDED_LOCKS"], "mutex")
    equal(done.status, 0, done.err)
    return trace


def test_leaks_and_locks():
    with tempfile.TemporaryDirectory() as work:
        trace = record_locks(work)
        if not trace:
            skip("the program with locks is not built")
        lines, chart = read_page(make_page(work, trace)[1])
        locks = lines_of("locks", "--json", trace)
        for line in of(locks, "lock"):
            line["stacks"] = line["stacks"][:20]
        for expected in (lines_of("leaks", "--json", trace), locks):
            kinds = {line["type"] for line in expected}
            equal([line for line in lines if line["type"] in kinds], expected)
        (tree,) = chart["trees"]
        equal((tree["id"], tree["weight"]), ("events", of(lines, "overview")[0]["events"]))
        contains(" ".join(tree["names"]), "mutex_take")
        # A page of a part of the trace has no such answers.
        lines, chart = read_page(make_page(work, trace, "-e", "pthread:*")[1])
        equal((of(lines, "locks"), of(lines, "leaks"), chart["restricted"]), ([], [], 1))


def test_hostile_names():
    with tempfile.TemporaryDirectory() as work:
        trace = call_trace.write(os.path.join(work, "hostile"), [(1, call_trace.enter(HOSTILE, 1)), (90, call_trace.leave(HOSTILE, 1, 89))])
        page, text = make_page(work, trace)
        blocks = Blocks(text)
        equal(blocks.scripts, 4)
        equal(blocks.tags.count("img"), 0)
        lines, chart = read_page(text)
        equal(of(lines, "function")[0]["function"], HOSTILE)
        true(HOSTILE in chart["functions"], "the name is not changed")
        contains(blocks.policy, "default-src 'none'; script-src 'sha256-")
        true("unsafe" not in blocks.policy, blocks.policy)


def test_size():
    with tempfile.TemporaryDirectory() as work:
        trace = write_huge(os.path.join(work, "huge"))
        lines, chart = read_page(make_page(work, trace)[1])
        true(of(lines, "omitted"), "the page reports what it lacks")
        equal(len(chart["threads"]), 257)
        true(chart["nr_slices"] < chart["all_slices"], "the longest calls only")
        equal(sum(thread["events"] for thread in chart["threads"]), of(lines, "overview")[0]["events"])


def test_empty_report():
    with tempfile.TemporaryDirectory() as work:
        page = os.path.join(work, "page.html")
        done = side("report", "--html", page, "-e", "nothing:*", make_calls(work))
        equal(done.status, 0, done.err)
        with open(page, encoding="utf-8") as file:
            lines, chart = read_page(file.read())
        equal((of(lines, "overview")[0]["events"], chart["threads"]), (0, []))


def test_errors():
    with tempfile.TemporaryDirectory() as work:
        trace = make_calls(work)
        done = side("report", "--html", os.path.join(work, "missing", "page.html"), trace)
        equal((done.status, done.out), (1, ""), done)
        contains(done.err, f"side: cannot write {work}/missing/page.html: No such file or directory")
        done = side("report", "--json", "--html", "page.html", trace, cwd=work)
        equal(done.status, 2, done)
        contains(done.err, "cannot use `--html` together with `--json`")
        page = os.path.join(work, "page.html")
        done = side("report", "--html", page, os.path.join(work, "no-trace"))
        true(done.status, done)
        equal(os.path.exists(page), False, "no page without a trace")
        done = side("report", "--html", "-", trace)
        equal(done.status, 0, done.err)
        contains(done.out, "<!doctype html>")


# ---- the browser ----

def opened(work, trace, *args):
    return "file://" + make_page(work, trace, *args)[0]


def check_clean(window):
    equal(window.console(), [], "the console")
    true(all(address.startswith(("file:", "data:")) for address in window.addresses()), "the page loads nothing")


def cells(window, table):
    return window.value("return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map((row) => [...row.cells].map((cell) =>"
                        " cell.dataset.value ?? cell.textContent))", table)


def test_numbers_in_the_browser(window):
    with tempfile.TemporaryDirectory() as work:
        trace = make_calls(work)
        window.open(opened(work, trace))
        equal(window.value("return document.documentElement.dataset.ready"), "true")
        lines = lines_of("report", "--json", "--counts", "--calls", trace)
        equal([row[0:3:2] for row in cells(window, "table-function")][0][0], of(lines, "function")[0]["function"])
        equal([(row[0], int(row[1]), int(row[2]), int(row[3])) for row in cells(window, "table-function")],
              [(line["function"], line["calls"], line["total_ns"], line["self_ns"]) for line in of(lines, "function")])
        equal([(row[0], int(row[1])) for row in cells(window, "table-count")], [(line["event"], line["count"]) for line in of(lines, "count")])
        equal(window.value("return [...document.querySelectorAll('#summary dd')].map((item) => item.textContent)")[0], f"{of(lines, 'overview')[0]['events']:,}")
        contains(window.text("#lead"), f"{of(lines, 'overview')[0]['events']:,} events of 1 process")
        true(window.value("return document.querySelectorAll('#timeline .loss').length") > 0, "losses are marked")
        check_clean(window)


def test_large_numbers(window):
    """Integers beyond 2^53 keep each digit."""
    with tempfile.TemporaryDirectory() as work:
        trace = make_synthetic(work)
        window.open(opened(work, trace, "--histogram", "number"))
        (line,) = of(lines_of("report", "--json", "--histogram", "number", trace), "histogram")
        window.value("const choice = document.getElementById('distribution-source');"
                     "choice.selectedIndex = [...choice.options].findIndex((option) => option.text === 'number'); choice.dispatchEvent(new Event('change'))")
        shown = dict(zip(*window.value("return ['dt', 'dd'].map((name) => [...document.querySelectorAll('#distributions .cards ' + name)].map((item) => item.textContent))")))
        equal((shown["min"], shown["max"]), (f"{line['min']:,}", f"{line['max']:,}"))
        equal([int(row[2]) for row in cells(window, "table-distribution")], [bucket["count"] for bucket in line["buckets"]])
        check_clean(window)


def test_flame_graph(window):
    with tempfile.TemporaryDirectory() as work:
        window.open(opened(work, make_calls(work)))

        def boxes():
            return window.value("return [...document.querySelectorAll('#flame-graph .box')].map((box) =>"
                                " [box.getAttribute('aria-label').split(':')[0], Number(box.querySelector('rect').getAttribute('width'))])")

        before = dict(boxes())
        window.value("[...document.querySelectorAll('#flame-graph .box')].find((box) => box.getAttribute('aria-label').startsWith('query_rows'))"
                     ".setAttribute('id', 'aim')")
        window.click("#aim")
        after = dict(boxes())
        true(before["query_rows"] < before["serve"], before)
        equal(after["query_rows"], before["serve"], "the box has the whole width")
        true("write_reply" not in after, after)
        equal(after["serve"], before["serve"], "the caller remains above it")
        contains(window.text("#flame-status"), "query_rows: ")
        window.click("#flame-reset")
        equal(dict(boxes()), before)

        window.type("#flame-search", "parse")
        contains(window.text("#flame-matches"), "1 function matches, ")
        equal(window.value("return document.querySelectorAll('#flame-graph .box.match').length"), 2)
        share = float(window.text("#flame-matches").split(", ")[1].split()[0])
        rows = {row[0].strip("▸▾"): row for row in cells(window, "tree-table")}
        equal(round(100 * int(rows["parse_request"][1]) / int(rows["serve"][1]), 1), share)
        window.value("document.querySelector('#flame-search').value = ''; document.querySelector('#flame-search').dispatchEvent(new Event('input'))")
        equal((window.text("#flame-matches"), window.value("return document.querySelectorAll('#flame-graph .box.match').length")), ("", 0))
        check_clean(window)


def test_leaks_and_locks_in_the_browser(window):
    with tempfile.TemporaryDirectory() as work:
        trace = record_locks(work)
        if not trace:
            skip("the program with locks is not built")
        window.open(opened(work, trace))
        (mutex,) = [line for line in lines_of("locks", "--json", trace) if line["type"] == "lock" and line["kind"] == "mutex"]
        (row,) = [row for row in cells(window, "table-lock") if row[1] == "mutex"]
        equal([int(value) for value in row[3:6]], [mutex["waited_ns"], mutex["contended"], mutex["attempts"]])
        waits = cells(window, "table-wait")
        equal(sum(int(wait[1]) for wait in waits if wait[0] == row[0]), sum(stack["count"] for stack in mutex["stacks"][:20]))
        contains(waits[0][4], "mutex_take")
        leaks = of(lines_of("leaks", "--json", trace), "leak")
        show_all(window)
        equal([(int(row[0]), int(row[1])) for row in cells(window, "table-leak")], [(leak["bytes"], leak["blocks"]) for leak in leaks])
        locks = of(lines_of("locks", "--json", trace), "lock")
        equal([[row[1], *(int(value) for value in row[3:6]), row[7], row[8]] for row in cells(window, "table-lock")],
              [[lock["kind"], lock["waited_ns"], lock["contended"], lock["attempts"], str(lock["wait"].get("max_ns", "")),
                str(lock.get("hold", {}).get("p99_ns", ""))] for lock in locks])
        equal(window.value("return [...document.querySelectorAll('#flame-source option')].map((option) => option.value)"),
              ["events"] + (["leaks"] if leaks else []) + ["waits"])
        window.value("const choice = document.getElementById('flame-source'); choice.value = 'waits'; choice.dispatchEvent(new Event('change'))")
        contains(window.value("return document.querySelector('#flame-graph').getAttribute('aria-label')"), "Time waited for locks")
        check_clean(window)


def test_lost_returns_in_the_browser(window):
    with tempfile.TemporaryDirectory() as work:
        whole = call_trace.write(os.path.join(work, "whole"), [(1, call_trace.enter("a", 1)), (90, call_trace.leave("a", 1, 89))])
        window.open(opened(work, whole))
        equal(window.value("return document.querySelector('#flame-lost').hidden"), True)
        lossy = call_trace.write(os.path.join(work, "lossy"), [(1, call_trace.enter("a", 1))], 3,
                                 [(80, call_trace.enter("b", 2)), (90, call_trace.leave("b", 2, 10))])
        window.open(opened(work, lossy))
        equal(window.value("return document.querySelector('#flame-lost').hidden"), False)
        check_clean(window)


def show_all(window):
    window.value("document.querySelectorAll('button[id$=-more]').forEach((button) => button.click())")


def focused(window):
    return window.value("const element = document.activeElement; return element.id || element.getAttribute('aria-label') || element.textContent")


def test_keyboard(window):
    with tempfile.TemporaryDirectory() as work:
        window.open(opened(work, make_calls(work)))
        window.press("Tab")
        contains(focused(window), "Skip to the report")
        window.press("Enter")
        equal(focused(window), "content")
        window.value("document.getElementById('timeline-reset').focus()")
        window.press("Tab")
        equal(focused(window), "timeline")
        whole = window.text("#timeline-status")
        window.press("+")
        true(window.text("#timeline-status") != whole, "the timeline is zoomed")
        window.press("ArrowDown")
        contains(window.text("#timeline-status"), "in view")
        window.press("Home")
        equal(window.text("#timeline-status"), whole)

        window.value("document.getElementById('flame-reset').focus()")
        window.press("Tab")
        contains(focused(window), "serve: ")
        window.press("ArrowDown")
        contains(focused(window), "query_rows: ")
        window.press("ArrowRight")
        second = focused(window)
        true("query_rows" not in second and "serve" not in second, second)
        window.press("Enter")
        equal(focused(window), second, "the focus remains")
        contains(window.text("#flame-status"), second.split(":")[0])
        window.press("Escape")
        contains(window.text("#flame-status"), "The whole graph")

        window.value("document.querySelector('#tree-table tr[tabindex=\"0\"]').focus()")
        window.press("ArrowLeft")
        equal(window.value("return document.activeElement.getAttribute('aria-expanded')"), "false")
        window.press("ArrowRight", "ArrowRight")
        contains(focused(window), "query_rows")
        window.value("document.querySelector('#table-function th button').focus()")
        window.press("Enter")
        names = [row[0] for row in cells(window, "table-function")]
        equal(names, sorted(names))
        equal(window.value("return document.querySelector('#table-function th').getAttribute('aria-sort')"), "ascending")
        check_clean(window)


def test_timeline_zoom(window):
    with tempfile.TemporaryDirectory() as work:
        window.open(opened(work, make_synthetic(work)))
        whole = window.text("#timeline-status")
        window.click("#timeline-in")
        window.click("#timeline-right")
        true(window.text("#timeline-status") != whole, whole)
        window.click("#timeline-reset")
        equal(window.text("#timeline-status"), whole)
        check_clean(window)


def test_phone(window):
    with tempfile.TemporaryDirectory() as work:
        window.resize(360, 740, mobile=True)
        for make in (make_calls, make_synthetic):
            window.open(opened(work, make(work)))
            equal(window.value("return document.documentElement.scrollWidth"), 360, "no horizontal scrolling")
        check_clean(window)
        window.cdp("Emulation.clearDeviceMetricsOverride")


def contrast(one, other):
    def light(color):
        values = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        values = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
        return 0.2126 * values[0] + 0.7152 * values[1] + 0.0722 * values[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_light_and_dark(window):
    with tempfile.TemporaryDirectory() as work:
        window.open(opened(work, make_calls(work)))
        backgrounds = []
        for scheme in ("light", "dark"):
            window.emulate(prefers_color_scheme=scheme)
            style = "getComputedStyle(document.querySelector(arguments[0]))"
            surface = window.value(f"return {style}.backgroundColor", "section")
            backgrounds.append(surface)
            for selector in ("h2", ".explain", "td", "th", "nav a"):
                color = window.value(f"return {style}.color", selector)
                true(contrast(color, surface) >= 4.5, (scheme, selector, color, surface))
            for number in range(8):
                fills = window.value("const probe = document.querySelector('#flame-graph rect').cloneNode(); probe.setAttribute('class', 'fill-' + arguments[0]);"
                                     "document.querySelector('#flame-graph').append(probe); const fill = getComputedStyle(probe).fill; probe.remove();"
                                     "return [fill, getComputedStyle(document.querySelector('.box text')).fill]", number)
                true(contrast(*fills) >= 4.5, (scheme, number, fills))
        true(contrast(*backgrounds) > 10, backgrounds)
        window.emulate()
        check_clean(window)


def test_print(window):
    with tempfile.TemporaryDirectory() as work:
        window.open(opened(work, make_calls(work)))
        window.emulate(media="print")
        for selector in ("nav", ".tools", "#timeline-more", "td button"):
            equal(window.value("return getComputedStyle(document.querySelector(arguments[0])).display", selector), "none", selector)
        window.emulate()
        data = window.pdf()
        equal(data[:5], b"%PDF-")
        true(len(data) > 10000, f"{len(data)} bytes")
        check_clean(window)


def test_accessibility(window):
    with tempfile.TemporaryDirectory() as work:
        window.open(opened(work, make_calls(work)))
        nodes = window.accessibility()
        for role in ("button", "textbox", "searchbox", "combobox", "link", "table", "treegrid", "tree", "treeitem", "application", "region", "navigation"):
            without = [node for node in nodes if node[0] == role and not node[1]]
            equal(without, [], f"{role} without a name")
        names = {role: [name for other, name in nodes if other == role] for role, _ in nodes}
        for role, name in (("tree", "Flame graph: Time in calls"), ("treegrid", "Call tree"), ("application", "Timeline of threads"),
                           ("region", "Summary"), ("table", "Functions"), ("navigation", "Sections"), ("searchbox", "Search functions")):
            true(name in names.get(role, []), (role, names.get(role)))
        equal(len(names["main"]), 1)
        equal(window.value("return document.documentElement.lang"), "en")
        ids = window.value("return [...document.querySelectorAll('[id]')].map((element) => element.id)")
        equal(len(ids), len(set(ids)), "each id is unique")
        check_clean(window)


AXE = "axe.run().then((found) => JSON.stringify(found.violations.map((rule) => [rule.id, rule.nodes[0].html.slice(0, 200)])))"


def test_rules_of_accessibility(window):
    path, missing = npm.install(FOLDER, "axe-core/axe.min.js", "axe-core@4.10.2")
    if missing:
        skip(missing)
    with open(path, encoding="utf-8") as file:
        axe = file.read()
    with tempfile.TemporaryDirectory() as work:
        for trace in filter(None, (make_calls(work), make_synthetic(work), record_locks(work))):
            window.open(opened(work, trace))
            for scheme in ("light", "dark"):
                window.emulate(prefers_color_scheme=scheme)
                # The debugging protocol runs it in spite of the policy of the page.
                window.cdp("Runtime.evaluate", expression=axe)
                found = window.cdp("Runtime.evaluate", expression=AXE, awaitPromise=True, returnByValue=True)
                equal(json.loads(found["result"]["value"]), [], f"violations in {trace}, {scheme}")
        window.emulate()


def test_hostile_names_in_the_browser(window):
    with tempfile.TemporaryDirectory() as work:
        # U+202E would write the rest of the row from right to left, and U+2028 ends a line.
        name = HOSTILE + "\u202e\u2028"
        trace = call_trace.write(os.path.join(work, "hostile"), [(1, call_trace.enter(name, 1)), (90, call_trace.leave(name, 1, 89))])
        window.open(opened(work, trace))
        equal(window.value("return [window.bad, document.images.length]"), [None, 0])
        equal(cells(window, "table-function")[0][0], HOSTILE + "\\u202e\\u2028")
        check_clean(window)


def test_huge_trace(window):
    with tempfile.TemporaryDirectory() as work:
        window.open(opened(work, write_huge(os.path.join(work, "huge"))))
        equal(window.value("return document.documentElement.dataset.ready"), "true")
        contains(window.text("#limits"), "longest of 24,000 calls")
        true(window.value("return document.querySelectorAll('*').length") < 60000, "the page is small")
        check_clean(window)


# ---- pictures of the documentation ----

def make_pictures(directory):
    """Takes pictures of the first sections in light mode, and of the sections of functions in dark mode."""
    with tempfile.TemporaryDirectory() as work, browser.Browser(work, (1000, 700)) as window:
        window.open(opened(work, make_calls(work)))
        for name, scheme, section, height in (("report-html", "light", "body", 740), ("report-html-dark", "dark", "#flame", 700)):
            window.emulate(prefers_color_scheme=scheme)
            top = window.value("return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY", section)
            window.screenshot(os.path.join(directory, name + ".png"), {"x": 0, "y": max(0, int(top) - 16), "width": 1000, "height": height})


def with_window(test, window):
    def run_it():
        return test(window)
    run_it.__name__ = test.__name__
    return run_it


def main():
    if sys.argv[1:2] == ["--pictures"]:
        make_pictures(sys.argv[2])
        return
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    plain = [test for test in tests if not test.__code__.co_argcount]
    if sys.argv[1:] and all(name in [test.__name__ for test in plain] for name in sys.argv[1:]):
        run_tests({test.__name__: test for test in plain})
        return
    if not browser.is_available():
        print("the tests in a browser are left out: chromium or chromedriver is not installed")
        run_tests({test.__name__: test for test in plain})
        return
    with tempfile.TemporaryDirectory() as work, browser.Browser(work) as window:
        run_tests({test.__name__: test if test in plain else with_window(test, window) for test in tests})


main()

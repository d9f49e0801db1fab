#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The verbs that send requests to the daemon: the requests, with a simulated daemon that stores them;
and the output for its answers.
"""
import pwd
import socket
import threading
import time

from fake_daemon import FakeDaemon
from harness import *
import synthetic

work = tempfile.TemporaryDirectory()
RUNTIME = os.path.join(work.name, "runtime")
ENVIRONMENT = environment(SIDE_RUNTIME=RUNTIME)
fake = FakeDaemon(RUNTIME)
CHANGED = {"ok": True, "generation": 2, "changed": True, "pending": [], "unchanged": []}


def ask(*args, status=0, **more):
    """Runs side; returns its result and its requests, without their common members."""
    fake.take()
    result = side(*args, env=ENVIRONMENT, **more)
    equal(result.status, status, f"{args}: {result}")
    requests = fake.take()
    for request in requests:
        equal(request.pop("version"), 1, str(args))
    return result, requests


def asks(*args, **wanted):
    """Checks that there is one request, exactly this one."""
    requests = ask(*args)[1]
    # Whether it records events of the kernel, which need a program that listens to it.
    if args[0] == "start":
        equal(requests.pop(0)["verb"], "status", str(args))
    wanted = {name.replace("_", "-"): value for name, value in wanted.items()}
    equal(requests, [wanted], str(args))


def refused(*args, status=2, printing=()):
    result, requests = ask(*args, status=status)
    equal(requests, [], str(args))
    for part in printing:
        contains(result.err, part, str(args))


def test_create_and_the_current_session():
    refused("start", printing=["there is no current session", "side create"])
    fake.answers["create"] = lambda request: {"ok": True, "session": request.get("session", "side-1")}
    result, requests = ask("create")
    equal(requests, [{"verb": "create"}])
    contains(result.err, "created session side-1")
    equal(result.out, "")
    asks("start", verb="start", session="side-1")
    asks("create", "mine", "-o", "/tmp/x", "--format=ctf2", "--compress", "--memory-limit", "1M", "--huge-pages",
         "--prefault", "--rotate-size", "2K", "--rotate-every", "1min", "--keep-size=1G", "--keep-age", "1s",
         "--keep-count", "3", "--snapshot-on", "a", "--snapshot-on", "b",
         verb="create", session="mine", output="/tmp/x", format="ctf2", compress=3, memory_limit=1 << 20,
         huge_pages=True, prefault=True, rotate_size=2048, rotate_time=60 * 10**9, retain_size=1 << 30,
         retain_age=10**9, retain_chunks=3, trigger=["a", "b"])
    asks("create", "mine", "--to", "tcp://there:4000", "--spool", "2M", "--send-timeout", "3s",
         verb="create", session="mine", to="tcp://there:4000", spool=2 << 20, send_timeout=3 * 10**9)
    asks("create", "mine", "--to", "/dev/ttyS1", "--speed", "115200", verb="create", session="mine", to="/dev/ttyS1",
         speed=115200)
    refused("create", "mine", "--to", "tcp://there", printing=["tcp://HOST:PORT"])
    refused("create", "mine", "--to", "-", printing=["FIFO"])
    requests = ask("create", "mine", "--to", "bytes", cwd=work.name)[1]
    equal(os.path.realpath(os.path.dirname(requests[0]["to"])), os.path.realpath(work.name))
    asks("create", "mine", "--compress=7", "--format=ctf1", verb="create", session="mine", compress=7, format="ctf1")
    asks("stop", verb="stop", session="mine")
    # The daemon has another working directory.
    requests = ask("create", "mine", "-o", "here", cwd=work.name)[1]
    equal(os.path.realpath(requests[0]["output"]), os.path.realpath(work.name) + "/here")
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "other", "state": "defined"}]}
    asks("set-session", "other", verb="status", session="other")
    asks("stop", verb="stop", session="other")
    asks("stop", "mine", verb="stop", session="mine")
    asks("stop", "-s", "mine", verb="stop", session="mine")
    refused("stop", "one", "-s", "two", printing=["two sessions"])
    with open(RUNTIME + "/current", encoding="utf-8") as file:
        equal(file.read(), "other\n")
    equal(os.stat(RUNTIME + "/current").st_mode & 0o777, 0o600)
    # Invalid names are refused, and a link is not followed.
    for text in ("../x\n", "\n", "", "x" * 65 + "\n", "-x"):
        with open(RUNTIME + "/current", "w", encoding="utf-8") as file:
            file.write(text)
        refused("stop", printing=["no current session"])
    os.unlink(RUNTIME + "/current")
    with open(work.name + "/elsewhere", "w", encoding="utf-8") as file:
        file.write("linked\n")
    os.symlink(work.name + "/elsewhere", RUNTIME + "/current")
    refused("stop", printing=["no current session"])
    os.unlink(RUNTIME + "/current")


def make_current(name="now"):
    fake.answers["create"] = {"ok": True, "session": name}
    ask("create", name)


def test_events():
    make_current()
    fake.answers["enable-event"] = CHANGED
    fake.answers["disable-event"] = CHANGED
    base = {"verb": "enable-event", "session": "now"}
    asks("enable-event", "db:*", **base, event=["db:*"])
    asks("enable-event", **base)
    asks("enable-event", "-u", "-a", **base)
    asks("enable-event", "a:b,c:d", "e:[f,g]", r"h:\,i", **base, event=["a:b", "c:d", "e:[f,g]", r"h:\,i"])
    asks("enable-event", "a:*,", "--exclude", "a:tick", "-x", "!a:tock", **base, event=["a:*", "!a:tick", "!a:tock"])
    asks("enable-event", "a:*", "--loglevel", "WARNING", "-x", "a:x", **base, event=["a:*@WARNING", "!a:x"])
    asks("enable-event", "-a", "--loglevel-only=DEBUG", **base, event=["*@=DEBUG"])
    asks("enable-event", "a:b", "-c", "fast", "-f", "x > 1", "--context", "vtid,vpid", "--context=ip", "--timeout", "3s",
         **base, event=["a:b"], channel="fast", filter="x > 1", timeout=3 * 10**9,
         **{"event-context": ["vtid,vpid", "ip"]})
    for text, ns in (("0s", 0), ("0", 0), ("2", 2 * 10**9), ("1.5", 15 * 10**8), ("0.25ms", 250000), ("2m", 120 * 10**9), ("2min", 120 * 10**9),
                     ("0.000001h", 3600000), ("7ns", 7)):
        asks("enable-event", "a:b", "--timeout", text, **base, event=["a:b"], timeout=ns)
    for text in ("s", "1.", ".5", "-1", "1 s", "1.2345678", "1x"):
        refused("enable-event", "a:b", "--timeout", text, printing=["is not a time", "a time is a number of seconds, or a number followed by ns"])
    refused("enable-event", "a:b", "--timeout", "99999999h", printing=["is too large"])
    asks("enable-event", "a:b", "-s", "s2", verb="enable-event", session="s2", event=["a:b"])
    refused("enable-event", "-a", "a:b", printing=["cannot use `--all` with the pattern `a:b`"])
    refused("enable-event", "a:b@INFO", "--loglevel", "ERR", printing=["has a log level"])
    refused("enable-event", "a:b", "--loglevel", "ERR", "--loglevel-only", "INFO", printing=["contradict"])
    asks("disable-event", "a:b", verb="disable-event", session="now", event=["a:b"])
    asks("disable-event", "-a", "-c", "x", verb="disable-event", session="now", channel="x")
    refused("disable-event", printing=["missing operand: the events to disable", "--all"])
    contains(ask("enable-event", "a:b")[0].err, "records a:b from now on")
    fake.answers["enable-event"] = {**CHANGED, "changed": False}
    contains(ask("enable-event", "a:b")[0].err, "session now: nothing to change")


def test_channels_and_contexts():
    make_current()
    base = {"verb": "enable-channel", "session": "now", "channel": "c1"}
    asks("enable-channel", "c1", **base)
    asks("enable-channel", "-u", "c1", "--mode", "overwrite", "--buffer-size", "1M", "--per-thread", **base,
         mode="overwrite", buffer_size=1 << 20, per_thread=True)
    asks("enable-channel", "c1", "--mode=block", "--block-timeout", "5ms", "--per-thread=9", "--context", "vtid",
         **base, mode="block", block_timeout=5 * 10**6, per_thread=9, context=["vtid"])
    # Other tools mean microseconds there.
    for text in ("5", "0.5"):
        refused("enable-channel", "c1", "--mode=block", "--block-timeout", text, printing=["is not a time", "a time here is a number followed by us, ms, s or min"])
    asks("disable-channel", "c1", verb="disable-channel", session="now", channel="c1")
    refused("enable-channel", printing=["missing operand: the name of a channel"])
    asks("add-context", "vtid", "procname", verb="add-context", session="now", context=["vtid", "procname"])
    asks("add-context", "-u", "-t", "vtid", "-t", "ip", "-c", "c1", "-e", "a:*", verb="add-context", session="now",
         context=["vtid", "ip"], channel="c1", event=["a:*"])
    refused("add-context", printing=["missing operand: the contexts to add"])


def test_tracking():
    make_current()
    me = pwd.getpwuid(os.getuid())
    for verb in ("track", "untrack"):
        base = {"verb": verb, "session": "now"}
        asks(verb, "--pid", "12,13", "-p", "14", **base, pid=["12", "13", "14"])
        asks(verb, "--uid", f"{me.pw_name},77", **base, uid=[str(me.pw_uid), "77"])
        asks(verb, "--gid", "5", "--name", "redis*", "--cgroup", "*/x", "--container", "ab*", "--exclude", **base,
             gid=["5"], name=["redis*"], cgroup=["*/x"], container=["ab*"], exclude=True)
        asks(verb, "--all", **base, all=True)
        asks(verb, "-n", "x", "other", verb=verb, session="other", name=["x"])
        refused(verb, printing=["missing option: the processes to " + verb])
        refused(verb, "--pid", "x", printing=["not the number of a process"])
        refused(verb, "--uid", "no-such-user", printing=["there is no user"])


def test_recorded_counts():
    make_current()
    fake.answers["snapshot"] = {"ok": True, "output": "/t", "path": "/t/snapshot-1"}
    fake.answers["rotate"] = {"ok": True, "output": "/t", "path": "/t/chunk-0001"}
    equal(ask("snapshot")[0].out, "/t/snapshot-1\n")
    equal(ask("rotate", "x")[0].out, "/t/chunk-0001\n")
    fake.answers["snapshot"] = {"ok": True, "output": "/t", "path": "snapshot-2"}
    equal(ask("snapshot")[0].out, "/t/snapshot-2\n")
    fake.answers["snapshot"]["path"] = "/t/snapshot-1"
    asks("snapshot", "s", verb="snapshot", session="s")
    asks("statedump", verb="statedump", session="now")
    asks("regenerate", "statedump", verb="statedump", session="now")
    asks("regenerate", "statedump", "x", verb="statedump", session="x")
    refused("regenerate", "metadata", printing=["metadata of a trace is complete at any time"])
    refused("regenerate", "all", printing=["`side regenerate` does not accept `all`", "did you mean `side regenerate statedump`?"])
    asks("clear", "s", verb="clear", session="s")
    contains(ask("clear", "s")[0].err, "deleted what session s had recorded")
    equal(side("version").out, side("--version").out)
    (line,) = json_lines(ask("snapshot", "--json")[0].out)
    equal((line["type"], line["path"], line["session"]), ("snapshot", "/t/snapshot-1", "now"))


def answered(*args):
    result, requests = ask(*args)
    return str(result), requests


def test_traces_of_sessions():
    """Verbs that answer a question accept the name of a session, unless it is a program or a file."""
    trace = os.path.join(work.name, "trace")
    synthetic.make(trace)
    make_current()
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "mine", "output": trace}]}
    for verb in ("leaks", "locks", "calls", "slow", "flame"):
        wanted, requests = ask(verb, trace)
        equal(requests, [], verb)
        equal(answered(verb, "mine"), (str(wanted), [{"verb": "status", "session": "mine"}]), verb)
        # After `--`, and with arguments, the operand is a command.
        for words in (["--", "mine"], ["mine", "argument"]):
            result, requests = ask(verb, *words, status=127)
            equal(requests, [], verb)
            contains(result.err, "mine", verb)
    wanted, _ = ask("diff", trace, trace)
    equal(answered("diff", "mine", "other"), (str(wanted), [{"verb": "status", "session": name} for name in ("mine", "other")]))
    equal(answered("diff", "mine", trace), (str(wanted), [{"verb": "status", "session": "mine"}]))
    # A program has priority. Without the runtime of a sanitizer it cannot load a sanitized agent.
    if os.environ.get("SANITIZED", "none") == "none":
        equal(ask("calls", "true")[1], [])


def test_destroy():
    make_current()
    fake.answers["destroy"] = {
        "ok": True, "output": "/t", "processes": [{"pid": 1, "name": "a", "bytes": 24, "lost": 1}],
        "seen": 2, "recorded": 1234, "bytes": 1024, "lost": 3,
        "losses": [{"process": "a-1-0", "ring": "ring_0", "event": "a:b", "reason": "ring full", "count": 3}],
        "messages": ["something was odd"], "pending": [], "unchanged": []}
    result = ask("destroy")[0]
    for part in ("session now is destroyed", "1,234 events from 2 processes, 1.0 KiB", "3 events were lost", "a:b", "ring full", "odd"):
        contains(result.err, part)
    refused("stop", printing=["no current session"])
    contains(ask("destroy", "x", "-q")[0].err, "3 events were lost")
    make_current()
    equal([request["session"] for request in ask("destroy", "a", "b")[1]], ["a", "b"])
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "a"}, {"name": "now"}]}
    equal([request.get("session") for request in ask("destroy", "-a")[1]], [None, "a", "now"])
    refused("stop", printing=["no current session"])
    result = ask("destroy", "-a", "x", status=2)[0]
    contains(result.err, "leave one of them out")


def test_pending():
    make_current()
    fake.answers["start"] = {**CHANGED, "output": "/t",
                             "pending": [{"pid": 4711, "name": "redis-server", "why": "stopped by a signal"}],
                             "unchanged": [{"pid": 12, "name": "cron", "why": "control mode sync"}]}
    result = ask("start", status=5)[0]
    contains(result.err, "redis-server (process 4711) has not made the change yet: stopped by a signal")
    contains(result.err, "cron (process 12) is unchanged: control mode sync\nhint: run `side attach --daemon -p 12`: the program then makes the change\n")
    result = ask("start", "-q", status=5)[0]
    contains(result.err, "redis-server")
    equal("cron" in result.err, False)
    result = ask("start", "--json", status=5)[0]
    (answer,) = json_lines(result.out)
    equal((answer["type"], answer["pending"][0]["pid"]), ("start", 4711))
    errors = [line for line in json_lines(result.err) if line["type"] == "error"]
    equal([line["status"] for line in errors], [5])
    fake.answers["start"] = {"ok": True}


def test_errors():
    make_current()
    for kind, status in (("usage", 2), ("permission", 3), ("not-found", 1), ("busy", 1), ("failed", 1), ("strange", 1)):
        # A daemon of the earlier release names the hint "mend".
        for member in ("hint", "mend"):
            fake.answers["stop"] = {"ok": False, "kind": kind, "error": "this is so", member: "do that"}
            equal(ask("stop", status=status)[0].err, "side: this is so\nhint: do that\n", kind)
    fake.answers["enable-event"] = {"ok": False, "kind": "usage", "error": "filter, column 6: no", "hint": "",
                                    "where": "size >> 4", "column": 6}
    lines = ask("enable-event", "a:b", "-f", "size >> 4", status=2)[0].err.splitlines()
    equal((lines[0], lines[1].strip(), lines[2].strip()), ("side: filter, column 6: no", "size >> 4", "^"))
    # Control characters in the daemon's texts have no effect on terminals.
    fake.answers["stop"] = {"ok": False, "kind": "failed", "error": "a\033[31mb", "hint": ""}
    contains(ask("stop", status=1)[0].err, "a\\x1b[31mb")
    fake.answers["stop"] = {"ok": True}
    for answer in ({}, {"ok": "maybe"}, {"ok": True, "pending": {"pid": 1}, "unchanged": 7},
                   {"ok": True, "pending": [7, None, []], "output": 7}):
        fake.answers["start"] = answer
        true(side("start", env=ENVIRONMENT).status in (0, 1, 5), str(answer))
    fake.answers["start"] = {"ok": True}


def test_no_daemon():
    env = environment(SIDE_RUNTIME=work.name + "/missing", PATH="/nowhere")
    result = side("status", "--no-daemon", env=env)
    equal(result.status, 1)
    contains(result.err, "no daemon listens at " + work.name + "/missing/control.sock")
    equal(os.path.exists(work.name + "/missing"), False)
    # An error in the command line is reported first.
    contains(side("track", env=env).err, "missing option: the processes")
    result = side("list", env=env)
    equal((result.status, result.out), (0, ""))
    contains(result.err, "no daemon runs")
    for kind in ("sessions", "channels"):
        result = side("complete", kind, env=env)
        equal((result.status, result.out, result.err), (0, "", ""))


SESSION = {
    "name": "now", "state": "active", "output": "/t/now", "generation": 3, "restarts": 1, "recorded": 8000, "bytes": 81920, "lost": 12,
    "overwritten": 2048, "snapshots": 2, "snapshot-recorded": 77,
    "channels": [{"channel": "ring", "recorded": 7999, "bytes": 81900, "lost": 12},
                 {"channel": "empty", "recorded": 1, "bytes": 20, "lost": 0}],
    "definition": {"version": 1, "name": "now",
                   "track": [{"name": "redis*"}, {"pid": 12, "exclude": True}],
                   "channels": [{"channel": "ring", "mode": "discard", "buffer-size": 4194304, "context": ["vtid"],
                                 "rules": [{"event": ["db:*", "!db:tick"], "filter": "size > 4", "event-context": ["ip"]},
                                           {"event": []}]},
                                {"channel": "empty", "mode": "overwrite", "per-thread": 64, "rules": []}]},
    "processes": [{"pid": 4711, "name": "redis-server", "control": "thread", "joined-by": "preload", "events": 90, "recorded": 9000,
                   "bytes": 81920, "lost": 12,
                   "live": True},
                  {"pid": 4712, "name": "old", "control": "sync", "events": 1, "bytes": 2, "lost": 0, "live": False}],
    "losses": [{"process": "redis-server-4711-0", "ring": "ring_0", "event": "db:x", "reason": "ring full", "count": 12}],
    "messages": ["a message"]}


def test_status_and_list():
    make_current()
    short = {name: SESSION[name] for name in ("name", "state", "output", "recorded", "bytes", "lost")}
    fake.answers["status"] = lambda request: {
        "ok": True, "sessions": [SESSION if "session" in request else short, *([] if "session" in request else
                                                                               [{"name": "b", "state": "defined"}])]}
    for args in (["status"], ["status", "now"], ["list", "now"], ["status", "-s", "now"]):
        result, requests = ask(*args)
        true(all(request == {"verb": "status", "session": "now"} for request in requests), str(requests))
        for part in ("session now", "active", "/t/now", "recorded   8,000 events, 80.0 KiB; lost 12\n",
                     "    recorded 7,999 events, 80.0 KiB; lost 12\n", "    recorded 1 event, 20 bytes\n",
                     "overwritten 2.0 KiB of older events\n", "snapshots  2, with 77 events in all\n", "name redis*, not pid 12", "channel ring", "4.0 MiB",
                     "db:* !db:tick", "if size > 4", "with ip", "all events", "channel empty", "no events",
                     "redis-server", "thread   preload ", "9,000", "old", "ended", "db:x", "ring full"):
            contains(result.out, part, str(args))
        contains(result.err, "a message")
    for args in (["status", "-a"], ["list"]):
        result = ask(*args)[0]
        lines = result.out.splitlines()
        equal([line.split()[0] for line in lines], ["*", "b"], result.out)
        contains(lines[0], "8,000 events")
    lines = json_lines(ask("status", "--json", "-a")[0].out)
    equal([(line["type"], line["name"], line["current"]) for line in lines],
          [("session", "now", True), ("session", "b", False)])
    (line,) = json_lines(ask("list", "--json", "now")[0].out)
    equal((line["definition"], line["processes"]), (SESSION["definition"], SESSION["processes"]))
    # Probes: their state in each program.
    probe = {"event": ["probe:malloc", "probe:malloc_return"], "channel": "ring", "probe": "--function malloc", "pid": 7}
    programs = [{"pid": 7, "name": "redis", "answered": True, "locations": 1007, "set": 1004,
                 "methods": {"jump": 1003, "breakpoint": 1}, "absent": 1, "resting": 0, "refused": 2, "lost": 5,
                 "refusals": [{"first": 4, "count": 2, "why": "a reason"}]},
                {"pid": 8, "name": "old", "answered": True, "why": "it cannot", "methods": {}, "refusals": []},
                {"pid": 9, "name": "slow", "answered": False, "methods": {}, "refusals": []}]
    with_probes = {**SESSION, "probes": [{**probe, "state": "set", "programs": programs},
                                         {**probe, "pid": 0, "exe": "/bin/x", "state": "no table", "programs": []}]}
    fake.answers["status"] = {"ok": True, "sessions": [with_probes]}
    out = ask("status", "now")[0].out
    for part in ("probe:malloc probe:malloc_return  --function malloc  in process 7  set",
                 "redis 7: 1,003 by jump, 1 by breakpoint, 1 not loaded, 2 refused, 5 hits lost",
                 "location 4 to 5: a reason", "old 8: not set: it cannot", "slow 9: no answer yet",
                 "in /bin/x  not resolved: enable it again"):
        contains(out, part)
    # For a session that has never started there is only the definition.
    fake.answers["status"] = {"ok": True, "sessions": [
        {"name": "now", "state": "defined", "definition": {"name": "now", "probes": [{**probe, "pid": 0}]}}]}
    contains(ask("status", "now")[0].out, "--function malloc  in all programs\n")
    # An answer in pieces.
    many = [{"name": f"s{i}", "state": "defined", "output": "/t/" + "x" * 100} for i in range(1000)]
    fake.answers["status"] = {"ok": True, "sessions": many}
    equal(len(json_lines(ask("status", "-a", "--json")[0].out)), 1000)


FULL = {
    "name": "now", "state": "active", "error": "a\x1bdisk", "output": "/t/now", "recorded": 8001, "bytes": 81920, "lost": 12,
    "overwritten": 2048, "snapshots": 3, "snapshot-recorded": 1, "restarts": 4, "missed-starts": 5, "other-releases": 1,
    "refused": 1234, "idle": 6,
    "sending": {"to": "tcp://there:4000", "connected": False, "since": 86400 * 10**9 + 3723 * 10**9, "connections": 2, "why": "it is\x07gone",
                "packets": 1, "bytes": 3072, "events": 1001, "pending-packets": 7, "pending": 5120, "dropped-packets": 8,
                "dropped-events": 1, "dropped-users": [{"uid": 1009, "packets": 1, "events": 2}, {"packets": 3, "events": 1}]},
    "channels": [{"channel": "ring", "recorded": 7999, "bytes": 81900, "lost": 13}, {"channel": "empty", "recorded": 1, "bytes": 20}],
    "definition": {
        "track": [{"name": "redis*"}, {"pid": 14, "exclude": True}, {"uid": 15}, {"gid": 16}, {"cgroup": "/c"}, {"container": "d"}],
        "channels": [{"channel": "ring", "mode": "overwrite", "buffer-size": 4194304, "context": ["vtid", "vpid"],
                      "rules": [{"event": ["db:*", "!db:tick"], "filter": "size > 4", "event-context": ["ip", "tid"]}, {"event": []}]},
                     {"channel": "empty", "buffer-size": 65536, "per-thread": True, "rules": []}]},
    "processes": [{"pid": 4711, "name": "redis\x1b", "control": "thread", "joined-by": "attach", "events": 1090, "recorded": 9000, "bytes": 91920, "lost": 17, "live": True},
                  {"pid": 4712, "name": "old", "control": "sync", "events": 2, "recorded": 18, "bytes": 19, "lost": 0, "live": False}],
    "waiting": [{"name": "w\x1b", "pid": 21, "uid": 22, "reason": "no\x1bmemory"}],
    "losses": [{"process": "redis-4711", "event": "db:x", "reason": "ring full", "count": 1023}, {"process": "old-4712", "reason": "other", "count": 24}],
    "messages": ["m0"], "message-hints": ["h0"], "messages-unkept": 2,
    "messages-of-users": [{"uid": 25, "count": 1}, {"count": 26}]}

FULL_TEXT = r"""session now  active
  reason     a\x1bdisk
  traces     /t/now
  recorded   8,001 events, 80.0 KiB; lost 12
  overwritten 2.0 KiB of older events
  snapshots  3, with 1 event in all
  restarts   4
  lost       the start of 5 programs: no recorder was running
  refused    1 program with the agent of another release; restart it
  sending    to tcp://there:4000
             not connected since 1970-01-02 01:02:03, connection 2: it is\x07gone
             sent 1 packet, 3.0 KiB, 1,001 events; waiting 7 packets, 5.0 KiB; lost 8 packets, with 1 event
             lost for user 1009: 1 packet, with 2 events: the spool is full
             lost for other users: 3 packets, with 1 event: the spool is full
  of         name redis*, not pid 14, uid 15, gid 16, cgroup /c, container d
  channel ring  overwrite, 4.0 MiB a CPU, with vtid vpid
    recorded 7,999 events, 80.0 KiB; lost 13
    db:* !db:tick  if size > 4  with ip tid
    all events
  channel empty  discard, 64.0 KiB a thread
    recorded 1 event, 20 bytes
    no events

  PROCESS                   PID  CONTROL  JOINED    CLASSES         EVENTS        BYTES         LOST
  redis\x1b                4711  thread   attach      1,090          9,000     89.8 KiB           17
  old                      4712  sync                     2             18     19 bytes            0  ended

  NOT RECORDED  1,234 programs since the recorder started; those that still run try again
  w\x1b                      21  user 22: no\x1bmemory

  6 idle programs have no ring memory: it was reclaimed, and is allocated again at the next event

  LOST
         1,023  redis-4711  db:x (ring full)
            24  old-4712  events with unknown names (other)
"""

FULL_NOTES = r"""side: m0
hint: h0
side: 2 more messages
hint: `--json` prints the first 100
side: 1 more message about programs of user 25: see the daemon's log
side: 26 more messages about programs of other users: see the daemon's log
side: process 27, and other programs in its mount namespace, cannot find this daemon: it cannot reopen the previous daemon's rendezvous socket /d (denied)
hint: `side attach --daemon -p 27` creates another one
"""


def test_status_of_everything():
    """All of it as text, value by value: all numbers differ."""
    make_current()
    fake.answers["status"] = {"ok": True, "sessions": [FULL], "programs": 3,
                              "closed-rendezvous": [{"pid": 27, "path": "/d", "why": "denied"}]}
    result = side("status", "now", env={**ENVIRONMENT, "TZ": "UTC"})
    equal((result.status, result.out, result.err), (0, FULL_TEXT, FULL_NOTES))
    # In colours: problems are red, and each colour is switched off again.
    colored = side("status", "now", "--color=always", env={**ENVIRONMENT, "TZ": "UTC"}).out
    equal(re.sub("\x1b\\[[0-9;]*m", "", colored), FULL_TEXT)
    equal(re.findall("\x1b\\[1;31m(.*?)\x1b\\[0m", colored), ["reason", "; lost 12", "lost", "refused", "not connected", "; lost 8 packets, with 1 event", "lost for user 1009: 1 packet, with 2 events: the spool is full", "lost for other users: 3 packets, with 1 event: the spool is full", "; lost 13", "          17", "NOT RECORDED"])
    equal(re.findall("\x1b\\[1m(.*?)\x1b\\[0m", colored), ["session now", "channel ring", "channel empty", "PROCESS                   PID  CONTROL  JOINED    CLASSES         EVENTS        BYTES         LOST", "LOST"])
    # The short form, with a loss and without.
    fake.answers["status"] = {"ok": True, "sessions": [{**FULL, "name": "other", "lost": 0, "output": "/o"}, {**FULL, "recorded": 1}]}
    equal(ask("status", "-a")[0].out, '  other                active       8,001 events      80.0 KiB  /o\n* now                  active            1 event      80.0 KiB  /t/now  lost 12\n')
    contains(side("status", "-a", "--color=always", env=ENVIRONMENT).out, "/t/now  lost \x1b[1;31m12\n\x1b[0m")
    # No data at all.
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "now", "state": "stopped", "definition": {"channels": []}}]}
    equal(ask("status", "now")[0].out, "session now  stopped\n  recorded   0 events, 0 bytes\n"
          "  no channels: add events with `side enable-event`\n")
    # No program has joined, or no event has fired.
    for programs, text in ((0, "\n  no running program has joined; programs that started before the daemon join with `side attach --daemon -p PID`\n"),
                           (1, "\n  1 program has joined, but no event that the session records has happened\n"),
                           (2, "\n  2 programs have joined, but no event that the session records has happened\n")):
        session = {"name": "now", "state": "active", "processes": []}
        fake.answers["status"] = {"ok": True, "sessions": [session], "programs": programs}
        equal(ask("status", "now")[0].out, "session now  active\n  recorded   0 events, 0 bytes\n" + text)
        for more in ({"refused": 1}, {"untracked": 1}, {"state": "stopped"}, {"processes": [{"pid": 1}]}):
            fake.answers["status"] = {"ok": True, "sessions": [{**session, **more}], "programs": programs}
            true(text not in ask("status", "now")[0].out, str(more))
    # One of each.
    one = {"refused": 1, "idle": 1, "missed-starts": 1, "other-releases": 2,
           "sending": {"to": "u", "connected": True, "since": 86400 * 10**9, "connections": 1, "packets": 2, "bytes": 1, "events": 1, "pending-packets": 1, "pending": 2,
                       "dropped-packets": 1, "dropped-events": 3}}
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "now", "state": "active", **one}]}
    equal(side("status", "now", env={**ENVIRONMENT, "TZ": "UTC"}).out, 'session now  active\n  recorded   0 events, 0 bytes\n  lost       the start of 1 program: no recorder was running\n  refused    2 programs with the agent of another release; restart them\n  sending    to u\n             connected since 1970-01-02 00:00:00\n             sent 2 packets, 1 byte, 1 event; waiting 1 packet, 2 bytes; lost 1 packet, with 3 events\n\n  NOT RECORDED  1 program since the recorder started; those that still run try again\n\n  1 idle program has no ring memory: it was reclaimed, and is allocated again at the next event\n')
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "now", "state": "active", "sending": {"to": "u"}}]}
    equal(ask("status", "now")[0].out, "session now  active\n  recorded   0 events, 0 bytes\n  sending    to u\n             not connected yet\n"
          "             sent 0 packets, 0 bytes; waiting 0 packets, 0 bytes\n")
    fake.answers["status"] = {"ok": True, "sessions": []}
    equal(ask("status", "-a")[0].err, "side: there are no sessions\nhint: `side create` makes one\n")
    equal(ask("status", "-a", "--json")[0].err, "")
    # 10 messages are printed, and the number of further ones.
    for count, more in ((10, ""), (11, "side: 1 more message\nhint: `--json` prints the first 100\n"), (12, "side: 2 more messages\nhint: `--json` prints the first 100\n")):
        fake.answers["status"] = {"ok": True, "sessions": [{"name": "now", "messages": [f"m{i}" for i in range(count)]}]}
        equal(ask("status", "now")[0].err, "".join(f"side: m{i}\n" for i in range(10)) + more)


PROBED = {
    "event": ["p:a", "p:a_return"], "probe": "--function a", "pid": 31, "state": "set", "programs": [
        {"pid": 32, "name": "one\x1b", "answered": True, "absent": 33, "resting": 34, "refused": 35, "cut": 36, "lost": 37, "unseen": 38,
         "methods": {"jump": 1039, "padding": 40, "short": 41, "punned": 42, "breakpoint": 43, "uprobe": 44},
         "refusals": [{"first": 45, "count": 1, "why": "x"}, {"first": 46, "count": 3, "why": "y"}]},
        {"pid": 47, "name": "two", "answered": True, "why": "it cannot"}, {"pid": 48, "name": "three"}, {"pid": 49, "name": "four", "answered": True}]}


def test_status_of_probes():
    make_current()
    session = {"name": "now", "state": "active", "probes": [PROBED, {**PROBED, "pid": 0, "exe": "/e", "state": "no table", "programs": []},
                                                            {"event": ["q"], "probe": "--sdt x:y"}]}
    fake.answers["status"] = {"ok": True, "sessions": [session]}
    head = "session now  active\n  recorded   0 events, 0 bytes\n"
    text = (head + "  probes\n    p:a p:a_return  --function a  in process 31  set\n"
            "      one\\x1b 32: 1,039 by jump, 40 by jump into padding, 41 by short jump, 42 by punned jump, 43 by breakpoint, 44 by uprobe, "
            "33 not loaded, 34 idle, 35 refused, 36 nested hits not recorded, 37 hits lost, 38 returns not recorded\n"
            "        location 45: x\n        location 46 to 48: y\n"
            "      two 47: not set: it cannot\n      three 48: no answer yet\n      four 49: nothing to set\n"
            "    p:a p:a_return  --function a  in /e  not resolved: enable it again\n    q  --sdt x:y  in all programs\n")
    equal(ask("status", "now")[0].out, text)
    colored = side("status", "now", "--color=always", env=ENVIRONMENT).out
    equal(re.findall("\x1b\\[1;31m(.*?)\x1b\\[0m", colored),
          ["35 refused", "37 hits lost", "38 returns not recorded", "not set: it cannot", "not resolved: enable it again"])
    equal(re.sub("\x1b\\[[0-9;]*m", "", colored), text)


def test_status_of_the_kernel():
    """The answer of the program that records the events of the kernel."""
    make_current()
    session = {"name": "now", "state": "active", "definition": {"channels": [{"channel": "ring", "rules": [{"event": ["kernel::x"]}]}]}}
    fake.answers["status"] = {"ok": True, "sessions": [session]}
    contains(ask("status", "now")[0].out, "  kernel     not recorded: side-kernel does not run; `side start` starts it\n")
    answers = [{"method": "perf", "on": 51, "events": 1052}, {"way": "tracefs", "on": 53, "events": 54, "lost": 1055, "filtered": 56}]
    asked = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.path.join(RUNTIME, "kernel.sock"))
    listener.listen(4)
    listener.settimeout(60)

    def serve():
        for answer in answers:
            connection = listener.accept()[0]
            with connection:
                asked.append(connection.recv(100))
                connection.send(json.dumps(answer).encode() + b"\n")
    thread = threading.Thread(target=serve)
    thread.start()
    outputs = [ask("status", "now")[0].out for _ in answers]
    thread.join()
    listener.close()
    os.unlink(os.path.join(RUNTIME, "kernel.sock"))
    equal(asked, [b"status\n"] * 2)
    contains(outputs[0], "  kernel     51 of 1052 events enabled, by perf\n")
    contains(outputs[1], "  kernel     53 of 54 events enabled, by tracefs; 56 with a kernel filter; lost 1,055\n")


def test_save_and_load():
    make_current()
    definitions = [{"version": 1, "name": "a", "channels": [{"channel": "ring", "rules": [{"event": ["x:/y"]}]}]},
                   {"version": 1, "name": "b"}]
    fake.answers["save"] = lambda request: {
        "ok": True, "definitions": definitions[:1] if "session" in request else definitions}
    fake.answers["load"] = lambda request: {"ok": True, "session": request["definition"]["name"]}
    file, both = work.name + "/a.json", work.name + "/both.json"
    asks("save", verb="save", session="now")
    equal(json.loads(ask("save", "a")[0].out), definitions[0])
    asks("save", "-a", "-o", both, verb="save")
    asks("save", "a", "-o", file, verb="save", session="a")
    asks("load", file, verb="load", definition=definitions[0])
    asks("load", file, "-f", "-s", "c", verb="load", definition=definitions[0], force=True, session="c")
    equal([request["definition"] for request in ask("load", both)[1]], definitions)
    # A probe that is not set decides the status, whatever follows.
    no_program, gone = both, work.name + "/gone"
    for exe, status, text in ((no_program, 1, "the probe probe:f of session a is not resolved"), (gone, 0, f"it is set when {gone} exists")):
        with open(file, "w", encoding="utf-8") as out:
            json.dump({**definitions[0], "probes": [{"event": ["probe:f"], "probe": "--function f", "exe": exe}]}, out)
            json.dump(definitions[1], out)
        contains(ask("load", file, status=status)[0].err, text)
        # A session that is loaded, and then its probe.
        lines = [json.loads(line) for line in ask("load", file, "--json", status=status)[0].out.splitlines()]
        equal([line["session"] for line in lines], ["a", "b"] if status else ["a", "a", "b"])
    asks("stop", verb="stop", session="b")
    with open(both, "rb") as stream:
        equal([request["definition"]["name"] for request in ask("load", "-", stdin=stream)[1]], ["a", "b"])
    for text, part in (("", "is empty"), ("[]", "no JSON object"), ("{", "no JSON object"), ("x", "no JSON object"),
                       ('{"a":1} trailing', "no JSON object"), (" \n", "is empty")):
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
        contains(ask("load", file, status=1)[0].err, part)
    contains(ask("load", work.name + "/nothing", status=1)[0].err, "side save")
    contains(ask("load", both, both, "-s", "x", status=2)[0].err, "cannot load several files as one session x")
    contains(ask("load", both, "-s", "x", status=2)[0].err, "has several sessions")
    contains(ask("save", "-o", work.name, status=1)[0].err, "cannot write")


def test_daemon():
    fake.answers["ping"] = {"ok": True, "version": "9.9", "pid": 77, "system": False}
    result = ask("daemon")[0]
    for part in ("9.9", "77", fake.path):
        contains(result.out, part)
    (line,) = json_lines(ask("daemon", "--json")[0].out)
    equal((line["type"], line["pid"], line["socket"]), ("daemon", 77, fake.path))
    equal(ask("daemon", "--no-daemon", "-q")[0].out, "")
    contains(ask("doctor", "daemon")[0].out, "process 77")


def top_answer(step):
    return {"ok": True, "time": step, "sessions": [
        {"name": "now", "state": "active", "output": work.name + "/no-trace", "recorded": 1100 * step,
         "bytes": 1000 * step, "lost": 5 * step,
         "processes": [{"pid": 1, "name": "one", "events": 10 * step, "recorded": 1000 * step, "bytes": 900 * step, "lost": 5 * step},
                       {"pid": 2, "name": "two\033[2J", "events": step, "bytes": 100 * step, "lost": 0}]}]}


def test_top():
    make_current()
    fake.answers["top"] = top_answer(1)
    fake.subscription = [top_answer(2), top_answer(3)]
    result, requests = ask("top", "-n", "2", "-i", "200ms")
    equal(requests, [{"verb": "top", "session": "now", "interval": 2 * 10**8}])
    equal(result.out.count("PROCESS"), 2)
    contains(result.out, "two\\x1b[2J")
    contains(result.out, "active  3,300 events, 2.9 KiB, ")
    lines = json_lines(ask("top", "--json", "-n", "2", "--pair", "a:b", "a:e")[0].out)
    tops = [line for line in lines if line["type"] == "top"]
    equal([(line["recorded"], line["bytes"], line["lost"]) for line in tops], [(2200, 2000, 10), (3300, 3000, 15)])
    for line in tops:
        true(abs(line["byte_rate"] / line["loss_rate"] - 200) < 1, str(line))
    processes = [line for line in lines if line["type"] == "process"]
    equal([(line["pid"], line["lost"]) for line in processes], [(1, 10), (2, 0), (1, 15), (2, 0)])
    equal([line["recorded"] for line in processes], [2000, 0, 3000, 0])
    equal([line["count"] for line in lines if line["type"] == "durations"], [0, 0])
    # It ends when the daemon ends.
    result = ask("top")[0]
    contains(result.err, "ended")
    contains(ask("top", "--pair", "a:[", "b", status=2)[0].err, "a:[")
    fake.subscription = []


def test_top_has_no_interval_before_the_first_statistics():
    """No interval includes earlier events, and the daemon's time determines the length of an interval,
    even if it is read late.
    """
    def at(seconds, size):
        answer = top_answer(1)
        answer["time"] = seconds * 10**9
        answer["sessions"][0].update(bytes=size, lost=size // 100)
        answer["sessions"][0]["processes"] = [{"pid": 1, "name": "one", "bytes": size, "lost": 0}]
        return answer

    make_current()
    fake.answers["top"] = {"ok": True}  # Like the daemon: statistics are in the next message.
    fake.subscription = [at(50, 10**10), at(51, 10**10 + 3000), at(53, 10**10 + 3000), at(55, 10**10 + 4000)]
    lines = json_lines(ask("top", "--json", "-n", "3")[0].out)
    tops = [line for line in lines if line["type"] == "top"]
    equal([(line["seconds"], line["byte_rate"], line["loss_rate"]) for line in tops], [(1, 3000, 30), (2, 0, 0), (2, 500, 5)])
    equal([line["byte_rate"] for line in lines if line["type"] == "process"], [3000, 0, 500])
    text = ask("top", "-n", "1")[0].out
    contains(text, "2.9 KiB/s")
    fake.subscription = []


def test_top_on_a_terminal():
    make_current()
    fake.answers["top"] = top_answer(1)

    def slowly():
        time.sleep(0.05)
        return top_answer(2)

    fake.subscription = [slowly] * 400  # More than the test waits for: q ends it.
    master, slave = pty.openpty()
    process = subprocess.Popen([SIDE, "top"], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=ENVIRONMENT)
    os.close(slave)
    data = b""
    while b"PROCESS" not in data:
        piece = os.read(master, 65536)
        true(piece, "the terminal was closed")
        data += piece
    os.write(master, b"q")
    try:
        while True:
            data += os.read(master, 65536)
    except OSError:
        pass
    equal((process.wait(timeout=60), process.stderr.read()), (0, b""))
    process.stderr.close()
    os.close(master)
    true(data.startswith(b"\033[?1049h") and data.rstrip().endswith(b"\033[?1049l"), repr(data[-40:]))
    fake.subscription = []


def test_completion():
    make_current()
    fake.answers["list"] = {"ok": True, "sessions": ["now", "other"], "processes": []}
    fake.answers["status"] = lambda request: {"ok": True, "sessions": [{**SESSION, "name": request["session"]}]}
    equal(ask("complete", "sessions")[0].out.split(), ["now", "other"])
    fake.answers["list"] = {"ok": True, "sessions": [{"name": "now"}, {"name": "other"}], "processes": []}
    equal(ask("complete", "sessions")[0].out.split(), ["now", "other"])
    equal(ask("complete", "channels")[0].out.split(), ["ring", "empty"])
    asks("complete", "channels", "-s", "other", verb="status", session="other")
    contains(ask("complete", "session", status=2)[0].err, "did you mean `side complete sessions`?")


run_tests(globals())

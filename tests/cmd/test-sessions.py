#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The verbs that ask the daemon: what they ask, against one that notes it; what they say of its answers."""
import pwd
import time

from fake_daemon import FakeDaemon
from harness import *

work = tempfile.TemporaryDirectory()
RUNTIME = os.path.join(work.name, "runtime")
ENVIRONMENT = environment(SIDE_RUNTIME=RUNTIME)
fake = FakeDaemon(RUNTIME)
CHANGED = {"ok": True, "generation": 2, "changed": True, "pending": [], "unchanged": []}


def ask(*args, status=0, **more):
    """Runs side; gives its result and the requests that it made, without what all of them have."""
    fake.take()
    result = side(*args, env=ENVIRONMENT, **more)
    equal(result.status, status, f"{args}: {result}")
    requests = fake.take()
    for request in requests:
        equal(request.pop("version"), 1, str(args))
    return result, requests


def asks(*args, **wanted):
    """One request, exactly this one."""
    requests = ask(*args)[1]
    # Whether it records events of the kernel, which need a program that listens to it.
    if args[0] == "start":
        equal(requests.pop(0)["verb"], "status", str(args))
    wanted = {name.replace("_", "-"): value for name, value in wanted.items()}
    equal(requests, [wanted], str(args))


def refused(*args, status=2, says=()):
    result, requests = ask(*args, status=status)
    equal(requests, [], str(args))
    for part in says:
        contains(result.err, part, str(args))


def test_create_and_the_current_session():
    refused("start", says=["there is no current session", "side create"])
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
    refused("create", "mine", "--to", "tcp://there", says=["tcp://HOST:PORT"])
    refused("create", "mine", "--to", "-", says=["FIFO"])
    requests = ask("create", "mine", "--to", "bytes", cwd=work.name)[1]
    equal(os.path.realpath(os.path.dirname(requests[0]["to"])), os.path.realpath(work.name))
    asks("create", "mine", "--compress=7", "--format=ctf1", verb="create", session="mine", compress=7, format="ctf1")
    asks("stop", verb="stop", session="mine")
    # The daemon works in another directory.
    requests = ask("create", "mine", "-o", "here", cwd=work.name)[1]
    equal(os.path.realpath(requests[0]["output"]), os.path.realpath(work.name) + "/here")
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "other", "state": "defined"}]}
    asks("set-session", "other", verb="status", session="other")
    asks("stop", verb="stop", session="other")
    asks("stop", "mine", verb="stop", session="mine")
    asks("stop", "-s", "mine", verb="stop", session="mine")
    refused("stop", "one", "-s", "two", says=["two sessions"])
    with open(RUNTIME + "/current", encoding="utf-8") as file:
        equal(file.read(), "other\n")
    equal(os.stat(RUNTIME + "/current").st_mode & 0o777, 0o600)
    # What is no name is not taken for one, and a link is not followed.
    for text in ("../x\n", "\n", "", "x" * 65 + "\n", "-x"):
        with open(RUNTIME + "/current", "w", encoding="utf-8") as file:
            file.write(text)
        refused("stop", says=["no current session"])
    os.unlink(RUNTIME + "/current")
    with open(work.name + "/elsewhere", "w", encoding="utf-8") as file:
        file.write("linked\n")
    os.symlink(work.name + "/elsewhere", RUNTIME + "/current")
    refused("stop", says=["no current session"])
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
        refused("enable-event", "a:b", "--timeout", text, says=["is not a time", "a time is a number of seconds, or one with ns"])
    refused("enable-event", "a:b", "--timeout", "99999999h", says=["is too large"])
    asks("enable-event", "a:b", "-s", "s2", verb="enable-event", session="s2", event=["a:b"])
    refused("enable-event", "-a", "a:b", says=["`--all` is all events"])
    refused("enable-event", "a:b@INFO", "--loglevel", "ERR", says=["has a log level"])
    refused("enable-event", "a:b", "--loglevel", "ERR", "--loglevel-only", "INFO", says=["contradict"])
    asks("disable-event", "a:b", verb="disable-event", session="now", event=["a:b"])
    asks("disable-event", "-a", "-c", "x", verb="disable-event", session="now", channel="x")
    refused("disable-event", says=["no event to disable", "--all"])
    contains(ask("enable-event", "a:b")[0].err, "records a:b from now on")
    fake.answers["enable-event"] = {**CHANGED, "changed": False}
    contains(ask("enable-event", "a:b")[0].err, "was so already")


def test_channels_and_contexts():
    make_current()
    base = {"verb": "enable-channel", "session": "now", "channel": "c1"}
    asks("enable-channel", "c1", **base)
    asks("enable-channel", "-u", "c1", "--mode", "overwrite", "--buffer-size", "1M", "--per-thread", **base,
         mode="overwrite", buffer_size=1 << 20, per_thread=True)
    asks("enable-channel", "c1", "--mode=block", "--block-timeout", "5ms", "--per-thread=9", "--context", "vtid",
         **base, mode="block", block_timeout=5 * 10**6, per_thread=9, context=["vtid"])
    # Others mean microseconds there.
    for text in ("5", "0.5"):
        refused("enable-channel", "c1", "--mode=block", "--block-timeout", text, says=["is not a time", "us, ms, s or min behind it here"])
    asks("disable-channel", "c1", verb="disable-channel", session="now", channel="c1")
    refused("enable-channel", says=["missing operand: the name of a channel"])
    asks("add-context", "vtid", "procname", verb="add-context", session="now", context=["vtid", "procname"])
    asks("add-context", "-u", "-t", "vtid", "-t", "ip", "-c", "c1", "-e", "a:*", verb="add-context", session="now",
         context=["vtid", "ip"], channel="c1", event=["a:*"])
    refused("add-context", says=["no context"])


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
        refused(verb, says=["missing option: the processes to " + verb])
        refused(verb, "--pid", "x", says=["not the number of a process"])
        refused(verb, "--uid", "nobody-is-called-so", says=["there is no user"])


def test_what_was_recorded():
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
    refused("regenerate", "metadata", says=["metadata of a trace is complete at any time"])
    refused("regenerate", "all", says=["`side regenerate` does not understand `all`", "did you mean `side regenerate statedump`?"])
    asks("clear", "s", verb="clear", session="s")
    contains(ask("clear", "s")[0].err, "session s has nothing of what was recorded before")
    equal(side("version").out, side("--version").out)
    (line,) = json_lines(ask("snapshot", "--json")[0].out)
    equal((line["type"], line["path"], line["session"]), ("snapshot", "/t/snapshot-1", "now"))


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
    refused("stop", says=["no current session"])
    contains(ask("destroy", "x", "-q")[0].err, "3 events were lost")
    make_current()
    equal([request["session"] for request in ask("destroy", "a", "b")[1]], ["a", "b"])
    fake.answers["status"] = {"ok": True, "sessions": [{"name": "a"}, {"name": "now"}]}
    equal([request.get("session") for request in ask("destroy", "-a")[1]], [None, "a", "now"])
    refused("stop", says=["no current session"])
    result = ask("destroy", "-a", "x", status=2)[0]
    contains(result.err, "leave one of them out")


def test_pending():
    make_current()
    fake.answers["start"] = {**CHANGED, "output": "/t",
                             "pending": [{"pid": 4711, "name": "redis-server", "why": "stopped by a signal"}],
                             "unchanged": [{"pid": 12, "name": "cron", "why": "control mode sync"}]}
    result = ask("start", status=5)[0]
    contains(result.err, "redis-server (process 4711) has not switched over yet: stopped by a signal")
    contains(result.err, "cron (process 12) is unchanged: control mode sync\nhint: `side attach --daemon -p 12` makes it check\n")
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
        fake.answers["stop"] = {"ok": False, "kind": kind, "error": "this is so", "mend": "do that"}
        equal(ask("stop", status=status)[0].err, "side: this is so\nhint: do that\n", kind)
    fake.answers["enable-event"] = {"ok": False, "kind": "usage", "error": "filter, column 6: no", "mend": "",
                                    "where": "size >> 4", "column": 6}
    lines = ask("enable-event", "a:b", "-f", "size >> 4", status=2)[0].err.splitlines()
    equal((lines[0], lines[1].strip(), lines[2].strip()), ("side: filter, column 6: no", "size >> 4", "^"))
    # Terminals obey nothing of what a daemon says.
    fake.answers["stop"] = {"ok": False, "kind": "failed", "error": "a\033[31mb", "mend": ""}
    contains(ask("stop", status=1)[0].err, "a\\x1b[31mb")
    fake.answers["stop"] = {"ok": True}
    for answer in ({}, {"ok": "maybe"}, {"ok": True, "pending": {"pid": 1}, "unchanged": 7},
                   {"ok": True, "pending": [7, None, []], "output": 7}):
        fake.answers["start"] = answer
        true(side("start", env=ENVIRONMENT).status in (0, 1, 5), str(answer))
    fake.answers["start"] = {"ok": True}


def test_no_daemon():
    env = environment(SIDE_RUNTIME=work.name + "/nobody", PATH="/nowhere")
    result = side("status", "--no-daemon", env=env)
    equal(result.status, 1)
    contains(result.err, "no daemon listens at " + work.name + "/nobody/control.sock")
    equal(os.path.exists(work.name + "/nobody"), False)
    # What is wrong with a command line is said before that.
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
    "processes": [{"pid": 4711, "name": "redis-server", "control": "thread", "events": 90, "recorded": 9000,
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
                     "overwritten 2.0 KiB of older events\n", "snapshots  2, 77 events in all of them together\n", "name redis*, not pid 12", "channel ring", "4.0 MiB",
                     "db:* !db:tick", "if size > 4", "with ip", "all events", "channel empty", "no events",
                     "redis-server", "9,000", "old", "ended", "db:x", "ring full"):
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
    # Probes: what became of them in each program.
    probe = {"event": ["probe:malloc", "probe:malloc_return"], "channel": "ring", "probe": "--function malloc", "pid": 7}
    programs = [{"pid": 7, "name": "redis", "answered": True, "places": 1007, "set": 1004,
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
                 "location 4 to 5: a reason", "old 8: none, because it cannot", "slow 9: not answered yet",
                 "in /bin/x  not resolved: enable it again"):
        contains(out, part)
    # Of one that has never started there is only the definition.
    fake.answers["status"] = {"ok": True, "sessions": [
        {"name": "now", "state": "defined", "definition": {"name": "now", "probes": [{**probe, "pid": 0}]}}]}
    contains(ask("status", "now")[0].out, "--function malloc  in all programs\n")
    # An answer in pieces.
    many = [{"name": f"s{i}", "state": "defined", "output": "/t/" + "x" * 100} for i in range(1000)]
    fake.answers["status"] = {"ok": True, "sessions": many}
    equal(len(json_lines(ask("status", "-a", "--json")[0].out)), 1000)


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
    asks("stop", verb="stop", session="b")
    with open(both, "rb") as stream:
        equal([request["definition"]["name"] for request in ask("load", "-", stdin=stream)[1]], ["a", "b"])
    for text, part in (("", "is empty"), ("[]", "no JSON object"), ("{", "no JSON object"), ("x", "no JSON object"),
                       ('{"a":1} trailing', "no JSON object"), (" \n", "is empty")):
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
        contains(ask("load", file, status=1)[0].err, part)
    contains(ask("load", work.name + "/nothing", status=1)[0].err, "side save")
    contains(ask("load", both, both, "-s", "x", status=2)[0].err, "cannot all become")
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
    # It ends when the daemon does.
    result = ask("top")[0]
    contains(result.err, "ended")
    contains(ask("top", "--pair", "a:[", "b", status=2)[0].err, "a:[")
    fake.subscription = []


def test_top_has_no_interval_before_the_first_figures():
    """No interval includes earlier events, and the daemon's time determines the length of an interval, however late it is read."""
    def at(seconds, size):
        answer = top_answer(1)
        answer["time"] = seconds * 10**9
        answer["sessions"][0].update(bytes=size, lost=size // 100)
        answer["sessions"][0]["processes"] = [{"pid": 1, "name": "one", "bytes": size, "lost": 0}]
        return answer

    make_current()
    fake.answers["top"] = {"ok": True}  # As the daemon does: statistics come with the next message.
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

    fake.subscription = [slowly] * 400  # More than is waited for: q ends it.
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

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The doctor: each check, on this machine and on trees of files that look like other machines."""
from harness import *

NAMES = ["libside", "agent", "pkgconfig", "programs", "daemon", "runtime", "group", "shm", "nofile", "memlock", "inotify", "preload", "boot", "caps", "ptrace", "perf", "tracefs",
         "userevents", "debug", "core", "kernel", "rseq", "clock", "hugepages"]
work = tempfile.TemporaryDirectory()


def checks_of(*args, env=None):
    result = side("doctor", "--json", *args, env=env or environment(SIDE_RUNTIME=work.name + "/runtime"))
    true(result.status in (0, 1), str(result))
    equal(result.err, "")
    lines = json_lines(result.out)
    equal([line["type"] for line in lines], ["check"] * len(lines))
    equal(result.status, int(any(line["state"] == "missing" for line in lines)), result.out)
    return {line["name"]: line for line in lines}


def tree(**files):
    """Makes a root with these files, `__` for `/`; None: a directory."""
    root = tempfile.mkdtemp(dir=work.name)
    for name, text in files.items():
        path = os.path.join(root, name.replace("__", "/"))
        if text is None:
            os.makedirs(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return root


def one(name, **files):
    return checks_of(name, "--root", tree(**files))[name]


def test_this_machine():
    found = checks_of()
    equal(sorted(found), sorted(NAMES))
    for name, line in found.items():
        true(line["state"] in ("ok", "note", "missing", "skipped"), str(line))
        true(line["for"] and line["found"], name)
        equal("\n" in line["found"], False)
    equal(found["kernel"]["state"] in ("ok", "note"), True)
    contains(found["kernel"]["found"], os.uname().release)
    # As text: the same names and states.
    result = side("doctor", env=environment(SIDE_RUNTIME=work.name + "/runtime"))
    states = {line.split()[1]: line.split()[0] for line in result.out.splitlines() if not line.startswith(" ")}
    equal(states, {name: line["state"] for name, line in found.items()})
    for line in found.values():
        equal(line.get("mend"), line.get("hint"), "the former name of the member")
        if "hint" in line and line["state"] != "ok":
            contains(result.out, "hint: " + line["hint"])


def test_boot():
    equal(one("boot", etc=None)["state"], "note")
    good = "state-directory /run/side/boot\nsession early\nevent a:*\n"
    root = tree(etc__side=None)
    path = os.path.join(root, "etc/side/boot.conf")

    def check_of(text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return checks_of("boot", "--root", root)["boot"]

    found = check_of("place here\n")
    equal(found["state"], "missing")
    contains(found["found"], path + ":1: ")
    contains(found["hint"], "/")
    found = check_of(good)
    equal(found["state"], "ok", str(found))
    contains(found["found"], "1 session in /run/side/boot, buffers of 0 processes, no recorder")
    os.makedirs(os.path.join(root, "run/side/boot/early/init-1-0"))
    found = check_of(good)
    equal(found["state"], "note")
    contains(found["found"], "buffers of 1 process, no recorder")
    contains(found["hint"], "side adopt /run/side/boot")


def test_names():
    equal(list(checks_of("ptrace", "shm")), ["shm", "ptrace"])
    result = side("doctor", "ptrac")
    equal((result.status, result.out), (2, ""))
    contains(result.err, "did you mean `side doctor ptrace`?")


def test_runtime_directory():
    place = work.name + "/mine"
    os.mkdir(place, 0o700)
    equal(checks_of("runtime", env=environment(SIDE_RUNTIME=place))["runtime"]["state"], "ok")
    os.chmod(place, 0o777)
    line = checks_of("runtime", env=environment(SIDE_RUNTIME=place))["runtime"]
    equal((line["state"], line["hint"]), ("missing", "rm -r " + place))
    result = side("doctor", "runtime", env=environment(SIDE_RUNTIME=place))
    equal(result.status, 1)
    contains(result.err, "1 thing is missing")
    line = checks_of("runtime", env=environment(SIDE_RUNTIME="relative"))["runtime"]
    equal((line["state"], line["hint"]), ("missing", "unset SIDE_RUNTIME"))


def test_ptrace():
    none, root = "CapEff:\t0000000000000000\n", "CapEff:\t000001ffffffffff\n"
    for scope, caps, state, repair_command in (("0", none, "ok", None), ("1", none, "note", "sysctl kernel.yama.ptrace_scope=0"),
                                     ("2", none, "note", "sysctl kernel.yama.ptrace_scope=0"), ("1", root, "ok", None),
                                     ("2", root, "ok", None), ("3", root, "note", "and restart the machine"),
                                     ("77", none, "note", "and restart the machine")):
        line = one("ptrace", proc__sys__kernel__yama__ptrace_scope=scope + "\n", proc__self__status=caps)
        equal((line["state"], "hint" in line), (state, bool(repair_command)), scope)
        if repair_command:
            contains(line["hint"], repair_command)
    equal(one("ptrace")["state"], "ok")  # No Yama.
    line = one("caps", proc__self__status="Name:\tx\nCapEff:\t0000000000080000\n")
    equal((line["state"], line["found"]), ("note", "without CAP_PERFMON, CAP_SYS_ADMIN; with CAP_SYS_PTRACE"))
    equal(one("caps", proc__self__status=root)["state"], "ok")


def test_perf():
    for text, state in (("-1", "ok"), ("2", "ok"), ("3", "note"), ("4", "note")):
        line = one("perf", proc__sys__kernel__perf_event_paranoid=text + "\n")
        equal((line["state"], "hint" in line), (state, state == "note"), text)
    equal(one("perf", proc__sys__kernel__perf_event_paranoid="4", proc__self__status="CapEff: 0000004000000000")["state"],
          "ok")


def test_tracefs():
    equal(one("tracefs", sys__kernel__tracing__events=None)["state"], "ok")
    contains(one("tracefs", sys__kernel__tracing=None)["hint"], "mount -t tracefs")
    equal("hint" in one("tracefs"), False)
    equal(one("userevents", sys__kernel__tracing__user_events_data="")["state"], "ok")
    contains(one("userevents")["hint"], "CONFIG_USER_EVENTS")


def test_other_checks():
    contains(one("debug")["hint"], "DEBUGINFOD_URLS")
    equal(one("debug", **{"usr__lib__debug__.build-id": None})["state"], "ok")
    equal(one("debug", **{"etc__debuginfod__elfutils.urls": "https://x.example\n"})["found"], "from https://x.example")
    here = checks_of("debug", env=environment(DEBUGINFOD_URLS="https://y.example"))["debug"]
    equal((here["state"], here["found"]), ("ok", "from https://y.example"))
    equal(one("core", proc__self__coredump_filter="00000033\n")["state"], "ok")
    equal(one("core", proc__self__coredump_filter="00000001\n")["state"], "note")
    place = "sys__devices__system__clocksource__clocksource0__current_clocksource"
    equal(one("clock", **{place: "tsc\n"})["state"], "ok")
    contains(one("clock", **{place: "hpet\n"})["found"], "reading the clock source hpet takes a system call")
    equal(one("inotify", proc__sys__fs__inotify__max_user_instances="8\n")["state"], "note")
    equal(one("inotify", proc__sys__fs__inotify__max_user_instances="512\n")["state"], "ok")
    pages = "sys__kernel__mm__transparent_hugepage__shmem_enabled"
    equal(one("hugepages", **{pages: "always [advise] never\n"})["state"], "ok")
    equal(one("hugepages", **{pages: "always advise [never]\n"})["state"], "note")
    # Files that do not belong to this machine are not guessed, and unusual ones do no harm.
    for name in ("libside", "agent", "pkgconfig", "programs", "daemon", "runtime", "group", "shm", "nofile", "memlock", "preload", "kernel", "rseq"):
        equal(one(name)["state"], "skipped", name)
    equal(one("perf", proc__sys__kernel__perf_event_paranoid="\x1b[31m" + "x" * 5000)["state"], "note")
    equal(side("doctor", "--root", work.name + "/nothing").status, 1)


run_tests(globals())

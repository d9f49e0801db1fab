#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Sessions: probes in libraries of which no file is known when they are enabled (`--pending`). All calls are in the trace, as babeltrace2 reads it.
"""
import atexit
import shutil

from harness import *
from waiting import has_ended, wait_until

FOLDER = os.path.realpath(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30", LD_LIBRARY_PATH=None)
atexit.register(end_daemon, ENV)
# work() runs CALLS times in the constructor, and once in serve(). It contains a marker.
LIBRARY = """
__attribute__((noinline)) int work(int i)
{
	__asm__ volatile("1: nop\\n.pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n.4byte 992f-991f,994f-993f,3\\n"
			"991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n993: .8byte 1b\\n.8byte 0\\n.8byte 0\\n"
			".asciz \\"plug\\"\\n.asciz \\"works\\"\\n.asciz \\"-4@%edi\\"\\n994: .balign 4\\n.popsection");
	return i * FACTOR;
}
static int sum;
__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < CALLS; i++)
		sum += work(i);
}
int serve(int i) { return work(i); }
"""
# Opens, calls and closes each library of the command line; waits for a line first if the first argument is `wait`. `swap`: exchanges the file of a
# library, and loads it before and afterwards.
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "swap")) {
		dlclose(dlopen(argv[2], RTLD_NOW));
		rename(argv[3], argv[2]);
		return !dlopen(argv[2], RTLD_NOW);
	}
	for (int i = 2; i < argc; i++) {
		void *library;
		if (!strcmp(argv[1], "wait") && (puts("ready"), fflush(stdout), getchar()) == EOF)
			return 0;
		library = dlopen(argv[i], RTLD_NOW);
		if (!library)
			return puts(dlerror()), 3;
		((int (*)(int))dlsym(library, "serve"))(i);
		dlclose(library);
	}
	return 0;
}
"""


def build(name, source, *options):
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", f"{FOLDER}/{name}", *options], input=source.encode(), check=True)
    return f"{FOLDER}/{name}"


def library(name, constructor, factor=2, *options):
    os.makedirs(os.path.dirname(f"{FOLDER}/{name}"), exist_ok=True)
    return build(name, LIBRARY, "-shared", "-fPIC", f"-DCALLS={constructor}", f"-DFACTOR={factor}", *options)


OPENS = build("opens", PROGRAM)


def command(*words, status=0):
    result = side(*words, env=ENV, cwd=FOLDER)
    equal((words, result.status), (words, status), result.err)
    return result


def status():
    return json.loads(command("status", "--json", "s").out)


def probes():
    return status()["probes"]


class Session:
    """A started session with one probe, called `it`, in programs of OPENS unless `options` name a process."""

    def __init__(self, *options, file=OPENS):
        self.output = tempfile.mkdtemp(dir=FOLDER) + "/trace"
        command("create", "s", "-o", self.output)
        self.enabled = command("enable-event", "it", "-s", "s", "--pending", *options, *(["--exe", file] if file else []))
        command("start", "s")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        command("destroy", "s")

    def run(self, *words):
        """Runs OPENS. Returns how many events all programs have recorded until now."""
        command("run", "--", OPENS, *words)
        return self.count()

    def count(self):
        command("stop", "s")
        done = subprocess.run(["babeltrace2", self.output], capture_output=True, text=True, check=False)
        true(not done.returncode or "No trace was found" in done.stderr, done.stderr)
        command("start", "s")
        return len([line for line in done.stdout.splitlines() if " probe:it: " in line])


def test_constructors():
    """7 calls of the constructor and one more, for each time that the library is loaded; another file of the name, too."""
    hidden, other = library("hidden/libhide.so.1", 7), library("second/libhide.so.1", 4)
    with Session("--function", "libhide:work") as session:
        contains(session.enabled.err, "pending: no file of `libhide` is found; its probes are set when the program loads it")
        contains(session.enabled.err, "it is part of the session; no process has loaded the library yet")
        contains(command("status", "s").out, f"--function libhide:work --pending  in {OPENS}  pending: no process has loaded the library")
        equal([(probe["state"], probe["library"], probe["unloaded"], probe["programs"]) for probe in probes()], [("pending", "libhide", True, [])])
        equal(session.run("now", hidden, hidden), 16)
        equal([(probe["state"], probe.get("loaded")) for probe in probes()], [("set", None), ("set", hidden)])
        equal(session.run("now", other, hidden), 16 + 5 + 8)
        equal([probe.get("loaded") for probe in probes()], [None, hidden, other])
        contains(command("status", "s").out, f"in {OPENS}, {other}")
        # All of them are removed with the probe.
        command("disable-event", "it", "-s", "s")
        equal(status().get("probes"), None)
        equal(session.run("now", hidden), 16 + 5 + 8)


def test_names():
    """Paths, links and globs. A glob also names files that do not have the function."""
    hidden = library("hidden/libhide.so.1", 7)
    link = f"{FOLDER}/hidden/libhide.so"
    os.symlink("libhide.so.1", link)
    missing = library("hidden/libmiss.so", 2, 2, "-Dwork=toil")
    for name in ("libhide.so.1", "lib*", f"{FOLDER}/*/libhi*"):
        with Session("--function", f"{name}:work") as session:
            equal((name, session.run("now", missing, hidden, missing)), (name, 8))
            true(all("why" not in probe for probe in probes()), probes())
    os.rename(hidden, f"{hidden}.away")
    with Session("--function", f"{link}:work") as session:
        os.rename(f"{hidden}.away", hidden)
        equal(session.run("now", link), 8)


def test_markers():
    hidden = library("hidden/libhide.so.1", 7)
    with Session("--sdt", "libhide:plug:works") as session:
        equal(session.run("now", hidden), 8)


def test_exits():
    """The event of the return, and a register."""
    hidden = library("hidden/libhide.so.1", 7)
    with Session("--function", "libhide:work", "--exit") as session:
        session.run("now", hidden)
        done = subprocess.run(["babeltrace2", session.output], capture_output=True, text=True, check=True)
        equal(done.stdout.count(" probe:it_return: "), 8, done.stdout)


def test_running():
    """A process that runs: it has joined the session, and has loaded a library, when another pending probe is enabled."""
    hidden, third = library("hidden/libhide.so.1", 7), library("hidden/libthird.so", 3)
    with subprocess.Popen([OPENS, "wait", third, hidden, hidden], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV) as program:

        def load(until):
            program.stdin.write(b"\n")
            program.stdin.flush()
            equal(program.stdout.readline(), until)

        equal(program.stdout.readline(), b"ready\n")
        with Session("--function", "libthird:work", "--pid", str(program.pid), file=None) as session:
            equal([one["answered"] for one in probes()[0]["programs"]], [True])
            load(b"ready\n")
            equal(session.count(), 4)
            command("enable-event", "it", "-s", "s", "--pending", "--function", "libhide:work", "--exe", OPENS)
            load(b"ready\n")
            equal(session.count(), 4 + 8)
            load(b"")
            equal(session.count(), 4 + 8 + 8)


def test_swapped():
    """Another file by the same path."""
    moved, other = library("hidden/libmoved.so", 7), library("hidden/other.so", 5, 3)
    with Session("--function", "libmoved:work") as session:
        equal(session.run("swap", moved, other), 7 + 5)
        equal([probe.get("loaded") for probe in probes()], [None, moved, moved])


def test_failure():
    """The reason is in the status."""
    hidden = library("hidden/libhide.so.1", 7)
    with Session("--function", "libhide:worm") as session:
        equal(session.run("now", hidden), 0)
        equal([(probe["state"], probe["why"]) for probe in probes()], [("pending", f"no probes in {hidden}: libhide has no function `worm`")])
        contains(command("status", "s").out, f"pending: no probes in {hidden}: libhide has no function `worm`")


def test_restart():
    """The daemon is killed before the library is loaded, and once more afterwards."""
    hidden, other = library("hidden/libhide.so.1", 7), library("second/libhide.so.1", 4)
    with Session("--function", "libhide:work") as session:
        for path, count in ((hidden, 8), (other, 8 + 5), (hidden, 8 + 5 + 8)):
            pid = json.loads(command("daemon", "--json").out.splitlines()[0])["pid"]
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: has_ended(pid), "the daemon has ended")
            wait_until(lambda: not side("daemon", env=ENV).status, "a daemon runs")
            equal(session.run("now", path), count)


def test_system():
    """The system's daemon, in a mount namespace of its own; root's session records a program of another user, too."""
    if os.geteuid() or not shutil.which("setpriv") or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/run"], check=False).returncode:
        skip("needs root, setpriv and a mount namespace")
    hidden, output = library("hidden/libhide.so.1", 7), f"{FOLDER}/system/trace"
    os.chmod(FOLDER, 0o755)
    os.mkdir(f"{FOLDER}/system")
    run = f"{SIDE} run --system --"
    done = subprocess.run(["unshare", "-m", "sh", "-ec", f"""
        mount -t tmpfs tmpfs /run
        {os.path.dirname(SIDE)}/../sided/sided --system >&2 &
        until [ -S /run/side/control.sock ] && {SIDE} status --system; do sleep 0.1; done >&2
        trap 'kill $(cat /run/side/sided.pid)' EXIT
        {SIDE} create s -o {output} --system
        {SIDE} enable-event it -s s --pending --exe {OPENS} --function libhide:work --system
        {SIDE} enable-event no -s s --pending --exe {OPENS} --function 'lib*:none' --system
        {SIDE} start s --system
        {run} setpriv --reuid 65534 --regid 65534 --clear-groups {OPENS} now {hidden}
        {run} {OPENS} now {hidden} {hidden}
        {SIDE} status s --system
        {SIDE} destroy s --system
        """], capture_output=True, text=True, check=False, env={name: value for name, value in ENV.items() if name != "SIDE_RUNTIME"}, cwd=FOLDER)
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, f"in {OPENS}, {hidden}")
    contains(done.stdout, "pending: no process has loaded the library")
    done = subprocess.run(["babeltrace2", output], capture_output=True, text=True, check=True)
    equal(done.stdout.count(" probe:it: "), 8 + 16, done.stdout)


def test_saved():
    """A saved session keeps the option, and not the files."""
    hidden, saved = library("hidden/libhide.so.1", 7), f"{FOLDER}/saved.json"
    with Session("--function", "libhide:work") as session:
        equal(session.run("now", hidden), 8)
        command("save", "-s", "s", "-o", saved)
    command("load", saved)
    equal([(probe["library"], probe["unloaded"]) for probe in status()["definition"]["probes"]],
          [("libhide", True)])
    command("destroy", "s")


def test_refused():
    """Without the option, a hint names it. It needs a library."""
    command("create", "s", "-o", f"{FOLDER}/none")
    result = command("enable-event", "it", "-s", "s", "--function", "libnone:work", "--exe", OPENS, status=1)
    contains(result.err, "or add `--pending`")
    result = command("enable-event", "it", "-s", "s", "--pending", "--function", "main", "--exe", OPENS, status=2)
    contains(result.err, "cannot use `--pending`: the location names no library")
    command("destroy", "s")


run_tests(globals())

# SPDX-License-Identifier: MIT
"""`side system on`: each program joins the sessions by a line in /etc/ld.so.preload, and nothing else changes.

usage: test-system.py BUILD-DIRECTORY SOURCE-DIRECTORY

Runs in a mount namespace of its own, with copies of /etc and /run: the machine is never changed. Skipped where a namespace is not permitted.
"""
import ctypes
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from waiting import wait_until

build, sources = (os.path.abspath(a) for a in sys.argv[1:3])
PRELOAD = "/etc/ld.so.preload"
NEW = "/etc/.ld.so.preload.side"
TOP = "/mnt/side-system-test"
PERL, PYTHON = "/usr/bin/perl", os.path.realpath("/usr/bin/python3")
environment = {k: v for k, v in os.environ.items() if not k.startswith(("SIDE_", "LD_", "XDG_RUNTIME")) and k != "ASAN_OPTIONS"}
environment["HOME"] = TOP
libc = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_REC, MS_PRIVATE, MS_REMOUNT, CLONE_NEWNS = 4096, 16384, 1 << 18, 32, 0x20000

# Calls counted() as often as the argument states, prints the number and errno, as it was at main(), and the threads.
PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int calls;

__attribute__((noinline)) void counted(int i)
{
	calls += i + 1 - i;
}

int main(int argc, char **argv)
{
	int before = errno;

	for (int i = 0; i < atoi(argv[1]); i++)
		counted(i);
	printf("%d %d\n", calls, before);
	return 3;
}
"""


def mount(source, target, kind, flags=0, data=None):
    encode = [text and text.encode() for text in (source, target, kind)]
    return libc.mount(*encode, flags, data and data.encode())


def isolate():
    """Enters the namespace. False if that is not permitted."""
    if os.geteuid() or libc.unshare(CLONE_NEWNS) or mount(None, "/", None, MS_REC | MS_PRIVATE):
        return False
    if mount("test", "/mnt", "tmpfs", 0, "mode=755") or mount("test", "/run", "tmpfs", 0, "mode=755"):
        return False
    os.mkdir(TOP)
    os.chmod(TOP, 0o755)
    if subprocess.run(["cp", "-a", "/etc", TOP + "/etc"], check=False, timeout=60).returncode or mount(TOP + "/etc", "/etc", None, MS_BIND):
        return False
    if os.path.lexists(PRELOAD):
        os.unlink(PRELOAD)
    return True


def path(name):
    return os.path.join(TOP, name)


def call(*command, status=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment, **more)
    if status is not None:
        expect_equal(done.returncode, status, f"{command}: {done.stderr}")
    return done


def install():
    """Returns side's path and the directory of its libraries, which only root can change."""
    call("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", path("root"))
    options = {o["name"]: o["value"] for o in json.loads(call("meson", "introspect", build, "--buildoptions").stdout)}
    prefix = path("root") + options["prefix"]
    return os.path.join(prefix, options["bindir"], "side"), os.path.join(prefix, options["libdir"])


def compile_program(name, *command):
    with open(path("program.c"), "w", encoding="utf-8") as out:
        out.write(PROGRAM)
    if not shutil.which(command[0]) or call(*command, "-O1", "-o", path(name), path("program.c"), status=None).returncode:
        return None
    try:
        return path(name) if call(path(name), "1", status=None).returncode == 3 else None
    except OSError:
        return None


def read(name=PRELOAD):
    with open(name, "rb") as file:
        return file.read()


def write(content, mode=0o644, uid=0):
    with open(PRELOAD, "wb") as file:
        file.write(content)
    os.chown(PRELOAD, uid, uid)
    os.chmod(PRELOAD, mode)


def remove():
    for name in (PRELOAD, NEW):
        if os.path.lexists(name):
            os.unlink(name)


def status_of(status=0):
    return json.loads(call(side, "system", "status", "--json", status=status).stdout.splitlines()[0])


# ---- the file ----

def test_bytes():
    """Other content, mode and owner stay, and `off` restores each byte."""
    other = path("other.so")
    call("gcc", "-shared", "-nostdlib", "-o", other, "-x", "c", os.devnull)
    for before in (None, b"", b"\n", b"# a comment\n", b"# a comment\n\n\n", b"# no end"):
        remove()
        if before is not None:
            write(before, 0o640, 12345)
        call(side, "system", "on")
        expect(line.encode() in read().split(b"\n"), f"{before}: the line")
        expect(read().startswith(before or b""), f"{before}: the other content")
        if before is not None:
            found = os.stat(PRELOAD)
            expect_equal((stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid), (0o640, 12345, 12345), f"{before}: mode and owner")
        else:
            expect_equal((read(), stat.S_IMODE(os.stat(PRELOAD).st_mode)), (line.encode() + b"\n", 0o644), "the new file")
        found, content = os.stat(PRELOAD), read()
        expect("on already" in call(side, "system", "on").stderr, "a second `on`")
        expect_equal((read(), os.stat(PRELOAD).st_ino, os.stat(PRELOAD).st_mtime_ns), (content, found.st_ino, found.st_mtime_ns), "a second `on`")
        call(side, "system", "off")
        expect_equal(read() if os.path.exists(PRELOAD) else None, before, "off")
        expect("off already" in call(side, "system", "off").stderr, "a second `off`")
        expect_equal(read() if os.path.exists(PRELOAD) else None, before, "a second `off`")
        expect(not os.path.exists(NEW), "the temporary file")
    # Lines that were added meanwhile stay.
    remove()
    write(b"# first\n")
    call(side, "system", "on")
    write(read() + f"{other}\n".encode())
    call(side, "system", "off")
    expect_equal(read(), f"# first\n{other}\n".encode(), "a line that was added later")
    # Attributes of the file, where the file system has them.
    write(b"# first\n")
    try:
        os.setxattr(PRELOAD, "trusted.side-test", b"value")
    except OSError:
        print("extended attributes are not tried")
    else:
        call(side, "system", "on")
        expect_equal(os.getxattr(PRELOAD, "trusted.side-test"), b"value", "an extended attribute")
        call(side, "system", "off")
    remove()


def refused(*texts, word="on", status=1):
    before = read() if os.path.isfile(PRELOAD) else None
    done = call(side, "system", word, status=status)
    for text in texts:
        expect(text in done.stderr, f"{texts}: {done.stderr}")
    expect_equal(read() if os.path.isfile(PRELOAD) else None, before, f"{texts}: the file")
    expect(not os.path.exists(NEW), f"{texts}: the temporary file")


def test_refused():
    """What could break programs is refused, and changes nothing."""
    remove()
    done = call("setpriv", "--reuid", "65534", "--clear-groups", side, "system", "on", status=3)
    expect("only root" in done.stderr and "sudo side system on" in done.stderr, done.stderr)
    # A build tree, a file of another user, a directory that others can write.
    done = call(os.path.join(build, "programs/side/side"), "system", "on", status=None)
    expect(done.returncode in (1, 3) and "cannot turn it on" in done.stderr and
           ("build tree" in done.stderr or "could change each program" in done.stderr), done.stderr)
    top = os.path.join(libraries, "side-preload")
    for name in (os.path.join(top, "libside-system.so"), os.path.join(libraries, "libside-agent.so"), top, TOP, libraries):
        os.chmod(name, os.stat(name).st_mode | 0o020)
        refused("could change each program", name, status=3)
        os.chmod(name, os.stat(name).st_mode & ~0o020)
        os.chown(name, 12345, -1)
        refused("user 12345 owns " + name, status=3)
        os.chown(name, 0, -1)
    # A loader that cannot load the library, one that prints something, and a file that is no list.
    shim = os.path.join(top, "libside-system.so")
    os.rename(shim, shim + "-")
    with open(shim, "wb") as file:
        file.write(b"no library")
    refused("starts")
    os.rename(shim + "-", shim)
    write(b"/nothing.so\n")
    refused("prints", "/nothing.so")
    remove()
    os.mkdir(PRELOAD)
    refused("not a regular file")
    os.rmdir(PRELOAD)
    os.symlink("/nothing", PRELOAD)
    refused("not a regular file")
    refused("not a regular file", word="off")
    remove()
    # Edited by hand.
    write(f"{line} {line}\n".encode())
    refused("in a line", word="off")
    remove()
    # Another installation.
    write(line.replace(TOP, "/mnt/../mnt/side-system-test").encode() + b"\n")
    refused("another installation")
    call(side, "system", "off")
    expect(not os.path.exists(PRELOAD), "off of another installation")
    # Mounted over: it cannot be replaced.
    write(b"# old\n")
    with open(path("mounted"), "wb"):
        pass
    expect_equal(mount(path("mounted"), PRELOAD, None, MS_BIND), 0, "mount")
    refused("mounted over it")
    call("umount", PRELOAD)
    remove()


def test_large():
    """A file of the largest size that is read, and one byte more."""
    remove()
    rest = len(line) + 1
    write(b"#" * ((1 << 20) - rest - 1) + b"\n")
    before = read()
    call(side, "system", "on")
    expect_equal(len(read()), 1 << 20, "the largest file")
    call(side, "system", "off")
    expect_equal(read() == before, True, "off")
    write(b"#" + before)
    refused("cannot add a line", "too large")
    write(b"#" * (1 << 20) + b"\n")
    refused("cannot read", "too large")
    remove()


def test_full():
    """A full disk: a clear error, and nothing changes."""
    call("mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=64,mode=755", "small", path("small"))
    call("mount", "--bind", path("small"), "/etc")
    try:
        write(b"# first\n")
        filler = os.open("/etc/filler", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filler, b"x" * 4096)
        except OSError:
            os.close(filler)
        refused("cannot turn it on", "No space left")
        os.unlink("/etc/filler")
        call(side, "system", "on")
        call(side, "system", "off")
        expect_equal(read(), b"# first\n", "after the disk has space")
    finally:
        call("umount", "/etc")
        call("umount", path("small"))


CALLS = "unlink,openat,fchown,fchmod,write,fsync,lstat,newfstatat,rename,flock,fgetxattr,fsetxattr,listxattr,getxattr,close,unlinkat"


def test_killed():
    """Killed before or in each system call that could change the file: it is whole, with or without the line."""
    if not shutil.which("strace"):
        print("kills are not tried: there is no strace")
        return
    more = call("find", path("root"), "-name", "side-more").stdout.strip()
    for word in ("on", "off"):
        for before in (None, b"# first\n"):
            remove()
            if before is not None:
                write(before)
            if word == "off":
                call(side, "system", "on")
            old = read() if os.path.exists(PRELOAD) else None
            new = (before or b"") + line.encode() + b"\n" if word == "on" else before
            killed = 0
            # Only calls with one of these files, or with what was opened of them.
            for name in ("flock", "fchown", "fchmod", "fsync", "rename", "unlink"):
                for when in range(1, 5):
                    done = call("strace", "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={when}", more, "system", word,
                                status=None)
                    now = read() if os.path.exists(PRELOAD) else None
                    expect(now in (old, new), f"{word}, {name} {when}: {now}")
                    if done.returncode not in (-signal.SIGKILL, 128 + signal.SIGKILL):
                        break
                    killed += 1
                    # The next one completes it. Then back to where it began.
                    call(side, "system", word)
                    expect_equal(read() if os.path.exists(PRELOAD) else None, new, f"{word} after {name} {when}")
                    expect(not os.path.exists(NEW), f"{word} after {name} {when}: the temporary file")
                    call(side, "system", "off" if word == "on" else "on")
                    expect_equal(read() if os.path.exists(PRELOAD) else None, old, f"back after {name} {when}")
                call(side, "system", "off" if word == "on" else "on")
            expect(killed >= 3, f"{word}: {killed} kills")
    remove()


def test_at_once():
    """Two at once: one line."""
    remove()
    processes = [subprocess.Popen([side, "system", "on", "-q"], env=environment) for _ in range(4)]
    expect_equal([process.wait(timeout=60) for process in processes], [0] * 4, "four at once")
    expect_equal(read(), line.encode() + b"\n", "four at once")
    processes = [subprocess.Popen([side, "system", "off", "-q"], env=environment) for _ in range(4)]
    expect_equal([process.wait(timeout=60) for process in processes], [0] * 4, "four at once")
    expect(not os.path.exists(PRELOAD), "four at once")


# ---- programs ----

def counts(name):
    """The events of the session by name and process id."""
    found = {}
    for text in call(side, "view", "--json", path(name)).stdout.splitlines():
        event = json.loads(text)
        key = event["event"], event["vpid"]
        found[key] = found.get(key, 0) + 1
    return found


def calls_of(*command, **more):
    """The lines of strace with the system calls of the program itself."""
    call("strace", "-o", path("calls"), *command, status=None, **more)
    return read(path("calls")).decode().splitlines()


def test_inert(program):
    """Without an interested session: one system call; output, status, errno and threads as before."""
    expect_equal(call(program, "5", status=3).stdout, "5 0\n", "off")
    call(side, "system", "on")
    done = call(program, "5", status=3)
    expect_equal((done.stdout, done.stderr), ("5 0\n", ""), "on")
    checks = [text for text in calls_of(program, "5") if "/run/side" in text]
    expect_equal(len(checks), 1, f"system calls: {checks}")
    expect("wanted" in checks[0] and checks[0].startswith("access("), checks[0])
    mapped = call(PYTHON, "-c", "print(open('/proc/self/maps').read())").stdout
    expect("libside-system.so" in mapped and "libside-agent.so" not in mapped, "what is loaded")


def test_shim():
    """The library exports nothing, needs no other one, and has the paths of the protocol."""
    shim = os.path.join(libraries, "side-preload/libside-system.so")
    for text in call("nm", "-D", shim).stdout.splitlines():
        expect(text.split()[0] == "w", f"a symbol: {text}")
    expect("NEEDED" not in call("readelf", "-dW", shim).stdout, "it needs a library")
    with open(os.path.join(sources, "src/tracers/preload/system.c"), encoding="utf-8") as file:
        shim_values = dict(re.findall(r"#define (SYSTEM_\w+) (\S+)", file.read()))
    with open(os.path.join(sources, "src/protocol/runtime.h"), encoding="utf-8") as file:
        values = dict(re.findall(r"#define (WIRE_RUNTIME_\w+) (\S+)", file.read()))
    for ours, theirs in (("RUNTIME_VARIABLE", "ENV"), ("RUNTIME", "SYSTEM"), ("WANTED", "WANTED"), ("WANTED_MAX", "WANTED_MAX")):
        expect_equal(shim_values["SYSTEM_" + ours].replace('"/wanted"', '"wanted"'), values["WIRE_RUNTIME_" + theirs], ours)


def test_counts(program, others):
    """Each call is recorded, however the program is started; others are as if side were absent."""
    call(side, "create", "calls", "-o", path("calls-trace"))
    call(side, "enable-event", "counted", "-s", "calls", "--exe", program, "--function", "counted")
    for name, exe, function in (("perl", PERL, "Perl_sv_setsv_flags"), ("python", PYTHON, "PyNumber_Long")):
        if os.access(exe, os.X_OK):
            call(side, "enable-event", name, "-s", "calls", "--exe", exe, "--function", function)
    expect_equal({entry["exe"] for entry in status_of()["wanted"]} - {PERL, PYTHON}, {program}, "status")
    call(side, "start", "calls")
    call(program, "1000", status=3)
    # Neither the environment nor the parent matters.
    done = call("env", "-i", "/bin/sh", "-c", f"{program} 10; setpriv --reuid 65534 --clear-groups {program} 20", status=3)
    expect_equal((done.stdout, done.stderr), ("10 0\n20 0\n", ""), "programs that join")
    for few in (500, 1500):
        call(PERL, "-e", "for (1..%d) { $x = $_ }" % few)
        call(PYTHON, "-c", "for i in range(%d): int('5')" % few)
    # A program of another file loads no agent, although the list exists.
    shutil.copy(program, path("copy"))
    call(path("copy"), "7", status=3)
    for kind, other in others.items():
        done = call(other, "5", status=3)
        expect_equal((done.stdout, done.stderr), ("5 0\n", ""), kind)
    call(side, "stop", "calls")
    found = counts("calls-trace")
    expect_equal(sorted(count for (event, _), count in found.items() if event == "probe:counted"), [10, 20, 1000], "the C program")
    for name, exe in (("perl", PERL), ("python", PYTHON)):
        if os.access(exe, os.X_OK):
            few, many = sorted(count for (event, _), count in found.items() if event == "probe:" + name)[-2:]
            expect_equal(many - few, 1000, name)
    call(side, "destroy", "calls")
    expect(not os.path.exists("/run/side/wanted"), "no session has a probe")


def test_secure(program):
    """A program that gains privileges loads the library, which does nothing."""
    call(side, "create", "secure", "-o", path("secure-trace"))
    call(side, "enable-event", "counted", "-s", "secure", "--exe", path("privileged"), "--function", "counted", status=None)
    shutil.copy(program, path("privileged"))
    os.chmod(path("privileged"), 0o4755)
    call(side, "enable-event", "counted", "-s", "secure", "--exe", path("privileged"), "--function", "counted")
    call(side, "start", "secure")
    done = call("setpriv", "--reuid", "65534", "--clear-groups", path("privileged"), "5", status=3)
    expect_equal((done.stdout, done.stderr), ("5 0\n", ""), "a program that gains privileges")
    os.chmod(path("privileged"), 0o755)
    call(path("privileged"), "6", status=3)
    call(side, "stop", "secure")
    expect_equal(list(counts("secure-trace").values()), [6], "without privileges")
    call(side, "destroy", "secure")


SANDBOX = r"""
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FORBID(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			FORBID(SYS_prctl), FORBID(SYS_readlink), FORBID(SYS_readlinkat), FORBID(SYS_open), FORBID(SYS_socket), FORBID(SYS_clone),
			FORBID(SYS_clone3), FORBID(SYS_stat), FORBID(SYS_getpid), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	return argc > 1 ? execv(argv[1], argv + 1) : 1;
}
"""


def test_sandbox(program):
    """A sandbox that ends the program for a system call that the loader does not make."""
    with open(path("sandbox.c"), "w", encoding="utf-8") as out:
        out.write(SANDBOX)
    call("gcc", "-o", path("sandbox"), path("sandbox.c"))
    # The loader itself reads a link to expand $LIB: a static path leaves the library's own calls.
    static = os.path.join(libraries, "side-preload/libside-system.so").encode() + b"\n"
    call(side, "create", "boxed", "-o", path("boxed-trace"))
    call(side, "enable-event", "counted", "-s", "boxed", "--exe", program, "--function", "counted")
    call(side, "start", "boxed")
    content = read()
    write(static)
    if call(path("sandbox"), "/bin/true", status=None).returncode == 0:
        done = call(path("sandbox"), program, "5", status=3)
        expect_equal((done.stdout, done.stderr), ("5 0\n", ""), "in a sandbox")
    else:
        print("a sandbox is not tried")
    write(content)
    call(program, "6", status=3)
    call(side, "stop", "boxed")
    expect_equal(list(counts("boxed-trace").values()), [6], "only outside the sandbox")
    call(side, "destroy", "boxed")


def test_two_sessions(program):
    for name in ("one", "two"):
        call(side, "create", name, "-o", path(name))
        call(side, "enable-event", "counted", "-s", name, "--exe", program, "--function", "counted")
        call(side, "start", name)
    call(program, "100", status=3)
    call(side, "destroy", "one")
    call(program, "7", status=3)
    call(side, "destroy", "two")
    expect_equal(sorted(counts("one").values()), [100], "session one")
    expect_equal(sorted(counts("two").values()), [7, 100], "session two")


def test_later():
    """A file that does not exist when the probe is requested."""
    call(side, "create", "later", "-o", path("later-trace"))
    call(side, "enable-event", "counted", "-s", "later", "--exe", path("later"), "--function", "counted")
    call(side, "start", "later")
    expect(compile_program("later", "gcc"), "the file appears")
    call("env", "SIDE_TIMEOUT_FACTOR=100", path("later"), "9", status=3)
    call(side, "stop", "later")
    # compile_program() has executed it, too: then the first one waited for the probe.
    expect(9 in counts("later-trace").values(), f"a file that appears later: {counts('later-trace')}")
    call(side, "destroy", "later")


def test_killed_daemon(program):
    """The list of a killed daemon: programs run, and the next daemon replaces it."""
    call(side, "create", "left", "-o", path("left"))
    call(side, "enable-event", "counted", "-s", "left", "--exe", program, "--function", "counted")
    with open("/run/side/sided.pid", encoding="utf-8") as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat", encoding="utf-8").read().split(")")[1][:3], "the daemon ends")
    expect(os.path.exists("/run/side/wanted"), "the list of a killed daemon")
    expect_equal(call(program, "5", status=3).stdout, "5 0\n", "without the daemon")
    call(side, "destroy", "left")
    expect(not os.path.exists("/run/side/wanted"), "the next daemon")
    # A list that cannot be read, or is no list, does no harm.
    for content in (b"\0" * 20000, b":" * 100, b"\n\n\n:", b"99999999999999999999:*"):
        with open("/run/side/wanted", "wb") as file:
            file.write(content)
        expect_equal(call(program, "5", status=3).stdout, "5 0\n", f"{content[:10]}")
    os.unlink("/run/side/wanted")
    os.mkfifo("/run/side/wanted")
    expect_equal(call(program, "5", status=3).stdout, "5 0\n", "a pipe")
    os.unlink("/run/side/wanted")


def test_container(program):
    """Another root directory: its own list of libraries counts."""
    root = path("container")
    for name in ("bin", "etc", "lib", "lib64", "proc"):
        os.makedirs(os.path.join(root, name))
    shutil.copy(program, os.path.join(root, "bin/program"))
    for text in re.findall(r"(/\S+)", call("ldd", program).stdout):
        if "libside" not in text:
            os.makedirs(os.path.join(root, os.path.dirname(text)[1:]), exist_ok=True)
            shutil.copy(text, os.path.join(root, text[1:]))
    done = call("chroot", root, "/bin/program", "5", status=3)
    expect_equal((done.stdout, done.stderr), ("5 0\n", ""), "another root directory")


def test_package():
    """The package turns it off before its files are removed, and only then."""
    script = os.path.join(sources, "packaging/debian/side.prerm")
    more = {**environment, "PATH": os.path.dirname(side) + ":/usr/bin:/bin"}
    expect(os.path.exists(PRELOAD), "on")
    for word, exists in (("upgrade", True), ("remove", False), ("remove", False)):
        done = subprocess.run(["sh", script, word], env=more, capture_output=True, text=True, check=False, timeout=60)
        expect_equal((done.returncode, os.path.exists(PRELOAD)), (0, exists), f"{word}: {done.stderr}")
    call(side, "system", "on")


def test_status():
    """What `status` and the doctor report, on, off and broken."""
    found = status_of()
    expect_equal((found["on"], found["line"], found["exists"], found["loads"]), (True, line, True, True), "on")
    expect_equal(json.loads(call(side, "doctor", "--json", "preload").stdout)["state"], "ok", "doctor")
    shim = os.path.join(libraries, "side-preload/libside-system.so")
    os.rename(shim, shim + "-")
    found = status_of(status=1)
    expect_equal((found["on"], found["exists"], found["loads"]), (True, False, False), "the library is missing")
    expect("No such file" in found["problem"], found["problem"])
    done = call(side, "doctor", "--json", "preload", status=1)
    expect_equal(json.loads(done.stdout.splitlines()[0])["state"], "missing", "doctor")
    call(side, "system", "off")
    os.rename(shim + "-", shim)
    found = status_of()
    expect_equal((found["on"], "line" in found), (False, False), "off")
    text = call(side, "system", "status").stdout
    expect(text.startswith("system   off\n"), text)
    expect("off" in json.loads(call(side, "doctor", "--json", "preload").stdout)["found"], "doctor")


KINDS = {"static": ("gcc", "-static"), "musl": ("musl-gcc",), "i386": ("gcc", "-m32")}

skipped = not isolate()
if not skipped:
    side, libraries = install()
    line = os.path.join(libraries, "side-preload/$LIB/side-preload/libside-system.so")
    compiled = compile_program("of-glibc", "gcc")
    foreign = {kind: other for kind, command in KINDS.items() if (other := compile_program("of-" + kind, *command))}
    print("programs of other kinds:", *foreign)
    os.mkdir(path("small"))
    try:
        test_shim()
        test_bytes()
        test_refused()
        test_large()
        test_full()
        test_at_once()
        test_killed()
        test_inert(compiled)
        test_counts(compiled, foreign)
        test_secure(compiled)
        test_sandbox(compiled)
        test_two_sessions(compiled)
        test_later()
        test_killed_daemon(compiled)
        test_container(compiled)
        test_package()
        test_status()
    finally:
        call(side, "daemon", "--stop", status=None)
finish(skipped=skipped)

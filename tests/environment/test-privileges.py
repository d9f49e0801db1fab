# SPDX-License-Identifier: MIT
"""A program with more privileges than its caller ignores every variable of the environment.

usage: test-privileges.py SOURCE-DIRECTORY COMPILER... -- LIBRARY...

Root makes a set-user-ID program and one with a file capability. Another user runs them under strace, with each variable that the
manual page or the sources name and with no variable. The system calls, their paths and the output must be the same. The same program
without privileges is the control: there the variables have effects.
"""
import glob
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import checks  # noqa: E402

split = sys.argv.index("--")
SOURCE, COMPILER, LIBRARIES = sys.argv[1], sys.argv[2:split], sys.argv[split + 1:]
sys.argv[1:] = []
MODULES = ("base/environment", "libside", "tracers", "protocol", "ring", "abi", "filter")
# The functions that the program calls; none of the other exported functions reads the environment
# or loads a library.
CALLED = {"side_kernel_start", "side_kernel_begin", "side_agent_start", "side_agent_note_allocator", "side_agent_note_copy",
          "side_agent_request", "side_wrap_attach_libc", "side_wrap_attach_pthread"}
OTHERS = {"side_agent_lost", "side_agent_on_change", "side_agent_replay",  # count or write an event
          "side_agent_own_begin", "side_agent_own_end", "side_agent_own_thread", "side_wrap_own_libc", "side_wrap_own_pthread",
          "side_wrap_pass_pthread",  # mark the calling thread
          "side_probe_kept", "side_probe_pads", "side_probe_traps",  # numbers for tests and debuggers
          "side_agent_wrappers", "side_kernel_table_0"}  # data
PATHS = {"SIDE_AGENT_SOCKET": "agents.sock", "SIDE_BOOT": "boot.conf", "SIDE_USER_EVENTS": "boot.conf"}
SPECIAL = {"SIDE_CONTROL": ["sync", "thread", "signal:USR1", "off"], "SIDE_RCU": ["fence"], "SIDE_USER_EVENTS": ["all"],
           "SIDE_USER_EVENTS_ENCODING": ["native", "bogus"], "SIDE_TIMEOUT_FACTOR": ["3600"], "SIDE_PATIENCE": ["3600"]}
# In the program without privileges these change system calls or output (most others have an effect
# only together with another variable).
CONTROL = {"SIDE_LIB_DIR", "SIDE_RUNTIME", "SIDE_BOOT", "SIDE_AGENT_SOCKET", "SIDE_DEBUG", "SIDE_VALIDATE", "SIDE_RCU", "SIDE_USER_EVENTS"}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


# The dynamic linker and the C library read these themselves, with and without side.
SYSTEM = {"LD_PRELOAD", "PATH"}


def variables():
    """Returns all variables that the manual page lists for programs, and all that the sources name, without those of the system."""
    with open(os.path.join(SOURCE, "docs/man/side-environment.7"), encoding="utf-8") as page:
        section = re.search(r"^\.Ss Traced programs$(.*?)^\.Ss ", page.read(), re.M | re.S).group(1)
    names = set(re.findall(r"^\.It Ev (\w+)", section, re.M)) | {"XDG_RUNTIME_DIR"}
    for module in MODULES:
        for path in glob.glob(os.path.join(SOURCE, "src", module, "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            names |= set(re.findall(r'"(SIDE_[A-Z_]+)"', text))
            names |= set(re.findall(r'environment_(?:get|is_on)\("(\w+)"\)', text))
    return sorted(names - SYSTEM)


def place():
    """Makes a directory that every user can reach and whose programs may change the user."""
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/run"):
        if not os.path.isdir(parent) or os.statvfs(parent).f_flag & os.ST_NOSUID or not os.stat(parent).st_mode & 1:
            continue
        return parent
    return skip("no directory for programs without nosuid")


if os.geteuid():
    skip("not root: it makes a set-user-ID program and runs it as another user")
for needed in ("strace", "setcap"):
    if not shutil.which(needed):
        skip(f"no {needed}")
try:
    USER = pwd.getpwnam("nobody")
except KeyError:
    skip("no user nobody")

folder = tempfile.TemporaryDirectory(prefix="side-privileges-", dir=place())
FOLDER = folder.name
os.chmod(FOLDER, 0o755)
HOSTILE = os.path.join(FOLDER, "hostile")
MARKS = os.path.join(FOLDER, "marks")


def path(*parts):
    return os.path.join(FOLDER, *parts)


def compile_to(output, *arguments):
    subprocess.run([*COMPILER, "-o", output, *arguments], check=True)


def listen(at):
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(at)
    listening.listen(64)
    os.chmod(at, 0o666)
    return listening


def prepare():
    """Makes the libraries, the program in three forms, and a directory whose files must not be used."""
    names = []
    os.mkdir(path("lib"))
    for library in LIBRARIES:
        names.append(os.path.basename(library))
        shutil.copy(library, path("lib", names[-1]))
    os.symlink("libside.so.0", path("lib/libside.so"))
    compile_to(path("plain"), f"-I{SOURCE}/include", f"-I{SOURCE}/src", f'-DLIBRARIES="{path("lib")}"',
               os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.c"), f"-L{path('lib')}", "-lside", f"-Wl,-rpath,{path('lib')}", "-Wl,--disable-new-dtags", "-ldl")
    for name in ("set-user-id", "capable"):
        shutil.copy(path("plain"), path(name))
    os.chmod(path("set-user-id"), 0o4755)
    has_capabilities = subprocess.run(["setcap", "cap_net_bind_service+ep", path("capable")], check=False).returncode == 0
    os.mkdir(HOSTILE)
    os.mkdir(MARKS)
    os.chmod(MARKS, 0o777)
    with open(path("mark.c"), "w", encoding="ascii") as file:
        file.write('#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) static void mark(void)'
                   f'{{ int fd = open("{MARKS}/loaded", O_CREAT | O_WRONLY, 0666); if (fd >= 0) close(fd); }}\n')
    compile_to(path("mark.so"), "-shared", "-fPIC", path("mark.c"))
    for name in names:
        shutil.copy(path("mark.so"), os.path.join(HOSTILE, name))
    os.mkdir(os.path.join(HOSTILE, "side"))
    with open(os.path.join(HOSTILE, "boot.conf"), "w", encoding="ascii") as file:
        file.write(f"place {MARKS}\nsession hostile\nevent *\n")
    sockets = [listen(os.path.join(HOSTILE, name)) for name in ("agents.sock", "side/agents.sock")]
    return has_capabilities, sockets


def run(program, **environment):
    """Returns (the system calls with the texts among their arguments, the output, whether a hostile
    library was loaded).
    """
    log = path("strace")
    # Without parts that depend on addresses, on chance and on the present mounts, and without the
    # calls by which the validator reads memory.
    done = subprocess.run(["strace", "-f", "-qq", "-s", "512", "-u", USER.pw_name, "-o", log, "-e",
                           "trace=!brk,mmap,munmap,futex,read,pread64,getrandom,getpid,process_vm_readv", path(program)], env=environment,
                          capture_output=True, text=True, errors="replace", timeout=60, check=False, cwd="/")
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    calls = []
    for line in lines:
        found = re.match(r"(?:\d+ +)?(\w+)\((.*)", line)
        # strace prints the environment with the first call.
        if found and found.group(1) != "execve":
            texts = re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(2))
            calls.append((found.group(1), *texts))
    mark = os.path.join(MARKS, "loaded")
    loaded = os.path.exists(mark)
    for name in os.listdir(MARKS):
        at = os.path.join(MARKS, name)
        shutil.rmtree(at) if os.path.isdir(at) else os.remove(at)
    return calls, (done.returncode, done.stdout + done.stderr), loaded


def values(name):
    return [os.path.join(HOSTILE, PATHS.get(name, "")), "1", *SPECIAL.get(name, [])]


CAPABLE, SOCKETS = prepare()
NAMES = variables()


def check_ignored(program, most):
    calls, printed, _ = run(program)
    checks.contains(printed[1], "end\n", f"{program} without variables")
    if "AT_SECURE 1" not in printed[1]:
        skip("no program gains privileges here (no_new_privs?)")
    checks.true(len(calls) > 50, f"system calls of {program}: {len(calls)}")
    for name in NAMES:
        for value in values(name)[:most]:
            what = f"{program} with {name}={value}"
            got, now, loaded = run(program, **{name: value})
            checks.true(not loaded, f"{what}: loaded a library of its caller's")
            checks.equal(now, printed, f"{what}: output")
            foreign = [call for call in got if any(HOSTILE in text or MARKS in text for text in call[1:])]
            checks.equal(foreign, [], f"{what}: system calls with the given path")
            different = next((pair for pair in zip(got, calls) if pair[0] != pair[1]), None)
            checks.equal((len(got), different), (len(calls), None), f"{what}: system calls")


def test_variables():
    for name in CONTROL | {"SIDE_AGENT_KERNEL", "SIDE_AGENT_SESSION", "SIDE_CONTROL", "SIDE_RING_PORTABLE", "XDG_RUNTIME_DIR"}:
        checks.true(name in NAMES, f"{name} is not among {NAMES}")


def test_exported_functions():
    exported = set()
    for library in LIBRARIES:
        found = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        if os.path.basename(library) != "libside.so.0":
            exported |= {line.split()[-1].split("@")[0] for line in found.splitlines()}
    exported = {name for name in exported if name.startswith("side_")}
    # In libside only loader.c loads libraries; its constructor runs in each program.
    with open(os.path.join(SOURCE, "src/libside/loader.c"), encoding="utf-8") as file:
        exported |= set(re.findall(r"^EXPORT [^(]*?(\w+)\(", file.read(), re.M))
    checks.equal(sorted(exported - OTHERS), sorted(CALLED), "exported functions: call a new one in program.c")
    _, printed, _ = run("plain")
    for name in CALLED:
        checks.contains(printed[1], name + " ", "functions that the program calls")
    checks.true("is missing" not in printed[1], printed[1])


def test_control():
    """Without privileges the variables have their effects: the comparison detects them."""
    calls, printed, _ = run("plain")
    checks.contains(printed[1], "AT_SECURE 0")
    seen = {name for name in NAMES if any(run("plain", **{name: value})[:2] != (calls, printed) for value in values(name))}
    checks.equal(sorted(CONTROL - seen), [], "variables without an effect")
    checks.true(run("plain", SIDE_LIB_DIR=HOSTILE)[2], "SIDE_LIB_DIR loads libraries")


def test_set_user_id():
    check_ignored("set-user-id", None)


def test_file_capabilities():
    if CAPABLE:
        check_ignored("capable", 1)
    else:
        print("file capabilities: not tried, the file system keeps none")


checks.run_tests(globals())

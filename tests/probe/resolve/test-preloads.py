#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side trace -c` with functions of libraries that the user preloads: each call is in the trace, as babeltrace2 reads it.
"""
import atexit
import shutil

from harness import *

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
PROGRAM = """
extern int serve(int) __attribute__((weak));
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 40; i++)
		sum += serve ? serve(i) : 0;
	return serve ? sum != 820 : 3;
}
"""
LIBRARY = """
int prepare(int);
__attribute__((noinline)) int serve(int i) { return prepare(i) + 1; }
"""
NEEDED = "int prepare(int i) { __asm__ volatile(\"\"); return i; }"


def build(name, source, *options):
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-x", "none", "-o", f"{FOLDER}/{name}", *options], input=source.encode(), check=True)
    return f"{FOLDER}/{name}"


BELOW = build("libbelow.so", NEEDED, "-shared", "-fPIC")
SERVES = build("libserves.so.2", LIBRARY, "-shared", "-fPIC", BELOW, "-Wl,-rpath,$ORIGIN")
RUNS = build("runs", PROGRAM, "-rdynamic")
STATIC = build("static", "int main(void) { return 0; }", "-static")


def trace(function, command=RUNS, **env):
    output = tempfile.mkdtemp(dir=FOLDER)
    return side("trace", "-o", output, "--force", "-c", command, "--function", function, env=dict(ENV, **env), cwd=FOLDER), output


def calls(output):
    done = subprocess.run(["babeltrace2", output], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)
    return done.stdout.count("probe:")


def expect(function, count, command=RUNS, **env):
    result, output = trace(function, command, **env)
    equal((function, env, result.status, calls(output) if not result.status else -1), (function, env, 0, count), result.err)


def test_forms():
    """By path and by name, alone and among others, with the separators that the linker accepts."""
    expect("libserves:serve", 40, LD_PRELOAD=SERVES)
    expect("libserves:serve", 40, LD_PRELOAD="libserves.so.2", LD_LIBRARY_PATH=FOLDER)
    expect("serve", 40, LD_PRELOAD=f"{BELOW}:{SERVES}")
    expect("libserves*:serve", 40, LD_PRELOAD=f" {BELOW} {SERVES} ")
    expect("libserves:serve", 40, LD_PRELOAD=f"/nowhere/libnone.so:{SERVES}")


def test_needed():
    """A library that only the preloaded one needs."""
    expect("libbelow:prepare", 40, LD_PRELOAD=SERVES)


def test_starter():
    expect("libserves:serve", 40, f"env A=b {RUNS}", LD_PRELOAD=SERVES)


def test_absent():
    """If the library is missing, no program is started, as before; nor for a program that loads no libraries. One beside the program may be loaded later."""
    for name, command, env in (("libmissing", RUNS, {}), ("libserves", STATIC, {"LD_PRELOAD": SERVES})):
        result, _ = trace(f"{name}:serve", command, **env)
        true(result.status not in (0, 3), str(result))
    result, _ = trace("libserves:serve", RUNS)
    equal(result.status, 3, result.err)
    contains(result.err, f"pending: {SERVES} is not loaded yet")


def test_file():
    """/etc/ld.so.preload, in a mount namespace."""
    listed = FOLDER + "/listed"
    with open(listed, "w", encoding="utf-8") as file:
        file.write(f"# served to all\n{BELOW} # and\n{SERVES}\n")
    there = os.path.exists("/etc/ld.so.preload")
    inside = ["unshare", "--mount", "--map-root-user"] if os.getuid() else ["unshare", "--mount"]
    # If the file does not exist, an overlay of /etc has it.
    lay = (f"mount --bind {listed} /etc/ld.so.preload" if there else
           f"mkdir -p {FOLDER}/etc && cp -r /etc/ld.so.conf /etc/ld.so.conf.d /etc/ld.so.cache /etc/passwd {FOLDER}/etc && "
           f"cp {listed} {FOLDER}/etc/ld.so.preload && mount --bind {FOLDER}/etc /etc")
    if subprocess.run([*inside, "sh", "-c", lay], capture_output=True, check=False).returncode:
        skip("no mount namespace")
    output = tempfile.mkdtemp(dir=FOLDER)
    done = subprocess.run([*inside, "sh", "-ec", f'{lay}; exec "$@"', "sh", SIDE, "trace", "-o", output, "--force", "-c", RUNS,
                           "--function", "libserves:serve"], env=ENV, capture_output=True, text=True, check=False, cwd=FOLDER)
    equal((done.returncode, calls(output)), (0, 40), done.stderr)


def test_allocator():
    """jemalloc in perl: its own malloc() is watched."""
    if subprocess.run("ldconfig -p | grep -q libjemalloc.so.2", shell=True, check=False).returncode or not shutil.which("perl"):
        skip("no libjemalloc.so.2, or no perl")
    result, output = trace("libjemalloc:malloc", "/usr/bin/perl -e 1", LD_PRELOAD="libjemalloc.so.2")
    equal(result.status, 0, result.err)
    true(calls(output) > 100, f"{calls(output)} calls of malloc()")


run_tests(globals())

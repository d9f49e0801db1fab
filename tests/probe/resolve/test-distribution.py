#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side trace -c` on stripped programs of the distribution: main once, its return if it returns, and a PLT entry. A
preloaded library counts main independently; output and status are those of the program without side.
"""
import atexit
import shlex
import shutil
import sys

from harness import *

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", SIDE_TIMEOUT_FACTOR="30", LC_ALL="C", TZ="UTC", HOME=FOLDER, TERM="dumb",
                  GIT_CONFIG_NOSYSTEM="1", PERL_HASH_SEED="0")
NEVER = "side: cannot record returns from main: it never returns\n"
# Names of a program, its arguments, its status, and an imported function that it calls.
PROGRAMS = {
    "ls": (("ls",), "-l text absent", 2, "setlocale"),
    "git": (("git",), "hash-object text", 0, "setlocale"),
    "vim": (("vim",), "-es -u NONE -i NONE -c %print -c 'cquit 3' text", 3, "setlocale"),
    "curl": (("curl",), f"-s file://{FOLDER}/text file://{FOLDER}/absent", 37, "setlocale"),
    "ruby": (("ruby",), "-e 'puts 6 * 7; exit 7'", 7, "ruby_init"),
    "perl": (("perl",), "-e 'print 6 * 7; exit 4'", 4, "setlocale"),
    "php": (("php",), "-n -r 'echo 6 * 7; exit(5);'", 5, "getenv"),
    "lua": (("lua", "lua5.4", "lua5.3", "luajit"), "-e 'print(6 * 7) error({})'", 1, "getenv"),
    "tar": (("tar",), "-tvf archive", 0, "setlocale"),
    "postgres": (("postgres",), "--describe-config", 0, "setlocale"),
    "java": (("java",), "-Xshare:auto -version", 0, "JLI_Launch"),
    "emacs": (("emacs", "emacs-nox"), "-Q --batch --eval '(progn (princ (* 6 7)) (kill-emacs 6))'", 6, "setlocale"),
}


def prepare():
    """Files of the commands, and the library that counts main."""
    with open(FOLDER + "/text", "w", encoding="utf-8") as file:
        file.write("one\ntwo\n")
    subprocess.run(["tar", "-cf", "archive", "text"], cwd=FOLDER, check=True)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", os.environ["SOURCES"] + "/mained.c", "-o", FOLDER + "/mained.so"], check=True)


def find(names):
    return next((name for name in names if shutil.which(name)), None)


def run_plain(command, **more):
    done = subprocess.run(shlex.split(command), cwd=FOLDER, env={**ENV, **more}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def count_main(name, command):
    """How often main starts and returns, as the preloaded library sees it."""
    where = f"{FOLDER}/{name}.mained"
    run_plain(command, LD_PRELOAD=FOLDER + "/mained.so", MAINED=where)
    with open(where, encoding="utf-8") as file:
        lines = file.read().split()
    return lines.count("entry"), lines.count("exit")


def trace(command, imported, *options):
    """The options are of main only."""
    where = tempfile.mkdtemp(dir=FOLDER) + "/trace"
    done = side("trace", "-q", "-o", where, "-c", command, "--function", "main", *options, "--function", "plt:" + imported, env=ENV, cwd=FOLDER)
    return done, where


def count_events(where):
    text = subprocess.run(["babeltrace2", where], capture_output=True, text=True, check=True).stdout
    return lambda event: len(re.findall(rf" probe:{event}:", text))


def check(name, program, arguments, status, imported):
    command = f"{program} {arguments}"
    plain = run_plain(command)
    equal((name, plain[0]), (name, status), plain)
    wanted = count_main(name, command)
    equal((name, wanted[0]), (name, 1))
    done, where = trace(command, imported, "--exit")
    if NEVER in done.err:
        # Its main has no return instruction: side refuses before it starts the program.
        equal((name, done.status, wanted), (name, 1, (1, 0)), done)
        done, where = trace(command, imported)
    equal((name, done.status, done.out, done.err), (name, *plain))
    count = count_events(where)
    equal((name, count("main"), count("main_return")), (name, *wanted))
    true(count(imported) > 0, f"{name}: no call of {imported}")


def test_each():
    prepare()
    absent = []
    for name, (names, arguments, status, imported) in PROGRAMS.items():
        program = find(names)
        if program:
            check(name, program, arguments, status, imported)
        else:
            absent.append(name)
    print(f"not installed: {', '.join(absent) or 'none'}", file=sys.stderr)
    true(len(absent) < len(PROGRAMS), "none of the programs is installed")


if not shutil.which("gcc") or not shutil.which("babeltrace2"):
    skip("gcc or babeltrace2 is missing")
run_tests(globals())

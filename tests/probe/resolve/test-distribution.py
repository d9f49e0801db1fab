#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side trace -c` on stripped programs of the distribution: main once, its return if it returns, and a PLT entry. A
preloaded library counts main independently; output and status are those of the program without side. gdb counts the calls of
one exported function inside php and emacs.
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
    "emacs": (("emacs", "emacs-nox"), "-Q --batch --eval '(progn (princ (* 6 7)) (kill-emacs 6))'", 6, "getpwuid"),
}

INNER_ENV = {**ENV, "PWD": FOLDER, "SHELL": "/bin/sh"}
# Functions that the stripped program exports, and commands that call them.
INNER = {
    "php": (("php",), "-n -r 'for ($i = 0; $i < 9; $i++) define(\"NAME$i\", $i); echo count(get_defined_constants());'", "zend_register_constant"),
    "emacs": (("emacs-nox", "emacs"), "-Q --batch --eval '(with-temp-buffer (insert \"one two one\") (goto-char 1) (while (re-search-forward \"on[e]\" nil t)))'",
              "re_search_2"),
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


def count_with_gdb(command, function):
    """The hits of a breakpoint that never stops."""
    # The environment is that of the traced program, because emacs searches in it. gdb adds two variables, and its shell one.
    steps = ("unset environment LINES", "unset environment COLUMNS", "set debuginfod enabled off", f"break *&{function}", "ignore 1 1000000", "run",
             "info breakpoints")
    done = subprocess.run(["gdb", "-q", "-nx", "-batch", *(word for step in steps for word in ("-ex", step)), "--args", *shlex.split(command)],
                          cwd=FOLDER, env=INNER_ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
    found = re.search(r"breakpoint already hit (\d+) time", done.stdout)
    true(found, f"{function}: {done.stdout}{done.stderr}")
    return int(found.group(1))


def test_inner():
    for name, (names, arguments, function) in INNER.items():
        program = find(names)
        if not program or not shutil.which("gdb"):
            print(f"not tried: {name}: it or gdb is missing", file=sys.stderr)
            continue
        command = f"{os.path.realpath(shutil.which(program))} {arguments}"
        plain, where = run_plain(command, **INNER_ENV), tempfile.mkdtemp(dir=FOLDER) + "/trace"
        done = side("trace", "-q", "-o", where, "--function", function, "-c", command, env=INNER_ENV, cwd=FOLDER)
        equal((name, done.status, done.out, done.err), (name, *plain))
        count, wanted = count_events(where)(function), count_with_gdb(command, function)
        true(wanted > 1, f"{name}: {wanted} calls")
        equal((name, count), (name, wanted))


if not shutil.which("gcc") or not shutil.which("babeltrace2"):
    skip("gcc or babeltrace2 is missing")
run_tests(globals())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs that read or unwind their own stack behave the same when the returns of their functions are watched.

Each is run with and without probes. What it prints and its status must be the same.
"""
import atexit
import collections
import glob
import os
import re
import shutil
import subprocess
import tempfile

from harness import *

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LD_LIBRARY_PATH=FOLDER, SIDE_TIMEOUT_FACTOR="30")
STATIC = ("-static-libgcc", "-static-libstdc++")


def compiled(compiler, source, name, *options):
    path = f"{FOLDER}/{name}"
    if not os.path.exists(path):
        subprocess.run([compiler, "-w", *[option for option in options if not option.startswith(("-l", "-Wl", "/"))],
                        f"{HERE}/{source}", "-o", path,
                        *[option for option in options if option.startswith(("-l", "-Wl", "/"))]], check=True)
    return path


def traced(command, *options):
    """The same with probes: the result, and {function: (calls, returns)}."""
    trace = FOLDER + "/trace"
    shutil.rmtree(trace, ignore_errors=True)
    done = side("trace", "-o", trace, "-c", " ".join(command), *options, env=ENV, cwd=FOLDER)
    calls, returns = collections.Counter(), collections.Counter()
    if os.path.exists(trace):
        text = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True).stdout
        for name, is_return, function in re.findall(r' probe:(\w+?)(_return)?: .*?(?:function = "(\w+)"|$)', text, re.M):
            (returns if is_return else calls)[function or name] += 1
    return done, {name: (calls[name], returns[name]) for name in calls}


def same(command, *options):
    """The counts, if both runs behave the same."""
    alone = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, env=ENV, timeout=60)
    done, counts = traced(command, *options)
    equal((done.status, done.out), (alone.returncode, alone.stdout), f"{command} {options}\n{done.err}")
    true(alone.stdout and alone.returncode >= 0, alone)
    return done, counts


def unwinders():
    """The unwinders of programs: (name, compiler, options)."""
    yield "shared", "g++", ()
    yield "static", "g++", STATIC
    if shutil.which("clang++"):
        yield "clang", "clang++", ()
        yield "clang-static", "clang++", STATIC
    for library in sorted(glob.glob("/usr/lib/llvm-*/lib/libunwind.so.1"))[:1]:
        yield "llvm", "g++", ("-nodefaultlibs", "-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic", library,
                              "-Wl,-rpath," + os.path.dirname(library), "-lm", "-lc", "-lgcc")


def test_exceptions():
    for name, compiler, options in unwinders():
        program = compiled(compiler, "unwinds.cpp", "unwinds-" + name, "-O2", *options)
        # 12 calls: 4 return, 4 throw an error, and two of the others are caught directly.
        _, counts = same([program, "exceptions"], "--exit", "--function", "thrower", "--function", "middle", "--function", "outer")
        equal({function: counts[function] for function in ("thrower", "middle", "outer")},
              {"thrower": (12, 4), "middle": (12, 4), "outer": (12, 6)}, name)
        same([program, "exceptions"], "--function", "*", "--exit")


def test_tail_calls():
    for name, compiler, options in unwinders():
        program = compiled(compiler, "unwinds.cpp", "unwinds-" + name, "-O2", *options)
        # A third of thrower's 30 calls returns, whatever its caller.
        _, counts = same([program, "tails"], "--function", "t*", "--exit")
        equal(counts["thrower"][0], 30, name)
        tails = [function for function in counts if function.startswith("tail_")]
        equal(len(tails), 6, counts)

        same([program, "tails"], "--function", "tail_t*", "--exit")
        same([program, "tails"], "--function", "*", "--exit")


def test_backtrace():
    for name, compiler, options in unwinders():
        program = compiled(compiler, "unwinds.cpp", "unwinds-" + name, "-O2", *options)
        done, counts = same([program, "backtrace"], "--function", "level_*", "--exit")
        equal(done.out, "level_one\nlevel_two\nlevel_three\nmain\n", name)
        equal(counts["level_two"][1], 1, name)
    # An unwinder that the C library loads at its first use, after probes were set.
    program = compiled("gcc", "return-readers.c", "readers-backtrace", "-O1", "-DBACKTRACE", "-rdynamic", "-ldl")
    done, counts = same([program, "backtrace"], "--exit", "--function", "level_*", "--function", "main")
    equal(done.out, "level_one\nlevel_two\nlevel_three\nmain\n" * 2)
    equal(counts["level_two"], (2, 2), counts)


CHILDREN = 400 if LONG else 15


def forks(name, compiler, options):
    return compiled(compiler, "forks.cpp", "forks-" + name, "-O2", "-pthread", *options)


def test_forks():
    """Children that are created while other threads throw can throw. The program itself ends with status 9 if a child hangs."""
    methods = {"fork": ("--function", "main"), "system": ("--function", "*"), "thread": ("--function", "*", "--exit"),
            "vfork": ("--function", "main"), "spawn": ("--function", "catcher", "--exit")}
    # All in the long form. LLVM's unwinder takes a lock of the loader: even without probes, its forked children hang.
    some = {"shared": methods, "static": ("fork",), "clang": ("thread",), "clang-static": ("system",), "llvm": ("vfork", "spawn")}
    for name, compiler, options in unwinders():
        program = forks(name, compiler, options)
        for how in methods if LONG and name != "llvm" else some[name]:
            done, counts = traced([program, how, str(CHILDREN)], *methods[how])
            equal((done.status, done.out), (0, f"begins\n{CHILDREN}\n"), f"{name} {how}\n{done.err}")
            true(counts, f"{name} {how}: no event")


def test_forks_of_attached():
    """The same in a running program, while it has probes."""
    program = forks("shared", "g++", ())
    for how in ("fork", "system"):
        with subprocess.Popen([program, how, str(CHILDREN), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=ENV) as running:
            equal(running.stdout.readline(), "begins\n")
            attached = subprocess.Popen([SIDE, "trace", "--print", "-p", str(running.pid), "--function", "idle", "--function", "child", "--exit"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
            contains(attached.stdout.readline(), "idle")
            out, _ = running.communicate("go\n", timeout=200)
            _, err = attached.communicate(timeout=60)
            equal((running.returncode, out), (0, f"{CHILDREN}\n"), f"{how}: {err}")


def test_running():
    """In a running program: probes are set and removed while exceptions leave tail calls."""
    for name, compiler, options in unwinders():
        program = compiled(compiler, "unwinds.cpp", "unwinds-" + name, "-O2", *options)
        with subprocess.Popen([program, "loop"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV) as running:
            equal(running.stdout.readline(), "begins\n")
            trace = FOLDER + "/running"
            for _ in range(2):
                shutil.rmtree(trace, ignore_errors=True)
                done = side("trace", "-q", "-p", str(running.pid), "-o", trace, "--duration", "300ms", "--function", "t*", "--exit", env=ENV)
                equal(done.status, 0, done)
                text = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True).stdout
                contains(text, "_return: ", name)
            out, _ = running.communicate()
        equal((running.returncode, out), (0, "0 wrong\n"), name)


def test_static():
    """Programs into which no agent can be loaded are refused before they start."""
    for option in ("-static", "-static-pie"):
        program = compiled("g++", "unwinds.cpp", "unwinds-whole" + option, "-O1", option)
        done, _ = traced([program, "exceptions"], "--function", "middle", "--exit")
        equal((done.status, done.out), (1, ""), done)
        contains(done.err, "statically linked")


def test_changes():
    """Functions that change their return address by the frame pointer, by other pointers, and in functions that they call or jump to."""
    own, called = "it reads", "a function that it calls"
    reasons = {"by_frame": own, "by_lea": own + " its own", "by_copy": own + " its own", "by_sum": own + " its own", "by_pointer": own + " its own",
               "in_label": own, "in_called": called, "in_tail": called, "in_chain": called}
    for options in (("-O2",), ("-O2", "-fno-pie", "-no-pie")):
        program = compiled("gcc", "changes.c", f"changes{len(options)}", *options, "-Wl,--no-as-needed", HERE + "/changes.S")
        _, counts = same([program], "--exit", "--function", "by_*", "--function", "in_*", "--function", "kept_*")
        for name in reasons:
            equal(counts[name], (3, 0), name)
        kept = [name for name in counts if name.startswith("kept_")]
        equal({name: counts[name] for name in kept}, {name: (3, 3) for name in kept})
        equal(len(kept), 6, kept)
        same([program], "--exit", "--function", "*")
        for name, reason in reasons.items():
            listed = json_lines(side("probe", "list", "--json", program, name).out)
            contains(next(site for site in listed if site.get("function") == name)["no_exit"], reason, name)


def test_late():
    """Plug-ins that bring the unwinder: that of the system, their own, and both at once."""
    plugins = [compiled(compiler, "unwinds.cpp", f"plugin-{name}.so", "-O2", "-shared", "-fPIC", "-DPLUGIN", *options)
               for name, compiler, options in unwinders() if name != "llvm"]
    program = compiled("gcc", "late.c", "late", "-O2", "-ldl")
    for some in [[plugin] for plugin in plugins] + [plugins]:
        _, counts = same([program, *some], "--exit", "--function", "callback", "--function", "tail", "--function", "outer")
        # 9 times each; 3 of these calls return.
        equal((counts["callback"], counts["tail"], counts["outer"]),
              ((18 * len(some), 6 * len(some)), (9 * len(some), 3 * len(some)), (2 * len(some), 2 * len(some))), some)
        same([program, *some], "--function", "*", "--exit")


def without_data(program):
    """Programs without unwind data, as Free Pascal compiles them: the instructions must show where the return address is."""
    bare = program + "-bare"
    subprocess.run(["objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", program, bare], check=True)
    return bare


def test_own_setjmp():
    for level in ("-O0", "-O1", "-O2"):
        program = compiled("gcc", "return-readers.c", "readers" + level, level, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
        # The C library's startup code has unwind data, and the code that is compiled here has none: it counts as unknown.
        done, counts = same([program, "setjmp"], "--function", "*", "--exit")
        equal(counts["guard_plain"], (20, 0), done)
        done, counts = same([without_data(program), "setjmp"], "--function", "*", "--exit")
        # A caller of such functions is seen returning, once for each call.
        equal({name: counts["guard_" + name] for name in ("plain", "pop", "register", "frame")}, dict.fromkeys(("plain", "pop", "register", "frame"), (20, 20)), done)
        equal({name: counts[name][1] for name in counts if name.startswith("my_setjmp")},
              dict.fromkeys(("my_setjmp", "my_setjmp_by_pop", "my_setjmp_by_register", "my_setjmp_behind_frame"), 0))
        equal(counts["thrower"], (80, 48), done)


PASCAL = """
program raises;
{$mode objfpc}
uses cmem, sysutils;
function inner(x: integer): integer;
begin
  if x mod 3 = 0 then raise Exception.Create('three');
  inner := x;
end;
function middle(x: integer): integer;
var s: string;
begin
  s := inttostr(x);
  try
    middle := inner(x) + length(s);
  finally
    s := '';
  end;
end;
var i, t: integer;
begin
  t := 0;
  for i := 1 to 20 do
    try
      t := t + middle(i);
    except
      on e: Exception do t := t + 100;
    end;
  writeln(t);
end.
"""


def test_free_pascal():
    """Files of Free Pascal have no unwind data, and its exceptions use its own setjmp()."""
    if not shutil.which("fpc"):
        print("fpc is not installed: Free Pascal itself is not tested")
        return
    with open(FOLDER + "/raises.pas", "w") as out:
        out.write(PASCAL)
    for level in ("-O1", "-O3"):
        subprocess.run(["fpc", level, "-Xs-", "-gl", f"-o{FOLDER}/raises{level}", "raises.pas"], cwd=FOLDER, check=True, capture_output=True)
        _, counts = same([FOLDER + "/raises" + level], "--function", "*", "--exit", "--buffer-size", "16M")
        true(sum(returns for _, returns in counts.values()) > 100, counts)


def test_callers_of_callers():
    for level in ("-O0", "-O2"):
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler):
                continue
            program = compiled(compiler, "return-readers.c", f"readers-{compiler}{level}", level, "-fno-omit-frame-pointer")
            for each in (program, without_data(program)):
                done, counts = same([each, "callers"], "--function", "*", "--exit")
                equal(set(done.out.split()), {"program"}, done)
                equal(counts["asks_above"], (3, 0), each)
                equal(counts["asks"], (3, 3), each)
            # A request for it by name is refused before the program starts.
            done, _ = traced([program, "callers"], "--function", "asks_above", "--exit")
            equal((done.status, done.out), (1, ""), done)
            contains(done.err, "a function that it calls reads its return address")


def test_gprof():
    program = compiled("gcc", "return-readers.c", "readers-pg", "-O1", "-pg")
    done, counts = same([program, "callers"], "--function", "asks*", "--exit")
    equal((counts["asks"], counts["asks_above"]), ((3, 0), (3, 0)), done)
    contains(done.err, "gprof")


def test_tables_of_return_addresses():
    program = compiled("gcc", "return-readers.c", "readers-table", "-O1", "-rdynamic", "-DTABLE")
    done, counts = same([program, "table"], "--function", "camlModule__*", "--exit")
    equal(done.out, "1\n1\n1\n1\n")
    equal(counts["camlModule__build_2"], (4, 0))
    contains(done.err, "OCaml, whose runtime finds stack maps by return addresses")
    # All names except those that the loader needs are removed.
    stripped = program + "-stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    same([stripped, "table"], "--function", "*", "--exit")


def test_ocaml():
    if not shutil.which("ocamlopt"):
        print("ocamlopt is not installed: OCaml itself is not tested")
        return
    source = FOLDER + "/collect.ml"
    with open(source, "w") as out:
        out.write("let rec build n = if n = 0 then [] else string_of_int n :: build (n - 1)\n"
                  "let rec sum l = match l with [] -> 0 | x :: r -> String.length x + sum r\n"
                  "let () = for i = 1 to 5 do Printf.printf \"%d %d\\n%!\" i (sum (build 20000)) done\n")
    subprocess.run(["ocamlopt", "-o", FOLDER + "/collect", source], check=True, capture_output=True)
    _, counts = same([FOLDER + "/collect"], "--function", "camlCollect__*", "--exit", "--buffer-size", "64M")
    equal({returns for _, returns in counts.values()}, {0}, counts)


def test_frame_addresses():
    program = compiled("g++", "frames.cpp", "frames", "-O1")
    for options in (["--function", "watched"], ["--exit", "--function", "watched", "--function", "watched_more", "--function", "outer"],
                    ["--function", "[wo]*"]):
        done, counts = same([program], *options, "--exit")
        equal(counts["watched"], (6, 0), done)
        contains(done.err, "at returns to code that may read its return addresses")


def test_frame_addresses_of_own_unwinder():
    """No symbol shows that a program calls an unwinder that it contains. A stripped program has no symbols at all."""
    for compiler in ("g++", "clang++"):
        if not shutil.which(compiler):
            continue
        program = compiled(compiler, "frames.cpp", "frames-static-" + compiler, "-O1", *STATIC)
        done, counts = same([program], "--function", "watched", "--function", "outer", "--exit")
        equal((counts["watched"], counts["outer"]), ((6, 0), (3, 0)), done)
        contains(done.err, "at returns to code that may read its return addresses")
        same([program], "--function", "*", "--exit")
        subprocess.run(["strip", "-o", program + "-stripped", program], check=True)
        same([program + "-stripped"], "--function", "*", "--exit")
    # Other programs with such an unwinder behave the same with probes on returns.
    program = compiled("g++", "unwinds.cpp", "unwinds-static", "-O2", *STATIC)
    _, counts = same([program, "exceptions"], "--function", "middle", "--exit")
    equal(counts["middle"], (12, 4))


def test_luajit():
    if not shutil.which("luajit"):
        print("luajit is not installed and not tested")
        return
    source = FOLDER + "/errors.lua"
    with open(source, "w") as out:
        out.write("local s = 0\nfor i = 1, 2000 do\n  if not pcall(error, 'e') then s = s + 1 end\n"
                  "  if not pcall(string.rep) then s = s + 1 end\n  if not pcall(string.gsub, 'abc', '(', 'x') then s = s + 1 end\nend\nprint(s)\n")
    for level in ("-Ohotloop=1000000", "-O3"):
        same([shutil.which("luajit"), level, source], "--function", "*", "--exit", "--buffer-size", "64M")


def test_images():
    program = compiled("gcc", "image.c", "image", "-O1")
    done, counts = same([program, FOLDER + "/lisp.core"], "--exit", "--function", "callback", "--function", "collect")
    equal((done.out, counts["callback"], counts["collect"]), ("2\n2\n2\n", (3, 0), (3, 3)), done)


def test_list():
    """`side probe list` prints the same reasons, before any recording."""
    program = compiled("gcc", "return-readers.c", "readers-list", "-O2", "-fno-omit-frame-pointer")
    sites = {site["function"]: site for site in json_lines(side("probe", "list", "--json", program).out) if site["type"] == "probe_site"}
    equal({name: sites[name].get("no_exit") for name in ("asks", "asks_above", "own_caller", "callers_caller", "main")},
          {"asks": None, "asks_above": "a function that it calls reads its return address",
           "own_caller": "it reads its own return address", "callers_caller": None, "main": None})
    text = side("probe", "list", program, "asks*").out
    contains(text, "asks_above  (returns not recorded: a function that it calls reads its return address)")
    equal(text.count("returns not recorded"), 1, text)


def test_divided_mapping():
    """Calls from a large function are watched in all parts of it, also after its code has become several mappings."""
    program = compiled("gcc", "large.c", "large", "-O1", "-ldl")
    done, counts = same([program], "--function", "watched", "--exit")
    equal(counts["watched"], (5, 5), done)


def test_global():
    """The kernel's return probes crash programs whose exceptions leave the function: they are set only if the user confirms it."""
    program = compiled("g++", "unwinds.cpp", "unwinds-global", "-O1")
    stripped = program + "-static-stripped"
    subprocess.run(["g++", "-w", "-O1", "-static", "-s", HERE + "/unwinds.cpp", "-o", stripped], check=True)
    done, _ = traced([program, "exceptions"], "--global", "--function", "middle")
    if done.status == 3:
        print("global probes need privileges: they are not tested")
        return
    equal(done.status, 0, done)
    for each, function in ((program, "middle"), (program, "m*"), (stripped, "0x401200")):
        shutil.rmtree(FOLDER + "/trace", ignore_errors=True)
        done = side("trace", "--global", "-o", FOLDER + "/trace", "-c", each + " exceptions", "--function", function, "--exit",
                    env=ENV, cwd=FOLDER)
        # Before the program starts.
        equal((done.status, done.out, os.path.exists(FOLDER + "/trace")), (1, "", False), done)
        if each == program:
            contains(done.err, "handles exceptions")
            contains(done.err, "--force")
    # Overwriting a trace is another question.
    os.mkdir(FOLDER + "/there")
    with open(FOLDER + "/there/file", "w", encoding="ascii"):
        pass
    watched = ["--global", "-o", FOLDER + "/there", "-c", program + " exceptions", "--function", "main", "--exit"]
    done = side("trace", "--force", *watched, env=ENV, cwd=FOLDER)
    equal((done.status, done.out, os.listdir(FOLDER + "/there")), (1, "", ["file"]), done)
    contains(done.err, "--allow-unsafe-exit")
    done = side("trace", "--force", "--allow-unsafe-exit", *watched, env=ENV, cwd=FOLDER)
    equal((done.status, done.out.splitlines()[0]), (0, "2"), done)
    done, counts = traced([program, "exceptions"], "--global", "--allow-unsafe-exit", "--function", "main", "--exit")
    equal((done.status, done.out.splitlines()[0], counts["main"]), (0, "2", (1, 1)), done)
    # Functions that no exception leaves; then with the warning.
    done, counts = traced([program, "exceptions"], "--global", "--force", "--function", "main", "--exit")
    equal((done.status, done.out.splitlines()[0], counts["main"]), (0, "2", (1, 1)), done)
    contains(done.err, "an exception that leaves one of these functions ends the program")
    # C has no exceptions.
    program = compiled("gcc", "late.c", "late-global", "-O1", "-ldl")
    done, counts = traced([program], "--global", "--function", "main", "--exit")
    equal((done.status, counts["main"]), (0, (1, 1)), done)


run_tests(globals())

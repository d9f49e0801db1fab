#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side list` on files (by several linkers, stripped, 32-bit, object files), on running processes and
on commands. The test has the expected output, independently of the program that reads the files.
"""
import ctypes
import shutil
import signal
import struct

from harness import *

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.environ["INCLUDE"]
LIBSIDE = os.path.abspath(os.environ["LIBSIDE"])
LIBDIR = os.path.dirname(LIBSIDE)

# libside has events, which every program that loads it has, too.
OWN = ["side:statedump_begin", "side:statedump_end"]
NAMES = ["other:failed", "subject:first", "subject:second"]
TEXT_FIRST = '''subject:first (INFO)  [owner = "some \\"body\\""]
    path: string
    flags: u32  [std.integer.base = 16]
    point: struct { x: s32, y: s32 }
    color: enum u8 { red = 0, other = 1..255 }
'''
TEXT_SECOND = "subject:second (DEBUG)\n    ...\n"
TEXT_OTHER = "other:failed (ERR)\n    code: s64\n"

work = tempfile.TemporaryDirectory()
built = {}


def compiler(*args):
    run = subprocess.run(args, cwd=work.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    return run.returncode == 0, run.stdout


def build(name, *args, needed=True):
    """Builds a file once; None if the tools cannot (no 32-bit library, no such linker)."""
    if name not in built:
        done, printing = compiler(*args, "-o", name)
        if not done and needed:
            raise AssertionError(printing)
        if not done:
            print(f"not built here: {name}")
        built[name] = os.path.join(work.name, name) if done else None
    return built[name]


CLANG = next((name for name in ("clang-14", "clang") if shutil.which(name)), None)


def objects(name="subject.o", cc="gcc", *flags, needed=True):
    return build(name, cc, "-O1", "-I" + INCLUDE, *flags, "-c", HERE + "/subject.c", needed=needed)


def program(name="subject", linker="bfd", *flags, object=None, needed=True):
    object = object or objects("subject.o", "gcc", "-fPIE")
    return build(name, "gcc", "-fuse-ld=" + linker, object, *flags, LIBSIDE, "-Wl,-rpath," + LIBDIR,
                 needed=needed)


def listed(*args):
    result = side("list", "--names", *args)
    equal((result.status, result.err), (0, ""), str(args))
    return sorted(result.out.splitlines())


def test_text():
    result = side("list", program())
    equal((result.status, result.err), (0, ""))
    true(result.out in (TEXT_OTHER + "\n" + TEXT_FIRST + TEXT_SECOND,
                        TEXT_OTHER + "\n" + TEXT_SECOND + TEXT_FIRST), result.out)


def test_json():
    result = side("list", "--json", program())
    equal((result.status, result.err), (0, ""))
    events = {event["event"]: event for event in json_lines(result.out)}
    equal(sorted(events), NAMES)
    first = events["subject:first"]
    equal(first["type"], "event")
    equal(first["source"], program())
    true("enabled" not in first, "a file has no state")
    equal((first["description"]["provider"], first["description"]["event"]), ("subject", "first"))
    equal(first["description"]["loglevel"], "INFO")
    equal([field["name"] for field in first["description"]["fields"]], ["path", "flags", "point", "color"])
    equal(first["description"]["attributes"][0]["value"], 'some "body"')
    equal(events["subject:second"]["description"]["variadic"], True)


def test_linkers():
    pie = objects("subject.o", "gcc", "-fPIE")
    fixed = objects("fixed.o", "gcc", "-fno-pie")
    clang = CLANG and objects("clang.o", CLANG, "-fPIE")
    cases = [("bfd", [], pie), ("gold", [], pie), ("lld", [], pie),
             ("bfd", ["-no-pie"], fixed), ("gold", ["-no-pie"], fixed), ("lld", ["-no-pie"], fixed),
             ("bfd", ["-Wl,--gc-sections"], pie), ("lld", ["-Wl,--gc-sections"], pie),
             ("gold", ["-Wl,--gc-sections"], pie), ("lld", ["-Wl,--gc-sections"], clang),
             ("bfd", ["-Wl,-z,pack-relative-relocs"], pie),
             ("lld", ["-Wl,--pack-dyn-relocs=relr"], pie),
             ("lld", ["-Wl,--apply-dynamic-relocs"], pie),
             ("bfd", ["-Wl,-z,norelro"], pie), ("bfd", ["-Wl,--emit-relocs"], pie),
             ("bfd", ["-rdynamic"], pie), ("lld", ["-rdynamic"], pie),
             ("bfd", ["-Wl,-z,noseparate-code"], pie), ("lld", ["-Wl,-z,separate-code"], pie)]
    for number, (linker, flags, object) in enumerate(cases):
        if object is None or not shutil.which("ld." + linker):
            print(f"not built here: {linker} {flags}")
            continue
        path = program(f"case-{number}", linker, *flags, object=object)
        equal(listed(path), NAMES, f"{linker} {flags}")
        stripped = path + "-stripped"
        done, printing = compiler("strip", path, "-o", stripped)
        true(done, printing)
        result = side("list", stripped)
        equal(sorted(re.findall("^[a-z]+:[a-z]+", result.out, re.M)), NAMES, f"{linker} {flags} stripped")
        contains(result.out, TEXT_FIRST, f"{linker} {flags} stripped")


def test_object_files():
    plain = side("list", program()).out
    for name, flags in (("a.o", ["-fPIC"]), ("b.o", ["-fno-pic"]), ("c.o", ["-m32"]),
                        ("d.o", ["-fPIC", "-ffunction-sections", "-fdata-sections", "-g"])):
        path = objects(name, "gcc", *flags, needed=name != "c.o")
        if path:
            equal(listed(path), NAMES, name)
            contains(side("list", path).out, TEXT_FIRST, name)
    equal(sorted(plain), sorted(side("list", objects("a.o", "gcc", "-fPIC")).out))


def test_archives():
    objects("a.o", "gcc", "-fPIC")
    if CLANG:
        objects("an-object-with-a-long-name.o", CLANG, "-fPIC")
    members = [name for name in ("a.o", "an-object-with-a-long-name.o") if built.get(name)]
    for flags in ("cr", "crT"):
        archive = f"lib{flags}.a"
        done, printing = compiler("ar", flags, archive, *members)
        true(done, printing)
        path = os.path.join(work.name, archive)
        equal(listed(path), sorted(NAMES * len(members)), flags)
        lines = json_lines(side("list", "--json", path).out)
        equal({line["source"] for line in lines}, {f"{path}({name})" for name in members})


def test_32_bits():
    object = objects("c.o", "gcc", "-m32", needed=False)
    if not object:
        return
    for linker in ("bfd", "gold", "lld"):
        # It does not run, so symbols of libside may be missing.
        path = build("shared32-" + linker, "gcc", "-m32", "-nostdlib", "-shared", "-fuse-ld=" + linker,
                     "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,notext", object, needed=False)
        if path:
            equal(listed(path), NAMES, linker)
            contains(side("list", path).out, TEXT_FIRST, linker)


def library(name="libsubject.so", *flags):
    return build(name, "gcc", "-shared", "-fPIC", "-DSUBJECT_LIBRARY", "-I" + INCLUDE, *flags,
                 HERE + "/subject.c", LIBSIDE)


def test_libraries():
    library()
    linked = program("linked", "bfd", "-Wl,--no-as-needed", "-L" + work.name, "-lsubject",
                     "-Wl,-rpath,$ORIGIN")
    equal(listed(library()), ["library:called"])
    equal(listed(linked), NAMES)
    equal(listed("--libraries", linked), sorted(NAMES + OWN + ["library:called"]))
    equal(listed("-l", linked, library()), sorted(NAMES + OWN + ["library:called"]), "each once")
    result = side("list", "--libraries", linked)
    contains(result.out, linked + "\n", "headings")
    contains(result.out, "libsubject.so\nlibrary:called (NOTICE)\n    depth: u8\n")
    # DT_RPATH, LD_LIBRARY_PATH, and a missing library.
    rpath = program("linked-rpath", "bfd", "-Wl,--no-as-needed", "-L" + work.name, "-lsubject",
                    "-Wl,--disable-new-dtags", "-Wl,-rpath,${ORIGIN}/.")
    equal(listed("--libraries", rpath), sorted(NAMES + OWN + ["library:called"]))
    bare = program("linked-bare", "bfd", "-Wl,--no-as-needed", "-L" + work.name, "-lsubject")
    result = side("list", "--names", "--libraries", bare)
    equal((result.status, sorted(result.out.split())), (0, sorted(NAMES + OWN)))
    contains(result.err, "libsubject.so")
    result = side("list", "--names", "--libraries", bare,
                  env=environment(LD_LIBRARY_PATH="/nowhere:" + work.name))
    equal((result.status, sorted(result.out.split()), result.err),
          (0, sorted(NAMES + OWN + ["library:called"]), ""))


def test_files_without_events():
    result = side("list", "/bin/true")
    equal((result.status, result.out), (0, ""))
    contains(result.err, "no events")
    contains(result.err, "--libraries")
    result = side("list", "-q", "/bin/true")
    equal((result.status, result.out, result.err), (0, "", ""))
    result = side("list", "--json", "/bin/true")
    equal(result.out, "")
    equal(json_lines(result.err)[0]["type"], "note")


def test_section_headers_removed():
    path = os.path.join(work.name, "headless")
    data = bytearray(open(program(), "rb").read())
    data[40:48] = bytes(8)  # e_shoff
    data[58:64] = bytes(6)  # e_shentsize, e_shnum, e_shstrndx
    open(path, "wb").write(data)
    # Events are found without the table; if there is none, the message names another method.
    equal(listed(path), NAMES)
    contains(side("list", path).out, TEXT_FIRST)
    data = bytearray(open("/bin/true", "rb").read())
    data[40:48] = bytes(8)
    data[58:64] = bytes(6)
    open(path, "wb").write(data)
    result = side("list", path)
    equal((result.status, result.out), (0, ""))
    contains(result.err, "section headers")
    contains(result.err, "side list -- ")


def sections(data):
    """Returns name, position of the header, header of each section of a 64-bit little-endian file."""
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    text = headers[names][4]
    for i, header in enumerate(headers):
        name = data[text + header[0]:data.index(b"\0", text + header[0])].decode()
        yield name, start + i * size, header


def test_files_that_waste_time():
    """A small file with an endless table, and one whose table has invalid pointers only."""
    original = open(program(), "rb").read()
    path = os.path.join(work.name, "endless")
    data = bytearray(original)
    (place,) = [place for name, place, _ in sections(original) if name == "side_event_description_ptr"]
    struct.pack_into("<Q", data, place + 32, 1 << 60)
    (programs,) = struct.unpack_from("<Q", data, 32)
    for i in range(struct.unpack_from("<H", data, 56)[0]):
        if struct.unpack_from("<I", data, programs + 56 * i)[0] == 1:
            last = programs + 56 * i
    struct.pack_into("<Q", data, last + 40, 1 << 60)
    open(path, "wb").write(data)
    result = side("list", path, timeout=10)
    equal((result.status, result.out), (1, ""))
    contains(result.err, "damaged")
    # The table is moved over the code, where addresses are invalid.
    data = bytearray(original)
    (text,) = [header for name, _, header in sections(original) if name == ".text"]
    (notes,) = [header for name, _, header in sections(original) if name == ".dynstr"]
    size = notes[4] + notes[5] & ~7
    struct.pack_into("<QQQ", data, place + 16, 0, 0, size)
    open(path, "wb").write(data)
    result = side("list", path, timeout=10)
    equal(result.status, 1)
    true(len(result.err.splitlines()) <= 102, result.err[:500])


def test_patterns():
    path = program()
    equal(listed("-e", "subject:*", path), ["subject:first", "subject:second"])
    equal(listed("-e", "subject", "-e", "!*:second", path), ["subject:first"])
    equal(listed("--event=*@ERR", path), ["other:failed"])
    equal(listed(path, "-e", "*:f*"), ["other:failed", "subject:first"])
    result = side("list", "-e", "absent", path)
    equal((result.status, result.out), (0, ""))
    contains(result.err, "no event matched `-e absent`")


def test_patterns_that_match_nothing():
    program = os.environ["SUBJECT"]
    names = side("list", "--names", program).out.split()
    for pattern, hint in ((names[0][:-1] + "_", f"did you mean `-e {names[0]}`?"), ("nothing:at_all", "")):
        result = side("list", program, "-e", pattern)
        equal((result.status, result.out), (0, ""), result.err)
        lines = result.err.splitlines()
        true(lines[0].startswith(f"side: no event matched `-e {pattern}`: {os.path.basename(program)} has "), result.err)
        equal(lines[1:], ["hint: " + hint] * bool(hint), result.err)


def test_mistakes():
    def failed(*args, status=1, printing=""):
        result = side("list", *args)
        equal((result.status, result.out), (status, ""), str(args))
        true(result.err.startswith("side: cannot list the events of "), result.err)
        contains(result.err, printing)
        result = side("list", "--json", *args)
        equal(result.status, status)
        equal(json_lines(result.err)[0]["status"], status)

    failed("./does-not-exist", printing="No such file")
    failed("/", printing="it is a directory")
    failed("/dev/null", printing="it is not a file")
    failed(HERE + "/subject.c", printing="not an ELF file")
    fifo = os.path.join(work.name, "fifo")
    os.mkfifo(fifo)
    failed(fifo, printing="it is not a file")
    archive = os.path.join(work.name, "cut.a")
    done, printing = compiler("ar", "cr", archive, program())
    true(done, printing)
    open(archive, "r+b").truncate(1000)
    failed(archive, printing="archive is truncated")
    short = os.path.join(work.name, "short")
    open(short, "wb").write(open(program(), "rb").read()[:2000])
    failed(short)
    # Control characters are shown escaped, and JSON stays valid with a name of any length.
    name = "./" + "/".join(["\033[2J" * 40] * 20)
    result = side("list", name)
    equal("\033" in result.err, False)
    equal(json_lines(side("list", "--json", name).err)[0]["status"], 1)
    # A wrong file does not prevent the others from being listed.
    result = side("list", "--names", short, program())
    equal((result.status, sorted(result.out.split())), (1, NAMES))
    if os.geteuid():
        secret = os.path.join(work.name, "secret")
        open(secret, "w").close()
        os.chmod(secret, 0)
        failed(secret, status=3, printing="permission")


def test_colors():
    path = program()
    equal("\033[" in side("list", path).out, False)
    colored = side("list", "--color=always", path).out
    equal("\033[" in colored, True)
    equal(re.sub("\033\\[[0-9;]*m", "", colored), side("list", path).out)
    equal("\033[" in side("list", "--color=always", "--json", path).out, False)
    equal("\033[" in side_on_terminal("list", path).out, True)


# ---- processes ----

class Subject:
    """The program `subject`, which waits."""

    def __init__(self, *args, path=None, prefix=()):
        self.process = subprocess.Popen([*prefix, path or program(), *args], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def test_process():
    with Subject("wait") as subject:
        pid = str(subject.pid)
        equal(listed(pid), sorted(NAMES + OWN))
        text = side("list", pid).out
        equal(text.count("  disabled"), 5, text)
        contains(text, "subject:second (DEBUG)  disabled\n    ...\n")
        equal(listed(pid, "-e", "other"), ["other:failed"])
        equal(side("list", "-p", pid).out, text)
        equal(listed("--pid", pid, "-e", "other"), ["other:failed"])
        equal(subject.process.poll(), None)
    with Subject("enabled") as subject:
        result = side("list", "--json", str(subject.pid))
        equal(result.status, 0)
        events = {event["event"]: event for event in json_lines(result.out)}
        equal(sorted(events), sorted(NAMES + OWN))
        equal((events["subject:first"]["enabled"], events["subject:first"]["tracers"]), (True, 1))
        equal((events["other:failed"]["enabled"], events["other:failed"]["tracers"]), (False, 0))
        contains(side("list", str(subject.pid)).out, "subject:first (INFO)  enabled: 1 tracer  [owner")


def test_processes_of_other_linkers():
    library()
    linked = program("linked", "bfd", "-Wl,--no-as-needed", "-L" + work.name, "-lsubject",
                     "-Wl,-rpath,$ORIGIN")
    with Subject("wait", path=linked) as subject:
        equal(listed(str(subject.pid)), sorted(NAMES + OWN + ["library:called"]))
        contains(side("list", str(subject.pid)).out, "libsubject.so\n")
    for name, linker, flags, object in (
            ("live-lld", "lld", [], None), ("live-code", "bfd", ["-Wl,-z,noseparate-code"], None),
            ("live-fixed", "bfd", ["-no-pie"], objects("fixed.o", "gcc", "-fno-pie"))):
        if shutil.which("ld." + linker):
            with Subject("wait", path=program(name, linker, *flags, object=object)) as subject:
                equal(listed(str(subject.pid)), sorted(NAMES + OWN), name)


def test_process_whose_file_changed():
    for change in ("deleted", "replaced"):
        copy = os.path.join(work.name, "copy-" + change)
        shutil.copy(program(), copy)
        with Subject("wait", path=copy) as subject:
            os.unlink(copy)
            if change == "replaced":
                shutil.copy(program("other-subject", "bfd", "-Wl,-z,noseparate-code"), copy)
            result = side("list", "--names", str(subject.pid))
            equal(result.status, 0)
            # A user who may open /proc/PID/map_files reads the deleted file itself.
            if "subject:first" in result.out:
                equal(sorted(result.out.split()), sorted(NAMES + OWN))
            else:
                contains(result.err, "replaced or deleted")


def test_missing_processes():
    with Subject("wait") as subject:
        pid = subject.pid
    for word in (str(pid), "0", "99999999999999999999", "2147483647"):
        result = side("list", word)
        equal((result.status, result.out), (1, ""), word)
        contains(result.err, f"process {word}: there is no such process")


def test_processes_that_we_must_not_read():
    """As root, drop the capabilities and the user; otherwise use a process of root."""
    if os.geteuid():
        target, pid, prefix = None, "1", []
    else:
        if not shutil.which("setpriv"):
            print("setpriv is not installed")
            return
        target = Subject("wait")
        pid = str(target.pid)
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                  "--bounding-set=-all"]
    # The build may be in a directory that only root may enter; an open file needs no further check.
    try:
        executable = os.open(SIDE, os.O_RDONLY)
        run = subprocess.run([*prefix, f"/proc/self/fd/{executable}", "list", pid],
                             pass_fds=[executable], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, env=environment(ASAN_OPTIONS="detect_leaks=0"))
        if run.returncode == 127 or "error while loading" in run.stderr:
            print("the program cannot be run as another user here: " + run.stderr)
            return
        equal((run.returncode, run.stdout), (3, ""), run.stderr)
        contains(run.stderr, f"process {pid}")
        contains(run.stderr, "permission to trace it is missing")
        contains(run.stderr, "CAP_SYS_PTRACE")
    finally:
        if target:
            target.__exit__()


# ---- commands ----

def test_commands():
    path = program()
    result = side("list", "--names", "--", path, "enabled", "7")
    equal((result.status, result.err), (0, ""))
    equal(sorted(result.out.split()), sorted(NAMES + OWN))
    # A word without a slash that names no file is searched in PATH.
    env = environment(PATH=os.path.dirname(path) + ":" + os.environ["PATH"])
    result = side("list", "--names", os.path.basename(path), env=env)
    equal((result.status, sorted(result.out.split())), (0, sorted(NAMES + OWN)), result.err)
    # The command does not run: no output, no status of its own, no files.
    marker = os.path.join(work.name, "marker")
    result = side("list", "--", "touch", marker)
    equal((result.status, "library" in result.out), (0, False), result.err)
    true(not os.path.exists(marker), "the command was run")
    with tempfile.TemporaryDirectory() as folder:
        equal(side("list", "--", path, cwd=folder).status, 0)
        equal(os.listdir(folder), [])


def test_commands_with_wrappers():
    result = side("list", "--names", "-w", "libc", "--", "true")
    equal(result.status, 0, result.err)
    contains(result.out.split(), "libc:malloc")
    result = side("list", "--json", "-w", "libc", "-e", "libc:malloc", "--", "true")
    (event,) = json_lines(result.out)
    equal(event["event"], "libc:malloc")


def test_commands_that_fail():
    result = side("list", "--", "does-not-exist-anywhere")
    equal((result.status, result.out), (127, ""), result.err)
    result = side("list", "does-not-exist-anywhere")
    equal((result.status, result.out), (127, ""), result.err)
    contains(result.err, "there is no file, session or command of that name")
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/kitchen", "w", encoding="utf-8"):
            pass
        result = side("list", "kitchenx", cwd=folder)
        equal((result.status, result.out), (127, ""), result.err)
        contains(result.err, "did you mean `kitchen`?")
    result = side("list", "--", "/etc/passwd")
    equal((result.status, result.out), (126, ""), result.err)
    result = side("list", "no-file-1", "no-file-2")
    equal((result.status, result.out), (2, ""))
    contains(result.err, "`--`")


def test_reader_that_leaves():
    read_end, write_end = os.pipe()
    os.close(read_end)
    run = subprocess.run([SIDE, "list", program()], stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    equal((run.returncode, run.stderr), (-signal.SIGPIPE, ""))


run_tests(globals())

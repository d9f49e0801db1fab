#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Names of functions of stripped programs: from the debug file by build id, by debug link and from a server, and from the
compressed symbols. Each command has the addresses that nm reads before the program is stripped. Errors name the package.
"""
import atexit
import functools
import http.server
import lzma
import shutil
import threading

from harness import *

for tool in ("gcc", "objcopy", "strip", "nm", "readelf", "babeltrace2"):
    if not shutil.which(tool):
        skip(f"{tool} is missing")
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30", SIDE_DEBUG_PATH=None, DEBUGINFOD_URLS=None,
                  DEBUGINFOD_CACHE_PATH=FOLDER + "/cache", XDG_CACHE_HOME=FOLDER + "/xdg", SIDE_CONTROL=None)
NAMES = ("serve_order", "count_orders", "main")


def path(*names):
    return os.path.join(FOLDER, *names)


def build(name, *options):
    """Returns a stripped program in a folder of its own, its debug file in another folder, and the addresses of its functions."""
    os.makedirs(path(name, "debug"))
    program, debug = path(name, "program"), path(name, "debug", "program.debug")
    output("gcc", "-g", "-O1", "-fno-inline", *options, os.environ["SOURCES"] + "/stripped.c", "-o", program)
    addresses = {words[2]: int(words[0], 16) for words in map(str.split, output("nm", program).splitlines()) if len(words) == 3}
    output("objcopy", "--only-keep-debug", program, debug)
    output("strip", program)
    return program, debug, {name: addresses[name] for name in NAMES}


def listed(program, *options, env=ENV):
    done = side("probe", "list", "--json", *options, program, env=env)
    equal(done.status, 0, done)
    # The address of a site is behind the mark for indirect branches.
    return {site["function"]: site["address"] - (4 if site["bytes"].startswith("f30f1efa") else 0)
            for site in json_lines(done.out) if site.get("function")}


def check_listed(program, addresses, *options, env=ENV):
    found = listed(program, *options, env=env)
    for name, address in addresses.items():
        true(name in found and found[name] - address in (0, 4), f"{name}: {found}")


def check_traced(program, *options, env=ENV, variable=True):
    """The function's name, and, from DWARF, the argument by its name; babeltrace2 reads the values."""
    trace = tempfile.mkdtemp(dir=FOLDER) + "/trace"
    arg = ("--arg", "order->text") if variable else ()
    done = side("trace", "-q", "-o", trace, *options, "--function", "serve_order", *arg, "-c", f"{program} 3", env=env)
    equal(done.status, 0, done)
    events = output("babeltrace2", trace).splitlines()
    equal(len(events), 3, events)
    for event in events:
        contains(event, "probe:serve_order")
        if variable:
            contains(event, "served")
    return trace


def check_unknown(program, env=ENV):
    true("serve_order" not in listed(program, env=env), "no name")
    done = side("trace", "-o", path("never"), "--function", "serve_order", "-c", program, env=env)
    equal(done.status, 1, done)
    contains(done.err, "program has no function `serve_order`: it is stripped, and its debug file is not installed\nhint: ")
    return done.err


def digits(program):
    return re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", program)).group(1)


def store(program, debug, folder):
    where = os.path.join(folder, ".build-id", digits(program)[:2])
    os.makedirs(where)
    shutil.copy(debug, os.path.join(where, digits(program)[2:] + ".debug"))


def test_build_id():
    program, debug, addresses = build("id")
    contains(check_unknown(program), f"install the debug file /usr/lib/debug/.build-id/{digits(program)[:2]}/{digits(program)[2:]}.debug; "
             "or add `--debuginfod`")
    store(program, debug, path("store"))
    env = {**ENV, "SIDE_DEBUG_PATH": "/nowhere:" + path("store")}
    check_listed(program, addresses, env=env)
    check_traced(program, env=env)


def test_debug_link():
    """With a build id and without it: then the checksum decides."""
    for name, options in (("link", ()), ("sum", ("-Wl,--build-id=none",))):
        for place in ("beside", "below", "store"):
            program, debug, addresses = build(f"{name}-{place}", *options)
            output("objcopy", "--add-gnu-debuglink=" + debug, program)
            check_unknown(program)
            folder = {"beside": path(f"{name}-{place}"), "below": path(f"{name}-{place}", ".debug"),
                      "store": path("store-" + name) + path(f"{name}-{place}")}[place]
            os.makedirs(folder, exist_ok=True)
            shutil.copy(debug, folder)
            env = {**ENV, "SIDE_DEBUG_PATH": path("store-" + name)} if place == "store" else ENV
            check_listed(program, addresses, env=env)
            check_traced(program, env=env)
            # Relative paths too.
            if place != "store":
                done = side("probe", "list", "program", "count_orders", env=env, cwd=os.path.dirname(program))
                equal(done.status, 0, done)
            # Another build of the program: neither the checksum nor the build id fits.
            with open(os.path.join(folder, "program.debug"), "r+b") as file:
                data = file.read()
                at = data.index(bytes.fromhex(digits(program))) if not options else data.index(b"serve_order")
                file.seek(at)
                file.write(bytes([data[at] ^ 1]))
            check_unknown(program, env=env)
    # A name that leads out of the directory is ignored.
    program, debug, addresses = build("out")
    output("objcopy", "--add-gnu-debuglink=" + debug, program)
    with open(program, "r+b") as file:
        data = file.read()
        at = data.index(b"program.debug\0")
        file.seek(at)
        file.write(b"debug/p.debug")
    shutil.copy(debug, path("out", "debug", "p.debug"))
    check_unknown(program)


class Server(http.server.BaseHTTPRequestHandler):
    """A debuginfod server on this machine."""
    files, requests = {}, []

    def do_GET(self):
        Server.requests.append(self.path)
        file = Server.files.get(self.path)
        self.send_response(200 if file else 404)
        data = b""
        if file:
            with open(file, "rb") as opened:
                data = opened.read()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def test_server():
    """Only with `--debuginfod`."""
    try:
        output("/sbin/ldconfig", "-p").index("libdebuginfod.so.1")
    except (ValueError, FileNotFoundError):
        print("libdebuginfod1 is missing: not tested")
        return
    program, debug, addresses = build("server")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        env = {**ENV, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}"}
        Server.files[f"/buildid/{digits(program)}/debuginfo"] = debug
        check_unknown(program, env=env)
        equal(Server.requests, [])
        check_listed(program, addresses, "--debuginfod", env=env)
        check_traced(program, "--debuginfod", env=env)
        contains("\n".join(Server.requests), f"/buildid/{digits(program)}/debuginfo")
        done = side("probe", "list", "--debuginfod", program, "no_such", env=env)
        contains(done.err, "no function that matches `no_such`\nhint: `side probe list` without a GLOB lists all")
        other, _, _ = build("unknown-to-server", "-DOTHER", "-O0")
        done = side("probe", "list", "--debuginfod", other, "serve_order", env=env)
        contains(done.err, "; the servers in DEBUGINFOD_URLS have no debug file for it, or DEBUGINFOD_URLS is not set")
        check_enabled(program, env)
        check_exported(env)
        check_top(env)
    finally:
        server.shutdown()
        server.server_close()


def check_exported(env):
    """`side export` asks the servers for the names of callers, only with `--debuginfod`."""
    program, debug, _ = build("exported")
    trace = path("exported", "trace")
    Server.files[f"/buildid/{digits(program)}/debuginfo"] = debug
    done = side("trace", "-q", "--debuginfod", "--function", "serve_order", "--arg", "$backtrace", "-o", trace, "--", program, "3", env=env)
    equal(done.status, 0, done)
    shutil.rmtree(path("cache"))
    Server.requests.clear()
    for options in ((), ("--debuginfod",)):
        done = side("export", trace, "--format", "folded", *options, env=env)
        equal((done.status, "main" in re.split("[; \n]", done.out)), (0, bool(options)), done)
        equal(f"/buildid/{digits(program)}/debuginfo" in Server.requests, bool(options), Server.requests)


def check_top(env):
    """`side top` asks the servers for the names of callers, only with `--debuginfod`."""
    program, debug, _ = build("top")
    Server.files[f"/buildid/{digits(program)}/debuginfo"] = debug
    for options in ((), ("--debuginfod",)):
        caller = top_caller(program, env, options)
        equal((caller.get("function"), caller.get("file", "").endswith("stripped.c")), ("count_orders", True) if options else (None, False), caller)
        equal(f"/buildid/{digits(program)}/debuginfo" in Server.requests, bool(options), Server.requests)
    done = side("top", "--debuginfod", env=env)
    equal((done.status, "`--debuginfod` has no effect without `--callers`" in done.err), (2, True), done)


def top_caller(program, env, options):
    """The caller of a function, as `side top` has it while the program runs."""
    name = "top-" + "".join(options).strip("-")
    process = subprocess.Popen([program, "3", "wait"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
    top = None
    try:
        for command in (["create", name, "--symbols", "-o", path(name)],
                        ["enable-event", "serve_order", "-s", name, "--debuginfod", "--pid", str(process.pid), "--function", "serve_order",
                         "--arg", "$backtrace"],
                        ["start", name]):
            done = side(*command, env=env)
            equal(done.status, 0, done)
        shutil.rmtree(path("cache"), ignore_errors=True)
        Server.requests.clear()
        top = subprocess.Popen([SIDE, "top", name, "--json", "--callers", "-i", "200ms", "-n", "1000", *options], stdout=subprocess.PIPE, text=True, env=env)
        top.stdout.readline()
        process.communicate(b"\n", timeout=60)
        callers = (line for line in map(json.loads, top.stdout) if line["type"] == "caller")
        return next(callers)
    finally:
        process.kill()
        process.wait()
        if top:
            top.kill()
            top.communicate()
        end_daemon(env)


def check_enabled(program, env):
    """`enable-event --debuginfod` sets the probe in a running program."""
    trace = path("session")
    process = subprocess.Popen([program, "3", "wait"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
    try:
        for command in (["create", "names", "-o", trace],
                        ["enable-event", "serve_order", "--debuginfod", "--pid", str(process.pid), "--function", "serve_order", "--arg", "order->number"],
                        ["start"]):
            done = side(*command, env=env)
            equal(done.status, 0, done)
        process.communicate(b"\n", timeout=60)
        equal(process.returncode, 0)
        equal(side("stop", env=env).status, 0)
        events = [event for event in output("babeltrace2", trace).splitlines() if "serve_order" in event]
        equal(len(events), 3, events)
    finally:
        process.kill()
        process.wait()
        end_daemon(env)


def compressed(name):
    """A stripped program with the symbols that some distributions leave."""
    program, debug, addresses = build(name)
    mini = path(name, "mini")
    output("objcopy", "-S", "--keep-symbol=serve_order", "--keep-symbol=count_orders", "--remove-section=.debug*", debug, mini)
    with open(mini, "rb") as plain, open(mini + ".xz", "wb") as packed:
        packed.write(lzma.compress(plain.read()))
    output("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", program)
    return program, addresses


def test_compressed():
    program, addresses = compressed("compressed")
    check_listed(program, addresses)
    trace = check_traced(program, "--context", "backtrace", variable=False)
    # The addresses of a trace have the names, too: the callers in its backtraces, in `view` and `report`.
    done = side("view", "--symbols", trace, env=ENV)
    equal(done.status, 0, done)
    equal(done.out.count("count_orders+0x"), 3, done.out)
    done = side("report", "--by", "stack", trace, env=ENV)
    equal(done.status, 0, done)
    contains(done.out, "count_orders")
    # Damaged data is ignored.
    with open(program, "r+b") as file:
        data = file.read()
        at = data.index(b"\xfd7zXZ")
        file.seek(at + 40)
        file.write(bytes(64))
    true("serve_order" not in listed(program), "no name")
    equal(side("view", "--symbols", trace, env=ENV).status, 0)


def test_package():
    """The errors name Debian's package of the file, as dpkg finds it."""
    if not shutil.which("dpkg"):
        return
    for program in ("/usr/bin/ls", "/usr/bin/tar", "/usr/bin/perl"):
        if not os.path.exists(program) or ".symtab" in output("readelf", "-SW", program) or \
                os.path.exists(f"/usr/lib/debug/.build-id/{digits(program)[:2]}/{digits(program)[2:]}.debug"):
            continue
        package = (run("dpkg", "-S", program, status=None).stdout or run("dpkg", "-S", program[4:], status=None).stdout).split(":")[0]
        if not package:
            continue
        wanted = f"hint: `apt install {package}-dbgsym` installs its debug file /usr/lib/debug/.build-id/{digits(program)[:2]}/"
        done = side("trace", "-o", path("never"), "--function", "no_such_function_anywhere", "-c", program, env=ENV)
        equal(done.status, 1, done)
        contains(done.err, wanted)
        contains(side("probe", "list", program, "no_such_function_anywhere", env=ENV).err, wanted)
    # A similar name is named before.
    program, _, _ = build("similar", "-rdynamic")
    done = side("trace", "-o", path("never"), "--function", "mian", "-c", program, env=ENV)
    contains(done.err, "hint: did you mean `main`?\nhint: install the debug file ")


run_tests(globals())

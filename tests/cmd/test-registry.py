#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side list PID` on programs that register events at run time: idle, busy, with libside in the
executable, with a libside that does not report them, and with one that reports invalid data.
"""
import collections
import shutil
import time

from harness import *

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.environ["INCLUDE"]

STABLE = [f"stable:{i}" for i in range(100)] + ["hand:one", "hand:two"]
SECTION = ["side:statedump_begin", "side:statedump_end", "table:event"]

work = tempfile.TemporaryDirectory()


class Program:
    """A program that prints its process id and waits."""

    def __init__(self, *args, **changes):
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **changes})
        self.pid = int(self.process.stdout.readline())

    def __enter__(self):
        return str(self.pid)

    def __exit__(self, *ignored):
        self.process.stdin.close()
        status = self.process.wait(timeout=30)
        self.process.stdout.close()
        equal(status, 0, "the program")


def events_of(pid, *args):
    result = side("list", "--json", pid, *args)
    equal((result.status, result.err), (0, ""))
    return json_lines(result.out)


def check_whole(event):
    """The field is named after the event: no event is mixed from two."""
    name = event["description"]["event"]
    equal([field["name"] for field in event["description"]["fields"]], [name], str(event))


def check_registrar(pid):
    events = events_of(pid)
    counts = collections.Counter(event["event"] for event in events)
    equal(counts, collections.Counter(STABLE + SECTION))
    for event in events:
        registered = event["event"] in STABLE
        equal(event["origin"], "registry" if registered else "section", event["event"])
        equal(event["found"], event["origin"])  # The earlier key, for one release.
        if registered:
            equal(event["source"], "process " + pid)
            check_whole(event)
        equal((event["enabled"], event["tracers"]), (True, 1) if event["event"] == "stable:7" else (False, 0))


def test_idle():
    with Program(os.environ["REGISTRAR"]) as pid:
        check_registrar(pid)
        text = side("list", pid).out
        contains(text, f"\nprocess {pid}\nhand:one (INFO)  disabled\n    one: u32\n")
        contains(text, "\nstable:7 (INFO)  enabled: 1 tracer\n    7: u32\n")
        equal([event["event"] for event in events_of(pid, "-e", "hand:t*")], ["hand:two"])
        both = side("list", "--names", pid, pid)
        equal(len(both.out.split()), 2 * len(STABLE + SECTION), "each process for itself")


def test_libside_in_the_executable():
    with Program(os.environ["REGISTRAR_STATIC"]) as pid:
        check_registrar(pid)


def test_deleted_file():
    copy = os.path.join(work.name, "copy")
    shutil.copy(os.environ["REGISTRAR"], copy)
    with Program(copy) as pid:
        os.unlink(copy)
        equal(sorted(event["event"] for event in events_of(pid)), sorted(STABLE + SECTION))


def test_busy():
    """Events that stay are listed each time, temporary ones are complete or missing."""
    rounds, seen = 1000 if LONG else 30, 0
    with Program(os.environ["REGISTRAR"], "busy") as pid:
        for _ in range(rounds):
            events = events_of(pid)
            counts = collections.Counter(event["event"] for event in events)
            equal([name for name in STABLE + SECTION if counts[name] != 1], [])
            for event in events:
                provider = event["description"]["provider"]
                true(provider in ("stable", "hand", "churn", "side", "table"), provider)
                if provider == "churn":
                    seen += 1
                if event["origin"] == "registry":
                    check_whole(event)
    print(f"{seen} events that came and went were caught in {rounds} lists")


def test_end_of_the_process():
    """The program may exit at any instant while it is read."""
    for i in range(100 if LONG else 10):
        program = Program(os.environ["REGISTRAR"], "busy")
        lister = subprocess.Popen([SIDE, "list", str(program.pid)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment())
        time.sleep(0.001 * i / (10 if LONG else 1))
        program.process.kill()
        out, err = lister.communicate(timeout=30)
        true(lister.returncode in (0, 1), (lister.returncode, err))
        program.process.wait()
        program.process.stdin.close()
        program.process.stdout.close()


# ---- other versions of libside ----

SILENT = '''
#include <side/trace.h>
const char side_empty_callback[24];
void side_call(const struct side_event_state *s, const struct side_arg_vec *v) { (void)s; (void)v; }
struct side_events_register_handle *side_events_register(struct side_event_description **e, uint32_t n)
{ (void)e; (void)n; return 0; }
void side_events_unregister(struct side_events_register_handle *h) { (void)h; }
'''

MAIN = '''
#include <stdio.h>
#include <unistd.h>
#include <side/trace.h>
side_static_event(table_event, "table", "event", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("event")));
int main(void)
{
	char byte;
	side_event(table_event, side_arg_list(side_arg_u8(1)));
	printf("%d\\n", (int)getpid());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
'''

# One block, one batch, one event, and one invalid member before main, which the environment
# selects.
LIAR = SILENT + '''
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <side/debugger.h>
static struct side_event_description *events[1 << 20];
static struct { struct side_registry_block head; struct side_registry_batch batches[64]; } block =
	{ { 0, 64 }, { { 5, events, 1 } } };
extern struct side_registry_0 the_registry __asm__("side_registry_0");
struct side_registry_0 the_registry =
	{ sizeof(the_registry), sizeof(void *), sizeof(struct side_registry_batch),
	  sizeof(struct side_registry_block), 1, &block.head };
static struct side_event_state_0 state;
static struct side_event_description liar = {
	.struct_size = offsetof(struct side_event_description, end),
	.state = SIDE_PTR_INIT(&state.parent),
	.provider_name = SIDE_PTR_INIT("liar"), .event_name = SIDE_PTR_INIT("event"),
	.nr_side_type_label = _NR_SIDE_TYPE_LABEL, .nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
};
__attribute__((constructor)) static void lie(void)
{
	const char *name = getenv("LIE");

	events[0] = &liar;
%s}
'''


def build(name, source, *flags):
    path = os.path.join(work.name, name)
    with open(path + ".c", "w") as file:
        file.write(source)
    run = subprocess.run(["gcc", "-O1", "-I" + INCLUDE, path + ".c", *flags, "-o", path],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    equal(run.returncode, 0, run.stdout)
    return path


def with_libside(name, source):
    """Makes a program that runs with this libside."""
    folder = os.path.join(work.name, name + ".d")
    os.mkdir(folder)
    library = build(name + ".d/libside.so.0", source, "-shared", "-fPIC", "-Wl,-soname,libside.so.0")
    return build(name, MAIN, library, "-Wl,--disable-new-dtags", "-Wl,-rpath," + folder)


def test_silent_libside():
    with Program(with_libside("silent", SILENT)) as pid:
        result = side("list", "--names", pid)
        equal((result.status, result.out), (0, "table:event\n"))
        contains(result.err, f"the libside of process {pid} does not list its events")
        equal(json_lines(side("list", "--json", pid).err)[0]["type"], "note")


LIES = {
    "endless": ("block.head.next = &block.head; the_registry.changes = 0", "too many"),
    "many": ("block.head.nr_batches = ~0u", "too many"),
    "empty": ("block.head.nr_batches = 0; block.head.next = &block.head", "too many"),
    # No page follows the block.
    "beyond": ("char *map = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); "
               "munmap(map + (1 << 15), 1 << 15); block.head.nr_batches = 1 << 19; "
               "the_registry.blocks = memcpy(map + (1 << 15) - sizeof(block), &block, sizeof(block))", "is not completely readable"),
    "nowhere": ("the_registry.blocks = (void *)16", "is not completely readable"),
    "next": ("block.head.next = (void *)~7ul", "is not completely readable"),
    "size": ("the_registry.struct_size = 8", "damaged"),
    "word": ("the_registry.word_size = 4", "damaged"),
    "batch": ("the_registry.batch_size = 8", "damaged"),
    "wide": ("the_registry.batch_size = 65535", "damaged"),
    "block": ("the_registry.block_size = 0", "damaged"),
    "array": ("block.batches[0].events = (void *)16", "array is not completely readable"),
    # The array has a hole: after it may be memory of a library, as in Debian 13.
    "length": ("block.batches[0].nr_events = ~0u; munmap((void *)((unsigned long)&events[1 << 19] & ~4095ul), 4096)",
               "array is not completely readable"),
    "wrap": ("block.batches[0].events = (void *)~31ul; block.batches[0].nr_events = ~0u",
             "array is not completely readable"),
    "nonsense": ("block.batches[0].nr_events = 1 << 20; "
                 "for (long i = 0; i < 1 << 20; i++) events[i] = (void *)((char *)&liar + 8 * i)",
                 "too many"),
    "repeated": ("for (int i = 0; i < 64; i++) "
                 "block.batches[i] = (struct side_registry_batch){ 9, events, 1 << 20 }", "too many"),
}


def test_liars():
    cases = "".join(f'\tif (!strcmp(name, "{name}")) {{ {lie}; }}\n' for name, (lie, _) in LIES.items())
    path = with_libside("liar", LIAR % cases)
    # Without an invalid member its event is listed: the test refuses the invalid ones only.
    with Program(path, LIE="") as pid:
        result = side("list", "--names", pid)
        equal((result.status, sorted(result.out.split()), result.err), (0, ["liar:event", "table:event"], ""))
    for name, (_, printing) in LIES.items():
        with Program(path, LIE=name) as pid:
            result = side("list", "--names", pid, timeout=30)
            equal(result.status, 1, name + result.err[:300])
            contains(result.err, printing, name)
            true(len(result.err.splitlines()) <= 102, name)


run_tests(globals())

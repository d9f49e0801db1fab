# SPDX-License-Identifier: MIT
"""Check that the comment of each atomic access states the order that the code has, and a partner that exists and matches.

usage: test-atomics.py SOURCE-DIRECTORY [ROOM]      ROOM: src/ring, for example
       test-atomics.py --table SOURCE-DIRECTORY     print all of these accesses as a table

See atomics.py for the form of the comments. This test also detects a weaker order that no execution shows, because the comment still
states the old order.
"""
import pathlib
import re
import sys

import atomics
import visible

GOOD = """
/* A publication. */
static void put(struct box *box, int value)
{
	box->value = value;
	/* Release: the value. Pairs with the acquire in get(). */
	__atomic_store_n(&box->full, 1, __ATOMIC_RELEASE);
}

static bool is_full(const struct box *box)
{
	/* Relaxed: only whether there is one. */
	return __atomic_load_n(&box->full, __ATOMIC_RELAXED);
}

static int get(struct box *box)
{
	/* Acquire: the value. Pairs with the release in put(). */
	return __atomic_load_n(&box->full, __ATOMIC_ACQUIRE) ? box->value : 0;
}

static bool left(void)
{
	__atomic_store_n(&mine, 1, __ATOMIC_RELAXED);
	/* Full fence: our store before the load. Pairs with the fence in right(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&yours, __ATOMIC_RELAXED);
}

static bool right(void)
{
	__atomic_store_n(&yours, 1, __ATOMIC_RELAXED);
	/* Full fence: our store before the load. Pairs with the fence in left(). */
	ring_doorbell_fence();
	return __atomic_load_n(&mine, __ATOMIC_RELAXED);
}

static bool take(unsigned int *word)
{
	unsigned int seen = 0;

	/* Acquire: what the last owner did. Pairs with the release in give(). */
	if (__atomic_compare_exchange_n(word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	/* Acquire: as in take_again(). */
	return atomic_exchange_explicit(word, 1, memory_order_acquire) == 0;
}

static bool take_again(unsigned int *word)
{
	/* Acquire: what the last owner did. Pairs with the release in give(). */
	return atomic_exchange_explicit(word, 1, memory_order_acquire) == 0;
}

static void give(unsigned int *word)
{
	/* Release, both: what we did. Pairs with the acquires in take(). */
	__atomic_store_n(&word[0], 0, __ATOMIC_RELEASE);
	__atomic_store_n(&word[1], 0, __ATOMIC_RELEASE);
}

#define CACHED(function)                                                            \\
	static void *function(void)                                                  \\
	{                                                                            \\
		/* Acquire: what it points to. Pairs with the release in give(). */ \\
		return __atomic_load_n(from, __ATOMIC_ACQUIRE);                      \\
	}

static void page(struct page *page)
{
	/* Acquire: the records. Pairs with the kernel's barrier. */
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	/* Compiler fence: the head before the records. */
	atomic_signal_fence(memory_order_seq_cst);
}
"""

# Other tests beside the comparison of comments: the first entry that matches (path, function). Tests of the suite `threads` also
# run in the build that detects data races. Models are tried in all orders. Empty: only the comparison.
TESTS = [
    ("src/ring/doorbell", "", "ring-litmus, ring-doorbell"), ("src/ring/bells.c", "", "ring-litmus, ring-bells"),
    ("src/ring/space.c", "", "ring-litmus, ring-block"), ("src/ring/producer.c", "ring_producer_", "ring-litmus, ring-rechecks"),
    ("src/ring/lease", "", "ring-lease, ring-lease-model, ring-rechecks"), ("src/ring/snapshot.c", "", "ring-overwrite, ring-overwrite-model"),
    ("src/ring/portable.c", "ring_portable_claim", "ring-overwrite-model"), ("src/ring/consumer.c", "", "ring-threads, ring-model, ring-explore"),
    ("src/ring/portable.c", "", "ring-threads, ring-model"), ("src/ring/slots.c", "", "ring-threads"), ("src/ring/clock.c", "", ""),
    ("src/ring/truncated.c", "", "ring-exact"), ("src/ring", "", "ring-stress"),
    ("src/libside/rcu.c", "", "libside-litmus, libside-litmus-fence, model, gone, stress"), ("src/libside/section.h", "", "libside-litmus, model, stress"),
    ("src/libside/registry-lock.c", "", "rechecks, tracers"), ("src/libside/armed.c", "", "rechecks"), ("src/libside/lock.c", "", "rechecks, stress"),
    ("src/libside/context.c", "", "context"), ("src/libside", "", "stress"),
    ("src/probe/patch/callers.c", "", "probe-litmus"), ("src/probe/patch", "", "probe-patch-storm"),
    ("src/recorder/core/thread.c", "", "session-rechecks"), ("src/recorder", "", "session-snapshots, session-hostile"),
    ("src/tracers/agent/context", "", "agent-context-threads"), ("src/tracers/agent", "", "agent, agent-sessions, agent-update-threads"),
    ("src/analysis/view-line.c", "", "ctf-view-threads"), ("src/tracers/user-events", "", ""), ("programs", "", ""), ("src", "", ""),
]

# (old text, new text, the report)
BAD = [
    ("full, 1, __ATOMIC_RELEASE", "full, 1, __ATOMIC_RELAXED", "states release, but put() has no such access"),
    ("full, __ATOMIC_ACQUIRE", "full, __ATOMIC_RELAXED", "states acquire, but get() has no such access"),
    ("full, 1, __ATOMIC_RELEASE", "full, 1, __ATOMIC_SEQ_CST", "is seq_cst, but the comment states release"),
    ("__atomic_thread_fence(__ATOMIC_SEQ_CST)", "__atomic_thread_fence(__ATOMIC_RELEASE)", "is release, but the comment states seq_cst"),
    ("__atomic_thread_fence(__ATOMIC_SEQ_CST);", "", "states seq_cst, but left() has no such access"),
    ("\tring_doorbell_fence();", "", "states seq_cst, but right() has no such access"),
    ("1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED", "1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE", "is acquire/acquire, but no comment"),
    ("1, false, __ATOMIC_ACQUIRE", "1, false, __ATOMIC_RELAXED", "states acquire, but take() has no such access"),
    ("exchange_explicit(word, 1, memory_order_acquire)", "exchange_explicit(word, 1, memory_order_relaxed)", "states acquire, but take() has no"),
    ("exchange_explicit(word, 1, memory_order_acquire)", "exchange(word, 1)", "atomic_exchange is seq_cst, but the comment states acquire"),
    ("&word[1], 0, __ATOMIC_RELEASE", "&word[1], 0, __ATOMIC_RELAXED", "states release, but give() has no such access"),
    ("(from, __ATOMIC_ACQUIRE", "(from, __ATOMIC_RELAXED", "states acquire, but CACHED() has no such access"),
    ("data_head, __ATOMIC_ACQUIRE", "data_head, __ATOMIC_RELAXED", "states acquire, but page() has no such access"),
    ("(memory_order_seq_cst)", "(memory_order_acquire)", "is compiler acquire, but the comment states compiler seq_cst"),
    ("/* Relaxed: only whether there is one. */", "", "__atomic_load of full is relaxed, others are not, and no comment"),
    ("in get(). */", "in gets(). */", "the partner gets() does not exist"),
    ("acquire in get(). */", "acquire in page(). */", "the partner page() has no access that pairs with __atomic_store (release) of full"),
    ("in right(). */", "in give(). */", "the partner give() has no access that pairs"),
    ("the kernel's barrier", "its barrier", "does not name the partner of __atomic_load"),
    ("/* Release: the value. Pairs with the acquire in get(). */", "/* What get() reads. */", "no comment states this order and its partner"),
    ("/* Acquire: as in take_again(). */", "/* Acquire: as in give(). */", "does not name the partner of atomic_exchange"),
]


def test_itself():
    """Each error that the test must report, one at a time."""
    def errors(text):
        tree = atomics.Tree("/nonexistent")
        tree.add("box.c", text)
        return tree.errors()

    failed = [f"the good example: {error}" for error in errors(GOOD)]
    for old, new, expected in BAD:
        assert old in GOOD, old
        found = errors(GOOD.replace(old, new, 1))
        if not any(expected in error for error in found):
            failed.append(f"{old!r} -> {new!r}: {found} instead of {expected!r}")
    return failed


def test_modules(tree):
    """Each module with such accesses has its own test in meson.build."""
    found = {"programs" if parts[0] == "programs" else "/".join(parts[1:3] if parts[1] == "tracers" else parts[1:2]) for parts in
             (pathlib.PurePath(function.path).parts for function in tree.functions if function.strong) if parts[0] != "include"}
    modules = (pathlib.Path(__file__).parent / "meson.build").read_text()
    return [f"no test atomics-{module} in tests/house/meson.build" for module in sorted(found) if f"'{module}':" not in modules]


def test_tree(tree):
    """The reader finds the same accesses as a search for the words."""
    failed = []
    texts = [path.read_text() for directory in ("src", "programs") for path in (tree.root / directory).rglob("*.[ch]")]
    code = "".join(visible.code(text) for text in texts if re.search(r"__ATOMIC_|memory_order_", text))
    orders = [part for function in tree.functions for access in function.accesses if access.operation not in atomics.FENCES
              for part in access.order.replace("compiler ", "").split("/")]
    for order in ("ACQUIRE", "RELEASE", "SEQ_CST", "ACQ_REL"):
        wanted = code.count(f"__ATOMIC_{order}") + code.count(f"memory_order_{order.lower()}")
        if orders.count(order.lower()) != wanted:
            failed.append(f"{order}: {wanted} in the files, but {orders.count(order.lower())} were read")
    for name in atomics.FENCES:
        fences = [access for function in tree.by_name.get(name, []) for access in function.strong]
        if not fences or any(access.order != "seq_cst" for access in fences):
            failed.append(f"{name}() is not a full fence: {fences}")
    return failed + tree.errors()


def test_names(root):
    """The tests of the table exist: the meson files contain their names, or their names without the prefix that a loop adds."""
    text = "".join(path.read_text() for path in (pathlib.Path(root) / "tests").rglob("meson.build"))
    words = set(re.findall(r"[\w-]+", text))
    names = {name for _, _, tests in TESTS for name in tests.split(", ") if name}
    return [f"the table names the test {name}, which does not exist" for name in sorted(names)
            if not any(name[at:] in words for at in [0] + [i + 1 for i, letter in enumerate(name) if letter == "-"])]


def tests_of(path, function):
    return next(tests for start, prefix, tests in TESTS if path.startswith(start) and function.startswith(prefix))


def print_table(root):
    print("| file | function | operation | order | of | partner | what is ordered | tests that run the file |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path, function, operation, order, target, partners, purpose in atomics.Tree(root).rows():
        print(f"| {path} | {function}() | {operation} | {order} | {target} | {', '.join(partners)} | {purpose} | {tests_of(path, function)} |")


def main():
    if sys.argv[1] == "--table":
        print_table(sys.argv[2])
        return 0
    if len(sys.argv) > 2:
        failed = atomics.Tree(sys.argv[1], sys.argv[2] + "/").errors(sys.argv[2] + "/")
    else:
        tree = atomics.Tree(sys.argv[1])
        failed = test_itself() + test_tree(tree) + test_modules(tree) + test_names(sys.argv[1])
    print("\n".join(failed) or "each comment states the order of the code")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

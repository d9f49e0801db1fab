/* SPDX-License-Identifier: MIT */
/*
 * Explores small cases of each mode completely, and checks that the exploration finds errors: it
 * must find each of the mutations below.
 *
 * Without arguments, explores all cases and all mutations, each mutation in a process of its own.
 * With the name of a mutation, explores that one alone. EXPLORE_WAY=1 prints the steps that led to
 * the failure.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "explore-cases.h"

/* All three forms, an empty record, and records over two sub-buffers; some wrap. */
static const struct record mixed[] = {{1, 3}, {40, 17}, {3, 19}, {2, 0}, {70000, 1}, {4, 11}};
/* Over one sub-buffer and two, up to half a ring, and short ones that need not be extended. */
static const struct record over[] = {{1, 3}, {2, 19}, {3, 0}, {4, 2}, {5, 18}, {40, 1}, {6, 0}};
/*
 * Ends of sub-buffers, and an attempt without a record that is followed by a longer or a shorter
 * one.
 */
static const struct record blocks[] = {{1, 3}, {2, 3}, {3, 19}, {4, 19}, {5, 0}};
/* A ring has space for two of them, but not for three. */
static const struct record large[] = {{1, 12}, {2, 12}, {3, 15}, {4, 12}, {5, 3}};

#define KEEP .mode = RING_MODE_DISCARD, .script = mixed
#define OVER .mode = RING_MODE_OVERWRITE, .script = over
#define BLOCKS .mode = RING_MODE_OVERWRITE, .script = blocks
#define WAIT .mode = RING_MODE_BLOCK, .script = large
/* Directly before the end of an epoch; and a first record with the epoch of an unused ring. */
#define BEFORE_EPOCH .begin = 6 * EPOCH - 2
#define AT_FLIP .begin = 0x800000 * EPOCH - 1

/* Indices by name: the mutations use them. */
enum {
	DISCARD,
	DISCARD_FLIP,
	DISCARD_KILLED,
	OVERWRITE,
	OVERWRITE_MIXED,
	OVERWRITE_BLOCKS,
	BLOCKING,
	BLOCKING_INTERRUPTED,
	BLOCKING_LATE,
	BLOCKING_KILLED,
};

static const struct scenario scenarios[] = {
		[DISCARD] = {"discard", KEEP, BEFORE_EPOCH, .records = 4, .interrupts = 1,
				.leaps = 1},
		[DISCARD_FLIP] = {"discard, at the flip", KEEP, AT_FLIP, .records = 3,
				.interrupts = 2},
		[DISCARD_KILLED] = {"discard, consumer killed", KEEP, BEFORE_EPOCH, .records = 4,
				.kills = 1},
		[OVERWRITE] = {"overwrite", OVER, BEFORE_EPOCH, .records = 6},
		[OVERWRITE_MIXED] = {"overwrite, interrupted", OVER, .records = 5, .interrupts = 1},
		[OVERWRITE_BLOCKS] = {"overwrite, blocks interrupted", BLOCKS, .records = 5,
				.interrupts = 1},
		[BLOCKING] = {"block", WAIT, .records = 4},
		[BLOCKING_INTERRUPTED] = {"block, interrupted", WAIT, .records = 3,
				.interrupts = 1},
		[BLOCKING_LATE] = {"block, too late", WAIT, .records = 4, .timeouts = 1},
		[BLOCKING_KILLED] = {"block, consumer killed", WAIT, .records = 4, .kills = 1},
};

static const struct scenario long_scenarios[] = {
		{"discard", KEEP, BEFORE_EPOCH, .records = 5, .interrupts = 1, .leaps = 1},
		{"discard, at the flip", KEEP, AT_FLIP, .records = 3, .interrupts = 2, .leaps = 1},
		{"overwrite, interrupted", OVER, BEFORE_EPOCH, .records = 7, .interrupts = 1},
		{"overwrite, interrupted twice", BLOCKS, .records = 5, .interrupts = 2},
		{"block", WAIT, .records = 5},
		{"block, too late and killed", WAIT, .records = 4, .timeouts = 1, .kills = 1},
		{"block, interrupted", WAIT, .records = 4, .interrupts = 1},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * For each mutation, the scenario that finds it. The scenario has no failure without the mutation.
 */
static const struct {
	enum mutation mutation;
	const char *name;
	unsigned int scenario;
} mutations[] = {
		{CLAIM_DROPPED, "claim-dropped", OVERWRITE},
		{CLAIM_FALLS, "claim-falls", OVERWRITE_BLOCKS},
		{CLAIM_LATE, "claim-late", OVERWRITE},
		{CLAIM_UNFENCED, "claim-unfenced", OVERWRITE},
		{CLAIM_EARLY, "claim-read-early", OVERWRITE},
		{CLAIM_NOT, "claim-not-read", OVERWRITE},
		{MARK_ONE, "mark-one", OVERWRITE_BLOCKS},
		{NOT_EXTENDED, "not-extended", OVERWRITE},
		{HEAD_EARLY, "head-early", DISCARD},
		{HEAD_EARLY, "head-early-overwriting", OVERWRITE},
		{ALIAS_KEPT, "alias-kept", DISCARD},
		{TIME_LATE, "time-late", DISCARD},
		{TAIL_IGNORED, "tail-ignored", DISCARD},
		{TAIL_EARLY, "tail-early", DISCARD},
		{NOTE_LATE, "note-late", DISCARD_KILLED},
		{WAITER_UNFENCED, "waiter-unfenced", BLOCKING},
		{RELEASE_UNFENCED, "release-unfenced", BLOCKING},
		{WAIT_UNSEEN, "wait-unseen", BLOCKING},
		{RING_UNFENCED, "ring-unfenced", BLOCKING},
		{ARM_UNFENCED, "arm-unfenced", BLOCKING},
};

/* Explores a mutation in a process of its own, whose exit status shows whether it was found. */
static bool mutation_found(const char *program, const char *name)
{
	int status;
	pid_t pid;

	printf("%s: ", name);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(STDOUT_FILENO, STDERR_FILENO);
		execl("/proc/self/exe", program, name, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == MACHINE_FOUND;
}

static int explore_mutation(const char *name)
{
	for (size_t i = 0; i < COUNT(mutations); i++) {
		if (strcmp(name, mutations[i].name))
			continue;
		printf("nothing is found in %lu states\n",
				explore(&scenarios[mutations[i].scenario], mutations[i].mutation)
						.states);
		return 0;
	}
	fprintf(stderr, "there is no mutation '%s'\n", name);
	return 1;
}

static void explore_all(const struct scenario *what, size_t many)
{
	for (size_t i = 0; i < many; i++) {
		struct machine_count count = explore(&what[i], NO_MUTATION);

		printf("%s, %u records: %lu states, %lu steps, %lu ends\n", what[i].name,
				what[i].records, count.states, count.steps, count.ends);
		fflush(stdout);
		CHECK(count.states > 1000, "too few states");
	}
}

int main(int argc, char **argv)
{
	int unrecorded = 0;

	if (argc > 1)
		return explore_mutation(argv[1]);
	explore_all(scenarios, COUNT(scenarios));
	if (test_is_long())
		explore_all(long_scenarios, COUNT(long_scenarios));
	for (size_t i = 0; i < COUNT(mutations); i++)
		unrecorded += !mutation_found(argv[0], mutations[i].name);
	CHECK(unrecorded == 0, "%d mutations of the protocol were not found", unrecorded);
	return 0;
}

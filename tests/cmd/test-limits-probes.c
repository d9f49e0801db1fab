/* SPDX-License-Identifier: MIT */
/*
 * Limits of the search for locations that the kernel can watch, and of the reasons that are
 * printed: the last permitted value, and one more. The files are included; the table and the kernel
 * are played.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "programs/side/probe/global.h"
#include "programs/side/probe/kernel.h"
#include "programs/common/message.h"
#include "probe/code/code.h"
#include "probe/uprobe/global.h"
#include "recorder/core/session.h"

#include "programs/side/probe/resolve.c"
#undef REASONS_MAX

/* ---- played functions ---- */

#define LOCATIONS 128

static unsigned char methods[LOCATIONS]; /* enum probe_method */
static unsigned int nr_opened, nr_closed, nr_copied;
static bool is_denied, is_quick;
static unsigned int nr_chosen;   /* in the last table */
static unsigned int works_below; /* only tables with fewer locations can be watched */

static void played_probe(
		const struct probe_table *table, uint32_t number, struct probe_table_probe *probe)
{
	CHECK(!table && number < LOCATIONS);
	*probe = (struct probe_table_probe){.site.method = methods[number]};
}

static uint32_t played_probes(const struct probe_table *table)
{
	CHECK(!table);
	return LOCATIONS;
}

/*
 * By kind of copy: made (1), out of memory (-1), not requested (0). NULL: only copies of the chosen
 * locations are requested.
 */
static const int *is_made;

static int played_copy(
		const struct probe_table *table, const bool *chosen, enum probe_kernel_copy copy)
{
	CHECK(!table);
	if (is_made) {
		CHECK(is_made[copy]);
		return is_made[copy] < 0 ? -1 : memfd_create("table", MFD_CLOEXEC);
	}
	CHECK(copy == PROBE_KERNEL_ALONE);
	nr_chosen = 0;
	for (unsigned int i = 0; i < LOCATIONS; i++)
		nr_chosen += chosen[i];
	nr_copied++;
	return memfd_create("table", MFD_CLOEXEC);
}

static int played_open(
		const struct global_options *options, struct global **global, struct error *error)
{
	CHECK(options->nr_tables == 1 && options->process == 77 && options->ring_size == 65536);
	nr_opened++;
	if (nr_chosen < works_below) {
		*global = (struct global *)(uintptr_t)0x1000;
		return 0;
	}
	snprintf(error->text, sizeof(error->text), "refused");
	error->kind = is_denied ? ERROR_PERMISSION : ERROR_FAILED;
	return -1;
}

static int played_watch(struct global *global, bool on, struct error *error)
{
	(void)on;
	(void)error;
	CHECK(global);
	return 0;
}

static void played_close(struct global *global)
{
	(void)global;
	nr_closed++;
}

static bool played_may(struct error *error)
{
	(void)error;
	return true;
}

static bool played_quick(void)
{
	return is_quick;
}

#define reason kernel_reason
#define probe_table_probe(table, number, probe) played_probe(table, number, probe)
#define probe_table_nr_probes played_probes
#define probe_kernel_copy(table, chosen, copy) played_copy(table, chosen, copy)
#define global_open played_open
#define global_watch played_watch
#define global_close played_close
#define global_may played_may
#define global_is_quick played_quick
#include "programs/side/probe/kernel.c"
#undef global_is_quick
#undef global_may
#undef global_close
#undef global_watch
#undef global_open
#undef probe_kernel_copy
#undef probe_table_nr_probes
#undef probe_table_probe
#undef reason

static bool chosen[LOCATIONS];
static uint32_t list[LOCATIONS];

/* The first locations are chosen; the given number of them can also have a breakpoint. */
static struct probe_kernel_choice begin(uint32_t nr, uint32_t nr_breakpoints)
{
	struct probe_kernel_choice choice = {.pid = 77, .chosen = chosen, .list = list};

	memset(chosen, 0, sizeof(chosen));
	for (uint32_t i = 0; i < LOCATIONS; i++)
		methods[i] = i < nr_breakpoints ? PROBE_BREAKPOINT : PROBE_KERNEL;
	for (uint32_t i = 0; i < nr; i++)
		chosen[i] = true;
	probe_kernel_collect_chosen(&choice);
	CHECK(choice.nr == nr);
	nr_opened = nr_closed = nr_copied = 0;
	works_below = 0;
	is_denied = false;
	is_quick = true;
	return choice;
}

/* ---- attempts ---- */

static void test_trials(void)
{
	struct probe_kernel_choice choice = begin(2, 2);

	/*
	 * The 48th attempt fails: both locations are refused. Before it, each location is tried
	 * alone.
	 */
	choice.trials = 47;
	probe_kernel_try_list(&choice, 0, 2);
	CHECK(nr_opened == 1 && choice.trials == 48 && !chosen[0] && !chosen[1]);
	CHECK(choice.reasons[0].locations == 2 && !strcmp(choice.reasons[0].text, "refused"));
	choice = begin(2, 2);
	choice.trials = 46;
	probe_kernel_try_list(&choice, 0, 2);
	CHECK(nr_opened == 3 && choice.trials == 49 && !chosen[0] && !chosen[1]);
	/* After a missing permission, there is no further attempt. */
	choice = begin(2, 2);
	is_denied = true;
	probe_kernel_try_list(&choice, 0, 2);
	CHECK(nr_opened == 1 && !chosen[0] && !chosen[1] && nr_closed == nr_opened);
	/* Halves are tried. */
	choice = begin(7, 7);
	works_below = 4;
	probe_kernel_try_list(&choice, 0, 7);
	CHECK(nr_opened == 5 && !choice.reasons[0].locations);
	for (unsigned int i = 0; i < 7; i++)
		CHECK(chosen[i]);
	choice = begin(1, 1);
	probe_kernel_try_list(&choice, 0, 0);
	CHECK(!nr_opened && !nr_copied);
}

/*
 * If the kernel releases locations one by one, the search watches 16 of those that can have
 * breakpoints.
 */
static void test_slow(void)
{
	struct probe_kernel_choice choice;

	for (uint32_t nr = 16; nr <= 17; nr++) {
		choice = begin(20, nr);
		refuse_slow(&choice);
		CHECK(choice.nr == (nr == 16 ? 20 : 3));
		CHECK(choice.reasons[0].locations == (nr == 16 ? 0 : 17));
	}
	/* Of the other locations, the first 16 are tried. */
	for (uint32_t nr = 15; nr <= 17; nr++) {
		choice = begin(nr, 0);
		is_quick = false;
		works_below = 100;
		probe_kernel_try_all_backends(&choice);
		CHECK(choice.slow && nr_opened == 1 && nr_chosen == (nr < 16 ? nr : 16) &&
				choice.nr == nr);
	}
	choice = begin(17, 17);
	works_below = 100;
	probe_kernel_try_all_backends(&choice);
	CHECK(!choice.slow && nr_opened == 1 && nr_chosen == 17 && choice.nr == 17);
	/* The kernel accepts the parts, but not all together. */
	choice = begin(4, 4);
	works_below = 3;
	probe_kernel_try_all_backends(&choice);
	CHECK(nr_opened == 4 && !choice.nr && choice.reasons[0].locations == 4);
}

/* ---- reasons ---- */

/*
 * The 8th reason includes all further ones. Locations that only the kernel can watch are counted
 * separately.
 */
static void test_kernel_reasons(void)
{
	struct probe_kernel_choice choice = begin(LOCATIONS, 64);
	char text[16];

	for (unsigned int i = 1; i <= 9; i++) {
		snprintf(text, sizeof(text), "why %u", i);
		for (unsigned int k = 0; k < i; k++)
			probe_kernel_add_refusal(&choice, 0, i == 2, text);
	}
	for (unsigned int i = 1; i <= 7; i++) {
		snprintf(text, sizeof(text), "why %u", i);
		CHECK(choice.reasons[i - 1].locations == i && !choice.reasons[i - 1].left &&
				choice.reasons[i - 1].asked == (i == 2) &&
				!strcmp(choice.reasons[i - 1].text, text));
	}
	CHECK(choice.reasons[7].locations == 8 + 9 && !strcmp(choice.reasons[7].text, "why 8"));
	choice = begin(LOCATIONS, 64);
	probe_kernel_add_refusal(&choice, 63, false, "why");
	probe_kernel_add_refusal(&choice, 64, true, "why");
	probe_kernel_add_refusal(&choice, 63, true, "why");
	CHECK(choice.reasons[0].locations == 2 && !choice.reasons[0].left &&
			!choice.reasons[0].asked);
	CHECK(choice.reasons[1].locations == 1 && choice.reasons[1].left &&
			choice.reasons[1].asked);
}

static void note(struct refusals *refusals, const char *why, enum resolve_refused what)
{
	const struct resolve_refusal refusal = {.what = what,
			.module = "lib",
			.function = "f",
			.reason = why,
			.address = 0x1000 + refusals->count};

	probe_resolve_add_refusal(refusals, &refusal);
}

/* The 13th reason is only counted. */
static void test_resolve_reasons(void)
{
	static struct refusals refusals;
	char text[16];

	for (unsigned int i = 0; i < 13; i++) {
		snprintf(text, sizeof(text), "why %u", i);
		note(&refusals, text, RESOLVE_LEFT_OUT);
		note(&refusals, text, RESOLVE_LEFT_OUT);
		CHECK(refusals.count == (i < 12 ? i + 1 : 12) &&
				refusals.others == (i < 12 ? 0 : 2));
	}
	CHECK(refusals.reasons[11].count == 2 && !strcmp(refusals.reasons[11].text, "why 11") &&
			!strcmp(refusals.reasons[11].location, "f of lib, at 0x100b"));
	/* The same text about the return is another reason. */
	note(&refusals, "why 11", RESOLVE_NO_RETURN);
	note(&refusals, "why 0", RESOLVE_LEFT_OUT);
	CHECK(refusals.others == 3 && refusals.reasons[0].count == 3);
}

/* The longest text of an error, with the longest hint, is kept whole and counted once. */
static void test_long_reasons(void)
{
	static struct refusals refusals;
	struct probe_kernel_choice choice = begin(LOCATIONS, 64);
	char text[ERROR_TEXT_SIZE], hint[ERROR_HINT_SIZE];
	const struct resolve_refusal refusal = {.what = RESOLVE_LEFT_OUT,
			.module = "lib",
			.function = "f",
			.reason = text,
			.hint = hint};

	memset(text, 't', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(hint, 'h', sizeof(hint) - 1);
	hint[sizeof(hint) - 1] = '\0';
	for (unsigned int i = 0; i < 2; i++) {
		probe_resolve_add_refusal(&refusals, &refusal);
		probe_kernel_add_refusal(&choice, 0, false, text);
	}
	CHECK(refusals.count == 1 && refusals.reasons[0].count == 2 && !refusals.others);
	CHECK(!strcmp(refusals.reasons[0].text, text) && !strcmp(refusals.reasons[0].hint, hint));
	CHECK(choice.reasons[0].locations == 2 && !strcmp(choice.reasons[0].text, text));
	CHECK(!choice.reasons[1].locations);
}

/* ---- tables ---- */

/*
 * If one table of a choice cannot be made, the other ones are closed, and the table for the process
 * stays.
 */
static void test_tables(void)
{
	static const int alone[3] = {[PROBE_KERNEL_ALONE] = 1, [PROBE_KERNEL_MARKED] = 1},
			 all[] = {[PROBE_KERNEL_ALONE] = 1,
					 [PROBE_KERNEL_MARKED] = 1,
					 [PROBE_KERNEL_OTHERS] = 1};
	struct probe_kernel_choice choice = begin(2, 2);

	for (unsigned int which = 0; which < 7; which++) {
		const bool starts = which > 2;
		const unsigned int failing = starts
				? which - 4
				: which - 1; /* The kind of copy; others: none fails. */
		struct probe_kernel kernel = {.table = -1, .others = -1};
		int copies[3], table = memfd_create("given", MFD_CLOEXEC), is_claimed = table;
		unsigned int before = resources_descriptors();

		memcpy(copies, starts ? all : alone, sizeof(copies));
		if (failing < 3)
			copies[failing] = -1;
		is_made = copies;
		if (which == 0 || which == 3) {
			CHECK(make_tables(&choice, starts, &table, &kernel) == COMMAND_DONE);
			CHECK(kernel.table >= 0 && (kernel.others >= 0) == starts);
			CHECK(table >= 0 && table != kernel.table && table != kernel.others);
			CHECK(resources_descriptors() == before + 1 + starts);
			CHECK(!close(kernel.table) && (!starts || !close(kernel.others)));
		} else {
			CHECK(make_tables(&choice, starts, &table, &kernel) == COMMAND_FAILED);
			CHECK(table == is_claimed && kernel.table == -1 && kernel.others == -1);
			CHECK(resources_descriptors() == before);
		}
		CHECK(!close(table));
	}
	is_made = NULL;
	/* Nothing is chosen. */
	choice.nr = 0;
	CHECK(make_tables(&choice, true, NULL, NULL) == COMMAND_DONE);
}

int main(void)
{
	struct resources before = resources_now();

	test_trials();
	test_slow();
	test_kernel_reasons();
	test_resolve_reasons();
	test_long_reasons();
	test_tables();
	CHECK(resources_now().descriptors == before.descriptors);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The path of a hit: sections of libside, the recorder's callback, records of one piece, of words,
 * of names and with contexts. Also hits of several specs, and hits that are not seen. The test
 * includes the file, and replaces libside, the ring and the arguments of events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <side/trace.h>

#include "../called.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/probes/probes.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/core/vfork.h"
#include "tracers/agent/core/recording.h"
#include "libside/section.h"

static struct {
	unsigned int nr_refused; /* this many sections cannot be entered */
	bool no_ours, no_scratch, no_begin, registers;
} played;
static struct agent_event traced;
static struct side_callback callback[3];
static struct probes_scratch scratch_memory;
static uintptr_t epoch_word;
static struct patch_hit one_hit;
static struct ring_producer *const rings = (struct ring_producer *)(void *)&traced;
static const struct side_tracer_sections *found_sections;

static bool play_enter(uintptr_t *epoch, uintptr_t several)
{
	assert_ptr_equal(epoch, &epoch_word);
	if (several || played.nr_refused) {
		played.nr_refused -= !several;
		called("refused\n");
		return false;
	}
	called("enter\n");
	return true;
}

static void play_by_arguments(const struct patch_hit *of, const struct probes_spec *spec,
		const struct probes_layout *method)
{
	assert_ptr_equal(of, &one_hit);
	called("arguments %s\n", spec->entry == method ? "of entry" : "of exit");
}

static void *play_scratch(void)
{
	return played.no_scratch ? NULL : &scratch_memory;
}

static void play_functions(uintptr_t *begin, uintptr_t *end)
{
	*begin = 11;
	*end = 22;
}

static uint8_t *play_begin(const struct agent_event *event, uint8_t *buffer, size_t capacity,
		size_t most, const void *caller)
{
	assert_true(event == &traced && capacity == 512 && (uintptr_t)caller == 4711);
	called("begin %zu\n", most);
	if (played.no_begin)
		return NULL;
	*buffer = 'c';
	return buffer + 1;
}

static void play_end(const struct agent_event *event, const uint8_t *buffer, const uint8_t *end,
		uint64_t ticks)
{
	assert_ptr_equal(event, &traced);
	assert_true(played.no_scratch || buffer == scratch_memory.record);
	called("record \"%.*s\" at %d\n", (int)(end - buffer), (const char *)buffer,
			ticks > 1000 ? 1000 : (int)ticks);
}

static uint64_t play_value(struct probes_event_hit *event_hit, const struct probe_fetch *fetch)
{
	assert_true(event_hit && fetch);
	return 0x5a;
}

static bool play_call(const struct side_event_state *state, const struct side_arg_vec *arguments,
		void *caller, const struct side_tracer_functions *only)
{
	assert_true(state && !arguments->len && !caller && !only->begin && !only->end);
	called("register\n");
	if (played.registers)
		epoch_word = 0;
	return false;
}

static void play_lost(struct ring_producer *producer, uint32_t id, enum ring_loss reason,
		uint32_t cpu, uint64_t count)
{
	assert_true(producer == rings && cpu == UINT32_MAX);
	called("lost %u of %u: %d\n", (unsigned int)count, id, (int)reason);
}

static bool play_is_callback(side_tracer_callback_func call);

static int see_piece(
		struct ring_producer *producer, uint32_t id, uint64_t ticks, const void *payload)
{
	assert_ptr_equal(producer, rings);
	called("piece of %u \"%.*s\" at %d\n", id, traced.timed_size, (const char *)payload,
			ticks > 1000 ? 1000 : (int)ticks);
	return 0;
}

/* The gate of a watched return leads to another address. */
static uint64_t play_return_address(uint64_t address)
{
	uint64_t changed = address;

	if (!memcmp(&address, "gategate", sizeof(address)))
		memcpy(&changed, "returnto", sizeof(changed));
	return changed;
}

#define section_epoch(sections) ((void)(sections), &epoch_word)
#define section_enter(sections, epoch, several) play_enter(epoch, several)
#define section_leave(epoch) ((void)(epoch), called("leave\n"))
#define section_callbacks(state) ((void)(state), callback)
#define section_is_only(state, cb, begin, end) \
	((state) && (cb) == callback && (begin) == 11 && (end) == 22 && !played.no_ours)
#define side_tracer_sections(version) (assert_int_equal(version, SECTIONS_VERSION), found_sections)
#define side_tracer_call play_call
#define agent_record_functions play_functions
#define agent_record_is_callback play_is_callback
#define probe_hit_by_arguments play_by_arguments
#define patch_hit_scratch play_scratch
#define patch_return_address play_return_address
#define recording_begin play_begin
#define recording_end play_end
#define probe_fetch_value play_value
#define context_prepare(set) ((void)(set), called("contexts\n"))
#define ring_count_lost_before play_lost
#include "tracers/agent/probes/record.c"

static void of_recorder(const struct side_event_description *event,
		const struct side_arg_vec *is_allocated, void *priv, void *caller)
{
	(void)event;
	(void)is_allocated;
	(void)priv;
	(void)caller;
}

static void of_other(const struct side_event_description *event,
		const struct side_arg_vec *is_allocated, void *priv, void *caller)
{
	of_recorder(event, is_allocated, priv, (char *)caller + 1);
}

static bool play_is_callback(side_tracer_callback_func call)
{
	return call == of_recorder;
}

/* ---- the environment ---- */

static struct {
	_Alignas(AGENT_LINE) unsigned char bytes[3 * AGENT_LINE];
} lines[2];
static struct probes_spec_details details;
static struct probe_fetch fetches[4];
static struct probes_field fields[4];
static struct probes_step steps[4];
static uint64_t unseen[PROBES_NR_UNSEEN], began;
static struct probes_event event_of_spec = {.fields = fields};
static struct probes_layout entry = {.event = &event_of_spec, .steps = steps},
			    leave = {.event = &event_of_spec, .steps = steps, .leaves = true};
static struct probes_spec *specs[2];

static void reset(void)
{
	memset(&played, 0, sizeof(played));
	memset(&traced, 0, sizeof(traced));
	memset(lines, 0, sizeof(lines));
	memset(&one_hit, 0, sizeof(one_hit));
	memset(unseen, 0, sizeof(unseen));
	memset(&details, 0, sizeof(details));
	entry = (struct probes_layout){.event = &event_of_spec,
			.steps = steps,
			.state = (const struct side_event_state *)(const void *)&traced,
			.piece = PROBES_NO_PIECE,
			.most = 20};
	leave = entry;
	leave.leaves = true;
	event_of_spec.state = entry.state;
	event_of_spec.unseen = unseen;
	for (int i = 0; i < 2; i++) {
		specs[i] = (void *)lines[i].bytes;
		specs[i]->lines = 3;
		specs[i]->entry = &entry;
		specs[i]->exit = &leave;
		*probes_details_of(specs[i]) = &details;
	}
	details.entry_fetches = details.exit_fetches = fetches;
	details.function_bytes = 5;
	memcpy(specs[0]->name, "function", 8);
	callback[0] = (struct side_callback){.call = of_recorder, .priv = &traced};
	memset(&callback[1], 0, 2 * sizeof(callback[0]));
	traced.producer = rings;
	traced.id = 6;
	traced.straight = true;
	one_hit.user = specs[0];
	one_hit.address = 4711;
	one_hit.now = 77;
	one_hit.began = &began;
	memcpy(&one_hit.registers.rax, "abcdefgh", 8);
	memcpy(&one_hit.registers.rdx, "ijklmnop", 8);
	epoch_word = 0;
	agent_vforked = 0;
	began = 0;
	*calls = '\0';
}

static void happen(bool leaves, const char *wanted)
{
	if (leaves)
		probe_hit_exit(&one_hit);
	else
		probe_hit_entry(&one_hit);
	assert_called(wanted);
}

static void test_start(void **unused)
{
	(void)unused;
	assert_int_equal(no_sections.gp, SECTION_SLOW);
	assert_ptr_equal(known.sections, &no_sections);
	probe_record_start();
	assert_true(known.sections == &no_sections && known.gp_only.begin == 11 &&
			known.gp_only.end == 22);
	found_sections = (const struct side_tracer_sections *)(const void *)&played;
	probe_record_start();
	assert_ptr_equal(known.sections, found_sections);
}

/* ---- records ---- */

static void test_pieces(void **unused)
{
	uint64_t top;

	(void)unused;
	reset();
	memcpy(&top, "qrstuvwx", sizeof(top));
	entry.piece = leave.piece = traced.timed_size = 8;
	entry.from = leave.from = offsetof(struct patch_hit, registers.rax);
	traced.publish_timed = see_piece;
	happen(false, "enter\npiece of 6 \"abcdefgh\" at 1000\nleave\n");
	assert_int_equal(began, 0);
	happen(true, "enter\npiece of 6 \"abcdefgh\" at 77\nleave\n");
	one_hit.call = 1;
	happen(false, "enter\npiece of 6 \"abcdefgh\" at 1000\nleave\n");
	assert_true(began > 1000);
	/* Two words that are not adjacent. */
	entry.piece = traced.timed_size = 16;
	entry.second = offsetof(struct patch_hit, registers.rdx);
	happen(false, "enter\npiece of 6 \"abcdefghijklmnop\" at 1000\nleave\n");
	/* A word of the hit, and the return address, which may be watched. */
	entry.second = 0;
	entry.second_is_top = true;
	one_hit.stack = &top;
	happen(false, "enter\npiece of 6 \"abcdefghqrstuvwx\" at 1000\nleave\n");
	memcpy(&top, "gategate", sizeof(top));
	happen(false, "enter\npiece of 6 \"abcdefghreturnto\" at 1000\nleave\n");
	entry.second_is_top = false;
	/* Another size, no function, a child of vfork(), no rings. */
	entry.piece = 8;
	one_hit.call = 0;
	happen(false, "enter\nrecord \"\" at 0\nleave\n");
	entry.piece = 16;
	traced.publish_timed = NULL;
	happen(false, "enter\nrecord \"\" at 0\nleave\n");
	traced.publish_timed = see_piece;
	agent_vforked = 1;
	happen(false, "enter\nbegin 20\nrecord \"c\" at 0\nleave\n");
	agent_vforked = 0;
	traced.producer = NULL;
	happen(false, "enter\nbegin 20\nrecord \"c\" at 0\nleave\n");
}

static void test_records(void **unused)
{
	(void)unused;
	reset();
	steps[0] = (struct probes_step){.kind = PROBES_STEP_PLAIN,
			.size = 8,
			.from = offsetof(struct patch_hit, registers.rdx)};
	steps[1] = (struct probes_step){.kind = PROBES_STEP_VALUE, .size = 1};
	steps[2] = (struct probes_step){.kind = PROBES_STEP_PLAIN,
			.size = 2,
			.from = offsetof(struct patch_hit, registers.rax)};
	entry.nr_steps = entry.nr_plain = entry.nr_words = 1;
	happen(false, "enter\nrecord \"ijklmnop\" at 0\nleave\n");
	one_hit.call = 1;
	happen(false, "enter\nrecord \"ijklmnop\" at 1000\nleave\n");
	assert_true(began > 1000);
	leave.nr_steps = leave.nr_plain = leave.nr_words = 1;
	happen(true, "enter\nrecord \"ijklmnop\" at 77\nleave\n");
	one_hit.call = 0;
	/* A field is fetched. */
	entry.nr_steps = 3;
	happen(false, "enter\nbegin 20\nrecord \"cijklmnopZab\" at 0\nleave\n");
	played.no_scratch = true;
	happen(false, "enter\nbegin 20\nrecord \"cijklmnopZab\" at 0\nleave\n");
	played.no_scratch = false;
	played.no_begin = true;
	happen(false, "enter\nbegin 20\nleave\narguments of entry\n");
	played.no_begin = false;
	/* With contexts. */
	entry.nr_steps = 1;
	traced.contexts = (const struct context_set *)(const void *)&played;
	happen(false, "enter\ncontexts\nbegin 20\nrecord \"cijklmnop\" at 0\nleave\n");
	agent_vforked = 1;
	happen(false, "enter\nbegin 20\nrecord \"cijklmnop\" at 0\nleave\n");
	agent_vforked = 0;
	traced.contexts = NULL;
	/* As many bytes as the buffer has, and one more; names count with their size. */
	entry.most = 512;
	happen(false, "enter\nrecord \"ijklmnop\" at 0\nleave\n");
	entry.most = 513;
	happen(false, "enter\nleave\narguments of entry\n");
	entry.most = 502;
	entry.nr_names = 2;
	happen(false, "enter\nrecord \"ijklmnop\" at 0\nleave\n");
	entry.most = 503;
	happen(false, "enter\nleave\narguments of entry\n");
	/* Another callback listens. */
	played.no_ours = true;
	happen(false, "enter\nleave\narguments of entry\n");
	happen(true, "enter\nleave\narguments of exit\n");
}

static void test_names(void **unused)
{
	(void)unused;
	reset();
	entry.named = true;
	specs[0]->name_bytes = 5;
	happen(false, "enter\nrecord \"funct\" at 0\nleave\n");
	specs[0]->name_bytes = 8;
	entry.nr_behind = 1;
	entry.words[0] = offsetof(struct patch_hit, registers.rdx);
	happen(false, "enter\nrecord \"functionijklmnop\" at 0\nleave\n");
	one_hit.call = 1;
	happen(false, "enter\nrecord \"functionijklmnop\" at 1000\nleave\n");
	one_hit.call = 0;
	/* A name that is too long for the spec, or an event with contexts. */
	specs[0]->name_bytes = 0;
	happen(false, "enter\nrecord \"\" at 0\nleave\n");
	specs[0]->name_bytes = 8;
	traced.straight = false;
	happen(false, "enter\nbegin 20\nrecord \"c\" at 0\nleave\n");
}

/* ---- specs and sections ---- */

static void test_several(void **unused)
{
	(void)unused;
	reset();
	specs[0]->next = specs[1];
	specs[1]->exit = NULL;
	happen(false, "refused\nenter\nrecord \"\" at 0\nleave\nenter\nrecord \"\" at 0\nleave\n");
	happen(true, "refused\nenter\nrecord \"\" at 77\nleave\n");
	/* The first spec is for the exit only. */
	specs[0]->entry = NULL;
	happen(false, "enter\nrecord \"\" at 0\nleave\n");
	specs[0]->exit = NULL;
	happen(true, "");
	one_hit.user = NULL;
	happen(false, "");
}

static void test_sections(void **unused)
{
	(void)unused;
	reset();
	/* Inside another event: by arguments. */
	played.nr_refused = 2;
	happen(false, "refused\nrefused\narguments of entry\n");
	played.nr_refused = 1;
	happen(false, "refused\nenter\nrecord \"\" at 0\nleave\n");
	/* A new thread is registered first. */
	epoch_word = SECTION_SLOW;
	played.registers = true;
	played.nr_refused = 2;
	happen(false, "refused\nrefused\nregister\nenter\nrecord \"\" at 0\nleave\n");
	epoch_word = SECTION_SLOW;
	played.nr_refused = 3;
	happen(true, "refused\nrefused\nregister\nrefused\narguments of exit\n");
	/* A child of vfork() cannot do that. */
	epoch_word = SECTION_SLOW;
	agent_vforked = CONTEXT_VFORKED;
	played.nr_refused = 2;
	happen(false, "refused\nrefused\n");
	assert_int_equal(unseen[PROBES_UNSEEN_VFORK], 1);
	agent_vforked = CONTEXT_SHARES_MEMORY;
	played.nr_refused = 2;
	happen(false, "refused\nrefused\nregister\nenter\nbegin 20\nrecord \"c\" at 0\nleave\n");
	assert_int_equal(unseen[PROBES_UNSEEN_VFORK], 1);
}

/* ---- hits that are not seen ---- */

static void test_unseen(void **unused)
{
	char wanted[512] = "enter\n";

	(void)unused;
	reset();
	for (unsigned int i = 0; i < PROBES_NR_UNSEEN; i++) {
		static const int reasons[PROBES_NR_UNSEEN] = {
				[PATCH_UNSEEN_FULL] = RING_LOST_RETURN_FULL,
				[PATCH_UNSEEN_CALLER] = RING_LOST_RETURN_CALLER,
				[PATCH_UNSEEN_PROCESS] = RING_LOST_SHARED,
				[PATCH_UNSEEN_COPIED] = RING_LOST_RETURN_COPIED,
				[PROBES_UNSEEN_MEMORY] = RING_LOST_NO_BUFFER,
				[PROBES_UNSEEN_VFORK] = RING_LOST_NESTED,
		};

		unseen[i] = 10 + i;
		snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted),
				"lost %u of 6: %d\n", 10 + i, reasons[i]);
	}
	strcat(wanted, "leave\n");
	/* The recorder's callback is not the first one. */
	callback[1] = callback[0];
	callback[0] = (struct side_callback){.call = of_other};
	probe_count_unseen(&event_of_spec);
	assert_called(wanted);
	probe_count_unseen(&event_of_spec);
	assert_called("enter\nleave\n");
	unseen[0] = 3;
	played.nr_refused = 1;
	probe_count_unseen(&event_of_spec);
	assert_called("refused\n");
	probe_count_unseen_locked(&event_of_spec);
	snprintf(wanted, sizeof(wanted), "lost 3 of 6: %d\n", (int)RING_LOST_RETURN_FULL);
	if (PATCH_UNSEEN_FULL == 0)
		assert_called(wanted);
	*calls = '\0';
	/*
	 * No callback of the recorder, no rings, or a child in the parent's memory: counted later.
	 */
	unseen[0] = 3;
	callback[1] = (struct side_callback){.call = NULL};
	probe_count_unseen_locked(&event_of_spec);
	callback[0] = (struct side_callback){.call = of_recorder, .priv = &traced};
	traced.producer = NULL;
	probe_count_unseen_locked(&event_of_spec);
	traced.producer = rings;
	agent_vforked = CONTEXT_VFORKED;
	probe_count_unseen_locked(&event_of_spec);
	assert_called("");
	agent_vforked = CONTEXT_SHARES_MEMORY;
	probe_count_unseen_locked(&event_of_spec);
	assert_non_null(strstr(calls, "lost 3 of 6"));
	agent_vforked = 0;
	*calls = '\0';
	event_of_spec.state = NULL;
	unseen[0] = 3;
	probe_count_unseen(&event_of_spec);
	probe_count_unseen_locked(&event_of_spec);
	assert_called("");
	/* At a hit: the event of each exit. */
	reset();
	specs[0]->next = specs[1];
	specs[0]->exit = NULL;
	played.nr_refused = 0;
	probe_hit_unseen(&one_hit, PATCH_UNSEEN_CALLER);
	snprintf(wanted, sizeof(wanted), "enter\nlost 1 of 6: %d\nleave\n",
			(int)RING_LOST_RETURN_CALLER);
	assert_called(wanted);
	played.nr_refused = 1;
	probe_hit_unseen(&one_hit, PATCH_UNSEEN_CALLER);
	assert_called("refused\n");
	assert_int_equal(unseen[PATCH_UNSEEN_CALLER], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_pieces),
			cmocka_unit_test(test_records),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_several),
			cmocka_unit_test(test_sections),
			cmocka_unit_test(test_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

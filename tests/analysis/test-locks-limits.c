/* SPDX-License-Identifier: MIT */
/* Limits of threads and stacks of locks. It includes a file to call its static functions. */
#include "analysis/locks-walk.c"

#include "tests/check.h"

/* An event of one field: a caller, or a stack of this many frames. */
struct locks_record {
	struct ctf_type type, field, element;
	struct ctf_member member;
	struct ctf_value values[2 + LOCKS_FRAMES_MAX + 1];
	struct ctf_event_class event;
	struct ctf_trace trace;
	struct ctf_item item;
};

static void make_record(struct locks_record *record, uint32_t frames)
{
	*record = (struct locks_record){
			.field = {.kind = frames ? CTF_SEQUENCE : CTF_INTEGER, .size = 64},
			.element = {.kind = CTF_INTEGER, .size = 64},
			.event = {.name = "pthread:pthread_mutex_lock"},
	};
	record->field.element = &record->element;
	record->member = (struct ctf_member){
			.name = frames ? "backtrace" : "caller", .type = &record->field};
	record->type = (struct ctf_type){
			.kind = CTF_STRUCT, .members = &record->member, .member_count = 1};
	record->values[0] =
			(struct ctf_value){.type = &record->type, .count = 1, .span = frames + 2};
	record->values[1] = (struct ctf_value){.type = &record->field,
			.member = &record->member,
			.count = frames,
			.span = frames + 1};
	for (uint32_t i = 0; i < frames; i++)
		record->values[2 + i] = (struct ctf_value){
				.type = &record->element, .u = 0x1000 + i, .span = 1};
	record->item = (struct ctf_item){
			.trace = &record->trace, .event = &record->event, .fields = record->values};
}

static void test_threads(void)
{
	struct locks locks = {.thread_keys = {.limit = LOCKS_THREADS_MAX}};
	struct locks_event event = {.ns = 0};

	for (int64_t i = 0; i < LOCKS_THREADS_MAX; i++)
		CHECK(!locks_find_thread(&locks, &event, i) && event.thread == (uint32_t)i);
	CHECK(!locks.not_followed);
	CHECK(!locks_find_thread(&locks, &event, LOCKS_THREADS_MAX));
	CHECK(event.thread == KEYS_NONE && locks.not_followed == 1);
	CHECK(!locks_find_thread(&locks, &event, 7) && event.thread == 7);
	free(locks.threads);
	keys_free(&locks.thread_keys);
}

static void test_stacks(void)
{
	struct locks locks = {.stack_keys = {.limit = LOCKS_STACKS_MAX}};
	struct locks_event event = {.ns = 0};
	struct locks_record record;
	struct locks_class *class;
	uint64_t frames[LOCKS_FRAMES_MAX];

	make_record(&record, 0);
	class = locks_class_create(&record.item);
	CHECK(class);
	for (uint64_t i = 0; i < LOCKS_STACKS_MAX; i++) {
		record.values[1].u = i;
		CHECK(!locks_find_stack_of(&locks, &event, class, &record.item));
		CHECK(event.stack == i && event.place == i);
	}
	record.values[1].u = LOCKS_STACKS_MAX;
	CHECK(!locks_find_stack_of(&locks, &event, class, &record.item));
	/* The place is known even so. */
	CHECK(event.stack == LOCKS_NONE && event.place == LOCKS_STACKS_MAX);
	CHECK(locks_stack_frames(&locks, LOCKS_NONE, frames) == 0);
	CHECK(locks_stack_frames(&locks, 9, frames) == 1 && frames[0] == 9);
	free(class);
	free(locks.stacks);
	keys_free(&locks.stack_keys);
}

static void test_frames(uint32_t count)
{
	struct locks locks = {.lost = 0};
	struct locks_event event = {.ns = 0};
	struct locks_record record;
	struct locks_class *class;
	uint64_t frames[LOCKS_FRAMES_MAX];
	uint32_t kept = count < LOCKS_FRAMES_MAX ? count : LOCKS_FRAMES_MAX;

	make_record(&record, count);
	class = locks_class_create(&record.item);
	CHECK(class);
	CHECK(!locks_find_stack_of(&locks, &event, class, &record.item));
	CHECK(locks_stack_frames(&locks, event.stack, frames) == kept);
	for (uint32_t i = 0; i < kept; i++)
		CHECK(frames[i] == 0x1000 + i);
	free(class);
	free(locks.stacks);
	keys_free(&locks.stack_keys);
}

int main(void)
{
	test_threads();
	test_stacks();
	test_frames(1);
	test_frames(LOCKS_FRAMES_MAX);
	test_frames(LOCKS_FRAMES_MAX + 1);
	return 0;
}

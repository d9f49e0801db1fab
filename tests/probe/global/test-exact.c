/* SPDX-License-Identifier: MIT */
/*
 * Exact values of global probes, without a kernel that permits them: definitions of tracefs,
 * samples of perf, calls and their returns, changed code in processes. The test includes the files,
 * so that it can call their static functions with chosen values.
 */
#include "probe/uprobe/assemble.c"
#include "probe/uprobe/conflict.c"
#include "probe/uprobe/descriptors.c"
#include "probe/uprobe/global.c"
#include "probe/uprobe/pairs.c"
#include "probe/uprobe/perf.c"
#include "probe/uprobe/replaced.c"

#include <sys/utsname.h>

static const char *release; /* of the kernel; NULL: unknown */

static int played_uname(struct utsname *system)
{
	(void)snprintf(system->release, sizeof(system->release), "%s", release ? release : "");
	return release ? 0 : -1;
}

#define uname(system) played_uname(system)
#include "probe/uprobe/sides.c"
#undef uname
#include "probe/uprobe/text.c"
#include "probe/uprobe/tracefs.c"

#include <sys/prctl.h>
#include <sys/wait.h>

#include "../../check.h"

static struct error error;

static bool is_refused(int ret, int expected, const char *text, const char *hint)
{
	if (ret == expected && strstr(error.text, text) && !strncmp(error.hint, hint, strlen(hint)))
		return true;
	fprintf(stderr, "%d: %s; %s\n", ret, error.text, error.hint);
	return false;
}

/* ---- definitions ---- */

static struct probe_fetch_op fetch_op(uint8_t code, uint8_t reg, uint8_t size, int64_t value)
{
	struct probe_fetch_op op = {.code = code, .reg = reg, .size = size, .value = value};

	return op;
}

#define REGISTER(n) fetch_op(PROBE_FETCH_REGISTER, n, 8, 0)
#define ADD(n) fetch_op(PROBE_FETCH_ADD, 0, 8, n)
#define LOAD(n) fetch_op(PROBE_FETCH_LOAD, 0, n, 0)
#define OP(code) fetch_op(code, 0, 8, 0)

static struct global_field field_of(const struct probe_fetch_op *ops, uint16_t nr_ops)
{
	struct global_field field = {.source = GLOBAL_FETCHED};

	field.field.name = "cups";
	field.field.size = 8;
	field.fetch = (struct probe_fetch){.ops = ops, .nr_ops = nr_ops};
	return field;
}

#define FIELD(...)                                                             \
	field_of((const struct probe_fetch_op[]){__VA_ARGS__},                 \
			sizeof((const struct probe_fetch_op[]){__VA_ARGS__}) / \
					sizeof(struct probe_fetch_op))

static bool defines(const struct global_side *side, const struct global_field *field,
		const char *expected)
{
	char text[EXPRESSION_MAX + 24] = "";
	int ret = text_write_expression(side, field, text, &error);

	if (!expected)
		return is_refused(ret, -ENOTSUP,
				"`cups` cannot be expressed in a definition of tracefs", "");
	if (ret || strcmp(text, expected) != 0)
		fprintf(stderr, "%d: %s instead of %s\n", ret, text, expected);
	return !ret && !strcmp(text, expected);
}

static void test_numbers(void)
{
	struct global_side entry = {.address = 0x1000}, exit = {.address = 0x1000, .exit = true};
	struct global_field field;

	field = FIELD(REGISTER(5));
	CHECK(defines(&entry, &field, "%di:u64"));
	field = FIELD(REGISTER(16));
	CHECK(defines(&entry, &field, "%ip:u64"));
	field = FIELD(REGISTER(17));
	CHECK(defines(&entry, &field, NULL));
	field = FIELD(REGISTER(0), ADD(8), LOAD(4));
	CHECK(defines(&entry, &field, "+8(%ax):u32"));
	field = FIELD(REGISTER(0), ADD(8), ADD(-16), LOAD(8), ADD(24), LOAD(2));
	CHECK(defines(&entry, &field, "+24(-8(%ax)):u16"));
	/* Four bytes of a pointer are not an address. */
	field = FIELD(REGISTER(0), LOAD(4), LOAD(8));
	CHECK(defines(&entry, &field, NULL));
	/*
	 * Operations after the last read are calculated later, unless they use another register or
	 * combine two values.
	 */
	field = FIELD(REGISTER(0), LOAD(8), ADD(3), fetch_op(PROBE_FETCH_SHIFT_RIGHT, 0, 3, 0));
	CHECK(defines(&entry, &field, "+0(%ax):u64") && text_nr_executed(&field.fetch) == 2);
	field = FIELD(REGISTER(0), LOAD(8), fetch_op(PROBE_FETCH_ADD_REGISTER, 1, 8, 0));
	CHECK(defines(&entry, &field, NULL));
	field = FIELD(REGISTER(0), LOAD(8), OP(PROBE_FETCH_PUSH));
	CHECK(defines(&entry, &field, NULL));
	field = FIELD(REGISTER(0), OP(PROBE_FETCH_PUSH), LOAD(8));
	CHECK(defines(&entry, &field, NULL));
	field = FIELD(fetch_op(PROBE_FETCH_MODULE, 0, 8, 0x1234), LOAD(1));
	CHECK(defines(&entry, &field, "+564(%ip):u8") && defines(&exit, &field, NULL));
	field = FIELD(fetch_op(PROBE_FETCH_MODULE, 0, 8, 0x1234));
	CHECK(defines(&entry, &field, NULL));
	field = FIELD(OP(PROBE_FETCH_SITE));
	CHECK(defines(&entry, &field, "%ip:u64") && defines(&exit, &field, NULL));
	field = FIELD(OP(PROBE_FETCH_RETURN));
	CHECK(defines(&entry, &field, "+0(%sp):u64") && defines(&exit, &field, "%ip:u64"));
	field = FIELD(OP(PROBE_FETCH_CONSTANT));
	CHECK(defines(&entry, &field, NULL));
	field.fetch.nr_ops = 0;
	CHECK(defines(&entry, &field, NULL));
}

static void test_texts(void)
{
	struct probe_fetch_op ops[] = {REGISTER(0), ADD(INT64_C(1000000000000000)), LOAD(8),
			ADD(INT64_C(1000000000000000)), LOAD(8), ADD(INT64_C(1000000000000000000)),
			LOAD(8)};
	struct global_side entry = {.address = 0x1000};
	struct global_field field = FIELD(REGISTER(4), ADD(7));

	field.capacity = 16;
	field.field.type = PROBE_FIELD_STRING;
	field.field.limit = 200;
	CHECK(defines(&entry, &field, "+7(%si):string"));
	field.field.type = PROBE_FIELD_BYTES;
	field.field.size = 2;
	field.field.limit = 32;
	CHECK(defines(&entry, &field, "+7(%si):u8[64]"));
	field.field.limit = 33;
	CHECK(defines(&entry, &field, NULL));
	/* The longest text that the kernel accepts, and one byte more. */
	field = field_of(ops, 7);
	CHECK(defines(&entry, &field,
			"+1000000000000000000(+1000000000000000(+1000000000000000(%ax))):u64"));
	ops[3].value *= 10;
	CHECK(defines(&entry, &field, NULL));
}

static void test_arguments(void)
{
	struct global_side side = {.address = 0x1000};
	struct global_field fields[ARGUMENTS_MAX + 1];
	char text[8192];

	side.fields = fields;
	side.nr_fields = 3;
	fields[0] = FIELD(REGISTER(0));
	fields[1] = FIELD(REGISTER(1));
	fields[1].source = GLOBAL_CALL;
	fields[2] = FIELD(REGISTER(2));
	CHECK(!text_arguments(&side, text, sizeof(text), &error));
	CHECK(!strcmp(text, " stack=%sp:u64 name=$comm:string f0=%ax:u64 f2=%cx:u64"));
	CHECK(!text_arguments(&side, text, strlen(text) + 1, &error));
	CHECK(is_refused(text_arguments(&side, text, strlen(text), &error), -E2BIG,
			"the recorded fields are too many", "request fewer values"));
	side.nr_fields = ARGUMENTS_MAX;
	for (uint32_t i = 1; i <= ARGUMENTS_MAX; i++)
		fields[i] = fields[0];
	CHECK(!text_arguments(&side, text, sizeof(text), &error));
	side.nr_fields++;
	CHECK(is_refused(text_arguments(&side, text, sizeof(text), &error), -E2BIG,
			"the recorded fields are too many", "request fewer values"));
}

/* ---- fields ---- */

static enum global_source source_with(
		const struct probe_fetch_op *ops, uint16_t nr, uint64_t *constant)
{
	struct global_side side = {.address = 0x4321, .size = 24};
	struct global_field field = field_of(ops, nr);

	uprobe_side_make_field(&side, &field);
	*constant = field.constant;
	CHECK(field.source != GLOBAL_FETCHED || (field.at == 24 && side.size == 32));
	return field.source;
}

#define SOURCE(...)                                                            \
	source_with((const struct probe_fetch_op[]){__VA_ARGS__},              \
			sizeof((const struct probe_fetch_op[]){__VA_ARGS__}) / \
					sizeof(struct probe_fetch_op),         \
			&constant)

static void test_sources(void)
{
	struct global_side exit = {.address = 0x4321, .exit = true, .size = 16};
	struct global_field field = FIELD(OP(PROBE_FETCH_SITE));
	uint64_t constant;

	CHECK(SOURCE(OP(PROBE_FETCH_CALL)) == GLOBAL_CALL);
	CHECK(SOURCE(OP(PROBE_FETCH_DURATION)) == GLOBAL_DURATION);
	CHECK(SOURCE(OP(PROBE_FETCH_FUNCTION)) == GLOBAL_FUNCTION);
	CHECK(SOURCE(OP(PROBE_FETCH_UNREADABLE)) == GLOBAL_UNREADABLE);
	CHECK(SOURCE(REGISTER(1)) == GLOBAL_FETCHED);
	CHECK(SOURCE(OP(PROBE_FETCH_CALL), ADD(1)) == GLOBAL_FETCHED);
	CHECK(SOURCE(fetch_op(PROBE_FETCH_CONSTANT, 0, 8, 0x1ff), ADD(2)) == GLOBAL_CONSTANT &&
			constant == 0x201);
	CHECK(SOURCE(fetch_op(PROBE_FETCH_CONSTANT, 0, 8, 0x1ff),
			      fetch_op(PROBE_FETCH_ZERO_EXTEND, 0, 8, 0)) == GLOBAL_CONSTANT &&
			constant == 0xff);
	CHECK(SOURCE(fetch_op(PROBE_FETCH_CONSTANT, 0, 8, 0x1ff),
			      fetch_op(PROBE_FETCH_SIGN_EXTEND, 0, 8, 0)) == GLOBAL_CONSTANT &&
			constant == UINT64_MAX);
	CHECK(SOURCE(fetch_op(PROBE_FETCH_CONSTANT, 0, 8, 0x1ff),
			      fetch_op(PROBE_FETCH_SHIFT_RIGHT, 0, 4, 0)) == GLOBAL_CONSTANT &&
			constant == 0x1f);
	CHECK(SOURCE(OP(PROBE_FETCH_SITE)) == GLOBAL_FETCHED);
	uprobe_side_make_field(&exit, &field);
	CHECK(field.source == GLOBAL_CONSTANT && field.constant == 0x4321 && exit.size == 16);
	field = FIELD(REGISTER(1));
	field.field.type = PROBE_FIELD_STRING;
	field.field.limit = 16;
	uprobe_side_make_field(&exit, &field);
	CHECK(field.at == 16 && field.capacity == 24 && exit.size == 16 + 8 + 24);
	field.field.limit = 15;
	uprobe_side_make_field(&exit, &field);
	CHECK(field.at == 48 && field.capacity == 16);
	field = FIELD(ADD(5), ADD(7));
	CHECK(uprobe_fetch_finish(&field.fetch, 1, 100) == 107);
}

static void test_offsets(void)
{
	Elf64_Ehdr head = {.e_ident = ELFMAG,
			.e_phoff = 64,
			.e_phnum = 2,
			.e_phentsize = sizeof(Elf64_Phdr)};
	Elf64_Phdr segments[] = {{.p_type = PT_NOTE, .p_vaddr = 0x1000, .p_filesz = 0x1000},
			{.p_type = PT_LOAD,
					.p_vaddr = 0x1100,
					.p_filesz = 0x200,
					.p_offset = 0x40}};
	char path[] = "/tmp/side-global-XXXXXX";
	int fd = mkstemp(path), kept;
	uint64_t offset = 0;

	CHECK(fd >= 0 && pwrite(fd, &head, sizeof(head), 0) == sizeof(head));
	CHECK(pwrite(fd, segments, sizeof(segments), 64) == sizeof(segments));
	CHECK(!uprobe_file_offset(path, 0x1100, &offset) && offset == 0x40);
	CHECK(!uprobe_file_offset(path, 0x12ff, &offset) && offset == 0x23f);
	CHECK(uprobe_file_offset(path, 0x1300, &offset) == -ENXIO &&
			uprobe_file_offset(path, 0x10ff, &offset) == -ENXIO && offset == 0x23f);
	head.e_phentsize++;
	CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head) &&
			uprobe_file_offset(path, 0x1100, &offset) == -ENXIO);
	head.e_phentsize--;
	head.e_ident[0] = 0;
	CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head) &&
			uprobe_file_offset(path, 0x1100, &offset) == -ENXIO);
	CHECK(uprobe_file_offset("/nowhere/at/all", 0x1100, &offset) == -ENOENT);
	CHECK(uprobe_file_offset("/", 0x1100, &offset) == -EISDIR);
	head.e_ident[0] = ELFMAG0;
	CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head) &&
			!uprobe_file_offset(path, 0x1100, &offset) && offset == 0x40);
	CHECK(!ftruncate(fd, 64 + 2 * sizeof(*segments) - 1) &&
			uprobe_file_offset(path, 0x1100, &offset) == -ENXIO);
	CHECK(!ftruncate(fd, sizeof(head) - 1) &&
			uprobe_file_offset(path, 0x1100, &offset) == -ENXIO);
	CHECK(pwrite(fd, "\x90\x0f\x1f\x44\x00\x00", 6, 0x300) == 6);
	CHECK(side_has_long_nop_after(path, 0x300) && !side_has_long_nop_after(path, 0x2ff) &&
			!side_has_long_nop_after(path, 0x301) &&
			!side_has_long_nop_after("/nowhere", 0x300));
	/* The file has descriptor 0, and is closed. */
	kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
	close(0);
	CHECK(side_has_long_nop_after(path, 0x300) && fcntl(0, F_GETFD) == -1);
	CHECK(uprobe_file_offset(path, 0x1100, &offset) == -ENXIO && fcntl(0, F_GETFD) == -1);
	CHECK(dup2(kept, 0) == 0 && !close(kept));
	close(fd);
	unlink(path);
}

/* Linux 6.18 and later. */
static void test_release(void)
{
	static const struct {
		const char *text;
		bool takes;
	} releases[] = {{"6.18.0", true}, {"6.17.9", false}, {"6.18", true}, {"6.19-rc1", true},
			{"7.0.1", true}, {"5.99", false}, {"6", false}, {"x.18", false},
			{"10.2", true}};

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		release = releases[i].text;
		CHECK(side_kernel_takes_call() == releases[i].takes);
	}
	release = NULL;
	CHECK(!side_kernel_takes_call());
}

/* ---- calls and returns ---- */

static struct global_hit note_at(struct uprobe_pairs *pairs, const struct global_side *side,
		uint32_t tid, uint64_t sp, uint64_t time)
{
	struct global_hit hit = {.side = side, .tid = tid};

	global_pairs_note(pairs, &(struct hit_record){.sp = sp, .time = time}, &hit);
	return hit;
}

static void test_pairs(void)
{
	const struct global_side in = {.address = 1, .table = 1},
				 other = {.address = 2, .table = 1};
	const struct global_side out = {.address = 1, .table = 1, .exit = true};
	const struct global_side other_out = {.address = 2, .table = 1, .exit = true};
	const struct global_side foreign = {.address = 1, .table = 2, .exit = true};
	struct uprobe_pairs *pairs = global_pairs_new();
	struct global_hit hit;

	CHECK(note_at(pairs, &in, 7, 1000, 10).call == 1 &&
			note_at(pairs, &other, 7, 900, 13).call == 2);
	/* A thread in the same bucket. */
	CHECK(note_at(pairs, &in, 7 + BUCKETS, 1000, 17).call == 3 && pairs->open == 3);
	CHECK(note_at(pairs, &foreign, 7, 1008, 20).call == 0 &&
			note_at(pairs, &out, 7, 1000, 20).call == 0);
	CHECK(note_at(pairs, &out, 8, 1008, 20).call == 0 && pairs->open == 3);
	hit = note_at(pairs, &other_out, 7, 908, 24);
	CHECK(hit.call == 2 && hit.duration == 11 && pairs->open == 2);
	/* A call that never returns is removed together with the call around it. */
	CHECK(note_at(pairs, &other, 7, 800, 30).call == 4);
	hit = note_at(pairs, &out, 7, 1008, 41);
	CHECK(hit.call == 1 && hit.duration == 31 && pairs->open == 1);
	hit = note_at(pairs, &out, 7 + BUCKETS, 1008, 50);
	CHECK(hit.call == 3 && hit.duration == 33 && pairs->open == 0 && !pairs->buckets[7]);
	pairs->open = CALLS_MAX - 1;
	CHECK(note_at(pairs, &in, 9, 1000, 60).call == 5 && pairs->open == CALLS_MAX);
	CHECK(note_at(pairs, &in, 9, 900, 61).call == 6 && pairs->open == CALLS_MAX);
	CHECK(note_at(pairs, &out, 9, 908, 62).call == 0);
	CHECK(note_at(pairs, &out, 9, 1008, 63).call == 5);
	/*
	 * Calls that are open at the end: of the first bucket, of several threads in one, and of
	 * the last number.
	 */
	pairs->open = 0;
	CHECK(note_at(pairs, &in, BUCKETS, 1000, 64).call == 7 && pairs->buckets[0]);
	CHECK(note_at(pairs, &in, 3 * BUCKETS, 1000, 65).call == 8);
	CHECK(note_at(pairs, &in, BUCKETS, 900, 66).call == 9);
	CHECK(note_at(pairs, &in, UINT32_MAX, 1000, 67).call == 10);
	CHECK(pairs->buckets[BUCKETS - 1]->tid == UINT32_MAX && pairs->open == 4);
	global_pairs_free(pairs);
	global_pairs_free(NULL);
}

/* ---- samples ---- */

static const struct perf_argument at_8 = {.at = 8, .size = 4};

static void test_format(void)
{
	const char *format = "\tfield:u64 stack;\toffset:8;\tsize:8;\tsigned:0;\n"
			     "\tfield:u8 f1[16];\toffset:16;\tsize:16;\tsigned:0;\n"
			     "\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:1;\n";
	struct perf_argument found = {0};

	CHECK(perf_find_argument(format, "stack", &found) && found.at == 8 && found.size == 8);
	CHECK(perf_find_argument(format, "f1", &found) && found.at == 16 && found.size == 16);
	CHECK(perf_find_argument(format, "name", &found) && found.at == 32 && found.size == 4);
	CHECK(!perf_find_argument(format, "f", &found) &&
			!perf_find_argument(format, "ame", &found));
	CHECK(!perf_find_argument(" f2; here it ends", "f2", &found));
}

static void test_sample(void)
{
	unsigned char bytes[64] = {0};
	struct uprobe_sample sample = {0};
	uint32_t words[] = {11, 12, 13, 0, 14, 0, 5};
	uint64_t cgroup = 99;

	memcpy(bytes, words, sizeof(words));
	memcpy(bytes + 28 + 5, &cgroup, 8);
	CHECK(perf_parse_sample(bytes, 33, false, &sample) && sample.pid == 11 &&
			sample.tid == 12 && sample.time == 13 && sample.cpu == 14 &&
			sample.size == 5 && sample.raw == bytes + 28 && !sample.cgroup);
	CHECK(perf_parse_sample(bytes, 41, true, &sample) && sample.cgroup == 99);
	sample.cgroup = 0;
	CHECK(perf_parse_sample(bytes, 40, true, &sample) && !sample.cgroup);
	CHECK(!perf_parse_sample(bytes, 32, false, &sample) &&
			!perf_parse_sample(bytes, 27, false, &sample));
}

static void test_values(void)
{
	unsigned char raw[48] = {0};
	struct uprobe_sample sample = {.raw = raw, .size = 40};
	uint32_t length = 99, location = 7u << 16 | 20;

	memcpy(raw + 8, &location, 4);
	memcpy(raw + 20, "silver", 7);
	CHECK(uprobe_perf_read_number(&sample, &at_8) == location);
	CHECK(uprobe_perf_read_number(&sample, &(struct perf_argument){.at = 36, .size = 4}) == 0);
	memcpy(raw + 36, &location, 4);
	CHECK(uprobe_perf_read_number(&sample, &(struct perf_argument){.at = 36, .size = 4}) ==
			location);
	CHECK(uprobe_perf_read_number(&sample, &(struct perf_argument){.at = 37, .size = 4}) == 0);
	CHECK(uprobe_perf_read_number(&sample, &(struct perf_argument){.at = 0, .size = 9}) == 0);
	CHECK(uprobe_perf_read_text(&sample, &at_8, &length) == (char *)raw + 20 && length == 7);
	sample.size = 26;
	CHECK(!uprobe_perf_read_text(&sample, &at_8, &length));
	sample.size = 40;
	memcpy(raw + 20, "(fault)", 8);
	CHECK(uprobe_perf_read_text(&sample, &at_8, &length));
	location = 8u << 16 | 20;
	memcpy(raw + 8, &location, 4);
	CHECK(!uprobe_perf_read_text(&sample, &at_8, &length));
	location = 20;
	memcpy(raw + 8, &location, 4);
	CHECK(!uprobe_perf_read_text(&sample, &at_8, &length) && length == 0);
}

struct taken {
	struct hit_record record;
	uint64_t size;
	unsigned char bytes[24];
};

static void test_taken(void)
{
	unsigned char raw[48] = {0};
	struct uprobe_sample sample = {.raw = raw, .size = 40};
	struct global_field field = FIELD(REGISTER(0), LOAD(4), ADD(3));
	uint32_t location = 7u << 16 | 20;
	struct taken taken = {.size = 0};

	memcpy(raw + 8, &location, 4);
	memcpy(raw + 20, "silver", 7);
	uprobe_perf_read_value(&taken.record, &sample, &at_8, &field, 2);
	CHECK(taken.size == location + 3ull && !taken.record.unreadable);
	field.field.type = PROBE_FIELD_STRING;
	field.capacity = 16;
	uprobe_perf_read_value(&taken.record, &sample, &at_8, &field, 2);
	CHECK(taken.size == 7 && !strcmp((char *)taken.bytes, "silver") &&
			!taken.record.unreadable);
	field.capacity = 4;
	memset(taken.bytes, '#', sizeof(taken.bytes));
	uprobe_perf_read_value(&taken.record, &sample, &at_8, &field, 2);
	CHECK(taken.size == 4 && !memcmp(taken.bytes, "sil\0##", 6));
	memset(raw + 8, 0, 4);
	uprobe_perf_read_value(&taken.record, &sample, &at_8, &field, 2);
	CHECK(taken.size == UINT64_MAX && taken.record.unreadable == 4);
	field.field.type = PROBE_FIELD_BYTES;
	field.field.size = 2;
	field.field.limit = 10;
	field.capacity = 24;
	uprobe_perf_read_value(&taken.record, &sample,
			&(struct perf_argument){.at = 20, .size = 20}, &field, 3);
	CHECK(taken.size == 10 && !memcmp(taken.bytes, raw + 20, 20) &&
			taken.record.unreadable == 4);
	uprobe_perf_read_value(&taken.record, &sample,
			&(struct perf_argument){.at = 21, .size = 20}, &field, 3);
	CHECK(taken.size == UINT64_MAX && taken.record.unreadable == 12);
}

static void test_filter(void)
{
	struct global_filter filter = {.nr_pids = 0};
	struct uprobe_sample sample = {.pid = (uint32_t)getpid(), .cgroup = 77};
	struct hit_record record = {.comm = "cook"};
	struct uprobe_perf perf = {.nr_unknown_users = 0};

	CHECK(uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	filter.pids[filter.nr_pids++] = sample.pid + 1;
	CHECK(!uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	filter.pids[filter.nr_pids++] = sample.pid;
	CHECK(uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	filter.cgroups[filter.nr_cgroups++] = 78;
	CHECK(!uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	filter.cgroups[filter.nr_cgroups++] = 77;
	CHECK(uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	strcpy(filter.comms[filter.nr_comms++], "cooks");
	CHECK(!uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	strcpy(filter.comms[filter.nr_comms++], "cook");
	CHECK(uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	filter.uids[filter.nr_uids++] = getuid() + 1;
	CHECK(!uprobe_perf_accepts_sample(&perf, &filter, &sample, &record) &&
			perf.nr_unknown_users == 0);
	filter.uids[filter.nr_uids++] = getuid();
	CHECK(uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	/* The first entry of each list fits, too. */
	filter.pids[0] = sample.pid;
	filter.pids[1]++;
	filter.cgroups[0] = 77;
	filter.cgroups[1]++;
	strcpy(filter.comms[0], "cook");
	strcpy(filter.comms[1], "book");
	filter.uids[0] = getuid();
	filter.uids[1]++;
	CHECK(uprobe_perf_accepts_sample(&perf, &filter, &sample, &record));
	sample.pid = filter.pids[0] = INT32_MAX;
	CHECK(!uprobe_perf_accepts_sample(&perf, &filter, &sample, &record) &&
			perf.nr_unknown_users == 1);
}

/*
 * A buffer in the form of the kernel, with a record that begins at its end and continues at its
 * beginning.
 */
static void test_buffer(void)
{
	struct perf_event_mmap_page *page = calloc(1, BUFFER_SIZE + (size_t)sysconf(_SC_PAGESIZE));
	unsigned char *data = (unsigned char *)page + sysconf(_SC_PAGESIZE), raw[8] = {5};
	struct global_side side = {.number = 0};
	struct uprobe_event_definition definition = {.id = 5};
	struct uprobe_perf perf = {
			.definitions = &definition, .from = 100, .until = 200, .lost = 1};
	struct global global = {.perf = &perf, .sides = &side, .nr_sides = 1};
	struct perf_event_header head = {.type = PERF_RECORD_SAMPLE, .size = 8 + 28 + 8};
	uint32_t words[] = {21, 22, 0, 0, 3, 0, 8};
	uint64_t at = BUFFER_SIZE - 16, lost[] = {77, 6};
	uint64_t times[] = {100, 200, 99, 201};

	CHECK(page);
	perf.raw = malloc(RAW_MAX);
	perf.record = malloc(4096);
	page->data_tail = at;
	for (int i = 0; i < 4; i++) {
		unsigned char record[44];

		memcpy(words + 2, &times[i], 8);
		memcpy(record, &head, 8);
		memcpy(record + 8, words, 28);
		memcpy(record + 36, raw, 8);
		for (size_t j = 0; j < sizeof(record); j++)
			data[at++ % BUFFER_SIZE] = record[j];
	}
	head = (struct perf_event_header){.type = PERF_RECORD_LOST, .size = 24};
	memcpy(data + at % BUFFER_SIZE, &head, 8);
	memcpy(data + at % BUFFER_SIZE + 8, lost, 16);
	page->data_head = at + 24;
	perf_read_buffer(&global, page);
	CHECK(page->data_tail == at + 24 && perf.lost == 1 + 6 && global.hits.count == 2);
	CHECK(global.hits.list[0]->time == 100 && global.hits.list[1]->time == 200);
	CHECK(global.hits.list[0]->pid_tgid == (21ull << 32 | 22) && global.hits.list[0]->cpu == 3);
	CHECK(perf_lost(&perf) == 7);
	/* If a record is longer than the data or has no header, the remainder is skipped. */
	head.size = 25;
	memcpy(data + (at + 24) % BUFFER_SIZE, &head, 8);
	page->data_head = at + 48;
	perf_read_buffer(&global, page);
	CHECK(page->data_tail == at + 48 && perf.lost == 7);
	hits_free(&global.hits);
	free(perf.raw);
	free(perf.record);
	free(page);
}

static uint64_t times_seen[4];
static unsigned int nr_seen;

static void see_hit(void *user, const struct global_hit *hit)
{
	CHECK(user == &nr_seen && nr_seen < 4);
	CHECK(hit->pid == 31 && hit->tid == 32 && hit->cpu == 4 && hit->unreadable == 6);
	CHECK(!strcmp(hit->comm, "123456789012345"));
	times_seen[nr_seen++] = hit->time;
}

static void test_order(void)
{
	struct hit_record record = {.pid_tgid = 31ull << 32 | 32, .cpu = 4, .unreadable = 6};
	struct uprobe_perf perf = {.lost = 3, .nr_unknown_users = 4};
	struct global_side side = {.number = 0};
	struct global global = {.perf = &perf, .sides = &side, .nr_sides = 1};
	uint64_t now = clock_monotonic_ns(),
		 times[] = {now - 1000ull * SETTLE_NS, now - 2000ull * SETTLE_NS,
				 now + 3600000000000},
		 lost;

	memcpy(record.comm, "1234567890123456", 16);
	for (int i = 0; i < 3; i++) {
		record.time = times[i];
		hits_add(&global.hits, &record, sizeof(record));
	}
	global_read(&global, false, see_hit, &nr_seen, &lost);
	CHECK(nr_seen == 2 && times_seen[0] == times[1] && times_seen[1] == times[0] && lost == 7);
	CHECK(global.hits.count == 1);
	global_read(&global, true, see_hit, &nr_seen, &lost);
	CHECK(nr_seen == 3 && times_seen[2] == times[2] && global.hits.count == 0);
	global.hits.count = global.hits.capacity = HITS_MAX;
	hits_add(&global.hits, &record, sizeof(record));
	CHECK(global.hits.lost == 1 && global.hits.count == HITS_MAX);
	global.hits.count = 0;
	hits_free(&global.hits);
	CHECK(global_ring_size(1) == 65536 && global_ring_size(65536) == 65536 &&
			global_ring_size(65537) == 131072);
	CHECK(global_ring_size(UINT32_MAX) == 1u << 30);
	CHECK(!strcmp(global_backend_name(GLOBAL_TRACEFS), "tracefs") &&
			!strcmp(global_backend_name(GLOBAL_NR_BACKENDS), "?"));
}

/* ---- groups in tracefs ---- */

static void test_groups(void)
{
	char group[80], text[16];
	struct tracefs_owner owner;
	pid_t child;

	CHECK(tracefs_parse_group("side_12_34_56", &owner) && owner.pid == 12 &&
			owner.started == 34 && owner.pid_namespace == 56);
	CHECK(!tracefs_parse_group("side_12_34", &owner) &&
			!tracefs_parse_group("side_12_34_56x", &owner) &&
			!tracefs_parse_group("other_12_34_56", &owner));
	global_tracefs_group(group, sizeof(group));
	CHECK(tracefs_parse_group(group, &owner) && owner.pid == (uint64_t)getpid() &&
			owner.started && owner.pid_namespace == tracefs_own_namespace());
	CHECK(!tracefs_is_stale(group));
	(void)snprintf(group, sizeof(group), "side_%ld_%llu_%llu", (long)getpid(),
			(unsigned long long)owner.started + 1,
			(unsigned long long)owner.pid_namespace);
	CHECK(tracefs_is_stale(group));
	(void)snprintf(group, sizeof(group), "side_%ld_1_%llu", (long)getpid(),
			(unsigned long long)owner.pid_namespace + 1);
	CHECK(!tracefs_is_stale(group));
	(void)snprintf(group, sizeof(group), "side_%ld_1_0", (long)getpid());
	CHECK(!tracefs_is_stale(group) && !tracefs_is_stale("kprobes"));
	CHECK(uprobe_tracefs_group_is_selected("mine", "mine") &&
			!uprobe_tracefs_group_is_selected("mine", "other") &&
			!uprobe_tracefs_group_is_selected("mine", NULL));
	child = fork();
	if (!child)
		_exit(0);
	CHECK(!waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT));
	CHECK(tracefs_start_time((uint64_t)child) == 0);
	waitpid(child, NULL, 0);
	CHECK(tracefs_start_time((uint64_t)child) == 0);
	CHECK(global_tracefs_read(AT_FDCWD, "/nowhere", text, sizeof(text)) == -ENOENT);
	CHECK(global_tracefs_read(AT_FDCWD, "/proc", text, sizeof(text)) == -EISDIR);
	CHECK(!global_tracefs_read(AT_FDCWD, "/proc/self/maps", text, sizeof(text)) &&
			strlen(text) == 15);
}

/* Files of this test with the contents of tracefs. */
static void test_definitions(void)
{
	char folder[] = "/tmp/side-tracefs-XXXXXX", text[512];
	int tracefs, fd;

	CHECK(mkdtemp(folder) && (tracefs = open(folder, O_RDONLY | O_DIRECTORY)) >= 0);
	CHECK(global_tracefs_remove(tracefs, "side_1_2_3") == -ENOENT);
	CHECK(is_refused(global_tracefs_define(tracefs, "p:a/b /bin/x:0x10\n", &error), -ENOENT,
			"the kernel refuses the definition `p:a/b /bin/x:0x10", ""));
	fd = openat(tracefs, DEFINITIONS, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && !global_tracefs_define(tracefs, "p:mine/e0 /bin/x:0x10\n", &error));
	CHECK(!global_tracefs_define(tracefs, "r:mine/e1 /bin/x:0x10\n", &error));
	CHECK(!global_tracefs_define(tracefs, "p:other/e0 /bin/x:0x10\n", &error));
	CHECK(global_tracefs_remove(tracefs, "mine") == 2);
	CHECK(!global_tracefs_read(tracefs, DEFINITIONS, text, sizeof(text)));
	CHECK(!strcmp(strstr(text, "-:"), "-:mine/e0-:mine/e1"));
	CHECK(global_tracefs_clean(tracefs) == 0);
	CHECK(error.kind != ERROR_PERMISSION && error_set(&error, -EPERM, "", "x") == -EPERM &&
			error.kind == ERROR_PERMISSION);
	close(fd);
	CHECK(!unlinkat(tracefs, DEFINITIONS, 0) && !rmdir(folder));
	close(tracefs);
}

/* ---- changed code ---- */

static int check_with(const unsigned char *memory, struct conflict_scan *scan,
		struct global_side *side, bool recorded)
{
	return conflict_has_change(scan, getpid(), side, (uint64_t)(uintptr_t)memory, recorded);
}

static void test_changed(void)
{
	unsigned char bytes[32], memory[32];
	char path[] = "/tmp/side-global-XXXXXX";
	struct conflict_file file = {.path = path, .fd = mkstemp(path)};
	uint32_t file_of = 0;
	struct global_side side = {.path = path, .offset = 16};
	struct global global = {.sides = &side, .nr_sides = 1};
	struct conflict_scan scan = {
			.global = &global, .files = &file, .nr_files = 1, .file_of = &file_of};

	for (int i = 0; i < 32; i++)
		memory[i] = bytes[i] = (unsigned char)i;
	CHECK(file.fd >= 0 && pwrite(file.fd, bytes, 32, 0) == 32);
	CHECK(!check_with(memory + 16, &scan, &side, true));
	memory[16] = BREAKPOINT;
	CHECK(check_with(memory + 16, &scan, &side, true) &&
			!check_with(memory + 16, &scan, &side, false));
	memory[16] = LONG_JUMP;
	CHECK(check_with(memory + 16, &scan, &side, false));
	memory[16] = CALL;
	CHECK(check_with(memory + 16, &scan, &side, false));
	bytes[16] = LONG_NOP;
	CHECK(pwrite(file.fd, bytes, 32, 0) == 32 && !check_with(memory + 16, &scan, &side, true));
	memory[16] = LONG_NOP;
	/* A jump over the location begins at most four bytes before it. */
	memory[11] = LONG_JUMP;
	CHECK(!check_with(memory + 16, &scan, &side, true));
	memory[11] = 11;
	memory[12] = LONG_JUMP;
	CHECK(check_with(memory + 16, &scan, &side, true));
	memory[12] = BREAKPOINT;
	CHECK(!check_with(memory + 16, &scan, &side, true));
	memory[12] = 1;
	memory[11] = LONG_JUMP;
	/* The end of the jump at 11, which ends at 16. */
	CHECK(!check_with(memory + 16, &scan, &side, true));
	memory[11] = 11;
	CHECK(check_with(memory + 16, &scan, &side, true));
	/*
	 * Jumps that end before the location: their bytes are no difference, and those after their
	 * end are.
	 */
	memcpy(memory, bytes, 32);
	for (int begin = 7; begin <= 12; begin++) {
		for (int changed = 12; changed < 16; changed++) {
			memory[begin] = LONG_JUMP;
			if (changed > begin)
				memory[changed] ^= 0x20;
			CHECK(check_with(memory + 16, &scan, &side, true) ==
					(begin == 12 ||
							(changed > begin &&
									(begin < 8 || changed > begin + 4))));
			memcpy(memory, bytes, 32);
		}
	}
	/* The file ends before the location, and memory that cannot be read. */
	CHECK(!ftruncate(file.fd, 16));
	memory[16] = LONG_JUMP;
	CHECK(!check_with(memory + 16, &scan, &side, true));
	CHECK(pwrite(file.fd, bytes, 32, 0) == 32 && check_with(memory + 16, &scan, &side, true));
	CHECK(!conflict_has_change(&scan, getpid(), &side, 4096, true));
	/* A file that cannot be read is an error. */
	{
		int kept = file.fd;

		file.fd = -1;
		CHECK(check_with(memory + 16, &scan, &side, true) == -EBADF);
		scan.error = &error;
		CHECK(is_refused(conflict_check_mapping(&scan, getpid(), 0, 4096, 0, 0, false),
				-EBADF, "cannot be read: Bad file descriptor", ""));
		CHECK(!conflict_check_mapping(&scan, getpid(), 0, 4096, 0, 1, false));
		file.fd = kept;
	}
	memory[16] = bytes[16];
	memory[11] = 11;
	/* At the beginning of the file, fewer bytes are before the location. */
	side.offset = 0;
	CHECK(!check_with(memory, &scan, &side, true));
	memory[0] = LONG_JUMP;
	CHECK(check_with(memory, &scan, &side, true));
	close(file.fd);
	unlink(path);
	CHECK(is_refused(conflict_check(&global, (scan.error = &error)), -ENOENT,
			"cannot be read: No such file", ""));
}

/* A process that has loaded the agent: its breakpoints count as the agent's. */
static void test_recorder(const struct global *global)
{
	char directory[] = "/tmp/side-global-XXXXXX", path[64];
	void *agent;
	int fd;

	CHECK(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/libside-agent.so", directory);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	agent = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(agent != MAP_FAILED && conflict_has_agent(getpid()) &&
			!conflict_has_agent(INT32_MAX));
	CHECK(is_refused(conflict_check(global, &error), -EBUSY,
			": a recording of side, or another tool, has a probe there; a uprobe there would end",
			"remove that probe first"));
	CHECK(!munmap(agent, 4096) && !conflict_has_agent(getpid()));
	CHECK(!conflict_check(global, &error));
	close(fd);
	CHECK(!unlink(path) && !rmdir(directory));
}

/* This process maps a file of its own, and changes the mapped code. */
static void test_conflict(void)
{
	char path[] = "/tmp/side-global-XXXXXX", other_path[] = "/tmp/side-global-XXXXXX",
	     expected[200], name[32];
	unsigned char bytes[12288], *code, *before;
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
	struct global_side sides[] = {{.path = other_path},
			{.number = 1, .path = path, .offset = 4096 + 100, .address = 0x5064}};
	struct global global = {.sides = sides, .nr_sides = 2, .process = getpid()};
	int fd = mkstemp(path), other = mkstemp(other_path);

	memset(bytes, 0x90, sizeof(bytes));
	CHECK(fd >= 0 && other >= 0 && write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	/* Memory before the mapping, so that bytes before its first one can be read. */
	before = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(before != MAP_FAILED);
	code = mmap(before + 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_FIXED, fd, 4096);
	CHECK(code != MAP_FAILED && !conflict_check(&global, &error));
	code[100] = LONG_JUMP;
	CHECK(!prctl(PR_GET_NAME, name) && !prctl(PR_SET_NAME, "cook"));
	(void)snprintf(expected, sizeof(expected),
			"the code of process %d (cook) differs from its file at 0x5064 of %s: another tool has a probe there; a uprobe there would end",
			(int)getpid(), path);
	CHECK(is_refused(conflict_check(&global, &error), -EBUSY, expected,
			"remove that probe first"));
	global.process = 0;
	CHECK(is_refused(conflict_check(&global, &error), -EBUSY, expected,
			"remove that probe first"));
	global.process = 1;
	CHECK(!conflict_check(&global, &error));
	/* Before the mapping, its first byte, its last byte, and after it. */
	global.process = getpid();
	for (uint64_t offset = 4095; offset <= 8192; offset += offset == 4096 ? 4095 : 1) {
		memset(code, 0x90, 4096);
		code[(offset - 4096) & 4095] = LONG_JUMP;
		sides[1].offset = offset;
		CHECK(conflict_check(&global, &error) ==
				(offset == 4096 || offset == 8191 ? -EBUSY : 0));
	}
	/*
	 * Memory that is not executed, or a breakpoint of a process without a recorder, is no
	 * conflict.
	 */
	sides[1].offset = 4096 + 100;
	memset(code, 0x90, 4096);
	code[100] = LONG_JUMP;
	CHECK(!mprotect(code, 4096, PROT_READ | PROT_WRITE) && !conflict_check(&global, &error));
	CHECK(!mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	CHECK(conflict_check(&global, &error) == -EBUSY);
	code[100] = BREAKPOINT;
	CHECK(!conflict_check(&global, &error));
	test_recorder(&global);
	code[100] = 0x90;
	/* The first file has descriptor 0. */
	close(0);
	CHECK(!conflict_check(&global, &error) && fcntl(0, F_GETFD) == -1);
	sides[0].path = "/nowhere";
	CHECK(conflict_check(&global, &error) == -ENOENT);
	CHECK(dup2(kept, 0) == 0 && !close(kept));
	CHECK(!prctl(PR_SET_NAME, name));
	munmap(before, 12288);
	close(fd);
	close(other);
	unlink(path);
	unlink(other_path);
}

static void test_replaced(void)
{
	char path[] = "/tmp/side-global-XXXXXX", other[] = "/tmp/side-global-XXXXXX";
	struct global_side sides[] = {
			{.path = "/"}, {.path = path}, {.path = path}, {.path = "/nowhere"}};
	struct global global = {.sides = sides, .nr_sides = 4};
	int fd = mkstemp(path), second = mkstemp(other);

	CHECK(fd >= 0 && second >= 0 && !replaced_open(&global, &error) && global.nr_files == 2);
	CHECK(!strcmp(global.files[0].path, "/") && global.files[1].path == path);
	CHECK(!global_replaced(&global) && !rename(other, path));
	CHECK(global_replaced(&global) == path && !global_replaced(&global));
	free(global.files);
	close(fd);
	close(second);
	unlink(path);
}

static void test_descriptor_limit(void)
{
	int next = fcntl(0, F_DUPFD_CLOEXEC, 0), status;
	pid_t child;

	close(next);
	child = fork();
	if (!child) {
		struct rlimit limit = {100, 100};

		if (setrlimit(RLIMIT_NOFILE, &limit) ||
				global_descriptors(99 - (uint64_t)next, 0, &error))
			_exit(1);
		if (!is_refused(global_descriptors(100 - (uint64_t)next, 0, &error), -EMFILE,
				    "descriptors for the locations, and a process may have 100",
				    "probe fewer locations"))
			_exit(2);
		_exit(fcntl(0, F_DUPFD_CLOEXEC, 0) == next ? 0 : 3);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- instructions ---- */

static void test_assembly(void)
{
	static struct bpf_assembly a;
	uint32_t jump;

	bpf_emit_constant(&a, 3, -7);
	CHECK(a.nr == 1 && a.code[0].code == (BPF_ALU64 | BPF_MOV | BPF_K) &&
			a.code[0].dst_reg == 3 && a.code[0].imm == -7);
	bpf_emit_constant(&a, 4, INT64_C(0x123456789));
	CHECK(a.nr == 3 && a.code[1].code == (BPF_LD | BPF_DW | BPF_IMM) &&
			a.code[1].dst_reg == 4 && a.code[1].imm == 0x23456789 &&
			a.code[2].imm == 1 && !a.code[1].src_reg);
	bpf_emit_map(&a, 2, 6);
	CHECK(a.nr == 5 && a.code[3].dst_reg == 2 && a.code[3].src_reg == BPF_PSEUDO_MAP_FD &&
			a.code[3].imm == 6 && !a.code[4].imm);
	bpf_emit_load(&a, 2, 5, 6, -8);
	CHECK(a.code[5].code == (BPF_LDX | BPF_MEM | BPF_H) && a.code[5].dst_reg == 5 &&
			a.code[5].src_reg == 6 && a.code[5].off == -8);
	bpf_emit_store(&a, 4, 7, 16, 8);
	CHECK(a.code[6].code == (BPF_STX | BPF_MEM | BPF_W) && a.code[6].dst_reg == 7 &&
			a.code[6].src_reg == 8 && a.code[6].off == 16);
	bpf_emit_add(&a, 9, INT64_C(1) << 40);
	CHECK(a.nr == 10 && a.code[9].code == (BPF_ALU64 | BPF_ADD | BPF_X) &&
			a.code[9].dst_reg == 9 && !a.code[9].src_reg);
	bpf_emit_add(&a, 9, 5);
	bpf_emit_move(&a, 1, 2);
	bpf_emit_call(&a, 12);
	CHECK(a.nr == 13 && a.code[10].imm == 5 && a.code[11].dst_reg == 1 &&
			a.code[11].src_reg == 2 && a.code[12].imm == 12);
	jump = bpf_emit_jump(&a, BPF_JEQ, 3, 44);
	CHECK(jump == 13 && a.code[13].dst_reg == 3 && a.code[13].imm == 44 &&
			a.code[13].code == (BPF_JMP | BPF_JEQ | BPF_K));
	CHECK(bpf_emit_jump_register(&a, BPF_JGT, 1, 2) == 14 &&
			a.code[14].code == (BPF_JMP | BPF_JGT | BPF_X));
	bpf_emit_target(&a, jump);
	CHECK(a.code[13].off == 1 && !a.overflow);
	while (a.nr < ASSEMBLY_MAX)
		bpf_emit_move(&a, 1, 2);
	CHECK(!a.overflow);
	bpf_emit_move(&a, 1, 2);
	CHECK(a.overflow && a.nr == ASSEMBLY_MAX);
}

int main(void)
{
	CHECK(error_set(&error, -EIO, "hint", "%d", 5) == -EIO && error.kind != ERROR_PERMISSION &&
			!strcmp(error.text, "5"));
	test_numbers();
	test_texts();
	test_arguments();
	test_sources();
	test_offsets();
	test_release();
	test_pairs();
	test_format();
	test_sample();
	test_values();
	test_taken();
	test_filter();
	test_buffer();
	test_order();
	test_groups();
	test_definitions();
	test_changed();
	test_conflict();
	test_replaced();
	test_descriptor_limit();
	test_assembly();
	return 0;
}

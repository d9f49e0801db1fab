/* SPDX-License-Identifier: MIT */
/*
 * Exact values of the data that unwinders get of generated code, and of imports that are replaced
 * in an object that the test lays out itself. The test includes the files, so that it can call
 * their static functions, and plays the loader and libunwind.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probe/patch/imports.h"
#include "probe/patch/parts.h"

#include "../../check.h"

/* ---- functions of other files and of the loader ---- */

static struct {
	struct {
		const char *name;
		unsigned long long adds;
	} objects[4];
	bool is_pending; /* a walk that replaces imports finds objects that are not relocated */
	unsigned int nr_objects, nr_turned, nr_iterations, nr_opened, nr_symbols, nr_errors;
	char opened[2048];
	int flags;
	bool has_library, has_function, has_find, is_found, fails;
	unsigned int nr_registrations, nr_maps;
	size_t map_size;
	bool no_memory;
	unsigned int nr_entries;
} fake;

static uint8_t low_memory[PATCH_FRAMES_MAX * 512] __attribute__((aligned(64)));
static const uint8_t rules[] = {20, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2};
static struct patch_found fake_found = {0x1000, 0x1234, rules};
static const void *registered_infos[8];

/* True if the lock of scans is held, or with 1 that of registrations. */
static bool is_locked(unsigned int which);

/* The end of a wait for a lock, by a clock that the test sets. */
static struct timespec played_time, waited_until;
static bool plays_time;

static int fake_clock(clockid_t clock, struct timespec *now)
{
	if (!plays_time)
		return clock_gettime(clock, now);
	CHECK(clock == CLOCK_REALTIME);
	*now = played_time;
	return 0;
}

static int fake_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	waited_until = *until;
	return plays_time ? ETIMEDOUT : pthread_mutex_timedlock(mutex, until);
}

static void fake_turn(const struct dl_phdr_info *info, const struct patch_imports *imports)
{
	CHECK(info && imports->count == 1 &&
			!strcmp(imports->functions[0].name, "_dl_find_object"));
	CHECK(imports->except[0] == (uintptr_t)&imports->functions[0] && !imports->except[1]);
	fake.nr_turned++;
	*imports->nr_pending += fake.is_pending;
}

static int fake_iterate(int (*each)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
	int ret = 0;

	CHECK(is_locked(0));
	fake.nr_iterations++;
	for (unsigned int i = 0; i < fake.nr_objects && !ret; i++) {
		struct dl_phdr_info info = {.dlpi_name = fake.objects[i].name,
				.dlpi_adds = fake.objects[i].adds};

		ret = each(&info, sizeof(info), data);
	}
	return ret;
}

static void *fake_open(const char *name, int flags)
{
	fake.nr_opened++;
	fake.flags = flags;
	strcpy(fake.opened, name);
	return fake.has_library ? &fake : NULL;
}

static void fake_register(const void *dynamic)
{
	CHECK(is_locked(1));
	registered_infos[fake.nr_registrations++ % 8] = dynamic;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static int fake_find_object(void *address, struct dl_find_object *found)
{
	if (fake.fails)
		return -1;
	found->dlfo_map_start = address;
	found->dlfo_map_end = (uint8_t *)address + 1;
	found->dlfo_eh_frame = (void *)5;
	found->dlfo_link_map = (void *)7;
	return 0;
}
#endif

static void *fake_symbol(void *library, const char *name)
{
	fake.nr_symbols++;
	if (library == RTLD_DEFAULT) {
		CHECK(!strcmp(name, "_dl_find_object"));
#ifdef DLFO_STRUCT_HAS_EH_DBASE
		return fake.has_find ? (void *)(uintptr_t)fake_find_object : NULL;
#endif
	}
	CHECK(library == &fake && !strcmp(name, "_U_dyn_register"));
	return fake.has_function ? (void *)(uintptr_t)fake_register : NULL;
}

static char *fake_error(void)
{
	fake.nr_errors++;
	return NULL;
}

static void *fake_low(size_t size, int protection)
{
	CHECK(protection == (PROT_READ | PROT_WRITE));
	fake.nr_maps++;
	fake.map_size = size;
	return fake.no_memory ? NULL : low_memory;
}

static bool fake_entry(unsigned int which, struct patch_frames *frames)
{
	if (which >= fake.nr_entries)
		return false;
	*frames = (struct patch_frames){.start = 0x5000 + which,
			.length = 0x100 + which,
			.plain = rules,
			.plain_size = sizeof(rules)};
	return true;
}

static bool fake_frames_find(uint64_t address, struct patch_found *ret_found)
{
	if (address < 0x1000 || address >= 0x1234)
		return false;
	*ret_found = fake_found;
	return true;
}

#define patch_imports_replace fake_turn
#define dl_iterate_phdr fake_iterate
#define dlopen fake_open
#define dlsym fake_symbol
#define dlerror fake_error
#define patch_memory_low fake_low
#define patch_frames_entry fake_entry
#define patch_frames_find fake_frames_find
#define clock_gettime fake_clock
#define pthread_mutex_timedlock fake_timedlock
#include "probe/patch/unwinders.c"
#undef clock_gettime
#undef pthread_mutex_timedlock
#undef patch_imports_replace
#undef dl_iterate_phdr
#include "probe/patch/imports.c"

static bool is_locked(unsigned int which)
{
	return pthread_mutex_trylock(which ? &register_lock : &scan_lock) == EBUSY;
}

static void begin(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(low_memory, 0, sizeof(low_memory));
	has_scanned = false;
	loads_before = 0;
	unwinder_table = NULL;
	register_function = NULL;
	nr_registered = 0;
	*path = 0;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	real_find = NULL;
	find_import = (struct patch_import){.name = "_dl_find_object"};
#endif
}

static void add_object(const char *name, unsigned long long adds)
{
	fake.objects[fake.nr_objects].name = name;
	fake.objects[fake.nr_objects++].adds = adds;
}

/* ---- libgcc ---- */

static void test_find(void)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found = {0};

	begin();
	patch_unwinder_start_import();
	CHECK(!find_import.replacement && fake.nr_errors == 1);
	fake.nr_objects = 0;
	patch_unwinder_turn_import(&(struct dl_phdr_info){0});
	CHECK(!fake.nr_turned);
	fake.has_find = true;
	patch_unwinder_start_import();
	CHECK(find_import.replacement == (void *)(uintptr_t)patch_unwinder_find_object &&
			real_find == fake_find_object &&
			find_import.real == (void *)(uintptr_t)fake_find_object);
	patch_unwinder_turn_import(&(struct dl_phdr_info){0});
	CHECK(fake.nr_turned == 1);
	/* An address of the program, and those of generated code. */
	CHECK(!patch_unwinder_find_object((void *)0xfff, &found) &&
			found.dlfo_map_start == (void *)0xfff && found.dlfo_eh_frame == (void *)5);
	CHECK(!patch_unwinder_find_object((void *)0x1233, &found) &&
			found.dlfo_map_start == (void *)0x1000 &&
			found.dlfo_map_end == (void *)0x1234 && found.dlfo_eh_frame == rules &&
			found.dlfo_link_map == (void *)7);
	fake.fails = true;
	found.dlfo_map_start = NULL;
	CHECK(patch_unwinder_find_object((void *)0x1000, &found) == -1 && !found.dlfo_map_start);
	CHECK(patch_unwinder_find_object((void *)0x1234, &found) == -1);
#endif
}

/* ---- objects that are loaded ---- */

static void test_scan(void)
{
	char name[PATH_BYTES + 20];

	begin();
	fake.has_find = fake.has_library = fake.has_function = true;
	add_object("/usr/lib/libc.so.6", 5);
	add_object("/opt/libunwind.so.8", 5);
	add_object(NULL, 5);
	CHECK(patch_unwinders_scan() && fake.nr_turned == 3 && fake.nr_opened == 1 &&
			!strcmp(fake.opened, "/opt/libunwind.so.8") &&
			fake.flags == (RTLD_NOLOAD | RTLD_LAZY));
	CHECK(has_scanned && loads_before == 5 &&
			register_function == (void *)(uintptr_t)fake_register && !*path);
	/* Nothing was loaded since. */
	CHECK(!patch_unwinders_scan() && fake.nr_turned == 3 && fake.nr_iterations == 2 &&
			fake.nr_opened == 1);
	patch_unwinders_start();
	CHECK(fake.nr_iterations == 2);
	/* A library was loaded; libunwind is known already. */
	fake.objects[0].adds = fake.objects[1].adds = fake.objects[2].adds = 6;
	CHECK(!patch_unwinders_scan() && fake.nr_turned == 6 && fake.nr_opened == 1 &&
			loads_before == 6);
	/* Another thread relocated libraries: the next scan tries again. */
	fake.is_pending = true;
	fake.objects[0].adds = fake.objects[1].adds = fake.objects[2].adds = 7;
	CHECK(!patch_unwinders_scan() && fake.nr_turned == 9 && !loads_before);
	fake.is_pending = false;
	CHECK(!patch_unwinders_scan() && fake.nr_turned == 12 && loads_before == 7);
	CHECK(!patch_unwinders_scan() && fake.nr_turned == 12);
	CHECK(!pthread_mutex_trylock(&scan_lock) && !pthread_mutex_unlock(&scan_lock));
	/* The first scan is done once, also if no loads are counted. */
	begin();
	add_object("libunwind.so.8", 0);
	patch_unwinders_start();
	CHECK(fake.nr_iterations == 1 && has_scanned && !fake.nr_opened);
	patch_unwinders_start();
	CHECK(fake.nr_iterations == 1);
	/* Other names; a library that cannot be opened, or without the function. */
	begin();
	add_object("/opt/libunwind.so.9", 1);
	CHECK(!patch_unwinders_scan() && !fake.nr_opened);
	begin();
	add_object("/opt/libunwind.so.8", 1);
	CHECK(!patch_unwinders_scan() && fake.nr_opened == 1 && fake.nr_symbols == 1 &&
			!register_function);
	begin();
	fake.has_library = true;
	add_object("/opt/libunwind.so.8", 1);
	CHECK(!patch_unwinders_scan() && fake.nr_opened == 1 && fake.nr_symbols == 2 &&
			!register_function);
	/* The longest path, and one byte more. */
	for (size_t more = 0; more < 2; more++) {
		size_t length = PATH_BYTES - 1 + more;

		begin();
		memset(name, '/', sizeof(name));
		strcpy(name + length - strlen("libunwind.so.8"), "libunwind.so.8");
		CHECK(strlen(name) == length);
		add_object(name, 1);
		patch_unwinders_scan();
		CHECK(fake.nr_opened == !more && (more || !strcmp(fake.opened, name)));
	}
}

/* ---- libunwind ---- */

static void test_registered(void)
{
	const struct unwinder_piece *registered =
			(const struct unwinder_piece *)(const void *)low_memory;

	CHECK(sizeof(struct unwinder_piece) * PATCH_FRAMES_MAX <= sizeof(low_memory));
	begin();
	fake.nr_entries = 2;
	patch_unwinders_notify();
	CHECK(!fake.nr_registrations && !nr_registered && !fake.nr_maps);
	register_function = (void *)(uintptr_t)fake_register;
	patch_unwinders_notify();
	CHECK(fake.nr_registrations == 2 && nr_registered == 2 && fake.nr_maps == 1 &&
			fake.map_size == PATCH_FRAMES_MAX * sizeof(struct unwinder_piece));
	CHECK(!pthread_mutex_trylock(&register_lock) && !pthread_mutex_unlock(&register_lock));
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(registered_infos[i] == &registered[i].dynamic &&
				registered[i].dynamic.start == 0x5000 + i &&
				registered[i].dynamic.end == 0x5100 + 2 * i &&
				registered[i].dynamic.format == 2 &&
				registered[i].dynamic.words == 1 && !registered[i].dynamic.base &&
				registered[i].dynamic.table == (uintptr_t)&registered[i].row);
		CHECK(registered[i].row.start == INT32_MIN &&
				registered[i].row.entry ==
						(int32_t)((uintptr_t)registered[i].bytes + 4 +
								20) &&
				!memcmp(registered[i].bytes, rules, sizeof(rules)) &&
				!registered[i].bytes[sizeof(rules)]);
	}
	fake.nr_entries = 3;
	patch_unwinders_notify();
	CHECK(fake.nr_registrations == 3 && fake.nr_maps == 1 &&
			registered_infos[2] == &registered[2].dynamic);
	patch_unwinders_notify();
	CHECK(fake.nr_registrations == 3);
	/* The length of a piece changes; not that of a piece that is not registered. */
	unwinder_table[1].dynamic.end = 0;
	unwinder_table[1].bytes[4] = 0;
	patch_unwinders_change(1);
	CHECK(registered[1].dynamic.end == 0x5102 && registered[1].bytes[4] == 9);
	patch_unwinders_change(5);
	CHECK(!registered[5].dynamic.end && !registered[5].bytes[0]);
	fake.nr_entries = 1;
	unwinder_table[1].dynamic.end = 0;
	patch_unwinders_change(1);
	CHECK(!registered[1].dynamic.end);
	/* Out of memory: nothing is registered. */
	begin();
	fake.nr_entries = 1;
	fake.no_memory = true;
	register_function = (void *)(uintptr_t)fake_register;
	patch_unwinders_notify();
	CHECK(!fake.nr_registrations && fake.nr_maps == 1);
	patch_unwinders_change(0);
}

/* ---- fork() ---- */

static pthread_barrier_t barrier;

static void *hold_locks(void *which)
{
	pthread_mutex_lock(which);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	pthread_mutex_unlock(which);
	return NULL;
}

static int64_t ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void test_fork(void)
{
	CHECK(LOCKS == 2);
	plays_time = true;
	played_time = (struct timespec){100, 950000000};
	patch_unwinders_fork();
	CHECK(waited_until.tv_sec == 101 && waited_until.tv_nsec == 50000000 && !fork_holds[0]);
	played_time = (struct timespec){100, 899999999};
	patch_unwinders_fork();
	CHECK(waited_until.tv_sec == 100 && waited_until.tv_nsec == 999999999 && !fork_holds[1]);
	patch_unwinders_fork_done();
	plays_time = false;
	patch_unwinders_fork();
	CHECK(fork_holds[0] && fork_holds[1] && pthread_mutex_trylock(&scan_lock) == EBUSY &&
			pthread_mutex_trylock(&register_lock) == EBUSY);
	patch_unwinders_fork_done();
	for (size_t i = 0; i < LOCKS; i++) {
		int64_t before = ms_now();
		pthread_mutex_t held[2];
		pthread_t thread;

		CHECK(!pthread_barrier_init(&barrier, NULL, 2) &&
				!pthread_create(&thread, NULL, hold_locks, locks[i]));
		pthread_barrier_wait(&barrier);
		/* A tenth of a second at most, and only the other lock is held then. */
		patch_unwinders_fork();
		CHECK(ms_now() - before >= 99 && !fork_holds[i] && fork_holds[1 - i]);
		patch_unwinders_fork_done();
		CHECK(pthread_mutex_trylock(locks[i]) == EBUSY &&
				!pthread_mutex_trylock(locks[1 - i]) &&
				!pthread_mutex_unlock(locks[1 - i]));
		/* In the child both locks are free. */
		CHECK(!pthread_mutex_lock(locks[1 - i]));
		memcpy(&held[0], &scan_lock, sizeof(scan_lock));
		memcpy(&held[1], &register_lock, sizeof(register_lock));
		patch_unwinders_forked();
		CHECK(!pthread_mutex_trylock(&scan_lock) && !pthread_mutex_trylock(&register_lock));
		pthread_barrier_wait(&barrier);
		pthread_join(thread, NULL);
		pthread_barrier_destroy(&barrier);
		/* Locks that were held are not unlocked in the child. */
		CHECK(!pthread_mutex_unlock(locks[1 - i]) && !pthread_mutex_unlock(&held[0]) &&
				!pthread_mutex_unlock(&held[1]));
		patch_unwinders_forked();
	}
}

/* ---- imports ---- */

static void own_function(void) {}
static void others(void) {}
static void real(void) {}
static void elsewhere(void) {}

/*
 * Three pages of an object: its head with the dynamic section, slots that are read-only later,
 * other slots.
 */
static uint8_t *object_bytes;
static Elf64_Phdr headers[5];
static Elf64_Sym symbols[4];
static Elf64_Rela relative[4], jumps[3];
static char names[] = "\0first\0second\0third";

static void **slot(unsigned int which)
{
	return (void **)(void *)(object_bytes + 4096 + 8 * which);
}

static void *code_of(void (*function)(void))
{
	return (void *)(uintptr_t)function;
}

static Elf64_Rela relocation(unsigned int which, unsigned int symbol, unsigned int type)
{
	return (Elf64_Rela){.r_offset = 4096 + 8 * which,
			.r_info = ELF64_R_INFO((uint64_t)symbol, type)};
}

static struct dl_phdr_info lay_out(void)
{
	Elf64_Dyn *dynamic = (Elf64_Dyn *)(void *)object_bytes;
	const uintptr_t base = (uintptr_t)object_bytes;
	const Elf64_Dyn entries[] = {{DT_SYMTAB, {(uintptr_t)symbols}},
			{DT_STRTAB, {(uintptr_t)names}}, {DT_RELA, {(uintptr_t)relative}},
			{DT_RELASZ, {sizeof(relative)}}, {DT_RELACOUNT, {1}},
			{DT_JMPREL, {(uintptr_t)jumps}}, {DT_PLTRELSZ, {sizeof(jumps)}},
			{DT_NULL, {0}}, {DT_SYMTAB, {1}}};

	CHECK(!mprotect(object_bytes, 3 * 4096, PROT_READ | PROT_WRITE));
	memset(object_bytes, 0, 3 * 4096);
	memcpy(dynamic, entries, sizeof(entries));
	memset(symbols, 0, sizeof(symbols));
	symbols[1].st_name = 1;
	symbols[2].st_name = 7;
	symbols[3].st_name = 14;
	/* The first entry counts as one without a symbol. */
	relative[0] = relocation(0, 1, R_X86_64_GLOB_DAT);
	relative[1] = relocation(1, 1, R_X86_64_GLOB_DAT);
	relative[2] = relocation(2, 1, R_X86_64_64);
	relative[3] = relocation(3, 2, R_X86_64_GLOB_DAT);
	jumps[0] = relocation(4, 1, R_X86_64_JUMP_SLOT);
	jumps[1] = relocation(5, 2, R_X86_64_JUMP_SLOT);
	jumps[2] = relocation(6, 3, R_X86_64_JUMP_SLOT);
	headers[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 4096, .p_memsz = 2 * 4096};
	headers[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 4096};
	headers[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = 0, .p_memsz = sizeof(entries)};
	/* After the last one that counts. */
	headers[4] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x100000, .p_memsz = 4096};
	headers[3] = (Elf64_Phdr){.p_type = PT_GNU_RELRO, .p_vaddr = 4096, .p_memsz = 4096 + 21};
	for (unsigned int i = 0; i < 7; i++)
		*slot(i) = code_of(real);
	return (struct dl_phdr_info){.dlpi_addr = base, .dlpi_phdr = headers, .dlpi_phnum = 4};
}

static const struct patch_import functions[] = {
		{.name = "second",
				.replacement = (void *)(uintptr_t)others,
				.real = (void *)(uintptr_t)real},
		{.name = "third", .replacement = NULL, .real = (void *)(uintptr_t)real},
		{.name = "first",
				.replacement = (void *)(uintptr_t)own_function,
				.real = (void *)(uintptr_t)real}};

static char rights_of(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, at = (unsigned long)(uintptr_t)address;
	char rights[5] = "", found = '?';

	CHECK(maps);
	while (fscanf(maps, "%lx-%lx %4s%*[^\n]", &start, &end, rights) == 3) {
		if (at >= start && at < end)
			found = rights[1];
	}
	(void)fclose(maps);
	return found;
}

/* The loader has relocated the object, and made its pages read-only. */
static void replace_relocated(const struct dl_phdr_info *info, const struct patch_imports *imports)
{
	CHECK(!mprotect(object_bytes + 4096, 4096, PROT_READ));
	patch_imports_replace(info, imports);
}

static void test_imports(void)
{
	struct patch_imports imports = {.functions = functions, .count = 3};
	struct dl_phdr_info info = lay_out();
	struct import_object object;
	size_t nr_objects = 0;

	CHECK(patch_import_read_object(&object, &info));
	CHECK(object.begin == info.dlpi_addr && object.end == info.dlpi_addr + 3 * 4096 &&
			object.relro == info.dlpi_addr + 4096 &&
			object.relro_end == info.dlpi_addr + 2 * 4096);
	CHECK(object.symbols == symbols && object.names == names && object.tables[0] == relative &&
			object.tables[1] == jumps && object.sizes[0] == sizeof(relative) &&
			object.sizes[1] == sizeof(jumps) && object.relative == 1);
	CHECK(patch_import_resolve_address(&object, object.base) == object.base &&
			patch_import_resolve_address(&object, object.base - 1) ==
					2 * object.base - 1);
	CHECK(patch_import_find(&imports, "first") == &functions[2] &&
			patch_import_find(&imports, "second") == &functions[0] &&
			!patch_import_find(&imports, "third") &&
			!patch_import_find(&imports, "firs"));
	/* Slots in read-only pages, which are read-only again afterwards. */
	replace_relocated(&info, &imports);
	CHECK(*slot(0) == code_of(real) && *slot(1) == code_of(own_function) &&
			*slot(2) == code_of(real) && *slot(3) == code_of(others) &&
			*slot(4) == code_of(own_function) && *slot(5) == code_of(others) &&
			*slot(6) == code_of(real));
	CHECK(rights_of(slot(0)) == '-' && rights_of(object_bytes + 8192) == 'w');
	/* The first slot of these pages, and the first one after them. */
	CHECK(!mprotect(object_bytes + 4096, 4096, PROT_READ));
	object.is_read_only = true;
	patch_import_redirect_slot(&object, slot(0), code_of(own_function));
	CHECK(*slot(0) == code_of(own_function) && rights_of(slot(0)) == '-');
	patch_import_redirect_slot(
			&object, (void **)(void *)(object_bytes + 8192), code_of(others));
	CHECK(*(void **)(void *)(object_bytes + 8192) == code_of(others) &&
			rights_of(object_bytes + 8192) == 'w');
	/* While these pages are writable, the object is being relocated. */
	info = lay_out();
	imports.nr_pending = &nr_objects;
	patch_imports_replace(&info, &imports);
	patch_imports_replace(&info, &imports);
	CHECK(nr_objects == 2 && *slot(1) == code_of(real) && *slot(5) == code_of(real));
	imports.nr_pending = NULL;
	patch_imports_replace(&info, &imports);
	CHECK(nr_objects == 2 && *slot(1) == code_of(real));
	/* Without such pages no rights are changed. */
	info = lay_out();
	headers[3].p_type = PT_NOTE;
	patch_imports_replace(&info, &imports);
	CHECK(*slot(1) == code_of(own_function) && rights_of(slot(0)) == 'w');
	/*
	 * A function of the program itself is not replaced; a slot that is not bound yet leads into
	 * the object.
	 */
	info = lay_out();
	*slot(1) = code_of(elsewhere);
	*slot(3) = object_bytes;
	*slot(4) = code_of(elsewhere);
	*slot(5) = object_bytes;
	replace_relocated(&info, &imports);
	CHECK(*slot(1) == code_of(elsewhere) && *slot(3) == object_bytes &&
			*slot(4) == code_of(elsewhere) && *slot(5) == code_of(others));
	for (int i = 0; i < 3; i++) {
		static const long ends[] = {3 * 4096 - 1, 3 * 4096, -1};

		info = lay_out();
		*slot(5) = object_bytes + ends[i];
		replace_relocated(&info, &imports);
		CHECK((*slot(5) == code_of(others)) == !i);
	}
	/* A symbol that the object defines is no import. */
	info = lay_out();
	symbols[1].st_shndx = 1;
	replace_relocated(&info, &imports);
	CHECK(*slot(1) == code_of(real) && *slot(4) == code_of(real) &&
			*slot(3) == code_of(others));
	/* Objects that contain one of two addresses are not changed. */
	for (unsigned int i = 0; i < 8; i++) {
		static const long offsets[] = {0, 3 * 4096 - 1, 3 * 4096, -1};

		info = lay_out();
		imports.except[i / 4] = info.dlpi_addr + (uintptr_t)offsets[i % 4];
		imports.except[1 - i / 4] = 0;
		replace_relocated(&info, &imports);
		CHECK((*slot(1) == code_of(real)) == (i % 4 < 2));
	}
	imports.except[0] = imports.except[1] = 0;
	/* Without a dynamic section, without symbols, without names. */
	info = lay_out();
	headers[2].p_type = PT_NOTE;
	CHECK(!patch_import_read_object(&object, &info));
	replace_relocated(&info, &imports);
	CHECK(*slot(1) == code_of(real));
	for (unsigned int i = 0; i < 2; i++) {
		info = lay_out();
		((Elf64_Dyn *)(void *)object_bytes)[i].d_tag = DT_DEBUG;
		CHECK(!patch_import_read_object(&object, &info));
		replace_relocated(&info, &imports);
		CHECK(*slot(1) == code_of(real));
	}
	/* Without one of the tables. */
	info = lay_out();
	((Elf64_Dyn *)(void *)object_bytes)[2].d_tag = DT_DEBUG;
	replace_relocated(&info, &imports);
	CHECK(*slot(1) == code_of(real) && *slot(4) == code_of(own_function));
	info = lay_out();
	((Elf64_Dyn *)(void *)object_bytes)[5].d_tag = DT_DEBUG;
	replace_relocated(&info, &imports);
	CHECK(*slot(1) == code_of(own_function) && *slot(4) == code_of(real));
	/* Pages whose rights cannot be changed, because they are unmapped. */
	info = lay_out();
	headers[3].p_memsz = 3 * 4096;
	CHECK(patch_import_read_object(&object, &info));
	object.is_read_only = true;
	munmap(object_bytes + 2 * 4096, 4096);
	patch_import_redirect_slot(
			&object, (void **)(void *)(object_bytes + 2 * 4096), code_of(own_function));
}

int main(void)
{
	test_find();
	test_scan();
	test_registered();
	test_fork();
	/* Below the test's own data: then the addresses in the dynamic section are absolute. */
	object_bytes = mmap((void *)0x20000000, 3 * 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(object_bytes != MAP_FAILED);
	test_imports();
	return 0;
}

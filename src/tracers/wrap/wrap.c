/* SPDX-License-Identifier: MIT */
/* What all wrapper libraries share: finding the next definition, recognising tracers. */
#include "tracers/wrap/wrap.h"
#include "base/environment/environment.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

__thread int wrap_depth;

/* Text segments of tracers: filled once, before the program's main, and only read afterwards. */
#define TRACERS_MAX 16

static struct tracer_text {
	uintptr_t begin, end;
} tracers[TRACERS_MAX];
static unsigned int nr_tracers;

bool wrap_is_tracer(const void *address)
{
	/* Acquire: the ranges before their number. Pairs with the release in wrap_record_object(). */
	const unsigned int nr = __atomic_load_n(&nr_tracers, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < nr; i++) {
		if ((uintptr_t)address - tracers[i].begin < tracers[i].end - tracers[i].begin)
			return true;
	}
	return false;
}

void *wrap_next(const char *name, const char *version)
{
	const int saved_errno = errno;
	void *next = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	if (!next)
		next = dlsym(RTLD_NEXT, name);
	errno = saved_errno;
	return next;
}

static int wrap_record_object(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	(void)data;
	/*
	 * Wrappers call nothing of their own accord; but the C library may go on from a function that
	 * they called by jumping to another wrapped one, which then seems to be called by them.
	 */
	if (strncmp(base, "libside", strlen("libside")) ||
			!strncmp(base, "libside-wrap-", strlen("libside-wrap-")))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
				nr_tracers == TRACERS_MAX)
			continue;
		tracers[nr_tracers].begin = info->dlpi_addr + segment->p_vaddr;
		tracers[nr_tracers].end = tracers[nr_tracers].begin + segment->p_memsz;
		/* Release: the range before the number. Pairs with the acquire in wrap_is_tracer(). */
		__atomic_store_n(&nr_tracers, nr_tracers + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

void WRAP_OWN(bool begins)
{
	wrap_depth += begins ? WRAP_DEPTH_MAX : -WRAP_DEPTH_MAX;
}

/*
 * Constructors of libraries that are not ours run in an order that puts some before ours and the
 * recorder's, and they call what we wrap. So the first such call starts us and the recorder, if it
 * is there; the constructors then find it done. Not before the C library has its environment.
 */
void wrap_start(void)
{
	static bool started;
	void *found;
	void (*start_recorder)(void);
	const int saved_errno = errno;

	/* Relaxed: whoever comes second only does not wait for the first. */
	if (!environment_is_ready() || __atomic_exchange_n(&started, true, __ATOMIC_RELAXED))
		return;
	dl_iterate_phdr(wrap_record_object, NULL);
	side_event_description_ptr_init();
	found = dlsym(RTLD_DEFAULT, "side_agent_start");
	memcpy(&start_recorder, &found, sizeof(found));
	if (start_recorder)
		start_recorder();
	errno = saved_errno;
}

/*
 * Before the constructor that registers this library's events, so that no event runs without it. That
 * one has the first priority that compilers let us write.
 */
static void wrap_loaded(void)
{
	wrap_start();
}

__attribute__((section(".init_array.00100"), used)) static void (*const loaded_first)(
		void) = wrap_loaded;

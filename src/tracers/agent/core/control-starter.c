/* SPDX-License-Identifier: MIT */
/*
 * Start the control thread from an event in any context: in an allocator that holds its lock, under
 * the loader's lock, on a stack of one page.
 *
 * pthread_create() allocates memory with the program's allocator, so the thread that calls an event
 * must not call it. A task created by the bare system call calls it instead: if the task has to
 * wait for a lock, the program runs on and releases that lock. The task is unknown to the C
 * library, so it has thread-local storage of its own: initialized as that of a new thread, with the
 * caller's guards, and never reused, because allocators keep pointers to it. It ends when the
 * thread exists.
 *
 * The caller's own work (the request to the daemon) uses the same memory as its stack before the
 * task begins.
 *
 * The C library skips its locks as long as it knows of one thread. So the caller first lets it know
 * of more, by a pthread_create() that fails before it allocates anything.
 *
 * If this is not possible (another processor, a sanitizer's runtime, which knows only threads that
 * it has seen begin, or a C library with other structures) control-thread.c calls pthread_create()
 * in the caller.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/futex.h>

#include "tracers/agent/core/control-starter.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/vfork.h"
#include "base/inside/raw.h"
#include "base/inside/task.h"

#include <sys/mman.h>

#if defined(__x86_64__) && defined(__LP64__) && !defined(RAW_IS_WATCHED)

#define STARTER_STACK ((size_t)128 << 10)
#define STARTER_MODULES_MAX 32
#define STARTER_DTV_MAX 256
#define STARTER_HEAD ((size_t)8192) /* the C library's data of a thread, from the thread pointer */
#define STARTER_TLS_MAX ((size_t)1 << 20)

/* The control block at the thread pointer, as the x86-64 ABI and the C library define it. */
struct starter_head {
	void *self;
	struct starter_dtv *dtv;
	void *thread;
	int multiple_threads, gscope;
	uintptr_t sysinfo, stack_guard, pointer_guard;
};

struct starter_dtv {
	/* of the first: the generation; of the one before it: how many there are */
	uintptr_t value;
	void *to_free;
};
#define STARTER_UNALLOCATED UINTPTR_MAX

/* Initial data of one module, `distance` below the thread pointer. */
struct starter_image {
	const void *bytes;
	size_t filled, distance;
};

static struct {
	bool usable;
	size_t tls; /* bytes below the thread pointer */
	size_t tid; /* offset of the thread id from the thread pointer */
	long rseq;  /* likewise its restartable sequences, or 0 */
	uint32_t nr_images;
	struct starter_image images[STARTER_MODULES_MAX];
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void (*ctype_init)(void);
	/*
	 * of this process: the stack, with the task's work at its end, and thread-local storage
	 * above it
	 */
	void *memory;
	uint32_t running; /* a futex, which the kernel clears when the task has ended */
} starter;

static struct starter_head *control_starter_thread_pointer(void)
{
	struct starter_head *head;

	__asm__("movq %%fs:0, %0" : "=r"(head));
	return head;
}

/* ---- what a new thread has, noted where the loader may be asked ---- */

static int starter_note_image(struct dl_phdr_info *object, size_t size, void *user)
{
	uintptr_t top = (uintptr_t)control_starter_thread_pointer(),
		  at = (uintptr_t)object->dlpi_tls_data;
	bool *complete = user;
	uint32_t i;

	(void)size;
	/*
	 * Each thread allocates storage that is not below the thread pointer when it first uses it.
	 */
	if (!at || at >= top || top - at > starter.tls)
		return 0;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type != PT_TLS || !segment->p_filesz)
			continue;
		if (starter.nr_images == STARTER_MODULES_MAX) {
			*complete = false;
			return 1;
		}
		starter.images[starter.nr_images++] = (struct starter_image){
				.bytes = (const void *)(object->dlpi_addr + segment->p_vaddr),
				.filled = segment->p_filesz,
				.distance = top - at,
		};
	}
	return 0;
}

/*
 * Weak references: a lookup that fails would allocate, and this may run within the allocator's
 * first call.
 */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static bool starter_is_sanitized(void)
{
	return &__asan_init || &__hwasan_init || &__lsan_init || &__msan_init || &__tsan_init;
}

/*
 * Whether it is the C library's own, possibly called through the wrapper. A function of the program
 * may do anything.
 */
static bool starter_may_announce(const void *function, const void *of_library)
{
	Dl_info there, library;
	const char *name;

	if (!function || !dladdr(function, &there) || !dladdr(of_library, &library))
		return false;
	if (there.dli_fbase == library.dli_fbase)
		return true;
	name = there.dli_fname ? strrchr(there.dli_fname, '/') : NULL;
	return name && !strncmp(name + 1, "libside-wrap-", strlen("libside-wrap-"));
}

/* The C library exports the location of the thread id for debuggers: bits, elements, offset. */
static bool starter_find_functions(void)
{
	const uint32_t *tid = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");
	void *create = dlsym(RTLD_DEFAULT, "pthread_create");
	void *ctype = dlsym(RTLD_DEFAULT, "__ctype_init");

	(void)dlerror();
	if (!tid || tid[0] != 32 || tid[2] > STARTER_HEAD - sizeof(int))
		return false;
	starter.tid = tid[2];
	starter.rseq = &__rseq_offset ? __rseq_offset : 0;
	if (!starter_may_announce(create, tid))
		create = NULL;
	memcpy(&starter.create, &create, sizeof(create));
	memcpy(&starter.ctype_init, &ctype, sizeof(ctype));
	return true;
}

void control_starter_prepare(size_t thread_data)
{
	bool complete = !agent_objects_are_stuck();

	starter.nr_images = 0;
	starter.tls = thread_data;
	starter.usable = starter.tls <= STARTER_TLS_MAX && !starter_is_sanitized() &&
			starter_find_functions();
	if (!starter.usable)
		return;
	agent_objects_each(starter_note_image, &complete);
	starter.usable = complete;
}

void control_starter_forked(void)
{
	/* The memory of the parent's task stays mapped: allocators have pointers to it. */
	starter.memory = NULL;
	starter.running = 0;
}

/* ---- memory ---- */

static size_t starter_size(void)
{
	return STARTER_STACK + starter.tls + STARTER_HEAD +
			(STARTER_DTV_MAX + 1) * sizeof(struct starter_dtv);
}

static bool starter_map(void)
{
	if (!starter.memory)
		starter.memory = raw_mmap(NULL, starter_size(), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	return starter.memory != NULL;
}

static char *starter_stack_top(void)
{
	return (char *)starter.memory + STARTER_STACK;
}

/*
 * Modules whose storage is below the thread pointer have it there; that of others is allocated at
 * its first use.
 */
static bool starter_fill_dtv(struct starter_head *head, const struct starter_head *caller)
{
	struct starter_dtv *dtv = (struct starter_dtv *)((char *)head + STARTER_HEAD) + 1;
	uintptr_t top = (uintptr_t)caller, nr = caller->dtv[-1].value, i;

	if (nr >= STARTER_DTV_MAX)
		return false;
	dtv[-1].value = nr;
	dtv[0].value = caller->dtv[0].value;
	for (i = 1; i <= nr; i++) {
		uintptr_t at = caller->dtv[i].value;

		dtv[i].value = at < top && top - at <= starter.tls ? (uintptr_t)head - (top - at)
								   : STARTER_UNALLOCATED;
	}
	head->dtv = dtv;
	return true;
}

static struct starter_head *starter_make_thread(void)
{
	struct starter_head *head = (struct starter_head *)(starter_stack_top() + starter.tls);
	const struct starter_head *caller = control_starter_thread_pointer();
	uint32_t i;

	for (i = 0; i < starter.nr_images; i++)
		memcpy((char *)head - starter.images[i].distance, starter.images[i].bytes,
				starter.images[i].filled);
	if (starter.rseq >= -(long)starter.tls && starter.rseq <= (long)STARTER_HEAD - 32)
		/* No area is registered with the kernel: an invalid CPU number. */
		*(int32_t *)((char *)head + starter.rseq + 4) = -1;
	head->self = head->thread = head;
	head->multiple_threads = 1;
	head->stack_guard = caller->stack_guard;
	head->pointer_guard = caller->pointer_guard;
	return starter_fill_dtv(head, caller) ? head : NULL;
}

/* ---- running there ---- */

void starter_call_on(void *stack, void (*function)(void)) __attribute__((visibility("hidden")));

__asm__(".text\n"
	".globl starter_call_on\n"
	".type starter_call_on, @function\n"
	".p2align 4\n"
	"starter_call_on:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq %rdi, %rsp\n"
	"	call *%rsi\n"
	"	movq %rbp, %rsp\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size starter_call_on, . - starter_call_on\n");

/* In the task. */
static int starter_task(void *unused)
{
	const char *head = (const char *)control_starter_thread_pointer();
	void (*work)(void);

	(void)unused;
	agent_vforked = AGENT_OUR_TASK;
	agent_own_task_begins();
	*(int *)((char *)control_starter_thread_pointer() + starter.tid) =
			(int)raw_call(SYS_gettid);
	if (starter.ctype_init)
		starter.ctype_init();
	memcpy(&work, head - starter.tls - STARTER_STACK, sizeof(work));
	work();
	return 0;
}

static void *starter_never(void *unused)
{
	return unused;
}

/*
 * A guard of a size that no memory has: the C library refuses it after it has prepared itself for
 * several threads.
 */
static void starter_announce(void)
{
	pthread_attr_t attributes;
	struct agent_own own;
	pthread_t thread;

	if (!starter.create)
		return;
	agent_own_begin(&own);
	if (!pthread_attr_init(&attributes)) {
		if (!pthread_attr_setguardsize(&attributes, SIZE_MAX))
			(void)starter.create(&thread, &attributes, starter_never, NULL);
		(void)pthread_attr_destroy(&attributes);
	}
	agent_own_end(&own);
}

static int starter_begin(void (*work)(void), uint32_t *running)
{
	const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID;
	struct starter_head *head;
	uint64_t all = ~0ull, before;
	long ret;

	if (!starter.usable)
		return -ENOSYS;
	if (!starter_map())
		return -ENOMEM;
	head = starter_make_thread();
	if (!head)
		return -ENOSYS;
	memcpy(starter.memory, &work, sizeof(work));
	/* A probe may be a breakpoint, which ends a thread that blocks its signal. */
	all &= ~(1ull << (SIGTRAP - 1) | 1ull << (SIGILL - 1));
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(before));
	__atomic_store_n(running, 1, __ATOMIC_RELAXED);
	ret = task_start(flags, starter_task, NULL, starter_stack_top(), running, head);
	if (ret < 0)
		__atomic_store_n(running, 0, __ATOMIC_RELAXED);
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return (int)ret;
}

int control_starter_run(void (*work)(void))
{
	int ret;

	if (starter.usable)
		starter_announce();
	ret = starter_begin(work, &starter.running);
	/* An allocator may keep pointers to the task's memory, so no other task uses it. */
	if (ret >= 0)
		starter.memory = NULL;
	return ret;
}

bool control_starter_complete(void (*work)(void), uint64_t until)
{
	/* not on the caller's stack: the kernel writes there after a timeout, too */
	static uint32_t running;
	void *memory;
	uint32_t now;

	if (__atomic_load_n(&running, __ATOMIC_RELAXED) || starter_begin(work, &running) < 0)
		return false;
	memory = starter.memory;
	starter.memory = NULL;
	/*
	 * Acquire: what the task has done. Pairs with the store of the kernel, which clears the
	 * word after the task's end.
	 */
	while ((now = __atomic_load_n(&running, __ATOMIC_ACQUIRE)) != 0)
		if (!control_wait(&running, now, FUTEX_WAIT, until))
			return false;
	raw_munmap(memory, starter_size());
	return true;
}

const uint32_t *control_starter_running(void)
{
	return &starter.running;
}

void control_starter_call(void (*function)(void))
{
	if (starter.usable && starter_map())
		starter_call_on(starter_stack_top(), function);
	else
		function();
}

#else

void control_starter_prepare(size_t thread_data)
{
	(void)thread_data;
}

void control_starter_forked(void) {}

int control_starter_run(void (*work)(void))
{
	(void)work;
	return -ENOSYS;
}

bool control_starter_complete(void (*work)(void), uint64_t until)
{
	(void)work;
	(void)until;
	return false;
}

const uint32_t *control_starter_running(void)
{
	static const uint32_t never;

	return &never;
}

void control_starter_call(void (*function)(void))
{
	function();
}

#endif

/* SPDX-License-Identifier: MIT */
/* Checks features of the kernel and of the C library. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Weak: only a C library that registers rseq for each thread defines it. */
extern const unsigned int __rseq_size __attribute__((weak));

static bool doctor_kernel_is_skipped(const struct doctor *doctor, struct doctor_finding *finding)
{
	if (doctor->is_other_machine)
		doctor_found(finding, DOCTOR_SKIPPED,
				"cannot be checked in the files of another machine");
	return doctor->is_other_machine;
}

/*
 * Makes a system call with arguments that make it fail or do nothing. False if the kernel does not
 * know it.
 */
static bool doctor_kernel_has_syscall(long number, long first, long second, long third)
{
	long ret = syscall(number, first, second, third, 0L, 0L);
	int error = errno;

	if (ret >= 0 && (number == SYS_pidfd_open || number == SYS_memfd_create))
		close((int)ret);
	return ret >= 0 || error != ENOSYS;
}

static void doctor_check_kernel(const struct doctor *doctor, struct doctor_finding *finding)
{
	static const char pidfd[] = "pidfd_open (5.3)", range[] = "close_range (5.9)",
			  memory[] = "memfd_create (3.17)", vm[] = "process_vm_readv (3.2)",
			  barrier[] = "membarrier (4.14)";
	char text[256] = "";
	const char *missing[5];
	struct utsname name;
	size_t count = 0;

	if (doctor_kernel_is_skipped(doctor, finding))
		return;
	uname(&name);
	if (!doctor_kernel_has_syscall(SYS_pidfd_open, getpid(), 0, 0))
		missing[count++] = pidfd;
	/* An empty range. */
	if (!doctor_kernel_has_syscall(SYS_close_range, 1, 0, 0))
		missing[count++] = range;
	if (!doctor_kernel_has_syscall(SYS_memfd_create, (long)"side-doctor", MFD_CLOEXEC, 0))
		missing[count++] = memory;
	if (!doctor_kernel_has_syscall(SYS_process_vm_readv, getpid(), 0, 0))
		missing[count++] = vm;
	if (!doctor_kernel_has_syscall(SYS_membarrier, 0, 0, 0))
		missing[count++] = barrier;
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? ", " : "",
				missing[i]);
	if (!count) {
		doctor_found(finding, DOCTOR_OK, "%s %s, %s", name.sysname, name.release,
				name.machine);
		return;
	}
	doctor_found(finding, DOCTOR_NOTE, "%s %s, %s lacks %s, or a sandbox forbids them",
			name.sysname, name.release, name.machine, text);
	doctor_set_hint(finding,
			"use Linux 5.9 or later; in a container, a seccomp profile that allows them");
}

static void doctor_check_rseq(const struct doctor *doctor, struct doctor_finding *finding)
{
	if (doctor_kernel_is_skipped(doctor, finding))
		return;
	/* An area of size 0 is an error in each kernel that has rseq. */
	if (!doctor_kernel_has_syscall(SYS_rseq, 0, 0, 0)) {
		doctor_found(finding, DOCTOR_NOTE,
				"the kernel has no rseq: side uses a slower method");
		doctor_set_hint(finding, "use Linux 4.18 or later with CONFIG_RSEQ");
	} else if (!&__rseq_size || !__rseq_size) {
		doctor_found(finding, DOCTOR_NOTE,
				"the C library does not register rseq: side uses a slower method");
		doctor_set_hint(finding,
				"use glibc 2.35 or later, and no glibc.pthread.rseq=0 in GLIBC_TUNABLES");
	} else {
		doctor_found(finding, DOCTOR_OK, "registered by the C library");
	}
}

static void doctor_check_clock(const struct doctor *doctor, struct doctor_finding *finding)
{
	static const char clock_source_path[] =
			"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	static const char *const fast[] = {"tsc", "kvm-clock", "arch_sys_counter",
			"hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource"};
	char source[64];

	if (!doctor_line(doctor, clock_source_path, source, sizeof(source))) {
		doctor_found(finding, DOCTOR_SKIPPED, "unknown");
		return;
	}
	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++) {
		if (!strcmp(source, fast[i])) {
			doctor_found(finding, DOCTOR_OK, "%s", source);
			return;
		}
	}
	doctor_found(finding, DOCTOR_NOTE,
			"reading the clock source %s takes a system call, which makes each event slow",
			source);
	doctor_set_hint(finding, "add `tsc=reliable clocksource=tsc` to the kernel command line");
}

static void doctor_check_pages(const struct doctor *doctor, struct doctor_finding *finding)
{
	char line[128];

	if (!doctor_line(doctor, "/sys/kernel/mm/transparent_hugepage/shmem_enabled", line,
			    sizeof(line))) {
		doctor_found(finding, DOCTOR_NOTE,
				"the kernel has no huge pages for shared memory");
	} else if (strstr(line, "[never]") || strstr(line, "[deny]")) {
		doctor_found(finding, DOCTOR_NOTE, "off: %s", line);
		doctor_set_hint(finding,
				"echo advise | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled");
	} else {
		doctor_found(finding, DOCTOR_OK, "%s", line);
	}
}

const struct doctor_check doctor_kernel_checks[] = {
		{"kernel", "everything", doctor_check_kernel},
		{"rseq", "fast events: each one is a single restartable sequence",
				doctor_check_rseq},
		{"clock", "fast events: the time is read without a system call",
				doctor_check_clock},
		{"hugepages", "`--huge-pages`", doctor_check_pages},
		{.name = NULL},
};

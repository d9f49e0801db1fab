/* SPDX-License-Identifier: MIT */
/* `side doctor` on kernels that lack system calls: the test plays the calls. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../called.h"

#include "programs/side/doctor/doctor.h"

static const long *lacking; /* numbers of system calls; ends with -1 */
static long result;
static int last_error;

static long played_syscall(
		long number, long first, long second, long third, long fourth, long fifth)
{
	assert_true(!fourth && !fifth);
	if (number == SYS_memfd_create)
		called("memfd %s %ld %ld;", (const char *)first, second, third);
	else
		called("%ld %ld %ld %ld;", number, first == getpid() ? -7 : first, second, third);
	for (const long *each = lacking; *each >= 0; each++) {
		if (*each == number) {
			errno = ENOSYS;
			return -1;
		}
	}
	errno = last_error;
	return result;
}

static int played_uname(struct utsname *name)
{
	strcpy(name->sysname, "Linux");
	strcpy(name->release, "5.6");
	strcpy(name->machine, "x86");
	return 0;
}

static int played_close(int fd)
{
	called("close %d;", fd);
	return 0;
}

#undef doctor_kernel_is_skipped
#define syscall(number, first, second, third, fourth, fifth) \
	played_syscall(number, (long)(first), (long)(second), (long)(third), fourth, fifth)
#define uname played_uname
#define close played_close
#include "programs/side/doctor/kernel.c"
#undef syscall
#undef uname
#undef close

static void check(void examine(const struct doctor *doctor, struct doctor_finding *finding),
		enum doctor_state state, const char *found, const char *hint)
{
	const struct doctor doctor = {.root = ""};
	struct doctor_finding finding = {.state = DOCTOR_SKIPPED};

	examine(&doctor, &finding);
	assert_string_equal(finding.found, found);
	assert_string_equal(finding.hint, hint);
	assert_int_equal(finding.state, state);
}

#define UPDATE "use Linux 5.9 or later; in a container, a seccomp profile that allows them"

static void test_calls(void **unused)
{
	static const struct {
		long number;
		const char *name;
	} each[] = {{SYS_pidfd_open, "pidfd_open (5.3)"}, {SYS_close_range, "close_range (5.9)"},
			{SYS_memfd_create, "memfd_create (3.17)"},
			{SYS_process_vm_readv, "process_vm_readv (3.2)"},
			{SYS_membarrier, "membarrier (4.14)"}};
	static const long all[] = {SYS_pidfd_open, SYS_close_range, SYS_memfd_create,
			SYS_process_vm_readv, SYS_membarrier, -1};
	char expected[400];

	(void)unused;
	lacking = &all[5];
	result = -1;
	last_error = EINVAL;
	check(doctor_check_kernel, DOCTOR_OK, "Linux 5.6, x86", "");
	snprintf(expected, sizeof(expected),
			"%d -7 0 0;%d 1 0 0;memfd side-doctor %d 0;%d -7 0 0;%d 0 0 0;",
			SYS_pidfd_open, SYS_close_range, (int)MFD_CLOEXEC, SYS_process_vm_readv,
			SYS_membarrier);
	assert_called(expected);
	/* Descriptors are closed, including descriptor 0; other results are not descriptors. */
	for (result = 0; result < 2; result++) {
		last_error = ENOSYS;
		check(doctor_check_kernel, DOCTOR_OK, "Linux 5.6, x86", "");
		snprintf(expected, sizeof(expected),
				"%d -7 0 0;close %ld;%d 1 0 0;memfd side-doctor %d 0;close %ld;%d -7 0 0;%d 0 0 0;",
				SYS_pidfd_open, result, SYS_close_range, (int)MFD_CLOEXEC, result,
				SYS_process_vm_readv, SYS_membarrier);
		assert_called(expected);
	}
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		const long one[] = {each[i].number, -1};

		lacking = one;
		snprintf(expected, sizeof(expected),
				"Linux 5.6, x86 lacks %s, or a sandbox forbids them", each[i].name);
		check(doctor_check_kernel, DOCTOR_NOTE, expected, UPDATE);
	}
	lacking = all;
	check(doctor_check_kernel, DOCTOR_NOTE,
			"Linux 5.6, x86 lacks pidfd_open (5.3), close_range (5.9), memfd_create (3.17), process_vm_readv (3.2), membarrier (4.14), or a sandbox forbids them",
			UPDATE);
	*calls = '\0';
}

static void test_rseq(void **unused)
{
	static const long rseq[] = {SYS_rseq, -1};

	(void)unused;
	result = -1;
	last_error = EINVAL;
	lacking = rseq;
	check(doctor_check_rseq, DOCTOR_NOTE, "the kernel has no rseq: side uses a slower method",
			"use Linux 4.18 or later with CONFIG_RSEQ");
	*calls = '\0';
}

/* Files of another architecture cause no call. */
static void test_other(void **unused)
{
	const struct doctor other = {.root = "/none", .is_other_machine = true};
	struct doctor_finding finding = {.state = DOCTOR_OK};

	(void)unused;
	for (int i = 0; i < 2; i++) {
		finding.state = DOCTOR_OK;
		(i ? doctor_check_kernel : doctor_check_rseq)(&other, &finding);
		assert_string_equal(
				finding.found, "cannot be checked in the files of another machine");
		assert_int_equal(finding.state, DOCTOR_SKIPPED);
		assert_called("");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_rseq),
			cmocka_unit_test(test_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Twenty functions so short and so close to each other that a probe in one can only be a breakpoint
 * or a uprobe. Each is called once. The program does not use SIDE.
 */
#define SHORT(n)                                                                                   \
	__asm__(".text\n.globl short_" #n "\n.type short_" #n ", @function\nshort_" #n ":\n"       \
		".cfi_startproc\npush %rax\npop %rax\nret\n.cfi_endproc\n.size short_" #n ", . - " \
		"short_" #n "\n");                                                                 \
	void short_##n(void);
#define CALL(n) short_##n();
#define EACH(what)                                                                                \
	what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) what(11) \
			what(12) what(13) what(14) what(15) what(16) what(17) what(18) what(19)   \
					what(20)

EACH(SHORT)
/* The last one has no space either. */
__asm__(".text\n.globl behind\n.type behind, @function\nbehind:\n.skip 16, 0x90\nret\n.size "
	"behind, . - behind\n");

int main(void)
{
	EACH(CALL)
	return 0;
}

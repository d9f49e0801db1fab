/* SPDX-License-Identifier: MIT */
/*
 * An ELF note with the version of side, in libside and in the agent: `side doctor` compares them.
 */
__asm__(".pushsection .note.side.version, \"a\", @note\n\t"
	".balign 4\n\t"
	".long 5, 2f - 1f, 2\n\t"
	".asciz \"SIDE\"\n\t"
	".balign 4\n"
	"1:\t.asciz \"" SIDE_VERSION "\"\n"
	"2:\t.balign 4\n\t"
	".popsection");
/* A file of declarations alone is no translation unit in C. */
extern const char environment_version_unused;

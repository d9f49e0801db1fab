/* SPDX-License-Identifier: MIT */
/*
 * Opens the compressed symbols of a stripped file (.gnu_debugdata): an ELF file that has the
 * functions which are not in the dynamic symbol table.
 */
#include <stdlib.h>

#include "base/unpack/unpack.h"
#include "symbolize/module.h"

void mini_debug_open(struct mini_debug *mini, Elf *elf)
{
	Elf_Data *data = file_section_data(elf, ".gnu_debugdata");
	size_t size = 0;

	*mini = (struct mini_debug){.elf = NULL};
	if (!data || !data->d_buf)
		return;
	mini->bytes = unpack_xz(data->d_buf, data->d_size, &size);
	if (mini->bytes)
		mini->elf = elf_memory((char *)mini->bytes, size);
	if (mini->elf && elf_kind(mini->elf) == ELF_K_ELF)
		return;
	mini_debug_close(mini);
}

void mini_debug_close(struct mini_debug *mini)
{
	if (mini->elf)
		elf_end(mini->elf);
	free(mini->bytes);
	*mini = (struct mini_debug){.elf = NULL};
}

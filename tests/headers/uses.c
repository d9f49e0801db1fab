/* SPDX-License-Identifier: MIT */
#include "uses.h"

int main(void)
{
	return use_everything(NULL) ? 0 : 1;
}

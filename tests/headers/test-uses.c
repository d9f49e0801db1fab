/* SPDX-License-Identifier: MIT */
#include "test-uses.h"

int main(void)
{
	return test_uses();
}

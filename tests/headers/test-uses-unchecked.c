/* SPDX-License-Identifier: MIT */
#define SIDE_STATIC_CHECK_DISABLE
#include "test-uses.h"

int main(void)
{
	return test_uses();
}

/* SPDX-License-Identifier: MIT */
/* Variables with members of all kinds, for test-members.py. */
#include <pthread.h>
#include <semaphore.h>

#include <mutex>

namespace shop
{

struct base {
	long number;
	pthread_mutex_t base_lock;
};

struct counter {
	char name[12];
	pthread_spinlock_t spin;
};

struct server : base {
	char padded;
	pthread_mutex_t lock;
	union {
		pthread_rwlock_t shared;
		long words[2];
	};
	struct {
		sem_t free;
		volatile const long limit = 1;
	} slots[3];
	counter grid[2][3];
	std::mutex own;
	unsigned int flag : 3;
};

server main_server;
static server table[5];

} // namespace shop

extern "C" {
pthread_mutex_t members_alone = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t members_several[4];
struct members_first {
	pthread_mutex_t first;
	int number;
};
static const int members_count = 2;
members_first members_pair[members_count];
}

int main(int argc, char **)
{
	return pthread_mutex_lock(&shop::table[argc & 1].lock) +
			pthread_mutex_lock(&shop::main_server.lock) +
			pthread_mutex_lock(&members_several[argc & 3]) +
			pthread_mutex_lock(&members_pair[argc & 1].first) +
			pthread_mutex_lock(&members_alone);
}

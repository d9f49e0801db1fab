/* SPDX-License-Identifier: MIT */
/*
 * Allocates and frees in one of several ways, and leaves known blocks.
 *
 * usage: seeded-leaks MODE
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
/* Not a tail call: the caller stays on the stack. */
#define RETURN(value)                              \
	do {                                       \
		void *kept = value;                \
		__asm__ volatile("" : "+r"(kept)); \
		return kept;                       \
	} while (0)

static void *volatile kept[100000];

/* ---- layers ---- */

static NOINLINE void *layer5(size_t size)
{
	RETURN(malloc(size));
}
static NOINLINE void *layer4(size_t size)
{
	RETURN(layer5(size));
}
static NOINLINE void *layer3(size_t size)
{
	RETURN(layer4(size));
}
static NOINLINE void *layer2(size_t size)
{
	RETURN(layer3(size));
}
static NOINLINE void *layer1(size_t size)
{
	RETURN(layer2(size));
}

/* Leaves 30 blocks with 1000 to 1029 bytes. */
static NOINLINE void layers()
{
	for (int i = 0; i < 60; i++)
		kept[i] = layer1(1000 + i);
	for (int i = 30; i < 60; i++)
		free(kept[i]);
}

/* ---- realloc ---- */

static NOINLINE void *resize(void *block, size_t size)
{
	RETURN(realloc(block, size));
}

/* Leaves a block of 50000 bytes, and one of 77. */
static NOINLINE void resizes()
{
	void *volatile block = nullptr;

	for (int i = 1; i <= 50; i++)
		block = resize(block, i * 1000);
	kept[0] = block;
	kept[1] = resize(nullptr, 77);
	kept[2] = resize(nullptr, 100);
	kept[2] = resize(kept[2], 0);
	kept[3] = calloc(7, 11);
	kept[3] = resize(kept[3], 200);
	free(kept[3]);
	free(nullptr);
}

/* ---- a pool of the program ---- */

struct pool {
	char *chunk;
	size_t used;
};

static NOINLINE void *pool_get(struct pool *pool, size_t size)
{
	if (!pool->chunk || pool->used + size > 4096) {
		pool->chunk = static_cast<char *>(malloc(4096));
		pool->used = 0;
	}
	pool->used += size;
	return pool->chunk + pool->used - size;
}

/* Leaves chunks: 100 blocks of 400 bytes are in 10 chunks. */
static NOINLINE void pools()
{
	struct pool pool = {};

	for (int i = 0; i < 100; i++)
		kept[i] = pool_get(&pool, 400);
}

/* ---- threads ---- */

static NOINLINE void work(int number)
{
	std::vector<void *> blocks;

	for (int i = 0; i < 3000; i++) {
		blocks.push_back(malloc(16 + (i * 7 + number) % 500));
		if (i % 3) {
			free(blocks.back());
			blocks.pop_back();
		}
	}
	/* Leave 10 blocks of each thread; the others are freed by the next thread. */
	for (size_t i = 0; i < blocks.size(); i++)
		kept[number * 1000 + i] = blocks[i];
}

static NOINLINE void threads()
{
	std::vector<std::thread> all;

	for (int i = 0; i < 4; i++)
		all.emplace_back(work, i);
	for (std::thread &thread : all)
		thread.join();
	for (int i = 0; i < 4; i++)
		for (int block = 10; block < 1000; block++)
			free(kept[i * 1000 + block]);
}

/* ---- processes ---- */

/* The parent leaves 100 bytes. The child frees 200 bytes of its parent, and leaves 55 bytes. */
static NOINLINE void forks()
{
	pid_t child;

	kept[0] = malloc(100);
	kept[1] = malloc(200);
	child = fork();
	if (!child) {
		free(kept[1]);
		kept[2] = malloc(55);
		kept[3] = malloc(66);
		free(kept[3]);
		_exit(0);
	}
	waitpid(child, nullptr, 0);
	free(kept[1]);
}

/* What the first image leaves ends with it. */
static NOINLINE void executes(char *self)
{
	kept[0] = malloc(12345);
	execl(self, self, "layers", static_cast<char *>(nullptr));
	_exit(1);
}

/* ---- C++ ---- */

struct thing {
	thing(bool fails)
	{
		text = "a text that does not fit into the string itself";
		if (fails)
			throw std::runtime_error("as requested");
	}
	std::string text;
};

static NOINLINE thing *make(bool fails)
{
	return new thing(fails);
}

/* Leaves one thing with its text, and an array of 40 bytes. */
static NOINLINE void objects()
{
	thing *one = make(false), *other = make(false);

	kept[0] = one;
	delete other;
	for (int i = 0; i < 10; i++) {
		try {
			kept[1] = make(true);
		} catch (const std::runtime_error &) {
		}
	}
	kept[2] = new char[40];
	delete[] new int[50];
	kept[3] = ::operator new(16, std::nothrow);
	::operator delete(kept[3]);
}

/* A block of malloc(), and then one of `new` at the same address; both are freed. */
static NOINLINE void mixed()
{
	for (int i = 0; i < 100; i++) {
		kept[0] = malloc(40);
		free(kept[0]);
		kept[0] = ::operator new(40);
		::operator delete(kept[0]);
	}
}

/* As above, by operators that the program does not import, as in a library that is loaded later. */
static NOINLINE void mixed_directly()
{
	const auto allocate = reinterpret_cast<void *(*)(size_t)>(dlsym(RTLD_DEFAULT, "_Znwm"));
	const auto release = reinterpret_cast<void (*)(void *)>(dlsym(RTLD_DEFAULT, "_ZdlPv"));

	for (int i = 0; i < 100; i++) {
		kept[0] = malloc(40);
		free(kept[0]);
		kept[0] = allocate(40);
		release(kept[0]);
		kept[0] = allocate(40);
		free(kept[0]);
	}
}

/* ---- mappings ---- */

static NOINLINE char *map(char *where, size_t pages, int flags)
{
	void *mapped = mmap(where, pages * 4096 - 1, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	__asm__ volatile("" : "+r"(mapped));
	return static_cast<char *>(mapped);
}

/* Marks the begin and the end of the calls for a test. */
static void mark(const char *path)
{
	if (!access(path, F_OK))
		abort();
}

static NOINLINE void maps()
{
	char *middle, *first, *last, *moved, *all;

	mark("/nonexistent/begin");
	map(nullptr, 10, 0);
	middle = map(nullptr, 9, 0);
	munmap(middle + 3 * 4096, 4096);
	munmap(middle + 5 * 4096, 100);
	first = map(nullptr, 8, 0);
	munmap(first, 3 * 4096);
	last = map(nullptr, 7, 0);
	munmap(last + 6 * 4096, 4096);
	munmap(map(nullptr, 6, 0), 6 * 4096);
	/* Maps over the end of a mapping, and over a whole mapping within a reservation. */
	all = map(nullptr, 100, 0);
	map(all + 10 * 4096, 5, MAP_FIXED);
	map(all + 12 * 4096, 20, MAP_FIXED);
	munmap(all + 30 * 4096, 50 * 4096);
	moved = map(nullptr, 4, 0);
	moved = static_cast<char *>(mremap(moved, 4 * 4096, 3000 * 4096, MREMAP_MAYMOVE));
	moved = static_cast<char *>(mremap(moved, 3000 * 4096, 2000 * 4096, 0));
	mremap(moved, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, all + 40 * 4096);
	/* These calls fail. */
	if (map(nullptr, size_t(1) << 51, 0) != MAP_FAILED || !munmap(all + 1, 4096) ||
			!munmap(all, 0))
		abort();
	mark("/nonexistent/end");
}

/* ---- many stacks ---- */

static NOINLINE void right(int depth);

/* Leaves a block that one of 2 to the power of `depth` stacks allocates. */
static NOINLINE void left(int depth)
{
	static unsigned int random = 1;

	random = random * 1103515245 + 12345;
	if (!depth)
		kept[0] = malloc(24);
	else if (random & 65536)
		left(depth - 1);
	else
		right(depth - 1);
	__asm__ volatile("");
}

static NOINLINE void right(int depth)
{
	left(depth);
	__asm__ volatile("");
}

static NOINLINE void stacks()
{
	for (int i = 0; i < 15000; i++)
		left(20);
}

/* ---- functions of libc that allocate ---- */

static NOINLINE void texts()
{
	char *text = nullptr, *line = nullptr;
	size_t size = 0;
	FILE *file = tmpfile();

	kept[0] = strdup("twelve bytes");
	kept[1] = strndup("only four", 4);
	if (asprintf(&text, "%d and %d", 1, 2) < 0)
		abort();
	kept[2] = text;
	if (asprintf(&text, "%d", 3) < 0)
		abort();
	free(text);
	if (!file || fputs("a line\n", file) < 0)
		abort();
	rewind(file);
	if (getline(&line, &size, file) < 0)
		abort();
	kept[3] = line;
	fclose(file);
	kept[4] = realpath("/proc/self/../self", nullptr);
	free(kept[4]);
}

static NOINLINE void aligned()
{
	void *block = nullptr;

	kept[0] = aligned_alloc(64, 640);
	kept[1] = aligned_alloc(64, 128);
	free(kept[1]);
	if (posix_memalign(&block, 256, 300))
		abort();
	kept[2] = block;
	if (posix_memalign(&block, 256, 70))
		abort();
	free(block);
}

/* ---- errors ---- */

static NOINLINE void drop(void *block)
{
	free(block);
	__asm__ volatile("");
}

/* libc ends the program at the second free. */
static NOINLINE void twice()
{
	void *block = malloc(5000);

	kept[0] = malloc(10);
	kept[1] = block;
	drop(kept[1]);
	drop(kept[1]);
}

/* ---- a program that runs ---- */

/*
 * Prints "ready" and waits for a line; then, for each line, allocates a block and keeps it. The
 * blocks from before are freed at the second line.
 */
static NOINLINE void runs()
{
	char line[16];
	int count = 0;

	for (int i = 0; i < 50; i++)
		kept[1000 + i] = malloc(9999);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		kept[count] = layer1(500 + count);
		if (++count == 2)
			for (int i = 0; i < 50; i++)
				free(kept[1000 + i]);
		kept[1050] = malloc(1);
		free(kept[1050]);
		puts("done");
		fflush(stdout);
	}
}

/* Continues in a child until the standard input ends, as a daemon does. */
static NOINLINE void daemonize()
{
	char line[16];

	if (fork())
		return;
	kept[0] = malloc(100);
	while (fgets(line, sizeof(line), stdin))
		;
	_exit(0);
}

/* ---- behaviour that a recording must not change ---- */

/* Prints "begun"; after a line of input, allocates and frees until long after the rings are full. */
static NOINLINE void busy()
{
	char line[16];

	kept[0] = malloc(100);
	puts("begun");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return;
	for (int i = 0; i < 300000; i++)
		free(layer1(16 + i % 100));
	puts("ended");
}

/* Limits its address space and then uses half of it. Prints how many blocks of 1 MiB it has. */
static NOINLINE void limited()
{
	const struct rlimit limit = {160 << 20, 160 << 20};
	int count = 0;

	setrlimit(RLIMIT_AS, &limit);
	while (count < 80 && (kept[count] = malloc(1 << 20)))
		count++;
	printf("%d\n", count);
}

int main(int, char **argv)
{
	static char output[4096];
	const std::string mode = argv[1];

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	if (mode == "layers")
		layers();
	else if (mode == "realloc")
		resizes();
	else if (mode == "pool")
		pools();
	else if (mode == "threads")
		threads();
	else if (mode == "fork")
		forks();
	else if (mode == "exec")
		executes(argv[0]);
	else if (mode == "objects")
		objects();
	else if (mode == "texts")
		texts();
	else if (mode == "aligned")
		aligned();
	else if (mode == "twice")
		twice();
	else if (mode == "run")
		runs();
	else if (mode == "mixed")
		mixed();
	else if (mode == "mixed-directly")
		mixed_directly();
	else if (mode == "maps")
		maps();
	else if (mode == "stacks")
		stacks();
	else if (mode == "daemon")
		daemonize();
	else if (mode == "busy")
		busy();
	else if (mode == "limited")
		limited();
	else if (mode != "nothing")
		return 2;
	return 7;
}

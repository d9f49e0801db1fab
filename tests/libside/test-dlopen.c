/* SPDX-License-Identifier: MIT */
/*
 * A program that is not linked with libside loads instrumented libraries and a tracer, from several
 * threads, and unloads them again.  Arguments: the plugin, the tracer, a folder for copies.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

enum {
	COPIES = 6,
	ROUNDS = 30,
};

static char copies[COPIES][512];
static int stop;

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "cannot load: %s\n", dlerror());
		abort();
	}
	return library;
}

static void *function(void *library, const char *name)
{
	void *address = dlsym(library, name);

	CHECK(address);
	return address;
}

static int call_int(void *library, const char *name)
{
	int (*call)(void);

	*(void **)&call = function(library, name);
	return call();
}

static void emit(void *library)
{
	void (*call)(void);

	*(void **)&call = function(library, "plugin_emit");
	call();
}

static void copy_file(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t size;

	CHECK(in && out);
	while ((size = fread(buffer, 1, sizeof(buffer), in)))
		CHECK(fwrite(buffer, 1, size, out) == size);
	fclose(in);
	CHECK(!fclose(out));
}

static void *load_and_unload(void *path)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		void *library = load(path);

		CHECK(call_int(library, "plugin_enabled"));
		emit(library);
		CHECK(!dlclose(library));
	}
	return NULL;
}

static void *emit_all_the_time(void *library)
{
	void (*call)(void);

	*(void **)&call = function(library, "plugin_emit");
	/* At least once, even if this thread starts late. */
	do
		call();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
	return NULL;
}

static void test_sequence(const char *plugin_path, const char *tracer_path)
{
	void *plugin, *tracer;

	CHECK(!dlsym(RTLD_DEFAULT, "side_call"));
	plugin = load(plugin_path);
	emit(plugin);
	CHECK(!call_int(plugin, "plugin_enabled"));
	tracer = load(tracer_path);
	CHECK(call_int(tracer, "tracer_inserted") == 1);
	CHECK(call_int(plugin, "plugin_enabled"));
	emit(plugin);
	CHECK(call_int(tracer, "tracer_calls") == 1);
	CHECK(!dlclose(plugin));
	CHECK(call_int(tracer, "tracer_removed") == 1);
	plugin = load(plugin_path);
	CHECK(call_int(tracer, "tracer_inserted") == 2);
	emit(plugin);
	CHECK(call_int(tracer, "tracer_calls") == 2);
	CHECK(!dlclose(tracer));
	CHECK(!call_int(plugin, "plugin_enabled"));
	emit(plugin);
	CHECK(!dlclose(plugin));
}

/* Constructors in many threads, while other threads are in callbacks that call the loader. */
static void test_parallel(const char *plugin_path, const char *tracer_path, const char *to_load)
{
	void *tracer = load(tracer_path), *plugin = load(plugin_path);
	pthread_t loaders[COPIES], emitter;
	void (*tracer_load)(const char *path);
	int i;

	*(void **)&tracer_load = function(tracer, "tracer_load");
	tracer_load(to_load);
	CHECK(!pthread_create(&emitter, NULL, emit_all_the_time, plugin));
	for (i = 0; i < COPIES; i++)
		CHECK(!pthread_create(&loaders[i], NULL, load_and_unload, copies[i]));
	for (i = 0; i < COPIES; i++)
		CHECK(!pthread_join(loaders[i], NULL));
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK(!pthread_join(emitter, NULL));
	CHECK(call_int(tracer, "tracer_calls") > COPIES * ROUNDS);
	CHECK(!dlclose(plugin));
	CHECK(call_int(tracer, "tracer_inserted") == call_int(tracer, "tracer_removed"));
	CHECK(!dlclose(tracer));
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/side-test-dlopen-XXXXXX";
	int i;

	alarm(60);
	CHECK(argc == 3);
	CHECK(mkdtemp(folder));
	for (i = 0; i < COPIES; i++) {
		snprintf(copies[i], sizeof(copies[i]), "%s/plugin-%d.so", folder, i);
		copy_file(argv[1], copies[i]);
	}
	test_sequence(argv[1], argv[2]);
	test_parallel(argv[1], argv[2], copies[0]);
	/*
	 * Without calls of the loader in callbacks, but with constructors that wait for the agent's
	 * first dump while they hold the loader's lock.
	 */
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	setenv("PLUGIN_STATEDUMP", "1", 1);
	test_parallel(argv[1], argv[2], NULL);
	for (i = 0; i < COPIES; i++)
		unlink(copies[i]);
	rmdir(folder);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * This process as an instance: it introduces itself, maps the rings it is given, and lets libside
 * tell it of events. A forked child is a new instance and does the same with what it inherits:
 *
 *   fork     The rings refuse the child (they know by a page that is wiped on fork), so nothing is
 *            written under the parent's name, whatever runs before our handler, and also when a
 *            bare clone() never runs it.
 *   handler  A new connection, new rings, the same events described again; then records flow. When
 *            any of that fails the child records nothing, and says nothing.
 *
 * The child may have been forked within one of our callbacks (an application's visitor) or by a
 * signal handler on top of one. The parent's mapping then stays, because the callback still works
 * on it; the rings refuse it, and the next fork or the end of the process drops it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "agent/agent.h"
#include "wire/raw.h"

struct agent agent __attribute__((visibility("hidden"))) = {.socket = -1};

static uint64_t new_token(void)
{
	uint64_t token = 0;

	raw_call(SYS_getrandom, &token, sizeof(token), 1 /* GRND_NONBLOCK */);
	if (!token)
		token = wire_deadline(0) ^ (uint64_t)raw_call(SYS_getpid) << 40;
	return token ? token : 1;
}

/* Ask for rings and map them. The connection stays open for the first events. */
static int join(uint64_t parent_token, struct ring_producer **producer)
{
	int ring_fd = -1;
	int doorbell_fd = -1;
	int ret;

	*producer = NULL;
	agent.token = new_token();
	ret = agent_hello(parent_token, &ring_fd, &doorbell_fd);
	if (ret) {
		agent_debug("no recorder: error %d", -ret);
		return ret;
	}
	if (agent.list_only)
		return 0;
	ret = ring_producer_map(ring_fd, doorbell_fd, producer);
	wire_close(ring_fd);
	wire_close(doorbell_fd);
	if (ret) {
		agent_debug("the rings cannot be mapped: error %d", -ret);
		agent_hang_up();
	}
	return ret;
}

/* ---- fork ---- */

/* Records that were refused between the fork and now are losses of the child. */
static void count_refused(struct ring_producer *producer, struct ring_producer *old)
{
	uint64_t refused = old ? ring_producer_refused(old) : 0;

	/* The counter's loop is short: this is the time of one fork. */
	for (refused = refused > 4096 ? 4096 : refused; refused; refused--)
		ring_count_lost(producer, AGENT_LOST_SLOT, RING_LOST_NESTED);
}

static void forked_child(void)
{
	struct ring_producer *old = agent.producer;
	struct ring_producer *producer = NULL;
	uint64_t parent_token = agent.token;
	int saved_errno = errno;

	/* A descriptor of the parent's, if it was just talking. */
	agent_hang_up();
	if (!agent_depth)
		agent_pool_reset();
	if (!old || agent.gone)
		goto out;
	if (agent_is_sandboxed() || join(parent_token, &producer) || agent_batches_send_again()) {
		agent.gone = true;
		if (producer)
			ring_producer_unmap(producer);
		producer = NULL;
	}
	agent_hang_up();
	if (producer)
		count_refused(producer, old);
	__atomic_store_n(&agent.producer, producer, __ATOMIC_RELAXED);
	if (!agent_depth)
		ring_producer_unmap(old);
	agent_debug("forked: %s", producer ? "recording on" : "not recording");
out:
	errno = saved_errno;
}

/* ---- begin and end ---- */

/*
 * Runs before the destructors of libraries, because it is registered after the loader's. From here
 * on nothing is freed; callbacks work on until the last instruction of the process.
 */
static void process_exits(void)
{
	atomic_store_explicit(&agent.exiting, true, memory_order_relaxed);
}

static int install_handlers(void)
{
	static bool installed;

	if (installed)
		return 0;
	/* After libside's handlers, which its initialisation has installed: see forked_child(). */
	side_init();
	if (pthread_atfork(NULL, NULL, forked_child) || atexit(process_exits))
		return -ENOMEM;
	installed = true;
	return 0;
}

static void drop_rings(void)
{
	if (agent.producer)
		ring_producer_unmap(agent.producer);
	agent.producer = NULL;
	agent_pool_destroy();
}

int agent_start(const char *path)
{
	int ret;

	if (!*path || strlen(path) >= sizeof(agent.path))
		return -ENAMETOOLONG;
	memcpy(agent.path, path, strlen(path) + 1);
	agent.seccomp = prctl(PR_GET_SECCOMP);
	ret = join(0, &agent.producer);
	if (ret)
		return ret;
	ret = agent.list_only ? 0 : agent_pool_create();
	if (!ret)
		ret = install_handlers();
	if (!ret && side_tracer_request_key(&agent.key) != SIDE_ERROR_OK)
		ret = -ENOSPC;
	if (!ret) {
		agent.tracer = side_tracer_event_notification_register(agent_batches_changed, NULL);
		if (!agent.tracer)
			ret = -ENOMEM;
	}
	if (ret)
		drop_rings();
	if (ret || !agent.list_only)
		agent_hang_up();
	agent_debug(ret ? "not recording: error %d" : "recording", -ret);
	return ret;
}

void agent_stop(void)
{
	if (agent.tracer)
		side_tracer_event_notification_unregister(agent.tracer);
	agent_batches_forget();
	drop_rings();
	agent_hang_up();
	agent = (struct agent){.socket = -1, .debug = agent.debug};
}

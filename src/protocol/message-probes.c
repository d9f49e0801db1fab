/* SPDX-License-Identifier: MIT */
/* Encodes and decodes the messages about probes: a table for a program, and the states of its
   probes. */
#include "protocol/message.h"

#include <errno.h>
#include <string.h>

struct probes_body {
	uint64_t table, size;
};

struct probed_body {
	uint64_t token, table;
	uint32_t sequence, last;
	uint32_t error, nr_probes;
	uint64_t cut, lost, unseen, abandoned, traps, code_bytes;
	uint32_t nr_runs, reserved;
};

struct loaded_body {
	uint64_t token;
	uint32_t nr_paths, size;
};

_Static_assert(sizeof(struct loaded_body) == 16, "as on other word sizes");
_Static_assert(sizeof(struct probes_body) == 16, "as on other word sizes");
_Static_assert(sizeof(struct probed_body) == 88, "as on other word sizes");
_Static_assert(sizeof(struct wire_probe_run) == 16, "as on other word sizes");
_Static_assert(sizeof(struct wire_header) + sizeof(struct probed_body) +
						WIRE_PROBED_RUNS_MAX *
								sizeof(struct wire_probe_run) <=
				WIRE_MESSAGE_MAX,
		"a full one is one message");

ssize_t wire_encode_probes(void *message, size_t capacity, const struct wire_probes *probes)
{
	struct probes_body body = {.table = probes->table, .size = probes->size};

	if (!probes->table || !probes->size)
		return -EINVAL;
	return message_encode(message, capacity, WIRE_PROBES,
			(struct message_piece[]){{&body, sizeof(body)}}, 1);
}

int wire_decode_probes(const void *message, size_t size, struct wire_probes *ret_probes)
{
	struct probes_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_PROBES, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (!body.table || !body.size || remainder_size)
		return -EPROTO;
	*ret_probes = (struct wire_probes){.table = body.table, .size = body.size};
	return 0;
}

/* Whether the bytes are as many absolute paths as LOADED may have. */
static bool message_are_paths(const struct wire_loaded *loaded)
{
	const char *path = loaded->paths;

	if (!loaded->nr_paths || loaded->nr_paths > WIRE_LOADED_MAX ||
			!wire_strings_valid(loaded->paths, loaded->nr_paths, loaded->size))
		return false;
	for (uint32_t i = 0; i < loaded->nr_paths; i++) {
		size_t length = strlen(path);

		if (*path != '/' || length > WIRE_LOADED_PATH_MAX)
			return false;
		path += length + 1;
	}
	return true;
}

ssize_t wire_encode_loaded(void *message, size_t capacity, const struct wire_loaded *loaded)
{
	struct loaded_body body = {
			.token = loaded->token, .nr_paths = loaded->nr_paths, .size = loaded->size};

	if (!loaded->token || !message_are_paths(loaded))
		return -EINVAL;
	return message_encode(message, capacity, WIRE_LOADED,
			(struct message_piece[]){
					{&body, sizeof(body)}, {loaded->paths, loaded->size}},
			2);
}

int wire_decode_loaded(const void *message, size_t size, struct wire_loaded *ret_loaded)
{
	struct loaded_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_LOADED, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	*ret_loaded = (struct wire_loaded){.token = body.token,
			.nr_paths = body.nr_paths,
			.size = body.size,
			.paths = remainder};
	return body.token && body.size == remainder_size && message_are_paths(ret_loaded) ? 0
											  : -EPROTO;
}

struct wire_probe_run wire_probed_at(const struct wire_probed *probed, uint32_t index)
{
	struct wire_probe_run run;

	memcpy(&run, (const char *)probed->runs + index * sizeof(run), sizeof(run));
	return run;
}

/* True if the runs of one message are consecutive and within the table. The receiver of several
   messages checks their order. */
static bool are_runs(const struct wire_probed *probed)
{
	uint64_t next = 0;

	if (probed->nr_runs > WIRE_PROBED_RUNS_MAX || (probed->error && probed->nr_probes))
		return false;
	for (uint32_t i = 0; i < probed->nr_runs; i++) {
		struct wire_probe_run run = wire_probed_at(probed, i);

		if (!run.count || run.state >= WIRE_NR_PROBE_STATES ||
				(run.state == WIRE_PROBE_REFUSED) != (run.error != 0) ||
				(i && run.first != next))
			return false;
		next = (uint64_t)run.first + run.count;
		if (next > probed->nr_probes)
			return false;
	}
	return true;
}

ssize_t wire_encode_probed(void *message, size_t capacity, const struct wire_probed *probed)
{
	struct probed_body body = {
			.token = probed->token,
			.table = probed->table,
			.sequence = probed->sequence,
			.last = probed->last,
			.error = probed->error,
			.nr_probes = probed->nr_probes,
			.cut = probed->cut,
			.lost = probed->lost,
			.unseen = probed->unseen,
			.abandoned = probed->abandoned,
			.traps = probed->traps,
			.code_bytes = probed->code_bytes,
			.nr_runs = probed->nr_runs,
	};

	if (!probed->token || !probed->table || !are_runs(probed))
		return -EINVAL;
	return message_encode(message, capacity, WIRE_PROBED,
			(struct message_piece[]){{&body, sizeof(body)},
					{probed->runs,
							probed->nr_runs *
									sizeof(struct wire_probe_run)}},
			2);
}

int wire_decode_probed(const void *message, size_t size, struct wire_probed *ret_probed)
{
	struct probed_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_PROBED, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (!body.token || !body.table || body.last > 1 || body.reserved ||
			body.nr_runs > WIRE_PROBED_RUNS_MAX ||
			body.nr_runs * sizeof(struct wire_probe_run) != remainder_size)
		return -EPROTO;
	*ret_probed = (struct wire_probed){
			.token = body.token,
			.table = body.table,
			.sequence = body.sequence,
			.last = body.last,
			.error = body.error,
			.nr_probes = body.nr_probes,
			.cut = body.cut,
			.lost = body.lost,
			.unseen = body.unseen,
			.abandoned = body.abandoned,
			.traps = body.traps,
			.code_bytes = body.code_bytes,
			.nr_runs = body.nr_runs,
			.runs = (const struct wire_probe_run *)(const void *)remainder,
	};
	return are_runs(ret_probed) ? 0 : -EPROTO;
}

const char *wire_probe_state_text(uint32_t state)
{
	static const char *const texts[WIRE_NR_PROBE_STATES] = {
			[WIRE_PROBE_ABSENT] = "not loaded",
			[WIRE_PROBE_JUMP] = "jump",
			[WIRE_PROBE_PADDING] = "jump into padding",
			[WIRE_PROBE_SHORT] = "short jump",
			[WIRE_PROBE_PUNNED] = "punned jump",
			[WIRE_PROBE_BREAKPOINT] = "breakpoint",
			[WIRE_PROBE_RESTS] = "idle",
			[WIRE_PROBE_REFUSED] = "refused",
			[WIRE_PROBE_UPROBE] = "uprobe",
	};

	return state < WIRE_NR_PROBE_STATES ? texts[state] : "unknown";
}

/* Errors of patch_set() first. */
const char *wire_probe_error_text(uint32_t error)
{
	switch (error) {
	case 0: return "no reason";
	case ESTALE:
		return "the code of the process differs from its file: another tool has changed it";
	case EADDRINUSE:
		return "the kernel watches that location (`side trace --global`, perf, bpftrace), or a debugger has a breakpoint there";
	case EBUSY: return "a nearby probe needs the same bytes";
	case ERANGE: return "no free memory is near enough";
	case EPERM: return "its code cannot be changed";
	case EDEADLK: return "a thread blocks SIGTRAP, so a hit would end it";
	case ENOSYS: return "this kernel cannot notify all processors that code has changed";
	case ENOMEM: return "the program is out of memory";
	case EPROTO: return "its probe table is damaged";
	case EPROTONOSUPPORT: return "its probe table has another version";
	case EACCES: return "its recorder belongs to another user";
	case EREMOTE:
		return "only a uprobe is possible in Go code, and where the stack pointer may point to data; the kernel does not set one here (`-v` reports why); `--global` watches all processes";
	case EOPNOTSUPP: return "the program's agent cannot set probes";
	case ESHUTDOWN:
		return "the program is in a sandbox (seccomp) in which a breakpoint would end it";
	case ECANCELED:
		return "the program has entered a sandbox (seccomp) in which a hit there would end it";
	case ENOTUNIQ:
		return "the program has loaded another file by that path: its build ID differs";
	case EFAULT: return "its location is not in code of that file";
	default:
		return strerrordesc_np((int)error) ? strerrordesc_np((int)error) : "unknown reason";
	}
}

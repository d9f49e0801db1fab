/* SPDX-License-Identifier: MIT */
/*
 * Plans as objects: their memory, and what can be asked of them.
 */
#include <errno.h>
#include <sys/mman.h>

#include <side/abi/event-description.h>

#include "tracers/agent/plan/bytes.h"
#include "tracers/agent/plan/compile.h"
#include "tracers/agent/plan/plan.h"

/*
 * The wrappers recognize a tracer's call by its return address, so the last call of a function must
 * not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

static size_t plan_bytes(uint32_t op_count)
{
	return sizeof(struct plan_body) + op_count * sizeof(struct plan_op);
}

ssize_t plan_size(const struct side_event_description *description, char *error, size_t error_size)
{
	uint32_t count;
	int64_t size;
	int result;

	result = plan_compile_ops(description, NULL, 0, &count, &size, error, error_size);
	return result ? result : (ssize_t)plan_bytes(count);
}

/* The shortest way that knows all operations. */
static plan_serialize_func plan_choose_serializer(struct plan_body *body)
{
	struct plan_op *op = body->ops, *end = op + body->op_count - 1;

	if (body->variadic || body->op_count > PLAN_STEPS_MAX)
		return plan_serialize_any;
	if (op + 1 == end && plan_serialize_run(op->code))
		return plan_serialize_run(op->code);
	for (; op != end + 1; op += op->skip) {
		if (op->code > PLAN_END)
			return plan_serialize_any;
		op->step = plan_step(op->code);
	}
	return plan_serialize_plain;
}

/* Copies shorter than this are not worth two pieces. */
#define SPAN_MIN 64

/* Does it call the application while it runs? Entries of blocks are no operations. */
static bool plan_is_gp_only(const struct plan_body *body)
{
	const struct plan_op *op = body->ops, *end = op + body->op_count;

	if (body->variadic)
		return false;
	for (; op < end; op += op->code == PLAN_BLOCK ? op->skip : 1)
		if (op->code == PLAN_VLA_VISITOR || op->code == PLAN_DYNAMIC)
			return false;
	return true;
}

static bool is_span(const struct plan_op *op)
{
	if (op->code == PLAN_GATHER_COPY)
		return op->count >= SPAN_MIN;
	return op->code == PLAN_GATHER && op->skip > 2 && op[1].code == PLAN_MEMORY_VLA &&
			op[1].flags & PLAN_FLAT && op[1].skip == op->skip - 1;
}

static void choose_kind(struct plan_body *body)
{
	const struct plan_op *op = body->ops, *end = op + body->op_count - 1;
	const struct plan_op *last = op;

	if (!plan_is_gp_only(body))
		return;
	body->plan.kind = PLAN_KIND_GP_ONLY;
	if (op + 1 == end && op->code >= PLAN_SCALAR_1 && op->code <= PLAN_SCALAR_16 &&
			op->count == 1) {
		body->plan.kind = PLAN_KIND_SCALAR;
		body->plan.scalar_size = op->size;
		body->plan.scalar_label = op->label;
		return;
	}
	for (; op != end; op += op->skip)
		last = op;
	if (last != end && is_span(last)) {
		body->plan.kind = PLAN_KIND_SPAN;
		body->span_at = (uint32_t)(last - body->ops);
	}
}

/*
 * Valgrind reports what words read beyond a string. It knows this sequence, which does nothing
 * elsewhere, as a question: 0x1001 asks whether it is there.
 */
static bool under_valgrind(void)
{
	uintptr_t answer = 0;
#ifdef __x86_64__
	volatile uintptr_t question[6] = {0x1001};

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "=d"(answer)
			 : "a"(question), "0"(answer)
			 : "cc", "memory");
#endif
	return answer != 0;
}

static int plan_build_body(const struct side_event_description *description, void *memory,
		size_t size, char *error, size_t error_size, struct plan **ret_plan)
{
	struct plan_body *body = memory;
	uint32_t capacity;
	int64_t fixed_size;
	int status;

	if (size < plan_bytes(1) || (uintptr_t)memory % sizeof(uint64_t))
		return -EINVAL;
	size = (size - sizeof(*body)) / sizeof(struct plan_op);
	capacity = size > PLAN_OPS_MAX ? PLAN_OPS_MAX : (uint32_t)size;
	status = plan_compile_ops(description, body->ops, capacity, &body->op_count, &fixed_size,
			error, error_size);
	if (status)
		return status;
	body->arg_count = side_array_length(&description->fields);
	body->mapped_size = 0;
	body->variadic = description->flags & SIDE_EVENT_FLAG_VARIADIC;
	body->fixed_size = body->variadic ? -1 : fixed_size;
	if (under_valgrind())
		__atomic_store_n(&plan_strings_by_byte, true, __ATOMIC_RELAXED);
	plan_block_runs(body);
	body->plan = (struct plan){
			.serialize = plan_choose_serializer(body), .kind = PLAN_KIND_ANY};
	body->span_at = 0;
	choose_kind(body);
	*ret_plan = &body->plan;
	return 0;
}

int plan_build(const struct side_event_description *description, void *memory, size_t size,
		struct plan **ret_plan)
{
	return plan_build_body(description, memory, size, NULL, 0, ret_plan);
}

int plan_compile(const struct side_event_description *description, struct plan **ret_plan,
		char *error, size_t error_size)
{
	ssize_t size = plan_size(description, error, error_size);
	struct plan *plan;
	void *memory;
	int status;

	if (size < 0)
		return (int)size;
	memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (memory == MAP_FAILED) {
		if (error && error_size)
			error[0] = '\0';
		return -ENOMEM;
	}
	status = plan_build_body(description, memory, (size_t)size, error, error_size, &plan);
	if (status) {
		munmap(memory, (size_t)size);
		return status;
	}
	((struct plan_body *)plan)->mapped_size = (size_t)size;
	*ret_plan = plan;
	return 0;
}

void plan_free(struct plan *plan)
{
	struct plan_body *body = (struct plan_body *)plan;

	if (body && body->mapped_size)
		munmap(body, body->mapped_size);
	NO_TAIL_CALL();
}

ssize_t plan_fixed_size(const struct plan *plan)
{
	return (ssize_t)((const struct plan_body *)plan)->fixed_size;
}

const char *plan_reason_text(enum plan_reason reason)
{
	switch (reason) {
	case PLAN_REASON_NONE: return "none";
	case PLAN_REASON_TOO_BIG: return "the record is too large";
	case PLAN_REASON_ARGUMENT_COUNT: return "the number of arguments is wrong";
	case PLAN_REASON_ARGUMENT_LABEL: return "an argument has another type";
	case PLAN_REASON_LENGTH: return "a length does not fit";
	case PLAN_REASON_NULL_POINTER: return "a pointer is NULL";
	case PLAN_REASON_SELECTOR: return "a selector does not fit 64 bits";
	case PLAN_REASON_VISITOR: return "a visitor failed";
	case PLAN_REASON_DEPTH: return "a dynamic value is nested too deeply";
	}
	return "unknown";
}

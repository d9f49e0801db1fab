/* SPDX-License-Identifier: MIT */
/* Groups of events by their stack or by its first frame (`--by stack`, `--by caller`). */
#include "analysis/report.h"

uint32_t report_stack_group(
		struct report *report, const struct report_class *own, const struct ctf_item *item)
{
	struct stack stack;
	uint32_t number;

	if (!event_stack_read(&own->stack, item, &stack))
		return GROUP_NONE;
	stack.symbols = report->symbols;
	if (report->by == BY_CALLER)
		stack.count = 1;
	if (!report->options->callers) {
		report->caller_events++;
		report->exact_events += stack.is_exact;
	}
	number = stacks_named(&report->stacks, stacks_add(&report->stacks, &stack));
	if (number == STACK_NONE)
		return GROUP_OTHERS;
	return report_group_of_stack(report, number);
}

static void report_stack_put_function(const struct stack_frame *frame, struct view_out *out)
{
	struct stack_frame without_line = *frame;

	without_line.file = NULL;
	if (frame->function)
		view_text_plain(out, frame->function, strlen(frame->function));
	else
		stacks_print_frame(&without_line, out);
}

void report_stack_text(const struct report *report, uint32_t named, struct view_out *out)
{
	uint32_t count;
	const uint32_t *frames = stacks_frames(&report->stacks, named, &count);

	if (report->by == BY_CALLER) {
		stacks_print_frame(stacks_frame(&report->stacks, frames[0]), out);
		return;
	}
	while (count--) {
		report_stack_put_function(stacks_frame(&report->stacks, frames[count]), out);
		if (count)
			view_out_char(out, ';');
	}
}

/* The symbol of the address that these frames are of. */
static void report_stack_caller_json(const struct report *report, const uint32_t *frames,
		uint32_t count, struct view_out *out)
{
	const struct stack_frame *first = stacks_frame(&report->stacks, frames[0]);
	const struct stack_frame *whole = stacks_frame(&report->stacks, frames[count - 1]);
	struct symbol_inlined inlined[SYMBOLS_INLINED_MAX];
	const struct symbol symbol = {whole->module, whole->offset, whole->function, whole->inside,
			first->file, first->line, inlined, count - 1};
	struct view_sink sink = {.ops = &view_json_ops, .out = out};

	for (uint32_t i = 0; i + 1 < count; i++) {
		const struct stack_frame *call = stacks_frame(&report->stacks, frames[i + 1]);

		inlined[i].function = stacks_frame(&report->stacks, frames[i])->function;
		inlined[i].file = call->file;
		inlined[i].line = call->line;
	}
	view_out_unsigned(out, whole->address);
	if (!symbol.module)
		return;
	view_out_text(out, ",\"by_symbol\":");
	(void)trace_symbol_json(&sink, &symbol);
}

void report_stack_json(const struct report *report, uint32_t named, struct view_out *out)
{
	struct view_out text = {.begin = NULL};
	uint32_t count;
	const uint32_t *frames = stacks_frames(&report->stacks, named, &count);

	if (report->by == BY_CALLER) {
		report_stack_caller_json(report, frames, count, out);
		return;
	}
	report_stack_text(report, named, &text);
	view_json_quoted(out, text.begin, view_out_size(&text));
	out->failed |= text.failed;
	view_out_free(&text);
	view_out_text(out, ",\"by_stack\":");
	stacks_print_json(&report->stacks, named, out);
}

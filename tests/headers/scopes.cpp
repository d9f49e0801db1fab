/* SPDX-License-Identifier: MIT */
/*
 * Contexts in C++ where events can be defined and emitted: namespaces of each kind, templates,
 * lambdas, initialisers, functions that throw.  Compiled only; warnings are errors.
 */
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <side/trace.h>

namespace app
{
namespace inner
{
static side_define_struct(point, side_field_list(side_field_int("x")));
side_static_event(ev_inner, "places", "inner", SIDE_LOGLEVEL_INFO, side_field_list(side_field_int("n")));
side_hidden_event(ev_hidden, "places", "hidden", SIDE_LOGLEVEL_INFO,
	side_field_list(side_field_struct("p", point)));
side_export_event(ev_export, "places", "export", SIDE_LOGLEVEL_INFO,
	side_field_list(side_field_struct("p", point)));
inline void emit(int n)
{
	side_event(ev_inner, side_arg_list(side_arg_int(n)));
}
} /* namespace inner */

void other(int n);
void other(int n)
{
	using namespace inner;

	emit(n);
	if (side_event_enabled(ev_hidden)) {
		side_arg_define_struct(p, side_arg_list(side_arg_int(n)));
		side_event_call(ev_hidden, side_arg_list(side_arg_struct(p)));
		side_event_call(ev_export, side_arg_list(side_arg_struct(p)));
	}
}
} /* namespace app */

namespace
{
side_static_event(ev_unnamed, "places", "unnamed", SIDE_LOGLEVEL_INFO,
	side_field_list(side_field_u64("size"), side_field_pointer("where")));
side_static_event_variadic(ev_variadic, "places", "variadic", SIDE_LOGLEVEL_INFO, side_field_list());
side_declare_event(ev_elsewhere);
side_static_event(ev_values, "places", "values", SIDE_LOGLEVEL_INFO,
	side_field_list(side_field_string("text"), side_field_s32("atomic"), side_field_bool("owned"),
		side_field_u8("kind")));

enum class kind : uint8_t { first, second };

template <typename T> class box
{
	std::vector<T> content;

public:
	box() { side_event(ev_unnamed, side_arg_list(side_arg_u64(content.size()), side_arg_pointer(this))); }
	~box() { side_event(ev_unnamed, side_arg_list(side_arg_u64(content.size()), side_arg_pointer(this))); }
	box(const box &) = delete;
	box &operator=(const box &) = delete;
	template <typename F> void each(F f)
	{
		for (auto &value : content)
			f(value);
		side_event(ev_unnamed, side_arg_list(side_arg_u64(content.size()), side_arg_pointer(&f)));
	}
};

struct base {
	base() = default;
	base(const base &) = delete;
	base &operator=(const base &) = delete;
	virtual ~base() = default;
	virtual void act() noexcept
	{
		side_event(ev_unnamed, side_arg_list(side_arg_u64(1), side_arg_pointer(nullptr)));
	}
};

struct derived final : base {
	void act() noexcept override { base::act(); }
};

const int at_start = [] {
	side_event_variadic(ev_variadic, side_arg_list(),
		side_arg_list(side_arg_dynamic_field("n", side_arg_dynamic_s32(1))));
	return 3;
}();

int thrower() { throw std::string("text"); }

enum side_visitor_status visit(const struct side_tracer_visitor_ctx *ctx, const std::vector<int> *numbers)
{
	for (int number : *numbers) {
		const struct side_arg elem = side_visit_dynamic_arg(side_arg_s32, number);

		if (ctx->write_elem(ctx, &elem) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}
side_define_static_vla_visitor(numbers_visitor, side_elem(side_type_s32()), side_length(side_type_u32()), visit,
	const std::vector<int>);
side_static_event(ev_numbers, "places", "numbers", SIDE_LOGLEVEL_INFO,
	side_field_list(side_field_vla_visitor("numbers", numbers_visitor)));
} /* namespace */

int main()
try {
	std::string text("text");
	std::atomic<int> atomic(at_start);
	std::unique_ptr<int> owned(new int(1));
	std::vector<int> numbers{1, 2, 3};
	box<int> full;
	derived actor;

	full.each([](int) { app::inner::emit(1); });
	app::other(2);
	actor.act();
	side_event(ev_values, side_arg_list(side_arg_string(text.c_str()), side_arg_s32(atomic), side_arg_bool(owned),
				      side_arg_u8(static_cast<uint8_t>(kind::second))));
	if (side_event_enabled(ev_numbers)) {
		side_arg_define_vla_visitor(visited, &numbers);
		side_event_call(ev_numbers, side_arg_list(side_arg_vla_visitor(visited)));
	}
	for (int i = 0; i < 2; i++)
		side_event_variadic(ev_variadic, side_arg_list(), side_arg_list(side_arg_dynamic_field("s",
			side_arg_dynamic_string(text.c_str(), side_dynamic_attr_list(side_attr("k", side_attr_s32(i)))))));
	side_event(ev_unnamed, side_arg_list(side_arg_u64(static_cast<uint64_t>(thrower())), side_arg_pointer(nullptr)));
} catch (const std::string &) {
	side_event(ev_elsewhere, side_arg_list());
}

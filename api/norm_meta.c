/* The object `meta`: the conventions of an answer, so that no default is silent. */
#include "norm_fields.h"

#include <string.h>

/* One line, such as: y = (1 + gain) · round(x / √(mean(x²) + ε)) */
static void write_formula(struct call *call, struct writer *out, const struct norm_fields *norm)
{
	static const char *const divisors[][3] = {
		[NC_RMSNORM] = {"√(mean(x²) + ε)", "(√mean(x²) + ε)", "max(√mean(x²), ε)"},
		[NC_LAYERNORM] = {"√(var(x) + ε)", "(√var(x) + ε)", "max(√var(x), ε)"},
	};
	bool gain = norm->gain.given, offset = gain && norm->gain_offset != 0;
	bool round = norm->cast_before_gain && gain && call->dtype != NC_FLOAT64;

	write_before_value(out);
	write_raw_text(out, offset ? "\"y = (" : "\"y = ");
	if (offset) {
		write_number_raw(out, norm->gain_offset);
		write_raw_text(out, " + gain) · ");
	} else if (gain) {
		write_raw_text(out, "gain · ");
	}
	write_raw_text(out, round ? "round(" : "");
	write_raw_text(out, norm->kind == NC_RMSNORM ? "x / " : "(x − mean(x)) / ");
	write_raw_text(out, divisors[norm->kind][norm->placement]);
	write_raw_text(out, round ? ")" : "");
	write_raw_text(out, norm->bias.given ? " + bias\"" : "\"");
}

static const char *param_kind(const struct tensor_field *field, const char *absent)
{
	return !field->given ? absent : field->tensor.rank == 0 ? "number" : "elementwise";
}

void norm_meta_write(struct call *call, struct writer *out, const struct norm_fields *norm, const struct nc_layout *layout)
{
	static const char *const placements[] = {[NC_INSIDE_SQRT] = "inside_sqrt", [NC_OUTSIDE_SQRT] = "outside_sqrt", [NC_CLAMP] = "clamp"};
	size_t axes[NC_MAX_RANK];

	for (unsigned i = 0; i < layout->axis_count; i++)
		axes[i] = layout->axes[i];
	write_open(out, '{');
	write_key(out, "op");
	write_name(out, norm_kind_names[norm->kind]);
	write_key(out, "formula");
	write_formula(call, out, norm);
	write_key(out, "dtype");
	write_name(out, nc_dtype_name(call->dtype));
	write_key(out, "param_dtype");
	write_name(out, nc_dtype_name(call->param_dtype));
	write_key(out, "accumulation");
	write_name(out, nc_norm_accumulation(call->dtype));
	write_key(out, "shape");
	write_sizes(out, layout->shape, layout->rank);
	write_key(out, "axes");
	write_sizes(out, axes, layout->axis_count);
	write_key(out, "features");
	write_size(out, layout->features);
	write_key(out, "rows");
	write_size(out, layout->rows);
	write_key(out, "groups");
	write_size(out, layout->groups);
	write_key(out, "epsilon");
	write_number(out, norm->epsilon);
	write_key(out, "epsilon_placement");
	write_name(out, placements[norm->placement]);
	write_key(out, "gain");
	write_open(out, '{');
	write_key(out, "kind");
	write_name(out, param_kind(&norm->gain, "fixed_one"));
	write_key(out, "offset");
	write_number(out, norm->gain_offset);
	write_close(out, '}');
	write_key(out, "bias");
	write_name(out, param_kind(&norm->bias, "none"));
	if (norm->kind == NC_LAYERNORM) {
		write_key(out, "variance");
		write_name(out, "population");
	}
	write_key(out, "cast_before_gain");
	write_bool(out, norm->cast_before_gain);
	write_key(out, "convention");
	if (norm->convention)
		write_name(out, norm->convention->name);
	else
		write_null(out);
	write_key(out, "version");
	write_name(out, NORMD_VERSION);
	write_close(out, '}');
}

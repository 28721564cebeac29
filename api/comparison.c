#include "comparison.h"

#include "fields.h"

#include <string.h>

/* One reference at `at` for the output of that key. */
static bool add(struct call *call, json_t *node, const struct path *at, const char *key, const struct output *outputs, size_t count,
                struct comparison *comparison)
{
	struct tensor_field *want = &comparison->parts[comparison->count].want;

	for (size_t i = 0; i < count; i++) {
		const struct output *output = &outputs[i];
		if (output->group || strcmp(output->key, key) != 0)
			continue;
		comparison->parts[comparison->count++].output = output;
		return tensor_read(call, node, at, output->tensor.dtype, false, want) &&
		       tensor_expect_shape(call, want, at, output->tensor.shape, output->tensor.rank, output->key);
	}
	if (strcmp(key, "dbias") == 0 && json_object_get(call->root, "dy"))
		return fail(call, PROBLEM_unknown_field, at, NULL, NULL, "an RMSNorm has no dbias to compare with: leave it out");
	return fail(call, PROBLEM_missing_field, at, NULL, NULL, "there is no %s to compare with unless dy is sent", key);
}

bool comparison_read(struct call *call, json_t *node, const struct output *outputs, size_t count, double rtol, double atol,
                     struct comparison *comparison)
{
	struct {
		json_t *nodes[COMPARED];
	} given = {0};
	static const struct field rows[COMPARED] = {
		{ROW("y", FIELD_NODE, 0 * sizeof(json_t *))},
		{ROW("dx", FIELD_NODE, 1 * sizeof(json_t *))},
		{ROW("dgain", FIELD_NODE, 2 * sizeof(json_t *))},
		{ROW("dbias", FIELD_NODE, 3 * sizeof(json_t *))},
	};
	const struct fields tables[] = {FIELDS(rows, &given)};
	const struct path at = {.key = "reference"};

	*comparison = (struct comparison){.rtol = rtol, .atol = atol};
	if (!node)
		return true;
	if (!json_is_object(node) || node_is_tensor(node))
		return add(call, node, &at, "y", outputs, count, comparison);
	if (!fields_read(call, node, &at, "reference", tables, 1))
		return false;
	for (size_t i = 0; i < COMPARED; i++) {
		const struct path part_at = {.up = &at, .key = rows[i].name};
		if (given.nodes[i] && !add(call, given.nodes[i], &part_at, rows[i].name, outputs, count, comparison))
			return false;
	}
	return true;
}

void comparison_run(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->count; i++)
		comparison->parts[i].result = nc_compare(&comparison->parts[i].output->tensor, &comparison->parts[i].want.tensor,
		                                         comparison->rtol, comparison->atol);
}

void comparison_write(struct call *call, struct writer *out, const struct comparison *comparison)
{
	if (comparison->count == 0)
		return;
	write_key(out, "comparison");
	write_open(out, '{');
	for (size_t i = 0; i < comparison->count; i++) {
		const struct nc_tensor *t = &comparison->parts[i].output->tensor;
		const struct nc_comparison *result = &comparison->parts[i].result;
		size_t index[NC_MAX_RANK], rest = result->argmax;

		for (unsigned axis = t->rank; axis-- > 0 && t->count; rest /= t->shape[axis])
			index[axis] = rest % t->shape[axis];
		write_key(out, comparison->parts[i].output->key);
		write_open(out, '{');
		write_key(out, "max_abs");
		write_any_number(call, out, result->max_abs);
		write_key(out, "argmax");
		if (t->count)
			write_sizes(out, index, t->rank);
		else
			write_null(out);
		write_key(out, "max_rel");
		write_any_number(call, out, result->max_rel);
		write_key(out, "max_ulp");
		write_any_number(call, out, result->max_ulp);
		write_key(out, "allclose");
		write_bool(out, result->allclose);
		write_close(out, '}');
	}
	write_close(out, '}');
}

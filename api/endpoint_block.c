/* POST /block/grad. */
#include "endpoints.h"

#include "block_answer.h"
#include "block_request.h"

#include <string.h>

/* A norm inside the stack has no value: the request cannot name its row, but which norm it is. */
static bool block_fail(struct call *call, enum nc_status status, const struct block_request *r,
                       const struct nc_block_call *core)
{
	const struct path block_at = {.key = "block"}, list_at = {.up = &block_at, .key = "sublayers"};
	const struct path one_at = {.up = &list_at, .index = core->bad_sublayer}, f_at = {.up = &one_at, .key = "f"};
	const struct path at = {.up = core->bad_norm && strcmp(core->bad_norm, "qk_norm") == 0 ? &f_at : &one_at,
	                        .key = core->bad_norm};

	if (status == NC_NO_MEMORY)
		return fail_memory(call);
	if (status != NC_NO_VALUE)
		return fail(call, PROBLEM_internal, NULL, NULL, NULL, "%s", nc_status_text(status));
	return fail(call, PROBLEM_no_value, &at,
	            "\"a row whose mean square (LayerNorm: variance) is not 0, or an epsilon above 0\"",
	            text_of_number(call, (double)core->bad_row),
	            "row %zu of this norm's input in layer %zu of %zu has no value, its mean square (LayerNorm: "
	            "variance) is exactly "
	            "0 and so is epsilon: set an epsilon above 0",
	            core->bad_row, core->bad_layer, r->depth);
}

bool endpoint_block(struct call *call, struct writer *out)
{
	struct block_request r;
	struct block_answer answer;
	enum nc_status status;

	if (!block_request_read(call, &r) || !block_answer_plan(call, out, &r, &answer))
		return false;
	status = nc_block_grad(&r.core, &answer.core, call->api->pool, call->arena);
	if (status != NC_OK)
		return block_fail(call, status, &r, &answer.core);
	call_computed(call);

	write_open(out, '{');
	if (!block_answer_write(call, out, &answer))
		return false;
	if (r.wanted[KEY_META])
		block_meta_write(call, out, &r);
	write_close(out, '}');
	return true;
}

/* What the service says about itself. */
#include "endpoints.h"

#include "core/conventions.h"
#include "core/isa.h"

#include <string.h>

static bool write_status(struct writer *out, const char *status)
{
	write_open(out, '{');
	write_key(out, "status");
	write_string(out, status);
	write_close(out, '}');
	return true;
}

bool endpoint_healthz(struct call *call, struct writer *out)
{
	(void)call;
	return write_status(out, "ok");
}

bool endpoint_readyz(struct call *call, struct writer *out)
{
	bool ready = atomic_load(&call->api->ready);
	call->status = ready ? 200 : 503;
	return write_status(out, ready ? "ok" : "unavailable");
}

bool endpoint_version(struct call *call, struct writer *out)
{
	const struct api_config *config = &call->api->config;

	write_open(out, '{');
	write_key(out, "version");
	write_string(out, NORMD_VERSION);
	write_key(out, "compiler");
#ifdef __clang__
	write_string(out, "clang " __clang_version__);
#else
	write_string(out, "gcc " __VERSION__);
#endif
	write_key(out, "kernel");
	write_string(out, nc_isa_name(nc_isa_current()));
	write_key(out, "threads");
	write_size(out, config->threads);
	write_key(out, "limits");
	write_open(out, '{');
	for (size_t i = 0; i < config->setting_count; i++) {
		const struct api_setting *setting = &config->settings[i];
		write_key(out, setting->name);
		write_open(out, '{');
		write_key(out, "value");
		write_number(out, setting->value);
		write_key(out, "unit");
		write_string(out, setting->unit);
		write_key(out, "flag");
		write_string(out, setting->flag);
		write_close(out, '}');
	}
	write_close(out, '}');
	write_close(out, '}');
	return true;
}

bool endpoint_conventions(struct call *call, struct writer *out)
{
	const struct nc_convention *convention;

	(void)call;
	write_open(out, '{');
	write_key(out, "conventions");
	write_open(out, '[');
	for (size_t i = 0; (convention = nc_convention_at(i)); i++) {
		write_open(out, '{');
		write_key(out, "name");
		write_string(out, convention->name);
		write_key(out, "kind");
		write_string(out, convention->kind == NC_RMSNORM ? "rmsnorm" : "layernorm");
		write_key(out, "epsilon");
		if (convention->machine)
			write_string(out, "machine");
		else
			write_number(out, convention->epsilon);
		write_key(out, "epsilon_placement");
		write_string(out, "inside_sqrt");
		write_key(out, "gain");
		write_bool(out, convention->weight);
		write_key(out, "gain_offset");
		write_number(out, convention->gain_offset);
		write_key(out, "bias");
		write_bool(out, convention->bias);
		write_key(out, "cast_before_gain");
		write_bool(out, convention->cast_before_gain);
		write_key(out, "description");
		write_string(out, convention->description);
		write_close(out, '}');
	}
	write_close(out, ']');
	write_close(out, '}');
	return true;
}

bool endpoint_index(struct call *call, struct writer *out)
{
	static const char page[] =
		"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>normd</title>\n"
		"<h1>normd</h1>\n"
		"<p>RMSNorm, LayerNorm and residual additions, forward and backward, right to the last bit.</p>\n"
		"<pre>\n"
		"curl localhost:8080/rmsnorm -d '{\"x\":[3,4]}'\n"
		"curl localhost:8080/rmsnorm -d '{\"x\":[3,4],\"gain\":[2,1],\"dy\":[1,0],\"jacobian\":\"dense\"}'\n"
		"curl localhost:8080/layernorm -d '{\"x\":[[1,2,3],[4,5,9]],\"convention\":\"bert\"}'\n"
		"curl localhost:8080/residual -d '{\"x\":[1,3],\"update\":[0.5,-0.5]}'\n"
		"</pre>\n"
		"<p><a href=\"/openapi.json\">openapi.json</a> · <a href=\"/conventions\">conventions</a> · <a href=\"/version\">version</a></p>\n"
		"</html>\n";

	(void)out;
	call->page = page;
	call->page_len = sizeof page - 1;
	call->content_type = "text/html; charset=utf-8";
	return true;
}

/*
 * The number codec beside others: CPU time of the one thread in ns a number, medians of interleaved rounds.
 *
 * bench_codec [numbers...]: default 262144 and 4194304. Data sets: float32 (standard normal), float64 (standard normal), short
 * (three decimals within ±10), and, for what is not everyday, float32 of random bits and float64 of random bits. Read only: float32
 * with a line for each, as `jq .` prints, and magnitudes from 1e-9 to 1e9 as others print them: float32 as Python's repr
 * (1e-05), float64 by "%.17g".
 */
#include "api/json/base64.h"
#include "api/json/json_number.h"
#include "core/isa.h"
#include "peers/codec_peers.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct data {
	enum nc_dtype dtype;
	size_t count;
	double *values;   /* float64 whatever the dtype, for the peers */
	float *narrow;    /* the same in float32 */
	char *text;       /* "[…]", and room for padding behind it */
	size_t length;
	char *out;
	void *read;       /* storage */
};

/* A contender: what it does, once; returns something that depends on all of it. */
struct contender {
	const char *name;
	const char *isa;  /* forced for ours; NULL for others */
	double (*run)(const struct data *d);
};

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static double uniform(void)
{
	return ((double)(next() >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979323846 * uniform());
}

static double draw_float32(void)
{
	return (double)(float)normal();
}

static double draw_short(void)
{
	return round((uniform() - .5) * 20000) / 1000;
}

/* The logarithm is uniform. */
static double draw_wide(void)
{
	return (next() >> 63 ? -1 : 1) * pow(10, 18 * uniform() - 9);
}

static double draw_bits32(void)
{
	for (;;) {
		uint32_t bits = (uint32_t)(next() >> 32);
		float value;
		memcpy(&value, &bits, sizeof value);
		if (isfinite(value))
			return (double)value;
	}
}

static double draw_bits64(void)
{
	for (;;) {
		uint64_t bits = next();
		double value;
		memcpy(&value, &bits, sizeof value);
		if (isfinite(value))
			return value;
	}
}

/* --- how a number is put into the text that is read: returns its end ------------------------------------------------ */

static char *put_shortest(char *out, double value, enum nc_dtype dtype)
{
	return dtype == NC_FLOAT64 ? json_write_float64(out, value) : json_write_float32(out, (float)value);
}

static char *put_line(char *out, double value, enum nc_dtype dtype)
{
	static const char indent[] = "\n      ";
	memcpy(out, indent, sizeof indent - 1);
	return put_shortest(out + sizeof indent - 1, value, dtype);
}

static char *put_17(char *out, double value, enum nc_dtype dtype)
{
	(void)dtype;
	return out + sprintf(out, "%.17g", value);
}

/* The form of Python's repr: an exponent of two digits from 1e16 and below 1e-4. Of float32 alone. */
static char *put_repr(char *out, double value, enum nc_dtype dtype)
{
	char text[32];
	int digits = 0;
	(void)dtype;
	do
		sprintf(text, "%.*e", digits++, value);
	while (strtof(text, NULL) != (float)value);
	int exponent = atoi(strchr(text, 'e') + 1);
	if (exponent < -4 || exponent >= 16)
		return out + sprintf(out, "%s", text);
	int decimals = digits - 1 - exponent;
	return out + sprintf(out, "%.*f", decimals > 1 ? decimals : 1, value);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static double read_ours(const struct data *d)
{
	size_t count;
	const char *after;
	if (json_read_list(d->text + 1, d->text + d->length, d->dtype, d->read, d->count, &count, &after) || count != d->count)
		abort();
	return 1;
}

static double read_jansson(const struct data *d)
{
	json_t *list = json_loadb(d->text, d->length, JSON_DECODE_INT_AS_REAL, NULL);
	for (size_t i = 0; i < d->count; i++)
		((double *)d->read)[i] = json_real_value(json_array_get(list, i));
	json_decref(list);
	return 1;
}

static double read_strtod(const struct data *d)
{
	char *p = d->text;
	for (size_t i = 0; i < d->count; i++) {
		if (d->dtype == NC_FLOAT64)
			((double *)d->read)[i] = strtod(p + 1, &p);
		else
			((float *)d->read)[i] = strtof(p + 1, &p);
	}
	return 1;
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static double write_ours(const struct data *d)
{
	size_t bad;
	const void *values = d->dtype == NC_FLOAT64 ? (const void *)d->values : d->narrow;
	char *end = json_write_list(d->out, d->dtype, values, d->count, JSON_NONFINITE_STOP, &bad);
	return (double)(end - d->out);
}

static double write_jansson(const struct data *d)
{
	json_t *list = json_array();
	for (size_t i = 0; i < d->count; i++)
		json_array_append_new(list, json_real(d->values[i]));
	size_t n = json_dumpb(list, d->out, d->count * JSON_FLOAT64_MAX, JSON_COMPACT);
	json_decref(list);
	return (double)n;
}

static double write_snprintf(const struct data *d)
{
	char *p = d->out;
	for (size_t i = 0; i < d->count; i++)
		p += snprintf(p, 32, d->dtype == NC_FLOAT64 ? "%.17g," : "%.9g,", d->values[i]);
	return (double)(p - d->out);
}

#define PEER(kind, name)                                                                                               \
	static double kind##_##name(const struct data *d)                                                              \
	{                                                                                                              \
		return kind##_peer_##name ? kind##_peer_##name(d->text, d->length, d->values, d->narrow, d->count,     \
		                                               d->dtype == NC_FLOAT64, d->read, d->out)                \
		                          : 0;                                                                         \
	}
PEER(read, simdjson)
PEER(read, from_chars)
PEER(read, rapidjson)
PEER(write, to_chars)
PEER(write, rapidjson)

static const struct contender readers[] = {
	{"normd avx512", "avx512", read_ours},
	{"normd avx2", "avx2", read_ours},
	{"normd sse2", "sse2", read_ours},
	{"normd scalar", "scalar", read_ours},
	{"normd neon", "neon", read_ours},
	{"simdjson on-demand", NULL, read_simdjson},
	{"std::from_chars", NULL, read_from_chars},
	{"RapidJSON exact", NULL, read_rapidjson},
	{"strtod, strtof", NULL, read_strtod},
	{"jansson", NULL, read_jansson},
};

static const struct contender writers[] = {
	{"normd avx512", "avx512", write_ours},
	{"normd avx2", "avx2", write_ours},
	{"normd sse2", "sse2", write_ours},
	{"normd scalar", "scalar", write_ours},
	{"normd neon", "neon", write_ours},
	{"std::to_chars", NULL, write_to_chars},
	{"RapidJSON", NULL, write_rapidjson},
	{"%.9g, %.17g", NULL, write_snprintf},
	{"jansson", NULL, write_jansson},
};

enum { CONTENDERS = 10, ROUNDS = 9 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Median seconds of each contender, all of them in each round; 0 for one that is not there. */
static void measure(const struct contender *c, size_t n, const struct data *d, double *median)
{
	double seconds[CONTENDERS][ROUNDS] = {{0}};
	bool there[CONTENDERS];
	for (size_t i = 0; i < n; i++)
		there[i] = !c[i].isa || nc_isa_select(c[i].isa);
	int rounds = d->count > 1000000 ? 3 : ROUNDS; /* jansson takes minutes for millions */
	for (int round = -1; round < rounds; round++)
		for (size_t i = 0; i < n; i++) {
			if (!there[i])
				continue;
			nc_isa_select(c[i].isa ? c[i].isa : "auto");
			double start = now();
			there[i] = c[i].run(d) != 0;
			if (round >= 0)
				seconds[i][round] = now() - start;
		}
	for (size_t i = 0; i < n; i++) {
		qsort(seconds[i], (size_t)rounds, sizeof(double), ascending);
		median[i] = there[i] ? seconds[i][rounds / 2] : 0;
	}
	nc_isa_select("auto");
}

/* What the numbers of one column are. */
struct kind {
	const char *name;
	enum nc_dtype dtype;
	double (*draw)(void);
	char *(*put)(char *out, double value, enum nc_dtype dtype);
	bool written;     /* the writers run too */
};

static const struct kind kinds[] = {
	{"float32", NC_FLOAT32, draw_float32, put_shortest, true}, {"float64", NC_FLOAT64, normal, put_shortest, true},
	{"short", NC_FLOAT32, draw_short, put_shortest, true}, {"bits float32", NC_FLOAT32, draw_bits32, put_shortest, true},
	{"bits float64", NC_FLOAT64, draw_bits64, put_shortest, true}, {"lines", NC_FLOAT32, draw_float32, put_line, false},
	{"repr float32", NC_FLOAT32, draw_wide, put_repr, false}, {"%.17g", NC_FLOAT64, draw_wide, put_17, false},
};

enum { SETS = sizeof kinds / sizeof *kinds };

static void fill(struct data *d, const struct kind *kind, size_t count)
{
	d->dtype = kind->dtype;
	d->count = count;
	char *end = d->text;
	*end++ = '[';
	for (size_t i = 0; i < count; i++) {
		d->values[i] = kind->draw();
		d->narrow[i] = (float)d->values[i];
		end = kind->put(end, d->values[i], kind->dtype);
		*end++ = ',';
	}
	end[-1] = ']';
	*end = 0;
	d->length = (size_t)(end - d->text);
}

static void table(const char *what, const struct contender *c, size_t n, double times[SETS][CONTENDERS], size_t count, bool read)
{
	printf("\n%s, %zu numbers, ns a number\n%-20s", what, count, "");
	for (int s = 0; s < SETS; s++)
		if (read || kinds[s].written)
			printf(" %12s", kinds[s].name);
	printf("\n");
	for (size_t i = 0; i < n; i++) {
		if (times[0][i] == 0)
			continue;
		printf("%-20s", c[i].name);
		for (int s = 0; s < SETS; s++)
			if (!read && !kinds[s].written)
				continue;
			else if (times[s][i] == 0) /* std::from_chars knows no white space */
				printf(" %12s", "-");
			else
				printf(" %12.2f", times[s][i] * 1e9 / (double)count);
		printf("\n");
	}
	fflush(stdout);
}

static int bench(size_t count)
{
	struct data d = {
		.values = malloc(count * sizeof(double)),
		.narrow = malloc(count * sizeof(float)),
		.text = calloc(1, count * 32 + 128),
		.out = malloc(count * 32 + 128),
		.read = malloc(count * sizeof(double)),
	};
	double reads[SETS][CONTENDERS] = {{0}}, writes[SETS][CONTENDERS] = {{0}};
	if (!d.values || !d.narrow || !d.text || !d.out || !d.read)
		return 1;
	for (int s = 0; s < SETS; s++) {
		fill(&d, &kinds[s], count);
		measure(readers, sizeof readers / sizeof *readers, &d, reads[s]);
		if (kinds[s].written)
			measure(writers, sizeof writers / sizeof *writers, &d, writes[s]);
	}
	table("read", readers, sizeof readers / sizeof *readers, reads, count, true);
	table("write", writers, sizeof writers / sizeof *writers, writes, count, false);
	free(d.values), free(d.narrow), free(d.text), free(d.out), free(d.read);
	return 0;
}

/* base64 of a megabyte, GB/s of the bytes it stands for, beside a copy of them: best of many rounds. */
static int bench_base64(void)
{
	enum { BYTES = 1 << 20, TIMES = 64 };
	static const char *const isas[] = {"avx512", "avx2", "sse2", "scalar", "neon"};
	unsigned char *plain = malloc(BYTES), *back = malloc(BYTES + 3);
	char *text = malloc(base64_encoded_len(BYTES));
	double best = 1e9;
	size_t n;

	if (!plain || !back || !text)
		return 1;
	for (size_t i = 0; i < BYTES; i++)
		plain[i] = (unsigned char)(next() >> 56);
	printf("\nbase64, %d bytes, GB/s  decode  encode\n", BYTES);
	for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
		double decode = 1e9, encode = 1e9;
		if (!nc_isa_select(isas[i]))
			continue;
		for (int t = 0; t < TIMES; t++) {
			double start = now();
			base64_encode(plain, BYTES, text);
			double middle = now();
			bool sound = base64_decode(text, base64_encoded_len(BYTES), back, &n);
			double end = now();
			if (!sound || memcmp(plain, back, BYTES) != 0)
				return 1;
			encode = fmin(encode, middle - start), decode = fmin(decode, end - middle);
		}
		printf("normd %-18s %6.2f %7.2f\n", isas[i], BYTES * 1e-9 / decode, BYTES * 1e-9 / encode);
	}
	for (int t = 0; t < TIMES; t++) {
		double start = now();
		memcpy(back, plain, BYTES);
		__asm__ volatile("" ::"r"(back) : "memory"); /* the copy is not left out */
		best = fmin(best, now() - start);
	}
	printf("%-24s %6.2f\n", "memcpy", BYTES * 1e-9 / best);
	nc_isa_select("auto");
	free(plain), free(back), free(text);
	return 0;
}

int main(int argc, char **argv)
{
	printf("float32, float64: standard normal, shortest decimals; short: three decimals within 10; bits: random bit patterns;\n"
	       "lines: float32, each on a line of its own; repr, %%.17g: 1e-9 to 1e9, with exponents as Python and C print them\n");
	if (bench_base64())
		return 1;
	if (argc < 2)
		return bench(262144) || bench(4194304);
	for (int i = 1; i < argc; i++)
		if (bench((size_t)strtoull(argv[i], NULL, 10)))
			return 1;
	return 0;
}

/* Which table of kernels runs: the strongest that the processor and the system support, or the one that was asked for. */
#include "isa.h"
#include "kernels.h"

#include <string.h>

#ifdef __AVX__
#error "dispatch.c decides before any processor feature is known: compile it for the baseline"
#endif

extern const struct kernels kernels_scalar;
#ifdef __x86_64__
#include <cpuid.h>
extern const struct kernels kernels_sse2, kernels_avx2, kernels_avx512;
#endif
#ifdef __aarch64__
extern const struct kernels kernels_neon;
#endif

static const struct kernels *const built[NC_ISA_COUNT] = {
	[NC_ISA_SCALAR] = &kernels_scalar,
#ifdef __x86_64__
	[NC_ISA_SSE2] = &kernels_sse2,
	[NC_ISA_AVX2] = &kernels_avx2,
	[NC_ISA_AVX512] = &kernels_avx512,
#endif
#ifdef __aarch64__
	[NC_ISA_NEON] = &kernels_neon,
#endif
};

static const char *const names[NC_ISA_COUNT] = {
#define ISA(NAME, text) [NC_ISA_##NAME] = text,
#include "isa.def"
#undef ISA
};

#ifdef __x86_64__

/* Processor features that a table's compiler flags use: register (see struct features) and bit. */
struct feature {
	unsigned word, bit;
};

enum { LEAF1_ECX, LEAF7_EBX, LEAF7_ECX, EXT1_ECX, WORDS };

static const struct feature avx2_features[] = {
	{LEAF1_ECX, 12}, /* FMA */
	{LEAF1_ECX, 23}, /* POPCNT */
	{LEAF1_ECX, 27}, /* OSXSAVE */
	{LEAF1_ECX, 28}, /* AVX */
	{LEAF1_ECX, 29}, /* F16C */
	{LEAF7_EBX, 3},  /* BMI1 */
	{LEAF7_EBX, 5},  /* AVX2 */
	{LEAF7_EBX, 8},  /* BMI2 */
	{EXT1_ECX, 5},   /* LZCNT */
};

static const struct feature avx512_features[] = {
	{LEAF7_EBX, 16}, /* F */
	{LEAF7_EBX, 17}, /* DQ */
	{LEAF7_EBX, 21}, /* IFMA */
	{LEAF7_EBX, 28}, /* CD */
	{LEAF7_EBX, 30}, /* BW */
	{LEAF7_EBX, 31}, /* VL */
	{LEAF7_ECX, 1},  /* VBMI */
	{LEAF7_ECX, 6},  /* VBMI2 */
};

/* XCR0: the registers that the system saves. */
enum { XCR0_AVX = 0x06, XCR0_AVX512 = 0xe6 };

static bool has_all(const unsigned words[WORDS], const struct feature *features, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(words[features[i].word] >> features[i].bit & 1))
			return false;
	return true;
}

static enum nc_isa detect(void)
{
	unsigned words[WORDS] = {0}, a, b, c, d, xcr0, high;

	if (__get_cpuid(1, &a, &b, &c, &d))
		words[LEAF1_ECX] = c;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		words[LEAF7_EBX] = b;
		words[LEAF7_ECX] = c;
	}
	if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
		words[EXT1_ECX] = c;

	if (!has_all(words, avx2_features, sizeof(avx2_features) / sizeof(*avx2_features)))
		return NC_ISA_SSE2;
	__asm__("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0));
	if ((xcr0 & XCR0_AVX) != XCR0_AVX)
		return NC_ISA_SSE2;
	if ((xcr0 & XCR0_AVX512) != XCR0_AVX512 ||
	    !has_all(words, avx512_features, sizeof(avx512_features) / sizeof(*avx512_features)))
		return NC_ISA_AVX2;
	return NC_ISA_AVX512;
}

#elif defined(__aarch64__)

static enum nc_isa detect(void)
{
	return NC_ISA_NEON;
}

#else

static enum nc_isa detect(void)
{
	return NC_ISA_SCALAR;
}

#endif

/* The strongest and the choice, + 1; 0 until they are known. Two threads that find them at once find the same ones. */
static int best, chosen;

/* A virtual machine takes 20 µs for each CPUID: ask once. */
static enum nc_isa strongest(void)
{
	int found = __atomic_load_n(&best, __ATOMIC_RELAXED);

	if (!found) {
		found = (int)detect() + 1;
		__atomic_store_n(&best, found, __ATOMIC_RELAXED);
	}
	return (enum nc_isa)(found - 1);
}

const char *nc_isa_name(enum nc_isa isa)
{
	return names[isa];
}

bool nc_isa_supported(enum nc_isa isa)
{
	return kernels_of(isa);
}

const struct kernels *kernels_of(enum nc_isa isa)
{
	return isa <= strongest() ? built[isa] : NULL;
}

enum nc_isa nc_isa_current(void)
{
	int choice = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (!choice) {
		choice = (int)strongest() + 1;
		__atomic_store_n(&chosen, choice, __ATOMIC_RELAXED);
	}
	return (enum nc_isa)(choice - 1);
}

bool nc_isa_select(const char *name)
{
	int choice = -1;

	if (!strcmp(name, "auto"))
		choice = strongest();
	for (int i = 0; i < NC_ISA_COUNT; i++)
		if (!strcmp(name, names[i]) && nc_isa_supported((enum nc_isa)i))
			choice = i;
	if (choice < 0)
		return false;
	__atomic_store_n(&chosen, choice + 1, __ATOMIC_RELAXED);
	return true;
}

const struct kernels *kernels(void)
{
	return built[nc_isa_current()];
}

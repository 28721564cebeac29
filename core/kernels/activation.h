/*
 * Activations with their slopes: value = f(x), slope = f'(x), each without the cancellation of the textbook form.
 *
 * 1 − σ(x) is σ(−x), 1 − tanh² is 4z/(1+z)² with z = e^(−2|x|), 1 + erf is erfc of the opposite argument.
 */
#ifndef KERNELS_ACTIVATION_H
#define KERNELS_ACTIVATION_H

#include "core/block/activation.h"
#include "elementary.h"

struct curve {
	f64x16 value, slope;
};

INLINE f64x16 f64_negate(f64x16 a)
{
	return f64_sub(f64_set(-0.0), a);
}

/* σ(x) and σ(−x) from one exponential of −|x|, which never overflows. */
INLINE void sigmoids(f64x16 x, f64x16 *sigma, f64x16 *opposite)
{
	f64x16 z = f64_exp(f64_negate(f64_abs(x)));
	f64x16 denominator = f64_add(f64_set(1), z);
	f64x16 large = f64_div(f64_set(1), denominator), small = f64_div(z, denominator);
	i64x16 negative = f64_less(x, f64_set(0));

	*sigma = f64_select(negative, small, large);
	*opposite = f64_select(negative, large, small);
}

INLINE struct curve curve_identity(f64x16 x)
{
	return (struct curve){x, f64_set(1)};
}

/* The slope at 0 is 0. */
INLINE struct curve curve_relu(f64x16 x)
{
	i64x16 off = f64_less_equal(x, f64_set(0));

	return (struct curve){f64_select(off, f64_set(0), x), f64_select(off, f64_set(0), f64_set(1))};
}

INLINE struct curve curve_sigmoid(f64x16 x)
{
	f64x16 sigma, opposite;

	sigmoids(x, &sigma, &opposite);
	return (struct curve){sigma, f64_mul(sigma, opposite)};
}

INLINE struct curve curve_silu(f64x16 x)
{
	f64x16 sigma, opposite;

	sigmoids(x, &sigma, &opposite);
	return (struct curve){f64_mul(x, sigma), f64_add(sigma, f64_mul(x, f64_mul(sigma, opposite)))};
}

INLINE struct curve curve_tanh(f64x16 x)
{
	f64x16 z = f64_exp(f64_mul(f64_set(-2), f64_abs(x)));
	f64x16 denominator = f64_add(f64_set(1), z);

	return (struct curve){f64_tanh(x), f64_div(f64_mul(f64_set(4), z), f64_mul(denominator, denominator))};
}

/* x cut to ±64, NaN kept. */
INLINE f64x16 bounded(f64x16 x)
{
	f64x16 low = f64_select(f64_less(x, f64_set(-64)), f64_set(-64), x);

	return f64_select(f64_less(f64_set(64), x), f64_set(64), low);
}

/*
 * x Φ(x), Φ(x) = erfc(−x/√2)/2, slope Φ(x) + x φ(x), φ(x) = e^(−x²/2)/√(2π).
 *
 * At −8 erfc magnifies an error of its argument 64 times, so the argument t + d is carried in two parts:
 * erfc(t + d) = erfc(t) − d·2/√π·e^(−t²), and likewise e^(−(s+e)/2) = e^(−s/2)·(1 − e/2).
 */
INLINE struct curve curve_gelu(f64x16 x)
{
	/* Beyond ±64 Φ is 0 or 1 and φ is 0, below 2^-60 Φ is 1/2: the bounds keep squares and errors in range. */
	f64x16 c = bounded(x);
	f64x16 q = f64_select(f64_less(f64_abs(x), f64_set(0x1p-60)), f64_set(0), c);
	f64x16 root = f64_set(-0x1.6a09e667f3bcdp-1), root_low = f64_set(0x1.bdd3413b26456p-55); /* −1/√2 */
	f64x16 t = f64_mul(q, root);
	f64x16 d = f64_add(f64_product_error(q, root, t), f64_mul(q, root_low));
	f64x16 square = f64_mul(q, q);
	f64x16 square_low = f64_product_error(q, q, square);
	f64x16 bell = f64_exp(f64_mul(f64_set(-0.5), square));
	f64x16 phi, area;

	bell = f64_sub(bell, f64_mul(bell, f64_mul(f64_set(0.5), square_low)));
	phi = f64_mul(f64_set(0x1.9884533d43651p-2), bell);                                    /* 1/√(2π) */
	area = f64_sub(f64_erfc(t), f64_mul(d, f64_mul(f64_set(0x1.20dd750429b6dp+0), bell))); /* 2/√π */
	area = f64_mul(f64_set(0.5), area);
	return (struct curve){f64_mul(x, area), f64_add(area, f64_mul(c, phi))};
}

/* x σ(2u), u = √(2/π)(x + 0.044715 x³): what (1 + tanh u)/2 is without its cancellation. */
INLINE struct curve curve_gelu_tanh(f64x16 x)
{
	f64x16 c = bounded(x); /* beyond ±64 σ is 0 or 1 to the last bit; the cube stays finite */
	f64x16 square = f64_mul(c, c);
	f64x16 twice = f64_set(0x1.9884533d43651p+0); /* 2·√(2/π) */
	f64x16 u = f64_mul(f64_mul(twice, c), f64_add(f64_set(1), f64_mul(f64_set(0.044715), square)));
	f64x16 du = f64_mul(twice, f64_add(f64_set(1), f64_mul(f64_set(3 * 0.044715), square)));
	f64x16 sigma, opposite;

	sigmoids(u, &sigma, &opposite);
	return (struct curve){f64_mul(x, sigma), f64_add(sigma, f64_mul(f64_mul(c, du), f64_mul(sigma, opposite)))};
}

/* value and slope may each be NULL, and value may be x. */
#define ACTIVATE_BLOCK(curve_of, lanes)                                                                                \
	{                                                                                                              \
		struct curve c = curve_of(f64_load(x + i, lanes));                                                     \
                                                                                                                       \
		if (value)                                                                                             \
			f64_store(value + i, c.value, lanes);                                                          \
		if (slope)                                                                                             \
			f64_store(slope + i, c.slope, lanes);                                                          \
	}
#define ACTIVATE(NAME, curve_of)                                                                                       \
	case NC_ACT_##NAME: {                                                                                          \
		size_t i = 0;                                                                                          \
                                                                                                                       \
		for (; i + LANES <= count; i += LANES)                                                                 \
			ACTIVATE_BLOCK(curve_of, LANES)                                                                \
		if (i < count)                                                                                         \
			ACTIVATE_BLOCK(curve_of, (unsigned)(count - i))                                                \
		break;                                                                                                 \
	}

static void activate(unsigned activation, size_t count, const double *x, double *value, double *slope)
{
	switch (activation) {
		ACTIVATE(IDENTITY, curve_identity)
		ACTIVATE(RELU, curve_relu)
		ACTIVATE(GELU, curve_gelu)
		ACTIVATE(GELU_TANH, curve_gelu_tanh)
		ACTIVATE(SILU, curve_silu)
		ACTIVATE(TANH, curve_tanh)
		ACTIVATE(SIGMOID, curve_sigmoid)
	}
}
#undef ACTIVATE
#undef ACTIVATE_BLOCK

#endif

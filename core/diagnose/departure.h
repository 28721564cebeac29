/* Where an output leaves its explanation, and what the places have in common. Internal. */
#ifndef NORMCORE_DEPARTURE_H
#define NORMCORE_DEPARTURE_H

#include "evidence.h"

/*
 * Fills *departure from a traced hypothesis: outside (a flag for each element of output, by its index) and predicted.
 * NC_NO_MEMORY when the arena has no room for a number a row and a feature.
 */
enum nc_status departure_describe(const struct evidence *evidence, const struct nc_hypothesis *h,
                                  const struct nc_tensor *output, const struct evidence_trace *trace,
                                  struct nc_departure *departure, struct nc_arena *arena);

#endif

#include "powers_of_ten.h"

/* Aligned for the writers that gather from it. */
__attribute__((aligned(64))) const struct power_of_ten powers_of_ten[POWER_OF_TEN_MAX - POWER_OF_TEN_MIN + 1] = {
#include "powers_of_ten.inc"
};

/* libnormcore: everything public, by one include. Numbers only: no JSON, no sockets, no files. */
#ifndef NORMCORE_H
#define NORMCORE_H

#include "arena.h"
#include "block/block.h"
#include "compare.h"
#include "conventions.h"
#include "dtype.h"
#include "isa.h"
#include "layout.h"
#include "norm.h"
#include "pool.h"
#include "residual.h"
#include "status.h"
#include "tensor.h"

#endif

// SPDX-License-Identifier: MIT
//
// The ladder of include/coarsen/stencil: heat, a step of it, in a cube of the first elements of an array.

#include "ladder.h"
#include <float.h>
#include <math.h>

#define COARSEN_NAME         stencil_basic
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#include <coarsen/stencil/basic.h>

#define COARSEN_NAME         stencil_tiled
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#include <coarsen/stencil/tiled.h>

#define COARSEN_NAME         stencil_coarsened
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#include <coarsen/stencil/coarsened.h>

#define COARSEN_NAME         stencil_register_tiled
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#include <coarsen/stencil/register_tiled.h>

#define COARSEN_NAME         stencil_vectorized
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#include <coarsen/stencil/vectorized.h>

#ifdef SIMT
#define STENCIL_MOST 32 // cells along an axis
#define STENCIL_TITLE                                                                              \
    "Stencil: a step of heat in a cube of up to 32^3 cells; the result is their sum"
#else
#define STENCIL_MOST 1024
#define STENCIL_TITLE                                                                              \
    "Stencil: a step of heat in a cube of up to 1024^3 cells; the result is their sum"
#endif

static struct {
    size_t side, cells;
    const float *input;
    float *in, *out, *host; // out on the device and on the host
} stencil;

static size_t stencil_side(size_t n)
{
    size_t side = 0;
    while (side < STENCIL_MOST && (side + 1) * (side + 1) * (side + 1) <= n)
        side++;
    return side;
}

static void stencil_begin(const ladder_input *input)
{
    stencil.side = stencil_side(input->n);
    stencil.cells = stencil.side * stencil.side * stencil.side;
    stencil.input = input->values;
    stencil.in = (float *)device_copy(input->values, stencil.cells * sizeof(float));
    stencil.out = (float *)device_alloc(stencil.cells * sizeof(float));
    stencil.host = (float *)host_alloc(stencil.cells * sizeof(float));
}

static void stencil_reset(void)
{
    if (stencil.cells > 0)
        CHECK(cudaMemsetAsync(stencil.out, 0xff, stencil.cells * sizeof(float), 0)); // NaN
}

// Whether a cell is right: a sum of 7 products, each of which may round.
static bool stencil_right(size_t i)
{
    const size_t side = stencil.side, places[] = {i % side, i / side % side, i / side / side};
    const size_t steps[] = {1, side, side * side};
    double wanted = 0.25 * stencil.input[i], magnitude = fabs(wanted);
    for (int axis = 0; axis < 3; axis++) {
        if (side > 1 && (places[axis] == 0 || places[axis] + 1 == side))
            return stencil.host[i] == stencil.input[i]; // at an edge
        const size_t step = side > 1 ? steps[axis] : 0;
        const double pair[] = {stencil.input[i - step], stencil.input[i + step]};
        wanted += 0.125 * (pair[0] + pair[1]);
        magnitude += 0.125 * (fabs(pair[0]) + fabs(pair[1]));
    }
    return fabs(stencil.host[i] - wanted) <= 4 * (double)FLT_EPSILON * magnitude;
}

// The sum of the cells, in double. It is right if every cell is.
static bool stencil_result(char text[LADDER_TEXT])
{
    bool right = true;
    double sum = 0;
    if (stencil.cells > 0)
        CHECK(cudaMemcpy(stencil.host, stencil.out, stencil.cells * sizeof(float),
                         cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < stencil.cells; i++) {
        right &= stencil_right(i);
        sum += stencil.host[i];
    }
    snprintf(text, LADDER_TEXT, "%.6g", sum);
    return right;
}

static void stencil_end(void)
{
    CHECK(cudaFree(stencil.in));
    CHECK(cudaFree(stencil.out));
    free(stencil.host);
}

static size_t stencil_bytes(size_t n)
{
    const size_t side = stencil_side(n);
    return 2 * side * side * side * sizeof(float);
}

#define STENCIL_RUN(rung)                                                                          \
    static cudaError_t stencil_run_##rung(void)                                                    \
    {                                                                                              \
        const size_t side = stencil.side;                                                          \
        return stencil_##rung##_launch(stencil.in, stencil.out, side, side, side, side,            \
                                       side * side, 0);                                            \
    }
STENCIL_RUN(basic)
STENCIL_RUN(tiled)
STENCIL_RUN(coarsened)
STENCIL_RUN(register_tiled)
STENCIL_RUN(vectorized)
#undef STENCIL_RUN

static const ladder_rung stencil_rungs[] = {
    {"basic", "a thread per cell",
     "Each thread loads 7 cells, so each cell is loaded 7 times. The caches answer most\n"
     "of that, unasked.",
     stencil_run_basic},
    {"tiled", "a cube is shared",
     "A block copies its 8 x 8 x 8 cells and a halo to shared memory, 10 x 10 x 10 in\n"
     "all. The price: nearly half of what it loads is halo, and a barrier.",
     stencil_run_tiled},
    {"coarsened", "walk up along z",
     "A block of 32 x 32 threads makes slice after slice. Three of them are in shared\n"
     "memory, so the halo above and below is loaded once per column.",
     stencil_run_coarsened},
    {"register_tiled", "z in registers",
     "Nobody else needs the cells above and below a thread's own, so they stay in its\n"
     "registers. Shared memory has one slice in place of three.",
     stencil_run_register_tiled},
    {"vectorized", "16 bytes, no barrier",
     "Neighbours along x and y come from the cache, where the warps beside have just left\n"
     "them. Nobody waits for anybody, and the next slice is on its way.",
     stencil_run_vectorized},
};

static const ladder stencil_ladder = {
    STENCIL_TITLE,  stencil_rungs, sizeof(stencil_rungs) / sizeof(*stencil_rungs),
    stencil_bytes,  stencil_begin, stencil_reset,
    stencil_result, stencil_end,
};

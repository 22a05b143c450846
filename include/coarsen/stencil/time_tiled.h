// SPDX-License-Identifier: MIT
//
// coarsen/stencil/time_tiled.h: several steps of a stencil in one pass over memory, for iterations.
//     COARSEN_STEPS times: out[z][y][x] = STENCIL(in[z][y][x - order .. x + order], and so along y and z)
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #define COARSEN_STEPS        2
//     #include <coarsen/stencil/time_tiled.h>
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the cells: any number type, __half too       |
// | COARSEN_STEPS        | 2                | steps per launch, from 1 to 4                        |
// | COARSEN_ORDER        | 1                | how far neighbours are, from 1 to 4                  |
// | COARSEN_COEFFICIENTS | this or _STENCIL | COARSEN_ORDER + 1 numbers: of the cell, of those at distance 1, ... |
// | COARSEN_STENCIL      | this or the above | (x, y, z): what a cell becomes, an expression of x[0], x[-1], y[2], ... |
// | COARSEN_BOUNDARY     | COARSEN_COPIED   | or COARSEN_CLAMPED, COARSEN_PERIODIC                 |
// | BLOCK_DIM            | by the steps     | threads per block, a multiple of 32; a warp per row  |
// | COARSE_FACTOR        | by the device    | slices per block, from 1 to 65536                    |
// A block has BLOCK_DIM / 32 rows, more than 2 COARSEN_STEPS * COARSEN_ORDER.
// Defines NAME_kernel, NAME_any_kernel (for any alignment and width) and
//     cudaError_t NAME_launch(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx, size_t ny,
//                             size_t nz, size_t pitch, size_t slice_pitch, cudaStream_t stream)
// in, out: nx x ny x nz cells in device memory, cell x, y, z at [z * slice_pitch + y * pitch + x], in
// elements: pitch >= nx, slice_pitch >= (ny - 1) * pitch + nx. Any size, including 0, at element
// alignment; faster if in, out, and nx and the pitches in bytes are multiples of 16. What lies between
// rows is neither read nor written. out must not overlap in. out is what COARSEN_STEPS launches of
// stencil.h leave, each from the results of the one before, but for how floats round.
// Boundary: where a neighbour would lie beyond an edge, the cell keeps its value (COARSEN_COPIED), or
// the neighbour is the cell at the edge (COARSEN_CLAMPED) or the one that far from the other edge
// (COARSEN_PERIODIC). An axis of one cell has no edge: the cell is its own neighbour there. So nz = 1
// is a plane, and ny = nz = 1 a line. COARSEN_STENCIL may also be computed where a cell keeps its value,
// and of cells that are no neighbours, for results that nobody sees.
// Errors: cudaErrorInvalidValue, with nothing written, for a pitch below the width, a null, misaligned
// or overflowing array, or more than 2^31 - 1 blocks. A block of too few rows for the steps does not
// compile. No scratch. Deterministic.
//
// Price saved: passes over memory. A step reads and writes each cell once and does little with it; here
// COARSEN_STEPS steps do. What one step makes goes to the next in registers and shared memory.
// Price paid: what neighbouring blocks make as well. For a step that is not the last, a block needs
// results beyond its own: COARSEN_ORDER rows, cells and slices more on each side per step that follows.
// A barrier per slice, as neighbours along y are in other warps, and 2 COARSEN_ORDER + 2 slices of
// 16 bytes in registers per step. It is worth it for order 1, aligned: see docs/stencil.md.
// Source: A. Nguyen, N. Satish, J. Chhugani, C. Kim, P. Dubey, 3.5-D Blocking Optimization for Stencil
// Computations on Modern CPUs and GPUs, SC10, 2010.

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#ifndef COARSEN_STEPS
#define COARSEN_STEPS 2
#elif !COARSEN_NUMBER(COARSEN_STEPS) || COARSEN_STEPS < 1 || COARSEN_STEPS > 4
#error "coarsen/stencil: COARSEN_STEPS must be from 1 to 4"
#endif
#define COARSEN_HALO (COARSEN_STEPS * COARSEN_ORDER) // cells beyond the results that a block needs
#ifndef BLOCK_DIM
#define BLOCK_DIM (COARSEN_HALO <= 2 ? 512 : COARSEN_HALO <= 8 ? 640 : 1024)
#endif
#if defined(COARSE_FACTOR) && (COARSE_FACTOR < 1 || COARSE_FACTOR > 65536)
#error "coarsen/stencil: COARSE_FACTOR must be from 1 to 65536"
#endif
#include "../block/copy.h"
#include "../block/vector.h"

// Cells and rows of a block with the halo, and without.
#define COARSEN_CELLS ((int)(32 * COARSEN_ITEMS))
#define COARSEN_ROWS  (BLOCK_DIM / 32)
#define COARSEN_MARGIN                                                                             \
    ((int)((COARSEN_HALO + COARSEN_ITEMS - 1) / COARSEN_ITEMS * COARSEN_ITEMS)) // the halo along x
#define COARSEN_WIDE (COARSEN_CELLS - 2 * COARSEN_MARGIN)
#define COARSEN_TALL (COARSEN_ROWS - 2 * COARSEN_HALO)
static_assert(COARSEN_TALL > 0 && COARSEN_WIDE > 0,
              "coarsen/stencil: so many steps need more rows than a block has: give a greater "
              "BLOCK_DIM or fewer COARSEN_STEPS");

#define COARSEN_RING     (COARSEN_SPAN + 1) // slices that a thread holds per step: one is under way
#define COARSEN_FETCH    2 // and so many above that one are on their way to the second-level cache

// Two blocks per multiprocessor, so that one works while the other waits at its barrier, where registers allow it.
#define COARSEN_RESIDENT (COARSEN_HALO <= 2 && BLOCK_DIM <= 512 ? 1024 / BLOCK_DIM : 1)

// What goes from warp to warp: of the input and of each step but the last, a slice; twice, as while some threads read,
// others write the next ones.
typedef struct {
    COARSEN_TYPE cells[2][COARSEN_STEPS][COARSEN_ROWS][COARSEN_CELLS];
} COARSEN_(slices);

#if COARSEN_BOUNDARY == COARSEN_PERIODIC
typedef long long COARSEN_(offset); // to the other end of a row
#else
typedef int COARSEN_(offset);
#endif

// What a thread knows of its place. Slices are counted from the first one that is loaded.
typedef struct {
    int around[COARSEN_SPAN]; // from its row in shared memory to the rows of the neighbours along y
    int least_x, most_x;      // columns of the block that are in the grid
    COARSEN_(offset) from[COARSEN_ITEMS]; // from its first cell in the grid to each
    bool alone;                           // the only cell of its row
    unsigned int kept, written; // a bit for each cell that keeps its value, and that it writes
    unsigned int makes;         // a bit for each step in which others need its results
    int bottom, top;            // slices of the grid, from bottom to below top
    int keep;                   // how many of these keep their values at each end
    int walked;                 // slices that are loaded
    const COARSEN_TYPE *origin; // its first cell in slice 0 of the grid
    long long first_z;          // the slice of the grid that is loaded first
    size_t nz, slice_pitch;
} COARSEN_(seat);

// What moves along z with it. A ring per step has its cells of the newest slices, that come in from the step before.
typedef struct {
    COARSEN_(vector) ring[COARSEN_STEPS][COARSEN_RING];
    const COARSEN_TYPE *loads; // its first cell of the slice that was asked for last,
    COARSEN_TYPE *stores;      // and of the next results
    int row;                   // its own in shared memory, where slices go next
} COARSEN_(state);

// A lane's cells of a row are neighbours if aligned, or else 32 apart. Which one of the row is cell v?
COARSEN_INLINE int COARSEN_(column)(unsigned int v, const bool aligned)
{
    return (int)(aligned ? threadIdx.x % 32 * COARSEN_ITEMS + v : threadIdx.x % 32 + 32 * v);
}

COARSEN_INLINE COARSEN_(vector) COARSEN_(get)(const COARSEN_TYPE *row, const bool aligned)
{
    if (aligned)
        return *(const COARSEN_(vector) *)(row + COARSEN_(column)(0, true));
    COARSEN_(vector) cells;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
        cells.item[v] = row[COARSEN_(column)(v, false)];
    return cells;
}

COARSEN_INLINE void COARSEN_(put)(COARSEN_TYPE *row, COARSEN_(vector) cells, const bool aligned)
{
    if (aligned)
        *(COARSEN_(vector) *)(row + COARSEN_(column)(0, true)) = cells;
    else
#pragma unroll
        for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
            row[COARSEN_(column)(v, false)] = cells.item[v];
}

// The value of the lane that is so far above, or below; lanes at the end get any.
COARSEN_DEVICE COARSEN_TYPE COARSEN_(from_lane)(COARSEN_TYPE value, const int above)
{
    unsigned int words[(sizeof(value) + 3) / 4] = {};
    memcpy(words, (const void *)&value, sizeof(value));
#pragma unroll
    for (unsigned int w = 0; w < sizeof(words) / 4; w++)
        words[w] = above < 0 ? __shfl_up_sync(0xffffffff, words[w], (unsigned int)-above)
                             : __shfl_down_sync(0xffffffff, words[w], (unsigned int)above);
    memcpy((void *)&value, words, sizeof(value));
    return value;
}

// The neighbours along x of each of a thread's cells. Where these are vectors, other lanes have them; at an edge that
// stands for what is beyond it, they are in shared memory.
COARSEN_INLINE void COARSEN_(line)(COARSEN_TYPE along_x[COARSEN_ITEMS][COARSEN_SPAN],
                                   COARSEN_(vector) own, const COARSEN_TYPE *row,
                                   const COARSEN_(seat) * seat, const bool aligned)
{
    if (aligned && COARSEN_BOUNDARY != COARSEN_CLAMPED && COARSEN_ITEMS > 1) {
        COARSEN_TYPE line[COARSEN_ITEMS + 2 * COARSEN_ORDER];
#pragma unroll
        for (int i = 0; i < (int)COARSEN_ITEMS + 2 * COARSEN_ORDER; i++) {
            // From this lane's first cell, and, so that it is not negative, from that of COARSEN_ORDER lanes below.
            const int cell = i - COARSEN_ORDER;
            const int from = cell + COARSEN_ORDER * (int)COARSEN_ITEMS;
            line[i] = own.item[from % (int)COARSEN_ITEMS];
            if (cell < 0 || cell >= (int)COARSEN_ITEMS)
                line[i] = COARSEN_(from_lane)(line[i], from / (int)COARSEN_ITEMS - COARSEN_ORDER);
        }
#pragma unroll
        for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
#pragma unroll
            for (unsigned int s = 0; s < COARSEN_SPAN; s++)
                along_x[v][s] = line[v + s];
        return;
    }
#pragma unroll
    for (int v = 0; v < (int)COARSEN_ITEMS; v++)
#pragma unroll
        for (int s = 0; s < COARSEN_SPAN; s++) {
            int column = COARSEN_(column)((unsigned int)v, aligned) + s - COARSEN_ORDER;
            if (COARSEN_BOUNDARY == COARSEN_CLAMPED) {
                column = column < seat->least_x ? seat->least_x : column;
                column = column > seat->most_x ? seat->most_x : column;
            } else { // what is beyond the block is beyond what it makes: any cell will do
                column = (aligned || v == 0) && column < 0 ? 0 : column;
                column = (aligned || v == (int)COARSEN_ITEMS - 1) && column >= COARSEN_CELLS
                             ? COARSEN_CELLS - 1
                             : column;
            }
            along_x[v][s] = own.item[v];
            if (s != COARSEN_ORDER && !seat->alone)
                along_x[v][s] = row[column];
        }
}

// One step of a thread's cells of a slice. row: of the block's results of the step before in this slice, the thread's
// own; ring, oldest: the thread's cells of the slices below and above.
COARSEN_INLINE COARSEN_(vector)
    COARSEN_(make)(const COARSEN_TYPE *row, const COARSEN_(vector) ring[COARSEN_RING],
                   unsigned int oldest, const COARSEN_(seat) * seat, bool kept_z,
                   const bool aligned)
{
    const COARSEN_(vector) own = ring[(oldest + COARSEN_ORDER) % COARSEN_RING];
    COARSEN_TYPE along_x[COARSEN_ITEMS][COARSEN_SPAN];
    COARSEN_(line)(along_x, own, row, seat, aligned);
    COARSEN_(vector) rows[COARSEN_SPAN], results;
#pragma unroll
    for (unsigned int s = 0; s < COARSEN_SPAN; s++)
        rows[s] = s == COARSEN_ORDER ? own : COARSEN_(get)(row + seat->around[s], aligned);
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++) {
        COARSEN_TYPE along_y[COARSEN_SPAN], along_z[COARSEN_SPAN];
#pragma unroll
        for (unsigned int s = 0; s < COARSEN_SPAN; s++) {
            along_y[s] = rows[s].item[v];
            along_z[s] = ring[(oldest + s) % COARSEN_RING].item[v];
        }
        results.item[v] = COARSEN_(cell)(along_x[v] + COARSEN_ORDER, along_y + COARSEN_ORDER,
                                         along_z + COARSEN_ORDER);
    }
    const unsigned int kept = kept_z ? ~0u : seat->kept;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
        results.item[v] = kept >> v & 1 ? own.item[v] : results.item[v];
    return results;
}

// A thread's cells of a slice of the grid.
COARSEN_INLINE COARSEN_(vector)
    COARSEN_(load)(const COARSEN_TYPE *slice, const COARSEN_(seat) * seat, const bool aligned)
{
    if (aligned)
        return *(const COARSEN_(vector) *)slice;
    COARSEN_(vector) cells;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
        cells.item[v] = slice[seat->from[v]];
    return cells;
}

// Asks for slice i, to come into place i % COARSEN_RING.
COARSEN_INLINE void COARSEN_(ask)(COARSEN_(state) * state, const COARSEN_(seat) * seat, int i,
                                  const unsigned int place, const bool plain, const bool aligned)
{
    if (!plain && i >= seat->walked)
        return;
    if (!plain && COARSEN_BOUNDARY == COARSEN_PERIODIC)
        state->loads =
            seat->origin + COARSEN_(place)(seat->first_z + i, seat->nz) * seat->slice_pitch;
    else if (plain || (i > seat->bottom && i < seat->top))
        state->loads += seat->slice_pitch;
    state->ring[0][place] = COARSEN_(load)(state->loads, seat, aligned);
    if (plain && threadIdx.x % 8 == 0) // once per 128 bytes
        COARSEN_(prefetch)(state->loads + COARSEN_FETCH * seat->slice_pitch);
}

// Slice i comes in, and each step makes the slice COARSEN_ORDER below the newest one that it has. newest: where in the
// rings that is, i % COARSEN_RING. plain: neither an edge along z nor the begin or end of the walk is near.
COARSEN_INLINE void COARSEN_(advance)(COARSEN_(state) * state, const COARSEN_(seat) * seat, int i,
                                      const unsigned int newest, const bool plain,
                                      const bool aligned)
{
    const unsigned int before = (newest + COARSEN_RING - 1) % COARSEN_RING;
    const unsigned int oldest = newest + COARSEN_RING - 2 * COARSEN_ORDER;
    const unsigned int middle = (oldest + COARSEN_ORDER) % COARSEN_RING;
    const int slice = COARSEN_ROWS * COARSEN_CELLS;
    const bool wraps = COARSEN_BOUNDARY == COARSEN_PERIODIC;
    COARSEN_TYPE *const row = (COARSEN_TYPE *)coarsen_shared + state->row;
#pragma unroll
    for (int t = 0; t < COARSEN_STEPS; t++)
        COARSEN_(put)(row + t * slice, state->ring[t][middle], aligned);
    state->row += i % 2 == 0 ? COARSEN_STEPS * slice : -COARSEN_STEPS * slice;
    COARSEN_(ask)(state, seat, i + 1, (newest + 1) % COARSEN_RING, plain, aligned);
    __syncthreads();
    COARSEN_(vector) results = {};
#pragma unroll
    for (int t = 0; t < COARSEN_STEPS; t++) {
        const int made = i - (t + 1) * COARSEN_ORDER; // the slice that step t makes now
        COARSEN_(vector) *const ring = state->ring[t];
        COARSEN_(vector) *const to = t + 1 < COARSEN_STEPS ? &state->ring[t + 1][newest] : &results;
        if (!plain && !wraps && made + COARSEN_ORDER == seat->bottom) // stands for those below
#pragma unroll
            for (unsigned int s = 0; s < COARSEN_SPAN; s++)
                ring[(oldest + s) % COARSEN_RING] = ring[newest];
        const bool complete =
            plain || (i >= 2 * (t + 1) * COARSEN_ORDER && (wraps || made < seat->top));
        // With two steps, what nobody needs costs less than to ask whether it is needed.
        if (complete && ((plain && COARSEN_STEPS <= 2) || (seat->makes >> t & 1)))
            *to = COARSEN_(make)(
                row + t * slice, ring, oldest, seat,
                !plain && !wraps &&
                    (made < seat->bottom + seat->keep || made >= seat->top - seat->keep),
                aligned);
        else if (!plain && t + 1 < COARSEN_STEPS) // the highest one stands for those above
            *to = state->ring[t + 1][before];
    }
    if (!plain && i < 2 * COARSEN_HALO)
        return;
    if (aligned) {
        if (seat->written)
            *(COARSEN_(vector) *)state->stores = results;
    } else
#pragma unroll
        for (unsigned int v = 0; v < COARSEN_ITEMS; v++)
            if (seat->written >> v & 1)
                state->stores[seat->from[v]] = results.item[v];
    state->stores += seat->slice_pitch;
}

// As many slices as a ring has, from i on: so each has a place that the compiler knows, and no register moves.
COARSEN_INLINE void COARSEN_(advance_round)(COARSEN_(state) * state, const COARSEN_(seat) * seat,
                                            int i, const bool plain, const bool aligned)
{
#pragma unroll
    for (unsigned int s = 0; s < COARSEN_RING; s++)
        if (plain || i + (int)s < seat->walked)
            COARSEN_(advance)(state, seat, i + (int)s, s, plain, aligned);
}

// Walks depth slices along z. aligned: rows begin at multiples of 16 bytes, and are whole vectors.
COARSEN_INLINE void COARSEN_(walk)(const COARSEN_TYPE *__restrict__ in,
                                   COARSEN_TYPE *__restrict__ out, COARSEN_(extent) extent,
                                   size_t depth, const bool aligned)
{
    const COARSEN_(corner) corner =
        COARSEN_(find_corner)(extent, COARSEN_WIDE, COARSEN_TALL, depth);
    const int row = (int)(threadIdx.x / 32);
    const long long left = (long long)corner.left - COARSEN_MARGIN;
    const long long top = (long long)corner.top - COARSEN_HALO, y = top + row;
    const bool wraps = COARSEN_BOUNDARY == COARSEN_PERIODIC;

    // Which columns, rows and slices of the block are in the grid. A periodic grid goes on.
    COARSEN_(seat) seat;
    const int least_y = wraps || top >= 0 ? 0 : (int)-top;
    const int most_y =
        wraps ? COARSEN_ROWS - 1 : (int)coarsen_min(extent.ny - 1 - (size_t)top, COARSEN_ROWS - 1);
    seat.least_x = wraps || left >= 0 ? 0 : (int)-left;
    seat.most_x = wraps ? COARSEN_CELLS - 1
                        : (int)coarsen_min(extent.nx - 1 - (size_t)left, COARSEN_CELLS - 1);
    seat.first_z = (long long)corner.first_z - COARSEN_HALO;
    seat.bottom = COARSEN_HALO - (int)coarsen_min(corner.first_z, 1 << 20);
    seat.top = COARSEN_HALO + (int)coarsen_min(extent.nz - corner.first_z, 1 << 20);
    seat.walked = (int)coarsen_min(depth, extent.nz - corner.first_z) + 2 * COARSEN_HALO;
    seat.keep = COARSEN_(near_edge)(0, extent.nz) ? COARSEN_ORDER : 0;

#pragma unroll
    for (int s = 0; s < COARSEN_SPAN; s++) {
        const int other = row + s - COARSEN_ORDER, above = other < least_y ? least_y : other;
        seat.around[s] = ((above > most_y ? most_y : above) - row) * COARSEN_CELLS;
    }
    seat.makes = 0;
#pragma unroll
    for (int t = 0; t < COARSEN_STEPS; t++) {
        const int lacks = (t + 1) * COARSEN_ORDER; // rows on each side whose neighbours are missing
        seat.makes |= (unsigned int)(row >= lacks && row < COARSEN_ROWS - lacks && row >= least_y &&
                                     row <= most_y)
                      << t;
    }

    size_t places[COARSEN_ITEMS];
    seat.kept = seat.written = 0;
#pragma unroll
    for (unsigned int v = 0; v < COARSEN_ITEMS; v++) {
        const int column = COARSEN_(column)(v, aligned);
        const long long x = left + column;
        const bool there =
            column >= seat.least_x && column <= seat.most_x && row >= least_y && row <= most_y;
        // A vector has one place, also where it stands for one beyond the edge.
        const size_t place_x =
            aligned ? COARSEN_(place)((x - v) / (int)COARSEN_ITEMS, extent.nx / COARSEN_ITEMS) *
                              COARSEN_ITEMS +
                          v
                    : COARSEN_(place)(x, extent.nx);
        places[v] = COARSEN_(place)(y, extent.ny) * extent.pitch + place_x;
        seat.from[v] = (COARSEN_(offset))(long long)(places[v] - places[0]);
        seat.kept |= (unsigned int)(!there || COARSEN_(near_edge)((size_t)x, extent.nx) ||
                                    COARSEN_(near_edge)((size_t)y, extent.ny))
                     << v;
        seat.written |=
            (unsigned int)(there && x < (long long)extent.nx && y < (long long)extent.ny &&
                           column >= COARSEN_MARGIN && column < COARSEN_MARGIN + COARSEN_WIDE &&
                           row >= COARSEN_HALO && row < COARSEN_HALO + COARSEN_TALL)
            << v;
    }
    seat.origin = in + places[0];
    seat.alone = COARSEN_BOUNDARY == COARSEN_COPIED && extent.nx == 1;
    seat.nz = extent.nz;
    seat.slice_pitch = extent.slice_pitch;

    COARSEN_(state) state = {};
    state.loads = seat.origin + COARSEN_(place)(seat.first_z, extent.nz) * extent.slice_pitch;
    state.stores = out + places[0] + corner.first_z * extent.slice_pitch;
    state.row = row * COARSEN_CELLS;
    state.ring[0][0] = COARSEN_(load)(state.loads, &seat, aligned);
    const int above_edge = seat.bottom + COARSEN_HALO + COARSEN_ORDER;
    const int fetched = seat.top - COARSEN_FETCH;
#pragma unroll 1
    for (int i = 0; i < seat.walked; i += COARSEN_RING)
        if (i >= 2 * COARSEN_HALO && i >= above_edge && i + COARSEN_RING < fetched &&
            i + COARSEN_RING < seat.walked)
            COARSEN_(advance_round)(&state, &seat, i, true, aligned);
        else
            COARSEN_(advance_round)(&state, &seat, i, false, aligned);
}

// depth: slices per block.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                     size_t depth)
{
    COARSEN_(walk)(in, out, extent, depth, true);
}

// The same for any alignment, cell by cell.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(any_kernel)(const COARSEN_TYPE *in, COARSEN_TYPE *out, COARSEN_(extent) extent,
                         size_t depth)
{
    COARSEN_(walk)(in, out, extent, depth, false);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST cudaError_t COARSEN_(launch)(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx,
                                          size_t ny, size_t nz, size_t pitch, size_t slice_pitch,
                                          cudaStream_t stream)
{
    const COARSEN_(extent) extent = {nx, ny, nz, pitch, slice_pitch};
    const size_t shared_bytes = sizeof(COARSEN_(slices));
    size_t columns = 0, blocks = 0;
    cudaError_t status =
        COARSEN_(count_tiles)(&columns, in, out, extent, COARSEN_WIDE, COARSEN_TALL, nz);
    if (status != cudaSuccess || columns == 0)
        return status;
    const bool aligned = COARSEN_(aligned)(in, out, extent) && sizeof(COARSEN_(vector)) == 16;
    const void *const kernel =
        aligned ? (const void *)COARSEN_(kernel) : (const void *)COARSEN_(any_kernel);
    status = coarsen_let_share(kernel, shared_bytes, 0);
#ifdef COARSE_FACTOR
    const size_t depth = COARSE_FACTOR;
#else
    int resident = 0; // blocks per multiprocessor
    size_t depth = 0;
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, BLOCK_DIM,
                                                               shared_bytes);
    if (status == cudaSuccess)
        status = COARSEN_(choose_depth)(&depth, resident, extent, columns, 32 * COARSEN_HALO,
                                        32 * COARSEN_HALO);
#endif
    if (status == cudaSuccess)
        status = COARSEN_(count_tiles)(&blocks, in, out, extent, COARSEN_WIDE, COARSEN_TALL, depth);
    if (status != cudaSuccess)
        return status;
    const cudaLaunchConfig_t config =
        coarsen_launch_config(blocks, BLOCK_DIM, shared_bytes, stream);
    return aligned ? cudaLaunchKernelEx(&config, COARSEN_(kernel), in, out, extent, depth)
                   : cudaLaunchKernelEx(&config, COARSEN_(any_kernel), in, out, extent, depth);
}
#endif

#undef COARSEN_HALO
#undef COARSEN_CELLS
#undef COARSEN_ROWS
#undef COARSEN_MARGIN
#undef COARSEN_WIDE
#undef COARSEN_TALL
#undef COARSEN_RING
#undef COARSEN_FETCH
#undef COARSEN_RESIDENT
#define COARSEN_END
#include "../base.h"

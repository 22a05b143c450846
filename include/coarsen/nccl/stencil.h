// SPDX-License-Identifier: MIT
//
// coarsen/nccl/stencil.h: a star stencil on a grid that is cut into slabs, one on each GPU. stencil.h makes the slices
// inside of a slab while those that its edges need come from its neighbours.
//     out[z][y][x] = STENCIL(in[z][y][x - order .. x + order], and so along y and z)
//
//     #define COARSEN_NAME         heat
//     #define COARSEN_TYPE         float
//     #define COARSEN_COEFFICIENTS 0.4f, 0.1f
//     #include <coarsen/nccl/stencil.h>
//
//     // on each rank, once: counts[r] slices of 100 x 100 cells are on rank r
//     size_t bytes = heat_scratch_bytes_nccl(100, 100, counts, comm);
//     cudaMalloc(&scratch, bytes);
//     coarsen_nccl_side side;
//     coarsen_nccl_side_create(&side);
//     // one step: slices one after the other
//     heat_launch_nccl(in, out, 100, 100, counts, 100, 100 * 100, scratch, bytes, &side, comm, stream);
//
// The parameters are those of stencil.h. Defines what stencil.h does, and
//     size_t      NAME_scratch_bytes_nccl(size_t nx, size_t ny, const size_t *counts, ncclComm_t comm)
//     cudaError_t NAME_launch_nccl(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx, size_t ny,
//                                  const size_t *counts, size_t pitch, size_t slice_pitch, void *scratch,
//                                  size_t scratch_bytes, const coarsen_nccl_side *side, ncclComm_t comm,
//                                  cudaStream_t stream)
// counts: how many slices each rank has, in host memory, the same on all ranks; any number, and 0. Slices of rank 0 come
// first, then those of rank 1, and so on. nx and ny are the same on all ranks.
// in, out: nx x ny x counts[rank] cells in device memory, cell x, y of the rank's slice z at [z * slice_pitch +
// y * pitch + x], as for stencil.h; the pitches may differ between ranks. There are no slices for a neighbour's cells:
// these go to the scratch. out must not overlap in.
// Boundary: of the whole grid, as in stencil.h. A plane is cut along its rows where these are the slices: ny is then 1,
// and what is called z is along the plane's other axis.
// scratch: NAME_scratch_bytes_nccl(...) bytes of device memory, 16-byte aligned, with anything in them, for one launch
// at a time. side: a second stream, and events, of coarsen_nccl_side_create; one for each launch that may run at the
// same time. A launch is done when stream is: it waits for the other one.
// Errors: those of nccl/base.h and of stencil.h; cudaErrorInvalidValue also for counts that overflow and no side, and,
// from cudaMemcpy2DAsync, for a pitch of 2 GiB or more.
// Deterministic: the bits are those of one GPU, with any number of ranks.
//
// How: on the second stream, the edges of a slab, 2 COARSEN_ORDER slices each, are copied to the scratch, one row behind
// the other; from there COARSEN_ORDER slices go to each neighbour, or more than one if neighbours have fewer, and theirs
// arrive beside; then the edges are made there. All slices of the slab are made meanwhile, except that those at its edges
// are not right. At last what was made in the scratch is copied to its places.
// Price saved: the wait for the halo, where the slices inside take longer than the messages.
// Price paid: per edge 3 COARSEN_ORDER slices are made twice, and as many copied.
// Cost: stencil.h's; per rank 2 COARSEN_ORDER slices sent and received. Scratch for 12 COARSEN_ORDER slices.
// Source: Micikevicius, 3D Finite Difference Computation on GPUs using CUDA, GPGPU-2, 2009, for the overlap.

#include "base.h"

#define COARSEN_BEGIN COARSEN_PATTERN_STENCIL
#include "../base.h"
#include "../stencil.h"

#ifndef __CUDACC_RTC__

// Neighbouring slices in the scratch: `low` from ranks before, `own` of this rank from its slice `first` on, and `high`
// from ranks behind. Of what they become, the rank's slices make to make + made are right.
typedef struct {
    size_t first, low, own, high;
    size_t make, made;
    COARSEN_TYPE *in, *out;
} COARSEN_(box);

// The slabs of all ranks, and the boxes of this one: of each edge, or of all, if its slices are few.
typedef struct {
    size_t rank, ranks, nz;
    const size_t *counts;
    size_t cells, bytes; // of a slice; of the scratch
    COARSEN_(box) box[2];
    size_t boxes;
} COARSEN_(slabs);

// The first slice of a rank.
COARSEN_HOST size_t COARSEN_(start)(const COARSEN_(slabs) * slabs, size_t rank)
{
    size_t start = 0;
    for (size_t r = 0; r < rank; r++)
        start += slabs->counts[r];
    return start;
}

// How many slices a rank needs of those before its own, and of those behind.
COARSEN_HOST size_t COARSEN_(need)(const COARSEN_(slabs) * slabs, size_t rank, bool behind)
{
    const size_t before = COARSEN_(start)(slabs, rank), count = slabs->counts[rank];
    if (COARSEN_BOUNDARY == COARSEN_PERIODIC || count == 0)
        return count == 0 ? 0 : COARSEN_ORDER;
    return coarsen_min(COARSEN_ORDER, behind ? slabs->nz - before - count : before);
}

COARSEN_HOST cudaError_t COARSEN_(cut)(COARSEN_(slabs) * slabs, size_t nx, size_t ny,
                                       const size_t *counts, char *scratch, ncclComm_t comm)
{
    const cudaError_t status = coarsen_nccl_place(comm, &slabs->rank, &slabs->ranks);
    if (status != cudaSuccess)
        return status;
    for (size_t r = 0; r < slabs->ranks; r++) {
        if (!counts || counts[r] > (size_t)-1 - slabs->nz)
            return cudaErrorInvalidValue;
        slabs->nz += counts[r];
    }
    const size_t most = (size_t)-1 / (12 * COARSEN_ORDER * sizeof(COARSEN_TYPE));
    if (ny > 0 && nx > most / ny)
        return cudaErrorInvalidValue;
    slabs->counts = counts;
    slabs->cells = nx * ny;
    const size_t n = counts[slabs->rank], order = COARSEN_ORDER;
    if (n == 0 || slabs->ranks == 1)
        return cudaSuccess;
    slabs->bytes = 12 * order * slabs->cells * sizeof(COARSEN_TYPE);
    const size_t low = COARSEN_(need)(slabs, slabs->rank, false);
    const size_t high = COARSEN_(need)(slabs, slabs->rank, true);
    COARSEN_TYPE *const in = (COARSEN_TYPE *)scratch;
    COARSEN_TYPE *const out = in + 6 * order * slabs->cells, *const in_2 =
                                                                 in + 3 * order * slabs->cells;
    const COARSEN_(box) all = {0, low, n, high, 0, n, in, out};
    const COARSEN_(box) front = {0, low, 2 * order, 0, 0, order, in, out};
    const COARSEN_(box) back = {n - 2 * order, 0,     2 * order, high,
                                n - order,     order, in_2,      out + 3 * order * slabs->cells};
    slabs->boxes = n < 4 * order ? 1 : 2;
    slabs->box[0] = n < 4 * order ? all : front;
    slabs->box[1] = back;
    return cudaSuccess;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes_nccl)(size_t nx, size_t ny, const size_t *counts,
                                                 ncclComm_t comm)
{
    COARSEN_(slabs) slabs = {};
    return COARSEN_(cut)(&slabs, nx, ny, counts, NULL, comm) == cudaSuccess ? slabs.bytes : 0;
}

// Whether a box has what the slab itself is not made right without: at an edge of the whole grid all is right.
COARSEN_HOST bool COARSEN_(at_edge)(const COARSEN_(slabs) * slabs, size_t b)
{
    return slabs->boxes == 1 || slabs->box[b].low + slabs->box[b].high > 0;
}

// Copies slices, row by row where there are gaps.
COARSEN_HOST cudaError_t COARSEN_(move)(COARSEN_TYPE *to, size_t to_pitch, size_t to_slice,
                                        const COARSEN_TYPE *from, size_t from_pitch,
                                        size_t from_slice, size_t nx, size_t ny, size_t slices,
                                        cudaStream_t stream)
{
    const size_t bytes = sizeof(*to), cells = nx * ny;
    cudaError_t status = cudaSuccess;
    if (to_pitch == nx && from_pitch == nx && to_slice == cells && from_slice == cells)
        return cudaMemcpyAsync(to, from, slices * cells * bytes, cudaMemcpyDeviceToDevice, stream);
    for (size_t z = 0; z < slices && status == cudaSuccess; z++)
        status =
            cudaMemcpy2DAsync(to + z * to_slice, to_pitch * bytes, from + z * from_slice,
                              from_pitch * bytes, nx * bytes, ny, cudaMemcpyDeviceToDevice, stream);
    return status;
}

// Where in its boxes a rank has one of its own slices that another one needs.
COARSEN_HOST COARSEN_TYPE *COARSEN_(own_slice)(const COARSEN_(slabs) * slabs, size_t z)
{
    const COARSEN_(box) *box = slabs->box;
    if (z >= box->own)
        box++; // of the other edge
    return box->in + (box->low + z - box->first) * slabs->cells;
}

// Sends and receives the slices that ranks need of each other, each as one message. All ranks go through all that are
// needed in the same order.
COARSEN_HOST cudaError_t COARSEN_(exchange)(const COARSEN_(slabs) * slabs, ncclComm_t comm,
                                            cudaStream_t stream)
{
    const size_t own = slabs->rank, bytes = slabs->cells * sizeof(COARSEN_TYPE);
    ncclResult_t result = ncclGroupStart();
    cudaError_t status = cudaSuccess;
    for (size_t r = 0; r < slabs->ranks; r++) {
        const size_t start = COARSEN_(start)(slabs, r);
        const size_t low = COARSEN_(need)(slabs, r, false), high = COARSEN_(need)(slabs, r, true);
        for (size_t k = 0; k < low + high && result == ncclSuccess && status == cudaSuccess; k++) {
            // Which slice, of which rank; nz is added so that there are none before 0.
            const size_t z = (k < low ? start + slabs->nz * COARSEN_ORDER - low + k
                                      : start + slabs->counts[r] + k - low) %
                             slabs->nz;
            size_t from = 0;
            while (z >= COARSEN_(start)(slabs, from + 1))
                from++;
            const COARSEN_(box) *const box = slabs->box + (k < low ? 0 : slabs->boxes - 1);
            COARSEN_TYPE *const to =
                box->in + (k < low ? k : box->low + box->own + k - low) * slabs->cells;
            const size_t theirs = z - COARSEN_(start)(slabs, from);
            if (from == own && r == own)
                status = cudaMemcpyAsync(to, COARSEN_(own_slice)(slabs, theirs), bytes,
                                         cudaMemcpyDeviceToDevice, stream);
            else if (from == own)
                result = ncclSend(COARSEN_(own_slice)(slabs, theirs), bytes, ncclUint8, (int)r,
                                  comm, stream);
            else if (r == own)
                result = ncclRecv(to, bytes, ncclUint8, (int)from, comm, stream);
        }
    }
    const ncclResult_t end = ncclGroupEnd();
    if (status != cudaSuccess)
        return status;
    return coarsen_nccl_check(result != ncclSuccess ? result : end, comm);
}

COARSEN_HOST cudaError_t COARSEN_(launch_nccl)(const COARSEN_TYPE *in, COARSEN_TYPE *out, size_t nx,
                                               size_t ny, const size_t *counts, size_t pitch,
                                               size_t slice_pitch, void *scratch,
                                               size_t scratch_bytes, const coarsen_nccl_side *side,
                                               ncclComm_t comm, cudaStream_t stream)
{
    COARSEN_(slabs) slabs = {};
    cudaError_t status = COARSEN_(cut)(&slabs, nx, ny, counts, (char *)scratch, comm);
    if (status != cudaSuccess)
        return status;
    const size_t n = counts[slabs.rank];
    const COARSEN_(extent) extent = {nx, ny, n, pitch, slice_pitch};
    size_t tiles = 0;
    status = COARSEN_(count_tiles)(&tiles, in, out, extent, nx + !nx, ny + !ny, n + !n);
    if (status != cudaSuccess || slabs.cells == 0)
        return status;
    if (slabs.ranks == 1)
        return COARSEN_(launch)(in, out, nx, ny, n, pitch, slice_pitch, stream);
    if (!side || scratch_bytes < slabs.bytes ||
        !coarsen_bytes_ok(scratch, slabs.bytes > 0, slabs.bytes, 16))
        return cudaErrorInvalidValue;

    status = cudaEventRecord(side->ready, stream);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(side->stream, side->ready, 0);
    if (status == cudaSuccess && slabs.boxes == 2)
        status = COARSEN_(launch)(in, out, nx, ny, n, pitch, slice_pitch, stream);
    for (size_t b = 0; b < slabs.boxes && status == cudaSuccess; b++) {
        const COARSEN_(box) box = slabs.box[b];
        status = COARSEN_(move)(box.in + box.low * slabs.cells, nx, slabs.cells,
                                in + box.first * slice_pitch, pitch, slice_pitch, nx, ny, box.own,
                                side->stream);
    }
    if (status == cudaSuccess)
        status = COARSEN_(exchange)(&slabs, comm, side->stream);
    for (size_t b = 0; b < slabs.boxes && status == cudaSuccess; b++) {
        const COARSEN_(box) box = slabs.box[b];
        if (COARSEN_(at_edge)(&slabs, b))
            status = COARSEN_(launch)(box.in, box.out, nx, ny, box.low + box.own + box.high, nx,
                                      slabs.cells, side->stream);
    }
    if (status == cudaSuccess)
        status = cudaEventRecord(side->done, side->stream);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(stream, side->done, 0);
    for (size_t b = 0; b < slabs.boxes && status == cudaSuccess; b++) {
        const COARSEN_(box) box = slabs.box[b];
        if (COARSEN_(at_edge)(&slabs, b))
            status = COARSEN_(move)(out + box.make * slice_pitch, pitch, slice_pitch,
                                    box.out + (box.low + box.make - box.first) * slabs.cells, nx,
                                    slabs.cells, nx, ny, box.made, stream);
    }
    return status;
}
#endif

#define COARSEN_END
#include "../base.h"

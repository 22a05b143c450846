// SPDX-License-Identifier: MIT
//
// coarsen/nccl/matmul.h: the product of two matrices of which each GPU has some rows. Each makes its rows of P: matmul.h
// multiplies by one piece of N while the next one comes.
//     P = alpha M N + beta P:  P[i][j] = alpha (sum over k of M[i][k] N[k][j]) + beta P[i][j]
//
//     #define COARSEN_NAME matmul_f32
//     #define COARSEN_TYPE float
//     #include <coarsen/nccl/matmul.h>
//
//     // on each rank, once: 100 rows of M and P, and of the 300 rows of N those that inner_counts says
//     size_t bytes = matmul_f32_scratch_bytes_nccl(100, 300, inner_counts, comm);
//     cudaMalloc(&scratch, bytes);
//     coarsen_nccl_side side;
//     coarsen_nccl_side_create(&side);
//     // matrices with their rows one after the other
//     matmul_f32_launch_nccl(100, 300, inner_counts, 1, m, 300, n, 300, 0, p, 300, scratch, bytes, &side, comm,
//                            stream);
//
// It takes the parameters of matmul.h, and
//
// | parameter            | default   | meaning                                                   |
// |----------------------|-----------|-----------------------------------------------------------|
// | COARSEN_PANEL        | 2048      | rows of N that are sent at a time, at the most: from 1 to 2147483647 |
// Defines what matmul.h does, and
//     size_t      NAME_scratch_bytes_nccl(size_t rows, size_t cols, const size_t *inner_counts, ncclComm_t comm)
//     cudaError_t NAME_launch_nccl(size_t rows, size_t cols, const size_t *inner_counts, COARSEN_ACC alpha,
//                                  const COARSEN_TYPE *m, size_t ldm, const COARSEN_TYPE *n, size_t ldn,
//                                  COARSEN_ACC beta, COARSEN_TYPE *p, size_t ldp, void *scratch,
//                                  size_t scratch_bytes, const coarsen_nccl_side *side, ncclComm_t comm,
//                                  cudaStream_t stream)
// rows: of M and P on this rank; may differ between ranks, and be 0. cols: the same on all ranks. inner_counts: how many
// rows of N each rank has, in host memory, the same on all ranks; any numbers, and 0. Their sum is called inner.
// m: rows x inner, all columns; n: inner_counts[rank] x cols, of N those behind the rows of the ranks before; p: rows x
// cols. Each as in matmul.h, and with N stored column after column likewise: each rank then has some of each column.
// alpha and beta may differ between ranks. N is sent where alpha is 0, too.
// scratch: NAME_scratch_bytes_nccl(...) bytes of device memory, 16-byte aligned, with anything in them, for one launch at
// a time. side: a second stream, and events, of coarsen_nccl_side_create; one for each launch that may run at the same
// time. A launch is done when stream is: it waits for the other one.
// Errors: those of nccl/base.h and of matmul.h; cudaErrorInvalidValue also for counts that overflow and no side, and,
// from cudaMemcpy2DAsync, for rows of N, or with it transposed columns, that are 2 GiB or more apart.
// Deterministic, as matmul.h is, for the same inner_counts; each piece is a product of its own, added to P, which is
// then rounded to COARSEN_TYPE.
// Where each rank has all of N, nothing need be sent: that is matmul.h on each rank's rows.
//
// Price saved: memory for N: each rank has its part, and two pieces. And the wait for N, except for its first piece.
// Price paid: P is read and written once per piece.
// Cost: matmul.h's; N received once by each rank, in a broadcast for each piece.
// Source: R. A. van de Geijn and J. Watts, SUMMA: Scalable Universal Matrix Multiplication Algorithm (1997).

#ifdef COARSEN_ACC
#define COARSEN_IS_16 // bits, as in matmul.h
#endif
#include "base.h"

#define COARSEN_BEGIN COARSEN_PATTERN_MATMUL
#include "../base.h"
#include "../matmul.h"

#ifndef COARSEN_PANEL
#define COARSEN_PANEL 2048
#elif !COARSEN_NUMBER(COARSEN_PANEL)
#error "coarsen/nccl: COARSEN_PANEL must be a number > 0 for #if: no constexpr, expressions in ()"
#elif COARSEN_PANEL < 1 || COARSEN_PANEL > 2147483647
#error "coarsen/nccl: COARSEN_PANEL must be from 1 to 2147483647"
#endif

#ifndef __CUDACC_RTC__
// What each rank makes, and how the scratch is divided: two pieces of N, and for matmul.h.
typedef struct {
    size_t rank, ranks, rows, cols, inner;
    const size_t *inner_counts;
    size_t piece_bytes, bytes;
} COARSEN_(share);

// A piece of N: so many of its rows, those from `first` on of the rank's own.
typedef struct {
    size_t rank, first, depth;
} COARSEN_(piece_of_n);

// The piece behind another one. At the end its rank is no rank.
COARSEN_HOST COARSEN_(piece_of_n)
    COARSEN_(next_piece)(const COARSEN_(share) * share, COARSEN_(piece_of_n) piece)
{
    piece.first += piece.depth;
    while (piece.rank < share->ranks && piece.first == share->inner_counts[piece.rank]) {
        piece.rank++;
        piece.first = 0;
    }
    piece.depth = piece.rank == share->ranks
                      ? 0
                      : coarsen_min(share->inner_counts[piece.rank] - piece.first, COARSEN_PANEL);
    return piece;
}

COARSEN_HOST COARSEN_(piece_of_n) COARSEN_(first_piece)(const COARSEN_(share) * share)
{
    const COARSEN_(piece_of_n) none = {0, 0, 0};
    return COARSEN_(next_piece)(share, none);
}

COARSEN_HOST cudaError_t COARSEN_(divide)(COARSEN_(share) * share, size_t rows, size_t cols,
                                          const size_t *inner_counts, ncclComm_t comm)
{
    const cudaError_t status = coarsen_nccl_place(comm, &share->rank, &share->ranks);
    if (status != cudaSuccess)
        return status;
    size_t most = 0;
    for (size_t r = 0; r < share->ranks; r++) {
        if (!inner_counts || inner_counts[r] > (size_t)-1 - share->inner)
            return cudaErrorInvalidValue;
        share->inner += inner_counts[r];
        most = inner_counts[r] > most ? inner_counts[r] : most;
    }
    most = coarsen_min(most, COARSEN_PANEL);
    if (most > 0 && cols > (size_t)-1 / 16 / sizeof(COARSEN_TYPE) / most)
        return cudaErrorInvalidValue; // there is no such N
    share->rows = rows;
    share->cols = cols;
    share->inner_counts = inner_counts;
    if (share->ranks > 1)
        share->piece_bytes = coarsen_ceil_div(most * cols * sizeof(COARSEN_TYPE), 16) * 16;
    size_t others = 0;
    // Of each rank, a piece that is not its last, and the last.
    for (size_t k = 0; k < 2 * share->ranks; k++) {
        const size_t count = inner_counts[k / 2];
        const size_t depth = share->ranks == 1 ? share->inner
                             : k % 2 == 0      ? coarsen_min(count, COARSEN_PANEL)
                                               : count % COARSEN_PANEL;
        const size_t one = COARSEN_(scratch_bytes)(rows, cols, depth);
        others = one > others ? one : others;
    }
    share->bytes = 2 * share->piece_bytes + others;
    return cudaSuccess;
}

COARSEN_HOST size_t COARSEN_(scratch_bytes_nccl)(size_t rows, size_t cols,
                                                 const size_t *inner_counts, ncclComm_t comm)
{
    COARSEN_(share) share = {};
    return COARSEN_(divide)(&share, rows, cols, inner_counts, comm) == cudaSuccess ? share.bytes
                                                                                   : 0;
}

// Brings a piece to all ranks, as a matrix without gaps, when `ready` is.
COARSEN_HOST cudaError_t COARSEN_(bring)(const COARSEN_(share) * share, COARSEN_(piece_of_n) piece,
                                         const COARSEN_TYPE *n, size_t ldn, COARSEN_TYPE *to,
                                         const coarsen_nccl_side *side, ncclComm_t comm,
                                         cudaStream_t stream)
{
    const size_t bytes = sizeof(*n);
#ifdef COARSEN_N_TRANSPOSED
    const size_t height = share->cols, width = piece.depth, begin = piece.first;
#else
    const size_t height = piece.depth, width = share->cols, begin = piece.first * ldn;
#endif
    cudaError_t status = cudaEventRecord(side->ready, stream);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(side->stream, side->ready, 0);
    if (status == cudaSuccess && piece.rank == share->rank)
        status = cudaMemcpy2DAsync(to, width * bytes, n + begin, ldn * bytes, width * bytes, height,
                                   cudaMemcpyDeviceToDevice, side->stream);
    if (status == cudaSuccess)
        status = coarsen_nccl_check(ncclBroadcast(to, to, height * width * bytes, ncclUint8,
                                                  (int)piece.rank, comm, side->stream),
                                    comm);
    return status == cudaSuccess ? cudaEventRecord(side->done, side->stream) : status;
}

COARSEN_HOST cudaError_t COARSEN_(launch_nccl)(size_t rows, size_t cols, const size_t *inner_counts,
                                               COARSEN_ACC alpha, const COARSEN_TYPE *m, size_t ldm,
                                               const COARSEN_TYPE *n, size_t ldn, COARSEN_ACC beta,
                                               COARSEN_TYPE *p, size_t ldp, void *scratch,
                                               size_t scratch_bytes, const coarsen_nccl_side *side,
                                               ncclComm_t comm, cudaStream_t stream)
{
    COARSEN_(share) share = {};
    cudaError_t status = COARSEN_(divide)(&share, rows, cols, inner_counts, comm);
    if (status != cudaSuccess)
        return status;
    const size_t inner = share.inner, own = inner_counts[share.rank];
#ifdef COARSEN_M_TRANSPOSED
    const size_t m_rows = inner, m_cols = rows, m_step = ldm; // from a column of M to the next
#else
    const size_t m_rows = rows, m_cols = inner, m_step = 1;
#endif
#ifdef COARSEN_N_TRANSPOSED
    const size_t n_rows = cols, n_cols = own;
#else
    const size_t n_rows = own, n_cols = cols;
#endif
    if (cols == 0)
        return cudaSuccess; // on all ranks
    if (!COARSEN_(matrix_ok)(m, m_rows, m_cols, ldm) ||
        !COARSEN_(matrix_ok)(n, n_rows, n_cols, ldn) || !COARSEN_(matrix_ok)(p, rows, cols, ldp) ||
        !coarsen_bytes_ok(scratch, share.bytes > 0, share.bytes, 16) ||
        scratch_bytes < share.bytes || (share.ranks > 1 && !side))
        return cudaErrorInvalidValue;
    if (share.ranks == 1 || inner == 0)
        return COARSEN_(launch)(rows, cols, inner, alpha, m, ldm, n, ldn, beta, p, ldp, scratch,
                                scratch_bytes, stream);

    // While one piece is multiplied, the next one comes, in place of the one before.
    COARSEN_TYPE *here = (COARSEN_TYPE *)scratch;
    COARSEN_TYPE *other = (COARSEN_TYPE *)((char *)scratch + share.piece_bytes);
    void *const rest = (char *)scratch + 2 * share.piece_bytes;
    COARSEN_(piece_of_n) piece = COARSEN_(first_piece)(&share);
    status = COARSEN_(bring)(&share, piece, n, ldn, here, side, comm, stream);
    while (status == cudaSuccess && piece.rank < share.ranks) {
        const COARSEN_(piece_of_n) next = COARSEN_(next_piece)(&share, piece);
        status = cudaStreamWaitEvent(stream, side->done, 0);
        if (status == cudaSuccess && next.rank < share.ranks)
            status = COARSEN_(bring)(&share, next, n, ldn, other, side, comm, stream);
#ifdef COARSEN_N_TRANSPOSED
        const size_t ld = piece.depth;
#else
        const size_t ld = cols;
#endif
        if (status == cudaSuccess)
            status = COARSEN_(launch)(rows, cols, piece.depth, alpha, m, ldm, here, ld, beta, p,
                                      ldp, rest, share.bytes - 2 * share.piece_bytes, stream);
        m += piece.depth * m_step;
        beta = (COARSEN_ACC)1;
        COARSEN_TYPE *const used = here;
        here = other, other = used, piece = next;
    }
    return status;
}
#endif

#undef COARSEN_PANEL
#define COARSEN_END
#include "../base.h"

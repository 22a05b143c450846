// SPDX-License-Identifier: MIT
//
// coarsen/sort/buckets.h: sorts many buckets of keys in one launch per digit, where the keys of a bucket lie in several
// pieces. Not for use by itself: nccl/sort.h, whose pieces come from other devices, includes it behind sort.h, of whose
// sort/onesweep.h it is a part.
//
// It defines NAME_bucket_counts_kernel, NAME_bucket_pass_kernel and the functions below. A bucket's keys, of all its pieces
// in their order, come to lie one behind the other, in ascending order of their lowest bits, and the buckets in their order.
// Keys that are equal there keep their order.
//
// How: as onesweep.h, whose tiles these are. But a tile has keys of one piece, looks back at tiles of its own bucket alone, and
// each bucket has counts of its own: where a digit's first key goes is where the bucket begins, and what of it comes before.
// Price saved: a launch per bucket, and the end of each, in which most of the device waits.
// Price paid: the last tile of each piece has fewer keys.

#include "../base.h"
#ifdef COARSEN_WITH_BUCKETS

enum { COARSEN_(most_pieces) = 64 };

// Keys, with their values.
typedef struct {
    COARSEN_TYPE *keys;
#ifdef COARSEN_VALUE
    COARSEN_VALUE *values;
#endif
} COARSEN_(elements);

// Pieces of buckets, and which tiles of a launch they have: those of a bucket one behind the other, and so the buckets.
typedef struct {
    COARSEN_(elements) at;
    size_t n;
    unsigned int bucket;
    unsigned int tile;   // its first one
    unsigned int before; // tiles of the same bucket that come before it
} COARSEN_(piece);

typedef struct {
    unsigned int count, buckets, tiles;
    COARSEN_(piece) piece[COARSEN_(most_pieces)];
} COARSEN_(pieces);

// Which piece a tile is of.
COARSEN_DEVICE unsigned int COARSEN_(piece_of)(const COARSEN_(pieces) * pieces, unsigned int tile)
{
    unsigned int low = 0, high = pieces->count;
    while (high - low > 1) {
        const unsigned int middle = (low + high) / 2;
        if (pieces->piece[middle].tile <= tile)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Leaves, for each digit of each bucket, where its first key goes. starts: 0 before, per bucket one row per digit.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM)
    COARSEN_(bucket_counts_kernel)(COARSEN_(pieces) pieces, size_t tile_keys, unsigned int width,
                                   unsigned long long *starts, unsigned long long *scratch)
{
    __shared__ uint4 fours[COARSEN_PASSES * COARSEN_RADIX * COARSEN_COPIES / 4];
    unsigned int *const counts = (unsigned int *)fours;
    const unsigned int bins = coarsen_ceil_div(width, 8) * COARSEN_RADIX;
    for (unsigned int i = threadIdx.x; i < bins * COARSEN_COPIES; i += BLOCK_DIM)
        counts[i] = 0;
    __syncthreads();
    const COARSEN_(piece) piece = pieces.piece[COARSEN_(piece_of)(&pieces, blockIdx.x)];
    const size_t begin = (blockIdx.x - piece.tile) * tile_keys;
    COARSEN_(tally_all)
    (counts, piece.at.keys + begin, coarsen_min(piece.n - begin, tile_keys), threadIdx.x, BLOCK_DIM,
     0, width);
    __syncthreads();
    COARSEN_(add_tally)(counts, bins, starts + (size_t)piece.bucket * bins);
    if (!COARSEN_(last_block)((unsigned int *)(scratch + 1)))
        return;
    const unsigned int rows = pieces.buckets * bins / COARSEN_RADIX; // a warp takes one at a time
    for (unsigned int row = threadIdx.x / 32; row < rows; row += BLOCK_DIM / 32) {
        const unsigned int bucket = row * COARSEN_RADIX / bins;
        unsigned long long before = 0;
        for (unsigned int p = 0; p < pieces.count && pieces.piece[p].bucket < bucket; p++)
            before += pieces.piece[p].n;
        unsigned long long *const own = starts + (size_t)row * COARSEN_RADIX;
        COARSEN_(start)(own, own, before, 0);
    }
}

// One pass over all buckets, by the digit p. next: where to leave where the next key of each digit goes, of one bucket that
// other launches go on with, or NULL.
COARSEN_KERNEL void __launch_bounds__(BLOCK_DIM, COARSEN_RESIDENT)
    COARSEN_(bucket_pass_kernel)(COARSEN_(pieces) pieces, COARSEN_(elements) out, unsigned int rows,
                                 unsigned int p, unsigned int passes, unsigned int first,
                                 unsigned int width, const unsigned long long *starts,
                                 unsigned long long *next, unsigned long long *slots,
                                 unsigned long long *scratch)
{
    __shared__ COARSEN_(shared) shared;
    __shared__ size_t begin, left;
    COARSEN_(follow)();
    COARSEN_(let_next)();
    if (threadIdx.x == 0) {
        shared.ticket = COARSEN_(take)(scratch);
        const unsigned int tile = COARSEN_(tile_of)(scratch, shared.ticket, gridDim.x);
        const COARSEN_(piece) *const piece = &pieces.piece[COARSEN_(piece_of)(&pieces, tile)];
        const COARSEN_(arrays) arrays = {piece->at.keys, out.keys COARSEN_ALSO(piece->at.values)
                                                             COARSEN_ALSO(out.values)};
        shared.arrays = arrays;
        shared.tile = piece->before + (tile - piece->tile);
        shared.last = next && tile == gridDim.x - 1;
        begin = (size_t)(tile - piece->tile) * rows * BLOCK_DIM;
        left = piece->n - begin;
        shared.starts = starts + ((size_t)piece->bucket * passes + p) * COARSEN_RADIX;
        shared.next = next;
        shared.slots = slots + (size_t)(tile - shared.tile) * COARSEN_RADIX;
    }
    __syncthreads();
    COARSEN_(pass_of)(&shared, begin, left, rows, first, width);
}

#ifndef __CUDACC_RTC__
COARSEN_HOST COARSEN_(elements) COARSEN_(behind)(COARSEN_(elements) elements, size_t count)
{
    elements.keys += count;
#ifdef COARSEN_VALUE
    elements.values += count;
#endif
    return elements;
}

COARSEN_HOST void COARSEN_(add_piece)(COARSEN_(pieces) * pieces, COARSEN_(elements) at, size_t n,
                                      unsigned int bucket)
{
    pieces->buckets = bucket + 1;
    if (n == 0)
        return;
    COARSEN_(piece) piece = {};
    piece.at = at;
    piece.n = n;
    piece.bucket = bucket;
    pieces->piece[pieces->count++] = piece;
}

// Gives each piece its tiles of so many keys.
COARSEN_HOST void COARSEN_(number_tiles)(COARSEN_(pieces) * pieces, size_t tile_keys)
{
    pieces->tiles = 0;
    for (unsigned int i = 0; i < pieces->count; i++) {
        COARSEN_(piece) *const piece = &pieces->piece[i];
        const COARSEN_(piece) *const last = i > 0 ? piece - 1 : piece;
        piece->tile = pieces->tiles;
        piece->before =
            i > 0 && last->bucket == piece->bucket ? last->before + (piece->tile - last->tile) : 0;
        pieces->tiles += (unsigned int)coarsen_ceil_div(piece->n, tile_keys);
    }
}

// What the pieces are once a pass has written them: one per bucket.
COARSEN_HOST COARSEN_(pieces)
    COARSEN_(joined)(const COARSEN_(pieces) * pieces, COARSEN_(elements) at)
{
    COARSEN_(pieces) joined = {};
    for (unsigned int i = 0; i < pieces->count; i++) {
        const COARSEN_(piece) *const piece = &pieces->piece[i];
        if (i > 0 && piece->bucket == (piece - 1)->bucket)
            joined.piece[joined.count - 1].n += piece->n;
        else
            COARSEN_(add_piece)(&joined, at, piece->n, piece->bucket);
        at = COARSEN_(behind)(at, piece->n);
    }
    joined.buckets = pieces->buckets;
    return joined;
}

COARSEN_HOST cudaError_t COARSEN_(bucket_pass)(const COARSEN_(pieces) * pieces,
                                               COARSEN_(elements) out, size_t most, unsigned int p,
                                               unsigned int passes, unsigned int first,
                                               unsigned int width, const unsigned long long *starts,
                                               unsigned long long *next, unsigned long long *slots,
                                               unsigned long long *words, cudaStream_t stream)
{
    const void *const kernel = (const void *)COARSEN_(bucket_pass_kernel);
    const size_t bytes = most * BLOCK_DIM * COARSEN_ITEM_BYTES;
    if (pieces->tiles == 0)
        return cudaSuccess;
    cudaLaunchConfig_t config = coarsen_launch_config(pieces->tiles, BLOCK_DIM, bytes, stream);
    cudaLaunchAttribute attribute;
    cudaError_t status = coarsen_let_share(kernel, bytes, COARSEN_OTHER_BYTES);
    if (status == cudaSuccess)
        status = COARSEN_(overlap)(&config, &attribute, kernel);
    return status != cudaSuccess ? status
                                 : cudaLaunchKernelEx(&config, COARSEN_(bucket_pass_kernel),
                                                      *pieces, out, (unsigned int)most, p, passes,
                                                      first, width, starts, next, slots, words);
}

// Of sort_buckets, for all digits but one: the bytes of starts; and of slots for so many keys.
COARSEN_HOST size_t COARSEN_(starts_bytes)(void)
{
    return COARSEN_(most_pieces) * (COARSEN_PASSES - 1) * COARSEN_RADIX *
           sizeof(unsigned long long);
}

COARSEN_HOST size_t COARSEN_(bucket_slots_bytes)(size_t n, size_t most)
{
    return (n / (most * BLOCK_DIM) + COARSEN_(most_pieces)) * COARSEN_RADIX *
           sizeof(unsigned long long);
}

// Finds where the keys of each highest digit are to begin, and leaves it there.
COARSEN_HOST unsigned long long *COARSEN_(bucket_starts)(unsigned long long *words)
{
    return words + COARSEN_STARTS;
}

COARSEN_HOST cudaError_t COARSEN_(count_buckets)(COARSEN_(elements) in, COARSEN_(elements) out,
                                                 size_t n, unsigned long long *words, size_t most,
                                                 cudaStream_t stream)
{
    const COARSEN_(arrays)
        arrays = {in.keys, out.keys COARSEN_ALSO(in.values) COARSEN_ALSO(out.values)};
    return COARSEN_(launch_counts)(arrays, n, 8 * (COARSEN_PASSES - 1), 8, words, most, stream);
}

// Divides n keys by their highest digit, after count_buckets; starts: a copy of what that left. In portions as launch_passes.
COARSEN_HOST cudaError_t COARSEN_(launch_buckets)(COARSEN_(elements) in, COARSEN_(elements) out,
                                                  size_t n, const unsigned long long *starts,
                                                  unsigned long long *words, size_t most,
                                                  cudaStream_t stream)
{
    unsigned long long *next = COARSEN_(bucket_starts)(words);
    unsigned long long *other = next + (size_t)COARSEN_PASSES * COARSEN_RADIX;
    cudaError_t status = cudaSuccess;
    for (size_t done = 0; done < n && status == cudaSuccess; done += COARSEN_PORTION) {
        COARSEN_(pieces) pieces = {};
        COARSEN_(add_piece)
        (&pieces, COARSEN_(behind)(in, done), coarsen_min(n - done, COARSEN_PORTION), 0);
        COARSEN_(number_tiles)(&pieces, most * BLOCK_DIM);
        status = COARSEN_(bucket_pass)(&pieces, out, most, 0, 1, 8 * (COARSEN_PASSES - 1), 8,
                                       starts, next, words + COARSEN_SLOTS, words, stream);
        unsigned long long *const used = next;
        starts = next, next = other, other = used;
    }
    return status;
}

// Sorts buckets of fewer than 2^32 keys each by their lowest `width` bits, an odd number of digits. a, b: room for all of
// the keys; out may be a. starts: starts_bytes() of device memory. slots: bucket_slots_bytes(n), 0 at first. words: sort.h's
// scratch. most: rows of a tile.
COARSEN_HOST cudaError_t COARSEN_(sort_buckets)(COARSEN_(pieces) pieces, unsigned int width,
                                                COARSEN_(elements) a, COARSEN_(elements) b,
                                                COARSEN_(elements) out, unsigned long long *starts,
                                                unsigned long long *slots,
                                                unsigned long long *words, size_t most,
                                                cudaStream_t stream)
{
    const unsigned int passes = (unsigned int)coarsen_ceil_div(width, 8);
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    size_t n = 0;
    for (unsigned int i = 0; i < pieces.count; i++)
        n += pieces.piece[i].n;
    if (n == 0 || status != cudaSuccess)
        return status;
    // Blocks that count have enough keys each for what they write at the end.
    const size_t fewest = 16384, tile_keys = coarsen_ceil_div(n, 4 * processors);
    const size_t counted = tile_keys > fewest ? tile_keys : fewest;
    COARSEN_(number_tiles)(&pieces, counted);
    const cudaLaunchConfig_t counts = coarsen_launch_config(pieces.tiles, BLOCK_DIM, 0, stream);
    status = cudaMemsetAsync(
        starts, 0, (size_t)pieces.buckets * passes * COARSEN_RADIX * sizeof(*starts), stream);
    if (status == cudaSuccess)
        status = cudaLaunchKernelEx(&counts, COARSEN_(bucket_counts_kernel), pieces, counted, width,
                                    starts, words);
    for (unsigned int p = 0; p < passes && status == cudaSuccess; p++) {
        const COARSEN_(elements) to = p == passes - 1 ? out : p % 2 == 0 ? a : b;
        COARSEN_(number_tiles)(&pieces, most * BLOCK_DIM);
        status =
            COARSEN_(bucket_pass)(&pieces, to, most, p, passes, 8 * p, COARSEN_(width_of)(p, width),
                                  starts, NULL, slots, words, stream);
        pieces = COARSEN_(joined)(&pieces, to);
    }
    return status;
}
#endif

#undef COARSEN_WORDS
#undef COARSEN_MANY
#undef COARSEN_FACTOR
#undef COARSEN_RESIDENT
#undef COARSEN_PORTION
#undef COARSEN_PASSES
#undef COARSEN_COPIES
#undef COARSEN_COUNTS
#undef COARSEN_STARTS
#undef COARSEN_SLOTS
#undef COARSEN_LIVE
#undef COARSEN_OTHER_BYTES
#undef COARSEN_QUARTERS
#undef COARSEN_PAIR_BYTES
#undef COARSEN_ITEM_BYTES
#undef COARSEN_BACK
#undef COARSEN_TOGETHER
#undef COARSEN_RANKED
#undef COARSEN_WITH_BUCKETS
#endif

// SPDX-License-Identifier: MIT
//
// coarsen/base.h: what every coarsen header needs. It is the only other file that a teaching rung needs.
//
//   once               the version; COARSEN_KERNEL and its like; COARSEN_SUM, COARSEN_MIN, COARSEN_MAX and
//                      their identities; vectors of 16 bytes
//   each inclusion     opened by #define COARSEN_BEGIN COARSEN_PATTERN_..., closed by #define COARSEN_END,
//                      each before an #include of this file
//
// Opening checks the parameters that the pattern takes, sets their defaults, and makes
//
//   COARSEN_(kernel)   the name NAME_kernel, where NAME is the user's COARSEN_NAME; so for any name
//   COARSEN_TYPE ...   the user's types, each now one word, so that float * is a type like any other
//   COARSEN_(op) ...   a function for each expression that the user gave. An expression is expanded nowhere
//                      else, and the parameters there have names that nobody writes: a global n or width in
//                      it is the user's, whatever a kernel calls its own variables
//   coarsen_min ...    the helpers below, anew for each inclusion, so that one inside namespace foo and one
//                      inside namespace bar each find theirs
//
// Every inclusion also takes
//
// | parameter       | default | meaning                                                                     |
// |-----------------|---------|-----------------------------------------------------------------------------|
// | COARSEN_LINKAGE | static  | what stands before its kernels. With extern "C" they are NAME_kernel to a linker, to NVRTC and to cuModuleGetFunction too: NAME is then one of the whole program |
//
// Closing undefines the parameters of the pattern and what opening made, and nothing else. Inclusions nest:
// a header that another one includes takes the parameters of the outer one and leaves them as they are.
//
// Inside a namespace or extern "C", include <cuda_runtime.h> first, outside of it; nvcc has done so.
// The headers are C as CUDA has it, for nvcc and, without the host part, NVRTC. Nothing here allocates,
// prints or exits.

#ifndef COARSEN_BASE_H
#define COARSEN_BASE_H

#if __cplusplus < 201103L && !defined(_MSC_VER) // cl.exe says 1997 of every dialect
#error "coarsen: C++11 or later is needed: NVRTC before 12.0 takes it with the option --std=c++11"
#endif

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

#if defined(CUDART_VERSION) && CUDART_VERSION < 11080
#error "coarsen: CUDA 11.8 or later is needed, and these are the headers of an older one"
#endif

// ---- Once: version ------------------------------------------------------------------------------

#define COARSEN_VERSION_MAJOR 0
#define COARSEN_VERSION_MINOR 1
#define COARSEN_VERSION_PATCH 0
#define COARSEN_VERSION                                                                            \
    (COARSEN_VERSION_MAJOR * 10000 + COARSEN_VERSION_MINOR * 100 + COARSEN_VERSION_PATCH)

// ---- Once: definitions --------------------------------------------------------------------------

// What compilers spell differently is only here. The forms for cl.exe are untried.
#if defined(_MSC_VER) && !defined(__clang__) && !defined(__CUDACC_RTC__)
#define COARSEN_UNUSED
#define COARSEN_ALIGNED(bytes) alignas(bytes)
#define COARSEN_MAY_ALIAS      // any type may there
#else
#define COARSEN_UNUSED         __attribute__((unused))
#define COARSEN_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define COARSEN_MAY_ALIAS      __attribute__((may_alias))
#endif

// Everything is static, so that two files of one program may include the same thing, and may go
// unused without a warning. Only kernels may be something else.
#define COARSEN_KERNEL      COARSEN_LINKAGE COARSEN_UNUSED __global__
#define COARSEN_DEVICE      COARSEN_UNUSED static inline __device__
#define COARSEN_INLINE      COARSEN_UNUSED static __forceinline__ __device__
#define COARSEN_HOST_DEVICE COARSEN_UNUSED static inline __host__ __device__
#define COARSEN_HOST        COARSEN_UNUSED static inline

// Where there is PTX, the compute capability as in __CUDA_ARCH__; otherwise 0. Not every device is a GPU.
#if defined(__CUDA_ARCH__) && (defined(__NVCC__) || defined(__CUDACC_RTC__) || defined(__clang__))
#define COARSEN_PTX __CUDA_ARCH__
#else
#define COARSEN_PTX 0
#endif

// COARSEN_JOIN(sum, _kernel) is sum_kernel, its arguments expanded first.
#define COARSEN_JOIN(a, b)       COARSEN_JOIN_(a, b)
#define COARSEN_JOIN_(a, b)      a##b

// For what takes one to three inputs: the first so many of three items, as a list, and a macro called
// with a list that another macro makes.
#define COARSEN_FIRST_1(a, b, c) a
#define COARSEN_FIRST_2(a, b, c) a, b
#define COARSEN_FIRST_3(a, b, c) a, b, c
#define COARSEN_CALL(macro, ...) macro(__VA_ARGS__)

// An array of a block's shared memory, for a type that has a constructor too: it is not run.
#define COARSEN_SHARED(type, name, count)                                                          \
    COARSEN_ALIGNED(alignof(type)) __shared__ unsigned char name##_bytes[(count) * sizeof(type)];  \
    type(&name)[count] = *(type(*)[count])name##_bytes

// ---- Once: operators ----------------------------------------------------------------------------

// Associative and commutative operators on numbers, to give as COARSEN_OP, and their identities.
// COARSEN_MIN and COARSEN_MAX return NaN when either side is one, in whichever order they meet.
// Their arguments are evaluated more than once; coarsen passes variables.
#define COARSEN_SUM(a, b) ((a) + (b))
#define COARSEN_MIN(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define COARSEN_MAX(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))

// The greatest and least value of an integer or floating-point type (infinity where it has one):
// the identities of COARSEN_MIN and COARSEN_MAX. Constant expressions.
#ifdef __CUDACC_RTC__
#define COARSEN_INFINITY (1.0 / 0)
#else
#define COARSEN_INFINITY __builtin_huge_val()
#endif
#define COARSEN_GREATEST(type)                                                                     \
    ((type)0.5 != (type)0 ? (type)COARSEN_INFINITY                                                 \
     : (type)-1 > (type)0 ? (type)-1                                                               \
                          : (type)((1ULL << (8 * sizeof(type) - 1)) - 1))
#define COARSEN_LEAST(type)                                                                        \
    ((type)0.5 != (type)0 ? (type)-COARSEN_INFINITY                                                \
     : (type)-1 > (type)0 ? (type)0                                                                \
                          : (type)(-(long long)((1ULL << (8 * sizeof(type) - 1)) - 1) - 1))

// ---- Once: vectors ------------------------------------------------------------------------------

// What a thread moves at once: 16 bytes of elements, or one element where 16 is no multiple of it.
#define COARSEN_VECTOR_ITEMS(type) (16 % sizeof(type) == 0 ? 16 / sizeof(type) : 1)
#define COARSEN_VECTOR_ALIGN(type) (16 % sizeof(type) == 0 ? 16 : alignof(type))
// The elements before a vector's boundary are whole ones if an array of them is aligned to their size; two
// floats in a struct need not be.
#define COARSEN_ITEM_ALIGN(type)   (16 % sizeof(type) == 0 ? sizeof(type) : alignof(type))

// ---- Once: what opening needs -------------------------------------------------------------------

#define COARSEN_PATTERN_TYPE       1 // a type and functions on it, for host and device
#define COARSEN_PATTERN_BLOCK      2 // device functions that take no type
#define COARSEN_PATTERN_VALUE      3 // device functions that take a type
#define COARSEN_PATTERN_REDUCE     4 // and all else with an operator
#define COARSEN_PATTERN_SCAN       5
#define COARSEN_PATTERN_SEGSCAN    6 // of each of many segments
#define COARSEN_PATTERN_RUNS       7 // of equal keys
#define COARSEN_PATTERN_SEGMENTED  8
#define COARSEN_PATTERN_SELECT     9
#define COARSEN_PATTERN_FUSE       10
#define COARSEN_PATTERN_MAP        11
#define COARSEN_PATTERN_HISTOGRAM  12
#define COARSEN_PATTERN_IMAGE      13
#define COARSEN_PATTERN_MATMUL     14
#define COARSEN_PATTERN_MERGE      15
#define COARSEN_PATTERN_SORT       16
#define COARSEN_PATTERN_MERGESORT  17
#define COARSEN_PATTERN_STENCIL    18

// What a stencil does with the cells near an edge, to give as COARSEN_BOUNDARY. None is 0, as a misspelt name is.
#define COARSEN_COPIED             1 // they keep their values
#define COARSEN_CLAMPED            2 // beyond the edge are cells like those at it
#define COARSEN_PERIODIC           3 // beyond the edge are those at the other end

// Whether #if knows the value of a knob (a constexpr, an enumerator, a misspelt name or nothing at all is 0 to it), and the
// value means the same where the knob is divided and multiplied by: 1 + 2 would not.
#define COARSEN_NUMBER(knob)       (knob + 0 != 0 && 2147483647 / knob + 0 == 2147483647 / (knob + 0))

#endif // COARSEN_BASE_H

// ================ Opening ========================================================================

#ifdef COARSEN_BEGIN
#ifdef COARSEN_DEPTH // inside of another inclusion
#if COARSEN_DEPTH == 1
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 2
#elif COARSEN_DEPTH == 2
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 3
#elif COARSEN_DEPTH == 3
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 4
#elif COARSEN_DEPTH == 4
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 5
#elif COARSEN_DEPTH == 5
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 6
#else
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 7
#endif
#else
#define COARSEN_DEPTH 1

#if COARSEN_BEGIN == COARSEN_PATTERN_TYPE // a copy, as COARSEN_BEGIN changes in nested inclusions
#define COARSEN_PATTERN COARSEN_PATTERN_TYPE
#elif COARSEN_BEGIN == COARSEN_PATTERN_BLOCK
#define COARSEN_PATTERN COARSEN_PATTERN_BLOCK
#elif COARSEN_BEGIN == COARSEN_PATTERN_VALUE
#define COARSEN_PATTERN COARSEN_PATTERN_VALUE
#elif COARSEN_BEGIN == COARSEN_PATTERN_REDUCE
#define COARSEN_PATTERN COARSEN_PATTERN_REDUCE
#elif COARSEN_BEGIN == COARSEN_PATTERN_SCAN
#define COARSEN_PATTERN COARSEN_PATTERN_SCAN
#elif COARSEN_BEGIN == COARSEN_PATTERN_SEGSCAN
#define COARSEN_PATTERN COARSEN_PATTERN_SEGSCAN
#elif COARSEN_BEGIN == COARSEN_PATTERN_RUNS
#define COARSEN_PATTERN COARSEN_PATTERN_RUNS
#elif COARSEN_BEGIN == COARSEN_PATTERN_SEGMENTED
#define COARSEN_PATTERN COARSEN_PATTERN_SEGMENTED
#elif COARSEN_BEGIN == COARSEN_PATTERN_SELECT
#define COARSEN_PATTERN COARSEN_PATTERN_SELECT
#elif COARSEN_BEGIN == COARSEN_PATTERN_FUSE
#define COARSEN_PATTERN COARSEN_PATTERN_FUSE
#elif COARSEN_BEGIN == COARSEN_PATTERN_MAP
#define COARSEN_PATTERN COARSEN_PATTERN_MAP
#elif COARSEN_BEGIN == COARSEN_PATTERN_HISTOGRAM
#define COARSEN_PATTERN COARSEN_PATTERN_HISTOGRAM
#elif COARSEN_BEGIN == COARSEN_PATTERN_IMAGE
#define COARSEN_PATTERN COARSEN_PATTERN_IMAGE
#elif COARSEN_BEGIN == COARSEN_PATTERN_MATMUL
#define COARSEN_PATTERN COARSEN_PATTERN_MATMUL
#elif COARSEN_BEGIN == COARSEN_PATTERN_MERGE
#define COARSEN_PATTERN COARSEN_PATTERN_MERGE
#elif COARSEN_BEGIN == COARSEN_PATTERN_SORT
#define COARSEN_PATTERN COARSEN_PATTERN_SORT
#elif COARSEN_BEGIN == COARSEN_PATTERN_MERGESORT
#define COARSEN_PATTERN COARSEN_PATTERN_MERGESORT
#elif COARSEN_BEGIN == COARSEN_PATTERN_STENCIL
#define COARSEN_PATTERN COARSEN_PATTERN_STENCIL
#else
#error "coarsen: COARSEN_BEGIN must be one of the patterns in base.h"
#endif

#ifndef COARSEN_NAME
#error "coarsen: define COARSEN_NAME, the prefix of the names to make, before the include"
#endif
#if COARSEN_PATTERN != COARSEN_PATTERN_BLOCK && COARSEN_PATTERN != COARSEN_PATTERN_IMAGE &&        \
    !defined(COARSEN_TYPE)
#error "coarsen: define COARSEN_TYPE, the element type, before the include"
#elif COARSEN_PATTERN == COARSEN_PATTERN_IMAGE && defined(COARSEN_TYPE)
#error "coarsen: an image has bytes: it takes no COARSEN_TYPE"
#endif

// ---- Opening: parameters of other patterns. They would do nothing here, and stay for the next inclusion. ----

#if COARSEN_DEPTH == 1 && COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE
#if (defined(COARSEN_ARGMIN) || defined(COARSEN_ARGMAX) || defined(COARSEN_ATOMIC)) &&             \
    COARSEN_PATTERN != COARSEN_PATTERN_REDUCE
#error "coarsen: COARSEN_ARGMIN, _ARGMAX and _ATOMIC are for reduce.h"
#endif
#if defined(COARSEN_CHUNK) && COARSEN_PATTERN != COARSEN_PATTERN_REDUCE
#error "coarsen: COARSEN_CHUNK is for nccl/reduce.h"
#endif
#if defined(COARSEN_FIXED_TREE) && COARSEN_PATTERN != COARSEN_PATTERN_REDUCE &&                    \
    COARSEN_PATTERN != COARSEN_PATTERN_FUSE
#error "coarsen: COARSEN_FIXED_TREE is for reduce.h and fuse.h"
#endif
#if defined(COARSEN_VIEW) && COARSEN_PATTERN != COARSEN_PATTERN_REDUCE &&                          \
    COARSEN_PATTERN != COARSEN_PATTERN_HISTOGRAM
#error "coarsen: COARSEN_VIEW is for reduce.h and histogram.h"
#endif
#if defined(COARSEN_COUNTED) && COARSEN_PATTERN != COARSEN_PATTERN_REDUCE &&                       \
    COARSEN_PATTERN != COARSEN_PATTERN_MAP && COARSEN_PATTERN != COARSEN_PATTERN_HISTOGRAM
#error "coarsen: COARSEN_COUNTED is for reduce.h, map.h and histogram.h"
#endif
#if (defined(COARSEN_OP) || defined(COARSEN_IDENTITY)) && COARSEN_PATTERN > COARSEN_PATTERN_FUSE
#error "coarsen: COARSEN_OP and _IDENTITY are for reduce.h, scan.h, segmented.h and fuse.h"
#endif
#if defined(COARSEN_LIFT) && COARSEN_PATTERN > COARSEN_PATTERN_SELECT
#error "coarsen: COARSEN_LIFT is for reduce.h, scan.h, segmented.h and select.h"
#endif
#if defined(COARSEN_ACC) && COARSEN_PATTERN > COARSEN_PATTERN_FUSE &&                              \
    COARSEN_PATTERN != COARSEN_PATTERN_MATMUL
#error "coarsen: COARSEN_ACC is for reduce.h, scan.h, segmented.h, fuse.h and matmul.h"
#endif
#if defined(COARSEN_EXCLUSIVE) && COARSEN_PATTERN != COARSEN_PATTERN_SCAN &&                       \
    COARSEN_PATTERN != COARSEN_PATTERN_SEGSCAN
#error "coarsen: COARSEN_EXCLUSIVE is for scan.h"
#endif
#if defined(COARSEN_FLAG) && COARSEN_PATTERN != COARSEN_PATTERN_SEGSCAN &&                         \
    COARSEN_PATTERN != COARSEN_PATTERN_SCAN
#error "coarsen: COARSEN_FLAG is for scan.h"
#endif
#if defined(COARSEN_OFFSET) && COARSEN_PATTERN != COARSEN_PATTERN_SEGSCAN &&                       \
    COARSEN_PATTERN != COARSEN_PATTERN_SEGMENTED && COARSEN_PATTERN != COARSEN_PATTERN_SORT &&     \
    COARSEN_PATTERN != COARSEN_PATTERN_SCAN
#error "coarsen: COARSEN_OFFSET is for scan.h, segmented.h and sort_segments.h"
#endif
#if (defined(COARSEN_AXIS) || defined(COARSEN_FEW_TILES) || defined(COARSEN_COMMUTES)) &&          \
    COARSEN_PATTERN != COARSEN_PATTERN_SEGMENTED
#error "coarsen: COARSEN_AXIS, _FEW_TILES and _COMMUTES are for segmented.h"
#endif
#if defined(COARSEN_KEY) && COARSEN_PATTERN != COARSEN_PATTERN_RUNS &&                             \
    COARSEN_PATTERN != COARSEN_PATTERN_SEGMENTED
#error "coarsen: COARSEN_KEY is for segmented.h"
#endif
#if (defined(COARSEN_IF) || defined(COARSEN_PARTITION)) && COARSEN_PATTERN != COARSEN_PATTERN_SELECT
#error "coarsen: COARSEN_IF and _PARTITION are for select.h"
#endif
#if defined(COARSEN_SAME) && COARSEN_PATTERN != COARSEN_PATTERN_RUNS &&                            \
    COARSEN_PATTERN != COARSEN_PATTERN_SEGMENTED && COARSEN_PATTERN != COARSEN_PATTERN_SELECT
#error "coarsen: COARSEN_SAME is for segmented.h and select.h"
#endif
#if (defined(COARSEN_MAP) || defined(COARSEN_INPUTS) || defined(COARSEN_TYPE_B) ||                 \
     defined(COARSEN_TYPE_C)) &&                                                                   \
    COARSEN_PATTERN != COARSEN_PATTERN_MAP && COARSEN_PATTERN != COARSEN_PATTERN_FUSE
#error "coarsen: COARSEN_MAP, _INPUTS, _TYPE_B and _TYPE_C are for map.h and fuse.h"
#endif
#if defined(COARSEN_OUT) && COARSEN_PATTERN != COARSEN_PATTERN_MAP &&                              \
    COARSEN_PATTERN != COARSEN_PATTERN_SELECT
#error "coarsen: COARSEN_OUT is for map.h and select.h"
#endif
#if defined(COARSEN_SCALAR) && COARSEN_PATTERN != COARSEN_PATTERN_MAP &&                           \
    COARSEN_PATTERN != COARSEN_PATTERN_FUSE && COARSEN_PATTERN != COARSEN_PATTERN_SELECT
#error "coarsen: COARSEN_SCALAR is for map.h, fuse.h and select.h"
#endif
#if (defined(COARSEN_BIN) || defined(COARSEN_COUNT) || defined(COARSEN_WEIGHT) ||                  \
     defined(COARSEN_BUCKET) || defined(COARSEN_BUCKETS)) &&                                       \
    COARSEN_PATTERN != COARSEN_PATTERN_HISTOGRAM
#error "coarsen: COARSEN_BIN, _COUNT, _WEIGHT, _BUCKET and _BUCKETS are for histogram.h"
#endif
#if (defined(COARSEN_RADIUS) || defined(COARSEN_CHANNELS) || defined(COARSEN_RED) ||               \
     defined(COARSEN_GREEN) || defined(COARSEN_BLUE)) &&                                           \
    COARSEN_PATTERN != COARSEN_PATTERN_IMAGE
#error "coarsen: COARSEN_RADIUS, _CHANNELS, _RED, _GREEN and _BLUE are for image.h"
#endif
#if (defined(COARSEN_M_TRANSPOSED) || defined(COARSEN_N_TRANSPOSED) || defined(COARSEN_SLICES) ||  \
     defined(COARSEN_STAGES) || defined(COARSEN_PANEL)) &&                                         \
    COARSEN_PATTERN != COARSEN_PATTERN_MATMUL
#error "coarsen: COARSEN_M_TRANSPOSED, _N_TRANSPOSED, _SLICES, _STAGES and _PANEL are for matmul.h"
#endif
#if defined(COARSEN_VALUE) &&                                                                      \
    (COARSEN_PATTERN < COARSEN_PATTERN_MERGE || COARSEN_PATTERN > COARSEN_PATTERN_MERGESORT)
#error "coarsen: COARSEN_VALUE is for sort.h, sort_segments.h, merge_sort.h and merge.h"
#endif
#if defined(COARSEN_LESS) &&                                                                       \
    (COARSEN_PATTERN < COARSEN_PATTERN_MERGE || COARSEN_PATTERN > COARSEN_PATTERN_MERGESORT)
#error "coarsen: COARSEN_LESS is for merge.h and merge_sort.h"
#endif
#if defined(COARSEN_DESCENDING) && COARSEN_PATTERN != COARSEN_PATTERN_SORT &&                      \
    COARSEN_PATTERN != COARSEN_PATTERN_MERGESORT
#error "coarsen: COARSEN_DESCENDING is for sort.h, sort_segments.h and top_k.h"
#endif
#if (defined(COARSEN_INDEX) || defined(COARSEN_PART)) && COARSEN_PATTERN != COARSEN_PATTERN_SORT
#error "coarsen: COARSEN_INDEX and _PART are for top_k.h"
#endif
#if defined(COARSEN_FEW_WAVES) && COARSEN_PATTERN != COARSEN_PATTERN_SORT
#error "coarsen: COARSEN_FEW_WAVES is for sort_segments.h"
#endif
#if (defined(COARSEN_PORTION) || defined(COARSEN_TOGETHER) || defined(COARSEN_RANKED) ||           \
     defined(COARSEN_DIVIDED) || defined(COARSEN_PAIRS)) &&                                        \
    COARSEN_PATTERN != COARSEN_PATTERN_SORT && COARSEN_PATTERN != COARSEN_PATTERN_MERGESORT
#error "coarsen: COARSEN_PORTION, _TOGETHER, _RANKED, _DIVIDED, _PAIRS are for sort.h, merge_sort.h"
#endif
#if (defined(COARSEN_STENCIL) || defined(COARSEN_COEFFICIENTS) || defined(COARSEN_ORDER) ||        \
     defined(COARSEN_BOUNDARY)) &&                                                                 \
    COARSEN_PATTERN != COARSEN_PATTERN_STENCIL
#error "coarsen: COARSEN_STENCIL, _COEFFICIENTS, _ORDER and _BOUNDARY are for stencil.h"
#endif
#if (defined(COARSEN_STEPS) || defined(COARSEN_THREAD_ROWS)) &&                                    \
    COARSEN_PATTERN != COARSEN_PATTERN_STENCIL
#error "coarsen: COARSEN_STEPS and _THREAD_ROWS are for stencil.h"
#endif
#endif

// ---- Opening: the tuning knobs. Each has a second spelling, for where the bare name is taken. --------

#if COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN != COARSEN_PATTERN_MATMUL
#if defined(BLOCK_DIM) && defined(COARSEN_BLOCK_DIM)
#error "coarsen: BLOCK_DIM and COARSEN_BLOCK_DIM are one knob: define one of them"
#elif defined(COARSEN_BLOCK_DIM)
#define BLOCK_DIM COARSEN_BLOCK_DIM
#endif
#if defined(BLOCK_DIM) && !COARSEN_NUMBER(BLOCK_DIM)
#error "coarsen: BLOCK_DIM must be a number > 0 for #if: no constexpr, expressions in ()"
#elif defined(BLOCK_DIM) && (BLOCK_DIM < 32 || BLOCK_DIM > 1024 || BLOCK_DIM % 32 != 0)
#error "coarsen: BLOCK_DIM must be a multiple of 32 from 32 to 1024"
#endif
#elif COARSEN_PATTERN == COARSEN_PATTERN_MATMUL &&                                                 \
    (defined(BLOCK_DIM) || defined(COARSEN_BLOCK_DIM))
#error "coarsen: a matrix product takes TILE_WIDTH, or BM, BN, BK, TM and TN, in place of BLOCK_DIM"
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM
#if defined(COARSE_FACTOR) || defined(COARSEN_COARSE_FACTOR)
#error "coarsen: a histogram takes CFACTOR in place of COARSE_FACTOR"
#endif
#if defined(CFACTOR) && defined(COARSEN_CFACTOR)
#error "coarsen: CFACTOR and COARSEN_CFACTOR are one knob: define one of them"
#elif defined(COARSEN_CFACTOR)
#define CFACTOR COARSEN_CFACTOR
#endif
#if defined(CFACTOR) && !COARSEN_NUMBER(CFACTOR)
#error "coarsen: CFACTOR must be a number > 0 for #if: no constexpr, expressions in ()"
#endif
#if defined(NUM_BINS) && defined(COARSEN_NUM_BINS)
#error "coarsen: NUM_BINS and COARSEN_NUM_BINS are one knob: define one of them"
#elif defined(COARSEN_NUM_BINS)
#define NUM_BINS COARSEN_NUM_BINS
#endif
#ifndef NUM_BINS
#error "coarsen: define NUM_BINS, the number of bins, before the include"
#elif !COARSEN_NUMBER(NUM_BINS)
#error "coarsen: NUM_BINS must be a number > 0 for #if: no constexpr, expressions in ()"
#elif NUM_BINS < 1 || NUM_BINS > 2147483647
#error "coarsen: NUM_BINS must be from 1 to 2147483647"
#endif
#elif COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE
#if defined(CFACTOR) || defined(COARSEN_CFACTOR)
#error "coarsen: CFACTOR is the histogram's knob: this pattern takes COARSE_FACTOR in place of it"
#endif
#if defined(COARSE_FACTOR) && defined(COARSEN_COARSE_FACTOR)
#error "coarsen: COARSE_FACTOR and COARSEN_COARSE_FACTOR are one knob: define one of them"
#elif defined(COARSEN_COARSE_FACTOR)
#define COARSE_FACTOR COARSEN_COARSE_FACTOR
#endif
#if defined(COARSE_FACTOR) && !COARSEN_NUMBER(COARSE_FACTOR)
#error "coarsen: COARSE_FACTOR must be a number > 0 for #if: no constexpr, expressions in ()"
#endif
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_MATMUL || COARSEN_PATTERN == COARSEN_PATTERN_STENCIL
#if defined(TILE_WIDTH) && defined(COARSEN_TILE_WIDTH)
#error "coarsen: TILE_WIDTH and COARSEN_TILE_WIDTH are one knob: define one of them"
#elif defined(COARSEN_TILE_WIDTH)
#define TILE_WIDTH COARSEN_TILE_WIDTH
#endif
#if defined(TILE_WIDTH) && !COARSEN_NUMBER(TILE_WIDTH)
#error "coarsen: TILE_WIDTH must be a number > 0 for #if: no constexpr, expressions in ()"
#endif
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_MATMUL
// Empty is not 0: 0 - - 1 is 1.
#if defined(COARSEN_M_TRANSPOSED) && (0 - COARSEN_M_TRANSPOSED - 1) != 1 &&                        \
        COARSEN_M_TRANSPOSED + 0 == 0 ||                                                           \
    defined(COARSEN_N_TRANSPOSED) && (0 - COARSEN_N_TRANSPOSED - 1) != 1 &&                        \
        COARSEN_N_TRANSPOSED + 0 == 0
#error "coarsen: COARSEN_M_TRANSPOSED and _N_TRANSPOSED are defined or not, and never 0"
#endif
#if defined(BM) && defined(COARSEN_BM) || defined(BN) && defined(COARSEN_BN) ||                    \
    defined(BK) && defined(COARSEN_BK) || defined(TM) && defined(COARSEN_TM) ||                    \
    defined(TN) && defined(COARSEN_TN)
#error "coarsen: BM and COARSEN_BM are one knob, as are BN, BK, TM and TN: define one of them"
#endif
#ifdef COARSEN_BM
#define BM COARSEN_BM
#endif
#ifdef COARSEN_BN
#define BN COARSEN_BN
#endif
#ifdef COARSEN_BK
#define BK COARSEN_BK
#endif
#ifdef COARSEN_TM
#define TM COARSEN_TM
#endif
#ifdef COARSEN_TN
#define TN COARSEN_TN
#endif
#if defined(BM) && !COARSEN_NUMBER(BM) || defined(BN) && !COARSEN_NUMBER(BN) ||                    \
    defined(BK) && !COARSEN_NUMBER(BK) || defined(TM) && !COARSEN_NUMBER(TM) ||                    \
    defined(TN) && !COARSEN_NUMBER(TN)
#error "coarsen: BM, BN, BK, TM and TN must be numbers for #if, expressions in ( )"
#elif defined(COARSEN_SLICES) && !COARSEN_NUMBER(COARSEN_SLICES) ||                                \
    defined(COARSEN_STAGES) && !COARSEN_NUMBER(COARSEN_STAGES)
#error "coarsen: COARSEN_SLICES and _STAGES must be numbers for #if, expressions in ( )"
#endif
#endif

// ---- Opening: names and types -------------------------------------------------------------------

// The user's warnings are for the user's code: casts are written as C has them, and a local may have the
// name of a user's global.
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#define COARSEN_(what) COARSEN_JOIN(COARSEN_NAME, _##what)
#ifndef COARSEN_LINKAGE
#define COARSEN_LINKAGE static
#endif

#if defined(COARSEN_TYPE) && COARSEN_PATTERN != COARSEN_PATTERN_BLOCK &&                           \
    COARSEN_PATTERN != COARSEN_PATTERN_IMAGE
typedef COARSEN_TYPE COARSEN_(type);
#undef COARSEN_TYPE
#define COARSEN_TYPE COARSEN_(type)
#endif

// ---- Opening: a value with its index ------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE &&                                                   \
    (defined(COARSEN_ARGMIN) || defined(COARSEN_ARGMAX))
#if defined(COARSEN_ARGMIN) && defined(COARSEN_ARGMAX)
#error "coarsen: COARSEN_ARGMIN and COARSEN_ARGMAX are two reductions: define one of them"
#elif defined(COARSEN_ACC) || defined(COARSEN_OP) || defined(COARSEN_IDENTITY) ||                  \
    defined(COARSEN_LIFT)
#error "coarsen: COARSEN_ARGMIN and _ARGMAX go without COARSEN_ACC, _OP, _IDENTITY and _LIFT"
#endif
#ifdef COARSEN_ARGMIN
typedef COARSEN_ARGMIN COARSEN_(at_index);
#else
typedef COARSEN_ARGMAX COARSEN_(at_index);
#endif
static_assert(
    (COARSEN_(at_index))0.5 == 0,
    "coarsen: COARSEN_ARGMIN and COARSEN_ARGMAX must be the type of an index, an integer");

typedef struct {
    COARSEN_TYPE value;
    COARSEN_(at_index) index;
} COARSEN_(at);

COARSEN_HOST_DEVICE COARSEN_(at) COARSEN_(at_lift)(COARSEN_TYPE value, size_t index)
{
    COARSEN_(at) a;
    a.value = value;
    a.index = (COARSEN_(at_index))index;
    return a;
}

// No element: it has the last index of all, and a value that is no better than any.
COARSEN_HOST_DEVICE COARSEN_(at) COARSEN_(at_none)(void)
{
#ifdef COARSEN_ARGMIN
    return COARSEN_(at_lift)(COARSEN_GREATEST(COARSEN_TYPE), ~(size_t)0);
#else
    return COARSEN_(at_lift)(COARSEN_LEAST(COARSEN_TYPE), ~(size_t)0);
#endif
}

// As in NumPy: a NaN before all, and of equals the first. Without branches, as it is for each element.
COARSEN_HOST_DEVICE COARSEN_(at) COARSEN_(at_best)(COARSEN_(at) a, COARSEN_(at) b)
{
    const COARSEN_TYPE a_again = a.value, b_again = b.value; // NaN alone differs from itself
    const bool a_nan = a.value != a_again, b_nan = b.value != b_again;
#ifdef COARSEN_ARGMIN
    const bool better = b.value < a.value;
#else
    const bool better = a.value < b.value;
#endif
    const bool first = sizeof(a.index) > 4
                           ? (unsigned long long)b.index < (unsigned long long)a.index
                           : (unsigned int)b.index < (unsigned int)a.index; // -1 is the last
    const bool same = (a.value == b.value) | b_nan;
    return better | (b_nan & !a_nan) | (same & first) ? b : a;
}
#define COARSEN_ACC        COARSEN_(at)
#define COARSEN_IDENTITY   COARSEN_(at_none)()
#define COARSEN_LIFT(x, i) COARSEN_(at_lift)(x, i)
#define COARSEN_OP(a, b)   COARSEN_(at_best)(a, b)
#endif

// ---- Opening: the helpers -----------------------------------------------------------------------

#if COARSEN_PATTERN != COARSEN_PATTERN_TYPE
#define coarsen_ceil_div      COARSEN_(coarsen_ceil_div)
#define coarsen_min           COARSEN_(coarsen_min)
#define coarsen_launch_config COARSEN_(coarsen_launch_config)
#define coarsen_attribute     COARSEN_(coarsen_attribute)
#define coarsen_let_share     COARSEN_(coarsen_let_share)
#define coarsen_bytes_ok      COARSEN_(coarsen_bytes_ok)
#define coarsen_rows_ok       COARSEN_(coarsen_rows_ok)

// a / b rounded up, for any a and b > 0: a + b - 1 would overflow near the top.
COARSEN_HOST_DEVICE size_t coarsen_ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

COARSEN_HOST_DEVICE size_t coarsen_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

// The dynamic shared memory of a block, in every kernel that has some. It has one name, so that a
// device that must be told where it is can be told once; and C's linkage, so in every namespace.
extern "C" {
extern __shared__ uint4 coarsen_shared[];
}

#ifndef __CUDACC_RTC__
// What cudaLaunchKernelEx takes, for a one-dimensional grid.
COARSEN_HOST cudaLaunchConfig_t coarsen_launch_config(size_t blocks, unsigned int threads,
                                                      size_t shared_bytes, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned int)blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    return config;
}

// An attribute of the current device, as its number of multiprocessors; or 0, with the error in *status.
COARSEN_HOST size_t coarsen_attribute(cudaDeviceAttr attribute, cudaError_t *status)
{
    int device = 0, value = 0;
    *status = cudaGetDevice(&device);
    if (*status == cudaSuccess)
        *status = cudaDeviceGetAttribute(&value, attribute, device);
    return *status == cudaSuccess ? (size_t)value : 0;
}

// Lets a kernel have so many bytes of dynamic shared memory, if with what else a block has there that is more than
// it has without being asked. other: bytes, or more. The kernel may have all that there is then: so launches of other
// host threads, which ask for fewer bytes, take none of them away.
COARSEN_HOST cudaError_t coarsen_let_share(const void *kernel, size_t shared_bytes, size_t other)
{
    if (shared_bytes + other <= 48 << 10)
        return cudaSuccess;
    cudaError_t status;
    const size_t all = coarsen_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &status);
    const size_t bytes = shared_bytes + other < all ? all - other : shared_bytes;
    return status != cudaSuccess
               ? status
               : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)bytes);
}

// Whether pointer may hold n elements of so many bytes, more than 0, at that alignment: not null
// unless n is 0, aligned, and neither the size nor the end address overflows.
COARSEN_HOST bool coarsen_bytes_ok(const void *pointer, size_t n, size_t bytes, size_t alignment)
{
    if (n == 0)
        return true;
    return pointer && (size_t)pointer % alignment == 0 &&
           n <= ((size_t)-1 - (size_t)pointer) / bytes;
}

// The same, for rows of width elements, whose starts are pitch elements apart.
COARSEN_HOST bool coarsen_rows_ok(const void *pointer, size_t pitch, size_t rows, size_t width,
                                  size_t bytes, size_t alignment)
{
    if (rows == 0 || width == 0)
        return true;
    return width <= pitch && rows - 1 <= ((size_t)-1 - width) / pitch &&
           coarsen_bytes_ok(pointer, (rows - 1) * pitch + width, bytes, alignment);
}

// Whether pointer may hold n elements of its type.
#define coarsen_array_ok(pointer, n)                                                               \
    coarsen_bytes_ok(pointer, n, sizeof(*(pointer)), alignof(decltype(*(pointer))))

#endif // __CUDACC_RTC__
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_VALUE
typedef COARSEN_TYPE COARSEN_(acc);
#endif

// ---- Opening: the parameters of a reduction and a scan, and what blocks do together --------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_SELECT
#if defined(COARSEN_ACC) || defined(COARSEN_OP) || defined(COARSEN_IDENTITY)
#error "coarsen: a selection takes COARSEN_IF or COARSEN_SAME, not COARSEN_ACC, _OP or _IDENTITY"
#endif
#define COARSEN_ACC unsigned long long // what is added up: how many are kept
#endif

#if COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN <= COARSEN_PATTERN_FUSE
#if defined(COARSEN_OP) && !defined(COARSEN_IDENTITY)
#error "coarsen: COARSEN_OP needs COARSEN_IDENTITY, what no elements reduce to"
#endif
#ifndef COARSEN_ACC
#ifndef COARSEN_OP
static_assert(
    sizeof(COARSEN_TYPE) > 2 || __is_class(COARSEN_TYPE),
    "coarsen: a sum of 8- or 16-bit integers wraps: define COARSEN_ACC, a wider type for it");
#endif
#define COARSEN_ACC COARSEN_TYPE
#endif
#if defined(COARSEN_IDENTITY) && !defined(COARSEN_OP) // for a class whose + may be anything
static_assert(__is_class(COARSEN_ACC),
              "coarsen: a sum of numbers begins with 0: COARSEN_IDENTITY needs COARSEN_OP");
#endif
#ifndef COARSEN_OP
#define COARSEN_OP COARSEN_SUM
#endif
#ifndef COARSEN_IDENTITY
#define COARSEN_IDENTITY ((COARSEN_ACC)0)
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_SEGSCAN || COARSEN_PATTERN == COARSEN_PATTERN_RUNS
// What these add up is a value with more beside it.
#define COARSEN_OF_VALUE(what) COARSEN_(value_##what)
#else
#define COARSEN_OF_VALUE(what) COARSEN_(what)
#endif
typedef COARSEN_ACC COARSEN_OF_VALUE(acc);
#undef COARSEN_ACC
#define COARSEN_ACC COARSEN_OF_VALUE(acc)

COARSEN_DEVICE COARSEN_ACC COARSEN_OF_VALUE(op)(COARSEN_UNUSED COARSEN_ACC coarsen_a,
                                                COARSEN_UNUSED COARSEN_ACC coarsen_b)
{
    return COARSEN_OP(coarsen_a, coarsen_b);
}

COARSEN_DEVICE COARSEN_ACC COARSEN_OF_VALUE(identity)(void)
{
    return COARSEN_IDENTITY;
}
#endif

#if COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN <= COARSEN_PATTERN_SEGMENTED
#ifdef COARSEN_LIFT
#define COARSEN_LIFTED 1 // and so may need the index
#else
#define COARSEN_LIFTED     0
#define COARSEN_LIFT(x, i) ((COARSEN_ACC)(x))
#endif
COARSEN_DEVICE COARSEN_ACC COARSEN_(lift)(COARSEN_UNUSED COARSEN_TYPE coarsen_x,
                                          COARSEN_UNUSED size_t coarsen_i)
{
    return COARSEN_LIFT(coarsen_x, coarsen_i);
}
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE || COARSEN_PATTERN == COARSEN_PATTERN_BLOCK ||       \
    COARSEN_PATTERN == COARSEN_PATTERN_SORT
// True in every thread of exactly one block of the grid: the last to arrive. It then sees all that
// every thread of every block wrote before arriving. All threads of all blocks call it, once per
// launch for each counter. *arrived is 0 before the launch and 0 again after it.
// Cost: two barriers, and a fence and an atomic per block. Source: the CUDA C++ Programming Guide,
// "Memory Fence Functions".
COARSEN_DEVICE bool COARSEN_(last_block)(unsigned int *arrived)
{
    __shared__ bool last;
    const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;

    __syncthreads(); // the block's writes, before the fence that publishes them
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        __threadfence();
        const unsigned int before =
            atomicInc(arrived, blocks - 1); // wraps to 0 for the next launch
        if (before >= blocks)
            __trap(); // the counter was not 0: NAME_scratch_init was forgotten
        last = before == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// A lock in global memory: *lock is 0 when free. What its holder wrote is visible to the next one.
// One thread per block takes it, as lanes of one warp that contend may wait for each other forever.
COARSEN_DEVICE void COARSEN_(lock)(unsigned int *lock)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
}

COARSEN_DEVICE void COARSEN_(unlock)(unsigned int *lock)
{
    __threadfence();
    atomicExch(lock, 0);
}
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE || COARSEN_PATTERN == COARSEN_PATTERN_MAP ||         \
    COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM
#ifndef COARSEN_COUNTED
#define COARSEN_COUNTED 0
#elif COARSEN_COUNTED != 0 && COARSEN_COUNTED != 1
#error "coarsen: COARSEN_COUNTED must be 0 or 1"
#endif
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE || COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM
#ifndef COARSEN_VIEW
#define COARSEN_VIEW 0
#elif COARSEN_VIEW != 0 && COARSEN_VIEW != 1
#error "coarsen: COARSEN_VIEW must be 0 or 1"
#endif
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE || COARSEN_PATTERN == COARSEN_PATTERN_FUSE
#ifndef COARSEN_FIXED_TREE
#define COARSEN_FIXED_TREE 0
#elif COARSEN_FIXED_TREE != 0 && COARSEN_FIXED_TREE != 1
#error "coarsen: COARSEN_FIXED_TREE must be 0 or 1"
#endif
// Of a fixed tree, the threads that an array is divided among, at most: several times what a large device holds.
#define COARSEN_TREE_THREADS (1 << 20)
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE
// *out = OP(*out, sum), by one thread per block: in one atomic where there is one, or under the lock.
COARSEN_DEVICE void COARSEN_(commit)(COARSEN_ACC *coarsen_out, COARSEN_ACC coarsen_sum,
                                     COARSEN_UNUSED unsigned int *coarsen_lock)
{
#ifdef COARSEN_ATOMIC
    COARSEN_ATOMIC(coarsen_out, coarsen_sum);
#else
    COARSEN_(lock)(coarsen_lock);
    *coarsen_out = COARSEN_(op)(*coarsen_out, coarsen_sum);
    COARSEN_(unlock)(coarsen_lock);
#endif
}
#endif

#if !defined(__CUDACC_RTC__) &&                                                                    \
    (COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN <= COARSEN_PATTERN_FUSE ||       \
     COARSEN_PATTERN == COARSEN_PATTERN_SORT)
// Makes a scratch ready, once, for any number of launches one after the other.
COARSEN_HOST cudaError_t COARSEN_(scratch_init)(void *scratch, size_t scratch_bytes,
                                                cudaStream_t stream)
{
    return scratch_bytes == 0 ? cudaSuccess : cudaMemsetAsync(scratch, 0, scratch_bytes, stream);
}
#endif

// ---- Opening: a scan's parameters -----------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_SCAN || COARSEN_PATTERN == COARSEN_PATTERN_SEGSCAN
#ifndef COARSEN_EXCLUSIVE
#define COARSEN_EXCLUSIVE 0
#elif COARSEN_EXCLUSIVE != 0 && COARSEN_EXCLUSIVE != 1
#error "coarsen: COARSEN_EXCLUSIVE must be 0 or 1"
#endif
#endif

// ---- Opening: a value given at launch -------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_SELECT || COARSEN_PATTERN == COARSEN_PATTERN_MAP ||         \
    COARSEN_PATTERN == COARSEN_PATTERN_FUSE
#ifdef COARSEN_SCALAR
typedef COARSEN_SCALAR COARSEN_(scalar);
#undef COARSEN_SCALAR
#define COARSEN_SCALAR     COARSEN_(scalar)
#define COARSEN_ALSO(item) , item
#else
#define COARSEN_ALSO(item)
#endif
#endif

// ---- Opening: a selection's parameters ------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_SELECT
#if !defined(COARSEN_IF) && !defined(COARSEN_SAME)
#error "coarsen: define COARSEN_IF, whether an element is kept, or COARSEN_SAME, before the include"
#elif defined(COARSEN_IF) && defined(COARSEN_SAME)
#error "coarsen: COARSEN_IF and COARSEN_SAME are two ways to select: define one of them"
#endif
#ifndef COARSEN_PARTITION
#define COARSEN_PARTITION 0
#elif COARSEN_PARTITION != 0 && COARSEN_PARTITION != 1
#error "coarsen: COARSEN_PARTITION must be 0 or 1"
#endif
#ifndef COARSEN_OUT
#define COARSEN_OUT COARSEN_TYPE
#endif
typedef COARSEN_OUT COARSEN_(out);
#undef COARSEN_OUT
#define COARSEN_OUT COARSEN_(out)
#ifndef COARSEN_LIFT
#define COARSEN_LIFT(x, ...) ((COARSEN_OUT)(x))
#endif

#ifdef COARSEN_IF
COARSEN_DEVICE bool COARSEN_(keeps)(COARSEN_UNUSED COARSEN_TYPE coarsen_x,
                                    COARSEN_UNUSED size_t coarsen_i
                                        COARSEN_ALSO(COARSEN_UNUSED COARSEN_SCALAR coarsen_scalar))
{
    return COARSEN_CALL(COARSEN_IF, coarsen_x, coarsen_i COARSEN_ALSO(coarsen_scalar));
}
#else
COARSEN_DEVICE bool COARSEN_(same)(COARSEN_UNUSED COARSEN_TYPE coarsen_a,
                                   COARSEN_UNUSED COARSEN_TYPE coarsen_b)
{
    return COARSEN_SAME(coarsen_a, coarsen_b);
}
#endif

COARSEN_DEVICE COARSEN_OUT COARSEN_(lift)(
    COARSEN_UNUSED COARSEN_TYPE coarsen_x,
    COARSEN_UNUSED size_t coarsen_i COARSEN_ALSO(COARSEN_UNUSED COARSEN_SCALAR coarsen_scalar))
{
    return COARSEN_CALL(COARSEN_LIFT, coarsen_x, coarsen_i COARSEN_ALSO(coarsen_scalar));
}
#endif

// ---- Opening: what says where segments are ------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_SEGSCAN && defined(COARSEN_FLAG)
#ifdef COARSEN_OFFSET
#error "coarsen: COARSEN_FLAG and COARSEN_OFFSET are two ways to tell segments: define one of them"
#endif
typedef COARSEN_FLAG COARSEN_(flag);
#undef COARSEN_FLAG
#define COARSEN_FLAG COARSEN_(flag)
static_assert((COARSEN_FLAG)0.5 == 0 || sizeof(COARSEN_FLAG) == 1,
              "coarsen: COARSEN_FLAG must be an integer type, or bool");
#elif COARSEN_PATTERN == COARSEN_PATTERN_SEGSCAN || COARSEN_PATTERN == COARSEN_PATTERN_SEGMENTED
#ifndef COARSEN_OFFSET
#define COARSEN_OFFSET int
#endif
typedef COARSEN_OFFSET COARSEN_(offset);
#undef COARSEN_OFFSET
#define COARSEN_OFFSET COARSEN_(offset)
static_assert((COARSEN_OFFSET)0.5 == 0, "coarsen: COARSEN_OFFSET must be an integer type");
#endif

// ---- Opening: what says where runs are ------------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_RUNS
#ifndef COARSEN_KEY
#error "coarsen: define COARSEN_KEY, the type of the keys, before the include"
#endif
#ifndef COARSEN_SAME
#define COARSEN_SAME(a, b) ((a) == (b))
#endif
typedef COARSEN_KEY COARSEN_(key);
#undef COARSEN_KEY
#define COARSEN_KEY COARSEN_(key)

COARSEN_DEVICE bool COARSEN_(same)(COARSEN_UNUSED COARSEN_KEY coarsen_a,
                                   COARSEN_UNUSED COARSEN_KEY coarsen_b)
{
    return COARSEN_SAME(coarsen_a, coarsen_b);
}
#endif

// ---- Opening: a map's parameters ----------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_MAP || COARSEN_PATTERN == COARSEN_PATTERN_FUSE
#ifndef COARSEN_MAP
#error "coarsen: define COARSEN_MAP, an expression of the elements read, before the include"
#endif
#ifndef COARSEN_INPUTS
#define COARSEN_INPUTS 1
#endif
#if !COARSEN_NUMBER(COARSEN_INPUTS) || COARSEN_INPUTS < 1 || COARSEN_INPUTS > 3
#error "coarsen: COARSEN_INPUTS must be from 1 to 3"
#endif
#ifndef COARSEN_TYPE_B
#define COARSEN_TYPE_B COARSEN_TYPE
#endif
#ifndef COARSEN_TYPE_C
#define COARSEN_TYPE_C COARSEN_TYPE
#endif
typedef COARSEN_TYPE_B COARSEN_(type_b);
typedef COARSEN_TYPE_C COARSEN_(type_c);
#undef COARSEN_TYPE_B
#undef COARSEN_TYPE_C
#define COARSEN_TYPE_B COARSEN_(type_b)
#define COARSEN_TYPE_C COARSEN_(type_c)
#if COARSEN_PATTERN == COARSEN_PATTERN_FUSE
typedef COARSEN_ACC COARSEN_(mapped);
#elif defined(COARSEN_OUT)
typedef COARSEN_OUT COARSEN_(mapped);
#else
typedef COARSEN_TYPE COARSEN_(mapped);
#endif
#define COARSEN_MAPPED COARSEN_(mapped)
#define COARSEN_EACH   COARSEN_JOIN(COARSEN_FIRST_, COARSEN_INPUTS)
#define COARSEN_ARRAYS                                                                             \
    COARSEN_EACH(const COARSEN_TYPE *a, const COARSEN_TYPE_B *b, const COARSEN_TYPE_C *c)

COARSEN_DEVICE COARSEN_MAPPED COARSEN_(apply)(
    COARSEN_EACH(COARSEN_UNUSED COARSEN_TYPE coarsen_a, COARSEN_UNUSED COARSEN_TYPE_B coarsen_b,
                 COARSEN_UNUSED COARSEN_TYPE_C coarsen_c)
        COARSEN_ALSO(COARSEN_UNUSED COARSEN_SCALAR coarsen_scalar))
{
    return COARSEN_CALL(COARSEN_MAP,
                        COARSEN_EACH(coarsen_a, coarsen_b, coarsen_c) COARSEN_ALSO(coarsen_scalar));
}

// What a kernel reads: the arrays, and the scalar if there is one.
typedef struct {
    const COARSEN_TYPE *a;
#if COARSEN_INPUTS >= 2
    const COARSEN_TYPE_B *b;
#endif
#if COARSEN_INPUTS >= 3
    const COARSEN_TYPE_C *c;
#endif
#ifdef COARSEN_SCALAR
    COARSEN_SCALAR scalar;
#endif
} COARSEN_(inputs);

COARSEN_DEVICE COARSEN_MAPPED COARSEN_(map_at)(COARSEN_(inputs) in, size_t i)
{
    return COARSEN_(apply)(COARSEN_EACH(in.a[i], in.b[i], in.c[i]) COARSEN_ALSO(in.scalar));
}

#ifndef __CUDACC_RTC__
COARSEN_HOST bool COARSEN_(inputs_ok)(COARSEN_(inputs) in, size_t n)
{
    return coarsen_array_ok(in.a, n)
#if COARSEN_INPUTS >= 2
           && coarsen_array_ok(in.b, n)
#endif
#if COARSEN_INPUTS >= 3
           && coarsen_array_ok(in.c, n)
#endif
        ;
}
#endif
#endif

// ---- Opening: a histogram's parameters ----------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM
#ifndef COARSEN_BIN
#define COARSEN_BIN(x) (x)
#endif
#ifndef COARSEN_COUNT
#define COARSEN_COUNT unsigned int
#endif
typedef COARSEN_COUNT COARSEN_(count);
#undef COARSEN_COUNT
#define COARSEN_COUNT COARSEN_(count)
#ifdef COARSEN_WEIGHT
#ifndef COARSEN_WEIGHTED
#error "coarsen: COARSEN_WEIGHT is for histogram.h: this rung counts each element once"
#endif
static_assert(sizeof(COARSEN_COUNT) == 4 || sizeof(COARSEN_COUNT) == 8,
              "coarsen: COARSEN_COUNT must be int, unsigned int, unsigned long long, float or "
              "double where there is a COARSEN_WEIGHT");
typedef COARSEN_COUNT COARSEN_MAY_ALIAS COARSEN_(counter); // what a block counts with

// What an element adds to its bin.
COARSEN_DEVICE COARSEN_COUNT COARSEN_(weight)(COARSEN_UNUSED COARSEN_TYPE coarsen_x)
{
    return (COARSEN_COUNT)(COARSEN_WEIGHT(coarsen_x));
}
#else
static_assert((COARSEN_COUNT)-1 > 0 && (COARSEN_COUNT)0.5 == 0 && sizeof(COARSEN_COUNT) >= 4,
              "coarsen: COARSEN_COUNT must be unsigned int or unsigned long long");
typedef unsigned int COARSEN_(counter);

COARSEN_DEVICE COARSEN_(counter) COARSEN_(weight)(COARSEN_UNUSED COARSEN_TYPE coarsen_x)
{
    return 1;
}
#endif

// The bin of an element; NUM_BINS or more if it is not counted, as a negative one becomes. One of 32 bits keeps them.
COARSEN_DEVICE unsigned long long COARSEN_(bin)(COARSEN_UNUSED COARSEN_TYPE coarsen_x)
{
    const unsigned long long coarsen_bin =
        (unsigned long long)((COARSEN_BIN(coarsen_x)) | 0); // COARSEN_BIN must give an integer
    return sizeof((COARSEN_BIN(coarsen_x)) | 0) <= 4 ? (unsigned int)coarsen_bin : coarsen_bin;
}
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM && !defined(__CUDACC_RTC__)
COARSEN_HOST bool COARSEN_(counts_ok)(const COARSEN_TYPE *in, const COARSEN_COUNT *counts, size_t n)
{
    return coarsen_bytes_ok(in, n, sizeof(*in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) &&
           coarsen_array_ok(counts, NUM_BINS);
}

// What launchers begin with: cudaErrorInvalidValue for wrong arguments, or all counts set to zero.
COARSEN_HOST cudaError_t COARSEN_(start)(const COARSEN_TYPE *in, COARSEN_COUNT *counts, size_t n,
                                         size_t blocks, cudaStream_t stream)
{
    if (!COARSEN_(counts_ok)(in, counts, n) || blocks > 0x7fffffff)
        return cudaErrorInvalidValue;
    return cudaMemsetAsync(counts, 0, NUM_BINS * sizeof(COARSEN_COUNT), stream);
}
#endif

// ---- Opening: an image's parameters ---------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_IMAGE
#ifdef COARSEN_RADIUS
#if !COARSEN_NUMBER(COARSEN_RADIUS) || COARSEN_RADIUS < 1 || COARSEN_RADIUS > 31
#error "coarsen: COARSEN_RADIUS must be from 1 to 31, an expression in ( )"
#endif
#ifndef COARSEN_CHANNELS
#define COARSEN_CHANNELS 1
#elif !COARSEN_NUMBER(COARSEN_CHANNELS) || COARSEN_CHANNELS < 1 || COARSEN_CHANNELS > 4
#error "coarsen: COARSEN_CHANNELS must be from 1 to 4"
#endif
#else
#ifdef COARSEN_CHANNELS
#error "coarsen: COARSEN_CHANNELS goes with COARSEN_RADIUS: gray takes three"
#endif
#if !defined(COARSEN_RED) && !defined(COARSEN_GREEN) && !defined(COARSEN_BLUE)
#define COARSEN_RED   19595
#define COARSEN_GREEN 38470
#define COARSEN_BLUE  7471
#elif !defined(COARSEN_RED) || !defined(COARSEN_GREEN) || !defined(COARSEN_BLUE)
#error "coarsen: COARSEN_RED, _GREEN and _BLUE go together: define all or none"
#endif
#if COARSEN_RED * 3 != (COARSEN_RED)*3 || COARSEN_GREEN * 3 != (COARSEN_GREEN)*3 ||                \
    COARSEN_BLUE * 3 != (COARSEN_BLUE)*3 || COARSEN_RED < 0 || COARSEN_GREEN < 0 ||                \
    COARSEN_BLUE < 0 || COARSEN_RED + COARSEN_GREEN + COARSEN_BLUE != 65536
#error "coarsen: COARSEN_RED, _GREEN and _BLUE must be numbers of 0 or more that add up to 65536"
#endif
// The weighted sum, rounded; the gray pixel is its third byte.
COARSEN_DEVICE unsigned int COARSEN_(pixel)(unsigned int red, unsigned int green, unsigned int blue)
{
    return COARSEN_RED * red + COARSEN_GREEN * green + COARSEN_BLUE * blue + 32768;
}
#endif

#ifndef __CUDACC_RTC__
// Whether in and out may hold height rows of width pixels, with so many samples per pixel. in_pitch, out_pitch: bytes
// from row to row.
COARSEN_HOST bool COARSEN_(images_ok)(const unsigned char *in, size_t in_pitch, size_t in_samples,
                                      const unsigned char *out, size_t out_pitch,
                                      size_t out_samples, size_t width, size_t height)
{
    const size_t most = in_samples > out_samples ? in_samples : out_samples;
    return width <= (size_t)-1 / most &&
           coarsen_rows_ok(in, in_pitch, height, width * in_samples, 1, 1) &&
           coarsen_rows_ok(out, out_pitch, height, width * out_samples, 1, 1);
}
#endif
#endif

// ---- Opening: a matrix product's parameters ---------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_MATMUL
// The type in which products are made and added up.
#ifndef COARSEN_ACC
#define COARSEN_ACC COARSEN_TYPE
#endif
typedef COARSEN_ACC COARSEN_(acc);
#undef COARSEN_ACC
#define COARSEN_ACC COARSEN_(acc)
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_MATMUL && !defined(__CUDACC_RTC__)
// Whether pointer may hold a row-major matrix whose rows begin ld elements apart, no two of which overlap.
COARSEN_HOST bool COARSEN_(matrix_ok)(const COARSEN_TYPE *pointer, size_t rows, size_t cols,
                                      size_t ld)
{
    if (rows == 0 || cols == 0)
        return true;
    return cols <= ld && (rows - 1) <= ((size_t)-1 - cols) / ld &&
           coarsen_array_ok(pointer, (rows - 1) * ld + cols);
}

// Whether pointer may hold as many matrices, each so many elements further than the one before.
COARSEN_HOST bool COARSEN_(matrices_ok)(const COARSEN_TYPE *pointer, size_t count, size_t step,
                                        size_t rows, size_t cols, size_t ld)
{
    if (rows == 0 || cols == 0)
        return true;
    if (!COARSEN_(matrix_ok)(pointer, rows, cols, ld))
        return false;
    const size_t one = (rows - 1) * ld + cols;
    return (step == 0 || count - 1 <= ((size_t)-1 - one) / step) &&
           coarsen_array_ok(pointer, (count - 1) * step + one);
}

// What launchers begin with: cudaErrorInvalidValue for wrong arguments, or as many blocks as there are
// tiles of P, of height x width each.
COARSEN_HOST cudaError_t COARSEN_(count_tiles)(size_t *blocks, size_t height, size_t width,
                                               size_t rows, size_t cols, size_t inner,
                                               const COARSEN_TYPE *m, size_t ldm,
                                               const COARSEN_TYPE *n, size_t ldn,
                                               const COARSEN_TYPE *p, size_t ldp)
{
    const size_t tile_rows = coarsen_ceil_div(rows, height);
    const size_t tile_cols = coarsen_ceil_div(cols, width);
#ifdef COARSEN_M_TRANSPOSED
    const bool m_ok = COARSEN_(matrix_ok)(m, inner, rows, ldm);
#else
    const bool m_ok = COARSEN_(matrix_ok)(m, rows, inner, ldm);
#endif
#ifdef COARSEN_N_TRANSPOSED
    const bool n_ok = COARSEN_(matrix_ok)(n, cols, inner, ldn);
#else
    const bool n_ok = COARSEN_(matrix_ok)(n, inner, cols, ldn);
#endif
    if (!COARSEN_(matrix_ok)(p, rows, cols, ldp) || (cols > 0 && !m_ok) || (rows > 0 && !n_ok) ||
        (cols > 0 && tile_rows > 0x7fffffff / tile_cols))
        return cudaErrorInvalidValue;
    *blocks = tile_rows * tile_cols;
    return cudaSuccess;
}
#endif

// ---- Opening: values beside keys ----------------------------------------------------------------------

#if COARSEN_PATTERN >= COARSEN_PATTERN_MERGE && COARSEN_PATTERN <= COARSEN_PATTERN_MERGESORT
#ifdef COARSEN_VALUE
typedef COARSEN_VALUE COARSEN_(value);
#undef COARSEN_VALUE
#define COARSEN_VALUE      COARSEN_(value)
#define COARSEN_ALSO(item) , item
#else
#define COARSEN_ALSO(item)
#endif
#endif

// ---- Opening: an order of keys; the arrays of a merge ------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_MERGE || COARSEN_PATTERN == COARSEN_PATTERN_MERGESORT
#if COARSEN_PATTERN == COARSEN_PATTERN_MERGESORT && defined(COARSEN_DESCENDING)
#error "coarsen: a merge sort takes COARSEN_LESS(a, b), as ((a) > (b)), not COARSEN_DESCENDING"
#endif
#ifndef COARSEN_LESS
#define COARSEN_LESS(a, b) ((a) < (b))
#endif
COARSEN_DEVICE bool COARSEN_(less)(COARSEN_UNUSED COARSEN_TYPE coarsen_a,
                                   COARSEN_UNUSED COARSEN_TYPE coarsen_b)
{
    return COARSEN_LESS(coarsen_a, coarsen_b);
}
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_MERGE
typedef struct {
    const COARSEN_TYPE *a;
    size_t m; // elements of a
    const COARSEN_TYPE *b;
    size_t n; // elements of b
    COARSEN_TYPE *out;
#ifdef COARSEN_VALUE
    const COARSEN_VALUE *a_values, *b_values;
    COARSEN_VALUE *out_values;
#endif
} COARSEN_(arrays);

#ifndef __CUDACC_RTC__
COARSEN_HOST bool COARSEN_(arrays_ok)(COARSEN_(arrays) arrays)
{
    const size_t bytes = sizeof(COARSEN_TYPE), alignment = COARSEN_ITEM_ALIGN(COARSEN_TYPE);
    return arrays.m <= (size_t)-1 - arrays.n &&
           coarsen_bytes_ok(arrays.a, arrays.m, bytes, alignment) &&
           coarsen_bytes_ok(arrays.b, arrays.n, bytes, alignment) &&
           coarsen_bytes_ok(arrays.out, arrays.m + arrays.n, bytes, alignment)
#ifdef COARSEN_VALUE
           && coarsen_array_ok(arrays.a_values, arrays.m) &&
           coarsen_array_ok(arrays.b_values, arrays.n) &&
           coarsen_array_ok(arrays.out_values, arrays.m + arrays.n)
#endif
        ;
}
#endif
#endif

// ---- Opening: a sort's parameters --------------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_SORT
#ifdef COARSEN_LESS
#error "coarsen: a radix sort takes the order of numbers, or COARSEN_DESCENDING, not COARSEN_LESS"
#endif
#ifndef COARSEN_DESCENDING
#define COARSEN_DESCENDING 0
#elif COARSEN_DESCENDING != 0 && COARSEN_DESCENDING != 1
#error "coarsen: COARSEN_DESCENDING must be 0 or 1"
#endif
static_assert(
    sizeof(COARSEN_TYPE) <= 8 && !(__is_class(COARSEN_TYPE) && sizeof(COARSEN_TYPE) != 2),
    "coarsen: a radix sort takes keys of at most 8 bytes: integers, or half, float, double");

// A bool is not 0 there either; a class is a half, of which the compiler would not know it.
COARSEN_DEVICE bool COARSEN_(is_floating)(void)
{
    return sizeof(COARSEN_TYPE) > 1 &&
           (__is_class(COARSEN_TYPE) || (COARSEN_TYPE)0.5 != (COARSEN_TYPE)0);
}

// Of a floating-point type, how many positive NaN there are.
COARSEN_DEVICE unsigned long long COARSEN_(count_of_nan)(void)
{
    double above = COARSEN_INFINITY; // not const: of one that fits no integer, nvcc warns
    const COARSEN_TYPE infinity = (COARSEN_TYPE)above;
    unsigned long long infinite = 0;
    memcpy(&infinite, (const void *)&infinity, sizeof(infinity));
    return (1ULL << (8 * sizeof(COARSEN_TYPE) - 1)) - 1 - infinite;
}

// A key as an unsigned number, which is less if the key comes first. Of floating-point numbers -0 is before +0,
// and NaN behind all others, the negative ones last.
COARSEN_DEVICE unsigned long long COARSEN_(bits)(COARSEN_TYPE key)
{
    const unsigned int width = 8 * sizeof(key);
    const unsigned long long all = ~0ULL >> (64 - width), sign = 1ULL << (width - 1);
    unsigned long long bits = 0;
    memcpy(&bits, (const void *)&key, sizeof(key));
    if (COARSEN_(is_floating)()) {
        bits = bits & sign ? ~bits : bits | sign;
        // -infinity is 0, and negative NaN wrap around
        bits = (bits - COARSEN_(count_of_nan)()) & all;
    } else if ((COARSEN_TYPE)-1 < (COARSEN_TYPE)0) {
        bits ^= sign;
    }
    return COARSEN_DESCENDING ? bits ^ all : bits;
}

// A key behind which no other comes. Of its bits all are 1, except of a bool, of which it is one of the two.
COARSEN_DEVICE COARSEN_TYPE COARSEN_(last_key)(void)
{
    const unsigned int width = 8 * sizeof(COARSEN_TYPE);
    const unsigned long long all = ~0ULL >> (64 - width), sign = 1ULL << (width - 1);
    unsigned long long bits = COARSEN_DESCENDING ? 0 : all;
    if (COARSEN_(is_floating)()) {
        bits = (bits + COARSEN_(count_of_nan)()) & all;
        bits = bits & sign ? bits ^ sign : ~bits;
    } else if ((COARSEN_TYPE)-1 < (COARSEN_TYPE)0) {
        bits ^= sign;
    } else if ((COARSEN_TYPE)2.0 == (COARSEN_TYPE)1.0) {
        bits = 1 - COARSEN_DESCENDING;
    }
    COARSEN_TYPE key;
    memcpy((void *)&key, &bits, sizeof(key));
    return key;
}
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_SORT || COARSEN_PATTERN == COARSEN_PATTERN_MERGESORT
static_assert(alignof(COARSEN_TYPE) <= 16,
              "coarsen: keys must have an alignment of 16 bytes or less, as the scratch has");
#ifdef COARSEN_VALUE
static_assert(alignof(COARSEN_VALUE) <= 16,
              "coarsen: values must have an alignment of 16 bytes or less, as the scratch has");
#endif
typedef struct {
    const COARSEN_TYPE *in;
    COARSEN_TYPE *out;
#ifdef COARSEN_VALUE
    const COARSEN_VALUE *in_values;
    COARSEN_VALUE *out_values;
#endif
} COARSEN_(arrays);

#ifndef __CUDACC_RTC__
COARSEN_HOST bool COARSEN_(arrays_ok)(COARSEN_(arrays) arrays, size_t n)
{
    return coarsen_bytes_ok(arrays.in, n, sizeof(*arrays.in), COARSEN_ITEM_ALIGN(COARSEN_TYPE)) &&
#ifdef COARSEN_VALUE
           coarsen_array_ok(arrays.in_values, n) && coarsen_array_ok(arrays.out_values, n) &&
#endif
           coarsen_bytes_ok(arrays.out, n, sizeof(*arrays.out), COARSEN_ITEM_ALIGN(COARSEN_TYPE));
}

// Of the spare arrays, which are part of the scratch: keys, and at a multiple of 16 bytes values. Or of the keys alone.
COARSEN_HOST size_t COARSEN_(spare_bytes)(size_t n, COARSEN_UNUSED bool values)
{
    if (n > (size_t)-1 >> 16)
        return (size_t)-1 >> 1; // no such array, so no such scratch
    size_t bytes = coarsen_ceil_div(n * sizeof(COARSEN_TYPE), 16) * 16;
#ifdef COARSEN_VALUE
    bytes += values ? n * sizeof(COARSEN_VALUE) : 0;
#endif
    return bytes;
}

// Whether an array is sorted in place.
COARSEN_HOST bool COARSEN_(in_place)(COARSEN_(arrays) arrays)
{
#ifdef COARSEN_VALUE
    if (arrays.in_values == arrays.out_values)
        return true;
#endif
    return arrays.in == arrays.out;
}

// What pass p of so many reads and writes. The last one writes out, and so every second one before it; the others
// write the spare arrays. In place, the first of an odd number reads the spare arrays too.
COARSEN_HOST COARSEN_(arrays) COARSEN_(arrays_of)(COARSEN_(arrays) arrays, void *spare, size_t n,
                                                  unsigned int p, unsigned int passes)
{
    const bool ends = (passes - p) % 2 == 1, copied = ends && COARSEN_(in_place)(arrays);
    COARSEN_(arrays) pass = arrays;
    pass.out = ends ? arrays.out : (COARSEN_TYPE *)spare;
    if (p > 0 || copied)
        pass.in = ends ? (COARSEN_TYPE *)spare : arrays.out;
#ifdef COARSEN_VALUE
    COARSEN_VALUE *const values =
        (COARSEN_VALUE *)((char *)spare + COARSEN_(spare_bytes)(n, false));
    pass.out_values = ends ? arrays.out_values : values;
    if (p > 0 || copied)
        pass.in_values = ends ? values : arrays.out_values;
#else
    (void)n;
#endif
    return pass;
}
#endif
#endif

#if (COARSEN_PATTERN == COARSEN_PATTERN_SORT || COARSEN_PATTERN == COARSEN_PATTERN_MERGESORT) &&   \
    !defined(__CUDACC_RTC__)
COARSEN_HOST cudaError_t
COARSEN_(copy)(const COARSEN_TYPE *in,
               COARSEN_TYPE *out COARSEN_ALSO(const COARSEN_VALUE *in_values)
                   COARSEN_ALSO(COARSEN_VALUE *out_values),
               size_t n, cudaStream_t stream)
{
    cudaError_t status =
        in == out ? cudaSuccess
                  : cudaMemcpyAsync(out, in, n * sizeof(*in), cudaMemcpyDeviceToDevice, stream);
#ifdef COARSEN_VALUE
    if (status == cudaSuccess && in_values != out_values)
        status = cudaMemcpyAsync(out_values, in_values, n * sizeof(*in_values),
                                 cudaMemcpyDeviceToDevice, stream);
#endif
    return status;
}

// Before the first pass: in place, an odd number of passes begins with a copy.
COARSEN_HOST cudaError_t COARSEN_(begin)(COARSEN_(arrays) arrays, void *spare, size_t n,
                                         unsigned int passes, cudaStream_t stream)
{
    if (!COARSEN_(in_place)(arrays) || passes % 2 == 0)
        return cudaSuccess;
    const COARSEN_(arrays) first = COARSEN_(arrays_of)(arrays, spare, n, 0, passes);
    return COARSEN_(copy)(arrays.in,
                          (COARSEN_TYPE *)first.in COARSEN_ALSO(arrays.in_values)
                              COARSEN_ALSO((COARSEN_VALUE *)first.in_values),
                          n, stream);
}
#endif

// ---- Opening: a stencil's parameters -------------------------------------------------------------------

#if COARSEN_PATTERN == COARSEN_PATTERN_STENCIL
#ifndef COARSEN_ORDER
#define COARSEN_ORDER 1
#elif !COARSEN_NUMBER(COARSEN_ORDER) || COARSEN_ORDER < 1 || COARSEN_ORDER > 4
#error "coarsen: COARSEN_ORDER must be from 1 to 4"
#endif
#if !defined(COARSEN_STENCIL) && !defined(COARSEN_COEFFICIENTS)
#error "coarsen: define COARSEN_COEFFICIENTS, or COARSEN_STENCIL, an expression, before the include"
#elif defined(COARSEN_STENCIL) && defined(COARSEN_COEFFICIENTS)
#error "coarsen: COARSEN_STENCIL and COARSEN_COEFFICIENTS both say what a cell becomes: define one"
#endif
#ifndef COARSEN_BOUNDARY
#define COARSEN_BOUNDARY COARSEN_COPIED
#elif COARSEN_BOUNDARY < COARSEN_COPIED || COARSEN_BOUNDARY > COARSEN_PERIODIC
#error "coarsen: COARSEN_BOUNDARY must be COARSEN_COPIED, COARSEN_CLAMPED or COARSEN_PERIODIC"
#endif
#define COARSEN_SPAN (2 * COARSEN_ORDER + 1) // cells along an axis that a result needs

typedef struct {
    size_t nx, ny, nz;         // cells along x, y and z
    size_t pitch, slice_pitch; // elements from a row to the next, and from a slice to the next
} COARSEN_(extent);

typedef struct {
    size_t left, top, first_z;
} COARSEN_(corner);

// What a cell becomes. x[d] is the cell d further along x, and so are y[d] and z[d]; x[0], y[0] and z[0] are the cell.
COARSEN_DEVICE COARSEN_TYPE COARSEN_(cell)(const COARSEN_TYPE *coarsen_x,
                                           const COARSEN_TYPE *coarsen_y,
                                           const COARSEN_TYPE *coarsen_z)
{
#ifdef COARSEN_STENCIL
    return COARSEN_STENCIL(coarsen_x, coarsen_y, coarsen_z);
#else
    const COARSEN_TYPE coarsen_weights[] = {COARSEN_COEFFICIENTS};
    static_assert(sizeof(coarsen_weights) / sizeof(*coarsen_weights) == COARSEN_ORDER + 1,
                  "coarsen: COARSEN_COEFFICIENTS must be COARSEN_ORDER + 1 numbers: of the cell, "
                  "and of those at distance 1, 2, ...");
    COARSEN_TYPE sum = coarsen_weights[0] * coarsen_x[0];
#pragma unroll
    for (int d = 1; d <= COARSEN_ORDER; d++)
        sum += coarsen_weights[d] *
               (((coarsen_x[-d] + coarsen_x[d]) + (coarsen_y[-d] + coarsen_y[d])) +
                (coarsen_z[-d] + coarsen_z[d]));
    return sum;
#endif
}

// The cell at a place along an axis of n cells, or, less than a stencil's order beyond its edges, the cell that stands
// for it.
COARSEN_DEVICE size_t COARSEN_(place)(long long place, size_t n)
{
#if COARSEN_BOUNDARY == COARSEN_PERIODIC
    while (place < 0)
        place += (long long)n;
    while (place >= (long long)n)
        place -= (long long)n;
    return (size_t)place;
#else
    return place < 0 ? 0 : coarsen_min((size_t)place, n - 1);
#endif
}

// How far from a place along an axis of n cells the neighbour at distance d is, or the cell that stands for it. Not for
// places whose cells keep their values.
COARSEN_DEVICE long long COARSEN_(reach)(COARSEN_UNUSED size_t place, int d, size_t n)
{
#if COARSEN_BOUNDARY == COARSEN_COPIED
    return n > 1 ? d : 0; // what is not near an edge has all its neighbours
#else
    return (long long)COARSEN_(place)((long long)place + d, n) - (long long)place;
#endif
}

// The first cell of the block's tile. Tiles are numbered along x, then y, then z. There are fewer than 2^31, so 32 bits
// do: a division of 64 bits takes a hundred instructions.
COARSEN_DEVICE COARSEN_(corner) COARSEN_(find_corner)(COARSEN_(extent) extent, unsigned int width,
                                                      unsigned int height, size_t depth)
{
    const unsigned int tiles_x = (unsigned int)coarsen_ceil_div(extent.nx, width);
    const unsigned int tiles_y = (unsigned int)coarsen_ceil_div(extent.ny, height);
    COARSEN_(corner) corner;
    corner.left = blockIdx.x % tiles_x * (size_t)width;
    corner.top = blockIdx.x / tiles_x % tiles_y * (size_t)height;
    corner.first_z = blockIdx.x / tiles_x / tiles_y * depth;
    return corner;
}

// The same in a grid of three dimensions, which takes no division. first: the first cell of its first tile.
COARSEN_DEVICE COARSEN_(corner)
    COARSEN_(tile_corner)(COARSEN_(corner) first, unsigned int width, unsigned int depth)
{
    COARSEN_(corner) corner;
    corner.left = first.left + blockIdx.x * (size_t)width;
    corner.top = first.top + blockIdx.y * (size_t)width;
    corner.first_z = first.first_z + blockIdx.z * (size_t)depth;
    return corner;
}

// Whether place, of n along an axis, has too few others beyond it, so that the cell keeps its value. An axis of one
// cell has no edges.
COARSEN_DEVICE bool COARSEN_(near_edge)(size_t place, size_t n)
{
    return COARSEN_BOUNDARY == COARSEN_COPIED && n > 1 &&
           (place < COARSEN_ORDER || place + COARSEN_ORDER >= n);
}

// Of the slices that a block makes, one after the other: how many there are, and from which one to before which other
// they are not near an edge.
typedef struct {
    unsigned int made, inner, outer;
} COARSEN_(walk_z);

COARSEN_DEVICE COARSEN_(walk_z) COARSEN_(find_walk)(size_t first_z, size_t nz, unsigned int most)
{
    const size_t rest = nz - first_z;
    COARSEN_(walk_z) walk;
    walk.made = (unsigned int)coarsen_min(rest, most);
    walk.inner = 0;
    walk.outer = walk.made;
    if (COARSEN_BOUNDARY == COARSEN_COPIED && nz > 1) {
        walk.inner = COARSEN_ORDER - (unsigned int)coarsen_min(first_z, COARSEN_ORDER);
        walk.outer = (unsigned int)coarsen_min(rest - coarsen_min(rest, COARSEN_ORDER), most);
    }
    return walk;
}

#ifndef __CUDACC_RTC__
// What launchers begin with: cudaErrorInvalidValue for wrong arguments, or as many blocks as there are tiles of so many
// cells along x, y and z.
COARSEN_HOST cudaError_t COARSEN_(count_tiles)(size_t *blocks, const COARSEN_TYPE *in,
                                               const COARSEN_TYPE *out, COARSEN_(extent) extent,
                                               size_t x, size_t y, size_t z)
{
    const size_t bytes = sizeof(*in), alignment = alignof(decltype(*in));
    *blocks = 0;
    if (extent.nx == 0 || extent.ny == 0 || extent.nz == 0)
        return cudaSuccess;
    const size_t slice = (extent.ny - 1) * extent.pitch + extent.nx;
    const size_t tiles_x = coarsen_ceil_div(extent.nx, x), tiles_y = coarsen_ceil_div(extent.ny, y);
    const size_t tiles_z = coarsen_ceil_div(extent.nz, z), most = 0x7fffffff;
    if (!coarsen_rows_ok(in, extent.pitch, extent.ny, extent.nx, bytes, alignment) ||
        !coarsen_rows_ok(in, extent.slice_pitch, extent.nz, slice, bytes, alignment) ||
        !coarsen_rows_ok(out, extent.slice_pitch, extent.nz, slice, bytes, alignment) ||
        tiles_x > most || tiles_y > most / tiles_x || tiles_z > most / (tiles_x * tiles_y))
        return cudaErrorInvalidValue;
    *blocks = tiles_x * tiles_y * tiles_z;
    return cudaSuccess;
}

// Launches a kernel, a block of so many threads per tile of width x width x depth cells; or more than once, where there
// are more tiles along y or z than a grid has blocks.
COARSEN_HOST cudaError_t COARSEN_(launch_tiles)(void (*kernel)(const COARSEN_TYPE *, COARSEN_TYPE *,
                                                               COARSEN_(extent), COARSEN_(corner)),
                                                const COARSEN_TYPE *in, COARSEN_TYPE *out,
                                                COARSEN_(extent) extent, size_t width, size_t depth,
                                                dim3 threads, cudaStream_t stream)
{
    size_t blocks = 0;
    cudaError_t status = COARSEN_(count_tiles)(&blocks, in, out, extent, width, width, depth);
    if (status != cudaSuccess || blocks == 0)
        return status;
    cudaLaunchConfig_t config =
        coarsen_launch_config(coarsen_ceil_div(extent.nx, width), 1, 0, stream);
    config.blockDim = threads;
    const size_t most = 65535;
    COARSEN_(corner) first = {0, 0, 0};
    for (; first.first_z < extent.nz; first.first_z += most * depth)
        for (first.top = 0; first.top < extent.ny && status == cudaSuccess;
             first.top += most * width) {
            const size_t rows = coarsen_ceil_div(extent.ny - first.top, width);
            const size_t slices = coarsen_ceil_div(extent.nz - first.first_z, depth);
            config.gridDim.y = (unsigned int)coarsen_min(rows, most);
            config.gridDim.z = (unsigned int)coarsen_min(slices, most);
            status = cudaLaunchKernelEx(&config, kernel, in, out, extent, first);
        }
    return status;
}

// Whether each row begins at a multiple of 16 bytes, and has as many.
COARSEN_HOST bool COARSEN_(aligned)(const COARSEN_TYPE *in, const COARSEN_TYPE *out,
                                    COARSEN_(extent) extent)
{
    const size_t steps = (extent.nx | extent.pitch | extent.slice_pitch) * sizeof(*in);
    return ((size_t)in | (size_t)out | steps) % 16 == 0;
}

// How many slices a block should take that walks through one of so many columns. It begins with slices that give no
// results. If the cache holds what all blocks that take `few` slices move, the block below left these there; if not,
// they should be a small part of `many`. In a small array there should be a block for each place on the device, `resident` per
// multiprocessor.
COARSEN_HOST cudaError_t COARSEN_(choose_depth)(size_t *depth, int resident,
                                                COARSEN_(extent) extent, size_t columns, size_t few,
                                                size_t many)
{
    cudaError_t status;
    const size_t processors = coarsen_attribute(cudaDevAttrMultiProcessorCount, &status);
    const size_t cache_bytes =
        status == cudaSuccess ? coarsen_attribute(cudaDevAttrL2CacheSize, &status) : 0;
    if (status != cudaSuccess)
        return status;
    const size_t places = processors * (size_t)(resident + !resident);
    const size_t slice_bytes = extent.nx * extent.ny * sizeof(COARSEN_TYPE);
    const size_t most = slice_bytes <= cache_bytes / 2 / few ? few : many;
    *depth = coarsen_min(columns * extent.nz / places + 1, most);
    return cudaSuccess;
}
#endif
#endif

#endif // the outermost inclusion
#undef COARSEN_BEGIN
#endif

// ================ Closing ========================================================================

#ifdef COARSEN_END
#if COARSEN_DEPTH == 7
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 6
#elif COARSEN_DEPTH == 6
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 5
#elif COARSEN_DEPTH == 5
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 4
#elif COARSEN_DEPTH == 4
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 3
#elif COARSEN_DEPTH == 3
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 2
#elif COARSEN_DEPTH == 2
#undef COARSEN_DEPTH
#define COARSEN_DEPTH 1
#else
#undef COARSEN_DEPTH

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE
#undef COARSEN_ARGMIN
#undef COARSEN_ARGMAX
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_TYPE
#undef COARSEN_INDEX
#endif
#undef COARSEN_
#undef COARSEN_NAME
#undef COARSEN_LINKAGE
#if COARSEN_PATTERN != COARSEN_PATTERN_BLOCK && COARSEN_PATTERN != COARSEN_PATTERN_IMAGE
#undef COARSEN_TYPE
#endif
#if COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN != COARSEN_PATTERN_MATMUL
#undef BLOCK_DIM
#undef COARSEN_BLOCK_DIM
#endif
#if COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN != COARSEN_PATTERN_HISTOGRAM
#undef COARSE_FACTOR
#undef COARSEN_COARSE_FACTOR
#endif
#if COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN <= COARSEN_PATTERN_FUSE
#undef COARSEN_ACC
#undef COARSEN_OP
#undef COARSEN_IDENTITY
#undef COARSEN_OF_VALUE
#endif
#if COARSEN_PATTERN >= COARSEN_PATTERN_REDUCE && COARSEN_PATTERN <= COARSEN_PATTERN_SELECT
#undef COARSEN_LIFT
#undef COARSEN_LIFTED
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE || COARSEN_PATTERN == COARSEN_PATTERN_MAP ||         \
    COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM
#undef COARSEN_COUNTED
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE || COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM
#undef COARSEN_VIEW
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE || COARSEN_PATTERN == COARSEN_PATTERN_FUSE
#undef COARSEN_FIXED_TREE
#undef COARSEN_TREE_THREADS
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_REDUCE
#undef COARSEN_ATOMIC
#elif COARSEN_PATTERN == COARSEN_PATTERN_SCAN
#undef COARSEN_EXCLUSIVE
#elif COARSEN_PATTERN == COARSEN_PATTERN_SEGSCAN
#undef COARSEN_EXCLUSIVE
#undef COARSEN_FLAG
#undef COARSEN_OFFSET
#elif COARSEN_PATTERN == COARSEN_PATTERN_RUNS
#undef COARSEN_KEY
#undef COARSEN_SAME
#elif COARSEN_PATTERN == COARSEN_PATTERN_SEGMENTED
#undef COARSEN_AXIS
#undef COARSEN_OFFSET
#undef COARSEN_FEW_TILES
#undef COARSEN_COMMUTES
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_MAP || COARSEN_PATTERN == COARSEN_PATTERN_FUSE
#undef COARSEN_MAP
#undef COARSEN_INPUTS
#undef COARSEN_TYPE_B
#undef COARSEN_TYPE_C
#undef COARSEN_MAPPED
#undef COARSEN_EACH
#undef COARSEN_ARRAYS
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_SELECT || COARSEN_PATTERN == COARSEN_PATTERN_MAP ||         \
    COARSEN_PATTERN == COARSEN_PATTERN_FUSE
#undef COARSEN_SCALAR
#undef COARSEN_ALSO
#endif
#if COARSEN_PATTERN >= COARSEN_PATTERN_MERGE && COARSEN_PATTERN <= COARSEN_PATTERN_MERGESORT
#undef COARSEN_LESS
#undef COARSEN_VALUE
#undef COARSEN_ALSO
#endif
#if COARSEN_PATTERN == COARSEN_PATTERN_SELECT
#undef COARSEN_IF
#undef COARSEN_SAME
#undef COARSEN_PARTITION
#undef COARSEN_OUT
#elif COARSEN_PATTERN == COARSEN_PATTERN_MAP
#undef COARSEN_OUT
#elif COARSEN_PATTERN == COARSEN_PATTERN_HISTOGRAM
#undef NUM_BINS
#undef CFACTOR
#undef COARSEN_NUM_BINS
#undef COARSEN_CFACTOR
#undef COARSEN_BIN
#undef COARSEN_COUNT
#undef COARSEN_WEIGHT
#undef COARSEN_WEIGHTED
#elif COARSEN_PATTERN == COARSEN_PATTERN_IMAGE
#undef COARSEN_RADIUS
#undef COARSEN_CHANNELS
#undef COARSEN_RED
#undef COARSEN_GREEN
#undef COARSEN_BLUE
#elif COARSEN_PATTERN == COARSEN_PATTERN_MATMUL
#undef TILE_WIDTH
#undef BM
#undef BN
#undef BK
#undef TM
#undef TN
#undef COARSEN_TILE_WIDTH
#undef COARSEN_BM
#undef COARSEN_BN
#undef COARSEN_BK
#undef COARSEN_TM
#undef COARSEN_TN
#undef COARSEN_SLICES
#undef COARSEN_STAGES
#undef COARSEN_M_TRANSPOSED
#undef COARSEN_N_TRANSPOSED
#undef COARSEN_ACC
#elif COARSEN_PATTERN == COARSEN_PATTERN_SORT
#undef COARSEN_DESCENDING
#undef COARSEN_OFFSET
#undef COARSEN_FEW_WAVES
#undef COARSEN_INDEX
#undef COARSEN_PART
#elif COARSEN_PATTERN == COARSEN_PATTERN_STENCIL
#undef TILE_WIDTH
#undef COARSEN_TILE_WIDTH
#undef COARSEN_ORDER
#undef COARSEN_STENCIL
#undef COARSEN_COEFFICIENTS
#undef COARSEN_BOUNDARY
#undef COARSEN_THREAD_ROWS
#undef COARSEN_STEPS
#undef COARSEN_SPAN
#endif

#undef coarsen_ceil_div
#undef coarsen_min
#undef coarsen_launch_config
#undef coarsen_attribute
#undef coarsen_let_share
#undef coarsen_bytes_ok
#undef coarsen_rows_ok
#undef coarsen_array_ok
#undef COARSEN_MADE_REDUCE // block/'s headers
#undef COARSEN_MADE_SCAN
#undef COARSEN_MADE_SLOTS
#undef COARSEN_MADE_TICKET
#undef COARSEN_MADE_MEETING
#undef COARSEN_MEETING
#undef COARSEN_MADE_OVERLAP
#undef COARSEN_MADE_LOOK_BACK
#undef COARSEN_MADE_SORT
#undef COARSEN_RADIX
#undef COARSEN_MADE_RANK
#undef COARSEN_RANKERS
#undef COARSEN_HELD
#undef COARSEN_WARPS
#undef COARSEN_WORKERS
#undef COARSEN_MADE_COPY
#undef COARSEN_MADE_TENSOR
#undef COARSEN_MADE_TENSOR16
#undef COARSEN_MADE_WARPGROUP
#undef COARSEN_MADE_BOX
#undef COARSEN_HAS_ENGINE
#undef COARSEN_ENGINE_HOST
#undef COARSEN_GRID_CONSTANT
#undef COARSEN_MAP_ALIGN
#undef COARSEN_MADE_SHIFT
#undef COARSEN_MADE_VECTOR
#undef COARSEN_MADE_VIEW
#undef COARSEN_MADE_MERGE
#undef COARSEN_WITH_WORK // matmul/launch.h
#undef COARSEN_WITH_ADD
#undef COARSEN_WITH_PRODUCTS // matmul/whole.h
#undef COARSEN_PIECE
#undef COARSEN_ITEMS
#undef COARSEN_ALIGN
#undef COARSEN_WRITTEN
#undef COARSEN_FEWER
#undef COARSEN_PATTERN
#endif
#undef COARSEN_END
#endif

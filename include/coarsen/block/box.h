// SPDX-License-Identifier: MIT
//
// coarsen/block/box.h: boxes of a matrix of 16-bit elements, which the device's copy engine brings to shared memory; and
// gates, at which threads wait for such copies and for each other.
//
//     #define COARSEN_NAME tile
//     #include <coarsen/block/box.h>
//
//     // on the host
//     //     tile_map map;
//     //     status = tile_describe(&map, false, 64, in, 1000, 500, 1000, 1, 0);
//     // in a kernel, whose parameter the map is: const __grid_constant__ tile_map map
//     //     if (threadIdx.x == 0)
//     //         tile_open(&gate, 1);
//     //     tile_opened();
//     //     if (threadIdx.x == 0) {
//     //         tile_expect(&gate, tile_box_bytes);
//     //         tile_copy_box(box, &map, 64, 128, 0, &gate, 0);
//     //     }
//     //     tile_wait(&gate, 0);    // the first time with 0, then 1, 0, 1 ...
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// Defines
//     NAME_map              what describes an array of matrices to the engine: it must be a kernel's parameter
//     NAME_gate             in shared memory
//     NAME_box_bytes        of shared memory that a box takes
//     bool NAME_has_engine(cudaError_t *status)    whether the code that this device runs uses its engine; host
//     cudaError_t NAME_describe(NAME_map *map, bool bfloat, unsigned int high, const void *first, size_t length,
//                               size_t lines, size_t ld, size_t count, size_t step)
//                                                `count` matrices of `lines` lines of `length` elements, and boxes of
//                                                `high` lines, 8 to 256; host
//     unsigned int NAME_rank(void), NAME_ranks(void)    which block of its cluster this one is, and of how many
//     bool NAME_elected(void)                    in one lane, the same each time, of a warp all of whose lanes call: the
//                                                compiler then needs no loop over lanes to begin a copy
//     void NAME_meet(void)                       waits until all threads of the cluster have come here
//     void NAME_store_to(float4 *at, float4 x, unsigned int rank)   to that place in the shared memory of that block
//     void NAME_open(NAME_gate *gate, unsigned int arrivals)    one thread, before all use it, and NAME_opened() of all
//     void NAME_opened(void)
//     void NAME_expect(NAME_gate *gate, unsigned int bytes)     arrives; it opens when as many bytes have come, too
//     void NAME_arrive(NAME_gate *gate, unsigned int rank)      at the same gate of that block of the cluster
//     void NAME_wait(NAME_gate *gate, unsigned int turn)        until it has opened 1, 3, 5 ... times, if turn is 0
//     void NAME_publish(void)                    what this thread wrote to shared memory is seen by tensor cores then
//     void NAME_prefetch_map(const NAME_map *map)    brings it near; one thread
//     void NAME_copy_box(void *to, const NAME_map *map, unsigned int x, unsigned int y, unsigned int z, NAME_gate *gate,
//                        unsigned int ranks)
//                                                one thread starts to copy the box of matrix z that begins with element
//                                                x of line y. ranks: to these blocks of the cluster, a bit each, to
//                                                the same place and gate; or 0: to this one
//     void NAME_put_box(const NAME_map *map, unsigned int x, unsigned int y, unsigned int z, const void *from)
//                                                one thread starts to copy a box back, but for what lies outside of the
//                                                matrix. Those who wrote it have called NAME_publish
//     void NAME_puts_wait(bool one)              until all that it put was read from shared memory, or all but the last
// A box has 64 elements of each of 64 lines, or of as many as the map says, with zeros for what lies outside of the matrix.
// Line l has 128 bytes at 128 l, in pieces of 16 bytes: piece c is at the place of piece c ^ l % 8, so that neither lines nor
// pieces are all in the same banks. A box begins at a multiple of 1024 bytes of shared memory. It is put back in whole pieces:
// of lines whose length is no multiple of 8 also what lies behind them.
// The engine needs code for compute capability 9.0 with its own features: -gencode arch=compute_90a,code=sm_90a. Elsewhere
// NAME_has_engine says no, NAME_describe returns cudaErrorNotSupported, nothing may be copied, and a cluster is a block. So it
// is with clang, and on the host before CUDA 12.5. Matrices must begin at multiples of 16
// bytes, and ld and step be multiples of 8; length and lines less than 2^31.
// Source: PTX ISA, cp.async.bulk.tensor and mbarrier; the CUDA driver API, Tensor Map Object Management.

#define COARSEN_BEGIN COARSEN_PATTERN_BLOCK
#include "../base.h"

#ifndef COARSEN_GRID_CONSTANT
#if defined(__NVCC__) || defined(__CUDACC_RTC__) // clang does not say so
#define COARSEN_GRID_CONSTANT __grid_constant__
#define COARSEN_MAP_ALIGN     64 // bytes, as the engine wants it
#else
#define COARSEN_GRID_CONSTANT
#define COARSEN_MAP_ALIGN 16
#endif
#endif

#ifndef COARSEN_MADE_BOX
#define COARSEN_MADE_BOX

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && (defined(__NVCC__) || defined(__CUDACC_RTC__))
#define COARSEN_HAS_ENGINE 1
#else
#define COARSEN_HAS_ENGINE 0
#endif

// Whether the runtime finds the driver's function that describes a matrix.
#if defined(__NVCC__) && CUDART_VERSION >= 12050
#define COARSEN_ENGINE_HOST 1
#else
#define COARSEN_ENGINE_HOST 0
#endif

enum { COARSEN_(box_bytes) = 64 * 64 * 2 };

typedef struct COARSEN_ALIGNED(COARSEN_MAP_ALIGN) {
    unsigned long long word[16];
} COARSEN_(map);

// The engine's, or else how often threads arrived, and how often they do before it opens.
typedef struct {
    unsigned long long state, arrivals;
} COARSEN_(gate);

// Not for a launch. How many threads it may have says for which devices its code was compiled.
COARSEN_KERNEL void __launch_bounds__(COARSEN_HAS_ENGINE ? 64 : 32) COARSEN_(engine_kernel)(void)
{
}

COARSEN_INLINE unsigned int COARSEN_(rank)(void)
{
    unsigned int rank = 0;
#if COARSEN_HAS_ENGINE
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

COARSEN_INLINE unsigned int COARSEN_(ranks)(void)
{
    unsigned int ranks = 1;
#if COARSEN_HAS_ENGINE
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
#endif
    return ranks;
}

COARSEN_INLINE bool COARSEN_(elected)(void)
{
#if COARSEN_HAS_ENGINE
    unsigned int elected;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(elected));
    return elected != 0;
#else
    return threadIdx.x % 32 == 0;
#endif
}

COARSEN_INLINE void COARSEN_(meet)(void)
{
#if COARSEN_HAS_ENGINE
    if (__shfl_sync(0xffffffff, COARSEN_(ranks)(), 0) > 1) { // all lanes have the same
        asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::
                         : "memory");
        return;
    }
#endif
    __syncthreads();
}

COARSEN_INLINE void COARSEN_(store_to)(float4 *at, float4 x, COARSEN_UNUSED unsigned int rank)
{
#if COARSEN_HAS_ENGINE
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n\t}" ::"r"(
                     (unsigned int)__cvta_generic_to_shared(at)),
                 "r"(rank), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
                 : "memory");
#else
    *at = x;
#endif
}

COARSEN_INLINE void COARSEN_(open)(COARSEN_(gate) * gate, unsigned int arrivals)
{
#if COARSEN_HAS_ENGINE
    asm volatile(
        "mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned int)__cvta_generic_to_shared(gate)),
        "r"(arrivals)
        : "memory");
#else
    gate->state = 0, gate->arrivals = arrivals;
#endif
}

COARSEN_INLINE void COARSEN_(opened)(void)
{
#if COARSEN_HAS_ENGINE
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    COARSEN_(meet)();
}

COARSEN_INLINE void COARSEN_(arrive)(COARSEN_(gate) * gate, COARSEN_UNUSED unsigned int rank)
{
#if COARSEN_HAS_ENGINE
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(
                     (unsigned int)__cvta_generic_to_shared(gate)),
                 "r"(rank)
                 : "memory");
#else
    __threadfence_block();
    atomicAdd(&gate->state, 1ULL);
#endif
}

COARSEN_INLINE void COARSEN_(expect)(COARSEN_(gate) * gate, COARSEN_UNUSED unsigned int bytes)
{
#if COARSEN_HAS_ENGINE
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                     (unsigned int)__cvta_generic_to_shared(gate)),
                 "r"(bytes)
                 : "memory");
#else
    COARSEN_(arrive)(gate, 0);
#endif
}

COARSEN_INLINE void COARSEN_(wait)(COARSEN_(gate) * gate, unsigned int turn)
{
#if COARSEN_HAS_ENGINE
    asm volatile("{\n\t.reg .pred open;\n\tagain:\n\t"
                 "mbarrier.try_wait.parity.shared.b64 open, [%0], %1;\n\t"
                 "@!open bra again;\n\t}" ::"r"((unsigned int)__cvta_generic_to_shared(gate)),
                 "r"(turn)
                 : "memory");
#else
    const volatile unsigned long long *const state = &gate->state;
    while (*state / gate->arrivals % 2 == turn)
        ;
    __threadfence_block();
#endif
}

COARSEN_INLINE void COARSEN_(publish)(void)
{
#if COARSEN_HAS_ENGINE
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

COARSEN_INLINE void COARSEN_(prefetch_map)(COARSEN_UNUSED const COARSEN_(map) * map)
{
#if COARSEN_HAS_ENGINE
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#endif
}

COARSEN_INLINE void COARSEN_(copy_box)(COARSEN_UNUSED void *to,
                                       COARSEN_UNUSED const COARSEN_(map) * map,
                                       COARSEN_UNUSED unsigned int x, COARSEN_UNUSED unsigned int y,
                                       COARSEN_UNUSED unsigned int z,
                                       COARSEN_UNUSED COARSEN_(gate) * gate,
                                       COARSEN_UNUSED unsigned int ranks)
{
#if COARSEN_HAS_ENGINE
    const unsigned int place = (unsigned int)__cvta_generic_to_shared(to);
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(gate);
    if (ranks == 0)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(place),
                     "l"(map), "r"(at), "r"(x), "r"(y), "r"(z)
                     : "memory");
    else
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(place),
                     "l"(map), "r"(at), "r"(x), "r"(y), "r"(z), "h"((unsigned short)ranks)
                     : "memory");
#endif
}

COARSEN_INLINE void COARSEN_(put_box)(COARSEN_UNUSED const COARSEN_(map) * map,
                                      COARSEN_UNUSED unsigned int x, COARSEN_UNUSED unsigned int y,
                                      COARSEN_UNUSED unsigned int z,
                                      COARSEN_UNUSED const void *from)
{
#if COARSEN_HAS_ENGINE
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
                 "\n\tcp.async.bulk.commit_group;" ::"l"(map),
                 "r"((unsigned int)__cvta_generic_to_shared(from)), "r"(x), "r"(y), "r"(z)
                 : "memory");
#endif
}

COARSEN_INLINE void COARSEN_(puts_wait)(COARSEN_UNUSED bool one)
{
#if COARSEN_HAS_ENGINE
    if (one)
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    else
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

#ifndef __CUDACC_RTC__
COARSEN_HOST bool COARSEN_(has_engine)(cudaError_t *status)
{
    cudaFuncAttributes code = {};
    *status = cudaFuncGetAttributes(&code, (const void *)COARSEN_(engine_kernel));
#if COARSEN_ENGINE_HOST
    return *status == cudaSuccess && code.maxThreadsPerBlock == 64;
#else
    return false;
#endif
}

#if COARSEN_ENGINE_HOST
typedef int (*COARSEN_(encode))(COARSEN_(map) *, int, unsigned int, const void *,
                                const unsigned long long *, const unsigned long long *,
                                const unsigned int *, const unsigned int *, int, int, int, int);

// cuTensorMapEncodeTiled; or NULL. By the runtime, so that nobody has to link the driver's library, or to include its header.
COARSEN_HOST COARSEN_(encode) COARSEN_(find_encode)(void)
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &found) != cudaSuccess)
        return NULL;
    return (COARSEN_(encode))function;
}
#endif

COARSEN_HOST cudaError_t COARSEN_(describe)(COARSEN_UNUSED COARSEN_(map) * map,
                                            COARSEN_UNUSED bool bfloat,
                                            COARSEN_UNUSED unsigned int high,
                                            COARSEN_UNUSED const void *first,
                                            COARSEN_UNUSED size_t length,
                                            COARSEN_UNUSED size_t lines, COARSEN_UNUSED size_t ld,
                                            COARSEN_UNUSED size_t count, COARSEN_UNUSED size_t step)
{
#if COARSEN_ENGINE_HOST
    enum {
        as_float16 = 6,
        as_bfloat16 = 9,
        rank = 3,
        not_interleaved = 0,
        swizzle_128 = 3,
        fetch_128 = 2,
        zeros = 0
    };
    static const COARSEN_(encode) encode =
        COARSEN_(find_encode)(); // once, whatever thread comes first
    if (encode == NULL)
        return cudaErrorNotSupported;
    const unsigned long long sizes[3] = {length, lines, step > 0 ? count : 1};
    const unsigned long long steps[2] = {ld * 2, (step > 0 ? step : ld) * 2}; // bytes
    const unsigned int box[3] = {64, high, 1}, each[3] = {1, 1, 1};
    return (*encode)(map, bfloat ? as_bfloat16 : as_float16, rank, first, sizes, steps, box, each,
                     not_interleaved, swizzle_128, fetch_128, zeros) == 0
               ? cudaSuccess
               : cudaErrorInvalidValue;
#else
    return cudaErrorNotSupported;
#endif
}
#endif
#endif

#define COARSEN_END
#include "../base.h"

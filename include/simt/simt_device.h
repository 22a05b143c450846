// SPDX-License-Identifier: MIT
//
// What a kernel sees: qualifiers, indices, barriers, warp functions, atomics, intrinsics. Everything
// that touches memory or waits for other threads calls the engine. The return address of that call is
// the place in the kernel. The rest is plain code.

#ifndef SIMT_DEVICE_H
#define SIMT_DEVICE_H

// As the toolkit's own: warnings are for the user's code.
#pragma GCC system_header

#include <stdint.h>

#define SIMT_INLINE static __inline__ __attribute__((always_inline, unused))

// ---- qualifiers ---------------------------------------------------------------------------------

#ifndef __device__ // simt-c++ may read these in the text, and takes them out
#define __global__
#define __device__
#define __host__
#endif
#define __grid_constant__
#define __maxnreg__(...)
#define __forceinline__      __inline__ __attribute__((always_inline))
#define __align__(n)         __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
// libstdc++ has __attribute__((__noinline__)) in a header that bits/ replaces.
#define __noinline__         __attribute__((noinline))

// Each resident block is an OS thread, so a thread-local variable is one per block.
#define __shared__           thread_local

// Each line has a section of its own, because a const and a plain variable can't share one. The
// engine finds them by their names.
#define SIMT_TEXT_(x)        #x
#define SIMT_TEXT(x)         SIMT_TEXT_(x)
#define __constant__         __attribute__((section("simt_constant_" SIMT_TEXT(__LINE__))))
#define __managed__          __attribute__((section("simt_managed_" SIMT_TEXT(__LINE__))))

// n bytes of nothing before the kernel, and their address in a section, from which the engine knows n.
// Of all attributes only this takes a number that depends on a template. GCC 12 needs it as a sizeof.
#define __launch_bounds__(n, ...)                                                                  \
    __attribute__((patchable_function_entry(sizeof(char[n]), sizeof(char[n]))))

// `extern __shared__ T name[];` is a name for the block's dynamic shared memory. Write
// SIMT_DYNAMIC_SHARED(name) once in the file, outside every function. Its lines of assembler say
// that `name` is the engine's array, and that it needs no initialisation. C++ would call a function
// to initialise it; the mangled name of that function has the length of `name` in it.
#define SIMT_DYNAMIC_SHARED(name)                                                                  \
    __asm__(".set " #name ", simt_dynamic_shared\n"                                                \
            ".set simt_length, 0\n"                                                                \
            ".irpc c, " #name "\n.set simt_length, simt_length + 1\n.endr\n"                       \
            ".altmacro\n"                                                                          \
            ".macro simt_define length\n.set _ZTH\\length\\()" #name ", simt_no_init\n.endm\n"     \
            "simt_define %simt_length\n"                                                           \
            ".purgem simt_define\n"                                                                \
            ".noaltmacro")

// chevrons.py puts a reference to it in a function's place of `extern __shared__ T name[];`.
#ifdef __cplusplus
extern __thread unsigned char simt_dynamic_bytes[] __asm__("simt_dynamic_shared");
struct simt_dynamic {
    template <class Type> using array = Type[];
    template <class Type> operator array<Type> &() const
    {
        return *(array<Type> *)simt_dynamic_bytes;
    }
};
#endif

// In a kernel, and not in host code. sides.py puts it where a function has a body for each.
#ifdef __cplusplus
extern "C" int simt_in_kernel(void) __attribute__((const));
SIMT_INLINE constexpr bool simt_on_device()
{
    return !__builtin_is_constant_evaluated() && simt_in_kernel();
}
#endif

// ---- the engine's side --------------------------------------------------------------------------

enum simt_reduce_op { SIMT_SYNC, SIMT_SYNC_COUNT, SIMT_SYNC_AND, SIMT_SYNC_OR };

enum simt_warp_op {
    SIMT_WARP_SYNC,
    SIMT_SHFL,
    SIMT_SHFL_UP,
    SIMT_SHFL_DOWN,
    SIMT_SHFL_XOR,
    SIMT_ALL,
    SIMT_ANY,
    SIMT_UNI,
    SIMT_BALLOT,
    SIMT_MATCH_ANY,
    SIMT_MATCH_ALL,
    SIMT_REDUCE_ADD,
    SIMT_REDUCE_MIN,
    SIMT_REDUCE_MAX,
    SIMT_REDUCE_MIN_SIGNED,
    SIMT_REDUCE_MAX_SIGNED,
    SIMT_REDUCE_AND,
    SIMT_REDUCE_OR,
    SIMT_REDUCE_XOR
};

enum simt_atomic_op {
    SIMT_ATOMIC_ADD,
    SIMT_ATOMIC_ADD_FLOAT,
    SIMT_ATOMIC_EXCHANGE,
    SIMT_ATOMIC_MIN,
    SIMT_ATOMIC_MAX,
    SIMT_ATOMIC_MIN_SIGNED,
    SIMT_ATOMIC_MAX_SIGNED,
    SIMT_ATOMIC_INC,
    SIMT_ATOMIC_DEC,
    SIMT_ATOMIC_CAS,
    SIMT_ATOMIC_AND,
    SIMT_ATOMIC_OR,
    SIMT_ATOMIC_XOR
};

#ifdef __cplusplus
extern "C" {
#endif
// `which` tells apart the barriers of the source, also where the compiler merges or doubles the calls.
int simt_barrier(int op, int predicate, unsigned which);
unsigned simt_activemask(void);
unsigned long long simt_warp(int op, unsigned mask, unsigned long long value, int source, int width,
                             int bytes);
unsigned long long simt_atomic(int op, void *address, int bytes, unsigned long long value,
                               unsigned long long compare);
void simt_fence(int device); // 0: the block; 1: the device or wider
void simt_sleep(void);
void simt_copy_async(void *shared, const void *global, size_t bytes, size_t zeros);
void simt_copy_commit(void);
void simt_copy_wait(unsigned pending);
void simt_touch(const void *address, size_t bytes, int write,
                int aligned); // an access that the compiler doesn't see
void simt_trap(void) __attribute__((noreturn));
long long simt_clock(void);
#ifdef __cplusplus
}

// A call that ends a function would become a jump, and return to a place that isn't the kernel's.
#define simt_barrier(...) SIMT_RETURNS(simt_barrier(__VA_ARGS__))
#define simt_activemask() SIMT_RETURNS(simt_activemask())
#define simt_warp(...)    SIMT_RETURNS(simt_warp(__VA_ARGS__))
#define simt_atomic(...)  SIMT_RETURNS(simt_atomic(__VA_ARGS__))
#define SIMT_RETURNS(call)                                                                         \
    ({                                                                                             \
        auto simt_result = call;                                                                   \
        __asm__ volatile("");                                                                      \
        simt_result;                                                                               \
    })
#define simt_fence(device) (simt_fence(device), SIMT_STAY)
#define simt_sleep()       (simt_sleep(), SIMT_STAY)
#define SIMT_STAY          ({ __asm__ volatile(""); })

// They do not change while a thread runs, so the compiler neither instruments nor repeats their
// loads. The engine sets them whenever it switches to another thread.
extern "C" {
extern __thread const uint3 threadIdx __asm__("simt_thread_index");
extern __thread const uint3 blockIdx __asm__("simt_block_index");
extern const uint3 blockDim __asm__("simt_block_size");
extern const uint3 gridDim __asm__("simt_grid_size");
}
static const int warpSize __attribute__((unused)) = 32;

// ---- barriers, fences, time ---------------------------------------------------------------------

#define __syncthreads()          simt_syncthreads(__COUNTER__)
#define __syncthreads_count(...) simt_syncthreads_count(__COUNTER__, __VA_ARGS__)
#define __syncthreads_and(...)   simt_syncthreads_and(__COUNTER__, __VA_ARGS__)
#define __syncthreads_or(...)    simt_syncthreads_or(__COUNTER__, __VA_ARGS__)
SIMT_INLINE void simt_syncthreads(unsigned which)
{
    simt_barrier(SIMT_SYNC, 0, which);
}
SIMT_INLINE int simt_syncthreads_count(unsigned which, int p)
{
    return simt_barrier(SIMT_SYNC_COUNT, p, which);
}
SIMT_INLINE int simt_syncthreads_and(unsigned which, int p)
{
    return simt_barrier(SIMT_SYNC_AND, p, which);
}
SIMT_INLINE int simt_syncthreads_or(unsigned which, int p)
{
    return simt_barrier(SIMT_SYNC_OR, p, which);
}
SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu)
{
    simt_warp(SIMT_WARP_SYNC, mask, 0, 0, 32, 4);
}
SIMT_INLINE void __threadfence_block()
{
    simt_fence(0);
}
SIMT_INLINE void __threadfence()
{
    simt_fence(1);
}
SIMT_INLINE void __threadfence_system()
{
    simt_fence(1);
}
SIMT_INLINE void __nanosleep(unsigned)
{
    simt_sleep();
}
SIMT_INLINE void __trap()
{
    simt_trap();
}
SIMT_INLINE void __brkpt()
{
    simt_trap();
}
SIMT_INLINE long long clock64()
{
    return simt_clock();
}
// clock() is the C library's, and its type fits.
#define clock() ((clock_t)simt_clock())

// ---- asynchronous copies (cuda_pipeline_primitives.h) --------------------------------------------

// Copies 4, 8 or 16 bytes; the last `zeros` of them become zero.
SIMT_INLINE void __pipeline_memcpy_async(void *shared, const void *global, size_t bytes,
                                         size_t zeros = 0)
{
    simt_copy_async(shared, global, bytes, zeros), SIMT_STAY;
}
SIMT_INLINE void __pipeline_commit()
{
    simt_copy_commit(), SIMT_STAY;
}
// Waits until all groups except the last `pending` ones have arrived.
SIMT_INLINE void __pipeline_wait_prior(unsigned pending)
{
    simt_copy_wait(pending), SIMT_STAY;
}

// ---- warp functions -----------------------------------------------------------------------------

SIMT_INLINE unsigned __activemask()
{
    return simt_activemask();
}

SIMT_INLINE int __all_sync(unsigned m, int p)
{
    return (int)simt_warp(SIMT_ALL, m, !!p, 0, 32, 4);
}
SIMT_INLINE int __any_sync(unsigned m, int p)
{
    return (int)simt_warp(SIMT_ANY, m, !!p, 0, 32, 4);
}
SIMT_INLINE int __uni_sync(unsigned m, int p)
{
    return (int)simt_warp(SIMT_UNI, m, !!p, 0, 32, 4);
}
SIMT_INLINE unsigned __ballot_sync(unsigned m, int p)
{
    return (unsigned)simt_warp(SIMT_BALLOT, m, !!p, 0, 32, 4);
}

// Converts any type of 4 or 8 bytes to the engine's 64 bits, and back.
template <int bytes> struct simt_bits;
template <> struct simt_bits<2> {
    typedef unsigned short type;
};
template <> struct simt_bits<4> {
    typedef unsigned type;
};
template <> struct simt_bits<8> {
    typedef unsigned long long type;
};
template <class Type> SIMT_INLINE unsigned long long simt_from(Type v)
{
    return __builtin_bit_cast(typename simt_bits<sizeof(Type)>::type, v);
}
template <class Type> SIMT_INLINE Type simt_to(unsigned long long v)
{
    return __builtin_bit_cast(Type, (typename simt_bits<sizeof(Type)>::type)v);
}

// clang-format off
#define SIMT_SHUFFLES(T) \
    SIMT_INLINE T __shfl_sync(unsigned m, T v, int lane, int width = 32) { return simt_to<T>(simt_warp(SIMT_SHFL, m, simt_from(v), lane, width, sizeof(T))); } \
    SIMT_INLINE T __shfl_up_sync(unsigned m, T v, unsigned delta, int width = 32) { return simt_to<T>(simt_warp(SIMT_SHFL_UP, m, simt_from(v), (int)delta, width, sizeof(T))); } \
    SIMT_INLINE T __shfl_down_sync(unsigned m, T v, unsigned delta, int width = 32) { return simt_to<T>(simt_warp(SIMT_SHFL_DOWN, m, simt_from(v), (int)delta, width, sizeof(T))); } \
    SIMT_INLINE T __shfl_xor_sync(unsigned m, T v, int lanes, int width = 32) { return simt_to<T>(simt_warp(SIMT_SHFL_XOR, m, simt_from(v), lanes, width, sizeof(T))); } \
    SIMT_INLINE unsigned __match_any_sync(unsigned m, T v) { return (unsigned)simt_warp(SIMT_MATCH_ANY, m, simt_from(v), 0, 32, sizeof(T)); } \
    SIMT_INLINE unsigned __match_all_sync(unsigned m, T v, int *all) { unsigned r = (unsigned)simt_warp(SIMT_MATCH_ALL, m, simt_from(v), 0, 32, sizeof(T)); *all = r != 0; return r; }
SIMT_SHUFFLES(int)
SIMT_SHUFFLES(unsigned)
SIMT_SHUFFLES(long)
SIMT_SHUFFLES(unsigned long)
SIMT_SHUFFLES(long long)
SIMT_SHUFFLES(unsigned long long)
SIMT_SHUFFLES(float)
SIMT_SHUFFLES(double)

#define SIMT_REDUCE(name, T, op) SIMT_INLINE T __reduce_##name##_sync(unsigned m, T v) { return (T)simt_warp(op, m, (unsigned)v, 0, 32, 4); }
SIMT_REDUCE(add, unsigned, SIMT_REDUCE_ADD)
SIMT_REDUCE(add, int, SIMT_REDUCE_ADD)
SIMT_REDUCE(min, unsigned, SIMT_REDUCE_MIN)
SIMT_REDUCE(min, int, SIMT_REDUCE_MIN_SIGNED)
SIMT_REDUCE(max, unsigned, SIMT_REDUCE_MAX)
SIMT_REDUCE(max, int, SIMT_REDUCE_MAX_SIGNED)
SIMT_REDUCE(and, unsigned, SIMT_REDUCE_AND)
SIMT_REDUCE(or, unsigned, SIMT_REDUCE_OR)
SIMT_REDUCE(xor, unsigned, SIMT_REDUCE_XOR)
#undef SIMT_REDUCE

// ---- atomics: the plain, _block and _system name of each ----------------------------------------

#define SIMT_ATOMIC_NAME(name, suffix, T, op, v) SIMT_INLINE T name##suffix(T *p, T value) { return simt_to<T>(simt_atomic(op, (void *)p, sizeof(T), simt_from((T)(v)), 0)); }
#define SIMT_ATOMIC(name, T, op, v) SIMT_ATOMIC_NAME(name, , T, op, v) SIMT_ATOMIC_NAME(name, _block, T, op, v) SIMT_ATOMIC_NAME(name, _system, T, op, v)
SIMT_ATOMIC(atomicAdd, int, SIMT_ATOMIC_ADD, value)
SIMT_ATOMIC(atomicAdd, unsigned, SIMT_ATOMIC_ADD, value)
SIMT_ATOMIC(atomicAdd, unsigned long long, SIMT_ATOMIC_ADD, value)
SIMT_ATOMIC(atomicAdd, float, SIMT_ATOMIC_ADD_FLOAT, value)
SIMT_ATOMIC(atomicAdd, double, SIMT_ATOMIC_ADD_FLOAT, value)
SIMT_ATOMIC(atomicSub, int, SIMT_ATOMIC_ADD, 0 - value)
SIMT_ATOMIC(atomicSub, unsigned, SIMT_ATOMIC_ADD, 0 - value)
SIMT_ATOMIC(atomicExch, int, SIMT_ATOMIC_EXCHANGE, value)
SIMT_ATOMIC(atomicExch, unsigned, SIMT_ATOMIC_EXCHANGE, value)
SIMT_ATOMIC(atomicExch, unsigned long long, SIMT_ATOMIC_EXCHANGE, value)
SIMT_ATOMIC(atomicExch, float, SIMT_ATOMIC_EXCHANGE, value)
SIMT_ATOMIC(atomicExch, double, SIMT_ATOMIC_EXCHANGE, value)
SIMT_ATOMIC(atomicMin, unsigned, SIMT_ATOMIC_MIN, value)
SIMT_ATOMIC(atomicMin, unsigned long long, SIMT_ATOMIC_MIN, value)
SIMT_ATOMIC(atomicMin, int, SIMT_ATOMIC_MIN_SIGNED, value)
SIMT_ATOMIC(atomicMin, long long, SIMT_ATOMIC_MIN_SIGNED, value)
SIMT_ATOMIC(atomicMax, unsigned, SIMT_ATOMIC_MAX, value)
SIMT_ATOMIC(atomicMax, unsigned long long, SIMT_ATOMIC_MAX, value)
SIMT_ATOMIC(atomicMax, int, SIMT_ATOMIC_MAX_SIGNED, value)
SIMT_ATOMIC(atomicMax, long long, SIMT_ATOMIC_MAX_SIGNED, value)
SIMT_ATOMIC(atomicInc, unsigned, SIMT_ATOMIC_INC, value)
SIMT_ATOMIC(atomicDec, unsigned, SIMT_ATOMIC_DEC, value)
SIMT_ATOMIC(atomicAnd, int, SIMT_ATOMIC_AND, value)
SIMT_ATOMIC(atomicAnd, unsigned, SIMT_ATOMIC_AND, value)
SIMT_ATOMIC(atomicAnd, unsigned long long, SIMT_ATOMIC_AND, value)
SIMT_ATOMIC(atomicAnd, long long, SIMT_ATOMIC_AND, value)
SIMT_ATOMIC(atomicOr, int, SIMT_ATOMIC_OR, value)
SIMT_ATOMIC(atomicOr, unsigned, SIMT_ATOMIC_OR, value)
SIMT_ATOMIC(atomicOr, unsigned long long, SIMT_ATOMIC_OR, value)
SIMT_ATOMIC(atomicOr, long long, SIMT_ATOMIC_OR, value)
SIMT_ATOMIC(atomicXor, int, SIMT_ATOMIC_XOR, value)
SIMT_ATOMIC(atomicXor, unsigned, SIMT_ATOMIC_XOR, value)
SIMT_ATOMIC(atomicXor, unsigned long long, SIMT_ATOMIC_XOR, value)
SIMT_ATOMIC(atomicXor, long long, SIMT_ATOMIC_XOR, value)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_NAME

#define SIMT_CAS_NAME(suffix, T) SIMT_INLINE T atomicCAS##suffix(T *p, T compare, T value) { return simt_to<T>(simt_atomic(SIMT_ATOMIC_CAS, (void *)p, sizeof(T), simt_from(value), simt_from(compare))); }
#define SIMT_CAS(T) SIMT_CAS_NAME(, T) SIMT_CAS_NAME(_block, T) SIMT_CAS_NAME(_system, T)
SIMT_CAS(unsigned short)
SIMT_CAS(int)
SIMT_CAS(unsigned)
SIMT_CAS(unsigned long)
SIMT_CAS(unsigned long long)
#undef SIMT_CAS
#undef SIMT_CAS_NAME
// clang-format on

// ---- loads and stores with a cache hint: the caches are not modelled ----------------------------

#define SIMT_LOAD(name)                                                                            \
    template <class Type> SIMT_INLINE Type name(const Type *p)                                     \
    {                                                                                              \
        return *p;                                                                                 \
    }
#define SIMT_STORE(name)                                                                           \
    template <class Type> SIMT_INLINE void name(Type *p, Type v)                                   \
    {                                                                                              \
        *p = v;                                                                                    \
    }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_LOAD
#undef SIMT_STORE
// The only hint that means: read memory again each time.
template <class Type> SIMT_INLINE Type __ldcv(const Type *p)
{
    return *(const volatile Type *)p;
}

// ---- integers -----------------------------------------------------------------------------------

SIMT_INLINE int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
SIMT_INLINE int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
SIMT_INLINE int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
SIMT_INLINE int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
SIMT_INLINE int __ffs(int x)
{
    return __builtin_ffs(x);
}
SIMT_INLINE int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
SIMT_INLINE unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
SIMT_INLINE unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
SIMT_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
SIMT_INLINE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n)
{
    return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n)
{
    return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned selector = s >> 4 * i & 15;
        unsigned byte = (unsigned)(bytes >> 8 * (selector & 7)) & 255;
        if (selector & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}
SIMT_INLINE unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)((unsigned long long)x * y >> 32);
}
SIMT_INLINE int __mulhi(int x, int y)
{
    return (int)((long long)x * y >> 32);
}
SIMT_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
SIMT_INLINE long long __mul64hi(long long x, long long y)
{
    return (long long)((__int128)x * y >> 64);
}
SIMT_INLINE unsigned __umul24(unsigned x, unsigned y)
{
    return (x & 0xffffffu) * (y & 0xffffffu);
}
SIMT_INLINE int __mul24(int x, int y)
{
    return (int)((unsigned)((int)((unsigned)x << 8) >> 8) *
                 (unsigned)((int)((unsigned)y << 8) >> 8));
}
SIMT_INLINE unsigned __usad(unsigned x, unsigned y, unsigned z)
{
    return (x > y ? x - y : y - x) + z;
}
SIMT_INLINE unsigned __sad(int x, int y, unsigned z)
{
    return (x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x) + z;
}
SIMT_INLINE int __hadd(int x, int y)
{
    return (int)(((long long)x + y) >> 1);
}
SIMT_INLINE unsigned __uhadd(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x + y) >> 1);
}
SIMT_INLINE int __rhadd(int x, int y)
{
    return (int)(((long long)x + y + 1) >> 1);
}
SIMT_INLINE int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; ++i)
        c += (signed char)(a >> 8 * i) * (signed char)(b >> 8 * i);
    return c;
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 4; ++i)
        c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
    return c;
}

// ---- reinterpretation ---------------------------------------------------------------------------

SIMT_INLINE int __float_as_int(float x)
{
    return __builtin_bit_cast(int, x);
}
SIMT_INLINE unsigned __float_as_uint(float x)
{
    return __builtin_bit_cast(unsigned, x);
}
SIMT_INLINE float __int_as_float(int x)
{
    return __builtin_bit_cast(float, x);
}
SIMT_INLINE float __uint_as_float(unsigned x)
{
    return __builtin_bit_cast(float, x);
}
SIMT_INLINE long long __double_as_longlong(double x)
{
    return __builtin_bit_cast(long long, x);
}
SIMT_INLINE double __longlong_as_double(long long x)
{
    return __builtin_bit_cast(double, x);
}
SIMT_INLINE int __double2hiint(double x)
{
    return (int)(__double_as_longlong(x) >> 32);
}
SIMT_INLINE int __double2loint(double x)
{
    return (int)__double_as_longlong(x);
}
SIMT_INLINE double __hiloint2double(int hi, int lo)
{
    return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

// ---- conversions: out of range saturates, not-a-number is 0 -------------------------------------

#define SIMT_CONVERT(name, F, T, low, high, round)                                                 \
    SIMT_INLINE T name(F x)                                                                        \
    {                                                                                              \
        return x != x ? 0 : round(x) <= (F)low ? low : round(x) >= (F)high ? high : (T)round(x);   \
    }
#define SIMT_CONVERSIONS(prefix, F, suffix, T, low, high, rn, rz, ru, rd)                          \
    SIMT_CONVERT(prefix##2##suffix##_rn, F, T, low, high, rn)                                      \
    SIMT_CONVERT(prefix##2##suffix##_rz, F, T, low, high, rz)                                      \
    SIMT_CONVERT(prefix##2##suffix##_ru, F, T, low, high, ru)                                      \
    SIMT_CONVERT(prefix##2##suffix##_rd, F, T, low, high, rd)
SIMT_CONVERSIONS(__float, float, int, int, INT_MIN, INT_MAX, rintf, truncf, ceilf, floorf)
SIMT_CONVERSIONS(__float, float, uint, unsigned, 0u, UINT_MAX, rintf, truncf, ceilf, floorf)
SIMT_CONVERSIONS(__float, float, ll, long long, LLONG_MIN, LLONG_MAX, rintf, truncf, ceilf, floorf)
SIMT_CONVERSIONS(__float, float, ull, unsigned long long, 0ull, ULLONG_MAX, rintf, truncf, ceilf,
                 floorf)
SIMT_CONVERSIONS(__double, double, int, int, INT_MIN, INT_MAX, rint, trunc, ceil, floor)
SIMT_CONVERSIONS(__double, double, uint, unsigned, 0u, UINT_MAX, rint, trunc, ceil, floor)
SIMT_CONVERSIONS(__double, double, ll, long long, LLONG_MIN, LLONG_MAX, rint, trunc, ceil, floor)
SIMT_CONVERSIONS(__double, double, ull, unsigned long long, 0ull, ULLONG_MAX, rint, trunc, ceil,
                 floor)
#undef SIMT_CONVERSIONS
#undef SIMT_CONVERT
SIMT_INLINE float __int2float_rn(int x)
{
    return (float)x;
}
SIMT_INLINE float __uint2float_rn(unsigned x)
{
    return (float)x;
}
SIMT_INLINE float __ll2float_rn(long long x)
{
    return (float)x;
}
SIMT_INLINE float __ull2float_rn(unsigned long long x)
{
    return (float)x;
}
SIMT_INLINE double __int2double_rn(int x)
{
    return x;
}
SIMT_INLINE double __uint2double_rn(unsigned x)
{
    return x;
}
SIMT_INLINE double __ll2double_rn(long long x)
{
    return (double)x;
}
SIMT_INLINE double __ull2double_rn(unsigned long long x)
{
    return (double)x;
}
SIMT_INLINE float __double2float_rn(double x)
{
    return (float)x;
}
SIMT_INLINE float __saturatef(float x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

// ---- floating point -----------------------------------------------------------------------------

// The _rn forms promise one rounding and no contraction. A barrier on the value ensures that without
// volatile.
#define SIMT_ROUNDED(T, expression)                                                                \
    T r = expression;                                                                              \
    __asm__("" : "+x"(r));                                                                         \
    return r
SIMT_INLINE float __fadd_rn(float x, float y)
{
    SIMT_ROUNDED(float, x + y);
}
SIMT_INLINE float __fsub_rn(float x, float y)
{
    SIMT_ROUNDED(float, x - y);
}
SIMT_INLINE float __fmul_rn(float x, float y)
{
    SIMT_ROUNDED(float, x *y);
}
SIMT_INLINE float __fdiv_rn(float x, float y)
{
    SIMT_ROUNDED(float, x / y);
}
SIMT_INLINE double __dadd_rn(double x, double y)
{
    SIMT_ROUNDED(double, x + y);
}
SIMT_INLINE double __dsub_rn(double x, double y)
{
    SIMT_ROUNDED(double, x - y);
}
SIMT_INLINE double __dmul_rn(double x, double y)
{
    SIMT_ROUNDED(double, x *y);
}
SIMT_INLINE double __ddiv_rn(double x, double y)
{
    SIMT_ROUNDED(double, x / y);
}
#undef SIMT_ROUNDED
SIMT_INLINE float __fmaf_rn(float x, float y, float z)
{
    return fmaf(x, y, z);
}
SIMT_INLINE double __fma_rn(double x, double y, double z)
{
    return fma(x, y, z);
}
SIMT_INLINE float __fsqrt_rn(float x)
{
    return sqrtf(x);
}
SIMT_INLINE double __dsqrt_rn(double x)
{
    return sqrt(x);
}
SIMT_INLINE float __frcp_rn(float x)
{
    return 1.0f / x;
}
SIMT_INLINE float __frsqrt_rn(float x)
{
    return (float)(1.0 / sqrt((double)x));
}
SIMT_INLINE float fdividef(float x, float y)
{
    return x / y;
}
SIMT_INLINE float __fdividef(float x, float y)
{
    return x / y;
}
SIMT_INLINE float rsqrtf(float x)
{
    return (float)(1.0 / sqrt((double)x));
}
SIMT_INLINE double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
SIMT_INLINE float rcbrtf(float x)
{
    return 1.0f / cbrtf(x);
}
SIMT_INLINE double rcbrt(double x)
{
    return 1.0 / cbrt(x);
}
SIMT_INLINE float sinpif(float x)
{
    return (float)sin(M_PI * fmod((double)x, 2.0));
}
SIMT_INLINE float cospif(float x)
{
    return (float)cos(M_PI * fmod((double)x, 2.0));
}
SIMT_INLINE double sinpi(double x)
{
    return sin(M_PI * fmod(x, 2.0));
}
SIMT_INLINE double cospi(double x)
{
    return cos(M_PI * fmod(x, 2.0));
}
SIMT_INLINE float norm3df(float x, float y, float z)
{
    return sqrtf(x * x + y * y + z * z);
}
SIMT_INLINE double norm3d(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}
// math.h declares these names without defining them, so only a macro can define them here.
#define __expf(x)          expf(x)
#define __exp10f(x)        exp10f(x)
#define __logf(x)          logf(x)
#define __log2f(x)         log2f(x)
#define __log10f(x)        log10f(x)
#define __powf(x, y)       powf(x, y)
#define __sinf(x)          sinf(x)
#define __cosf(x)          cosf(x)
#define __tanf(x)          tanf(x)
#define __tanhf(x)         tanhf(x)
#define __sincosf(x, s, c) sincosf(x, s, c)

// ---- min and max, for every mix of types that CUDA has ------------------------------------------------

#define SIMT_MINMAX(A, B, R)                                                                       \
    SIMT_INLINE R min(A a, B b)                                                                    \
    {                                                                                              \
        return (R)a < (R)b ? (R)a : (R)b;                                                          \
    }                                                                                              \
    SIMT_INLINE R max(A a, B b)                                                                    \
    {                                                                                              \
        return (R)a > (R)b ? (R)a : (R)b;                                                          \
    }
SIMT_MINMAX(int, int, int)
SIMT_MINMAX(unsigned, unsigned, unsigned)
SIMT_MINMAX(int, unsigned, unsigned)
SIMT_MINMAX(unsigned, int, unsigned)
SIMT_MINMAX(long, long, long)
SIMT_MINMAX(unsigned long, unsigned long, unsigned long)
SIMT_MINMAX(long, unsigned long, unsigned long)
SIMT_MINMAX(unsigned long, long, unsigned long)
SIMT_MINMAX(long long, long long, long long)
SIMT_MINMAX(unsigned long long, unsigned long long, unsigned long long)
SIMT_MINMAX(long long, unsigned long long, unsigned long long)
SIMT_MINMAX(unsigned long long, long long, unsigned long long)
#undef SIMT_MINMAX
SIMT_INLINE float min(float a, float b)
{
    return fminf(a, b);
}
SIMT_INLINE float max(float a, float b)
{
    return fmaxf(a, b);
}
SIMT_INLINE double min(double a, double b)
{
    return fmin(a, b);
}
SIMT_INLINE double max(double a, double b)
{
    return fmax(a, b);
}
SIMT_INLINE double min(float a, double b)
{
    return fmin(a, b);
}
SIMT_INLINE double max(float a, double b)
{
    return fmax(a, b);
}
SIMT_INLINE double min(double a, float b)
{
    return fmin(a, b);
}
SIMT_INLINE double max(double a, float b)
{
    return fmax(a, b);
}
#endif

#endif

// SPDX-License-Identifier: MIT
//
// CUDA's vector types, with CUDA's sizes and alignments, and their make_ functions.

#ifndef SIMT_VECTOR_TYPES_H
#define SIMT_VECTOR_TYPES_H

// As the toolkit's own: warnings are for the user's code.
#pragma GCC system_header

// Vectors with an alignment of their own are loaded and stored whole. A volatile member, which nobody
// uses, tells the compiler not to split them.
#define SIMT_WHOLE(...)                                                                            \
    union {                                                                                        \
        struct {                                                                                   \
            __VA_ARGS__                                                                            \
        };                                                                                         \
        volatile char simt_whole;                                                                  \
    }

// Inlined at any level: g++ puts no call before a store of what a function returns, unless it checks alignment.
#define SIMT_MAKE static inline __attribute__((always_inline))
#define SIMT_VECTOR_1(name, type)                                                                  \
    typedef struct name {                                                                          \
        type x;                                                                                    \
    } name;                                                                                        \
    SIMT_MAKE name make_##name(type x)                                                             \
    {                                                                                              \
        name v = {x};                                                                              \
        return v;                                                                                  \
    }
#define SIMT_VECTOR_2(name, type, alignment)                                                       \
    typedef struct __attribute__((aligned(alignment))) name {                                      \
        SIMT_WHOLE(type x, y;);                                                                    \
    } name;                                                                                        \
    SIMT_MAKE name make_##name(type x, type y)                                                     \
    {                                                                                              \
        name v = {x, y};                                                                           \
        return v;                                                                                  \
    }
#define SIMT_VECTOR_3(name, type)                                                                  \
    typedef struct name {                                                                          \
        type x, y, z;                                                                              \
    } name;                                                                                        \
    SIMT_MAKE name make_##name(type x, type y, type z)                                             \
    {                                                                                              \
        name v = {x, y, z};                                                                        \
        return v;                                                                                  \
    }
#define SIMT_VECTOR_4(name, type, alignment)                                                       \
    typedef struct __attribute__((aligned(alignment))) name {                                      \
        SIMT_WHOLE(type x, y, z, w;);                                                              \
    } name;                                                                                        \
    SIMT_MAKE name make_##name(type x, type y, type z, type w)                                     \
    {                                                                                              \
        name v = {x, y, z, w};                                                                     \
        return v;                                                                                  \
    }

#define SIMT_VECTORS(name, type, two, four)                                                        \
    SIMT_VECTOR_1(name##1, type)                                                                   \
    SIMT_VECTOR_2(name##2, type, two)                                                              \
    SIMT_VECTOR_3(name##3, type)                                                                   \
    SIMT_VECTOR_4(name##4, type, four)

// clang-format off
SIMT_VECTORS(char, signed char, 2, 4)
SIMT_VECTORS(uchar, unsigned char, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(ushort, unsigned short, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(uint, unsigned, 8, 16)
SIMT_VECTORS(long, long, 16, 16)
SIMT_VECTORS(ulong, unsigned long, 16, 16)
SIMT_VECTORS(longlong, long long, 16, 16)
SIMT_VECTORS(ulonglong, unsigned long long, 16, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)
// clang-format on

#undef SIMT_WHOLE
#undef SIMT_MAKE
#undef SIMT_VECTORS
#undef SIMT_VECTOR_1
#undef SIMT_VECTOR_2
#undef SIMT_VECTOR_3
#undef SIMT_VECTOR_4

#ifdef __cplusplus
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
    {
    }
    operator uint3() const
    {
        return uint3{x, y, z};
    }
};
#else
typedef uint3 dim3;
#endif

#endif

// SPDX-License-Identifier: MIT
//
// tests/operators.h: operators and types that a kernel gets wrong if it takes too much for granted.

#ifndef TESTS_OPERATORS_H
#define TESTS_OPERATORS_H

#include <cuda_runtime.h>
#include <stdint.h>

// x -> a x + b, composed left to right: associative, not commutative.
typedef struct {
    unsigned int a, b;
} affine;
static inline __host__ __device__ affine affine_then(affine f, affine g)
{
    return affine{f.a * g.a, f.b * g.a + g.b};
}
static inline __host__ __device__ bool operator==(affine a, affine b)
{
    return a.a == b.a && a.b == b.b;
}
static inline __host__ __device__ affine affine_lift(affine f, size_t i)
{
    return affine{f.a, f.b + (unsigned int)i};
}

// 12 bytes: 16 is no multiple of it, so it goes an element at a time.
typedef struct {
    unsigned int x, y, z;
} triple;
static inline __host__ __device__ triple triple_add(triple a, triple b)
{
    return triple{a.x + b.x, a.y ^ b.y, a.z > b.z ? a.z : b.z};
}
static inline __host__ __device__ bool operator==(triple a, triple b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// With a constructor, which makes what no sum begins with. No padding, which simt takes for a part that
// nothing wrote.
struct counter {
    unsigned long long sum, count;
    __host__ __device__ counter() : sum(77), count(77)
    {
    }
    __host__ __device__ counter(unsigned long long sum, unsigned long long count)
        : sum(sum), count(count)
    {
    }
};
static inline __host__ __device__ counter counter_add(counter a, counter b)
{
    return counter(a.sum + b.sum, a.count + b.count);
}
static inline __host__ __device__ bool operator==(counter a, counter b)
{
    return a.sum == b.sum && a.count == b.count;
}
static inline __host__ __device__ counter counter_lift(unsigned short x, size_t i)
{
    return counter(x, i);
}

static inline __host__ __device__ int indices_lift(signed char x, size_t i)
{
    return x * 1000 + (int)i;
}

// So wide that a row of a large block needs more shared memory than a kernel has without asking.
typedef struct {
    unsigned long long word[6];
} wide;
static inline __host__ __device__ wide wide_add(wide a, wide b)
{
    for (int w = 0; w < 6; w++)
        a.word[w] += b.word[w];
    return a;
}

static inline __host__ __device__ bool operator==(wide a, wide b)
{
    for (int w = 0; w < 6; w++)
        if (a.word[w] != b.word[w])
            return false;
    return true;
}

// Every value is a left identity, and none is a right one.
static inline __host__ __device__ int last_of(int, int b)
{
    return b;
}

// What a host reference does for a kernel: LIFT, elements from random bits, and operators.
template <class T> static T itself(T x, size_t)
{
    return x;
}
template <class T> static T of_bits(uint64_t bits)
{
    return (T)bits;
}
template <class T> static T plus(T a, T b)
{
    return a + b;
}
template <class T> static T second(T, T b)
{
    return b;
}
static inline float small_float(uint64_t bits) // sums of which are exact
{
    return (float)((int)(bits % 65) - 32) / 4;
}
static inline affine affine_of(uint64_t bits)
{
    return affine{(unsigned int)bits | 1, (unsigned int)(bits >> 32)};
}
static inline triple triple_of(uint64_t bits)
{
    return triple{(unsigned int)bits, (unsigned int)(bits >> 16), (unsigned int)(bits >> 32)};
}

#endif

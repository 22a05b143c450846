// SPDX-License-Identifier: MIT
//
// Floating point in 16 bits, for cuda_fp16.h and cuda_bf16.h, which include this once each. It defines
// the type SIMT_T, the pair SIMT_T2 and their functions. SIMT_N and SIMT_N2 are what the functions
// call them, and SIMT_FRACTION is the number of bits after the point.
//
// A sum, product, quotient or root of floats has enough bits to be rounded a second time without
// harm. Operators take their arguments by value, so that a load is in the kernel and not here.

#pragma GCC system_header

#ifndef SIMT_FLOAT16_H
#define SIMT_FLOAT16_H

enum simt_rounding { SIMT_RN, SIMT_RZ, SIMT_RU, SIMT_RD };

// The bits of x, with `fraction` bits after the point.
template <int fraction> SIMT_INLINE unsigned short simt_narrow(double x, simt_rounding how)
{
    const int lowest = 2 - (1 << (14 - fraction)); // exponent of the smallest normal number
    const unsigned infinity = 0x8000u - (1u << fraction);
    if (x != x)
        return 0x7fff;
    const unsigned sign = __builtin_signbit(x) ? 0x8000 : 0;
    x = fabs(x);
    if (x == 0 || x == HUGE_VAL)
        return (unsigned short)(sign | (x ? infinity : 0));
    const bool away = how == (sign ? SIMT_RD : SIMT_RU);
    const int e = ilogb(x) < lowest ? lowest : ilogb(x);
    const double steps = ldexp(x, fraction - e);
    const double n = how == SIMT_RN ? rint(steps) : away ? ceil(steps) : floor(steps);
    // A normal number's leading bit adds one to its exponent, and so does a carry.
    unsigned bits = ((unsigned)(e - lowest) << fraction) + (unsigned)n;
    if (bits >= infinity)
        bits = how == SIMT_RN || away ? infinity : infinity - 1;
    return (unsigned short)(sign | bits);
}

template <int fraction> SIMT_INLINE float simt_widen(unsigned short bits)
{
    const unsigned sign = (bits & 0x8000u) << 16, rest = bits & 0x7fff;
    const unsigned infinity = 0x8000u - (1u << fraction);
    const int to = 23 - fraction, bias = 128 - (1 << (14 - fraction));
    if (rest >= infinity)
        return __builtin_bit_cast(float, sign | 0x7f800000u | (rest - infinity) << to);
    if (!bias || rest >> fraction)
        return __builtin_bit_cast(float, sign | ((rest << to) + ((unsigned)bias << 23)));
    const float tiny = ldexpf((float)rest, 2 - (1 << (14 - fraction)) - fraction);
    return sign ? -tiny : tiny;
}

// a * b + c, rounded so that rounding to 16 bits afterwards is right: if bits were lost, the last one
// is odd. The product is exact.
SIMT_INLINE double simt_fma_odd(double a, double b, double c)
{
    const double p = a * b, s = p + c, part = s - p, lost = (p - (s - part)) + (c - part);
    const bool even = !(__builtin_bit_cast(unsigned long long, s) & 1);
    return lost == lost && lost != 0 && even ? nextafter(s, lost > 0 ? HUGE_VAL : -HUGE_VAL) : s;
}

SIMT_INLINE double simt_odd(unsigned long long v)
{
    return (double)(v >> 53 ? v >> 12 << 12 | (unsigned long long)((v & 0xfff) != 0) << 12 : v);
}

// Of a loop of compare-and-swap: what is there, which is no access of the kernel.
SIMT_INLINE unsigned short simt_peek(const volatile unsigned short *p)
{
    unsigned short v;
    __asm__ volatile("movw %1, %0" : "=r"(v) : "m"(*p));
    return v;
}
SIMT_INLINE unsigned simt_peek(const volatile unsigned *p)
{
    unsigned v;
    __asm__ volatile("movl %1, %0" : "=r"(v) : "m"(*p));
    return v;
}
template <class Type> SIMT_INLINE Type simt_atomic_add(Type *p, Type value)
{
    typedef typename simt_bits<sizeof(Type)>::type bits;
    for (;;) {
        const bits old = simt_peek((const volatile bits *)p);
        const Type sum = simt_to<Type>(old) + value;
        if (simt_atomic(SIMT_ATOMIC_CAS, (void *)p, sizeof(Type), simt_from(sum), old) == old)
            return simt_to<Type>(old);
    }
}

#endif

#define SIMT_PASTE_(a, b, c)  a##b##c
#define SIMT_PASTE(a, b, c)   SIMT_PASTE_(a, b, c)
#define SIMT_TO(from, suffix) SIMT_PASTE(__##from##2, SIMT_N, suffix)
#define SIMT_OF(name)         SIMT_PASTE(__, SIMT_N, name)
#define SIMT_RAW              SIMT_PASTE(SIMT_T, _raw, )
#define SIMT_RAW2             SIMT_PASTE(SIMT_T2, _raw, )
#define SIMT_FROM(x, how)     simt_narrow<SIMT_FRACTION>(x, how)

// ---- conversions --------------------------------------------------------------------------------

struct __attribute__((aligned(2))) SIMT_RAW {
    unsigned short x;
};
struct __attribute__((aligned(4))) SIMT_RAW2 {
    unsigned short x, y;
};

struct __attribute__((aligned(2))) SIMT_T {
    unsigned short __x;

    SIMT_T() = default;
    constexpr SIMT_T(const SIMT_RAW &raw) : __x(raw.x)
    {
    }
    operator SIMT_RAW() const
    {
        return {__x};
    }
    inline explicit SIMT_T(SIMT_OTHER other);
    SIMT_T(float x) : __x(SIMT_FROM(x, SIMT_RN))
    {
    }
    SIMT_T(double x) : __x(SIMT_FROM(x, SIMT_RN))
    {
    }
    SIMT_T(short x) : SIMT_T((double)x)
    {
    }
    SIMT_T(unsigned short x) : SIMT_T((double)x)
    {
    }
    SIMT_T(int x) : SIMT_T((double)x)
    {
    }
    SIMT_T(unsigned x) : SIMT_T((double)x)
    {
    }
    SIMT_T(long long x) : SIMT_T(x < 0 ? -simt_odd(0ull - (unsigned long long)x) : simt_odd(x))
    {
    }
    SIMT_T(unsigned long long x) : SIMT_T(simt_odd(x))
    {
    }
    SIMT_T(long x) : SIMT_T((long long)x)
    {
    }
    SIMT_T(unsigned long x) : SIMT_T((unsigned long long)x)
    {
    }
    operator float() const
    {
        return simt_widen<SIMT_FRACTION>(__x);
    }
    constexpr operator bool() const
    {
        return (__x & 0x7fff) != 0;
    }
#define SIMT_OPERATOR(I, low, high)                                                                \
    operator I() const                                                                             \
    {                                                                                              \
        const int i = __float2int_rz(simt_widen<SIMT_FRACTION>(__x));                              \
        return (I)(i < low ? low : i > high ? high : i);                                           \
    }
    SIMT_OPERATOR(signed char, SCHAR_MIN, SCHAR_MAX)
    SIMT_OPERATOR(unsigned char, 0, UCHAR_MAX)
    SIMT_OPERATOR(char, CHAR_MIN, CHAR_MAX)
    SIMT_OPERATOR(short, SHRT_MIN, SHRT_MAX)
    SIMT_OPERATOR(unsigned short, 0, USHRT_MAX)
    SIMT_OPERATOR(int, INT_MIN, INT_MAX)
#undef SIMT_OPERATOR
    operator unsigned() const
    {
        return __float2uint_rz(simt_widen<SIMT_FRACTION>(__x));
    }
    operator long() const
    {
        return __float2ll_rz(simt_widen<SIMT_FRACTION>(__x));
    }
    operator unsigned long() const
    {
        return __float2ull_rz(simt_widen<SIMT_FRACTION>(__x));
    }
    operator long long() const
    {
        return __float2ll_rz(simt_widen<SIMT_FRACTION>(__x));
    }
    operator unsigned long long() const
    {
        return __float2ull_rz(simt_widen<SIMT_FRACTION>(__x));
    }
};

struct __attribute__((aligned(4))) SIMT_T2 {
    SIMT_T x, y;
    union { // of no size; see vector_types.h
        char simt_empty[0];
        volatile char simt_whole[0];
    };

    SIMT_T2() = default;
    constexpr SIMT_T2(SIMT_T a, SIMT_T b) : x(a), y(b), simt_empty{}
    {
    }
    SIMT_T2(const SIMT_RAW2 &raw) : x(SIMT_RAW{raw.x}), y(SIMT_RAW{raw.y})
    {
    }
    operator SIMT_RAW2() const
    {
        return {x.__x, y.__x};
    }
};

SIMT_INLINE SIMT_T SIMT_PASTE(__ushort_as_, SIMT_N, )(unsigned short bits)
{
    return SIMT_RAW{bits};
}
SIMT_INLINE SIMT_T SIMT_PASTE(__short_as_, SIMT_N, )(short bits)
{
    return SIMT_RAW{(unsigned short)bits};
}
SIMT_INLINE unsigned short SIMT_OF(_as_ushort)(SIMT_T a)
{
    return a.__x;
}
SIMT_INLINE short SIMT_OF(_as_short)(SIMT_T a)
{
    return (short)a.__x;
}
SIMT_INLINE float SIMT_OF(2float)(SIMT_T a)
{
    return a;
}
SIMT_INLINE SIMT_T SIMT_TO(float, )(float x)
{
    return x;
}
SIMT_INLINE SIMT_T SIMT_TO(double, )(double x)
{
    return x;
}

#define SIMT_ROUND(suffix, how)                                                                    \
    SIMT_INLINE SIMT_T SIMT_TO(float, suffix)(float x)                                             \
    {                                                                                              \
        return SIMT_RAW{SIMT_FROM(x, how)};                                                        \
    }                                                                                              \
    SIMT_INLINE SIMT_T SIMT_TO(short, suffix)(short x)                                             \
    {                                                                                              \
        return SIMT_RAW{SIMT_FROM(x, how)};                                                        \
    }                                                                                              \
    SIMT_INLINE SIMT_T SIMT_TO(ushort, suffix)(unsigned short x)                                   \
    {                                                                                              \
        return SIMT_RAW{SIMT_FROM(x, how)};                                                        \
    }                                                                                              \
    SIMT_INLINE SIMT_T SIMT_TO(int, suffix)(int x)                                                 \
    {                                                                                              \
        return SIMT_RAW{SIMT_FROM(x, how)};                                                        \
    }                                                                                              \
    SIMT_INLINE SIMT_T SIMT_TO(uint, suffix)(unsigned x)                                           \
    {                                                                                              \
        return SIMT_RAW{SIMT_FROM(x, how)};                                                        \
    }                                                                                              \
    SIMT_INLINE SIMT_T SIMT_TO(ll, suffix)(long long x)                                            \
    {                                                                                              \
        return SIMT_RAW{                                                                           \
            SIMT_FROM(x < 0 ? -simt_odd(0ull - (unsigned long long)x) : simt_odd(x), how)};        \
    }                                                                                              \
    SIMT_INLINE SIMT_T SIMT_TO(ull, suffix)(unsigned long long x)                                  \
    {                                                                                              \
        return SIMT_RAW{SIMT_FROM(simt_odd(x), how)};                                              \
    }                                                                                              \
    SIMT_INLINE int SIMT_OF(2int##suffix)(SIMT_T a)                                                \
    {                                                                                              \
        return __float2int##suffix(a);                                                             \
    }                                                                                              \
    SIMT_INLINE unsigned SIMT_OF(2uint##suffix)(SIMT_T a)                                          \
    {                                                                                              \
        return __float2uint##suffix(a);                                                            \
    }                                                                                              \
    SIMT_INLINE long long SIMT_OF(2ll##suffix)(SIMT_T a)                                           \
    {                                                                                              \
        return __float2ll##suffix(a);                                                              \
    }                                                                                              \
    SIMT_INLINE unsigned long long SIMT_OF(2ull##suffix)(SIMT_T a)                                 \
    {                                                                                              \
        return __float2ull##suffix(a);                                                             \
    }                                                                                              \
    SIMT_INLINE short SIMT_OF(2short##suffix)(SIMT_T a)                                            \
    {                                                                                              \
        const int i = __float2int##suffix(a);                                                      \
        return (short)(i < SHRT_MIN ? SHRT_MIN : i > SHRT_MAX ? SHRT_MAX : i);                     \
    }                                                                                              \
    SIMT_INLINE unsigned short SIMT_OF(2ushort##suffix)(SIMT_T a)                                  \
    {                                                                                              \
        const unsigned i = __float2uint##suffix(a);                                                \
        return (unsigned short)(i > USHRT_MAX ? USHRT_MAX : i);                                    \
    }
SIMT_ROUND(_rn, SIMT_RN)
SIMT_ROUND(_rz, SIMT_RZ)
SIMT_ROUND(_ru, SIMT_RU)
SIMT_ROUND(_rd, SIMT_RD)
#undef SIMT_ROUND
SIMT_INLINE signed char SIMT_OF(2char_rz)(SIMT_T a)
{
    return a;
}
SIMT_INLINE unsigned char SIMT_OF(2uchar_rz)(SIMT_T a)
{
    return a;
}

// ---- pairs --------------------------------------------------------------------------------------

SIMT_INLINE SIMT_T2 SIMT_PASTE(make_, SIMT_N2, )(SIMT_T x, SIMT_T y)
{
    return SIMT_T2(x, y);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__halves2, SIMT_N2, )(SIMT_T x, SIMT_T y)
{
    return SIMT_T2(x, y);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(SIMT_ONE2, SIMT_N2, )(SIMT_T a)
{
    return SIMT_T2(a, a);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__float2, SIMT_N2, _rn)(float x)
{
    return SIMT_T2(x, x);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__floats2, SIMT_N2, _rn)(float x, float y)
{
    return SIMT_T2(x, y);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__float22, SIMT_N2, _rn)(float2 v)
{
    return SIMT_T2(v.x, v.y);
}
SIMT_INLINE float2 SIMT_PASTE(__, SIMT_N2, 2float2)(SIMT_T2 a)
{
    return make_float2(a.x, a.y);
}
SIMT_INLINE float __low2float(SIMT_T2 a)
{
    return a.x;
}
SIMT_INLINE float __high2float(SIMT_T2 a)
{
    return a.y;
}
SIMT_INLINE SIMT_T SIMT_PASTE(__low2, SIMT_N, )(SIMT_T2 a)
{
    return a.x;
}
SIMT_INLINE SIMT_T SIMT_PASTE(__high2, SIMT_N, )(SIMT_T2 a)
{
    return a.y;
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__low2, SIMT_N2, )(SIMT_T2 a)
{
    return SIMT_T2(a.x, a.x);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__high2, SIMT_N2, )(SIMT_T2 a)
{
    return SIMT_T2(a.y, a.y);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__lows2, SIMT_N2, )(SIMT_T2 a, SIMT_T2 b)
{
    return SIMT_T2(a.x, b.x);
}
SIMT_INLINE SIMT_T2 SIMT_PASTE(__highs2, SIMT_N2, )(SIMT_T2 a, SIMT_T2 b)
{
    return SIMT_T2(a.y, b.y);
}
SIMT_INLINE SIMT_T2 __lowhigh2highlow(SIMT_T2 a)
{
    return SIMT_T2(a.y, a.x);
}

// ---- arithmetic ---------------------------------------------------------------------------------

SIMT_INLINE SIMT_T __hneg(SIMT_T a)
{
    return SIMT_RAW{(unsigned short)(a.__x ^ 0x8000)};
}
SIMT_INLINE SIMT_T __habs(SIMT_T a)
{
    return SIMT_RAW{(unsigned short)(a.__x & 0x7fff)};
}
SIMT_INLINE SIMT_T __hfma(SIMT_T a, SIMT_T b, SIMT_T c)
{
    return simt_fma_odd((float)a, (float)b, (float)c);
}
SIMT_INLINE SIMT_T simt_saturate(SIMT_T a)
{
    return __saturatef(a);
}
SIMT_INLINE SIMT_T simt_relu(SIMT_T a)
{
    return (float)a < 0 ? 0.0f : (float)a;
}
SIMT_INLINE SIMT_T __hfma_sat(SIMT_T a, SIMT_T b, SIMT_T c)
{
    return simt_saturate(__hfma(a, b, c));
}
SIMT_INLINE SIMT_T __hfma_relu(SIMT_T a, SIMT_T b, SIMT_T c)
{
    return simt_relu(__hfma(a, b, c));
}
SIMT_INLINE SIMT_T2 __hfma2(SIMT_T2 a, SIMT_T2 b, SIMT_T2 c)
{
    return SIMT_T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
SIMT_INLINE SIMT_T2 __hfma2_sat(SIMT_T2 a, SIMT_T2 b, SIMT_T2 c)
{
    return SIMT_T2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
SIMT_INLINE SIMT_T2 __hfma2_relu(SIMT_T2 a, SIMT_T2 b, SIMT_T2 c)
{
    return SIMT_T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
SIMT_INLINE SIMT_T2 __hcmadd(SIMT_T2 a, SIMT_T2 b, SIMT_T2 c)
{
    return SIMT_T2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)),
                   __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

#define SIMT_BINARY(name, expression)                                                              \
    SIMT_INLINE SIMT_T __h##name(SIMT_T s, SIMT_T t)                                               \
    {                                                                                              \
        const float a = s, b = t;                                                                  \
        return expression;                                                                         \
    }
#define SIMT_PAIRED(name, one)                                                                     \
    SIMT_INLINE SIMT_T2 name(SIMT_T2 a, SIMT_T2 b)                                                 \
    {                                                                                              \
        return SIMT_T2(one(a.x, b.x), one(a.y, b.y));                                              \
    }
#define SIMT_ARITHMETIC(name, op)                                                                  \
    SIMT_BINARY(name, a op b)                                                                      \
    SIMT_PAIRED(__h##name##2, __h##name)                                                           \
    SIMT_INLINE SIMT_T operator op(SIMT_T a, SIMT_T b)                                             \
    {                                                                                              \
        return __h##name(a, b);                                                                    \
    }                                                                                              \
    SIMT_INLINE SIMT_T2 operator op(SIMT_T2 a, SIMT_T2 b)                                          \
    {                                                                                              \
        return __h##name##2(a, b);                                                                 \
    }                                                                                              \
    SIMT_INLINE SIMT_T &operator op##=(SIMT_T &a, SIMT_T b)                                        \
    {                                                                                              \
        return a = __h##name(a, b);                                                                \
    }                                                                                              \
    SIMT_INLINE SIMT_T2 &operator op##=(SIMT_T2 &a, SIMT_T2 b)                                     \
    {                                                                                              \
        return a = __h##name##2(a, b);                                                             \
    }
#define SIMT_VARIANTS(name, op)                                                                    \
    SIMT_ARITHMETIC(name, op)                                                                      \
    SIMT_BINARY(name##_rn, a op b)                                                                 \
    SIMT_BINARY(name##_sat, simt_saturate(SIMT_T(a op b)))                                         \
    SIMT_PAIRED(__h##name##2_rn, __h##name)                                                        \
    SIMT_PAIRED(__h##name##2_sat, __h##name##_sat)
SIMT_VARIANTS(add, +)
SIMT_VARIANTS(sub, -)
SIMT_VARIANTS(mul, *)
SIMT_ARITHMETIC(div, /)
SIMT_PAIRED(__h2div, __hdiv)
SIMT_BINARY(max, a != a ? b : b != b ? a : a > b || (a == b && !__builtin_signbit(a)) ? a : b)
SIMT_BINARY(min, a != a ? b : b != b ? a : a < b || (a == b && __builtin_signbit(a)) ? a : b)
SIMT_BINARY(max_nan, a != a || b != b ? NAN : (float)__hmax(s, t))
SIMT_BINARY(min_nan, a != a || b != b ? NAN : (float)__hmin(s, t))
SIMT_PAIRED(__hmax2, __hmax)
SIMT_PAIRED(__hmin2, __hmin)
SIMT_PAIRED(__hmax2_nan, __hmax_nan)
SIMT_PAIRED(__hmin2_nan, __hmin_nan)
#undef SIMT_VARIANTS
#undef SIMT_ARITHMETIC
#undef SIMT_PAIRED
#undef SIMT_BINARY

SIMT_INLINE SIMT_T2 __hneg2(SIMT_T2 a)
{
    return SIMT_T2(__hneg(a.x), __hneg(a.y));
}
SIMT_INLINE SIMT_T2 __habs2(SIMT_T2 a)
{
    return SIMT_T2(__habs(a.x), __habs(a.y));
}
#define SIMT_SIGNS(T, one, negate)                                                                 \
    SIMT_INLINE T operator+(T a)                                                                   \
    {                                                                                              \
        return a;                                                                                  \
    }                                                                                              \
    SIMT_INLINE T operator-(T a)                                                                   \
    {                                                                                              \
        return negate(a);                                                                          \
    }                                                                                              \
    SIMT_INLINE T &operator++(T &a)                                                                \
    {                                                                                              \
        return a = a + one;                                                                        \
    }                                                                                              \
    SIMT_INLINE T &operator--(T &a)                                                                \
    {                                                                                              \
        return a = a - one;                                                                        \
    }                                                                                              \
    SIMT_INLINE T operator++(T &a, int)                                                            \
    {                                                                                              \
        const T old = a;                                                                           \
        a = old + one;                                                                             \
        return old;                                                                                \
    }                                                                                              \
    SIMT_INLINE T operator--(T &a, int)                                                            \
    {                                                                                              \
        const T old = a;                                                                           \
        a = old - one;                                                                             \
        return old;                                                                                \
    }
SIMT_SIGNS(SIMT_T, SIMT_T(1.0f), __hneg)
SIMT_SIGNS(SIMT_T2, SIMT_T2(1.0f, 1.0f), __hneg2)
#undef SIMT_SIGNS

// ---- comparisons: the ones with a u are true for what is not a number --------------------------

#define SIMT_COMPARE_ONE(name, expression)                                                         \
    SIMT_INLINE bool __h##name(SIMT_T s, SIMT_T t)                                                 \
    {                                                                                              \
        const float a = s, b = t;                                                                  \
        return expression;                                                                         \
    }                                                                                              \
    SIMT_INLINE SIMT_T2 __h##name##2(SIMT_T2 a, SIMT_T2 b)                                         \
    {                                                                                              \
        return SIMT_T2(__h##name(a.x, b.x) ? 1.0f : 0.0f, __h##name(a.y, b.y) ? 1.0f : 0.0f);      \
    }                                                                                              \
    SIMT_INLINE unsigned __h##name##2_mask(SIMT_T2 a, SIMT_T2 b)                                   \
    {                                                                                              \
        return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);      \
    }                                                                                              \
    SIMT_INLINE bool __hb##name##2(SIMT_T2 a, SIMT_T2 b)                                           \
    {                                                                                              \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                         \
    }
#define SIMT_COMPARE(name, op)                                                                     \
    SIMT_COMPARE_ONE(name, a == a && b == b && a op b)                                             \
    SIMT_COMPARE_ONE(name##u, a != a || b != b || a op b)                                          \
    SIMT_INLINE bool operator op(SIMT_T a, SIMT_T b)                                               \
    {                                                                                              \
        return (float)a op(float) b;                                                               \
    }                                                                                              \
    SIMT_INLINE bool operator op(SIMT_T2 a, SIMT_T2 b)                                             \
    {                                                                                              \
        return (float)a.x op(float) b.x && (float)a.y op(float) b.y;                               \
    }
SIMT_COMPARE(eq, ==)
SIMT_COMPARE(ne, !=)
SIMT_COMPARE(lt, <)
SIMT_COMPARE(le, <=)
SIMT_COMPARE(gt, >)
SIMT_COMPARE(ge, >=)
#undef SIMT_COMPARE
#undef SIMT_COMPARE_ONE
SIMT_INLINE bool __hisnan(SIMT_T a)
{
    return (float)a != (float)a;
}
SIMT_INLINE SIMT_T2 __hisnan2(SIMT_T2 a)
{
    return SIMT_T2(__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f);
}
SIMT_INLINE int __hisinf(SIMT_T a)
{
    return fabsf(a) == HUGE_VALF ? (float)a < 0 ? -1 : 1 : 0;
}

// ---- functions ----------------------------------------------------------------------------------

#define SIMT_FUNCTION(name, expression)                                                            \
    SIMT_INLINE SIMT_T h##name(SIMT_T s)                                                           \
    {                                                                                              \
        const float a = s;                                                                         \
        return expression;                                                                         \
    }                                                                                              \
    SIMT_INLINE SIMT_T2 h2##name(SIMT_T2 a)                                                        \
    {                                                                                              \
        return SIMT_T2(h##name(a.x), h##name(a.y));                                                \
    }
SIMT_FUNCTION(sqrt, sqrtf(a))
SIMT_FUNCTION(rsqrt, 1.0 / sqrt((double)a))
SIMT_FUNCTION(rcp, 1.0 / (double)a)
SIMT_FUNCTION(exp, expf(a))
SIMT_FUNCTION(exp2, exp2f(a))
SIMT_FUNCTION(exp10, pow(10.0, (double)a))
SIMT_FUNCTION(log, logf(a))
SIMT_FUNCTION(log2, log2f(a))
SIMT_FUNCTION(log10, log10f(a))
SIMT_FUNCTION(sin, sinf(a))
SIMT_FUNCTION(cos, cosf(a))
SIMT_FUNCTION(tanh, tanhf(a))
SIMT_FUNCTION(tanh_approx, tanhf(a))
SIMT_FUNCTION(ceil, ceilf(a))
SIMT_FUNCTION(floor, floorf(a))
SIMT_FUNCTION(trunc, truncf(a))
SIMT_FUNCTION(rint, rintf(a))
#undef SIMT_FUNCTION

// ---- warps and memory ---------------------------------------------------------------------------

SIMT_SHUFFLES(SIMT_T)
SIMT_SHUFFLES(SIMT_T2)

#define SIMT_ADD(T, name)                                                                          \
    SIMT_INLINE T name(T *p, T value)                                                              \
    {                                                                                              \
        return simt_atomic_add(p, value);                                                          \
    }
SIMT_ADD(SIMT_T, atomicAdd)
SIMT_ADD(SIMT_T, atomicAdd_block)
SIMT_ADD(SIMT_T, atomicAdd_system)
SIMT_ADD(SIMT_T2, atomicAdd)
SIMT_ADD(SIMT_T2, atomicAdd_block)
SIMT_ADD(SIMT_T2, atomicAdd_system)
#undef SIMT_ADD

#undef SIMT_PASTE_
#undef SIMT_PASTE
#undef SIMT_TO
#undef SIMT_OF
#undef SIMT_RAW
#undef SIMT_RAW2
#undef SIMT_FROM

// SPDX-License-Identifier: MIT
//
// sorts.h: what the tests of all sorts ask, and that of top_k. device.h comes first.

#ifndef SORTS_H
#define SORTS_H

#include <algorithm>

// The shapes of keys that a test makes; each makes some of them.
enum shape { RANDOM, FEW, SORTED, REVERSED, CONSTANT, SKEWED, NEARLY, GREATEST, SAWTOOTH, RARE };
static const char *const shape_names[] = {
    "random", "few values",    "sorted",           "reversed", "constant",
    "skewed", "nearly sorted", "many of all ones", "sawtooth", "rare"};

// The key as a number in the order wanted, worked out in another way than the headers'.
template <class K> static uint64_t order_of(K x)
{
    return (uint64_t)x + ((K)-1 < (K)0 ? 1ULL << (8 * sizeof(K) - 1) : 0);
}
// A float's order, by its sign and magnitude: NaN behind infinity, and negative NaN behind those.
template <class B> static uint64_t order_of_bits(B bits, B infinite)
{
    const B sign = (B)((B)1 << (8 * sizeof(B) - 1)), all = (B)~sign, magnitude = bits & all;
    if (!(bits & sign))
        return (uint64_t)infinite + 1 + magnitude;
    return magnitude <= infinite ? (uint64_t)(infinite - magnitude)
                                 : (uint64_t)infinite + 2 + all + (all - magnitude);
}
static inline uint64_t order_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(x));
    return order_of_bits(bits, (uint32_t)0x7f800000);
}
static inline uint64_t order_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(x));
    return order_of_bits(bits, (uint64_t)0x7ff0000000000000);
}

template <class K> static K key_of(uint64_t bits)
{
    K key;
    memcpy((void *)&key, &bits, sizeof(key));
    return key;
}

// Keys of a shape, for sorts by those orders.
template <class K> static std::vector<K> make(shape of, size_t n, uint64_t seed)
{
    std::vector<K> x(n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = test_random(seed, i);
        x[i] = of == FEW        ? key_of<K>(bits % 5 * 0x3f81c10305010207 + bits % 3)
               : of == CONSTANT ? key_of<K>(0x4040404040404040)
               : of == SKEWED   ? key_of<K>(bits % 8 ? 0x0101010101010101 : bits >> 8)
               : of == GREATEST ? key_of<K>(bits % 2 ? ~0ULL >> (bits % 6 == 1) : bits)
                                : key_of<K>(bits);
    }
    // Now and then what floating-point numbers have.
    for (size_t i = 0; of == RANDOM && i < n; i += 7) {
        const uint64_t special[] = {0,
                                    1ULL << (8 * sizeof(K) - 1),
                                    sizeof(K) == 4 ? 0x7f800000u : 0x7ff0000000000000,
                                    sizeof(K) == 4 ? 0xff800000u : 0xfff0000000000000,
                                    sizeof(K) == 4 ? 0x7fc00001u : 0x7ff8000000000001,
                                    sizeof(K) == 4 ? 0xffc00001u : 0xfff8000000000001};
        x[i] = key_of<K>(special[i / 7 % 6]);
    }
    if (of == SORTED || of == REVERSED || of == NEARLY)
        std::stable_sort(x.begin(), x.end(), [&](K a, K b) {
            return of == REVERSED ? order_of(b) < order_of(a) : order_of(a) < order_of(b);
        });
    // Here and there, two neighbours the wrong way round.
    for (size_t i = 1; of == NEARLY && i < n; i += 1 + test_random(seed, i) % 200)
        std::swap(x[i - 1], x[i]);
    return x;
}

template <class V> static V value_of(size_t i)
{
    V value;
    uint64_t bits[(sizeof(V) + 7) / 8];
    for (size_t w = 0; w < sizeof(bits) / 8; w++)
        bits[w] = i * 0x9E3779B97F4A7C15 + w;
    memcpy((void *)&value, bits, sizeof(value));
    return value;
}

// What a sort reads and writes, of which it gets from, to and the values: the keys x, and beside each a value of its own.
// Without values, V is char, and there is none. in_place: 1 the keys, 2 the values, 3 both.
template <class K, class V> struct sort_arrays {
    const std::vector<K> x;
    const size_t n, m;
    const int in_place;
    const test_array in, in_values, out, out_values;
    std::vector<V> v;
    const K *const from;
    K *const to;
    const V *const from_values;
    V *const to_values;

    sort_arrays(const std::vector<K> &x, bool values, size_t in_offset, size_t out_offset,
                int in_place)
        : x(x), n(x.size()), m(values ? n : 0), in_place(in_place),
          in(n * sizeof(K), in_offset * sizeof(K)), in_values(m * sizeof(V), in_offset * sizeof(V)),
          out(n * sizeof(K), out_offset * sizeof(K)),
          out_values(m * sizeof(V), out_offset * sizeof(V)), v(m), from((const K *)in.get()),
          to((K *)(in_place & 1 ? in : out).get()), from_values((const V *)in_values.get()),
          to_values((V *)(in_place & 2 ? in_values : out_values).get())
    {
        for (size_t i = 0; i < m; i++)
            v[i] = value_of<V>(i);
    }

    void fill() const
    {
        in.fill(x.data());
        in_values.fill(v.data());
    }

    // Of a launch that is over; "" if it did what it is to: the keys of each segment in a stable order, their values, and
    // nothing else. before(a, b): whether key a comes before key b. ends: of the segments, and first where the first one
    // begins.
    template <class F, class O> const char *wrong(const F &before, const std::vector<O> &ends) const
    {
        const size_t first = (size_t)ends.front(), last = (size_t)ends.back();
        const std::vector<unsigned char> poison(std::max(sizeof(K), sizeof(V)), POISON);
        std::vector<size_t> at(n);
        std::vector<K> got(n), again(n);
        std::vector<V> got_values(m);
        for (size_t i = 0; i < n; i++)
            at[i] = i;
        for (size_t e = 0; e + 1 < ends.size(); e++)
            std::stable_sort(at.begin() + (ptrdiff_t)ends[e], at.begin() + (ptrdiff_t)ends[e + 1],
                             [&](size_t a, size_t b) { return before(x[a], x[b]); });
        (in_place & 1 ? in : out).read(got.data());
        (in_place & 2 ? in_values : out_values).read(got_values.data());
        in.read(again.data());
        for (size_t i = 0; i < n; i++) {
            // What is in no segment is as it was: that of in, or what no one wrote.
            const bool none = i < first || i >= last;
            const void *const key =
                none && !(in_place & 1) ? (const void *)poison.data() : &x[at[i]];
            if (memcmp((const void *)&got[i], key, sizeof(K)) != 0)
                return none ? "wrote what is in no segment" : "wrong keys";
            if (m == 0)
                continue;
            const void *const value =
                none && !(in_place & 2) ? (const void *)poison.data() : &v[at[i]];
            if (memcmp((const void *)&got_values[i], value, sizeof(V)) != 0)
                return none ? "wrote a value of no segment" : "wrong values";
        }
        if (!(in_place & 1) && n > 0 &&
            memcmp((const void *)again.data(), (const void *)x.data(), n * sizeof(K)) != 0)
            return "changed its input";
        return in.intact() && out.intact() && in_values.intact() && out_values.intact()
                   ? ""
                   : "wrote outside its arrays";
    }
    template <class F> const char *wrong(const F &before) const
    {
        return wrong(before, std::vector<size_t>{0, n});
    }

    bool untouched() const
    {
        return in.untouched() && out.untouched() && in_values.untouched() && out_values.untouched();
    }
};

// Whether launches refuse wrong arrays and scratch. launch(in, out, in_values, out_values, scratch, less): of all keys, with so
// many bytes of scratch less than it needs.
template <class K, class V, class L>
static bool refuses(const sort_arrays<K, V> &arrays, void *scratch, const L &launch)
{
    const K *const x = arrays.from;
    K *const y = arrays.to;
    const V *const v = arrays.from_values;
    V *const w = arrays.to_values;
    bool ok = true;
    const auto wrong = [&](const K *from, K *to, const V *from_values, V *to_values, void *with,
                           size_t less) {
        ok &= launch(from, to, from_values, to_values, with, less) == cudaErrorInvalidValue;
    };
    wrong(NULL, y, v, w, scratch, 0);
    wrong(x, NULL, v, w, scratch, 0);
    wrong((const K *)((const char *)x + 1), y, v, w, scratch, 0);
    wrong(x, (K *)((char *)y + 1), v, w, scratch, 0);
    if (arrays.m > 0) {
        wrong(x, y, NULL, w, scratch, 0);
        wrong(x, y, v, NULL, scratch, 0);
        wrong(x, y, (const V *)((const char *)v + 1), w, scratch, 0);
        wrong(x, y, v, (V *)((char *)w + 1), scratch, 0);
    }
    wrong(x, y, v, w, NULL, 0);
    wrong(x, y, v, w, (char *)scratch + 1, 0);
    wrong(x, y, v, w, (char *)scratch + 8, 0);
    wrong(x, y, v, w, scratch, 1);
    return ok;
}

// launch(in, out, in_values, out_values, n, scratch, scratch_bytes)
template <class K, class V, class L>
static void check_sort_errors(const char *name, bool values, size_t (*scratch_bytes)(size_t),
                              const L &launch)
{
    const sort_arrays<K, V> arrays(std::vector<K>(2000), values, 0, 0, 0);
    const size_t n = arrays.n, bytes = scratch_bytes(n);
    const test_array scratch(bytes);
    const auto refuses_size = [&](size_t many, size_t with_bytes) {
        return launch(arrays.from, arrays.to, arrays.from_values, arrays.to_values, many,
                      scratch.get(), with_bytes) == cudaErrorInvalidValue;
    };
    bool ok = refuses(
        arrays, scratch.get(),
        [&](const K *from, K *to, const V *from_values, V *to_values, void *with, size_t less) {
            return launch(from, to, from_values, to_values, n, with, bytes - less);
        });
    ok &= refuses_size(SIZE_MAX / sizeof(K), SIZE_MAX) && refuses_size(SIZE_MAX, bytes);
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", name);
    ok = launch(NULL, NULL, NULL, NULL, 0, NULL, 0) == cudaSuccess;
    tap_ok(ok && arrays.untouched() && scratch.untouched(),
           "%s: wrong arguments, and no keys, write nothing", name);
    for (size_t m = 1; m <= n; m = m * 3 / 2 + 1)
        ok &= scratch_bytes(m) <= bytes;
    tap_ok(ok, "%s: scratch for n is enough for less", name);
}

#if !defined(SIMT) && !defined(TEST_FIRST)
// Of keys alone. scratch_init(scratch, bytes), launch(in, out, n, scratch, bytes, stream)
template <class I, class L>
static void check_graph(size_t (*scratch_bytes)(size_t), const I &scratch_init, const L &launch)
{
    const size_t n = 100003;
    std::vector<unsigned int> x = make<unsigned int>(RANDOM, n, 9);
    const test_array in(n * 4), out(n * 4), scratch(scratch_bytes(n));
    in.fill(x.data());
    std::stable_sort(x.begin(), x.end());
    CHECK(scratch_init(scratch.get(), scratch.bytes));
    const bool ok = test_graph(
        out,
        [&](cudaStream_t stream) {
            CHECK(launch((const unsigned int *)in.get(), (unsigned int *)out.get(), n,
                         scratch.get(), scratch.bytes, stream));
        },
        [&] { return out.holds(x); });
    tap_ok(ok, "is captured in a graph and replayed");
}

// Descents within [start, end), and where there each key ends.
static __global__ void look_at_big(const unsigned char *out, size_t start, size_t end,
                                   unsigned long long *found)
{
    for (size_t i = start + blockIdx.x * (size_t)256 + threadIdx.x; i < end;
         i += (size_t)gridDim.x * 256) {
        if (i > start && out[i - 1] > out[i])
            atomicAdd(found + 256, 1ULL);
        if (i + 1 == end || out[i] != out[i + 1])
            atomicAdd(found + out[i], (unsigned long long)(i + 1 - start));
    }
}

// Whether there is, in order, what test_fill put in [start, end).
static bool big_sorted(const unsigned char *out, size_t start, size_t end)
{
    const test_array found(257 * 8);
    std::vector<unsigned long long> want(257);
    unsigned long long sum = 0;
    for (size_t i = start; i < end && i < start + 100003; i++) // it comes again
        want[i % 100003 % 251] += (end - i + 100002) / 100003;
    for (size_t key = 0; key < 251; key++) {
        sum += want[key];
        want[key] = want[key] > 0 ? sum : 0;
    }
    found.zero();
    look_at_big<<<4096, 256>>>(out, start, end, (unsigned long long *)found.get());
    CHECK(cudaDeviceSynchronize());
    return found.holds(want);
}

// As for check_graph.
template <class I, class L>
static void check_big(size_t (*scratch_bytes)(size_t), const I &scratch_init, const L &launch)
{
    const size_t n = ((size_t)1 << 32) + 4099;
    if (!test_room("n > 2^32", 2 * n + scratch_bytes(n)))
        return;
    const test_array in(n, 1), out(n, 4), scratch(scratch_bytes(n));
    unsigned char *const x = (unsigned char *)in.get(), *const y = (unsigned char *)out.get();
    test_fill<<<4096, 256>>>(x, n);
    CHECK(scratch_init(scratch.get(), scratch.bytes));
    CHECK(launch((const unsigned char *)x, y, n, scratch.get(), scratch.bytes, 0));
    tap_ok(big_sorted(y, 0, n), "n = 2^32 + 4099");
}
#endif

#endif // SORTS_H

// SPDX-License-Identifier: MIT
//
// sorts.h: what the tests of all sorts ask. device.h comes first.

#ifndef SORTS_H
#define SORTS_H

#include <algorithm>

// The shapes of keys that a test makes; each makes some of them.
enum shape { RANDOM, FEW, SORTED, REVERSED, CONSTANT, SKEWED, NEARLY };
static const char *const shape_names[] = {"random",   "few values", "sorted",       "reversed",
                                          "constant", "skewed",     "nearly sorted"};

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

    // Of a launch that is over; "" if it did what it is to: the keys in a stable order, their values, and nothing else.
    // before(a, b): whether key a comes before key b.
    template <class F> const char *wrong(const F &before) const
    {
        std::vector<size_t> at(n);
        std::vector<K> got(n), again(n);
        std::vector<V> got_values(m);
        for (size_t i = 0; i < n; i++)
            at[i] = i;
        std::stable_sort(at.begin(), at.end(),
                         [&](size_t a, size_t b) { return before(x[a], x[b]); });
        (in_place & 1 ? in : out).read(got.data());
        (in_place & 2 ? in_values : out_values).read(got_values.data());
        in.read(again.data());
        for (size_t i = 0; i < n; i++) {
            if (memcmp((const void *)&got[i], (const void *)&x[at[i]], sizeof(K)) != 0)
                return "wrong keys";
            if (m > 0 && memcmp((const void *)&got_values[i], (const void *)&v[at[i]], sizeof(V)))
                return "wrong values";
        }
        if (!(in_place & 1) && n > 0 &&
            memcmp((const void *)again.data(), (const void *)x.data(), n * sizeof(K)) != 0)
            return "changed its input";
        return in.intact() && out.intact() && in_values.intact() && out_values.intact()
                   ? ""
                   : "wrote outside its arrays";
    }
};

// launch(in, out, in_values, out_values, n, scratch, scratch_bytes)
template <class K, class V, class L>
static void check_sort_errors(const char *name, bool values, size_t (*scratch_bytes)(size_t),
                              const L &launch)
{
    const size_t n = 2000, bytes = scratch_bytes(n);
    const test_array in(n * sizeof(K)), out(n * sizeof(K)), scratch(bytes);
    const test_array in_values(n * sizeof(V)), out_values(n * sizeof(V));
    K *const x = (K *)in.get(), *const y = (K *)out.get(), *const none = NULL;
    V *const v = (V *)in_values.get(), *const w = (V *)out_values.get(), *const no_values = NULL;
    bool ok = true;
    const auto wrong = [&](K *from, K *to, V *from_values, V *to_values, size_t many, void *with,
                           size_t with_bytes) {
        ok &= launch(from, to, from_values, to_values, many, with, with_bytes) ==
              cudaErrorInvalidValue;
    };
    wrong(none, y, v, w, n, scratch.get(), bytes);
    wrong(x, none, v, w, n, scratch.get(), bytes);
    wrong((K *)((char *)x + 1), y, v, w, n, scratch.get(), bytes);
    wrong(x, (K *)((char *)y + 1), v, w, n, scratch.get(), bytes);
    if (values) {
        wrong(x, y, no_values, w, n, scratch.get(), bytes);
        wrong(x, y, v, no_values, n, scratch.get(), bytes);
        wrong(x, y, (V *)((char *)v + 1), w, n, scratch.get(), bytes);
        wrong(x, y, v, (V *)((char *)w + 1), n, scratch.get(), bytes);
    }
    wrong(x, y, v, w, SIZE_MAX / sizeof(K), scratch.get(), SIZE_MAX);
    wrong(x, y, v, w, SIZE_MAX, scratch.get(), bytes);
    wrong(x, y, v, w, n, NULL, bytes);
    wrong(x, y, v, w, n, scratch.get(), bytes - 1);
    wrong(x, y, v, w, n, (char *)scratch.get() + 1, bytes);
    wrong(x, y, v, w, n, (char *)scratch.get() + 8, bytes);
    tap_ok(ok, "%s: wrong arguments return cudaErrorInvalidValue", name);
    ok = launch(none, none, no_values, no_values, 0, NULL, 0) == cudaSuccess;
    tap_ok(ok && in.untouched() && out.untouched() && in_values.untouched() &&
               out_values.untouched() && scratch.untouched(),
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
    std::vector<unsigned int> x(n), got(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (unsigned int)test_random(9, i);
    const test_array in(n * 4), out(n * 4), scratch(scratch_bytes(n));
    in.fill(x.data());
    std::stable_sort(x.begin(), x.end());
    CHECK(scratch_init(scratch.get(), scratch.bytes));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(launch((const unsigned int *)in.get(), (unsigned int *)out.get(), n, scratch.get(),
                 scratch.bytes, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    bool ok = true;
    for (int k = 0; k < 3; k++) {
        CHECK(cudaMemset(out.get(), POISON, n * 4));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        out.read(got.data());
        ok &= got == x;
    }
    tap_ok(ok, "is captured in a graph and replayed");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

static __global__ void fill_big(unsigned char *data, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        data[i] = (unsigned char)(i % 100003 % 251);
}

// Descents, and where each key's last one is.
static __global__ void look_at_big(const unsigned char *out, size_t n, unsigned long long *found)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256) {
        if (i > 0 && out[i - 1] > out[i])
            atomicAdd(found + 256, 1ULL);
        if (i + 1 == n || out[i] != out[i + 1])
            atomicAdd(found + out[i], (unsigned long long)i + 1);
    }
}

// As for check_graph.
template <class I, class L>
static void check_big(size_t (*scratch_bytes)(size_t), const I &scratch_init, const L &launch)
{
    const size_t n = ((size_t)1 << 32) + 4099;
    unsigned char *in = NULL;
    if (test_quick()) {
        tap_skip("n > 2^32: quick");
        return;
    }
    if (cudaMalloc((void **)&in, 2 * n + scratch_bytes(n) + 8192) != cudaSuccess) {
        cudaGetLastError();
        tap_skip("n > 2^32: not that much memory");
        return;
    }
    CHECK(cudaFree(in));
    CHECK(cudaMalloc((void **)&in, 2 * n + 1));
    unsigned char *const out = in + 1 + n;
    const test_array scratch(scratch_bytes(n)), ends(257 * 8);
    std::vector<unsigned long long> found(257), want(257);
    const cudaLaunchConfig_t config = {dim3(4096), dim3(256), 0, 0, NULL, 0};
    for (size_t key = 0; key < 251; key++) {
        const size_t left = n % 100003;
        want[key] = (key > 0 ? want[key - 1] : 0) +
                    n / 100003 * (100003 / 251 + (100003 % 251 > key)) + left / 251 +
                    (left % 251 > key);
    }
    CHECK(cudaLaunchKernelEx(&config, fill_big, in + 1, n));
    CHECK(scratch_init(scratch.get(), scratch.bytes));
    CHECK(launch(in + 1, out, n, scratch.get(), scratch.bytes, 0));
    ends.zero();
    CHECK(cudaLaunchKernelEx(&config, look_at_big, (const unsigned char *)out, n,
                             (unsigned long long *)ends.get()));
    CHECK(cudaDeviceSynchronize());
    ends.read(found.data());
    tap_ok(found == want, "n = 2^32 + 4099");
    CHECK(cudaFree(in));
}
#endif

#endif // SORTS_H

// SPDX-License-Identifier: MIT
//
// bench/sort_segments.cu: many sorts at once, of rows and of segments that offsets give, of one length or of lengths far
// apart. sort_segments.h beside cub::DeviceSegmentedSort and a device copy.

#include "harness.h"
#include "segments.h"

#include <coarsen/base.h>
#include <cub/device/device_segmented_sort.cuh>

#define COARSEN_NAME sort_u32
#define COARSEN_TYPE unsigned int
#include <coarsen/sort_segments.h>

#define COARSEN_NAME sort_f32
#define COARSEN_TYPE float
#include <coarsen/sort_segments.h>

#define COARSEN_NAME sort_u64
#define COARSEN_TYPE unsigned long long
#include <coarsen/sort_segments.h>

#define COARSEN_NAME  sort_u32_u32
#define COARSEN_TYPE  unsigned int
#define COARSEN_VALUE unsigned int
#include <coarsen/sort_segments.h>

struct none { // of values
    char nothing;
};

template <class K, class V> struct sorter {
    const char *type;
    std::function<size_t(size_t, size_t)> scratch_bytes, scratch_bytes_rows;
    std::function<cudaError_t(const K *, K *, const V *, V *, size_t, const int *, size_t, void *,
                              size_t, cudaStream_t)>
        launch;
    std::function<cudaError_t(const K *, K *, const V *, V *, size_t, size_t, void *, size_t,
                              cudaStream_t)>
        launch_rows;
};

#define KEYS(name, type, K)                                                                        \
    sorter<K, none>                                                                                \
    {                                                                                              \
        type, name##_scratch_bytes, name##_scratch_bytes_rows,                                     \
            [](const K *in, K *out, const none *, none *, size_t n, const int *offsets,            \
               size_t segments, void *scratch, size_t bytes, cudaStream_t stream) {                \
                return name##_launch(in, out, n, offsets, segments, scratch, bytes, stream);       \
            },                                                                                     \
            [](const K *in, K *out, const none *, none *, size_t rows, size_t width,               \
               void *scratch, size_t bytes, cudaStream_t stream) {                                 \
                return name##_launch_rows(in, out, rows, width, scratch, bytes, stream);           \
            }                                                                                      \
    }

// ---- the check: order, the sum of a hash of each key and its segment, and with values the keys they came from -------

// Which segment an element is in.
__device__ static size_t segment_of(const int *offsets, size_t segments, size_t i)
{
    size_t low = 0, high = segments; // offsets[low] <= i < offsets[high]
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if ((size_t)offsets[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

template <typename K, typename V>
__global__ void look(const K *in, const K *out, const V *values, size_t n, const int *offsets,
                     size_t segments, unsigned long long *found)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    unsigned long long of_in = 0, of_out = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads) {
        const size_t s = segment_of(offsets, segments, i);
        unsigned long long bits = 0;
        memcpy(&bits, in + i, sizeof(K));
        of_in += bench_mixed(bits + s * 0x9E3779B97F4A7C15);
        bits = 0;
        memcpy(&bits, out + i, sizeof(K));
        of_out += bench_mixed(bits + s * 0x9E3779B97F4A7C15);
        const bool first = i == (size_t)offsets[s];
        bool ok = first || !(out[i] < out[i - 1]);
        if (sizeof(V) >= 4) { // each value is the index that its key had
            unsigned int from = 0, before = 0;
            memcpy(&from, values + i, 4);
            if (i > 0)
                memcpy(&before, values + i - 1, 4);
            ok = ok && from < n && in[from] == out[i] &&
                 (first || out[i - 1] < out[i] || before < from);
        }
        if (!ok)
            atomicMin(found + 2, (unsigned long long)i);
    }
    atomicAdd(found, of_in);
    atomicAdd(found + 1, of_out);
}

// ---- contests -------------------------------------------------------------------------------------

template <class K, class V>
static void sorts(bench &b, const sorter<K, V> &s, const std::string &name,
                  const std::vector<int> &offsets, size_t width)
{
    const bool pairs = sizeof(V) >= 4;
    const size_t n = (size_t)offsets.back(), segments = offsets.size() - 1, m = pairs ? n : 1;
    const double each = sizeof(K) + (pairs ? sizeof(V) : 0);
    if (!b.fits(5 * each * (double)n, ("sort_segments, " + name).c_str()))
        return;
    const std::shared_ptr<void> input = bench_alloc(n * sizeof(K)),
                                output = bench_alloc(n * sizeof(K)),
                                values = bench_alloc(m * sizeof(V)),
                                output_values = bench_alloc(m * sizeof(V)),
                                where = bench_alloc(offsets.size() * 4), found = bench_alloc(24);
    K *const in = (K *)input.get(), *const out = (K *)output.get();
    V *const in_values = (V *)values.get(), *const out_values = (V *)output_values.get();
    int *const at = (int *)where.get();
    bench_fill(in, n, 1);
    bench_number<<<2048, 256>>>(in_values, m);
    BENCH_CHECK(cudaMemcpy(at, offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice));

    bench_contest contest("sort_segments", s.type, n);
    contest.data = name;
    bench_entry sorted; // what all entries except the copy share
    sorted.bytes = 2 * each * (double)n;
    sorted.work = (double)n;
    sorted.poison = [=] {
        BENCH_CHECK(cudaMemset(out, 0x7f, n * sizeof(K)));
        BENCH_CHECK(cudaMemset(out_values, 0x7f, m * sizeof(V)));
    };
    sorted.check = [=](std::string *why) {
        unsigned long long *const words = (unsigned long long *)found.get();
        const unsigned long long begin[3] = {0, 0, ~0ull};
        unsigned long long end[3];
        BENCH_CHECK(cudaMemcpy(words, begin, 24, cudaMemcpyHostToDevice));
        look<<<4096, 256>>>((const K *)in, (const K *)out, (const V *)out_values, n,
                            (const int *)at, segments, words);
        BENCH_CHECK(cudaMemcpy(end, words, 24, cudaMemcpyDeviceToHost));
        *why = end[2] != ~0ull ? "element " + std::to_string(end[2]) : "other keys than before";
        return end[0] == end[1] && end[2] == ~0ull;
    };

    bench_entry copied =
        bench_copy({{out, in, n * sizeof(K)}, {out_values, in_values, pairs ? n * sizeof(V) : 0}},
                   sorted.poison);
    copied.work = sorted.work;
    contest.entries.push_back(copied);

    // Stable, as ours; of keys alone that is no difference.
    const auto run_cub = [=](void *scratch, size_t &bytes, cudaStream_t stream) {
        return pairs ? cub::DeviceSegmentedSort::StableSortPairs(
                           scratch, bytes, (const K *)in, out, (const V *)in_values, out_values,
                           (long long)n, (long long)segments, at, at + 1, stream)
                     : cub::DeviceSegmentedSort::SortKeys(scratch, bytes, (const K *)in, out,
                                                          (long long)n, (long long)segments, at,
                                                          at + 1, stream);
    };
    size_t cub_bytes = 0;
    BENCH_CHECK(run_cub(nullptr, cub_bytes, 0));
    const std::shared_ptr<void> cub_scratch = bench_alloc(cub_bytes);
    bench_entry cub = sorted;
    cub.kernel = "CUB";
    cub.waits = true; // for the numbers of segments of each size
    cub.launch = [=](cudaStream_t stream) {
        size_t bytes = cub_bytes;
        return run_cub(cub_scratch.get(), bytes, stream);
    };
    contest.entries.push_back(cub);

    const size_t bytes = s.scratch_bytes(n, segments);
    const std::shared_ptr<void> scratch = bench_alloc(bytes);
    bench_entry entry = sorted;
    entry.kernel = "by offsets";
    entry.launch = [=](cudaStream_t stream) {
        return s.launch(in, out, in_values, out_values, n, at, segments, scratch.get(), bytes,
                        stream);
    };
    contest.entries.push_back(entry);
    if (width > 0) {
        const size_t rows_bytes = s.scratch_bytes_rows(segments, width);
        const std::shared_ptr<void> rows_scratch = bench_alloc(rows_bytes);
        entry.kernel = "rows";
        entry.launch = [=](cudaStream_t stream) {
            return s.launch_rows(in, out, in_values, out_values, segments, width,
                                 rows_scratch.get(), rows_bytes, stream);
        };
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

template <class K, class V> static void all(bench &b, const sorter<K, V> &s, int e)
{
    const size_t n = (size_t)1 << e;
    for (int log : {2, 4, 6, 8, 10, 12, 16, e - 2}) {
        if (log > e)
            continue;
        std::vector<int> offsets;
        for (size_t i = 0; i <= n >> log; i++)
            offsets.push_back((int)(i << log));
        sorts(b, s, std::to_string((size_t)1 << log) + " each", offsets, (size_t)1 << log);
    }
    for (const shape &of : shapes)
        if (shape_fits(of, e))
            sorts(b, s, of.name, shape_offsets(of, n), 0);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Sorts of segments: coarsen's beside CUB's and a device copy.", "Gkeys/s", 12, 26});
    const sorter<unsigned int, unsigned int> pairs = {
        "u32 with u32", sort_u32_u32_scratch_bytes, sort_u32_u32_scratch_bytes_rows,
        sort_u32_u32_launch, sort_u32_u32_launch_rows};
    for (int e : {26}) {
        all(b, KEYS(sort_u32, "u32", unsigned int), e);
        all(b, pairs, e);
        all(b, KEYS(sort_u64, "u64", unsigned long long), e);
        all(b, KEYS(sort_f32, "float", float), e);
    }
    return b.finish();
}

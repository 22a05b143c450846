// SPDX-License-Identifier: MIT
//
// bench/top_k.cu: the k greatest of many numbers, and of each row of a matrix. top_k.h, which gives them in order and
// where they were, beside cub::DeviceTopK, which gives them in any order, and for rows cub::DeviceBatchedTopK, if their
// length allows, or a sort of all; and beside reduce.h, which only reads. And numbers that are not random.

#include "harness.h"

#include <coarsen/base.h>
#include <cub/device/device_batched_topk.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <cub/device/device_topk.cuh>
#include <cuda/iterator>

#define COARSEN_NAME     reading
#define COARSEN_TYPE     unsigned int
#define COARSEN_OP(a, b) ((a) | (b))
#define COARSEN_IDENTITY 0u
#include <coarsen/reduce.h>

#define COARSEN_NAME  top_f32
#define COARSEN_TYPE  float
#define COARSEN_INDEX unsigned int
#include <coarsen/top_k.h>

#define COARSEN_NAME  top_u8
#define COARSEN_TYPE  unsigned char
#define COARSEN_INDEX unsigned int
#include <coarsen/top_k.h>

#define COARSEN_NAME  top_f64
#define COARSEN_TYPE  double
#define COARSEN_INDEX unsigned int
#include <coarsen/top_k.h>

#define COARSEN_NAME  top_u64
#define COARSEN_TYPE  unsigned long long
#define COARSEN_INDEX unsigned int
#include <coarsen/top_k.h>

// ---- the data -------------------------------------------------------------------------------------------

enum shape { RANDOM, SORTED, REVERSED, CONSTANT, FEW, SAWTOOTH };
static const char *const shape_names[] = {"random",   "sorted",     "reversed",
                                          "constant", "few values", "sawtooth"};

template <typename K> __global__ void shape_keys(K *keys, size_t n, shape of)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += threads) {
        const size_t at = of == REVERSED ? n - 1 - i : of == SAWTOOTH ? i % 65536 : i;
        const double part = (double)at / (double)(of == SAWTOOTH ? 65536 : n);
        keys[i] = of == CONSTANT ? (K)77
                  : of == FEW    ? (K)(bench_random(7, i) % 5 * 40)
                                 : (K)(part * (sizeof(K) == 1 ? 250 : 4e9));
    }
}

// ---- the check ------------------------------------------------------------------------------------------

// A block per row. With indices: each is that of its number, the numbers are in order, and exactly k of the row's come
// no later than the last of them. Without: the least of the k is the k-th greatest of the row.
template <typename K>
__global__ void check_rows(const K *in, size_t width, const K *out, const unsigned int *indices,
                           unsigned int k, unsigned long long *wrong)
{
    __shared__ unsigned long long above, equal;
    const K *const row = in + blockIdx.x * width, *const mine = out + (size_t)blockIdx.x * k;
    const unsigned int *const at = indices ? indices + (size_t)blockIdx.x * k : nullptr;
    K least = mine[0];
    for (unsigned int j = 1; j < k; j++)
        least = mine[j] < least ? mine[j] : least;
    if (threadIdx.x == 0)
        above = equal = 0;
    __syncthreads();
    unsigned long long my_above = 0, my_equal = 0;
    for (size_t i = threadIdx.x; i < width; i += blockDim.x) {
        my_above += row[i] > least;
        my_equal += row[i] == least && (!at || i <= at[k - 1]);
    }
    atomicAdd(&above, my_above);
    atomicAdd(&equal, my_equal);
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    bool ok = above < k && (at ? above + equal == k : above + equal >= k);
    for (unsigned int j = 0; at && j < k; j++)
        ok = ok && at[j] < width && row[at[j]] == mine[j] &&
             (j == 0 || mine[j] < mine[j - 1] || (mine[j] == mine[j - 1] && at[j - 1] < at[j]));
    if (!ok)
        atomicMin(wrong, (unsigned long long)blockIdx.x);
}

// ---- CUB ------------------------------------------------------------------------------------------------

static auto cub_environment(cudaStream_t stream)
{
    return cuda::std::execution::env{
        cuda::stream_ref{stream},
        cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                 cuda::execution::tie_break::unspecified,
                                 cuda::execution::output_ordering::unsorted)};
}

template <typename K> struct row_of {
    K *first;
    size_t width;
    __host__ __device__ K *operator()(long long row) const
    {
        return first + (size_t)row * width;
    }
};

struct begin_of {
    int width;
    __host__ __device__ int operator()(int row) const
    {
        return row * width;
    }
};

template <typename K> using cub_run = std::function<cudaError_t(void *, size_t &, cudaStream_t)>;

template <int WIDTH, int MANY, typename K>
static cub_run<K> batched(const K *in, K *out, size_t rows)
{
    return [=](void *scratch, size_t &bytes, cudaStream_t stream) {
        const auto from = cuda::make_transform_iterator(cuda::make_counting_iterator(0ll),
                                                        row_of<const K>{in, (size_t)WIDTH});
        const auto to = cuda::make_transform_iterator(cuda::make_counting_iterator(0ll),
                                                      row_of<K>{out, (size_t)MANY});
        return cub::DeviceBatchedTopK::MaxKeys(
            scratch, bytes, from, to, cuda::args::constant<WIDTH>{}, cuda::args::constant<MANY>{},
            (long long)rows, cub_environment(stream));
    };
}

// ---- contests -------------------------------------------------------------------------------------------

template <typename K> struct ours {
    size_t (*scratch_bytes)(size_t, size_t, size_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    cudaError_t (*launch_rows)(const K *, size_t, size_t, size_t, size_t, K *, unsigned int *,
                               void *, size_t, cudaStream_t);
};
#define OURS(name)                                                                                 \
    {                                                                                              \
        name##_scratch_bytes, name##_scratch_init, name##_launch_rows                              \
    }
static const ours<float> of_f32 = OURS(top_f32);
static const ours<unsigned char> of_u8 = OURS(top_u8);
static const ours<double> of_f64 = OURS(top_f64);
static const ours<unsigned long long> of_u64 = OURS(top_u64);

// The k greatest of each of some rows.
template <typename K>
static void top(bench &b, const char *type, const ours<K> &top_k, size_t rows, size_t width,
                size_t k, shape of,
                std::function<cub_run<K>(const K *, K *, size_t)> batch = nullptr)
{
    const size_t n = rows * width;
    if (k > width || !b.fits(3.5 * sizeof(K) * (double)n, "top_k"))
        return;
    const std::shared_ptr<void> input = bench_alloc(n * sizeof(K)),
                                output =
                                    bench_alloc((batch || rows == 1 ? rows * k : n) * sizeof(K)),
                                indices = bench_alloc(rows * k * 4), sums = bench_alloc(16);
    K *const in = (K *)input.get(), *const out = (K *)output.get();
    unsigned int *const at = (unsigned int *)indices.get();
    bench_fill(in, n, 1);
    if (of != RANDOM)
        shape_keys<<<2048, 256>>>(in, n, of);

    bench_contest contest("top_k", type, n);
    contest.data = (rows == 1 ? "" : std::to_string(rows) + " x " + std::to_string(width) + ", ") +
                   "k = " + std::to_string(k) + ", " + shape_names[of];
    contest.copy = "reduce.h";
    const unsigned int threads = width < 256 ? 32 : 1024; // of the check
    const auto entry = [=](const char *kernel, bool indexed, bool checked) {
        bench_entry e;
        e.kernel = kernel;
        e.bytes = (double)n * sizeof(K);
        e.work = (double)n;
        e.poison = [=] {
            BENCH_CHECK(cudaMemset(out, 0, rows * k * sizeof(K)));
            BENCH_CHECK(cudaMemset(at, 0x7f, rows * k * 4));
        };
        e.check = [=](std::string *why) {
            return !checked || bench_all_right("row", why, [&](unsigned long long *wrong) {
                check_rows<<<(unsigned int)rows, threads>>>((const K *)in, width, (const K *)out,
                                                            indexed ? at : nullptr, (unsigned int)k,
                                                            wrong);
            });
        };
        return e;
    };

    bench_entry read = entry("reduce.h", false, false);
    const size_t words = n * sizeof(K) / 4, read_bytes = reading_scratch_bytes(words);
    const std::shared_ptr<void> read_scratch = bench_zeroed(read_bytes);
    read.launch = [=](cudaStream_t stream) {
        return reading_launch((const unsigned int *)in, (unsigned int *)sums.get(), words,
                              read_scratch.get(), read_bytes, stream);
    };
    contest.entries.push_back(read);

    std::vector<std::pair<const char *, cub_run<K>>> peers;
    if (rows == 1) {
        peers.push_back({"CUB", [=](void *scratch, size_t &bytes, cudaStream_t stream) {
                             return cub::DeviceTopK::MaxKeys(scratch, bytes, (const K *)in, out,
                                                             (int)n, (int)k,
                                                             cub_environment(stream));
                         }});
        peers.push_back({"CUB, indices", [=](void *scratch, size_t &bytes, cudaStream_t stream) {
                             return cub::DeviceTopK::MaxPairs(scratch, bytes, (const K *)in, out,
                                                              cuda::make_counting_iterator(0u), at,
                                                              (int)n, (int)k,
                                                              cub_environment(stream));
                         }});
    } else if (batch) {
        peers.push_back({"CUB", batch(in, out, rows)});
    } else {
        peers.push_back({"CUB", [=](void *scratch, size_t &bytes, cudaStream_t stream) {
                             const auto begins = cuda::make_transform_iterator(
                                 cuda::make_counting_iterator(0), begin_of{(int)width});
                             return cub::DeviceSegmentedSort::SortKeysDescending(
                                 scratch, bytes, (const K *)in, out, (int)n, (int)rows, begins,
                                 begins + 1, stream);
                         }});
    }
    for (const auto &peer : peers) {
        const cub_run<K> run = peer.second;
        size_t cub_bytes = 0;
        BENCH_CHECK(run(nullptr, cub_bytes, 0));
        const std::shared_ptr<void> scratch = bench_alloc(cub_bytes);
        bench_entry cub = entry(peer.first, false, rows == 1 || batch); // a sort has more
        cub.waits =
            rows > 1 && !batch; // a sort of segments, for the numbers of segments of each size
        cub.launch = [=](cudaStream_t stream) {
            size_t bytes = cub_bytes;
            return run(scratch.get(), bytes, stream);
        };
        contest.entries.push_back(cub);
    }

    const size_t scratch_bytes = top_k.scratch_bytes(rows, width, k);
    const std::shared_ptr<void> scratch = bench_alloc(scratch_bytes);
    BENCH_CHECK(top_k.scratch_init(scratch.get(), scratch_bytes, 0));
    bench_entry mine = entry("top_k.h", true, true);
    mine.launch = [=](cudaStream_t stream) {
        return top_k.launch_rows(in, width, rows, width, k, out, at, scratch.get(), scratch_bytes,
                                 stream);
    };
    contest.entries.push_back(mine);
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(
        argc, argv,
        {"The greatest of many, and of each row, beside CUB's and reduce.h.", "Gkeys/s", 10, 28});
    for (int e : b.exponents(2))
        top(b, "float", of_f32, 1, (size_t)1 << e, 100, RANDOM);
    for (int e : b.exponents(b.quick ? 14 : 8))
        for (size_t k : {1, 16, 1000})
            top(b, "float", of_f32, 1, (size_t)1 << e, k, RANDOM);
    for (int e : b.exponents(b.quick ? 14 : 8))
        for (shape of : {SORTED, REVERSED, CONSTANT, FEW, SAWTOOTH})
            top(b, "float", of_f32, 1, (size_t)1 << e, 100, of);
    for (int e : b.exponents(b.quick ? 14 : 8)) {
        top(b, "u8", of_u8, 1, (size_t)1 << e, 100, RANDOM);
        top(b, "double", of_f64, 1, (size_t)1 << e, 100, RANDOM);
        top(b, "u64", of_u64, 1, (size_t)1 << e, 100, RANDOM);
    }
    for (int e : b.exponents(b.quick ? 14 : 4)) {
        const size_t n = (size_t)1 << e;
        for (shape of : {RANDOM, SORTED, REVERSED, CONSTANT, FEW})
            if (n >= 4096)
                top<float>(b, "float", of_f32, n / 4096, 4096, 16, of, batched<4096, 16, float>);
        if (n >= 4096) {
            top<float>(b, "float", of_f32, n / 1024, 1024, 16, RANDOM, batched<1024, 16, float>);
            top<float>(b, "float", of_f32, n / 256, 256, 8, RANDOM, batched<256, 8, float>);
            top<float>(b, "float", of_f32, n / 64, 64, 8, RANDOM, batched<64, 8, float>);
            top<float>(b, "float", of_f32, n / 16, 16, 4, RANDOM, batched<16, 4, float>);
            top<float>(b, "float", of_f32, n / 4096, 4096, 100, RANDOM, batched<4096, 100, float>);
        }
        top(b, "float", of_f32, n >> 16, 65536, 100, RANDOM);
        top(b, "float", of_f32, 4, n / 4, 100, RANDOM);
    }
    return b.finish();
}

// SPDX-License-Identifier: MIT
//
// Sorting on several GPUs: the result is that of one stable sort of all keys, bit for bit, with any number of ranks and
// of keys on each, for every kind of key, with values and without, in place and not; and what is promised of errors.

#include "device.h"
#include "operators.h"
#include "ranks.h"
#include "sorts.h"

#define COARSEN_NAME    pairs
#define COARSEN_TYPE    int
#define COARSEN_VALUE   unsigned int
#define COARSEN_PART    3000 // parts as of a large array
#define COARSEN_DIVIDED 256
#define BLOCK_DIM       64
#define COARSE_FACTOR   3
#include <coarsen/nccl/sort.h>

#define COARSEN_NAME       falling
#define COARSEN_TYPE       float
#define COARSEN_DESCENDING 1
#define BLOCK_DIM          96
#define COARSE_FACTOR      5
#define COARSEN_DIVIDED    300
#define COARSEN_PORTION    200
#include <coarsen/nccl/sort.h>

#define COARSEN_NAME                                                                               \
    shorts // whose parts, and their values, begin anywhere between two multiples of 16 bytes
#define COARSEN_TYPE    unsigned short
#define COARSEN_VALUE   unsigned char
#define COARSEN_PART    40
#define COARSEN_DIVIDED 256
#define BLOCK_DIM       128
#define COARSE_FACTOR   4
#include <coarsen/nccl/sort.h>

#ifndef TEST_FIRST

#define COARSEN_NAME  bytes
#define COARSEN_TYPE  unsigned char
#define COARSEN_VALUE triple
#define COARSEN_PART  1
#include <coarsen/nccl/sort.h>

#define COARSEN_NAME    doubles
#define COARSEN_TYPE    double
#define COARSEN_PART    100
#define COARSEN_DIVIDED 400
#define BLOCK_DIM       32
#define COARSE_FACTOR   8
#include <coarsen/nccl/sort.h>

#endif

// A sort's functions. Without values, V is char.
template <class K, class V> struct sorter {
    const char *name;
    bool descending, values;
    size_t (*scratch_bytes)(const size_t *, ncclComm_t);
    cudaError_t (*scratch_init)(void *, size_t, cudaStream_t);
    size_t (*splits_bytes)(ncclComm_t);
    cudaError_t (*launch)(const K *, K *, const V *, V *, const size_t *, unsigned long long *,
                          void *, size_t, ncclComm_t, cudaStream_t);
    cudaError_t (*finish)(const K *, K *, const V *, V *, const size_t *, unsigned long long *,
                          void *, size_t, const coarsen_nccl_side *, ncclComm_t, cudaStream_t);
};
#define SORTER(name, descending, values)                                                           \
#name, descending, values, name##_scratch_bytes_nccl, name##_scratch_init_nccl,                \
        name##_splits_bytes_nccl
#define KEYS_ALONE(name, K)                                                                        \
    [](const K *in, K *out, const char *, char *, const size_t *counts,                            \
       unsigned long long *splits, void *scratch, size_t bytes, ncclComm_t comm,                   \
       cudaStream_t stream) {                                                                      \
        return name##_launch_nccl(in, out, counts, splits, scratch, bytes, comm, stream);          \
    },                                                                                             \
        [](const K *in, K *out, const char *, char *, const size_t *counts,                        \
           unsigned long long *splits, void *scratch, size_t bytes, const coarsen_nccl_side *side, \
           ncclComm_t comm, cudaStream_t stream) {                                                 \
            return name##_finish_nccl(in, out, counts, splits, scratch, bytes, side, comm,         \
                                      stream);                                                     \
        }
static const sorter<int, unsigned int> of_pairs = {SORTER(pairs, false, true), pairs_launch_nccl,
                                                   pairs_finish_nccl};
static const sorter<float, char> of_falling = {SORTER(falling, true, false),
                                               KEYS_ALONE(falling, float)};
static const sorter<unsigned short, unsigned char> of_shorts = {
    SORTER(shorts, false, true), shorts_launch_nccl, shorts_finish_nccl};
#ifndef TEST_FIRST
static const sorter<unsigned char, triple> of_bytes = {SORTER(bytes, false, true),
                                                       bytes_launch_nccl, bytes_finish_nccl};
static const sorter<double, char> of_doubles = {SORTER(doubles, false, false),
                                                KEYS_ALONE(doubles, double)};
#endif

// Device memory and splits of one rank, for its part of the keys, and what it does with them.
template <class K, class V> struct rank_sort {
    const sorter<K, V> &s;
    const std::vector<size_t> &counts;
    ncclComm_t *const comm;
    const cudaStream_t stream;
    const size_t n, m;
    const int in_place;
    const test_array in, in_values, out, out_values, scratch;
    unsigned long long *splits;
    coarsen_nccl_side side;

    rank_sort(const sorter<K, V> &s, const std::vector<size_t> &counts, size_t rank,
              ncclComm_t *comm, cudaStream_t stream, size_t offset, int in_place)
        : s(s), counts(counts), comm(comm), stream(stream), n(counts[rank]), m(s.values ? n : 0),
          in_place(in_place), in(n * sizeof(K), offset * sizeof(K)),
          in_values(m * sizeof(V), offset * sizeof(V)), out(n * sizeof(K), sizeof(K)),
          out_values(m * sizeof(V), sizeof(V)), scratch(s.scratch_bytes(counts.data(), *comm))
    {
        std::vector<unsigned char> left(scratch.bytes); // by what had this memory before
        for (size_t i = 0; i < left.size(); i++)
            left[i] = (unsigned char)test_random(rank, i);
        scratch.fill(left.data());
        CHECK(cudaMallocHost(&splits, s.splits_bytes(*comm) + 8));
        CHECK(s.scratch_init(scratch.get(), scratch.bytes, stream));
        CHECK(coarsen_nccl_side_create(&side));
    }
    ~rank_sort()
    {
        CHECK(coarsen_nccl_side_destroy(&side));
        CHECK(cudaFreeHost(splits));
    }
    K *to() const
    {
        return (K *)(in_place & 1 ? in : out).get();
    }
    V *to_values() const
    {
        return (V *)(in_place & 2 ? in_values : out_values).get();
    }
    cudaError_t launch() const
    {
        return s.launch((const K *)in.get(), to(), (const V *)in_values.get(), to_values(),
                        counts.data(), splits, scratch.get(), scratch.bytes, *comm, stream);
    }
    cudaError_t finish(const coarsen_nccl_side *beside) const
    {
        return s.finish((const K *)in.get(), to(), (const V *)in_values.get(), to_values(),
                        counts.data(), splits, scratch.get(), scratch.bytes, beside, *comm, stream);
    }
};

// What is wrong with a sort of the keys x, or "". waits: how often finish is to say that the host has to wait again, if not
// any number of times.
template <class K, class V>
static std::string wrong(const sorter<K, V> &s, test_ranks &ranks, const std::vector<K> &x,
                         const std::vector<size_t> &counts, size_t offset, int in_place, int times,
                         int waits = -1)
{
    std::vector<V> v(x.size());
    std::vector<size_t> order(x.size()), starts(counts.size());
    for (size_t i = 0; i < x.size(); i++)
        v[i] = value_of<V>(order[i] = i);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return s.descending ? order_of(x[b]) < order_of(x[a]) : order_of(x[a]) < order_of(x[b]);
    });
    for (size_t r = 1; r < counts.size(); r++)
        starts[r] = starts[r - 1] + counts[r - 1];
    std::vector<std::string> said(counts.size());
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const rank_sort<K, V> of(s, counts, rank, comm, stream, offset, in_place);
        const K *const keys = x.data() + starts[rank];
        cudaError_t status = cudaSuccess;
        for (int k = 0; k < times && status == cudaSuccess; k++) {
            of.in.fill(keys);
            of.in_values.fill(v.data() + starts[rank]);
            status = of.launch();
            if (status == cudaSuccess)
                status = coarsen_nccl_wait(comm, stream, 60);
            // With others, out is not made yet: what else it is used for comes before, in the stream's order.
            if (status == cudaSuccess && counts.size() > 1 && !(in_place & 1))
                status = cudaMemsetAsync(of.to(), 0x55, of.n * sizeof(K), stream);
            for (int again = 0; status == cudaSuccess; again++) {
                status = of.finish(&of.side);
                if (status == cudaSuccess && waits >= 0 && again != waits)
                    said[rank] = "waits " + std::to_string(again);
                if (status != cudaErrorNotReady || again > 2)
                    break;
                status = coarsen_nccl_wait(comm, stream, 60);
            }
            // And once more, which gives the same: what it sends and receives comes after all before it in the stream.
            if (status == cudaSuccess)
                status = of.finish(&of.side);
            if (status == cudaSuccess)
                status = coarsen_nccl_wait(comm, stream, 60);
        }
        if (status != cudaSuccess) {
            said[rank] = cudaGetErrorString(status);
            return;
        }
        std::vector<K> got(of.n);
        std::vector<V> got_values(of.m);
        CHECK(cudaMemcpy(got.data(), of.to(), of.n * sizeof(K), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(got_values.data(), of.to_values(), of.m * sizeof(V),
                         cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < of.n && said[rank].empty(); i++)
            if (memcmp((const void *)&got[i], (const void *)&x[order[starts[rank] + i]],
                       sizeof(K)) != 0)
                said[rank] = "key " + std::to_string(i);
            else if (of.m > 0 && !(got_values[i] == v[order[starts[rank] + i]]))
                said[rank] = "value " + std::to_string(i);
        if (!of.in.intact() || !of.out.intact() || !of.in_values.intact() ||
            !of.out_values.intact() || !of.scratch.intact())
            said[rank] = "wrote outside its arrays";
        of.in.read(got.data());
        if (!(in_place & 1) && of.n > 0 && memcmp(got.data(), keys, of.n * sizeof(K)) != 0)
            said[rank] = "wrote its input";
    });
    for (size_t r = 0; r < said.size(); r++)
        if (!said[r].empty())
            return "rank " + std::to_string(r) + ": " + said[r];
    return "";
}

template <class K, class V>
static void check(const sorter<K, V> &s, size_t most, const std::vector<size_t> &rank_counts)
{
    for (size_t count : rank_counts) {
        test_ranks ranks(count);
        std::string why;
        for (int k = 0; k < TEST_SPREADS && why.empty(); k++) {
            const std::vector<size_t> counts =
                test_spread(k, count, count > 4 ? most / 4 : most, most + count);
            size_t n = 0;
            for (size_t of_rank : counts)
                n += of_rank;
            const shape of = (shape)((k + (int)count) % (GREATEST + 1));
            test_order(k % test_order_count());
            why = wrong(s, ranks, make<K>(of, n, n), counts, (size_t)k % 3, k % 4, k == 0 ? 2 : 1);
            if (!why.empty())
                why = std::string(shape_names[of]) + ", counts of pattern " + std::to_string(k) +
                      ": " + why;
        }
        test_order(0);
        tap_ok(why.empty(), "%s, %zu ranks: right with any number on each %s", s.name, count,
               why.c_str());
    }
}

// All of some, and none of the others: every key must move.
static void check_moves(const std::vector<size_t> &rank_counts)
{
    for (size_t count : rank_counts) {
        test_ranks ranks(count);
        const std::vector<size_t> counts = test_spread(5, count, 400, 3);
        size_t n = 0;
        for (size_t of_rank : counts)
            n += of_rank;
        std::string why;
        for (shape of : {REVERSED, SORTED, CONSTANT})
            if (why.empty())
                why = wrong(of_pairs, ranks, make<int>(of, n, n), counts, 0, 0, 1);
        tap_ok(why.empty(), "%zu ranks: right where all keys move, and where none %s", count,
               why.c_str());
    }
}

// So many on each that they may be divided first: where buckets are even, and where they are not, so that it is tried in
// vain; and where one rank's result is all of some buckets, or a few keys of two.
static void check_divided(const std::vector<size_t> &rank_counts)
{
    for (size_t count : rank_counts) {
        test_ranks ranks(count);
        std::vector<size_t> counts(count, count < 8 ? 700 : 1100);
        counts[0] -= 100;
        counts[count - 1] += 203;
        size_t n = 0;
        for (size_t of_rank : counts)
            n += of_rank;
        std::string why;
        std::vector<int> any(n), backwards(n);
        for (size_t i = 0; i < n; i++) {
            any[i] = (int)(unsigned int)test_random(count, i);
            backwards[i] = (int)((n - i) * (0x100000000 / (n + 1)) - 0x80000000); // all keys move
        }
        const auto pairs_of = [&](const std::vector<int> &x, int in_place, int times, int waits) {
            if (why.empty())
                why = wrong(of_pairs, ranks, x, counts, 1, in_place, times, waits);
        };
        pairs_of(any, 3, count < 8 ? 2 : 1, 0);
#ifndef TEST_FIRST
        if (count < 8) { // which take longer than all the others
            pairs_of(backwards, 0, 1, 0);
            if (why.empty())
                why = wrong(of_doubles, ranks, make<double>(RANDOM, n, n), counts, 1, 1, 1);
        }
#endif
        pairs_of(make<int>(FEW, n, n), 0, 1, 1);
        if (why.empty())
            why = wrong(of_shorts, ranks, make<unsigned short>(RANDOM, n, n), counts, 2, 0, 1);
        tap_ok(why.empty(), "%zu ranks: right where keys are divided first %s", count, why.c_str());
    }
}

// More keys on each, in a part, and in a bucket, than a tile has.
static void check_tiles(void)
{
    if (test_rank_counts().size() < 2)
        return;
    test_ranks ranks(2);
    const std::vector<size_t> counts = {6100, 5003};
    std::string why = wrong(of_pairs, ranks, make<int>(RANDOM, 11103, 1), counts, 0, 0, 1);
    if (why.empty())
        why = wrong(of_falling, ranks, make<float>(FEW, 11103, 2), counts, 1, 1, 1);
    // Most with one of 44 high digits: buckets of several tiles; and many of one key.
    std::vector<int> some(11103);
    for (size_t i = 0; i < some.size(); i++) {
        const uint64_t any = test_random(3, i), high = i < 100   ? i
                                                       : i < 212 ? i + 44
                                                                 : 100 + (any >> 32) % 44;
        some[i] = (int)((unsigned int)(high << 24 | any % (1 << 24)) ^ 0x80000000);
    }
    if (why.empty())
        why = wrong(of_pairs, ranks, some, counts, 1, 0, 1);
    tap_ok(why.empty(), "2 ranks: right in tiles %s", why.c_str());
}

// What is wrong is told before anything is sent, so that one rank can be asked alone. n: keys of each rank.
static void check_errors(size_t n)
{
    test_ranks ranks(test_rank_counts().size() > 1 ? 2 : 1);
    const std::vector<size_t> counts(ranks.comms.size(), n);
    bool ok[2] = {true, true};
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const rank_sort<int, unsigned int> of(of_pairs, counts, rank, comm, stream, 0, 0);
        const std::vector<size_t> other(counts.size(), (size_t)-1 / 2 + 1);
        const test_array scratch(of.scratch.bytes);
        const int *const in = (const int *)of.in.get();
        const unsigned int *const values = (const unsigned int *)of.in_values.get();
        const auto launch = [&](int *out, unsigned int *out_values, const size_t *numbers,
                                unsigned long long *splits, void *to, size_t bytes,
                                ncclComm_t with) {
            return pairs_launch_nccl(in, out, values, out_values, numbers, splits, to, bytes, with,
                                     stream) == cudaErrorInvalidValue;
        };
        bool told = launch(NULL, of.to_values(), counts.data(), of.splits, scratch.get(),
                           scratch.bytes, *comm);
        told &=
            launch(of.to(), NULL, counts.data(), of.splits, scratch.get(), scratch.bytes, *comm);
        told &=
            launch(of.to(), of.to_values(), NULL, of.splits, scratch.get(), scratch.bytes, *comm);
        told &=
            launch(of.to(), of.to_values(), counts.data(), of.splits, NULL, scratch.bytes, *comm);
        told &= launch(of.to(), of.to_values(), counts.data(), of.splits, scratch.get(),
                       scratch.bytes - 1, *comm);
        told &= launch(of.to(), of.to_values(), counts.data(), of.splits, (char *)scratch.get() + 8,
                       scratch.bytes, *comm);
        told &= launch(of.to(), of.to_values(), counts.data(), of.splits, scratch.get(),
                       scratch.bytes, NULL);
        if (counts.size() > 1) {
            told &= launch(of.to(), of.to_values(), counts.data(), NULL, scratch.get(),
                           scratch.bytes, *comm);
            told &= launch(of.to(), of.to_values(), other.data(), of.splits, scratch.get(),
                           scratch.bytes, *comm);
            of.in.zero();
            of.in_values.zero();
            const bool sound =
                of.launch() == cudaSuccess && coarsen_nccl_wait(comm, stream, 60) == cudaSuccess;
            told &= sound && of.finish(NULL) == cudaErrorInvalidValue; // on all ranks
            const size_t bytes = pairs_splits_bytes_nccl(*comm);
            if (n < 256) // splits that no launch left
                memset(of.splits + 1, 0, bytes - 8);
            else // where keys of a digit are to begin, before those of a lower one
                of.splits[1 + 7] = n, of.splits[1 + 8] = n - 1;
            told &= of.finish(&of.side) == cudaErrorInvalidValue;
            memset(of.splits + 1, 255, bytes - 8);
            told &= of.finish(&of.side) == cudaErrorInvalidValue;
            for (int byte : {0, 255}) {
                memset(of.splits, byte, bytes);
                told &= of.finish(&of.side) == cudaErrorInvalidValue;
            }
        }
        CHECK(cudaStreamSynchronize(stream));
        ok[rank] = told && of.out.untouched() && of.out_values.untouched() && scratch.untouched();
    });
    tap_ok(ok[0] && ok[1],
           "%zu keys on each: wrong arguments return cudaErrorInvalidValue, with nothing written",
           n);
}

int main(void)
{
    test_ranks_begin();
    std::vector<size_t> every = test_rank_counts(), some;
    for (size_t count : every)
        if (count == 2 || count == 3 || count == 8) // a pass of the merge, two, and three
            some.push_back(count);
    check_errors(100); // what takes the least time first: faults.py ends with the first failure
    check_errors(300);
    check_moves(some);
    check_tiles();
    check_divided(some);
    check(of_pairs, 1100, every);
    check(of_shorts, 900, every);
    check(of_falling, 1500, some);
#ifndef TEST_FIRST
    check(of_bytes, 1300, some);
    check(of_doubles, 700, some);
#endif
    return tap_done();
}

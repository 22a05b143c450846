// SPDX-License-Identifier: MIT
//
// tests/ranks.h: what tests of several GPUs share. device.h comes first.
//
//     test_ranks_begin();                    // in place of test_begin: on simt with 16 devices
//     for (size_t count : test_rank_counts()) {
//         test_ranks ranks(count);           // a communicator of so many devices
//         ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
//             ...                            // in a thread for each, with its device; it tells what went wrong by
//         });                                //     what it writes: tap_ok is for the first thread
//     }

#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include <nccl.h>

#include <algorithm>
#include <string>
#include <thread>

static inline void test_ranks_begin(void)
{
#ifdef SIMT
    simt_config config = simt_get_config();
    config.devices = 16;
    simt_set_config(&config);
#endif
    test_begin();
}

// Of 1, 2, 3, 4, 8 and 11 devices those that there are.
static inline std::vector<size_t> test_rank_counts(void)
{
    int devices = 0;
    std::vector<size_t> counts;
    CHECK(cudaGetDeviceCount(&devices));
#ifdef TEST_FIRST
    const size_t all[] = {1, 2, 3, 11};
#else
    const size_t all[] = {1, 2, 3, 4, 8, 11};
#endif
    for (size_t count : all)
        if (count <= (size_t)devices)
            counts.push_back(count);
    return counts;
}

// Communicators are kept for the next test with so many ranks, as NCCL takes long to make them. The process ends with
// those that are left.
static inline std::vector<ncclComm_t> &test_kept(size_t count)
{
    static std::vector<std::vector<ncclComm_t>> kept;
    if (kept.size() <= count)
        kept.resize(count + 1);
    return kept[count];
}

struct test_ranks {
    std::vector<ncclComm_t> comms; // NULL where one was aborted

    explicit test_ranks(size_t count)
    {
        comms.swap(test_kept(count));
        if (!comms.empty())
            return;
        comms.resize(count);
        const ncclResult_t result = ncclCommInitAll(comms.data(), (int)count, NULL);
        if (result != ncclSuccess) {
            tap_ok(0, "ncclCommInitAll: %s", ncclGetErrorString(result));
            exit(1);
        }
    }
    ~test_ranks()
    {
        if (std::find(comms.begin(), comms.end(), (ncclComm_t)NULL) == comms.end())
            comms.swap(test_kept(comms.size()));
        for (ncclComm_t comm : comms)
            if (comm)
                ncclCommAbort(comm); // not ncclCommDestroy, which waits for all
    }
    test_ranks(const test_ranks &) = delete;
    test_ranks &operator=(const test_ranks &) = delete;

    template <class Body> void run(Body body)
    {
        std::vector<std::thread> threads;
        for (size_t r = 0; r < comms.size(); r++)
            threads.emplace_back([this, r, &body] {
                cudaStream_t stream;
                CHECK(cudaSetDevice((int)r));
                CHECK(cudaStreamCreate(&stream));
                body(r, &comms[r], stream);
                CHECK(cudaStreamDestroy(stream));
            });
        for (std::thread &thread : threads)
            thread.join();
    }
};

// How many elements each rank has, in pattern k of so many: about `most` each; or none on the first, on all others, or on
// all except the last one; or a few; or very different ones.
enum { TEST_SPREADS = 6 };
static inline std::vector<size_t> test_spread(int k, size_t ranks, size_t most, uint64_t seed)
{
    std::vector<size_t> counts(ranks);
    for (size_t r = 0; r < ranks; r++) {
        const size_t any = test_random(seed, r) % (most + 1);
        counts[r] = k == 0   ? most
                    : k == 1 ? (r == 0 ? 0 : any)
                    : k == 2 ? (r % 2 == 0 ? any : 0)
                    : k == 3 ? (r + 1 < ranks ? 0 : most)
                    : k == 4 ? any % 4
                             : (r % 3 == 1 ? any % 8 : any);
    }
    return counts;
}

#endif // TESTS_RANKS_H

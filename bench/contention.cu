// SPDX-License-Identifier: MIT
//
// bench/contention.cu: what atomic additions cost that meet. So many per second, by the number of bins in use, in
// one copy in global memory, in a copy per block there, and in one in shared memory; a single bin by the number of
// copies; and the latencies that a single address could be limited by. And on the host: threads that count bytes,
// each its own run of them or every so many, which is where contiguous partition comes from.
//
// No element is read on the device: a thread computes its bins. Each bin gets as many additions as any other.

#include "harness.h"

#include <thread>

const unsigned int BLOCKS = 256, THREADS = 1024; // 2^18 threads, and at most 2^16 bins

// The bin of a thread in a round. For each round, this is one-to-one on the threads' low bits, so the bins are met
// evenly, but which lanes meet is as if drawn.
__host__ __device__ inline unsigned int mixed_thread(unsigned int t)
{
    t = (t * 0x9e3779b1u) & 0x3ffff;
    t = ((t ^ t >> 9) * 0x85ebca6bu) & 0x3ffff;
    return t ^ t >> 9;
}

template <bool SHARED, bool ALL_LANES>
__global__ void __launch_bounds__(THREADS)
    add_kernel(unsigned int *counts, unsigned int bins, unsigned int copies, unsigned int stride,
               unsigned int rounds)
{
    extern __shared__ unsigned int mine[];
    unsigned int *const copy = SHARED ? mine : counts + (size_t)(blockIdx.x % copies) * stride;
    if (SHARED) {
        for (unsigned int bin = threadIdx.x; bin < bins; bin += THREADS)
            mine[bin] = 0;
        __syncthreads();
    }
    const unsigned int thread = mixed_thread(blockIdx.x * THREADS + threadIdx.x);
    unsigned int round = 1;
    if (ALL_LANES || threadIdx.x % 32 == 0)
        for (unsigned int r = 0; r < rounds; r++) {
            round = round * 1664525 + 1013904223;
            atomicAdd(copy + ((round >> 14 ^ thread) & (bins - 1)), 1u);
        }
    if (SHARED) {
        __syncthreads();
        for (unsigned int bin = threadIdx.x; bin < bins; bin += THREADS)
            atomicAdd(counts + bin, mine[bin]);
    }
}

// One thread, each of whose accesses needs the one before.
enum { LOAD_GLOBAL, ATOMIC_GLOBAL, LOAD_SHARED, ATOMIC_SHARED };

template <int WHAT>
__global__ void chain_kernel(unsigned int *data, unsigned int steps, unsigned int *last)
{
    __shared__ unsigned int words[1];
    words[0] = 0;
    unsigned int at = 0;
#pragma unroll 1
    for (unsigned int s = 0; s < steps; s++) {
        if (WHAT == LOAD_GLOBAL)
            at = __ldcg(data + at); // past the first-level cache
        else if (WHAT == ATOMIC_GLOBAL)
            at = atomicAdd(data + (at >> 31), 1u);
        else if (WHAT == LOAD_SHARED)
            at = *(volatile unsigned int *)(words + at);
        else
            at = atomicAdd(words + (at >> 31), 1u);
    }
    *last = at;
}

// Each 128-byte line says where the next one is: one ring through all of them, in no order (a generator's period).
__host__ __device__ inline unsigned int next_line(unsigned int line, unsigned int lines)
{
    return (line * 1664525u + 1013904223u) & (lines - 1);
}

__global__ void ring_kernel(unsigned int *data, unsigned int lines)
{
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < lines;
         i += gridDim.x * blockDim.x)
        data[(size_t)i * 32] = next_line(i, lines) * 32;
}

struct adding {
    unsigned int bins, copies, stride; // a copy begins so many words after the one before
    bool shared, all_lanes;
    unsigned int rounds;
};

static void additions(bench_contest *contest, const std::string &name, adding a,
                      std::shared_ptr<void> counts)
{
    const unsigned int bins = a.bins, copies = a.copies, stride = a.stride, rounds = a.rounds;
    const bool shared = a.shared, all_lanes = a.all_lanes;
    const size_t bytes = ((size_t)(copies - 1) * stride + bins) * 4, own = shared ? bins * 4 : 0;
    const double all = (double)BLOCKS * THREADS / (all_lanes ? 1 : 32) * rounds;
    unsigned int *const p = (unsigned int *)counts.get();
    const auto kernel = shared      ? all_lanes ? add_kernel<true, true> : add_kernel<true, false>
                             : all_lanes ? add_kernel<false, true>
                                    : add_kernel<false, false>;
    BENCH_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)own));
    bench_entry entry;
    entry.kernel = name;
    entry.work = all;
    entry.launch = [=](cudaStream_t stream) {
        kernel<<<BLOCKS, THREADS, own, stream>>>(p, bins, copies, stride, rounds);
        return cudaGetLastError();
    };
    entry.poison = [=] { BENCH_CHECK(cudaMemset(p, 0, bytes)); };
    entry.check = [=](std::string *why) {
        std::vector<unsigned int> found(bytes / 4);
        BENCH_CHECK(cudaMemcpy(found.data(), p, bytes, cudaMemcpyDeviceToHost));
        for (unsigned int bin = 0; bin < bins; bin++) {
            double sum = 0;
            for (unsigned int copy = 0; copy < copies; copy++)
                sum += found[(size_t)copy * stride + bin];
            if (sum != all / bins) {
                *why = "bin " + std::to_string(bin) + " has " + std::to_string(sum) + " of " +
                       std::to_string(all / bins);
                return false;
            }
        }
        return true;
    };
    bench_occupancy(&entry, kernel, THREADS, own);
    contest->entries.push_back(entry);
}

// zero: the first word is 0 before each launch. last: what the chain ends with.
static void chain(bench_contest *contest, const std::string &name,
                  void (*kernel)(unsigned int *, unsigned int, unsigned int *),
                  std::shared_ptr<void> data, bool zero, unsigned int steps, unsigned int last)
{
    const std::shared_ptr<void> end = bench_zeroed(4);
    bench_entry entry;
    entry.kernel = name;
    entry.work = steps;
    if (zero)
        entry.prepare = [=](cudaStream_t stream) {
            return cudaMemsetAsync(data.get(), 0, 4, stream);
        };
    entry.launch = [=](cudaStream_t stream) {
        kernel<<<1, 1, 0, stream>>>((unsigned int *)data.get(), steps, (unsigned int *)end.get());
        return cudaGetLastError();
    };
    entry.poison = [=] { BENCH_CHECK(cudaMemset(end.get(), 0x5a, 4)); };
    entry.check = [=](std::string *why) {
        unsigned int found;
        BENCH_CHECK(cudaMemcpy(&found, end.get(), 4, cudaMemcpyDeviceToHost));
        *why = "ends at " + std::to_string(found) + ", not " + std::to_string(last);
        return found == last;
    };
    contest->entries.push_back(entry);
}

static void ring(bench_contest *contest, const std::string &name, unsigned int lines,
                 unsigned int steps)
{
    const std::shared_ptr<void> data = bench_alloc((size_t)lines * 128);
    ring_kernel<<<1024, 256>>>((unsigned int *)data.get(), lines);
    BENCH_CHECK(cudaGetLastError());
    unsigned int line = 0;
    for (unsigned int s = 0; s < steps; s++)
        line = next_line(line, lines);
    chain(contest, name, chain_kernel<LOAD_GLOBAL>, data, false, steps, line * 32);
}

// ---- On the host -----------------------------------------------------------------------------------

// Threads of the host count bytes, each into its own copy. Contiguous: each its own run of them. Interleaved: each
// every so many.
static void host(bench_contest *contest, const std::string &name, bool contiguous,
                 const std::vector<unsigned char> &data)
{
    const size_t threads = std::max(1u, std::thread::hardware_concurrency()), n = data.size();
    const auto counts = std::make_shared<std::vector<std::vector<unsigned int>>>(threads);
    bench_entry entry;
    entry.kernel = name;
    entry.work = (double)n;
    entry.waits = true;
    entry.launch = [=, &data](cudaStream_t stream) {
        const cudaError_t status = cudaStreamSynchronize(stream); // the event before has passed
        std::vector<std::thread> all;
        for (size_t t = 0; t < threads; t++)
            all.emplace_back([=, &data] {
                std::vector<unsigned int> copy(256);
                const size_t first = contiguous ? n / threads * t : t;
                const size_t end = !contiguous || t + 1 == threads ? n : n / threads * (t + 1);
                for (size_t i = first; i < end; i += contiguous ? 1 : threads)
                    copy[data[i]]++;
                (*counts)[t] = copy;
            });
        for (std::thread &thread : all)
            thread.join();
        return status;
    };
    entry.poison = [=] { counts->assign(threads, {}); };
    entry.check = [=, &data](std::string *why) {
        std::vector<unsigned int> wanted(256), found(256);
        for (unsigned char byte : data)
            wanted[byte]++;
        for (const std::vector<unsigned int> &copy : *counts)
            for (size_t bin = 0; bin < copy.size(); bin++)
                found[bin] += copy[bin];
        *why = "the counts differ from one thread's";
        return found == wanted;
    };
    contest->entries.push_back(entry);
}

// ---- All of it -------------------------------------------------------------------------------------

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Atomic additions per second, by the number of bins in use and of copies; latencies.",
             "G/s", 0, 16});
    const std::shared_ptr<void> counts = bench_alloc((size_t)BLOCKS * 4 << 16);
    int most_shared;
    BENCH_CHECK(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));

    for (int e : b.exponents(2)) {
        const unsigned int bins = 1u << e;
        bench_contest contest("contention", "u32", bins);
        contest.data = "bins in use";
        contest.peer = "";
        const unsigned int line = std::max(bins, 32u); // a copy begins one
        additions(&contest, "one copy", {bins, 1, 0, false, true, 64}, counts);
        additions(&contest, "a copy per block", {bins, BLOCKS, line, false, true, 64}, counts);
        if (bins * 4 <= (unsigned int)most_shared)
            additions(&contest, "in shared memory", {bins, 1, 0, true, true, 4096}, counts);
        b.run(contest);
    }
    for (unsigned int copies = 1; copies <= BLOCKS; copies *= 2) {
        bench_contest contest("contention", "u32", copies);
        contest.data = "copies of one bin";
        contest.peer = "";
        additions(&contest, "128 bytes apart", {1, copies, 32, false, true, 64}, counts);
        additions(&contest, "64 KiB apart", {1, copies, 1 << 14, false, true, 64}, counts);
        additions(&contest, "one lane per warp", {1, copies, 32, false, false, 64}, counts);
        b.run(contest);
    }
    {
        bench_contest contest("contention", "u32", BLOCKS);
        contest.data = "copies of one bin in shared memory";
        contest.peer = "";
        additions(&contest, "32 lanes", {1, 1, 0, true, true, 4096}, counts);
        additions(&contest, "one lane per warp", {1, 1, 0, true, false, 4096}, counts);
        b.run(contest);
    }
    {
        const unsigned int steps = 20000;
        bench_contest contest("contention", "u32", steps);
        contest.data = "one after the other";
        contest.peer = "";
        ring(&contest, "load from memory", 1 << 21, steps);
        ring(&contest, "load from the L2 cache", 1 << 7, steps);
        chain(&contest, "global atomic", chain_kernel<ATOMIC_GLOBAL>, counts, true, steps,
              steps - 1);
        chain(&contest, "shared load", chain_kernel<LOAD_SHARED>, nullptr, false, steps, 0);
        chain(&contest, "shared atomic", chain_kernel<ATOMIC_SHARED>, nullptr, false, steps,
              steps - 1);
        b.run(contest);
    }
    std::vector<unsigned char> data((size_t)1 << (b.quick ? 24 : 28));
    for (size_t i = 0; i < data.size(); i++)
        data[i] = (unsigned char)bench_random(1, i);
    bench_contest contest("contention", "u8", data.size());
    contest.data = std::to_string(std::thread::hardware_concurrency()) + " threads of the host";
    contest.peer = "interleaved";
    host(&contest, "contiguous", true, data);
    host(&contest, "interleaved", false, data);
    b.run(contest);
    return b.finish();
}

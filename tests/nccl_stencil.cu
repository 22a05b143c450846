// SPDX-License-Identifier: MIT
//
// Stencils on several GPUs: the bits of one GPU on the whole grid, with any number of ranks and of slices on each, more
// or fewer than neighbours need, for every boundary, order and pitch, step after step; and what is promised of errors.

#include "device.h"
#include "ranks.h"

#define COARSEN_NAME         kept
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.4f, 0.1f
#include <coarsen/nccl/stencil.h>

#define COARSEN_NAME         clamped
#define COARSEN_TYPE         float
#define COARSEN_ORDER        2
#define COARSEN_BOUNDARY     COARSEN_CLAMPED
#define COARSEN_COEFFICIENTS 0.3f, 0.07f, 0.03f
#define BLOCK_DIM            64
#include <coarsen/nccl/stencil.h>

#define COARSEN_NAME             around // along z, what is before differs from what is behind
#define COARSEN_TYPE             double
#define COARSEN_ORDER            3
#define COARSEN_BOUNDARY         COARSEN_PERIODIC
#define COARSEN_STENCIL(x, y, z) (z[-3] - 2 * z[-1] + z[0] / 3 + 5 * z[2] + y[3] - x[-2])
#define BLOCK_DIM                32
#include <coarsen/nccl/stencil.h>

// A stencil's functions, of several GPUs and of one.
template <class T> struct stencil {
    const char *name;
    size_t (*scratch_bytes)(size_t, size_t, const size_t *, ncclComm_t);
    cudaError_t (*launch)(const T *, T *, size_t, size_t, const size_t *, size_t, size_t, void *,
                          size_t, const coarsen_nccl_side *, ncclComm_t, cudaStream_t);
    cudaError_t (*alone)(const T *, T *, size_t, size_t, size_t, size_t, size_t, cudaStream_t);
};
static const stencil<float> of_kept = {"kept", kept_scratch_bytes_nccl, kept_launch_nccl,
                                       kept_launch};
static const stencil<float> of_clamped = {"clamped", clamped_scratch_bytes_nccl,
                                          clamped_launch_nccl, clamped_launch};
static const stencil<double> of_around = {"around", around_scratch_bytes_nccl, around_launch_nccl,
                                          around_launch};

struct shape {
    size_t nx, ny, pitch, slice_pitch, offset; // in elements
};

template <class T> static std::vector<T> cells(const shape &s, size_t slices)
{
    std::vector<T> x(slices * s.slice_pitch);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (T)(test_random(7, i) % 2001) / 64 - 11;
    return x;
}

// What is wrong after so many steps, of which each reads what the one before wrote, or "".
template <class T>
static std::string wrong(const stencil<T> &of, test_ranks &ranks, const shape &s,
                         const std::vector<size_t> &counts, int steps)
{
    std::vector<size_t> starts(counts.size() + 1);
    for (size_t r = 0; r < counts.size(); r++)
        starts[r + 1] = starts[r] + counts[r];
    const size_t nz = starts.back();
    const std::vector<T> x = cells<T>(s, nz);
    std::vector<T> want(x);
    CHECK(cudaSetDevice(0));
    for (int k = 0; k < steps; k++) {
        const test_array in(x.size() * sizeof(T)), out(x.size() * sizeof(T));
        in.fill(want.data());
        out.fill(x.data()); // what is between rows stays
        CHECK(of.alone((const T *)in.get(), (T *)out.get(), s.nx, s.ny, nz, s.pitch, s.slice_pitch,
                       0));
        CHECK(cudaDeviceSynchronize());
        out.read(want.data());
    }
    std::vector<std::string> said(counts.size());
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const size_t n = counts[rank] * s.slice_pitch, at = starts[rank] * s.slice_pitch;
        const test_array first(n * sizeof(T), s.offset * sizeof(T));
        const test_array second(n * sizeof(T), s.offset * sizeof(T));
        const test_array scratch(of.scratch_bytes(s.nx, s.ny, counts.data(), *comm));
        const test_array *in = &first, *out = &second;
        coarsen_nccl_side side;
        CHECK(coarsen_nccl_side_create(&side));
        first.fill(x.data() + at);
        second.fill(x.data() + at);
        cudaError_t status = cudaSuccess;
        for (int k = 0; k < steps && status == cudaSuccess; k++) {
            status =
                of.launch((const T *)in->get(), (T *)out->get(), s.nx, s.ny, counts.data(), s.pitch,
                          s.slice_pitch, scratch.get(), scratch.bytes, &side, *comm, stream);
            std::swap(in, out);
        }
        if (status == cudaSuccess)
            status = coarsen_nccl_wait(comm, stream, 60);
        CHECK(coarsen_nccl_side_destroy(&side));
        std::vector<T> got(n);
        in->read(got.data());
        if (status != cudaSuccess)
            said[rank] = cudaGetErrorString(status);
        else if (!first.intact() || !second.intact() || !scratch.intact())
            said[rank] = "wrote outside its arrays";
        for (size_t i = 0; i < n && said[rank].empty(); i++)
            if (memcmp(&got[i], &want[at + i], sizeof(T)) != 0)
                said[rank] = "slice " + std::to_string(i / s.slice_pitch) + ", row " +
                             std::to_string(i % s.slice_pitch / s.pitch) + ", cell " +
                             std::to_string(i % s.slice_pitch % s.pitch);
    });
    for (size_t r = 0; r < said.size(); r++)
        if (!said[r].empty())
            return "rank " + std::to_string(r) + ": " + said[r];
    return "";
}

// Slices on each rank: of all patterns with few, so that a halo comes from several ranks, or from around, and with many.
template <class T> static void check(const stencil<T> &of, const std::vector<size_t> &rank_counts)
{
    const shape shapes[] = {{16, 3, 16, 48, 0}, {5, 4, 7, 31, 1}, {9, 1, 9, 9, 0}};
    for (size_t count : rank_counts) {
        test_ranks ranks(count);
        std::string why;
        for (int k = 0; k < 2 * TEST_SPREADS && why.empty(); k++) {
            const shape &s = shapes[(k + (int)count) % 3];
            test_order(k % test_order_count());
            why = wrong(of, ranks, s, test_spread(k / 2, count, k % 2 ? 15 : 2, count), 1 + k % 2);
            if (!why.empty())
                why = "counts of pattern " + std::to_string(k) + ", nx = " + std::to_string(s.nx) +
                      ": " + why;
        }
        test_order(0);
        tap_ok(why.empty(), "%s, %zu ranks: the bits of one %s", of.name, count, why.c_str());
    }
}

static void check_errors(void)
{
    test_ranks ranks(test_rank_counts().size() > 1 ? 2 : 1);
    const std::vector<size_t> counts(ranks.comms.size(), 9), much(counts.size(), (size_t)-1);
    bool ok[2] = {true, true};
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const test_array in(9 * 12 * 4), out(9 * 12 * 4), scratch(12 * 12 * 4 + 16);
        const size_t bytes = 12 * 12 * 4;
        float *const to = (float *)out.get();
        coarsen_nccl_side side;
        CHECK(coarsen_nccl_side_create(&side));
        const auto launch = [&](float *made, const size_t *numbers, size_t pitch, void *with,
                                size_t size, const coarsen_nccl_side *beside, ncclComm_t of) {
            return kept_launch_nccl((const float *)in.get(), made, 4, 3, numbers, pitch, 12, with,
                                    size, beside, of, stream) == cudaErrorInvalidValue;
        };
        bool told = launch(NULL, counts.data(), 4, scratch.get(), bytes, &side, *comm);
        told &= launch(to, NULL, 4, scratch.get(), bytes, &side, *comm);
        told &= launch(to, counts.data(), 3, scratch.get(), bytes, &side, *comm);
        told &= launch(to, counts.data(), 4, scratch.get(), bytes, &side, NULL);
        if (counts.size() > 1) {
            told &= launch(to, counts.data(), 4, NULL, bytes, &side, *comm);
            told &= launch(to, counts.data(), 4, scratch.get(), bytes - 1, &side, *comm);
            told &= launch(to, counts.data(), 4, (char *)scratch.get() + 4, bytes, &side, *comm);
            told &= launch(to, counts.data(), 4, scratch.get(), bytes, NULL, *comm);
            told &= launch(to, much.data(), 4, scratch.get(), bytes, &side, *comm);
            told &= kept_scratch_bytes_nccl(4, 3, counts.data(), *comm) == bytes;
        }
        CHECK(coarsen_nccl_side_destroy(&side));
        ok[rank] = told && out.untouched() && scratch.untouched();
    });
    tap_ok(ok[0] && ok[1], "wrong arguments return cudaErrorInvalidValue, with nothing written");
}

int main(void)
{
    test_ranks_begin();
    std::vector<size_t> every = test_rank_counts(), some;
    for (size_t count : every)
        if (count > 1 && count < 8)
            some.push_back(count);
    check(of_kept, some);
    check(of_clamped, some);
    check(of_around, every);
    check_errors();
    return tap_done();
}

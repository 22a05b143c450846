// SPDX-License-Identifier: MIT
//
// The matrix product on several GPUs: right with any number of ranks, of rows on each, and of rows of N on each, in one
// piece and in many, for both storage orders; the same bits again; and what is promised of errors, alpha and beta.

#include "device.h"
#include "ranks.h"

#include <cuda_fp16.h>
#include <math.h>

#define COARSEN_NAME  rows
#define COARSEN_TYPE  float
#define COARSEN_PANEL 7
#include <coarsen/nccl/matmul.h>

#define COARSEN_NAME         columns
#define COARSEN_TYPE         double
#define COARSEN_M_TRANSPOSED 1
#define COARSEN_N_TRANSPOSED 1
#define COARSEN_PANEL        6
#include <coarsen/nccl/matmul.h>

#define COARSEN_NAME  halves
#define COARSEN_TYPE  __half
#define COARSEN_ACC   float
#define COARSEN_PANEL 5
#include <coarsen/nccl/matmul.h>

template <class T, class A = T> struct product {
    const char *name;
    bool transposed;
    size_t (*scratch_bytes)(size_t, size_t, const size_t *, ncclComm_t);
    cudaError_t (*launch)(size_t, size_t, const size_t *, A, const T *, size_t, const T *, size_t,
                          A, T *, size_t, void *, size_t, const coarsen_nccl_side *, ncclComm_t,
                          cudaStream_t);
};
static const product<float> of_rows = {"rows", false, rows_scratch_bytes_nccl, rows_launch_nccl};
static const product<double> of_columns = {"columns", true, columns_scratch_bytes_nccl,
                                           columns_launch_nccl};
static const product<__half, float> of_halves = {"halves", false, halves_scratch_bytes_nccl,
                                                 halves_launch_nccl};

// Element i, j of a matrix: an integer, so that all sums are exact; or with `any` not.
template <class T> static T element(uint64_t seed, size_t i, size_t j, bool any)
{
    const uint64_t bits = test_random(seed + i * 1000, j);
    return any ? (T)((float)(bits % 1000003) / 999) : (T)((float)(bits % 9) - 4);
}

// What is wrong, or "".
template <class T, class A>
static std::string wrong(const product<T, A> &of, test_ranks &ranks,
                         const std::vector<size_t> &counts, const std::vector<size_t> &inner_counts,
                         size_t cols, A alpha, A beta, bool any)
{
    std::vector<size_t> starts(counts.size() + 1), inner_starts(counts.size() + 1);
    for (size_t r = 0; r < counts.size(); r++) {
        starts[r + 1] = starts[r] + counts[r];
        inner_starts[r + 1] = inner_starts[r] + inner_counts[r];
    }
    const size_t inner = inner_starts.back();
    std::vector<std::string> said(counts.size());
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const size_t own = inner_counts[rank], height = counts[rank], at = inner_starts[rank];
        // Of different leading dimensions on each rank. NaN where nothing may be read.
        const size_t ldm = (of.transposed ? height : inner) + rank % 2;
        const size_t ldn = (of.transposed ? own : cols) + rank % 3, ldp = cols + 1;
        std::vector<T> m(ldm * (of.transposed ? inner : height), (T)NAN);
        std::vector<T> n(ldn * (of.transposed ? cols : own), (T)NAN), p(ldp * height, (T)NAN);
        for (size_t i = 0; i < height; i++)
            for (size_t k = 0; k < inner; k++)
                m[of.transposed ? k * ldm + i : i * ldm + k] =
                    alpha == 0 ? (T)NAN : element<T>(1, starts[rank] + i, k, any);
        for (size_t k = 0; k < own; k++)
            for (size_t j = 0; j < cols; j++)
                n[of.transposed ? j * ldn + k : k * ldn + j] = element<T>(2, at + k, j, any);
        for (size_t i = 0; i < height && beta != 0; i++)
            for (size_t j = 0; j < cols; j++)
                p[i * ldp + j] = element<T>(3, starts[rank] + i, j, any);
        const test_array in(m.size() * sizeof(T)), by(n.size() * sizeof(T), sizeof(T));
        const test_array out(p.size() * sizeof(T));
        const test_array scratch(of.scratch_bytes(height, cols, inner_counts.data(), *comm));
        std::vector<T> got[2];
        coarsen_nccl_side side;
        CHECK(coarsen_nccl_side_create(&side));
        in.fill(m.data());
        by.fill(n.data());
        cudaError_t status = cudaSuccess;
        for (int k = 0; k < (any ? 2 : 1) && status == cudaSuccess; k++) {
            out.fill(p.data());
            status = of.launch(height, cols, inner_counts.data(), alpha, (const T *)in.get(), ldm,
                               (const T *)by.get(), ldn, beta, (T *)out.get(), ldp, scratch.get(),
                               scratch.bytes, &side, *comm, stream);
            if (status == cudaSuccess)
                status = coarsen_nccl_wait(comm, stream, 60);
            got[k].resize(p.size());
            out.read(got[k].data());
        }
        std::vector<T> left(m.size());
        in.read(left.data());
        CHECK(coarsen_nccl_side_destroy(&side));
        if (status != cudaSuccess)
            said[rank] = cudaGetErrorString(status);
        else if (memcmp(left.data(), m.data(), in.bytes) != 0)
            said[rank] = "wrote M";
        else if (!in.intact() || !by.intact() || !out.intact() || !scratch.intact())
            said[rank] = "wrote outside its arrays";
        else if (any && memcmp(got[0].data(), got[1].data(), p.size() * sizeof(T)) != 0)
            said[rank] = "other bits the second time";
        for (size_t i = 0; i < height && said[rank].empty(); i++)
            for (size_t j = 0; j < cols && said[rank].empty(); j++) {
                double sum = 0, want = beta == 0 ? 0 : (double)beta * (double)(A)p[i * ldp + j];
                for (size_t k = 0; k < inner && alpha != 0; k++)
                    sum += (double)(A)element<T>(1, starts[rank] + i, k, any) *
                           (double)(A)element<T>(2, k, j, any);
                want += (double)alpha * sum;
                const double error = fabs((double)(A)got[0][i * ldp + j] - want);
                if (!(error <= (any ? 1e-5 * fabs(want) : 0)))
                    said[rank] = "row " + std::to_string(i) + ", column " + std::to_string(j);
            }
    });
    for (size_t r = 0; r < said.size(); r++)
        if (!said[r].empty())
            return "rank " + std::to_string(r) + ": " + said[r];
    return "";
}

template <class T, class A>
static void check(const product<T, A> &of, const std::vector<size_t> &rank_counts)
{
    for (size_t count : rank_counts) {
        test_ranks ranks(count);
        std::string why;
        for (int k = 0; k < TEST_SPREADS && why.empty(); k++) {
            test_order(k % test_order_count());
            why = wrong<T, A>(of, ranks, test_spread((k + 2) % TEST_SPREADS, count, 11, count),
                              test_spread(k, count, k == 0 ? 14 : 25, count + 1), k % 2 ? 5 : 12,
                              (A)(k == 4 ? 0 : 2), (A)(k % 3), k == 5 && sizeof(T) > 2);
            if (!why.empty())
                why = "counts of pattern " + std::to_string(k) + ": " + why;
        }
        if (why.empty())
            why = wrong<T, A>(of, ranks, std::vector<size_t>(count, 3),
                              std::vector<size_t>(count, 0), 4, 1, 3, false);
        if (why.empty())
            why = wrong<T, A>(of, ranks, std::vector<size_t>(count, 3),
                              std::vector<size_t>(count, 4), 0, 1, 3, false);
        test_order(0);
        tap_ok(why.empty(), "%s, %zu ranks: right with any number of rows on each %s", of.name,
               count, why.c_str());
    }
}

static void check_errors(void)
{
    test_ranks ranks(test_rank_counts().size() > 1 ? 2 : 1);
    const std::vector<size_t> counts(ranks.comms.size(), 4), much(counts.size(), (size_t)-1 / 2);
    bool ok[2] = {true, true};
    ranks.run([&](size_t rank, ncclComm_t *comm, cudaStream_t stream) {
        const size_t bytes = rows_scratch_bytes_nccl(3, 5, counts.data(), *comm);
        const test_array m(3 * 8 * 4), n(4 * 5 * 4), p(3 * 5 * 4), scratch(bytes + 16);
        coarsen_nccl_side side;
        CHECK(coarsen_nccl_side_create(&side));
        const auto launch = [&](const size_t *numbers, size_t ldm, size_t ldn, float *to,
                                void *with, size_t size, const coarsen_nccl_side *beside,
                                ncclComm_t of) {
            return rows_launch_nccl(3, 5, numbers, 1, (const float *)m.get(), ldm,
                                    (const float *)n.get(), ldn, 0, to, 5, with, size, beside, of,
                                    stream) == cudaErrorInvalidValue;
        };
        float *const to = (float *)p.get();
        const size_t inner = 4 * counts.size();
        bool told = launch(NULL, inner, 5, to, scratch.get(), bytes, &side, *comm);
        told &= launch(counts.data(), inner - 1, 5, to, scratch.get(), bytes, &side, *comm);
        told &= launch(counts.data(), inner, 4, to, scratch.get(), bytes, &side, *comm);
        told &= launch(counts.data(), inner, 5, NULL, scratch.get(), bytes, &side, *comm);
        told &= launch(counts.data(), inner, 5, to, scratch.get(), bytes, &side, NULL);
        if (counts.size() > 1) {
            told &= launch(counts.data(), inner, 5, to, NULL, bytes, &side, *comm);
            told &= launch(counts.data(), inner, 5, to, scratch.get(), bytes - 1, &side, *comm);
            told &=
                launch(counts.data(), inner, 5, to, (char *)scratch.get() + 4, bytes, &side, *comm);
            told &= launch(counts.data(), inner, 5, to, scratch.get(), bytes, NULL, *comm);
            told &= launch(much.data(), inner, 5, to, scratch.get(), bytes, &side, *comm);
        }
        CHECK(coarsen_nccl_side_destroy(&side));
        ok[rank] = told && p.untouched() && scratch.untouched();
    });
    tap_ok(ok[0] && ok[1], "wrong arguments return cudaErrorInvalidValue, with nothing written");
}

int main(void)
{
    test_ranks_begin();
    std::vector<size_t> every = test_rank_counts(), some;
    for (size_t count : every)
        if (count > 1 && count < 4)
            some.push_back(count);
    check(of_rows, every);
    check(of_columns, some);
    check(of_halves, some);
    check_errors();
    return tap_done();
}

// SPDX-License-Identifier: MIT
//
// many [FILE]: each pattern of coarsen/nccl on all GPUs of this computer, a thread for each; or, with FILE, on the GPUs
// of all processes that mpirun or torchrun started, through a new FILE that all of them see. Try
//     mpirun -n 2 many /tmp/id
// Each rank has a part of 100000 numbers, and of 96 rows and 64 slices, and prints a line of what it got.
// Six patterns and two ways to make ranks: a tour, and so longer than an example of one pattern.
// Exit status: 0; 1 when something fails; 2 when called wrongly.

#include "device.h"
#include <coarsen/nccl/base.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define COARSEN_NAME sum
#define COARSEN_TYPE unsigned int
#include <coarsen/nccl/reduce.h>
#define COARSEN_NAME   digits
#define COARSEN_TYPE   unsigned int
#define COARSEN_BIN(x) ((x) % 10)
#define NUM_BINS       10
#include <coarsen/nccl/histogram.h>
#define COARSEN_NAME running
#define COARSEN_TYPE unsigned int
#include <coarsen/nccl/scan.h>
#define COARSEN_NAME sort
#define COARSEN_TYPE unsigned int
#include <coarsen/nccl/sort.h>
#define COARSEN_NAME product
#define COARSEN_TYPE float
#include <coarsen/nccl/matmul.h>
#define COARSEN_NAME         heat
#define COARSEN_TYPE         float
#define COARSEN_COEFFICIENTS 0.25f, 0.125f
#define COARSEN_BOUNDARY     COARSEN_CLAMPED
#include <coarsen/nccl/stencil.h>

enum { NUMBERS = 100000, SIDE = 96, SLICES = 64, SLICE = 16 * 16, SECONDS = 60 };

static void check(cudaError_t status, ncclComm_t comm)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "many: %s: %s\n", cudaGetErrorString(status), coarsen_nccl_error(comm));
    exit(1);
}

// How many of `all` each rank has.
static std::vector<size_t> parts(size_t all, size_t ranks)
{
    std::vector<size_t> counts(ranks);
    for (size_t r = 0; r < ranks; r++)
        counts[r] = all * (r + 1) / ranks - all * r / ranks;
    return counts;
}

static void work(int device, ncclComm_t comm)
{
    size_t rank, ranks;
    cudaStream_t stream;
    coarsen_nccl_side side;
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreate(&stream));
    CHECK(coarsen_nccl_side_create(&side));
    check(coarsen_nccl_place(comm, &rank, &ranks), comm);
    const std::vector<size_t> counts = parts(NUMBERS, ranks), rows = parts(SIDE, ranks);
    const std::vector<size_t> slices = parts(SLICES, ranks);
    const size_t n = counts[rank], own = rows[rank], deep = slices[rank];
    std::vector<unsigned int> numbers(n);
    std::vector<float> m(own * SIDE), cells(deep * SLICE, rank == 0 ? 100.0f : 0.0f);
    for (size_t i = 0; i < n; i++)
        numbers[i] = (unsigned int)((NUMBERS * rank / ranks + i) * 7919 % 10007);
    for (size_t i = 0; i < m.size(); i++)
        m[i] = (float)((SIDE * rank / ranks * SIDE + i) % 7);

    // The greatest scratch of all serves for each.
    size_t bytes = sort_scratch_bytes_nccl(counts.data(), comm);
    for (size_t other : {sum_scratch_bytes_nccl(n, comm), running_scratch_bytes_nccl(n, comm),
                         product_scratch_bytes_nccl(own, SIDE, rows.data(), comm),
                         heat_scratch_bytes_nccl(16, 16, slices.data(), comm)})
        bytes = other > bytes ? other : bytes;
    void *const scratch = device_alloc(bytes);
    unsigned int *const in = (unsigned int *)device_copy(numbers.data(), n * 4);
    unsigned int *const out = (unsigned int *)device_alloc(n * 4 + 44), *const bins = out + n;
    float *const matrix = (float *)device_copy(m.data(), m.size() * 4);
    float *const square = (float *)device_alloc(m.size() * 4);
    float *const before = (float *)device_copy(cells.data(), cells.size() * 4);
    float *const after = (float *)device_alloc(cells.size() * 4);
    unsigned int total, tens, last, ends[2];
    float corner, warmth;
    const auto get = [&](void *to, const void *from, size_t size) {
        check(coarsen_nccl_wait(&comm, stream, SECONDS), comm);
        CHECK(cudaMemcpy(to, from, size, cudaMemcpyDeviceToHost));
    };

    check(sum_scratch_init_nccl(scratch, bytes, stream), comm);
    check(sum_launch_nccl(in, bins, n, scratch, bytes, comm, stream), comm);
    get(&total, bins, 4);
    check(digits_launch_nccl(in, bins, n, NULL, 0, comm, stream), comm);
    get(&tens, bins, 4);
    check(running_scratch_init_nccl(scratch, bytes, stream), comm);
    check(running_launch_nccl(in, out, n, scratch, bytes, comm, stream), comm);
    get(&last, out + n - 1, 4);
    unsigned long long *splits;
    CHECK(cudaMallocHost(&splits, sort_splits_bytes_nccl(comm) + 1));
    check(sort_scratch_init_nccl(scratch, bytes, stream), comm);
    check(sort_launch_nccl(in, out, counts.data(), splits, scratch, bytes, comm, stream), comm);
    cudaError_t status;
    do { // the host has to know what goes where
        check(coarsen_nccl_wait(&comm, stream, SECONDS), comm);
        status =
            sort_finish_nccl(in, out, counts.data(), splits, scratch, bytes, &side, comm, stream);
    } while (status == cudaErrorNotReady);
    check(status, comm);
    get(ends, out, 4);
    get(ends + 1, out + n - 1, 4);
    check(product_launch_nccl(own, SIDE, rows.data(), 1, matrix, SIDE, matrix, SIDE, 0, square,
                              SIDE, scratch, bytes, &side, comm, stream),
          comm);
    get(&corner, square + m.size() - 1, 4);
    check(heat_launch_nccl(before, after, 16, 16, slices.data(), 16, SLICE, scratch, bytes, &side,
                           comm, stream),
          comm);
    get(&warmth, after, 4);
    printf("rank %zu of %zu: sum %u, %u end in 0, running sum %u, sorted %u to %u, product %g, "
           "heat %g\n",
           rank, ranks, total, tens, last, ends[0], ends[1], (double)corner, (double)warmth);
    CHECK(cudaFreeHost(splits));
    for (void *memory : {scratch, (void *)in, (void *)out, (void *)matrix, (void *)square,
                         (void *)before, (void *)after})
        CHECK(cudaFree(memory));
    CHECK(coarsen_nccl_side_destroy(&side));
    CHECK(cudaStreamDestroy(stream));
    ncclCommDestroy(comm);
}

// What Open MPI or torchrun says in the environment.
static int told(const char *mpi, const char *torchrun)
{
    const char *const value = getenv(mpi) ? getenv(mpi) : getenv(torchrun);
    return value ? atoi(value) : -1;
}

// Rank 0 leaves the communicator's id in a file, where the others find it.
static ncclUniqueId share_id(const char *path, int rank)
{
    ncclUniqueId id = {};
    char part[4096];
    snprintf(part, sizeof(part), "%s.part", path);
    FILE *file = NULL;
    if (rank == 0) {
        check(coarsen_nccl_check(ncclGetUniqueId(&id), NULL), NULL);
        file = fopen(part, "wb");
        if (!file || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file) != 0 ||
            rename(part, path) != 0)
            perror(path), exit(1);
        return id;
    }
    for (int tenths = 0; !(file = fopen(path, "rb")); tenths++)
        if (usleep(100000), tenths == 10 * SECONDS)
            perror(path), exit(1);
    if (fread(&id, sizeof(id), 1, file) != 1)
        perror(path), exit(1);
    fclose(file);
    return id;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const int rank = told("OMPI_COMM_WORLD_RANK", "RANK");
        const int ranks = told("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE");
        const int device = told("OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK");
        if (argc > 2 || rank < 0 || ranks < 1 || device < 0) {
            fprintf(stderr, "usage: many, or under mpirun or torchrun: many FILE\n");
            return 2;
        }
        ncclComm_t comm;
        CHECK(cudaSetDevice(device));
        check(
            coarsen_nccl_check(ncclCommInitRank(&comm, ranks, share_id(argv[1], rank), rank), NULL),
            NULL);
        if (rank == 0)
            remove(argv[1]); // all have read it
        work(device, comm);
        return 0;
    }
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    std::vector<ncclComm_t> comms((size_t)devices);
    std::vector<std::thread> threads;
    check(coarsen_nccl_check(ncclCommInitAll(comms.data(), devices, NULL), NULL), NULL);
    for (int device = 0; device < devices; device++)
        threads.emplace_back(work, device, comms[(size_t)device]);
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}

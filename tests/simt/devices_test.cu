// SPDX-License-Identifier: MIT
//
// Several devices, the calls of NCCL between them, and what orders the work of their streams. Ranks are
// threads.

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <simt.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../tap.h"

enum { N = 1000, MOST = 8 };

__global__ void fill(int *to, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = value + i;
}
static const int fill_line = __LINE__ - 2;

__global__ void add(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}
static const int add_line = __LINE__ - 2;

template <class... P, class... A>
static cudaError_t launch(cudaStream_t stream, int n, void (*kernel)(P...), A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = (n + 255) / 256, config.blockDim = 256;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

static void have_devices(int n)
{
    simt_config c = simt_get_config();
    c.devices = n;
    simt_set_config(&c);
}

template <class T> struct buffer {
    T *p = NULL;
    explicit buffer(size_t n)
    {
        cudaMalloc(&p, n * sizeof(T));
    }
    ~buffer()
    {
        cudaFree(p);
    }
    buffer(const buffer &) = delete;
    operator T *() const
    {
        return p;
    }
    std::vector<T> get(size_t n) const
    {
        std::vector<T> host(n);
        cudaMemcpy(host.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
        return host;
    }
    void set(const std::vector<T> &host)
    {
        cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    }
};

// ---- reports ------------------------------------------------------------------------------------

static unsigned long long reports_before;

static void quietly()
{
    reports_before = simt_warnings();
    simt_print_reports(0);
}

// Whether calls were reported since quietly(), the last one of the kind and with the texts.
static bool told(simt_kind kind, std::vector<const char *> says)
{
    simt_print_reports(1);
    const simt_report *r = simt_last_warning();
    bool good = simt_warnings() > reports_before && r->kind == kind;
    for (const char *text : says)
        good = good && strstr(r->text, text);
    if (!good)
        tap_diag("%llu reports; the last:\n%s", simt_warnings() - reports_before, r->text);
    return good;
}

static bool nothing_told()
{
    simt_print_reports(1);
    if (simt_warnings() != reports_before)
        tap_diag("%s", simt_last_warning()->text);
    return simt_warnings() == reports_before;
}

// Whether the last launch failed in this way.
static bool faulted(simt_kind kind, int line, const char *says)
{
    simt_print_reports(1);
    const simt_report *r = simt_last_report();
    if (!simt_traced())
        return true;
    bool good = r->kind == kind && r->here.line == line && strstr(r->text, says);
    if (!good)
        tap_diag("%s", r->text);
    return good;
}

// ---- ranks --------------------------------------------------------------------------------------

struct rank_of {
    int rank, ranks;
    ncclComm_t comm;
    cudaStream_t stream;
};

// Runs the function in `n` threads, each with a device and a communicator of its own. Returns what they
// say is wrong, one after the other.
static std::string in_ranks(int n, const std::function<std::string(rank_of &)> &body)
{
    have_devices(n);
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::string wrong;
    for (int rank = 0; rank < n; ++rank)
        threads.emplace_back([&, rank] {
            cudaSetDevice(rank);
            rank_of me = {rank, n, NULL, NULL};
            ncclResult_t error = ncclCommInitRank(&me.comm, n, id, rank);
            cudaStreamCreateWithFlags(&me.stream, cudaStreamNonBlocking);
            std::string said = error ? "no communicator" : body(me);
            cudaStreamDestroy(me.stream);
            if (me.comm && ncclCommDestroy(me.comm))
                said += " destroy";
            std::lock_guard<std::mutex> lock(mutex);
            if (!said.empty())
                wrong += " rank " + std::to_string(rank) + ": " + said;
        });
    for (auto &t : threads)
        t.join();
    return wrong;
}

#define OK_IN_RANKS(n, body, ...)                                                                  \
    do {                                                                                           \
        std::string wrong = in_ranks(n, body);                                                     \
        if (!tap_ok(wrong.empty(), __VA_ARGS__))                                                   \
            tap_diag("%s", wrong.c_str());                                                         \
    } while (0)

// ---- devices ------------------------------------------------------------------------------------

static void test_devices()
{
    have_devices(4);
    int count = 0, current = -1, other = -1, can = -1;
    cudaGetDeviceCount(&count);
    tap_ok(count == 4, "four devices");
    tap_ok(!cudaSetDevice(2) && !cudaGetDevice(&current) && current == 2, "a current device");
    std::thread([&] { cudaGetDevice(&other); }).join();
    tap_ok(other == 0, "each host thread has its own");
    tap_ok(cudaSetDevice(4) == cudaErrorInvalidDevice &&
               cudaSetDevice(-1) == cudaErrorInvalidDevice && !cudaGetDevice(&current) &&
               current == 2,
           "no device 4");
    cudaError_t elsewhere = cudaErrorUnknown;
    std::thread([&] { elsewhere = cudaPeekAtLastError(); }).join();
    tap_ok(cudaGetLastError() == cudaErrorInvalidDevice && !elsewhere, "errors are of a thread");

    cudaDeviceProp p;
    int bus = -1;
    tap_ok(!cudaGetDeviceProperties(&p, 3) && p.pciBusID == 3 &&
               !cudaDeviceGetAttribute(&bus, cudaDevAttrPciBusId, 1) && bus == 1 &&
               cudaGetDeviceProperties(&p, 4) == cudaErrorInvalidDevice,
           "properties of each");
    cudaGetLastError();

    size_t before[2], after[2], total;
    buffer<int> of_2(N);
    for (int i = 0; i < 2; ++i)
        cudaSetDevice(2 + i), cudaMemGetInfo(&before[i], &total);
    cudaSetDevice(2);
    cudaPointerAttributes attributes;
    {
        buffer<int> more(N);
        for (int i = 0; i < 2; ++i)
            cudaSetDevice(2 + i), cudaMemGetInfo(&after[i], &total);
        tap_ok(before[0] - after[0] == N * sizeof(int) && before[1] == after[1], "memory of each");
        tap_ok(!cudaPointerGetAttributes(&attributes, more.p) && attributes.device == 2,
               "a pointer's device");
    }

    cudaSetDevice(1);
    tap_ok(!cudaDeviceCanAccessPeer(&can, 1, 2) && can == 1 &&
               !cudaDeviceCanAccessPeer(&can, 1, 1) && can == 0,
           "who can reach whom");
    quietly();
    cudaError_t error = launch(0, N, fill, of_2.p, N, 0);
    tap_ok(faulted(SIMT_PEER_ACCESS, fill_line, "device 2's memory by a kernel on device 1") &&
               (error == cudaErrorIllegalAddress || !simt_traced()),
           "a kernel and another device's memory");
    tap_ok(!simt_traced() || strstr(simt_last_report()->text, "devices_test.cu:"),
           "where it was made");
    cudaGetLastError();
    tap_ok(!cudaDeviceEnablePeerAccess(2, 0) && !launch(0, N, fill, of_2.p, N, 7),
           "with peer access");
    tap_ok(cudaDeviceEnablePeerAccess(2, 0) == cudaErrorPeerAccessAlreadyEnabled &&
               cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice,
           "peer access that is refused");
    tap_ok(!cudaDeviceDisablePeerAccess(2) &&
               cudaDeviceDisablePeerAccess(2) == cudaErrorPeerAccessNotEnabled,
           "peer access ends");
    cudaGetLastError();

    cudaDeviceSynchronize();
    buffer<int> of_1(N);
    tap_ok(!cudaMemcpyPeer(of_1.p, 1, of_2.p, 2, N * sizeof(int)) && of_1.get(N)[9] == 16,
           "a copy between devices");
    quietly();
    error = cudaMemcpyPeer(of_1.p, 0, of_2.p, 2, 4);
    tap_ok(told(SIMT_INVALID_CALL, {"memory of device 1, and the call says 0"}) &&
               error == cudaErrorInvalidValue,
           "a copy that names the wrong device");

    int nine = 0;
    quietly();
    cudaSetDevice(2);
    cudaMemset(of_2, 9, N * sizeof(int));
    cudaSetDevice(1);
    tap_ok(!cudaMemcpy(&nine, of_2, 1, cudaMemcpyDeviceToHost) && nine == 9 && nothing_told(),
           "a copy waits for the device whose memory it is");

    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreate(&stream);
    cudaSetDevice(2);
    cudaEventCreate(&event);
    quietly();
    error = launch(stream, N, fill, of_2.p, N, 0);
    tap_ok(told(SIMT_INVALID_CALL, {"the stream is of device 1, and device 2 is current"}) &&
               error == cudaErrorInvalidResourceHandle,
           "a launch in another device's stream");
    quietly();
    error = cudaEventRecord(event, stream);
    tap_ok(told(SIMT_INVALID_CALL, {"of device 2", "of device 1"}) &&
               error == cudaErrorInvalidResourceHandle,
           "another device's event");
    cudaStreamDestroy(stream);
    quietly();
    error = cudaMemsetAsync(of_2.p, 0, 4, stream);
    tap_ok(told(SIMT_INVALID_CALL, {"is no stream"}) && error == cudaErrorInvalidResourceHandle,
           "a stream that was destroyed");
    cudaEventDestroy(event);
    cudaGetLastError();
    cudaSetDevice(0);
}

// ---- the calls of NCCL --------------------------------------------------------------------------

template <class T>
static bool all_reduces(const rank_of &me, ncclDataType_t type, ncclRedOp_t op, double want)
{
    buffer<T> x(3);
    x.set({T(me.rank + 1), T(2), T(me.rank % 2)});
    if (ncclAllReduce(x, x, 3, type, op, me.comm, me.stream) || cudaStreamSynchronize(me.stream))
        return false;
    return (double)x.get(3)[0] == want;
}

static std::string collectives(rank_of &me)
{
    const int n = me.ranks, rank = me.rank;
    std::string wrong;
    double sum = 0, product = 1;
    for (int r = 1; r <= n; ++r)
        sum += r, product *= r;
    if (!all_reduces<int>(me, ncclInt, ncclSum, sum) ||
        !all_reduces<unsigned>(me, ncclUint32, ncclProd, product) ||
        !all_reduces<long long>(me, ncclInt64, ncclMin, 1) ||
        !all_reduces<unsigned long long>(me, ncclUint64, ncclMax, n) ||
        !all_reduces<signed char>(me, ncclInt8, ncclSum, sum) ||
        !all_reduces<unsigned char>(me, ncclUint8, ncclMin, 1) ||
        !all_reduces<float>(me, ncclFloat, ncclMax, n) ||
        !all_reduces<double>(me, ncclDouble, ncclProd, product))
        wrong += " all-reduce";
    buffer<__half> h(1);
    h.set({__half(1.5f)});
    ncclAllReduce(h, h, 1, ncclHalf, ncclSum, me.comm, me.stream);
    cudaStreamSynchronize(me.stream);
    if ((float)h.get(1)[0] != 1.5f * n)
        wrong += " half";
    buffer<unsigned short> b(1);
    b.set({0x3fc0}); // 1.5
    ncclAllReduce(b, b, 1, ncclBfloat16, ncclSum, me.comm, me.stream);
    cudaStreamSynchronize(me.stream);
    float f = 1.5f * n;
    unsigned bits;
    memcpy(&bits, &f, sizeof bits);
    if (b.get(1)[0] != bits >> 16)
        wrong += " bfloat16";

    buffer<int> x(N), y(N * MOST), z(N * MOST);
    launch(me.stream, N, fill, x.p, N, rank * N);
    ncclAllGather(x, y, N, ncclInt, me.comm, me.stream);
    ncclReduceScatter(y, z, N, ncclInt, ncclSum, me.comm, me.stream);
    cudaStreamSynchronize(me.stream);
    std::vector<int> got = y.get(N * n), scattered = z.get(N);
    for (int i = 0; i < N * n; ++i)
        if (got[i] != i || scattered[i % N] != (rank * N + i % N) * n) {
            wrong += " gather or scatter";
            break;
        }
    const int root = n - 1;
    ncclBroadcast(x, z, N, ncclInt, root, me.comm, me.stream);
    ncclReduce(x, rank == root ? y.p : NULL, N, ncclInt, ncclSum, root, me.comm, me.stream);
    cudaStreamSynchronize(me.stream);
    if (z.get(N)[5] != root * N + 5 || (rank == root && y.get(N)[1] != N * (n * (n - 1) / 2) + n))
        wrong += " broadcast or reduce";

    // A ring, more than one message each way, and one of nothing.
    ncclGroupStart();
    ncclSend(x, 10, ncclInt, (rank + 1) % n, me.comm, me.stream);
    ncclSend(x + 10, 20, ncclInt, (rank + 1) % n, me.comm, me.stream);
    ncclSend(NULL, 0, ncclInt, (rank + n - 1) % n, me.comm, me.stream);
    ncclRecv(y, 10, ncclInt, (rank + n - 1) % n, me.comm, me.stream);
    ncclRecv(y + 10, 20, ncclInt, (rank + n - 1) % n, me.comm, me.stream);
    ncclRecv(NULL, 0, ncclInt, (rank + 1) % n, me.comm, me.stream);
    if (ncclGroupEnd() || cudaStreamSynchronize(me.stream))
        wrong += " group";
    for (int i = 0; i < 30; ++i)
        if (y.get(30)[i] != (rank + n - 1) % n * N + i) {
            wrong += " messages";
            break;
        }
    int count = 0, number = -1, mine = -1;
    ncclResult_t error = ncclInternalError;
    ncclCommCount(me.comm, &count), ncclCommCuDevice(me.comm, &number);
    ncclCommUserRank(me.comm, &mine), ncclCommGetAsyncError(me.comm, &error);
    if (count != n || number != rank || mine != rank || error)
        wrong += " communicator";
    return wrong;
}

// The devices of one thread.
static bool one_thread(int n)
{
    have_devices(n);
    std::vector<ncclComm_t> comms(n);
    std::vector<int *> x(n);
    bool good = !ncclCommInitAll(comms.data(), n, NULL);
    for (int r = 0; r < n; ++r) {
        cudaSetDevice(r), cudaMalloc(&x[r], 4);
        cudaMemcpy(x[r], &r, 4, cudaMemcpyHostToDevice);
    }
    ncclGroupStart();
    for (int r = 0; r < n; ++r)
        good = good && !ncclAllReduce(x[r], x[r], 1, ncclInt, ncclSum, comms[r], 0);
    good = !ncclGroupEnd() && good;
    for (int r = 0; r < n; ++r) {
        int got = -1;
        cudaSetDevice(r), cudaMemcpy(&got, x[r], 4, cudaMemcpyDeviceToHost), cudaFree(x[r]);
        good = good && got == n * (n - 1) / 2 && !ncclCommDestroy(comms[r]);
    }
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for (int r = 0; r < n; ++r)
        cudaSetDevice(r), ncclCommInitRank(&comms[r], n, id, r);
    good = !ncclGroupEnd() && good;
    for (int r = 0; r < n; ++r)
        good = good && !ncclCommFinalize(comms[r]) && !ncclCommDestroy(comms[r]);
    cudaSetDevice(0);
    return good;
}

static void test_nccl()
{
    int version = 0;
    tap_ok(!ncclGetVersion(&version) && version == NCCL_VERSION_CODE && version >= 21800,
           "a version");
    simt_config before = simt_get_config(), c = before;
    quietly();
    for (int n : {1, 2, 3, 4, (int)MOST}) {
        OK_IN_RANKS(n, collectives, "%d ranks", n);
        c = simt_get_config();
        c.order = SIMT_SHUFFLE, c.seed = n;
        simt_set_config(&c);
        OK_IN_RANKS(n, collectives, "%d ranks, shuffled", n);
        c.order = before.order;
        simt_set_config(&c);
        tap_ok(one_thread(n), "%d devices of one thread", n);
    }
    tap_ok(nothing_told(), "nothing to report");

    // The order of a sum is nobody's to rely on.
    std::vector<float> sums(2);
    for (int i = 0; i < 2; ++i) {
        c = simt_get_config();
        c.order = i ? SIMT_REVERSE : SIMT_FORWARD;
        simt_set_config(&c);
        in_ranks(3, [&](rank_of &me) {
            buffer<float> x(1);
            x.set({me.rank == 0 ? 1e8f : me.rank == 1 ? -1e8f : 1.f});
            ncclAllReduce(x, x, 1, ncclFloat, ncclSum, me.comm, me.stream);
            cudaStreamSynchronize(me.stream);
            if (me.rank == 0)
                sums[i] = x.get(1)[0];
            return std::string();
        });
    }
    tap_ok(sums[0] == 1 && sums[1] == 0, "ranks are combined in SIMT_ORDER: %g, %g", sums[0],
           sums[1]);
    c.order = before.order;
    simt_set_config(&c);
}

// ---- misuse of NCCL -----------------------------------------------------------------------------

// All ranks make a call that may differ. All get the error, and so do later calls.
static void refused(const char *name, ncclResult_t want, std::vector<const char *> says,
                    const std::function<ncclResult_t(const rank_of &, int *)> &call)
{
    quietly();
    std::string wrong = in_ranks(3, [&](rank_of &me) {
        buffer<int> x(N);
        x.set(std::vector<int>(N));
        ncclResult_t got = call(me, x), later, error = ncclSuccess;
        later = ncclAllReduce(x, x, 1, ncclInt, ncclSum, me.comm, me.stream);
        ncclCommGetAsyncError(me.comm, &error);
        return got == want && later == want && error == want
                   ? std::string()
                   : std::to_string(got) + std::to_string(later) + std::to_string(error);
    });
    bool good = told(SIMT_INVALID_CALL, says);
    if (!tap_ok(wrong.empty() && good, "told: %s", name))
        tap_diag("%s", wrong.c_str());
}

static void test_misuse()
{
    refused("counts that differ", ncclInvalidArgument, {"ncclAllReduce", "the count is 5 and 6"},
            [](const rank_of &me, int *x) {
                return ncclAllReduce(x, x, me.rank == 2 ? 6 : 5, ncclInt, ncclSum, me.comm,
                                     me.stream);
            });
    refused("types that differ", ncclInvalidArgument, {"the type is ncclInt32 and ncclFloat32"},
            [](const rank_of &me, int *x) {
                return ncclAllReduce(x, x, 5, me.rank ? ncclFloat : ncclInt, ncclSum, me.comm,
                                     me.stream);
            });
    refused("operations that differ", ncclInvalidArgument, {"ncclSum and ncclMax"},
            [](const rank_of &me, int *x) {
                return ncclAllReduce(x, x, 5, ncclInt, me.rank == 1 ? ncclMax : ncclSum, me.comm,
                                     me.stream);
            });
    refused("roots that differ", ncclInvalidArgument, {"ranks 0 and 1", "the root is 0 and 1"},
            [](const rank_of &me, int *x) {
                return ncclBroadcast(x, x, 5, ncclInt, me.rank == 1, me.comm, me.stream);
            });
    refused("calls that differ", ncclInvalidArgument, {"ncclAllReduce and ncclBroadcast"},
            [](const rank_of &me, int *x) {
                return me.rank ? ncclBroadcast(x, x, 5, ncclInt, 0, me.comm, me.stream)
                               : ncclAllReduce(x, x, 5, ncclInt, ncclSum, me.comm, me.stream);
            });
    refused("messages of two sizes", ncclInvalidArgument,
            {"rank 0 sends 5 ncclInt32, and rank 1 receives 4"}, [](const rank_of &me, int *x) {
                return me.rank == 0 ? ncclSend(x, 5, ncclInt, 1, me.comm, me.stream)
                       : me.rank == 1
                           ? ncclRecv(x, 4, ncclInt, 0, me.comm, me.stream)
                           : ncclAllReduce(x, x, 1, ncclInt, ncclSum, me.comm, me.stream);
            });
    refused("ranks that wait for each other", ncclSystemError,
            {"waits for ever", "waits in ncclRecv", "devices_test.cu:"},
            [](const rank_of &me, int *x) {
                return ncclRecv(x, 5, ncclInt, (me.rank + 1) % 3, me.comm, me.stream);
            });

    simt_config before = simt_get_config(), c = before;
    c.watchdog = 1, c.devices = 3;
    simt_set_config(&c);
    quietly();
    std::string wrong = in_ranks(3, [](rank_of &me) {
        buffer<int> x(N);
        x.set(std::vector<int>(N));
        ncclAllReduce(x, x, 1, ncclInt, ncclSum, me.comm, me.stream);
        if (me.rank == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2500));
            return std::string();
        }
        ncclResult_t got = ncclBroadcast(x, x, 5, ncclInt, 0, me.comm, me.stream);
        return got == ncclSystemError ? std::string() : std::to_string(got);
    });
    bool good = told(SIMT_INVALID_CALL,
                     {"in ncclBroadcast", "waits 1 s: rank 1 called last ncclAllReduce"});
    tap_ok(good && wrong.empty(), "told: a rank that does not come%s", wrong.c_str());
    simt_set_config(&before);

    quietly();
    wrong = in_ranks(4, [](rank_of &me) {
        buffer<int> x(N);
        x.set(std::vector<int>(N));
        if (me.rank == 2) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            ncclCommAbort(me.comm);
            me.comm = NULL;
            return std::string();
        }
        ncclResult_t got = ncclAllReduce(x, x, 1, ncclInt, ncclSum, me.comm, me.stream), error;
        ncclResult_t later = ncclAllReduce(x, x, 1, ncclInt, ncclSum, me.comm, me.stream);
        ncclCommGetAsyncError(me.comm, &error);
        bool same =
            got == ncclRemoteError && later == got && error == got && !ncclCommAbort(me.comm);
        me.comm = NULL;
        return same ? std::string() : std::to_string(got) + std::to_string(later);
    });
    tap_ok(nothing_told() && wrong.empty(), "a rank that aborts: the others return%s",
           wrong.c_str());

    quietly();
    wrong = in_ranks(2, [](rank_of &me) {
        buffer<int> x(N);
        x.set(std::vector<int>(N));
        if (me.rank == 1)
            return std::string();
        ncclResult_t got = ncclAllReduce(x, x, 1, ncclInt, ncclSum, me.comm, me.stream);
        return got == ncclSystemError ? std::string() : std::to_string(got);
    });
    tap_ok(told(SIMT_INVALID_CALL, {"waits for ever: rank 1 has no communicator"}) && wrong.empty(),
           "told: a rank that is gone%s", wrong.c_str());

    have_devices(2);
    ncclComm_t comms[2];
    const int twice[] = {1, 1};
    quietly();
    ncclResult_t got = ncclCommInitAll(comms, 2, twice);
    tap_ok(told(SIMT_INVALID_CALL, {"names device 1 twice"}) && got == ncclInvalidUsage,
           "told: a device named twice");
    ncclUniqueId id = {};
    quietly();
    got = ncclCommInitRank(comms, 1, id, 0);
    tap_ok(told(SIMT_INVALID_CALL, {"not from ncclGetUniqueId"}) && got == ncclInvalidArgument,
           "told: an id that is none");
    ncclGetUniqueId(&id);
    quietly();
    got = ncclCommInitRank(comms, 3, id, 0);
    tap_ok(told(SIMT_INVALID_CALL, {"3 ranks", "SIMT_DEVICES"}) && got == ncclInvalidUsage,
           "told: more ranks than devices");
    ncclResult_t second = ncclSuccess;
    quietly();
    std::thread thread([&] { second = ncclCommInitRank(comms + 1, 2, id, 1); });
    got = ncclCommInitRank(comms, 2, id, 0);
    thread.join();
    tap_ok(told(SIMT_INVALID_CALL, {"are both on device 0"}) && got == ncclInvalidUsage &&
               second == got && !comms[0] && !comms[1],
           "told: two ranks on one device");

    ncclCommInitAll(comms, 2, NULL);
    buffer<int> x(N);
    x.set(std::vector<int>(N));
#define REFUSED(call, want, ...)                                                                   \
    do {                                                                                           \
        quietly();                                                                                 \
        ncclResult_t is = call;                                                                    \
        tap_ok(told(SIMT_INVALID_CALL, {__VA_ARGS__, "devices_test.cu:"}) && is == (want),         \
               "told: %s", #call);                                                                 \
    } while (0)
    REFUSED(ncclAllReduce(x, x, 1, ncclInt, ncclSum, comms[1], 0), ncclInvalidArgument,
            "memory of device 0, and rank 1 is on device 1");
    REFUSED(ncclAllReduce(NULL, x, 1, ncclInt, ncclSum, comms[0], 0), ncclInvalidArgument,
            "the send buffer is a null pointer");
    REFUSED(ncclAllReduce(x, x + 1, N, ncclInt, ncclSum, comms[0], 0), ncclInvalidArgument,
            "the receive buffer is 4000 bytes at offset 4");
    REFUSED(ncclAllReduce((char *)x.p + 1, x, 1, ncclInt, ncclSum, comms[0], 0),
            ncclInvalidArgument, "no address for ncclInt32");
    REFUSED(ncclSend(x, 1, ncclInt, 2, comms[0], 0), ncclInvalidArgument,
            "rank 2, and there are 2");
    REFUSED(ncclAllReduce(x, x, 1, ncclInt, ncclAvg, comms[0], 0), ncclInvalidArgument,
            "does not have operation 4");
    REFUSED(ncclReduceScatter(x, x + 4, 4, ncclInt, ncclSum, comms[0], 0), ncclInvalidArgument,
            "overlap");
    REFUSED(ncclGroupEnd(), ncclInvalidUsage, "no group was started");
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaSetDevice(1);
    buffer<int> y(N);
    REFUSED(ncclAllReduce(y, y, 1, ncclInt, ncclSum, comms[1], stream), ncclUnhandledCudaError,
            "none of device 1");
    cudaStreamDestroy(stream);
    cudaSetDevice(0);
    // A call of a group that fails: none of the group happens.
    quietly();
    ncclGroupStart();
    ncclAllReduce(x, x, 1, ncclInt, ncclSum, comms[0], 0);
    ncclAllReduce(x, x, 1, ncclInt, ncclSum, comms[1], 0);
    tap_ok(ncclGroupEnd() == ncclInvalidArgument &&
               told(SIMT_INVALID_CALL, {"rank 1 is on device 1"}),
           "told: at the end of the group");
    ncclComm_t gone = comms[1];
    ncclCommDestroy(comms[0]), ncclCommDestroy(comms[1]);
    REFUSED(ncclCommDestroy(gone), ncclInvalidArgument, "is no communicator");
}

// ---- the order of streams -----------------------------------------------------------------------

enum { NOTHING, EVENT, STREAM, DEVICE, QUERY };

// What the host does between work in one stream and work in another.
static void put_between(int how, cudaStream_t first, cudaStream_t second)
{
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (how == EVENT) {
        cudaEventRecord(event, first);
        cudaStreamWaitEvent(second, event);
    } else if (how == STREAM) {
        cudaStreamSynchronize(first);
    } else if (how == DEVICE) {
        cudaDeviceSynchronize();
    } else if (how == QUERY) {
        cudaEventRecord(event, first);
        while (cudaEventQuery(event) == cudaErrorNotReady)
            ;
    }
    cudaEventDestroy(event);
}

// Rank 1's message comes in one stream of rank 0, which does something with it in another.
static cudaError_t after_message(int how,
                                 const std::function<cudaError_t(int *, cudaStream_t)> &then,
                                 unsigned flags = cudaStreamNonBlocking)
{
    cudaError_t error = cudaErrorUnknown;
    in_ranks(2, [&](rank_of &me) {
        buffer<int> x(2 * N);
        cudaMemset(x, 0, 2 * N * sizeof(int));
        cudaDeviceSynchronize();
        cudaStream_t other;
        cudaStreamCreateWithFlags(&other, flags);
        if (me.rank) {
            ncclSend(x, N, ncclInt, 0, me.comm, me.stream);
        } else {
            ncclRecv(x, N, ncclInt, 1, me.comm, me.stream);
            put_between(how, me.stream, other);
            error = then(x, other);
        }
        cudaDeviceSynchronize();
        cudaStreamDestroy(other);
        return std::string();
    });
    cudaGetLastError();
    return error;
}

static void test_streams()
{
    auto reads = [](int *x, cudaStream_t s) { return launch(s, N, add, (const int *)x, x + N, N); };
    auto writes = [](int *x, cudaStream_t s) {
        return launch(s, N, add, (const int *)x + N, x, N);
    };
    auto beside = [](int *x, cudaStream_t s) {
        return launch(s, N / 2, add, (const int *)x + N + N / 2, x + N, N / 2);
    };
    auto copies = [](int *x, cudaStream_t s) {
        return cudaMemcpyAsync(x + N, x, N * 4, cudaMemcpyDeviceToDevice, s);
    };
    cudaError_t error;
    quietly();
    error = after_message(NOTHING, reads);
    tap_ok(faulted(SIMT_STREAM_RACE, add_line, "read of 4 bytes which ncclRecv writes") &&
               (error == cudaErrorLaunchFailure || !simt_traced()),
           "a kernel reads a message that has not come");
    quietly();
    after_message(NOTHING, writes);
    tap_ok(faulted(SIMT_STREAM_RACE, add_line, "which ncclRecv writes"),
           "a kernel writes where a message comes");
    quietly();
    tap_ok(!after_message(NOTHING, beside) && nothing_told(), "a kernel beside the message");
    quietly();
    error = after_message(NOTHING, copies);
    tap_ok(told(SIMT_STREAM_RACE,
                {"in cudaMemcpyAsync", "which ncclRecv writes", "devices_test.cu:"}) &&
               error == cudaErrorLaunchFailure,
           "told: a copy of a message that has not come");
    for (int how : {EVENT, STREAM, DEVICE, QUERY}) {
        quietly();
        tap_ok(!after_message(how, reads) && !after_message(how, writes) &&
                   !after_message(how, copies) && nothing_told(),
               "after %s",
               how == EVENT    ? "an event"
               : how == STREAM ? "the stream"
               : how == DEVICE ? "the device"
                               : "a query");
    }
    quietly();
    error = after_message(NOTHING, [](int *x, cudaStream_t) {
        int *host;
        cudaMallocHost(&host, N * 4);
        return cudaMemcpy(host, x, N * 4, cudaMemcpyDeviceToHost);
    });
    tap_ok(told(SIMT_STREAM_RACE, {"in cudaMemcpy", "which ncclRecv writes"}) && error,
           "told: cudaMemcpy does not wait for a stream that does not block");

    // The other way round: what a kernel wrote is sent in another stream.
    for (int how : {NOTHING, EVENT, STREAM}) {
        ncclResult_t result[2] = {};
        quietly();
        in_ranks(2, [&](rank_of &me) {
            buffer<int> x(N);
            cudaStream_t other;
            cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
            if (!me.rank) {
                launch(other, N, fill, x.p, N, 0);
                put_between(how, other, me.stream);
            }
            result[me.rank] = me.rank ? ncclRecv(x, N, ncclInt, 0, me.comm, me.stream)
                                      : ncclSend(x, N, ncclInt, 1, me.comm, me.stream);
            cudaDeviceSynchronize();
            cudaStreamDestroy(other);
            return std::string();
        });
        if (how == NOTHING && simt_traced())
            tap_ok(told(SIMT_STREAM_RACE,
                        {"in ncclSend", "which the kernel fill touched (launched at"}) &&
                       result[0] == ncclInvalidUsage && result[1] == result[0],
                   "told: a message that no one has written yet");
        else
            tap_ok(nothing_told() && !result[0] && !result[1], "a message that is written");
    }

    // Messages of one group.
    quietly();
    ncclResult_t result[2] = {};
    in_ranks(2, [&](rank_of &me) {
        buffer<int> x(N);
        cudaMemsetAsync(x, 0, N * sizeof(int), me.stream);
        ncclGroupStart();
        ncclSend(x, 10, ncclInt, 1 - me.rank, me.comm, me.stream);
        ncclRecv(x + 9, 10, ncclInt, 1 - me.rank, me.comm, me.stream);
        result[me.rank] = ncclGroupEnd();
        return std::string();
    });
    tap_ok(told(SIMT_STREAM_RACE, {"ncclRecv of the same group writes what this call reads"}) &&
               result[0] == ncclInvalidUsage && result[1] == ncclInvalidUsage,
           "told: a message that comes where another is sent from");

    // What nothing wrote.
    quietly();
    in_ranks(2, [&](rank_of &me) {
        buffer<int> x(N);
        if (me.rank)
            cudaMemsetAsync(x, 0, N * sizeof(int), me.stream);
        else
            cudaMemsetAsync(x, 0, (N - 1) * sizeof(int), me.stream);
        ncclAllReduce(x, x, N, ncclInt, ncclSum, me.comm, me.stream);
        return std::string();
    });
    tap_ok(!simt_traced() ||
               told(SIMT_UNWRITTEN_COPY, {"in ncclAllReduce", "combines 4 bytes", "offset 3996"}),
           "told: a sum of what nothing wrote");

    // Two kernels in two streams of one device.
    have_devices(1);
    cudaStream_t first, second, blocking;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    int least = -9, greatest = 9;
    tap_ok(!cudaDeviceGetStreamPriorityRange(&least, &greatest) && greatest <= least &&
               cudaStreamCreateWithPriority(&second, 2, greatest) == cudaErrorInvalidValue &&
               !cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, greatest),
           "a stream of a priority");
    cudaGetLastError();
    cudaStreamCreate(&blocking);
    buffer<int> x(N), y(N);
    auto two = [&](cudaStream_t a, int how, cudaStream_t b) {
        cudaDeviceSynchronize();
        simt_print_reports(0);
        launch(a, N, fill, y.p, N, 0);
        launch(a, N, fill, x.p, N, 0);
        put_between(how, a, b);
        cudaError_t is = launch(b, N, add, (const int *)x, y.p, N);
        cudaGetLastError();
        return is;
    };
    error = two(first, NOTHING, second);
    tap_ok(faulted(SIMT_STREAM_RACE, add_line, "which the kernel fill touched (launched at"),
           "two kernels with nothing between them");
    tap_ok(!two(first, EVENT, second), "an event between them");
    tap_ok(!two(first, NOTHING, first), "the same stream");
    tap_ok(!two(blocking, NOTHING, 0) && !two(0, NOTHING, blocking) &&
               !two(blocking, NOTHING, cudaStreamLegacy),
           "the default stream");
    two(first, NOTHING, 0);
    tap_ok(faulted(SIMT_STREAM_RACE, add_line, "fill"),
           "the default stream and one that does not block");
    cudaDeviceSynchronize();
    simt_print_reports(1);
    quietly();
    tap_ok(!launch(first, N, add, (const int *)x, y.p, N) && !launch(second, N, fill, x.p, 0, 0) &&
               nothing_told(),
           "two kernels that touch nothing alike");

    // Pinned memory.
    int *host, got = 0;
    cudaMallocHost(&host, N * 4);
    cudaMemcpyAsync(host, x, N * 4, cudaMemcpyDeviceToHost, first);
    quietly();
    got += host[3]; // too early
    tap_ok(!simt_traced() ||
               told(SIMT_STREAM_RACE, {"host code", "it reads 4 bytes", "cudaMemcpyAsync"}),
           "told: host code reads what is not copied yet");
    quietly();
    cudaMemcpyAsync(host, x, N * 4, cudaMemcpyDeviceToHost, first);
    cudaStreamSynchronize(first);
    got += host[3];
    tap_ok(nothing_told() && got == 6, "host code that waits");
    cudaFreeHost(host);
    cudaStreamDestroy(first), cudaStreamDestroy(second), cudaStreamDestroy(blocking);
    cudaDeviceSynchronize();
}

int main()
{
    test_devices();
    test_nccl();
    test_misuse();
    test_streams();
    return tap_done();
}

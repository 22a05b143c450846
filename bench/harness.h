// SPDX-License-Identifier: MIT
//
// bench/harness.h: how every pattern here is timed. A pattern is one file. It makes contests of entries
// (kernels, the peer, a device copy) on one problem. The harness verifies, times, prints and records
// them.
//
//     int main(int argc, char **argv)
//     {
//         bench b(argc, argv, {"Sums, beside CUB's.", "", 10, 30});
//         for (int e : b.exponents(2)) {
//             bench_contest contest("reduce", "float", 1ull << e);
//             contest.entries.push_back(copy), ...push_back(cub), ...push_back(ours);
//             b.run(contest);
//         }
//         return b.finish();
//     }
//
// How a time is taken:
// - Each entry is verified twice before it is timed, so that what a launch leaves behind for the next is
//   right too, and once after. A wrong entry is not timed, and the program exits with 1.
// - The entries of a contest take turns, A B C then C B A, so that a drift hits all of them, as where what
//   they multiply heats the device and slows its clock. A turn is ten samples, or five with --quick, after one
//   that is thrown away: the first launch after another kernel also has to fetch its instructions, which takes
//   a microsecond.
// - Before each launch the L2 cache is flushed. That also keeps the device busy while the host queues
//   the launch, so the events around it measure the device and not the host. The start event shows
//   whether the last launch of a turn was queued in time; if not, the turn is thrown away.
// - The time is between two events around one call of the public launcher, with all kernels that it
//   launches. The median of the samples is what counts.
// - The samples of a turn are queued in one go, so the flush of the next is waiting behind the second
//   event. That adds about 0.6 us to a time on an H200. With --alone the host waits for each sample
//   before it queues the next, as coarsen-tune does, and the times agree with those of coarsen-tune.

#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <cub/version.cuh>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <getopt.h>
#include <unistd.h>

// ---- Errors -------------------------------------------------------------------------------------

#define BENCH_CHECK(call) bench_check((call), #call, __FILE__, __LINE__)

static inline void bench_check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: %s\n    failed: %s\n", file, line, call, cudaGetErrorString(status));
    exit(1);
}

// ---- Data on the device -------------------------------------------------------------------------

// Device memory that frees itself. bytes may be 0.
static inline std::shared_ptr<void> bench_alloc(size_t bytes)
{
    void *p = nullptr;
    BENCH_CHECK(cudaMalloc(&p, std::max<size_t>(bytes, 16)));
    return std::shared_ptr<void>(p, [](void *p) { cudaFree(p); });
}

// The same, zeroed.
static inline std::shared_ptr<void> bench_zeroed(size_t bytes)
{
    std::shared_ptr<void> p = bench_alloc(bytes);
    BENCH_CHECK(cudaMemset(p.get(), 0, std::max<size_t>(bytes, 16)));
    return p;
}

// Bits mixed well (the finaliser of SplitMix64).
__host__ __device__ inline uint64_t bench_mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// 64 random bits that depend on the seed and the index alone.
__host__ __device__ inline uint64_t bench_random(uint64_t seed, uint64_t i)
{
    return bench_mixed(seed * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u);
}

// The value for those bits: a float or double in [-1, 1), an int in [-1000, 1000], or any integer of another type.
template <typename T> struct bench_value {
    __host__ __device__ static T of(uint64_t bits)
    {
        return (T)(bits >> (64 - 8 * sizeof(T)));
    }
};
template <> struct bench_value<float> {
    __host__ __device__ static float of(uint64_t bits)
    {
        return (float)((int64_t)(bits >> 40) - (1 << 23)) / (1 << 23);
    }
};
template <> struct bench_value<double> {
    __host__ __device__ static double of(uint64_t bits)
    {
        return (double)((int64_t)(bits >> 11) - (1ll << 52)) / (1ll << 52);
    }
};
template <> struct bench_value<int> {
    __host__ __device__ static int of(uint64_t bits)
    {
        return (int)((bits >> 32) % 2001) - 1000;
    }
};

template <typename T> __global__ void bench_fill_kernel(T *data, size_t n, uint64_t seed)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] = bench_value<T>::of(bench_random(seed, i));
}

template <typename T> void bench_fill(T *data, size_t n, uint64_t seed)
{
    bench_fill_kernel<<<1024, 256>>>(data, n, seed);
    BENCH_CHECK(cudaGetLastError());
    BENCH_CHECK(cudaDeviceSynchronize());
}

// Each value is its index, or as many bytes of that as it has.
template <typename V> __global__ void bench_number(V *values, size_t n)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        memcpy(values + i, &i, sizeof(V) < 8 ? sizeof(V) : 8);
}

// Whether a check finds all right. look(first_wrong) launches it; it leaves the least index of what is wrong there.
template <typename Look> bool bench_all_right(const char *what, std::string *why, Look look)
{
    const std::shared_ptr<void> place = bench_alloc(8);
    unsigned long long first = ~0ull;
    BENCH_CHECK(cudaMemcpy(place.get(), &first, 8, cudaMemcpyHostToDevice));
    look((unsigned long long *)place.get());
    BENCH_CHECK(cudaMemcpy(&first, place.get(), 8, cudaMemcpyDeviceToHost));
    *why = what + (" " + std::to_string(first));
    return first == ~0ull;
}

// Reads n vectors, so that they replace what the cache held, and leaves the cache clean.
static __global__ void bench_read_kernel(const uint4 *data, size_t n, unsigned int *never)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    unsigned int seen = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const uint4 v = data[i];
        seen |= v.x & v.y & v.z & v.w;
    }
    if (seen == 0xffffffff) // the buffer has no such word, but the compiler does not know that
        *never = seen;
}

// ---- Rungs --------------------------------------------------------------------------------------

// A bench includes itself, and each inclusion registers its rungs here: those of a ladder, and those that --sweep takes.
// R is what the bench knows of one. For: of which ladder, if the same R has several.
template <typename R, typename For = R> std::vector<R> &bench_rungs()
{
    static std::vector<R> list;
    return list;
}

template <typename R> std::vector<R> &bench_variants()
{
    static std::vector<R> list;
    return list;
}

template <typename R> bool bench_add(std::vector<R> &list, R entry)
{
    list.push_back(entry);
    return true;
}

// ---- Contests -----------------------------------------------------------------------------------

struct bench_entry {
    std::string kernel;
    std::string knobs; // "BLOCK_DIM=256 COARSE_FACTOR=4", or "" for the header's defaults
    double bytes = 0;  // that the problem needs to move, for GB/s
    double work = 0; // floating-point operations, elements, ..., whatever the contest counts; or 0

    // Queues what must be undone before the next launch, such as a change of its input. Not timed.
    std::function<cudaError_t(cudaStream_t)> prepare;
    // Queues the work: the public launcher, once.
    std::function<cudaError_t(cudaStream_t)> launch;
    // Whether it waits for the device in between. What the host does meanwhile is part of its time.
    bool waits = false;
    // Poisons the output. The stream is idle.
    std::function<void()> poison;
    // Whether the output is right. The stream is idle. If it is wrong, *why says what was found.
    std::function<bool(std::string *why)> check;

    int occupancy = -1; // percent of the threads that a multiprocessor can hold; -1: not known
    int registers = -1; // per thread
};

struct bench_contest {
    std::string pattern, type;
    unsigned long long n;
    std::string data;          // which data or shape, if a pattern has several
    std::string peer = "CUB";  // the entry whose speed is 1
    std::string copy = "copy"; // the entry whose bandwidth is 100%
    std::vector<bench_entry> entries;

    bench_contest(std::string pattern, std::string type, unsigned long long n)
        : pattern(pattern), type(type), n(n)
    {
    }
};

// A device copy, of arrays that may be empty. It reads and writes each of their bytes, and nothing checks it.
struct bench_array {
    void *to;
    const void *from;
    size_t bytes;
};
static inline bench_entry bench_copy(const std::vector<bench_array> &arrays,
                                     std::function<void()> poison)
{
    bench_entry copy;
    copy.kernel = "copy";
    for (const bench_array &a : arrays)
        copy.bytes += 2.0 * (double)a.bytes;
    copy.launch = [=](cudaStream_t stream) {
        cudaError_t status = cudaSuccess;
        for (const bench_array &a : arrays)
            if (status == cudaSuccess && a.bytes > 0)
                status = cudaMemcpyAsync(a.to, a.from, a.bytes, cudaMemcpyDeviceToDevice, stream);
        return status;
    };
    copy.poison = poison;
    copy.check = [](std::string *) { return true; };
    return copy;
}

// The occupancy and registers of a kernel, launched with this many threads and bytes of dynamic shared
// memory.
template <typename Kernel>
void bench_occupancy(bench_entry *entry, Kernel kernel, int threads, size_t shared_bytes = 0)
{
    int device, blocks, most;
    cudaFuncAttributes attributes;
    BENCH_CHECK(cudaGetDevice(&device));
    BENCH_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    BENCH_CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes));
    BENCH_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    entry->occupancy = 100 * blocks * threads / most;
    entry->registers = attributes.numRegs;
}

// ---- The bench ----------------------------------------------------------------------------------

struct bench_defaults {
    const char *about;     // one line for --help
    const char *work_unit; // "GFLOP/s", ...; or "" if GB/s is enough
    int min, max;          // the default sizes, as powers of two; max is the limit too
};

class bench
{
  public:
    bool quick = false, sweep = false;

    bench(int argc, char **argv, bench_defaults defaults);
    ~bench();

    // The multiples of step, or of twice that with --quick, from --min to --max.
    std::vector<int> exponents(int step) const;

    // Whether this many bytes of device memory are free. If not, says on stderr what is skipped.
    bool fits(double bytes, const char *what) const;

    // Verifies, times, prints and records.
    void run(bench_contest &contest);

    // The exit status of the program: 1 when a kernel was wrong or nothing was timed.
    int finish();

  private:
    struct timing {
        double median, least; // us
        double spread;        // width of the middle half, in percent of the median
        size_t samples;
    };

    bench_defaults defaults;
    int min, max, timed = 0, failures = 0;
    bool progress = isatty(2), clean_flush = false, alone = false;
    std::string filter, last_heading;
    FILE *csv = nullptr;
    cudaStream_t stream = nullptr;
    std::shared_ptr<void> flushed;
    size_t flushed_bytes;
    std::vector<cudaEvent_t> events;

    void options(int argc, char **argv);
    void banner(FILE *out, const char *prefix) const;
    static std::string path(const bench_contest &contest, const bench_entry *entry);
    void flush();
    bool verify(const bench_contest &contest, const bench_entry &entry);
    void sample(const bench_entry &entry, cudaEvent_t start, cudaEvent_t stop);
    static bool pending(cudaEvent_t event);
    std::vector<timing> time(const bench_contest &contest);
    void print(const bench_contest &contest, const std::vector<timing> &timings);
};

inline void bench::options(int argc, char **argv)
{
    static const struct option longs[] = {
        {"csv", required_argument, 0, 'c'},   {"min", required_argument, 0, 'm'},
        {"max", required_argument, 0, 'M'},   {"filter", required_argument, 0, 'f'},
        {"flush", required_argument, 0, 'l'}, {"alone", no_argument, 0, 'a'},
        {"quick", no_argument, 0, 'q'},       {"sweep", no_argument, 0, 's'},
        {"help", no_argument, 0, 'h'},        {0, 0, 0, 0}};
    const auto exponent = [&](const char *name) {
        char *end;
        const long e = strtol(optarg, &end, 10);
        if (end == optarg || *end || e < 0 || e > defaults.max) {
            fprintf(stderr, "%s: --%s takes the power of two of a size, 0 to %d, not '%s'\n",
                    argv[0], name, defaults.max, optarg);
            exit(2);
        }
        return (int)e;
    };
    for (int o; (o = getopt_long(argc, argv, "", longs, nullptr)) != -1;) {
        switch (o) {
        case 'c':
            csv = fopen(optarg, "w");
            if (!csv) {
                fprintf(stderr, "%s: can't write %s: %m\n", argv[0], optarg);
                exit(1);
            }
            break;
        case 'm':
            min = exponent("min");
            break;
        case 'M':
            max = exponent("max");
            break;
        case 'f':
            filter = optarg;
            break;
        case 'l':
            clean_flush = !strcmp(optarg, "read");
            if (!clean_flush && strcmp(optarg, "write")) {
                fprintf(stderr, "%s: --flush takes write or read, not '%s'\n", argv[0], optarg);
                exit(2);
            }
            break;
        case 'a':
            alone = true;
            break;
        case 'q':
            quick = true;
            break;
        case 's':
            sweep = true;
            break;
        default:
            fprintf(
                o == 'h' ? stdout : stderr,
                "usage: %s [options]\n%s\n\n"
                "  --csv FILE     write every row there too\n"
                "  --min E        smallest size, as a power of two (%d)\n"
                "  --max E        greatest size, likewise (%d)\n"
                "  --filter TEXT  only kernels with TEXT in pattern/type/data/kernel/knobs, and\n"
                "                 what they are compared with\n"
                "  --flush HOW    write: the L2 is flushed by writing, and what is timed also\n"
                "                 writes that back, as after a kernel that wrote (default);\n"
                "                 read: by reading, which leaves it clean\n"
                "  --alone        wait for each sample before the next is queued, as coarsen-tune\n"
                "                 does\n"
                "  --quick        fewer sizes and samples\n"
                "  --sweep        time every pair of knobs, without the comparison\n",
                argv[0], defaults.about, min, max);
            exit(o == 'h' ? 0 : 2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is no option; see --help\n", argv[0], argv[optind]);
        exit(2);
    }
    if (min > max) {
        fprintf(stderr, "%s: --min %d is above --max %d\n", argv[0], min, max);
        exit(2);
    }
}

inline bench::bench(int argc, char **argv, bench_defaults defaults)
    : defaults(defaults), min(defaults.min), max(defaults.max)
{
    options(argc, argv);
    int devices = 0, l2 = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        fprintf(stderr, "%s: no GPU to time on (%s)\n", argv[0],
                status != cudaSuccess ? cudaGetErrorString(status) : "none found");
        exit(1);
    }
    BENCH_CHECK(cudaSetDevice(0));
    BENCH_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    BENCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    // Four times the cache, because a cache does not always replace the oldest. Writing it takes long
    // enough for the host to queue a launch.
    flushed_bytes = std::max<size_t>((size_t)4 * l2, 64 << 20);
    flushed = bench_alloc(flushed_bytes + 16);
    BENCH_CHECK(cudaMemset(flushed.get(), 0x5a, flushed_bytes + 16));

    banner(stdout, "");
    if (csv) {
        banner(csv, "# ");
        char date[16];
        const time_t now = ::time(nullptr);
        strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
        fprintf(csv,
                "# %s\n"
                "pattern,kernel,type,data,n,knobs,median_us,min_us,spread_percent,samples,GBps,"
                "work_rate,work_unit,percent_copy,vs_peer,occupancy_percent,registers\n",
                date);
    }
    // Clocks rise when there is work.
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500)) {
        for (int i = 0; i < 50; i++)
            flush();
        BENCH_CHECK(cudaStreamSynchronize(stream));
    }
}

inline bench::~bench()
{
    for (cudaEvent_t event : events)
        cudaEventDestroy(event);
    cudaStreamDestroy(stream);
    if (csv)
        fclose(csv);
}

inline void bench::banner(FILE *out, const char *prefix) const
{
    cudaDeviceProp device;
    int driver, runtime;
    BENCH_CHECK(cudaGetDeviceProperties(&device, 0));
    BENCH_CHECK(cudaDriverGetVersion(&driver));
    BENCH_CHECK(cudaRuntimeGetVersion(&runtime));

    // No call of the runtime gives the driver's own version.
    char line[256] = "", kernel_module[32] = "of unknown version";
    if (FILE *proc = fopen("/proc/driver/nvidia/version", "r")) {
        if (fgets(line, sizeof line, proc))
            for (char *word = strtok(line, " \t\n"); word; word = strtok(nullptr, " \t\n"))
                if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
                    snprintf(kernel_module, sizeof kernel_module, "%s", word);
                    break;
                }
        fclose(proc);
    }
    fprintf(out, "%sdevice: %s, sm_%d%d, %d multiprocessors, %.0f MiB of L2, %.1f GiB\n", prefix,
            device.name, device.major, device.minor, device.multiProcessorCount,
            device.l2CacheSize / 1048576.0, device.totalGlobalMem / 1073741824.0);
    fprintf(out, "%sdriver %s (CUDA %d.%d), runtime %d.%d, nvcc %d.%d.%d, CUB %d.%d.%d\n", prefix,
            kernel_module, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
            __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, CUB_MAJOR_VERSION,
            CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    fprintf(out, "%sL2 flushed before each sample, by %s %.0f MiB%s\n", prefix,
            clean_flush ? "reading" : "writing", flushed_bytes / 1048576.0,
            alone ? "; each sample alone" : "");
}

inline std::vector<int> bench::exponents(int step) const
{
    const int multiple = quick ? 2 * step : step;
    std::vector<int> all;
    for (int e = min; e <= max; e++)
        if (e % multiple == 0)
            all.push_back(e);
    return all;
}

inline bool bench::fits(double bytes, const char *what) const
{
    size_t available, total;
    BENCH_CHECK(cudaMemGetInfo(&available, &total));
    if (bytes <= 0.9 * available)
        return true;
    fprintf(stderr, "%s: skipped: needs %.1f GiB of device memory and %.1f are free\n", what,
            bytes / 1073741824.0, available / 1073741824.0);
    return false;
}

// pattern/type/data/kernel/knobs, without those that are empty.
inline std::string bench::path(const bench_contest &contest, const bench_entry *entry)
{
    std::string all = contest.pattern;
    for (const std::string &part :
         {contest.type, contest.data, entry ? entry->kernel : "", entry ? entry->knobs : ""})
        if (!part.empty())
            all += "/" + part;
    return all;
}

inline void bench::flush()
{
    if (clean_flush) {
        bench_read_kernel<<<2048, 512, 0, stream>>>(
            (const uint4 *)flushed.get(), flushed_bytes / 16,
            (unsigned int *)((char *)flushed.get() + flushed_bytes));
        BENCH_CHECK(cudaGetLastError());
    } else {
        BENCH_CHECK(cudaMemsetAsync(flushed.get(), 0x5a, flushed_bytes, stream));
    }
}

inline bool bench::verify(const bench_contest &contest, const bench_entry &entry)
{
    std::string why;
    BENCH_CHECK(cudaStreamSynchronize(stream));
    entry.poison();
    BENCH_CHECK(cudaDeviceSynchronize());
    if (entry.prepare)
        BENCH_CHECK(entry.prepare(stream));
    BENCH_CHECK(entry.launch(stream));
    BENCH_CHECK(cudaStreamSynchronize(stream));
    if (entry.check(&why))
        return true;
    fprintf(stderr, "%s%s, n = %llu: WRONG: %s\n", progress ? "\r\033[K" : "",
            path(contest, &entry).c_str(), contest.n, why.c_str());
    failures++;
    return false;
}

inline void bench::sample(const bench_entry &entry, cudaEvent_t start, cudaEvent_t stop)
{
    if (entry.prepare)
        BENCH_CHECK(entry.prepare(stream));
    flush();
    BENCH_CHECK(cudaEventRecord(start, stream));
    BENCH_CHECK(entry.launch(stream));
    BENCH_CHECK(cudaEventRecord(stop, stream));
}

// Whether what follows the event was queued before the device reached it.
inline bool bench::pending(cudaEvent_t event)
{
    const cudaError_t status = cudaEventQuery(event);
    if (status != cudaErrorNotReady)
        BENCH_CHECK(status);
    (void)cudaGetLastError(); // or a launch that looks for errors finds this one
    return status == cudaErrorNotReady;
}

inline std::vector<bench::timing> bench::time(const bench_contest &contest)
{
    using clock = std::chrono::steady_clock;
    const size_t entries = contest.entries.size();
    const size_t fewest = quick ? 10 : 40, most = quick ? 50 : 200;
    const double budget = quick ? 0.1 : 0.6; // seconds, between the fewest and most samples

    const auto need_events = [&](size_t count) {
        while (events.size() < count) {
            cudaEvent_t event;
            BENCH_CHECK(cudaEventCreate(&event));
            events.push_back(event);
        }
    };
    // The first round warms up, the second says how long a round takes.
    double round_seconds = 0;
    need_events(2);
    for (int i = 0; i < 2; i++) {
        const auto start = clock::now();
        for (const bench_entry &entry : contest.entries)
            sample(entry, events[0], events[1]);
        BENCH_CHECK(cudaStreamSynchronize(stream));
        round_seconds = std::chrono::duration<double>(clock::now() - start).count();
    }
    const double affordable = budget / round_seconds;
    const size_t turn = quick ? 5 : 10, pair = 2 * turn;
    const size_t rounds = pair * (affordable < fewest ? fewest / pair
                                  : affordable > most ? most / pair
                                                      : (size_t)affordable / pair);

    need_events(2 * entries * rounds + 2);
    std::vector<char> kept(entries * rounds);
    for (size_t first = 0; first < rounds; first += turn)
        for (size_t i = 0; i < entries; i++) {
            const size_t e = first / turn % 2 ? entries - 1 - i : i;
            const size_t spare = 2 * entries * rounds;
            sample(contest.entries[e], events[spare], events[spare + 1]);
            const size_t from = e * rounds + first, to = from + turn;
            for (size_t k = from; k < to; k++) {
                if (alone)
                    BENCH_CHECK(cudaStreamSynchronize(stream));
                sample(contest.entries[e], events[2 * k], events[2 * k + 1]);
                if (alone)
                    kept[k] = pending(events[2 * k]);
            }
            if (contest.entries[e].waits)
                std::fill(kept.begin() + from, kept.begin() + to, 1);
            else if (!alone)
                std::fill(kept.begin() + from, kept.begin() + to, pending(events[2 * (to - 1)]));
        }
    BENCH_CHECK(cudaStreamSynchronize(stream));

    std::vector<timing> timings;
    for (size_t e = 0; e < entries; e++) {
        std::vector<double> us;
        for (size_t k = e * rounds; k < (e + 1) * rounds; k++) {
            float ms;
            BENCH_CHECK(cudaEventElapsedTime(&ms, events[2 * k], events[2 * k + 1]));
            if (kept[k])
                us.push_back(1e3 * ms);
        }
        if (us.size() < rounds / 2) {
            fprintf(stderr,
                    "%s, n = %llu: the host queued only %zu of %zu launches in time to measure the "
                    "device alone; free the host of other work\n",
                    contest.entries[e].kernel.c_str(), contest.n, us.size(), rounds);
            failures++;
        }
        std::sort(us.begin(), us.end());
        const size_t m = us.size();
        timing t = {0, 0, 0, m};
        if (m > 0) {
            t.median = (us[(m - 1) / 2] + us[m / 2]) / 2;
            t.least = us[0];
            t.spread = 100 * (us[m * 3 / 4] - us[m / 4]) / t.median;
        }
        timings.push_back(t);
    }
    return timings;
}

inline void bench::print(const bench_contest &contest, const std::vector<timing> &timings)
{
    const auto name = [](const bench_entry &entry) {
        return entry.kernel + (entry.knobs.empty() ? "" : " ") + entry.knobs;
    };
    const auto cell = [](const std::string &text) {
        return text.find(',') == std::string::npos ? text : '"' + text + '"';
    };
    double peer_us = 0, copy_rate = 0; // 0: there is none to compare with
    for (size_t e = 0; e < timings.size(); e++) {
        if (timings[e].samples == 0)
            continue;
        if (contest.entries[e].kernel == contest.peer)
            peer_us = timings[e].median;
        if (contest.entries[e].kernel == contest.copy)
            copy_rate = contest.entries[e].bytes / timings[e].median;
    }
    const bool work = *defaults.work_unit;

    size_t width = 6; // of the names
    for (const bench_entry &entry : contest.entries)
        width = std::max(width, name(entry).size());
    const std::string heading = path(contest, nullptr);
    if (heading != last_heading) {
        printf("\n%s\n%10s  %-*s %10s %10s %8s %9s", heading.c_str(), "n", (int)width, "kernel",
               "median us", "least us", "spread %", "GB/s");
        if (work)
            printf(" %9s", defaults.work_unit);
        printf(" %7s %7s\n", "% copy", ("x " + contest.peer).c_str());
        last_heading = heading;
    } else {
        printf("\n");
    }
    const bool power = (contest.n & (contest.n - 1)) == 0 && contest.n > 1;
    const std::string n =
        power ? "2^" + std::to_string(__builtin_ctzll(contest.n)) : std::to_string(contest.n);
    for (size_t e = 0; e < timings.size(); e++) {
        const bench_entry &entry = contest.entries[e];
        const timing &t = timings[e];
        if (t.samples == 0)
            continue;
        const double rate = entry.bytes / t.median / 1e3; // bytes per us to GB/s
        const double work_rate = entry.work / t.median / 1e3;
        const double percent = copy_rate > 0 ? 100 * entry.bytes / t.median / copy_rate : 0;
        const double speedup = peer_us > 0 ? peer_us / t.median : 0;
        printf("%10s  %-*s %10.2f %10.2f %8.1f %9.1f", n.c_str(), (int)width, name(entry).c_str(),
               t.median, t.least, t.spread, rate);
        if (work)
            printf(" %9.1f", work_rate);
        char of_copy[32] = "-", of_peer[32] = "-";
        if (copy_rate > 0)
            snprintf(of_copy, sizeof of_copy, "%.1f", percent);
        if (peer_us > 0)
            snprintf(of_peer, sizeof of_peer, "%.2f", speedup);
        printf(" %7s %7s", of_copy, of_peer);
        if (entry.occupancy >= 0)
            printf("   occupancy %d%%, %d registers", entry.occupancy, entry.registers);
        printf("\n");
        if (!csv)
            continue;
        fprintf(csv, "%s,%s,%s,%s,%llu,%s,%.3f,%.3f,%.2f,%zu,%.2f,", contest.pattern.c_str(),
                cell(entry.kernel).c_str(), contest.type.c_str(), cell(contest.data).c_str(),
                contest.n, entry.knobs.c_str(), t.median, t.least, t.spread, t.samples, rate);
        if (work)
            fprintf(csv, "%.2f,%s,", work_rate, defaults.work_unit);
        else
            fprintf(csv, ",,");
        if (copy_rate > 0)
            fprintf(csv, "%.2f", percent);
        fprintf(csv, ",");
        if (peer_us > 0)
            fprintf(csv, "%.4f", speedup);
        if (entry.occupancy >= 0)
            fprintf(csv, ",%d,%d\n", entry.occupancy, entry.registers);
        else
            fprintf(csv, ",,\n");
        fflush(csv);
    }
    fflush(stdout);
}

inline void bench::run(bench_contest &contest)
{
    std::vector<bench_entry> chosen;
    bool any = false;
    for (const bench_entry &entry : contest.entries) {
        const bool compared_with = entry.kernel == contest.peer || entry.kernel == contest.copy;
        const bool matches = path(contest, &entry).find(filter) != std::string::npos;
        any |= matches;
        if (matches || compared_with)
            chosen.push_back(entry);
    }
    if (!any)
        return;
    if (progress)
        fprintf(stderr, "\r\033[K%s, n = %llu: %zu kernels ...", path(contest, nullptr).c_str(),
                contest.n, chosen.size());

    contest.entries.clear();
    for (const bench_entry &entry : chosen)
        if (verify(contest, entry) && verify(contest, entry))
            contest.entries.push_back(entry);
    std::vector<timing> timings = time(contest);
    for (size_t e = 0; e < timings.size(); e++)
        if (!verify(contest, contest.entries[e]))
            timings[e].samples = 0; // the time of a wrong result is no figure
    if (progress)
        fprintf(stderr, "\r\033[K");
    print(contest, timings);
    timed += (int)timings.size();
}

inline int bench::finish()
{
    if (timed == 0 && failures == 0) {
        fprintf(stderr,
                "nothing was timed: no kernel and size matches --filter, --min and --max\n");
        failures++;
    }
    if (csv && (fflush(csv) || ferror(csv))) {
        fprintf(stderr, "the CSV file is not complete: %m\n");
        failures++;
    }
    return failures > 0;
}

#endif // BENCH_HARNESS_H

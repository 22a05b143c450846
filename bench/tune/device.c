// SPDX-License-Identifier: MIT
//
// What devices are like: a table, and a file for those it has not.
//
// What a figure is from, unless its device's `source` says otherwise:
//
//     limits of a multiprocessor   CUDA C++ Programming Guide, "Technical Specifications per
//                                  Compute Capability"; blocks: cuda_occupancy.h of CUDA 13.0
//     processors, clock (boost),   the vendor's data sheet or architecture whitepaper
//     memory, L2 size, fp32 lanes
//     fp64 lanes                   CUDA C++ Programming Guide, "Throughput of Native Arithmetic
//                                  Instructions"
//     memory_gbps                  PEAK_SHARE of the data sheet's figure
//     l2_gbps, latency_ns          gpu-benches (github.com/te42kyfo/gpu-benches, gpu-l2-cache and
//                                  gpu-latency, at 1c36d50), measured on the device; or, where
//                                  `source` says estimate, scaled from its nearest relation's by
//                                  clock and by multiprocessors or L2 size
//     launch_us                    an estimate, LAUNCH, until it is measured

#include "tune.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" // it isn't ours
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

#define PEAK_SHARE 0.92 // of the bus: what this project reads on an H200, 4400 of 4800 GB/s
#define LAUNCH     2.2

#define EVERY      .registers_per_processor = 65536, .launch_us = LAUNCH
#define SM_75                                                                                      \
    .sm = 75, .threads_per_processor = 1024, .blocks_per_processor = 16,                           \
    .shared_per_processor = 64 << 10, .shared_per_block = 64 << 10, .fp32_per_clock = 64,          \
    .fp64_per_clock = 2, EVERY
#define AMPERE .shared_reserved = 1 << 10, EVERY // it and all since
#define SM_80                                                                                      \
    .sm = 80, .threads_per_processor = 2048, .blocks_per_processor = 32,                           \
    .shared_per_processor = 164 << 10, .shared_per_block = 163 << 10, .fp32_per_clock = 64,        \
    .fp64_per_clock = 32, AMPERE
#define SM_86                                                                                      \
    .sm = 86, .threads_per_processor = 1536, .blocks_per_processor = 16,                           \
    .shared_per_processor = 100 << 10, .shared_per_block = 99 << 10, .fp32_per_clock = 128,        \
    .fp64_per_clock = 2, AMPERE
#define SM_87                                                                                      \
    .sm = 87, .threads_per_processor = 1536, .blocks_per_processor = 16,                           \
    .shared_per_processor = 164 << 10, .shared_per_block = 163 << 10, .fp32_per_clock = 128,       \
    .fp64_per_clock = 2, AMPERE
#define SM_89                                                                                      \
    .sm = 89, .threads_per_processor = 1536, .blocks_per_processor = 24,                           \
    .shared_per_processor = 100 << 10, .shared_per_block = 99 << 10, .fp32_per_clock = 128,        \
    .fp64_per_clock = 2, AMPERE
#define HOPPER                                                                                     \
    .threads_per_processor = 2048, .blocks_per_processor = 32, .shared_per_processor = 228 << 10,  \
    .shared_per_block = 227 << 10, .fp32_per_clock = 128, .fp64_per_clock = 64, AMPERE
#define SM_90  .sm = 90, HOPPER
#define SM_100 .sm = 100, HOPPER
#define SM_120                                                                                     \
    .sm = 120, .threads_per_processor = 1536, .blocks_per_processor = 24,                          \
    .shared_per_processor = 100 << 10, .shared_per_block = 99 << 10, .fp32_per_clock = 128,        \
    .fp64_per_clock = 2, AMPERE

#define MEMORY(gbps, gib)    .memory_gbps = (gbps), .memory_gib = (gib)
#define L2(mib, gbps, nanos) .l2_mib = (mib), .l2_gbps = (gbps), .latency_ns = (nanos)

// By sm; the first of an sm is what that sm alone stands for.
static const tune_device devices[] = {
    {"Tesla T4", SM_75, .processors = 40, .clock_ghz = 1.59, MEMORY(320 * PEAK_SHARE, 16),
     L2(4, 1270, 253),
     .source = "NVIDIA Turing whitepaper, T4 data sheet; L2: Jia et al., arXiv 1903.07486; "
               "latency: estimate, L40's"},
    {"NVIDIA GeForce RTX 2080 Ti", SM_75, .processors = 68, .clock_ghz = 1.545,
     MEMORY(616 * PEAK_SHARE, 11), L2(5.5, 1700, 253),
     .source = "NVIDIA Turing whitepaper; L2: estimate from T4's; latency: estimate, L40's"},
    {"NVIDIA A100-SXM4-80GB", SM_80, .processors = 108, .clock_ghz = 1.41,
     MEMORY(2039 * PEAK_SHARE, 80), L2(40, 5400, 403),
     .source = "NVIDIA A100 whitepaper and data sheet; L2, latency: gpu-benches"},
    {"NVIDIA A100-SXM4-40GB", SM_80, .processors = 108, .clock_ghz = 1.41,
     MEMORY(1555 * PEAK_SHARE, 40), L2(40, 5400, 405),
     .source = "NVIDIA A100 whitepaper and data sheet; L2, latency: gpu-benches"},
    {"NVIDIA A30", SM_80, .processors = 56, .clock_ghz = 1.44, MEMORY(933 * PEAK_SHARE, 24),
     L2(24, 2860, 403), .source = "NVIDIA A30 data sheet; L2, latency: estimate from A100's"},
    {"NVIDIA GeForce RTX 3090", SM_86, .processors = 82, .clock_ghz = 1.695,
     MEMORY(936 * PEAK_SHARE, 24), L2(6, 2340, 253),
     .source = "NVIDIA GA102 whitepaper; L2: estimate from A40's; latency: estimate, L40's"},
    {"NVIDIA A40", SM_86, .processors = 84, .clock_ghz = 1.74, MEMORY(679, 48), L2(6, 2400, 253),
     .source = "NVIDIA A40 data sheet; memory, L2: gpu-benches; latency: estimate, L40's"},
    {"NVIDIA A10", SM_86, .processors = 72, .clock_ghz = 1.695, MEMORY(600 * PEAK_SHARE, 24),
     L2(6, 2340, 253),
     .source = "NVIDIA A10 data sheet; L2: estimate from A40's; latency: estimate, L40's"},
    {"NVIDIA Jetson AGX Orin 64GB", SM_87, .processors = 16, .clock_ghz = 1.3,
     MEMORY(204.8 * PEAK_SHARE, 64), L2(4, 740, 403),
     .source = "NVIDIA Jetson AGX Orin technical brief; L2, latency: estimate from A100's"},
    {"NVIDIA L4", SM_89, .processors = 58, .clock_ghz = 2.04, MEMORY(300 * PEAK_SHARE, 24),
     L2(48, 2130, 253), .source = "NVIDIA L4 data sheet; L2, latency: estimate from L40's"},
    {"NVIDIA GeForce RTX 4090", SM_89, .processors = 128, .clock_ghz = 2.52,
     MEMORY(1008 * PEAK_SHARE, 24), L2(72, 3950, 253),
     .source = "NVIDIA Ada whitepaper; L2, latency: estimate from L40's"},
    {"NVIDIA L40S", SM_89, .processors = 142, .clock_ghz = 2.52, MEMORY(844, 48), L2(96, 5200, 253),
     .source = "NVIDIA L40S data sheet; memory, L2, latency: gpu-benches, of an L40"},
    {"NVIDIA H100 80GB HBM3 (SXM)", SM_90, .processors = 132, .clock_ghz = 1.98,
     MEMORY(3350 * PEAK_SHARE, 80), L2(50, 9500, 360),
     .source = "NVIDIA H100 whitepaper and data sheet; L2: gpu-benches, of an H200; latency: "
               "gpu-benches, of an H100 PCIe"},
    {"NVIDIA H100 PCIe", SM_90, .processors = 114, .clock_ghz = 1.755, MEMORY(1990, 80),
     L2(50, 6900, 360),
     .source = "NVIDIA H100 whitepaper and data sheet; memory, L2, latency: gpu-benches"},
    {"NVIDIA H200", SM_90, .processors = 132, .clock_ghz = 1.98, MEMORY(4400, 141),
     L2(50, 9500, 360),
     .source =
         "NVIDIA H200 data sheet; memory, clock: measured, docs/reduce.md and docs/matmul.md; "
         "L2: gpu-benches; latency: gpu-benches, of an H100 PCIe"},
    {"NVIDIA B200", SM_100, .processors = 148, .clock_ghz = 1.965, MEMORY(8000 * PEAK_SHARE, 180),
     L2(126, 10600, 360),
     .source =
         "NVIDIA HGX B200 data sheet; processors, clock, L2 size: Chips and Cheese, \"Nvidia's "
         "B200\"; L2: estimate from H200's; latency: estimate, H100's"},
    {"NVIDIA GeForce RTX 5090", SM_120, .processors = 170, .clock_ghz = 2.407,
     MEMORY(1792 * PEAK_SHARE, 32), L2(96, 5030, 253),
     .source = "NVIDIA RTX Blackwell whitepaper; L2, latency: estimate from L40's"},
    {"NVIDIA GeForce RTX 5080", SM_120, .processors = 84, .clock_ghz = 2.617,
     MEMORY(960 * PEAK_SHARE, 16), L2(64, 3640, 253),
     .source = "NVIDIA RTX Blackwell whitepaper; L2, latency: estimate from L40's"},
};

enum { DEVICES = sizeof devices / sizeof *devices };

void tune_device_list(FILE *out)
{
    fprintf(out, "%-6s %-28s %4s %5s %5s %6s %7s %8s %10s  %s\n", "arch", "name", "SMs", "GHz",
            "GiB", "GB/s", "L2, MiB", "L2, GB/s", "latency, ns", "source");
    for (int i = 0; i < DEVICES; ++i) {
        const tune_device *d = devices + i;
        fprintf(out, "sm_%-3d %-28s %4d %5.2f %5.0f %6.0f %7.1f %8.0f %11.0f  %s\n", d->sm, d->name,
                d->processors, d->clock_ghz, d->memory_gib, d->memory_gbps, d->l2_mib, d->l2_gbps,
                d->latency_ns, d->source);
    }
}

static const tune_device *of_sm(long sm)
{
    for (int i = 0; i < DEVICES; ++i)
        if (devices[i].sm == sm)
            return devices + i;
    return NULL;
}

// The number in "sm_90" or "90"; -1: it is neither.
static long sm_number(const char *text)
{
    if (!strncmp(text, "sm_", 3))
        text += 3;
    size_t digits = strspn(text, "0123456789");
    return digits && digits < 9 && !text[digits] ? atol(text) : -1;
}

// 2 when `part` is in the name as a word, 1 when within one: "A10" means the A10 and not the A100.
static int match(const char *name, const char *part)
{
    int best = 0;
    size_t length = strlen(part);
    for (const char *at = name; *at; ++at)
        if (!strncasecmp(at, part, length)) {
            bool begins = at == name || !isalnum((unsigned char)at[-1]);
            bool ends = !isalnum((unsigned char)at[length]);
            best = begins && ends ? 2 : best ? best : 1;
        }
    return best;
}

bool tune_device_find(const char *what, tune_device *device, char *message, size_t size)
{
    const tune_device *found = of_sm(sm_number(what));
    for (int level = 2; level && !found && *what; --level)
        for (int i = 0; i < DEVICES && !found; ++i)
            if (match(devices[i].name, what) >= level)
                found = devices + i;
    if (found) {
        *device = *found;
        return true;
    }
    char list[2048];
    size_t used = 0;
    for (int i = 0; i < DEVICES && used < sizeof list; ++i) {
        const tune_device *d = devices + i;
        bool first = of_sm(d->sm) == d;
        if (first)
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%ssm_%d ", i ? "; " : "", d->sm);
        else
            used += (size_t)snprintf(list + used, sizeof list - used, ", ");
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s", d->name);
    }
    return tune_fail(
        message, size,
        "no device '%s' in the table: write one of %s; or describe it with --device FILE", what,
        list);
}

// ---- A file -------------------------------------------------------------------------------------

static const struct {
    const char *name;
    size_t offset;
    bool whole; // an int; else a double
    bool zero;  // may be 0
} fields[] = {
#define INT(f)                                                                                     \
    {                                                                                              \
#f, offsetof(tune_device, f), true, false                                                  \
    }
#define DOUBLE(f)                                                                                  \
    {                                                                                              \
#f, offsetof(tune_device, f), false, false                                                 \
    }
    INT(processors),
    INT(threads_per_processor),
    INT(blocks_per_processor),
    INT(registers_per_processor),
    INT(shared_per_processor),
    INT(shared_per_block),
    {"shared_reserved", offsetof(tune_device, shared_reserved), true, true},
    DOUBLE(clock_ghz),
    DOUBLE(memory_gbps),
    DOUBLE(memory_gib),
    DOUBLE(l2_mib),
    DOUBLE(l2_gbps),
    DOUBLE(latency_ns),
    INT(fp32_per_clock),
    INT(fp64_per_clock),
    DOUBLE(launch_us),
};

enum { FIELDS = sizeof fields / sizeof *fields };
#define KEYS                                                                                       \
    "name, sm, processors, threads_per_processor, blocks_per_processor, registers_per_processor, " \
    "shared_per_processor, shared_per_block, shared_reserved, clock_ghz, memory_gbps, "            \
    "memory_gib, "                                                                                 \
    "l2_mib, l2_gbps, latency_ns, fp32_per_clock, fp64_per_clock, launch_us, source"

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        ++s;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        --end;
    *end = '\0';
    return s;
}

// One line into *d; set[f] notes the fields, set[FIELDS] and on the name, the sm and the source.
static bool read_line(char *line, tune_device *d, bool *set, char *source, size_t source_size,
                      char *message, size_t size)
{
    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (!*line)
        return true;
    char *equals = strchr(line, '=');
    if (!equals)
        return tune_fail(message, size, "'%.60s' is no 'name = value'; the names are " KEYS, line);
    *equals = '\0';
    const char *key = trim(line), *value = trim(equals + 1);
    int f = 0;
    while (f < FIELDS && strcmp(key, fields[f].name))
        ++f;
    if (f == FIELDS && strcmp(key, "name")) {
        f += !strcmp(key, "sm") ? 1 : !strcmp(key, "source") ? 2 : 3;
        if (f == FIELDS + 3)
            return tune_fail(message, size, "'%.60s' is not known; the names are " KEYS, key);
    }
    if (set[f])
        return tune_fail(message, size, "'%s' a second time; keep one of the two", key);
    set[f] = true;
    if (!*value)
        return tune_fail(message, size, "'%s' has no value; write '%s = ...'", key, key);
    if (f == FIELDS || f == FIELDS + 2) {
        char *to = f == FIELDS ? d->name : source;
        size_t room = f == FIELDS ? sizeof d->name : source_size;
        if ((size_t)snprintf(to, room, "%s", value) >= room)
            return tune_fail(message, size, "'%s' is longer than %zu characters", key, room - 1);
        return true;
    }
    if (f == FIELDS + 1) {
        long sm = sm_number(value);
        if (sm < 75 || sm > 999)
            return tune_fail(message, size,
                             "sm = '%.60s': write a number from 75 on, as 90 for sm_90", value);
        d->sm = (int)sm;
        return true;
    }
    char *end;
    errno = 0;
    double x = strtod(value, &end);
    bool whole = fields[f].whole, zero = fields[f].zero;
    if (*end || errno || !isfinite(x) || x < 0 || (x == 0 && !zero) ||
        (whole && (x > INT_MAX || x != floor(x))))
        return tune_fail(message, size, "%s = '%.60s': write a %s%s", key, value,
                         whole ? "whole number" : "number",
                         zero ? ", 0 or more" : " greater than 0");
    if (whole)
        *(int *)((char *)d + fields[f].offset) = (int)x;
    else
        *(double *)((char *)d + fields[f].offset) = x;
    return true;
}

bool tune_device_read(const char *path, tune_device *device, char *message, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return tune_fail(message, size, "%s: %s; --device wants a file of 'name = value' lines",
                         path, strerror(errno));
    static char source[512]; // of the device last read: a program reads one
    *source = '\0';
    tune_device d = {.sm = 0};
    bool set[FIELDS + 3] = {false}, good = true;
    char line[1024], why[768];
    unsigned long number = 0;
    while (good && fgets(line, sizeof line, file)) {
        ++number;
        if (!strchr(line, '\n') && !feof(file))
            good = tune_fail(why, sizeof why, "a line longer than %zu characters", sizeof line - 2);
        else
            good = read_line(line, &d, set, source, sizeof source, why, sizeof why);
    }
    bool broken = ferror(file);
    fclose(file);
    if (!good)
        return tune_fail(message, size, "%s:%lu: %s", path, number, why);
    if (broken)
        return tune_fail(message, size, "%s: could not be read to its end", path);
    if (!d.sm)
        return tune_fail(message, size,
                         "%s: no sm; add a line such as 'sm = 90'. The names are " KEYS, path);

    const tune_device *standard = of_sm(d.sm);
    char missing[512] = "";
    for (int f = 0; f < FIELDS; ++f)
        if (!set[f] && standard)
            memcpy((char *)&d + fields[f].offset, (const char *)standard + fields[f].offset,
                   fields[f].whole ? sizeof(int) : sizeof(double));
        else if (!set[f])
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s",
                     *missing ? ", " : "", fields[f].name);
    if (*missing)
        return tune_fail(message, size,
                         "%s: sm_%d is not in the table, so all is to be given; add %s", path, d.sm,
                         missing);
    if (d.shared_per_block > d.shared_per_processor)
        return tune_fail(message, size,
                         "%s: shared_per_block = %d is more than shared_per_processor = %d", path,
                         d.shared_per_block, d.shared_per_processor);
    if (!*d.name)
        snprintf(d.name, sizeof d.name, "sm_%d of %.100s", d.sm, path);
    if (!*source)
        snprintf(source, sizeof source, "%.300s%s%.150s", path, standard ? "; the rest: " : "",
                 standard ? standard->name : "");
    d.source = source;
    *device = d;
    return true;
}

// ---- Occupancy ----------------------------------------------------------------------------------

int tune_occupancy(const tune_device *device, const tune_kernel *kernel, int threads,
                   uint64_t shared_bytes, const char **limit)
{
    cudaOccDeviceProp properties = {
        .computeMajor = device->sm / 10,
        .computeMinor = device->sm % 10,
        .maxThreadsPerBlock = 1024,
        .maxThreadsPerMultiprocessor = device->threads_per_processor,
        .regsPerBlock = device->registers_per_processor,
        .regsPerMultiprocessor = device->registers_per_processor,
        .warpSize = 32,
        .sharedMemPerBlock = 48 << 10, // without asking; the launcher does ask
        .sharedMemPerMultiprocessor = (size_t)device->shared_per_processor,
        .numSms = device->processors,
        .sharedMemPerBlockOptin = (size_t)device->shared_per_block,
        .reservedSharedMemPerBlock = (size_t)device->shared_reserved,
    };
    cudaOccFuncAttributes attributes = {
        .maxThreadsPerBlock = INT_MAX,
        .numRegs = kernel->registers,
        .sharedSizeBytes = (size_t)kernel->static_shared,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = (size_t)device->shared_per_block,
        .numBlockBarriers = 1,
    };
    cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    cudaOccResult result;
    *limit = "what cuda_occupancy.h knows";
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads,
                                                shared_bytes) != CUDA_OCC_SUCCESS)
        return 0;
    int blocks = result.activeBlocksPerMultiprocessor;
    unsigned int factors = result.limitingFactors;
    // Threads first: a device that is full of them has lost nothing to the others.
    *limit = factors & OCC_LIMIT_WARPS           ? "threads"
             : factors & OCC_LIMIT_REGISTERS     ? "registers"
             : factors & OCC_LIMIT_SHARED_MEMORY ? "shared memory"
                                                 : "blocks";
    if (blocks > device->blocks_per_processor) {
        *limit = "blocks";
        blocks = device->blocks_per_processor;
    }
    return blocks;
}

// SPDX-License-Identifier: MIT
//
// bench/image.cu: RGB to gray, and box blurs of radius 1 and 3 of gray, RGB and RGBA pictures. Each rung of the
// image ladders and image.h beside a device copy. With --sweep: every pair of knobs of the rungs that
// have a COARSE_FACTOR. Where NPP, NVIDIA's library of such kernels, is on the include path, it is the
// peer; otherwise there is only the copy.
//
// n counts pixels: a picture of n = 2^e is 2^(e - e/2) wide and 2^(e/2) high. Bytes are counted once in
// and once out. The file includes itself, once for each pair of knobs and once for each radius and
// number of channels.

#if defined(SWEEP_BLOCK_DIM) // ---- one pair of knobs --------------------------------------------

#define COARSEN_NAME  SWEEP_NAME(grayscale_coarsened)
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/image/grayscale_coarsened.h>
VARIANT(grayscale_coarsened, 0, 3);

#if SWEEP_COARSE_FACTOR <= 8
#define COARSEN_NAME  SWEEP_NAME(grayscale_vectorized)
#define BLOCK_DIM     SWEEP_BLOCK_DIM
#define COARSE_FACTOR SWEEP_COARSE_FACTOR
#include <coarsen/image/grayscale_vectorized.h>
VARIANT(grayscale_vectorized, 0, 3);
#endif

#define COARSEN_NAME     SWEEP_NAME(blur_coarsened)
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#define BLOCK_DIM        SWEEP_BLOCK_DIM
#define COARSE_FACTOR    SWEEP_COARSE_FACTOR
#include <coarsen/image/blur_coarsened.h>
VARIANT(blur_coarsened, 3, 3);

#define COARSEN_NAME     SWEEP_NAME(blur_tiled)
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#define BLOCK_DIM        SWEEP_BLOCK_DIM
#define COARSE_FACTOR    SWEEP_COARSE_FACTOR
#include <coarsen/image/blur_tiled.h>
VARIANT(blur_tiled, 3, 3);

#if SWEEP_BLOCK_DIM == 128 // the only block size of the sweep that it takes
#define COARSEN_NAME     SWEEP_NAME(blur_rolling)
#define COARSEN_RADIUS   3
#define COARSEN_CHANNELS 3
#define BLOCK_DIM        SWEEP_BLOCK_DIM
#define COARSE_FACTOR    SWEEP_COARSE_FACTOR
#include <coarsen/image/blur_rolling.h>
VARIANT(blur_rolling, 3, 3);
#endif

#elif defined(                                                                                     \
    BLUR_RADIUS) // ---- one radius and channels ------------------------------------------

#define BLUR_NAME(stem)                                                                            \
    COARSEN_JOIN(stem##_, COARSEN_JOIN(BLUR_RADIUS, COARSEN_JOIN(_, BLUR_CHANNELS)))

#if BLUR_CHANNELS < 4
#define COARSEN_NAME     BLUR_NAME(single)
#define COARSEN_RADIUS   BLUR_RADIUS
#define COARSEN_CHANNELS BLUR_CHANNELS
#include <coarsen/image/blur_single.h>
BLUR(single, "blur_single");

#define COARSEN_NAME     BLUR_NAME(coarsened)
#define COARSEN_RADIUS   BLUR_RADIUS
#define COARSEN_CHANNELS BLUR_CHANNELS
#include <coarsen/image/blur_coarsened.h>
BLUR(coarsened, "blur_coarsened");

#define COARSEN_NAME     BLUR_NAME(tiled)
#define COARSEN_RADIUS   BLUR_RADIUS
#define COARSEN_CHANNELS BLUR_CHANNELS
#include <coarsen/image/blur_tiled.h>
BLUR(tiled, "blur_tiled");

#define COARSEN_NAME     BLUR_NAME(rolling)
#define COARSEN_RADIUS   BLUR_RADIUS
#define COARSEN_CHANNELS BLUR_CHANNELS
#include <coarsen/image/blur_rolling.h>
BLUR(rolling, "blur_rolling");
#endif

#define COARSEN_NAME     BLUR_NAME(image)
#define COARSEN_RADIUS   BLUR_RADIUS
#define COARSEN_CHANNELS BLUR_CHANNELS
#include <coarsen/image.h>
BLUR(image, "image.h");

#undef BLUR_NAME
#undef BLUR_RADIUS
#undef BLUR_CHANNELS

#else // ---- the bench ------------------------------------------------------------------------------

#include "harness.h"

#include <coarsen/base.h>

#include <climits>

#if __has_include(<nppi_filtering_functions.h>) && !defined(NO_NPP)
#include <nppi_color_conversion.h>
#include <nppi_filtering_functions.h>
#define HAVE_NPP 1
#else
#define HAVE_NPP 0
#endif

struct rung {
    const char *kernel, *knobs;
    int radius, channels; // radius 0: to gray
    cudaError_t (*launch)(const unsigned char *, size_t, unsigned char *, size_t, size_t, size_t,
                          cudaStream_t);
    std::function<void(bench_entry *)> describe;
};

#define GRAY(stem, kernel)                                                                         \
    static const bool stem##_added =                                                               \
        bench_add(bench_rungs<rung>(), {kernel, "", 0, 3, stem##_launch, nullptr})

#define BLUR(stem, kernel)                                                                         \
    static const bool COARSEN_JOIN(BLUR_NAME(stem), _added) =                                      \
        bench_add(bench_rungs<rung>(), {kernel, "", BLUR_RADIUS, BLUR_CHANNELS,                    \
                                        COARSEN_JOIN(BLUR_NAME(stem), _launch), nullptr})

#define VARIANT(stem, radius, channels)                                                            \
    static const bool COARSEN_JOIN(SWEEP_NAME(stem), _added) = bench_add(                          \
        bench_variants<rung>(),                                                                    \
        {#stem, SWEEP_KNOBS, radius, channels, COARSEN_JOIN(SWEEP_NAME(stem), _launch),            \
         [](bench_entry *entry) {                                                                  \
             bench_occupancy(entry, COARSEN_JOIN(SWEEP_NAME(stem), _kernel), SWEEP_BLOCK_DIM);     \
         }})

#define COARSEN_NAME gray_single
#include <coarsen/image/grayscale_single.h>
GRAY(gray_single, "grayscale_single");

#define COARSEN_NAME gray_coarsened
#include <coarsen/image/grayscale_coarsened.h>
GRAY(gray_coarsened, "grayscale_coarsened");

#define COARSEN_NAME gray_vectorized
#include <coarsen/image/grayscale_vectorized.h>
GRAY(gray_vectorized, "grayscale_vectorized");

#define COARSEN_NAME gray
#include <coarsen/image.h>
GRAY(gray, "image.h");

#define BLUR_RADIUS   1
#define BLUR_CHANNELS 1
#include "image.cu"
#define BLUR_RADIUS   3
#define BLUR_CHANNELS 1
#include "image.cu"
#define BLUR_RADIUS   1
#define BLUR_CHANNELS 3
#include "image.cu"
#define BLUR_RADIUS   3
#define BLUR_CHANNELS 3
#include "image.cu"
#define BLUR_RADIUS   1
#define BLUR_CHANNELS 4
#include "image.cu"
#define BLUR_RADIUS   3
#define BLUR_CHANNELS 4
#include "image.cu"

#define SWEEP_VARIANT "image.cu"
#include "sweep.h"

// ---- The reference ----------------------------------------------------------------------------------

// Without the pixels within `border` of one, and a sample may differ by the tolerance.
__global__ void wrong_kernel(const unsigned char *in, long long in_pitch, const unsigned char *out,
                             long long out_pitch, long long width, long long height, int radius,
                             int channels, long long border, int tolerance,
                             unsigned long long *wrong)
{
    const int made = radius == 0 ? 1 : channels;
    const long long samples = width * height * made, stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < samples; i += stride) {
        const long long pixel = i / made, x = pixel % width, y = pixel / width;
        if (x < border || y < border || x + border >= width || y + border >= height)
            continue;
        unsigned int wanted;
        if (radius == 0) {
            const unsigned char *const rgb = in + y * in_pitch + 3 * x;
            wanted = (19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768) / 65536;
        } else {
            unsigned int sum = 0, count = 0;
            for (long long v = max(y - radius, 0ll); v <= min(y + radius, height - 1); v++)
                for (long long u = max(x - radius, 0ll); u <= min(x + radius, width - 1); u++) {
                    sum += in[v * in_pitch + u * channels + i % made];
                    count++;
                }
            wanted = (sum + count / 2) / count;
        }
        if (abs(out[y * out_pitch + x * made + i % made] - (int)wanted) > tolerance)
            atomicAdd(wrong, 1);
    }
}

// ---- The peer -------------------------------------------------------------------------------------

// NPP's gray has the same weights, rounded by it, and its box filter at a border takes the pixels there for those beyond
// it. So only what is not near a border is compared, and one more or less is right.
#if HAVE_NPP
static cudaError_t npp_launch(const unsigned char *in, size_t in_pitch, unsigned char *out,
                              size_t out_pitch, size_t width, size_t height, int radius,
                              int channels, cudaStream_t stream)
{
    static const NppStreamContext device = [] {
        NppStreamContext context = {};
        cudaDeviceProp properties;
        BENCH_CHECK(cudaGetDevice(&context.nCudaDeviceId));
        BENCH_CHECK(cudaGetDeviceProperties(&properties, context.nCudaDeviceId));
        context.nMultiProcessorCount = properties.multiProcessorCount;
        context.nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
        context.nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
        context.nSharedMemPerBlock = properties.sharedMemPerBlock;
        context.nCudaDevAttrComputeCapabilityMajor = properties.major;
        context.nCudaDevAttrComputeCapabilityMinor = properties.minor;
        return context;
    }();
    NppStreamContext context = device;
    context.hStream = stream;
    BENCH_CHECK(cudaStreamGetFlags(stream, &context.nStreamFlags));
    const NppiSize size = {(int)width, (int)height}, mask = {2 * radius + 1, 2 * radius + 1};
    const NppiPoint origin = {0, 0}, anchor = {radius, radius};
    const int in_step = (int)in_pitch, out_step = (int)out_pitch;
    const NppStatus status =
        radius == 0 ? nppiRGBToGray_8u_C3C1R_Ctx(in, in_step, out, out_step, size, context)
        : channels == 1
            ? nppiFilterBoxBorder_8u_C1R_Ctx(in, in_step, size, origin, out, out_step, size, mask,
                                             anchor, NPP_BORDER_REPLICATE, context)
        : channels == 3
            ? nppiFilterBoxBorder_8u_C3R_Ctx(in, in_step, size, origin, out, out_step, size, mask,
                                             anchor, NPP_BORDER_REPLICATE, context)
            : nppiFilterBoxBorder_8u_C4R_Ctx(in, in_step, size, origin, out, out_step, size, mask,
                                             anchor, NPP_BORDER_REPLICATE, context);
    return status == NPP_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}
#endif

// ---- Contests -------------------------------------------------------------------------------------

struct shape {
    size_t width, height, in_at, in_gap, out_gap; // bytes: before the picture, and between rows
    std::string text;
};

static void contest(bench &b, const shape &p, int radius, int channels,
                    const std::vector<rung> &list)
{
    const size_t width = p.width, height = p.height, n = width * height;
    const size_t made = radius == 0 ? 1 : channels, read = n * channels, written = n * made;
    const size_t in_pitch = width * channels + p.in_gap, out_pitch = width * made + p.out_gap;
    bench_contest contest("image", channels == 1 ? "gray" : channels == 3 ? "RGB" : "RGBA", n);
    contest.data = (radius == 0 ? "to gray" : "blur of radius " + std::to_string(radius)) + p.text;
    contest.peer = "NPP";
    const size_t in_bytes = p.in_at + in_pitch * height, out_bytes = out_pitch * height;
    const std::shared_ptr<void> from = bench_alloc(in_bytes);
    const std::shared_ptr<void> to = bench_alloc(std::max(in_bytes, out_bytes));
    const unsigned char *const in = (unsigned char *)from.get() + p.in_at;
    unsigned char *const out = (unsigned char *)to.get();
    bench_fill((unsigned char *)from.get(), in_bytes, 1);

    // As many bytes as the kernels move, half of them in and half out.
    const bench_entry copied = bench_copy({{out, from.get(), (read + written) / 2}},
                                          [=] { BENCH_CHECK(cudaMemset(out, 0x5a, out_bytes)); });
    contest.entries.push_back(copied);

    const auto check = [=](long long border, int tolerance) {
        return [=](std::string *why) {
            std::shared_ptr<void> wrong = bench_zeroed(8);
            unsigned long long count;
            wrong_kernel<<<2048, 256>>>(in, in_pitch, out, out_pitch, width, height, radius,
                                        channels, border, tolerance,
                                        (unsigned long long *)wrong.get());
            BENCH_CHECK(cudaGetLastError());
            BENCH_CHECK(cudaMemcpy(&count, wrong.get(), 8, cudaMemcpyDeviceToHost));
            *why = std::to_string(count) + " samples";
            return count == 0;
        };
    };
#if HAVE_NPP
    if (in_bytes <= INT_MAX && out_bytes <= INT_MAX) {
        bench_entry entry = copied;
        entry.kernel = "NPP";
        entry.launch = [=](cudaStream_t stream) {
            return npp_launch(in, in_pitch, out, out_pitch, width, height, radius, channels,
                              stream);
        };
        entry.check = check(radius, 1);
        contest.entries.push_back(entry);
    }
#endif
    for (const rung &r : list) {
        if (r.radius != radius || r.channels != channels)
            continue;
        bench_entry entry = copied;
        entry.kernel = r.kernel;
        entry.knobs = r.knobs;
        const auto launch = r.launch;
        entry.launch = [=](cudaStream_t stream) {
            return launch(in, in_pitch, out, out_pitch, width, height, stream);
        };
        entry.check = check(0, 0);
        if (r.describe)
            r.describe(&entry);
        contest.entries.push_back(entry);
    }
    b.run(contest);
}

int main(int argc, char **argv)
{
    bench b(argc, argv,
            {"Pictures: the rungs of coarsen's grayscale and blur beside NPP and a device copy.",
             "", 18, 28});
    const std::vector<rung> &list = b.sweep ? bench_variants<rung>() : bench_rungs<rung>();
    std::vector<shape> shapes;
    for (int e : b.exponents(b.quick ? 1 : 2))
        shapes.push_back({(size_t)1 << (e - e / 2), (size_t)1 << (e / 2), 0, 0, 0, ""});
    if (!b.sweep) {
        // What cameras and screens have.
        for (const std::pair<size_t, size_t> &size :
             std::initializer_list<std::pair<size_t, size_t>>{
                 {640, 480}, {1920, 1080}, {3840, 2160}, {4000, 3000}})
            shapes.push_back(
                {size.first, size.second, 0, 0, 0,
                 ", " + std::to_string(size.first) + " x " + std::to_string(size.second)});
        shapes.push_back({1921, 1080, 0, 0, 0, ", 1921 x 1080"});
        shapes.push_back({8191, 8191, 0, 0, 0, ", 8191 x 8191"});
        shapes.push_back({8192, 8192, 0, 64, 64, ", 8192 x 8192 with a pitch"});
        shapes.push_back({8192, 8192, 16, 64, 0, ", 8192 x 8192 of rows 64 bytes longer"});
        shapes.push_back({8192, 8192, 3, 7, 0, ", 8192 x 8192 of a larger one"});
    }
    for (const shape &p : shapes) {
        const size_t n = p.width * p.height;
        if (!b.fits(8.0 * n, ("image, n = " + std::to_string(n)).c_str()))
            continue;
        contest(b, p, 0, 3, list);
        if (!b.sweep)
            for (int radius = 1; radius <= 3; radius += 2)
                contest(b, p, radius, 1, list);
        for (int radius = b.sweep ? 3 : 1; radius <= 3; radius += 2)
            for (int channels = 3; channels <= (b.sweep ? 3 : 4); channels++)
                contest(b, p, radius, channels, list);
    }
    return b.finish();
}

#endif

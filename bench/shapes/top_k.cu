// SPDX-License-Identifier: MIT
//
// bench/shapes/top_k.cu: the k greatest by top_k.h, in order, beside cub::DeviceTopK::MaxKeys, in any. A line:
//     TYPE n= k= apart= data=
//
// The file includes itself, once for each type.

#ifdef SHAPE_TYPE

#define COARSEN_NAME SHAPE(_top)
#define COARSEN_TYPE SHAPE_TYPE
#include <coarsen/top_k.h>

SHAPE_CONTEST
{
    const size_t n = s.at("n"), k = s.at("k");
    const shape_array<SHAPE_TYPE> in(n, s.at("apart"), shape_data_of(s)), out(k);
    const shape_scratch scratch(SHAPE(_top_scratch_bytes)(1, n, k), SHAPE(_top_scratch_init));
    shape_contest(b, "top_k", s, n, (double)in.bytes, {greatest(out.data, k)}, "CUB",
                  shape_cub([=](void *storage, size_t &bytes, cudaStream_t stream) {
                      return cub::DeviceTopK::MaxKeys(storage, bytes, (const SHAPE_TYPE *)in.data,
                                                      out.data, (int)n, (int)k, unordered(stream));
                  }),
                  [=](cudaStream_t stream) {
                      return SHAPE(_top_launch)(in.data, n, k, out.data, nullptr,
                                                scratch.memory.get(), scratch.bytes, stream);
                  });
}
#undef SHAPE_TYPE
#undef SHAPE_NAME

#else

#include "shapes.h"

#include <cub/device/device_topk.cuh>
#include <cuda/execution>

static auto unordered(cudaStream_t stream)
{
    return cuda::std::execution::env{
        cuda::stream_ref{stream},
        cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                 cuda::execution::tie_break::unspecified,
                                 cuda::execution::output_ordering::unsorted)};
}

// Agrees if the two hold the same numbers.
template <typename T> static shape_output greatest(T *data, size_t k)
{
    return {data, k * sizeof(T), [=](const void *wanted, std::string *why) {
                std::vector<T> a(k), b(k);
                BENCH_CHECK(cudaMemcpy(a.data(), data, k * sizeof(T), cudaMemcpyDeviceToHost));
                BENCH_CHECK(cudaMemcpy(b.data(), wanted, k * sizeof(T), cudaMemcpyDeviceToHost));
                std::sort(b.begin(), b.end(), std::greater<T>());
                *why = "unlike the peer's, or not in order";
                return a == b;
            }};
}

#define SHAPE_TYPE float
#define SHAPE_NAME f32
#include "top_k.cu"
#define SHAPE_TYPE int
#define SHAPE_NAME i32
#include "top_k.cu"
#define SHAPE_TYPE double
#define SHAPE_NAME f64
#include "top_k.cu"

int main(int argc, char **argv)
{
    return shapes_main(argc, argv, "The k greatest, of random shapes: top_k.h beside CUB's.");
}

#endif

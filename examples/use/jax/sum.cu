// SPDX-License-Identifier: MIT
//
// A sum for JAX's foreign function interface: on its stream, with scratch from its allocator.

#include <cuda_runtime.h>
#include <xla/ffi/api/ffi.h>

#define COARSEN_NAME sum_f32
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

namespace ffi = xla::ffi;

static ffi::Error sum(cudaStream_t stream, ffi::ScratchAllocator allocator, ffi::Buffer<ffi::F32> x,
                      ffi::ResultBuffer<ffi::F32> out)
{
    const size_t n = x.element_count(), bytes = sum_f32_scratch_bytes(n);
    const std::optional<void *> scratch = allocator.Allocate(bytes, 16);
    if (!scratch)
        return ffi::Error(ffi::ErrorCode::kResourceExhausted, "sum: no memory for the scratch");
    // The allocator's memory has something else in it each time.
    cudaError_t status = sum_f32_scratch_init(*scratch, bytes, stream);
    if (status == cudaSuccess)
        status = sum_f32_launch(x.typed_data(), out->typed_data(), n, *scratch, bytes, stream);
    return status == cudaSuccess
               ? ffi::Error::Success()
               : ffi::Error(ffi::ErrorCode::kInternal, cudaGetErrorString(status));
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(sum_f32_handler, sum,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>(),
                              {ffi::Traits::kCmdBufferCompatible}); // a CUDA graph may have it

// SPDX-License-Identifier: MIT
//
// torch.ops.coarsen.sum and .matmul: on PyTorch's current stream, with scratch from its allocator. They know no
// gradients.

#include "kernels.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

namespace
{

at::Tensor scratch_of(size_t bytes, const at::Tensor &like)
{
    return at::empty({(int64_t)bytes}, like.options().dtype(at::kByte));
}

at::Tensor sum_op(const at::Tensor &x)
{
    TORCH_CHECK(x.scalar_type() == at::kFloat && x.is_contiguous(),
                "sum: takes contiguous float32");
    const c10::cuda::CUDAGuard guard(x.device());
    const size_t n = (size_t)x.numel(), bytes = sum_scratch_bytes(n);
    const at::Tensor out = at::empty({}, x.options()), scratch = scratch_of(bytes, x);
    C10_CUDA_CHECK(sum(x.const_data_ptr<float>(), out.data_ptr<float>(), n, scratch.data_ptr(),
                       bytes, c10::cuda::getCurrentCUDAStream()));
    return out;
}

at::Tensor matmul_op(const at::Tensor &m, const at::Tensor &n)
{
    TORCH_CHECK(m.dim() == 2 && n.dim() == 2 && m.size(1) == n.size(0),
                "matmul: takes r x k and k x c");
    TORCH_CHECK(m.scalar_type() == at::kFloat && n.scalar_type() == at::kFloat &&
                    m.device() == n.device(),
                "matmul: takes float32 of one device");
    const size_t rows = (size_t)m.size(0), cols = (size_t)n.size(1), inner = (size_t)m.size(1);
    const at::Tensor a = m.stride(1) == 1 && m.stride(0) >= m.size(1) ? m : m.contiguous();
    const at::Tensor b = n.stride(1) == 1 && n.stride(0) >= n.size(1) ? n : n.contiguous();
    const c10::cuda::CUDAGuard guard(m.device());
    const size_t bytes = matmul_scratch_bytes(rows, cols, inner);
    const at::Tensor out = at::empty({m.size(0), n.size(1)}, m.options());
    const at::Tensor scratch = scratch_of(bytes, m);
    C10_CUDA_CHECK(matmul(a.const_data_ptr<float>(), (size_t)a.stride(0), b.const_data_ptr<float>(),
                          (size_t)b.stride(0), out.data_ptr<float>(), rows, cols, inner,
                          scratch.data_ptr(), bytes, c10::cuda::getCurrentCUDAStream()));
    return out;
}

} // namespace

TORCH_LIBRARY(coarsen, library)
{
    library.def("sum(Tensor x) -> Tensor");
    library.def("matmul(Tensor m, Tensor n) -> Tensor");
}

TORCH_LIBRARY_IMPL(coarsen, CUDA, library)
{
    library.impl("sum", &sum_op);
    library.impl("matmul", &matmul_op);
}

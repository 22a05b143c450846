// SPDX-License-Identifier: MIT
//
// Of cooperative groups: the block, its tiles of up to 32 threads, and the grid without sync().

#ifndef SIMT_COOPERATIVE_GROUPS_H
#define SIMT_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

#pragma GCC system_header

#define SIMT_METHOD __inline__ __attribute__((always_inline))

namespace cooperative_groups
{

struct thread_block {
    static SIMT_METHOD void sync()
    {
        __syncthreads();
    }
    static SIMT_METHOD unsigned thread_rank()
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static SIMT_METHOD unsigned num_threads()
    {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    static SIMT_METHOD unsigned size()
    {
        return num_threads();
    }
    static SIMT_METHOD dim3 group_index()
    {
        return blockIdx;
    }
    static SIMT_METHOD dim3 thread_index()
    {
        return threadIdx;
    }
    static SIMT_METHOD dim3 group_dim()
    {
        return blockDim;
    }
    static SIMT_METHOD dim3 dim_threads()
    {
        return blockDim;
    }
};
SIMT_INLINE thread_block this_thread_block()
{
    return thread_block();
}

struct grid_group {
    template <int n = 0> static void sync()
    {
        static_assert(n,
                      "simt does not have grid_group::sync(): end the kernel and launch another");
    }
    static SIMT_METHOD unsigned long long block_rank()
    {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
    static SIMT_METHOD unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static SIMT_METHOD unsigned long long thread_rank()
    {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    static SIMT_METHOD unsigned long long num_threads()
    {
        return num_blocks() * thread_block::num_threads();
    }
    static SIMT_METHOD unsigned long long size()
    {
        return num_threads();
    }
};
SIMT_INLINE grid_group this_grid()
{
    return grid_group();
}

template <unsigned n, class Parent = void> struct thread_block_tile {
    static_assert(n >= 1 && n <= 32 && !(n & (n - 1)), "a tile has 1, 2, 4, 8, 16 or 32 threads");

    thread_block_tile() = default;
    template <class Other> thread_block_tile(const thread_block_tile<n, Other> &)
    {
    }

    static SIMT_METHOD unsigned mask()
    {
        return (n == 32 ? ~0u : (1u << (n & 31)) - 1) << (thread_block::thread_rank() % 32 / n * n);
    }
    static SIMT_METHOD void sync()
    {
        __syncwarp(mask());
    }
    static SIMT_METHOD unsigned thread_rank()
    {
        return thread_block::thread_rank() % n;
    }
    static constexpr unsigned num_threads()
    {
        return n;
    }
    static constexpr unsigned size()
    {
        return n;
    }
    static SIMT_METHOD unsigned meta_group_rank()
    {
        return thread_block::thread_rank() / n;
    }
    static SIMT_METHOD unsigned meta_group_size()
    {
        return (thread_block::num_threads() + n - 1) / n;
    }
    template <class Type> SIMT_METHOD Type shfl(Type v, int lane) const
    {
        return __shfl_sync(mask(), v, lane, (int)n);
    }
    template <class Type> SIMT_METHOD Type shfl_up(Type v, unsigned delta) const
    {
        return __shfl_up_sync(mask(), v, delta, (int)n);
    }
    template <class Type> SIMT_METHOD Type shfl_down(Type v, unsigned delta) const
    {
        return __shfl_down_sync(mask(), v, delta, (int)n);
    }
    template <class Type> SIMT_METHOD Type shfl_xor(Type v, unsigned lanes) const
    {
        return __shfl_xor_sync(mask(), v, (int)lanes, (int)n);
    }
    SIMT_METHOD int any(int p) const
    {
        return __any_sync(mask(), p);
    }
    SIMT_METHOD int all(int p) const
    {
        return __all_sync(mask(), p);
    }
    SIMT_METHOD unsigned ballot(int p) const
    {
        return first(__ballot_sync(mask(), p));
    }
    template <class Type> SIMT_METHOD unsigned match_any(Type v) const
    {
        return first(__match_any_sync(mask(), v));
    }

  private:
    // Lane 0 is the tile's first.
    static SIMT_METHOD unsigned first(unsigned lanes)
    {
        return (lanes & mask()) >> (thread_block::thread_rank() % 32 / n * n);
    }
};
template <unsigned n, class Group>
SIMT_INLINE thread_block_tile<n, Group> tiled_partition(const Group &)
{
    return thread_block_tile<n, Group>();
}

template <class Group> SIMT_INLINE void sync(const Group &group)
{
    group.sync();
}

} // namespace cooperative_groups

#undef SIMT_METHOD
#endif

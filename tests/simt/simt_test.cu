// SPDX-License-Identifier: MIT
//
// The CPU device's own test: each fault planted in a kernel is reported, with its kind and its
// line; the kernel without it is clean under every order of blocks. Counts, the runtime API and the
// odd corners follow.

#include <cuda_runtime.h>
#include <simt.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tap.h"

// ---- planted faults: `PLANTED(f)` on the line after the fault tells the host which line that is ----

enum fault {
    RACE_SHARED,
    RACE_GLOBAL,
    RACE_BLOCKS,
    RACE_BYTES,
    RACE_RESET,
    MISSING_BARRIER,
    ORDER_OF_BLOCKS,
    MISSING_FENCE,
    ARRIVALS,
    LOCK_WITHOUT_FENCE,
    WARP_WITHOUT_SYNC,
    WARP_VOLATILE,
    VALUE_BEFORE_FLAG,
    VALUES_BEFORE_TICKET,
    VALUE_AFTER_FLAG,
    VALUE_AFTER_ATOMIC_FLAG,
    EXCHANGE_AFTER_READ,
    COPY_NOT_WAITED,
    COPY_ONE_SHORT,
    COPY_WITHOUT_BARRIER,
    BARRIER_IN_BRANCH,
    BARRIER_IN_HELPER,
    BARRIER_TWO_LINES,
    BARRIERS_ONE_LINE,
    OVERRUN_GLOBAL,
    UNDERRUN_GLOBAL,
    OVERRUN_SHARED,
    OVERRUN_SHARED_POINTER,
    OVERRUN_DYNAMIC,
    OVERRUN_COPY,
    OVERRUN_UNWRITTEN,
    UNWRITTEN_GLOBAL,
    UNWRITTEN_SHARED,
    UNWRITTEN_ATOMIC,
    MISALIGNED,
    FREED,
    HOST_HEAP,
    HOST_STACK,
    NULL_POINTER,
    OTHER_STACK,
    SPIN_ON_ABSENT_BLOCK,
    SPIN_PLAIN,
    SPIN_HOISTED,
    SHUFFLE_ABSENT,
    SHUFFLE_NAMED_ABSENT,
    MORE_THAN_ACTIVE,
    VOTE_IN_BRANCH,
    NOT_IN_OWN_MASK,
    ASSERTION,
    TRAP,
    FAULTS
};

#define PLANTED(fault) PLANTED_AT(fault, __LINE__ - 1)
#define PLANTED_AT(fault, line)                                                                    \
    __asm__ volatile(".pushsection planted,\"a\",@progbits\n\t.long %c0, %c1\n\t.popsection"       \
                     :                                                                             \
                     : "i"(fault), "i"(line))

struct planted {
    int fault, line;
};
extern "C" const planted __start_planted[], __stop_planted[];

static bool planted_at(fault f, int line)
{
    for (const planted *p = __start_planted; p < __stop_planted; ++p)
        if (p->fault == f && p->line == line)
            return true;
    return false;
}

#define N 256

// What a kernel may want; each test uses what it needs.
struct arguments {
    int *in;    // N ints, 0 to N - 1
    int *out;   // N ints, unwritten
    int *count; // 4 ints, 0
    int *odd;   // what the fault needs: freed, host, null, ...
};

__device__ int device_counter;
__constant__ int constant_table[4] = {1, 2, 3, 4};

template <bool fixed> __global__ void race_shared(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = a.in[t];
    if (fixed)
        __syncthreads();
    a.out[t] = s[(t + 1) % N];
    PLANTED(RACE_SHARED);
}

template <bool fixed> __global__ void race_global(arguments a)
{
    if (fixed) {
        atomicAdd(a.count, 1);
    } else {
        *a.count += 1;
        PLANTED(RACE_GLOBAL);
    }
}

template <bool fixed> __global__ void race_blocks(arguments a)
{
    int i = blockIdx.x * (fixed ? blockDim.x : 0) + threadIdx.x;
    a.out[i] = i;
    PLANTED(RACE_BLOCKS);
}

// Neighbouring bytes are no race; the same byte is.
template <bool fixed> __global__ void race_bytes(arguments a)
{
    unsigned char *bytes = (unsigned char *)a.out;
    bytes[fixed ? threadIdx.x : threadIdx.x / 2] = 1;
    PLANTED(RACE_BYTES);
}

// The thread that sets the counter counts too.
template <bool fixed> __global__ void race_reset(arguments a)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    if (fixed)
        __syncthreads();
    atomicAdd(&count, 1);
    PLANTED(RACE_RESET);
    __syncthreads();
    a.out[threadIdx.x] = count;
}

template <bool fixed> __global__ void missing_barrier(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = a.in[t];
    __syncthreads();
    for (int step = N / 2; step; step /= 2) {
        if (t < step) {
            s[t] += s[t + step];
            PLANTED(MISSING_BARRIER);
        }
        if (fixed)
            __syncthreads();
    }
    if (!t)
        a.out[0] = s[0];
}

// Block b takes what block b - 1 left.
template <bool fixed> __global__ void order_of_blocks(arguments a)
{
    if (threadIdx.x)
        return;
    int b = blockIdx.x, before = 0;
    if (b && !fixed) {
        before = a.out[b - 1];
        PLANTED(ORDER_OF_BLOCKS);
    }
    a.out[b] = before + 1;
}

// The last block to finish sums what the others wrote.
template <bool fixed> __global__ void last_block(arguments a)
{
    __shared__ bool last;
    if (!threadIdx.x) {
        a.out[blockIdx.x] = blockIdx.x + 1;
        if (fixed)
            __threadfence();
        last = atomicAdd(a.count, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (!last || threadIdx.x)
        return;
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) {
        sum += a.out[b];
        PLANTED(MISSING_FENCE);
    }
    a.count[1] = sum;
}

// All but the last block arrive. The one that completes them says so by a second update, with no fence between: it
// only passes on what it has read. The last block reads what they wrote, if it sees that.
template <bool fixed> __global__ void arrivals(arguments a)
{
    const int others = (int)gridDim.x - 1;
    if (threadIdx.x)
        return;
    if ((int)blockIdx.x < others) {
        a.out[blockIdx.x] = 1;
        if (fixed)
            __threadfence();
        if (atomicAdd(a.count, 1) == others - 1)
            atomicAdd(a.count, 100);
    } else if (*(volatile int *)a.count >= 100) {
        __threadfence();
        int sum = 0;
        for (int b = 0; b < others; ++b) {
            sum += a.out[b];
            PLANTED(ARRIVALS);
        }
        a.count[1] = sum;
    }
}

template <bool fixed> __global__ void lock(arguments a)
{
    if (threadIdx.x % 32)
        return;
    while (atomicCAS(a.count, 0, 1)) {
    }
    __threadfence();
    a.count[1] += 1;
    PLANTED(LOCK_WITHOUT_FENCE);
    if (fixed)
        __threadfence();
    atomicExch(a.count, 0);
}

template <bool fixed> __global__ void warp_without_sync(arguments a)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = a.in[t];
    if (fixed)
        __syncwarp();
    a.out[t] = s[31 - t];
    PLANTED(WARP_WITHOUT_SYNC);
}

// As before Volta, when the lanes of a warp ran together.
template <bool fixed> __global__ void warp_volatile(arguments a)
{
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = a.in[t], s[t + 32] = a.in[t + 32];
    __syncthreads();
    for (int step = 32; step; step /= 2) {
        if (fixed) {
            int sum = s[t] + s[t + step];
            __syncwarp();
            s[t] = sum;
            __syncwarp();
        } else {
            s[t] += s[t + step];
            PLANTED(WARP_VOLATILE);
        }
    }
    a.out[t] = s[0];
}

// The first block hands the second a value by a flag, both of them volatile.
template <bool writer, bool reader> __device__ void hand_over(const arguments &a)
{
    volatile int *value = &a.count[0], *flag = &a.count[1];
    if (threadIdx.x)
        return;
    if (atomicAdd(&a.count[2], 1) == 0) {
        *value = 7;
        if (writer)
            __threadfence();
        *flag = 1;
        return;
    }
    while (!*flag) {
    }
    if (reader)
        __threadfence();
    int got = *value;
    PLANTED(VALUE_BEFORE_FLAG);
    PLANTED_AT(VALUE_AFTER_FLAG, __LINE__ - 2);
    a.out[0] = got;
}
template <bool fixed> __global__ void value_before_flag(arguments a)
{
    hand_over<fixed, true>(a);
}
template <bool fixed> __global__ void value_after_flag(arguments a)
{
    hand_over<true, fixed>(a);
}

// Many threads write, and one takes the ticket for all of them.
template <bool fixed> __global__ void values_before_ticket(arguments a)
{
    __shared__ int last;
    volatile int *partial = a.out + N / 2;
    unsigned t = threadIdx.x, b = blockIdx.x * blockDim.x;
    partial[b + t] = (int)t;
    if (fixed)
        __threadfence();
    __syncthreads();
    if (!t)
        last = atomicAdd(&a.count[1], 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    if (fixed)
        __threadfence();
    int got = partial[(b + t + blockDim.x) % (gridDim.x * blockDim.x)];
    PLANTED(VALUES_BEFORE_TICKET);
    a.out[t] = got;
}

template <bool fixed> __global__ void value_after_atomic_flag(arguments a)
{
    if (threadIdx.x)
        return;
    if (atomicAdd(&a.count[2], 1) == 0) {
        a.count[0] = 7;
        __threadfence();
        atomicExch(&a.count[1], 1);
        return;
    }
    while (!atomicAdd(&a.count[1], 0)) {
    }
    if (fixed)
        __threadfence();
    a.out[0] = a.count[0];
    PLANTED(VALUE_AFTER_ATOMIC_FLAG);
}

// Fixed: the Programming Guide's loop, which begins with a plain read, too.
template <bool fixed> __global__ void exchange_after_read(arguments a)
{
    int old = *a.count;
    PLANTED(EXCHANGE_AFTER_READ);
    if (fixed) {
        int assumed;
        do {
            assumed = old;
            old = atomicCAS(a.count, assumed, assumed + 1);
        } while (old != assumed);
    } else {
        atomicExch(a.count, old + 1);
    }
}

template <bool fixed> __global__ void copy_not_waited(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &a.in[t], 4);
    __pipeline_commit();
    if (fixed)
        __pipeline_wait_prior(0);
    __syncthreads();
    a.out[t] = s[N - 1 - t];
    PLANTED(COPY_NOT_WAITED);
}

template <bool fixed> __global__ void copy_one_short(arguments a)
{
    __shared__ int s[2][N];
    int t = threadIdx.x, sum = 0;
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&s[k][t], &a.in[t], 4);
        __pipeline_commit();
    }
    for (int k = 0; k < 2; ++k) {
        __pipeline_wait_prior(fixed ? 1 - k : 2 - k);
        sum += s[k][t];
        PLANTED(COPY_ONE_SHORT);
    }
    a.out[t] = sum;
}

template <bool fixed> __global__ void copy_without_barrier(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &a.in[t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (fixed)
        __syncthreads();
    a.out[t] = s[(t + N - 1) % N];
    PLANTED(COPY_WITHOUT_BARRIER);
}

template <bool fixed> __global__ void barrier_in_branch(arguments a)
{
    int t = threadIdx.x;
    if (fixed || t < N - 1) {
        __syncthreads();
        PLANTED(BARRIER_IN_BRANCH);
    }
    a.out[t] = a.in[t];
}

__device__ __noinline__ int sum_of_two(int *s, int x)
{
    s[threadIdx.x] = x;
    __syncthreads();
    PLANTED(BARRIER_IN_HELPER);
    return s[0] + s[1];
}
template <bool fixed> __global__ void barrier_in_helper(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x, sum = 0;
    if (fixed || t < N / 2)
        sum = sum_of_two(s, a.in[t]);
    a.out[t] = sum;
}

template <bool fixed> __global__ void barrier_two_lines(arguments a)
{
    a.out[threadIdx.x] = 1;
    if (fixed || threadIdx.x < 32) {
        __syncthreads();
        PLANTED(BARRIER_TWO_LINES);
    } else {
        __syncthreads();
        PLANTED(BARRIER_TWO_LINES);
    }
}

// clang-format off
template <bool fixed> __global__ void barriers_one_line(arguments a)
{
    a.out[threadIdx.x] = 1;
    if (fixed || threadIdx.x < 32) __syncthreads(); else __syncthreads();
    PLANTED(BARRIERS_ONE_LINE);
}
// clang-format on

template <bool fixed> __global__ void overrun_global(arguments a)
{
    int i = threadIdx.x;
    if (fixed ? i < N - 1 : i < N) {
        a.out[i] = a.in[i + 1];
        PLANTED(OVERRUN_GLOBAL);
    }
}

template <bool fixed> __global__ void underrun_global(arguments a)
{
    int i = threadIdx.x;
    if (!fixed || i) {
        a.out[i] = a.in[i - 1];
        PLANTED(UNDERRUN_GLOBAL);
    }
}

template <bool fixed> __global__ void overrun_shared(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[fixed ? t : t + 1] = a.in[t];
    PLANTED(OVERRUN_SHARED);
    a.out[t] = s[fixed ? t : t + 1];
}

// Through a pointer, whose declared size the compiler doesn't see.
__device__ __noinline__ void put(int *to, int index, int value)
{
    to[index] = value;
    PLANTED(OVERRUN_SHARED_POINTER);
}
__shared__ int only_shared[8];
template <bool fixed> __global__ void overrun_shared_pointer(arguments)
{
    if (!threadIdx.x)
        put(only_shared, fixed ? 7 : 1 << 20, 1);
}

SIMT_DYNAMIC_SHARED(dynamic);
template <bool fixed> __global__ void overrun_dynamic(arguments a)
{
    extern __shared__ int dynamic[];
    int t = threadIdx.x;
    dynamic[fixed ? t : t + 1] = a.in[t];
    PLANTED(OVERRUN_DYNAMIC);
    a.out[t] = dynamic[fixed ? t : t + 1];
}

template <bool fixed> __global__ void overrun_copy(arguments a)
{
    if (threadIdx.x)
        return;
    memcpy(a.out, a.in, (N + (fixed ? 0 : 1)) * sizeof(int));
    PLANTED(OVERRUN_COPY);
}

// Nothing wrote the elements that the first threads read. That isn't what the last thread's fault is.
template <bool fixed> __global__ void overrun_unwritten(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x, i = t + (fixed ? 0 : 32);
    if (fixed)
        s[t] = a.in[t];
    a.out[t] = s[i];
    PLANTED(OVERRUN_UNWRITTEN);
}

template <bool fixed> __global__ void unwritten_global(arguments a)
{
    int t = threadIdx.x;
    if (fixed)
        a.out[t] = t;
    a.out[t] += 1;
    PLANTED(UNWRITTEN_GLOBAL);
}

template <bool fixed> __global__ void unwritten_shared(arguments a)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    if (fixed || t)
        s[t] = t;
    __syncthreads();
    a.out[t] = s[t];
    PLANTED(UNWRITTEN_SHARED);
}

template <bool fixed> __global__ void unwritten_atomic(arguments a)
{
    __shared__ int s[4];
    if (fixed && threadIdx.x < 4)
        s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[threadIdx.x % 4], a.in[threadIdx.x]);
    PLANTED(UNWRITTEN_ATOMIC);
}

template <bool fixed> __global__ void misaligned(arguments a)
{
    if (threadIdx.x)
        return;
    const int4 *v = (const int4 *)(a.in + (fixed ? 4 : 1));
    int4 x = *v;
    PLANTED(MISALIGNED);
    *(int4 *)a.out = x;
}

template <bool fixed> __global__ void use_after_free(arguments a)
{
    a.out[threadIdx.x] = (fixed ? a.in : a.odd)[threadIdx.x];
    PLANTED(FREED);
}

template <bool fixed> __global__ void host_heap(arguments a)
{
    a.out[threadIdx.x] = (fixed ? a.in : a.odd)[threadIdx.x];
    PLANTED(HOST_HEAP);
}

template <bool fixed> __global__ void host_stack(arguments a)
{
    (fixed ? a.out : a.odd)[threadIdx.x] = 1;
    PLANTED(HOST_STACK);
}

template <bool fixed> __global__ void null_pointer(arguments a)
{
    (fixed ? a.out : (int *)0)[threadIdx.x] = 1;
    PLANTED(NULL_POINTER);
}

template <bool fixed> __global__ void other_stack(arguments a)
{
    __shared__ int *p;
    int own = threadIdx.x;
    if (!threadIdx.x)
        p = fixed ? a.in : &own;
    __syncthreads();
    a.out[threadIdx.x] = *(volatile int *)p;
    PLANTED(OTHER_STACK);
    __syncthreads();
}

// Each block waits for the block after it. Fixed: for the one before it.
template <bool fixed> __global__ void spin_on_block(arguments a)
{
    if (threadIdx.x)
        return;
    __shared__ int number;
    number = fixed ? atomicAdd(&a.count[0], 1) : (int)(gridDim.x - 1 - blockIdx.x);
    volatile int *done = &a.count[1];
    while (*done != number) {
        PLANTED(SPIN_ON_ABSENT_BLOCK);
    }
    __threadfence();
    *done = number + 1;
}

// Thread 32 sets what thread 0 waits for. The compiler reads it again each time, or just once.
template <bool fixed> __global__ void spin_plain(arguments a)
{
    if (threadIdx.x == 0) {
        while (fixed ? !*(volatile int *)a.count : !*a.count) {
            __asm__ volatile("" ::: "memory");
            PLANTED_AT(SPIN_PLAIN, __LINE__ - 2);
        }
    } else if (threadIdx.x == 32) {
        *(volatile int *)a.count = 1;
    }
}
template <bool fixed> __global__ void spin_hoisted(arguments a)
{
    if (threadIdx.x == 0) {
        int seen = *(volatile int *)a.count;
        while (!seen) {
            __asm__ volatile("");
            if (fixed)
                seen = *(volatile int *)a.count;
            PLANTED_AT(SPIN_HOISTED, __LINE__ - 4);
            PLANTED_AT(SPIN_HOISTED, __LINE__ - 4);
        }
    } else if (threadIdx.x == 32) {
        *(volatile int *)a.count = 1;
    }
}

template <bool fixed> __global__ void shuffle_absent(arguments a)
{
    int v = a.in[threadIdx.x];
    if (fixed || threadIdx.x % 32 < 16) {
        v = __shfl_down_sync(0xffffffffu, v, 1);
        PLANTED(SHUFFLE_ABSENT);
    }
    a.out[threadIdx.x] = v;
}

template <bool fixed> __global__ void shuffle_named_absent(arguments a)
{
    int v = a.in[threadIdx.x];
    if (threadIdx.x % 32 < 16) {
        v = __shfl_sync(0xffffu, v, fixed ? 3 : 20);
        PLANTED(SHUFFLE_NAMED_ABSENT);
    }
    a.out[threadIdx.x] = v;
}

template <bool fixed> __global__ void more_than_active(arguments a)
{
    int v = a.in[threadIdx.x];
    if (v % 3) {
        v = __shfl_sync(fixed ? __activemask() : 0xffffffffu, v, threadIdx.x);
        PLANTED(MORE_THAN_ACTIVE);
    }
    a.out[threadIdx.x] = v;
}

template <bool fixed> __global__ void vote_in_branch(arguments a)
{
    int any = 1;
    if (threadIdx.x != 5 || fixed) {
        any = __any_sync(0xffffffffu, a.in[threadIdx.x] > 3);
        PLANTED(VOTE_IN_BRANCH);
    }
    a.out[threadIdx.x] = any;
}

template <bool fixed> __global__ void not_in_own_mask(arguments a)
{
    unsigned mask = fixed ? 0xffffffffu : 0x7fffffffu;
    a.out[threadIdx.x] = (int)__ballot_sync(mask, 1);
    PLANTED(NOT_IN_OWN_MASK);
}

template <bool fixed> __global__ void assertion(arguments a)
{
    assert(a.in[threadIdx.x] < (fixed ? N : N - 1));
    PLANTED(ASSERTION);
}

template <bool fixed> __global__ void trap(arguments a)
{
    if (a.in[threadIdx.x] >= (fixed ? N : N - 1)) {
        PLANTED_AT(TRAP, __LINE__ + 1); // nothing comes after it
        __trap();
    }
}

typedef void (*kernel)(arguments);

struct planted_case {
    fault f;
    const char *name;
    simt_kind kind;
    cudaError_t error;
    kernel faulty, fixed;
    unsigned blocks, threads;
    const char *says; // part of the report
};

#define PAIR(k) k<false>, k<true>

static const planted_case cases[] = {
    {RACE_SHARED, "race in shared memory", SIMT_RACE, cudaErrorLaunchFailure, PAIR(race_shared), 1,
     N, "another thread"},
    {RACE_GLOBAL, "race in global memory", SIMT_RACE, cudaErrorLaunchFailure, PAIR(race_global), 2,
     N, "__syncwarp"},
    {RACE_BLOCKS, "race between blocks", SIMT_RACE, cudaErrorLaunchFailure, PAIR(race_blocks), 4,
     N / 4, "between blocks"},
    {RACE_BYTES, "race on one byte of a word", SIMT_RACE, cudaErrorLaunchFailure, PAIR(race_bytes),
     1, N, "1 byte"},
    {RACE_RESET, "atomics before their counter is set", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(race_reset), 1, N, "atomic update"},
    {MISSING_BARRIER, "missing barrier in a loop", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(missing_barrier), 1, N, "another thread"},
    {ORDER_OF_BLOCKS, "result that leans on the order of blocks", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(order_of_blocks), 8, 32, "between blocks"},
    {MISSING_FENCE, "last block without a fence", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(last_block), 8, 64, "__threadfence"},
    {ARRIVALS, "arrival without a fence, passed on", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(arrivals), 8, 64, "between blocks"},
    {LOCK_WITHOUT_FENCE, "lock released without a fence", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(lock), 8, 64, "another thread"},
    {WARP_WITHOUT_SYNC, "exchange within a warp without __syncwarp", SIMT_RACE,
     cudaErrorLaunchFailure, PAIR(warp_without_sync), 1, 32, "another thread"},
    {WARP_VOLATILE, "volatile in place of __syncwarp", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(warp_volatile), 1, 32, "__syncwarp"},
    {VALUE_BEFORE_FLAG, "volatile value and flag, the writer has no fence", SIMT_RACE,
     cudaErrorLaunchFailure, PAIR(value_before_flag), 2, 32, "a fence of the writer"},
    {VALUES_BEFORE_TICKET, "volatile values of a block, no fence", SIMT_RACE,
     cudaErrorLaunchFailure, PAIR(values_before_ticket), 2, 64, "a fence of the writer"},
    {VALUE_AFTER_FLAG, "volatile value and flag, the reader has no fence", SIMT_RACE,
     cudaErrorLaunchFailure, PAIR(value_after_flag), 2, 32, "a fence of the reader"},
    {VALUE_AFTER_ATOMIC_FLAG, "atomic flag, the reader has no fence", SIMT_RACE,
     cudaErrorLaunchFailure, PAIR(value_after_atomic_flag), 2, 32, "__threadfence"},
    {EXCHANGE_AFTER_READ, "plain read, then an exchange", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(exchange_after_read), 2, 64, "updated it"},
    {COPY_NOT_WAITED, "asynchronous copy without a wait", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(copy_not_waited), 1, N, "under way"},
    {COPY_ONE_SHORT, "asynchronous copy, one wait too few", SIMT_RACE, cudaErrorLaunchFailure,
     PAIR(copy_one_short), 1, N, "__pipeline_wait_prior"},
    {COPY_WITHOUT_BARRIER, "asynchronous copy of another thread, no barrier", SIMT_RACE,
     cudaErrorLaunchFailure, PAIR(copy_without_barrier), 1, N, ""},
    {BARRIERS_ONE_LINE, "two barriers in one line", SIMT_DIVERGENT_BARRIER, cudaErrorLaunchFailure,
     PAIR(barriers_one_line), 1, N, "different barriers"},
    {BARRIER_IN_BRANCH, "barrier that a thread goes past", SIMT_DIVERGENT_BARRIER,
     cudaErrorLaunchFailure, PAIR(barrier_in_branch), 1, N, "returned"},
    {BARRIER_IN_HELPER, "barrier in a function that half the threads call", SIMT_DIVERGENT_BARRIER,
     cudaErrorLaunchFailure, PAIR(barrier_in_helper), 1, N, "returned"},
    {BARRIER_TWO_LINES, "two barriers in two branches", SIMT_DIVERGENT_BARRIER,
     cudaErrorLaunchFailure, PAIR(barrier_two_lines), 1, N, "different barriers"},
    {OVERRUN_GLOBAL, "one past the end of an allocation", SIMT_OUT_OF_BOUNDS,
     cudaErrorIllegalAddress, PAIR(overrun_global), 1, N, "4 bytes past an allocation of 1024"},
    {UNDERRUN_GLOBAL, "one before the start of an allocation", SIMT_OUT_OF_BOUNDS,
     cudaErrorIllegalAddress, PAIR(underrun_global), 1, N, "4 bytes before an allocation of 1024"},
    {OVERRUN_SHARED, "one past the end of a shared array", SIMT_OUT_OF_BOUNDS,
     cudaErrorIllegalAddress, PAIR(overrun_shared), 1, N, "index 256"},
    {OVERRUN_SHARED_POINTER, "far past a shared array by pointer", SIMT_OUT_OF_BOUNDS,
     cudaErrorIllegalAddress, PAIR(overrun_shared_pointer), 1, 32, "4 bytes"},
    {OVERRUN_DYNAMIC, "one past the dynamic shared memory", SIMT_OUT_OF_BOUNDS,
     cudaErrorIllegalAddress, PAIR(overrun_dynamic), 1, N, "1024 bytes of dynamic"},
    {OVERRUN_COPY, "memcpy past the end", SIMT_OUT_OF_BOUNDS, cudaErrorIllegalAddress,
     PAIR(overrun_copy), 1, 32, "past an allocation"},
    {OVERRUN_UNWRITTEN, "overrun of what is unwritten, too", SIMT_OUT_OF_BOUNDS,
     cudaErrorIllegalAddress, PAIR(overrun_unwritten), 1, N, "index 256"},
    {UNWRITTEN_GLOBAL, "read of unwritten global memory", SIMT_UNWRITTEN, cudaErrorLaunchFailure,
     PAIR(unwritten_global), 1, N, "nothing has written"},
    {UNWRITTEN_SHARED, "read of unwritten shared memory", SIMT_UNWRITTEN, cudaErrorLaunchFailure,
     PAIR(unwritten_shared), 1, N, "shared memory"},
    {UNWRITTEN_ATOMIC, "atomic on unwritten shared memory", SIMT_UNWRITTEN, cudaErrorLaunchFailure,
     PAIR(unwritten_atomic), 2, N, "atomic update"},
    {MISALIGNED, "misaligned vector load", SIMT_MISALIGNED, cudaErrorMisalignedAddress,
     PAIR(misaligned), 1, 32, "no multiple of 16"},
    {FREED, "use after free", SIMT_USE_AFTER_FREE, cudaErrorIllegalAddress, PAIR(use_after_free), 1,
     N, "freed"},
    {HOST_HEAP, "host pointer from malloc", SIMT_HOST_POINTER, cudaErrorIllegalAddress,
     PAIR(host_heap), 1, N, "host memory"},
    {HOST_STACK, "host pointer to a local variable", SIMT_HOST_POINTER, cudaErrorIllegalAddress,
     PAIR(host_stack), 1, N, "host memory"},
    {NULL_POINTER, "null pointer", SIMT_OUT_OF_BOUNDS, cudaErrorIllegalAddress, PAIR(null_pointer),
     1, N, "null pointer"},
    {OTHER_STACK, "another thread's local variable", SIMT_OUT_OF_BOUNDS, cudaErrorIllegalAddress,
     PAIR(other_stack), 1, 64, "another thread's stack"},
    {SPIN_ON_ABSENT_BLOCK, "spin on a block that isn't resident", SIMT_DEADLOCK,
     cudaErrorLaunchTimeout, PAIR(spin_on_block), 32, 32, "not started"},
    {SPIN_PLAIN, "spin by plain reads", SIMT_DEADLOCK, cudaErrorLaunchTimeout, PAIR(spin_plain), 1,
     64, "plain reads"},
    {SPIN_HOISTED, "spin by a plain read that is done once", SIMT_DEADLOCK, cudaErrorLaunchTimeout,
     PAIR(spin_hoisted), 1, 64, "SIMT_WATCHDOG"},
    {MORE_THAN_ACTIVE, "shuffle with more lanes than are active", SIMT_ABSENT_LANE,
     cudaErrorLaunchFailure, PAIR(more_than_active), 1, N, "which doesn't come"},
    {SHUFFLE_ABSENT, "shuffle that half the warp skips", SIMT_ABSENT_LANE, cudaErrorLaunchFailure,
     PAIR(shuffle_absent), 1, N, "which doesn't come"},
    {SHUFFLE_NAMED_ABSENT, "shuffle from a lane outside the mask", SIMT_ABSENT_LANE,
     cudaErrorLaunchFailure, PAIR(shuffle_named_absent), 1, N, "lane 20"},
    {VOTE_IN_BRANCH, "vote that a lane goes past", SIMT_ABSENT_LANE, cudaErrorLaunchFailure,
     PAIR(vote_in_branch), 1, 32, "lane 5"},
    {NOT_IN_OWN_MASK, "caller outside its own mask", SIMT_ABSENT_LANE, cudaErrorLaunchFailure,
     PAIR(not_in_own_mask), 1, 32, "lane 31"},
    {ASSERTION, "failed assert", SIMT_ASSERT, cudaErrorAssert, PAIR(assertion), 1, N, "assertion"},
    {TRAP, "__trap", SIMT_TRAP, cudaErrorIllegalInstruction, PAIR(trap), 1, N, "__trap"},
};

static cudaError_t run(kernel k, fault f, unsigned blocks, unsigned threads)
{
    int host[N];
    for (int i = 0; i < N; ++i)
        host[i] = i;
    arguments a = {};
    cudaMalloc(&a.in, sizeof host);
    cudaMalloc(&a.out, sizeof host);
    cudaMalloc(&a.count, 4 * sizeof(int));
    cudaMemcpy(a.in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(a.count, 0, 4 * sizeof(int));
    int *heap = (int *)calloc(N, sizeof(int));
    if (f == FREED) {
        cudaMalloc(&a.odd, sizeof host);
        cudaFree(a.odd);
    } else {
        a.odd = f == HOST_HEAP ? heap : host;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = N * sizeof(int);
    cudaError_t error = cudaLaunchKernelEx(&config, k, a);
    cudaFree(a.in);
    cudaFree(a.out);
    cudaFree(a.count);
    free(heap);
    return error;
}

static void set(simt_order order, unsigned resident, unsigned long long seed)
{
    simt_config c = simt_get_config();
    c.order = order, c.resident = resident, c.seed = seed, c.check = 1, c.watchdog = 1;
    simt_set_config(&c);
}

static void test_faults(void)
{
    for (const planted_case &c : cases) {
        set(SIMT_FORWARD, 1, 1);
        simt_print_reports(0);
        cudaError_t error = run(c.faulty, c.f, c.blocks, c.threads);
        simt_print_reports(1);
        const simt_report r = *simt_last_report();
        bool line = planted_at(c.f, r.here.line) || planted_at(c.f, r.there.line);
        bool file = strstr(r.here.file, "simt_test.cu");
        bool good = r.kind == c.kind && error == c.error && cudaPeekAtLastError() == c.error &&
                    line && file && strstr(r.text, c.says);
        if (!tap_ok(good, "reported: %s", c.name)) {
            tap_diag("kind %s, error %s, line %d (other %d), expected %s, %s",
                     simt_kind_name(r.kind), cudaGetErrorName(error), r.here.line, r.there.line,
                     simt_kind_name(c.kind), cudaGetErrorName(c.error));
            tap_diag("report:\n%s", r.text);
        }
        cudaError_t told = cudaDeviceSynchronize(), again = cudaDeviceSynchronize();
        if (told != c.error || again)
            tap_ok(0, "told once: %s", c.name);

        bool clean = true;
        unsigned long long warnings = simt_warnings();
        simt_print_reports(0);
        for (int order = SIMT_FORWARD; order <= SIMT_SHUFFLE; ++order)
            for (unsigned resident = 1; resident <= 4; resident += 3)
                for (unsigned seed = 1; seed <= (order == SIMT_SHUFFLE ? 3 : 1); ++seed) {
                    set((simt_order)order, resident, seed);
                    error = run(c.fixed, c.f, c.blocks, c.threads);
                    if (error || simt_last_report()->kind) {
                        clean = false;
                        tap_diag("order %d, %u resident, seed %u: %s", order, resident, seed,
                                 cudaGetErrorName(error));
                    }
                    cudaGetLastError();
                }
        simt_print_reports(1);
        tap_ok(clean && (simt_warnings() > warnings) == (c.f == EXCHANGE_AFTER_READ),
               "clean: %s, put right%s", c.name,
               c.f == EXCHANGE_AFTER_READ ? ", with a warning" : "");
    }
    set(SIMT_FORWARD, 1, 1);
}

// ---- patterns that must not be reported ---------------------------------------------------------

// Every thread writes and fences, then one says so.
__global__ void fence_then_barrier(int *data, int *ready, int *out)
{
    __shared__ bool last;
    data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __threadfence();
    __syncthreads();
    if (!threadIdx.x)
        last = atomicAdd(ready, 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    for (unsigned i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x)
        atomicAdd(out, data[i]);
}

// Decoupled look-back: each block publishes its sum, then the sum with all before it.
struct lookback {
    int *number, *flag, *own, *total;
};
__global__ void look_back(lookback l, int *out)
{
    __shared__ int tile, before;
    if (!threadIdx.x)
        tile = atomicAdd(l.number, 1);
    __syncthreads();
    if (!threadIdx.x) {
        int b = tile, sum = 0;
        l.own[b] = b + 1;
        __threadfence();
        *(volatile int *)&l.flag[b] = 1;
        for (int k = b - 1; k >= 0; --k) {
            int state;
            do
                state = *(volatile int *)&l.flag[k];
            while (!state);
            __threadfence();
            if (state == 2) {
                sum += l.total[k];
                break;
            }
            sum += l.own[k];
        }
        l.total[b] = sum + b + 1;
        __threadfence();
        *(volatile int *)&l.flag[b] = 2;
        before = sum;
    }
    __syncthreads();
    if (threadIdx.x < 2)
        out[2 * tile + threadIdx.x] = before;
}

__global__ void block_lock(int *lock, int *sum)
{
    while (atomicCAS(lock, 0, 1)) {
    }
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}

// Threads that are not there any more: before a barrier, before a vote, in a loop after a barrier.
__global__ void return_early(int *out, int n)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = 0;
    __syncthreads();
    if (t >= n) {
        s[t] = 1;
        return;
    }
    __syncthreads();
    int sum = s[63 - t];
    if (t % 32 == 7)
        return;
    for (int k = 0; k < 8; ++k) {
        if (__any_sync(0xffffffffu, t == 20 + k))
            ++sum;
        __syncthreads();
        if (t == 20 + k) {
            out[64] = k;
            return;
        }
    }
    out[t] = sum;
}

// The last barrier, and the last atomic, are the last thing that a function does.
__device__ __noinline__ void count_element(int *h, int t)
{
    atomicAdd(&h[t % 32], 1);
}
__device__ __noinline__ void meet(void)
{
    __syncthreads();
}
__global__ void tail(int *out)
{
    __shared__ int h[32];
    int t = threadIdx.x;
    if (t < 32)
        h[t] = 0;
    __syncthreads();
    count_element(h, t);
    meet();
    if (t < 32)
        out[t] = h[t];
    meet();
}

// One atomic for all lanes that want one.
__global__ void aggregate(int *count, int *place)
{
    int t = threadIdx.x;
    if (t % 3 == 0) {
        unsigned mask = __activemask(), lane = t % 32;
        int leader = __ffs((int)mask) - 1, base = 0;
        if ((int)lane == leader)
            base = atomicAdd(count, __popc(mask));
        base = __shfl_sync(mask, base, leader);
        place[base + __popc(mask & ((1u << lane) - 1))] = t;
    }
}

// Right in one order of blocks only, without a race.
__global__ void first_block(int *count, int *first)
{
    if (!threadIdx.x && !atomicAdd(count, 1))
        *first = blockIdx.x;
}

static void test_rotation(void)
{
    simt_config before = simt_get_config(), c = before;
    c.order = SIMT_ROTATE;
    simt_set_config(&c);
    int *two, host[2], zeros = 0;
    bool said = true;
    cudaMalloc(&two, sizeof host);
    for (int k = 0; k < 6; ++k) {
        cudaMemset(two, 0, sizeof host);
        cudaLaunchConfig_t config = {};
        config.gridDim = 100, config.blockDim = 32;
        cudaLaunchKernelEx(&config, first_block, two, two + 1);
        cudaMemcpy(host, two, sizeof host, cudaMemcpyDeviceToHost);
        zeros += host[1] == 0;
        const char *order = simt_last_order();
        said = said && (strstr(order, "reverse") ? host[1] == 99 : host[1] != 99);
    }
    cudaFree(two);
    simt_set_config(&before);
    tap_ok(zeros == 2 && said, "the launches of a program take three orders in turn");
    tap_diag("%s", simt_last_order());
}

static void test_patterns(void)
{
    enum { B = 64, T = 64 };
    int *data, *two;
    bool sums = true, looks = true, locks = true, early = true, aggregates = true, tails = true;
    for (int order = 0; order < 3; ++order)
        for (unsigned resident = 1; resident <= 4; resident += 3) {
            set((simt_order)order, resident, 7);
            cudaLaunchConfig_t c = {};
            c.gridDim = B, c.blockDim = T;
            int host[2 * B];
            cudaMalloc(&data, 8 * B * T * sizeof(int));
            cudaMalloc(&two, 2 * sizeof(int));
            cudaMemset(two, 0, 2 * sizeof(int));
            cudaLaunchKernelEx(&c, fence_then_barrier, data, two, two + 1);
            cudaMemcpy(host, two, 2 * sizeof(int), cudaMemcpyDeviceToHost);
            sums = !cudaGetLastError() && sums && host[1] == B * T;

            lookback l = {two, data, data + B, data + 2 * B};
            cudaMemset(two, 0, 2 * sizeof(int));
            cudaMemset(data, 0, B * sizeof(int));
            cudaLaunchKernelEx(&c, look_back, l, data + 4 * B);
            cudaMemcpy(host, data + 4 * B, sizeof host, cudaMemcpyDeviceToHost);
            looks = !cudaGetLastError() && looks;
            for (int b = 0; b < B; ++b)
                looks = looks && host[2 * b] == b * (b + 1) / 2;

            cudaMemset(two, 0, 2 * sizeof(int));
            cudaLaunchKernelEx(&c, block_lock, two, two + 1);
            cudaMemcpy(host, two, 2 * sizeof(int), cudaMemcpyDeviceToHost);
            locks = !cudaGetLastError() && locks && host[1] == B * T;

            c.gridDim = 1;
            cudaMemset(data, 0, 65 * sizeof(int));
            cudaLaunchKernelEx(&c, return_early, data, 50);
            early = !cudaGetLastError() && early;
            c.blockDim = 256;
            cudaLaunchKernelEx(&c, tail, data);
            tails = !cudaGetLastError() && tails;
            cudaMemset(two, 0, 2 * sizeof(int));
            cudaLaunchKernelEx(&c, aggregate, two, data);
            int place[256], seen = 0;
            cudaMemcpy(host, two, 2 * sizeof(int), cudaMemcpyDeviceToHost);
            cudaMemcpy(place, data, sizeof place, cudaMemcpyDeviceToHost);
            aggregates = !cudaGetLastError() && aggregates && host[0] == 86;
            for (int i = 0; i < host[0] && i < 86; ++i)
                seen += place[i] / 3;
            aggregates = aggregates && seen == 85 * 86 / 2;
            // Together, unless the order is shuffled
            if (order != SIMT_SHUFFLE) {
                simt_counts counts;
                simt_last_counts(&counts);
                aggregates = aggregates && counts.atomics_global == 8;
            }
            cudaFree(data);
            cudaFree(two);
        }
    tap_ok(early, "threads that returned are not waited for: clean");
    tap_ok(tails, "a barrier at the end of a function: clean");
    tap_ok(aggregates, "one atomic for the active lanes of a warp");
    tap_ok(sums, "every thread fences, a barrier, one atomic: clean");
    tap_ok(looks, "decoupled look-back: clean");
    tap_ok(locks, "a lock that every thread of every block takes: clean");
    set(SIMT_FORWARD, 1, 1);
}

// ---- counts -------------------------------------------------------------------------------------

__global__ void simple(float *in, float *out)
{
    unsigned t = threadIdx.x;
    for (unsigned s = 1; s <= blockDim.x; s *= 2) {
        if (t % s == 0)
            in[2 * t] += in[2 * t + s];
        __syncthreads();
    }
    if (!t)
        *out = in[0];
}

__global__ void convergent(float *in, float *out)
{
    unsigned t = threadIdx.x;
    for (unsigned s = blockDim.x; s; s /= 2) {
        if (t < s)
            in[t] += in[t + s];
        __syncthreads();
    }
    if (!t)
        *out = in[0];
}

__global__ void nothing(void)
{
}

static cudaError_t launch_nothing(void)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = 2, c.blockDim = 64;
    return cudaLaunchKernelEx(&c, nothing);
}

__device__ __noinline__ static int2 twice(int x)
{
    const int2 both = {x, x};
    return both;
}

enum shape {
    COALESCED,
    STRIDED,
    VECTOR,
    RETURNED,
    BROADCAST,
    BANKS_2,
    BANKS_32,
    BANKS_PADDED,
    BANKS_VECTOR,
    ATOMICS,
    ATOMICS_APART,
    ATOMICS_TWICE,
    ATOMICS_SHARED,
    ATOMICS_MIXED,
    UNEVEN,
    GUARDED
};

__global__ void shapes(shape s, int *data, int *out)
{
    __shared__ __align__(16) int tile[32 * 33];
    int t = threadIdx.x;
    switch (s) {
    case COALESCED:
        out[t] = data[t];
        break;
    case STRIDED:
        out[t] = data[32 * t];
        break;
    case VECTOR:
        ((int4 *)out)[t] = ((int4 *)data)[t];
        break;
    case RETURNED:
        ((int2 *)out)[t] = twice(data[t]);
        break;
    case BROADCAST:
        out[t] = data[0];
        break;
    case BANKS_2:
        tile[2 * t] = t;
        break;
    case BANKS_32:
        tile[32 * t] = t;
        break;
    case BANKS_PADDED:
        tile[33 * t] = t;
        break;
    case BANKS_VECTOR:
        ((int4 *)tile)[t] = make_int4(t, t, t, t);
        break;
    case ATOMICS:
        atomicAdd(&out[t / 4], 1);
        break;
    case ATOMICS_APART:
        atomicAdd(&out[8 * t], 1);
        break;
    case ATOMICS_TWICE:
        atomicAdd(&out[6 + t / 8], 1);
        atomicAdd(&out[7], 1);
        break;
    case ATOMICS_SHARED:
        tile[t] = 0;
        atomicAdd(&tile[t], 1);
        break;
    case ATOMICS_MIXED:
        tile[t] = 0;
        atomicAdd(t < 16 ? &tile[t] : &out[16 * (t / 8)], 1);
        break;
    case UNEVEN:
        for (int i = 0; i < (t == 5 ? 3 : 1); ++i)
            out[32 * blockIdx.x + t] = data[t] + 1;
        if (t == 5)
            atomicAdd(&out[1000], 1);
        tile[t] = t;
        break;
    case GUARDED:
        if (t < 8)
            out[t] = t;
        break;
    }
}

static simt_counts counts_of(shape s, int blocks = 1)
{
    int *data, *out;
    cudaMalloc(&data, 4096), cudaMalloc(&out, 4096);
    cudaMemset(data, 0, 4096), cudaMemset(out, 0, 4096);
    cudaLaunchConfig_t c = {};
    c.gridDim = blocks, c.blockDim = 32;
    cudaLaunchKernelEx(&c, shapes, s, data, out);
    simt_counts n;
    simt_last_counts(&n);
    cudaFree(data), cudaFree(out);
    return n;
}

// No barrier for so long that lanes must take turns; the odd lanes leave the loop first.
// g++ keeps a flag beside such an array, as its type has constructors. A GPU has none.
template <class T> __global__ void transpose(const T *in, T *out)
{
    __shared__ T tile[8][8];
    const unsigned int i = threadIdx.x / 8, j = threadIdx.x % 8;
    tile[i][j] = in[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = tile[j][i];
}

template <class T> static void test_transpose(const char *type)
{
    T x[64], y[3 * 64];
    for (int i = 0; i < 64; ++i)
        x[i] = (T)(float)i;
    T *in, *out;
    cudaMalloc(&in, sizeof x), cudaMalloc(&out, sizeof y);
    cudaMemcpy(in, x, sizeof x, cudaMemcpyHostToDevice);
    cudaLaunchConfig_t config = {};
    config.gridDim = 3, config.blockDim = 64;
    bool good = cudaLaunchKernelEx(&config, transpose<T>, (const T *)in, out) == cudaSuccess;
    simt_counts n;
    simt_last_counts(&n);
    cudaMemcpy(y, out, sizeof y, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 3 * 64; ++i)
        good = good && (float)y[i] == (float)(i % 8 * 8 + i % 64 / 8);
    tap_ok(good && n.shared_loads == 6 && n.shared_stores == 6,
           "a shared array of %s: no access but the kernel's (%llu loads, %llu stores)", type,
           n.shared_loads, n.shared_stores);
    cudaFree(in), cudaFree(out);
}

__global__ void long_loop(int *data, int n, int *out)
{
    int sum = 0, last = threadIdx.x % 2 ? n / 2 : n;
    for (int i = 0; i < last; ++i)
        sum += data[threadIdx.x + i % 8];
    out[threadIdx.x] = sum;
}

static void test_long_loop(void)
{
    enum { STEPS = 5000, T = 64 };
    int *data, *out;
    cudaMalloc(&data, 4 * (T + 8)), cudaMalloc(&out, 4 * T);
    cudaMemset(data, 1, 4 * (T + 8));
    cudaLaunchConfig_t c = {};
    c.gridDim = 1, c.blockDim = T;
    cudaLaunchKernelEx(&c, long_loop, data, (int)STEPS, out);
    simt_counts n;
    simt_last_counts(&n);
    tap_ok(n.global_loads == 2 * STEPS && n.global_accesses == T * STEPS * 3 / 4 + T,
           "a long loop: %llu loads", n.global_loads);
    cudaFree(data), cudaFree(out);
}

// Each warp loads n lines, the same `period` again and again.
__global__ void load_again(const int *data, int n, int period, int *out)
{
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum += data[i % period * 32 + threadIdx.x % 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void look_again(const volatile int *data, int n, int period, int *out)
{
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum += data[i % period * 32 + threadIdx.x % 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static void test_again(void)
{
    static const struct {
        int threads, blocks, n, period, is_volatile, k;
        unsigned sectors;
        const char *what;
    } cases[] = {{32, 1, 10, 1, 0, 0, 4 * 9, "at once"},
                 {32, 1, 24, 8, 0, 3, 4 * 16, "32 sectors ago"},
                 {32, 3, 24, 8, 0, 3, 3 * 4 * 16, "by each of three blocks"},
                 {32, 1, 512, 256, 0, 8, 4 * 256, "1024 ago"},
                 {64, 1, 8, 8, 0, 0, 4 * 8, "by the other warp"},
                 {32, 1, 24, 8, 1, 3, 0, "by volatile loads"}};
    int *data, *out;
    cudaMalloc(&data, 4 * 32 * 256), cudaMalloc(&out, 4 * 96);
    cudaMemset(data, 1, 4 * 32 * 256);
    for (auto &t : cases) {
        cudaLaunchConfig_t c = {};
        c.gridDim = t.blocks, c.blockDim = t.threads;
        if (t.is_volatile)
            cudaLaunchKernelEx(&c, look_again, data, t.n, t.period, out);
        else
            cudaLaunchKernelEx(&c, load_again, data, t.n, t.period, out);
        simt_counts n;
        simt_last_counts(&n);
        unsigned long long all = 0;
        for (unsigned long long again : n.global_again)
            all += again;
        tap_ok(all == t.sectors && n.global_again[t.k] == t.sectors,
               "sectors loaded again %s: %llu of %llu", t.what, n.global_again[t.k], all);
    }
    cudaFree(data), cudaFree(out);
}

static void test_counts(void)
{
    static const struct {
        unsigned n, simple, convergent;
    } golden[] = {{256, 141, 36}, {2048, 1149, 204}};
    for (auto &g : golden) {
        float *in, *out, ones[2048], sum[2];
        for (float &x : ones)
            x = 1;
        cudaMalloc(&in, sizeof ones), cudaMalloc(&out, sizeof(float));
        simt_counts n[2];
        for (int k = 0; k < 2; ++k) {
            cudaLaunchConfig_t c = {};
            c.gridDim = 1, c.blockDim = g.n / 2;
            cudaMemcpy(in, ones, g.n * sizeof(float), cudaMemcpyHostToDevice);
            cudaLaunchKernelEx(&c, k ? convergent : simple, in, out);
            simt_last_counts(&n[k]);
            cudaMemcpy(&sum[k], out, sizeof(float), cudaMemcpyDeviceToHost);
        }
        // Two more than the literature's: thread 0 reads the sum and writes the result.
        tap_ok(n[0].global_requests == g.simple + 2 && sum[0] == (float)g.n,
               "simple reduction of %u: %llu requests", g.n, n[0].global_requests);
        tap_ok(n[1].global_requests == g.convergent + 2 && sum[1] == (float)g.n,
               "convergent reduction of %u: %llu requests", g.n, n[1].global_requests);
        tap_ok(n[0].barriers == (unsigned)(g.n == 256 ? 8 : 11) && n[0].warps == g.n / 64,
               "barriers and warps of %u", g.n);
        cudaFree(in), cudaFree(out);
    }
    simt_counts n = counts_of(COALESCED);
    tap_ok(n.global_requests == 2 && n.global_sectors == 8 && n.global_bytes == 256 &&
               n.global_loads == 1 && n.global_stores == 1 && n.global_load_bytes == 128,
           "coalesced: one line, four sectors, each way");
    tap_ok(n.active_lanes == 64 && n.lane_slots == 64 && n.launches == 1 && n.threads == 32,
           "full efficiency");
    n = counts_of(STRIDED);
    tap_ok(n.global_load_requests == 32 && n.global_load_sectors == 32, "strided: 32 lines");
    n = counts_of(VECTOR);
    tap_ok(n.global_loads == 1 && n.global_load_requests == 4 && n.global_load_bytes == 512,
           "16-byte loads stay whole");
    n = counts_of(RETURNED);
    tap_ok(n.global_stores == 1 && n.global_bytes == 128 + 256,
           "what a function returns is stored where simt sees it");
    n = counts_of(BROADCAST);
    tap_ok(n.global_load_requests == 1 && n.global_load_sectors == 1 && n.global_load_bytes == 128,
           "broadcast");
    n = counts_of(BANKS_2);
    tap_ok(n.shared_wavefronts == 2 && n.shared_conflicts == 1, "two-way bank conflict");
    n = counts_of(BANKS_32);
    tap_ok(n.shared_wavefronts == 32 && n.shared_conflicts == 31, "32-way bank conflict");
    n = counts_of(BANKS_PADDED);
    tap_ok(n.shared_wavefronts == 1 && n.shared_conflicts == 0 && n.shared_stores == 1,
           "padding removes it");
    n = counts_of(BANKS_VECTOR);
    tap_ok(n.shared_wavefronts == 4 && n.shared_conflicts == 0,
           "16-byte shared store: 4 wavefronts, none needless");
    n = counts_of(ATOMICS);
    tap_ok(n.atomics_global == 32 && n.atomic_collisions == 24 &&
               n.atomic_collisions_global == 24 && n.global_requests == 0,
           "atomics and collisions");
    tap_ok(n.atomic_sectors == 1 && n.longest_thread == 1, "of eight words: a sector");
    n = counts_of(ATOMICS_APART);
    tap_ok(n.atomic_sectors == 32 && n.atomic_collisions == 0, "a sector each");
    n = counts_of(ATOMICS_TWICE);
    tap_ok(n.atomic_sectors == 3 && n.longest_thread == 2,
           "words 6 to 9 are of two sectors; and one of them again");
    n = counts_of(ATOMICS_SHARED);
    tap_ok(n.atomics_shared == 32 && n.atomic_sectors == 0 && n.longest_thread == 0 &&
               n.atomic_collisions_global == 0,
           "shared memory has no sectors");
    n = counts_of(ATOMICS_MIXED);
    tap_ok(n.atomics_global == 16 && n.atomic_sectors == 2, "only of the lanes that are global");
    n = counts_of(UNEVEN);
    tap_ok(n.longest_thread == 7 && n.longest_later == 0 && n.global_accesses == 68 &&
               n.shared_accesses == 32,
           "the longest thread: three loads, three stores, an atomic; and nothing shared");
    n = counts_of(UNEVEN, 30);
    tap_ok(n.longest_thread == 7 && n.global_accesses == 30 * 68 && n.atomic_sectors == 30 &&
               n.longest_later == 7,
           "each thread begins at none");
    simt_reset_counts();
    counts_of(ATOMICS_APART), counts_of(UNEVEN), counts_of(ATOMICS_TWICE);
    simt_total_counts(&n);
    tap_ok(n.launches == 3 && n.longest_thread == 7 && n.atomic_sectors == 32 + 1 + 3,
           "totals: all sectors, and the most of a thread");
    n = counts_of(GUARDED);
    tap_ok(n.active_lanes == 8 && n.lane_slots == 32, "a quarter of the lanes");

    simt_line rows[64];
    size_t count = simt_last_lines(rows, 64);
    size_t storing = 0, executed = 0;
    for (size_t i = 0; i < count; ++i) {
        storing += strstr(rows[i].file, "simt_test.cu") && rows[i].stores == 1 &&
                   rows[i].executions == 1 && rows[i].threads == 8;
        executed += rows[i].executions == 1 && rows[i].threads == 32;
    }
    tap_ok(storing == 1 && executed > 1, "counts by line: one stores, the others touch no memory");
}

// ---- what warps do, and the rest of the device API ----------------------------------------------

__global__ void warp_functions(int *bad)
{
    int lane = threadIdx.x;
    unsigned all = 0xffffffffu;
    int n = 0;
    n += __shfl_sync(all, lane, 5) != 5;
    n += __shfl_sync(all, lane, 5, 8) != (lane & ~7) + 5;
    n += __shfl_up_sync(all, lane, 3) != (lane < 3 ? lane : lane - 3);
    n += __shfl_down_sync(all, lane, 3, 16) != (lane % 16 < 13 ? lane + 3 : lane);
    n += __shfl_xor_sync(all, (double)lane, 9) != (double)(lane ^ 9);
    n += __ballot_sync(all, lane & 1) != 0xaaaaaaaau;
    n += !__all_sync(all, 1) || __all_sync(all, lane) || !__any_sync(all, lane == 7);
    n += __match_any_sync(all, lane / 8) != 0xffu << (lane & ~7);
    int same;
    n += __match_all_sync(all, 3, &same) != all || !same;
    n += __match_all_sync(all, lane, &same) != 0 || same;
    n += __reduce_add_sync(all, lane) != 496;
    n += __reduce_min_sync(all, lane - 4) != -4;
    n += __reduce_max_sync(all, (unsigned)lane) != 31u;
    n += __reduce_xor_sync(all, 1u << lane) != all;
    n += !(__activemask() >> lane & 1);
    if (lane < 16)
        n += __shfl_xor_sync(0xffffu, lane, 1) != (lane ^ 1);
    n += __syncthreads_count(lane < 10) != 10;
    n += __syncthreads_and(lane < 31) != 0 || __syncthreads_or(lane == 31) == 0;
    atomicAdd(bad, n);
}

__global__ void intrinsics(int *bad)
{
    int n = 0;
    n += __popc(0xf0f0u) != 8 || __popcll(~0ull) != 64 || __clz(1) != 31 || __clz(0) != 32 ||
         __ffs(8) != 4;
    n += __brev(1u) != 0x80000000u || __brev(0x12345678u) != 0x1e6a2c48u ||
         __brevll(1ull) != 1ull << 63;
    n += __funnelshift_l(0x80000000u, 1u, 1) != 3u || __funnelshift_r(1u, 3u, 1) != 0x80000000u;
    n += __byte_perm(0x33221100u, 0x77665544u, 0x7531) != 0x77553311u;
    n += __umulhi(0x80000000u, 4u) != 2u || __mulhi(-1, 1) != -1 || __umul64hi(1ull << 63, 4) != 2;
    n += __float_as_int(1.0f) != 0x3f800000 || __int_as_float(0x40000000) != 2.0f;
    n += __float2int_rn(2.5f) != 2 || __float2int_rz(-2.9f) != -2 || __float2int_rd(-2.1f) != -3;
    n +=
        __float2int_rn(1e30f) != INT_MAX || __float2int_rn(NAN) != 0 || __float2uint_rn(-3.f) != 0u;
    n += min(3, 4u) != 3u || max(2.0f, 3.0f) != 3.0f || rsqrtf(4.0f) != 0.5f;
    n += __hiloint2double(__double2hiint(3.5), __double2loint(3.5)) != 3.5;
    n += constant_table[2] != 3;
    *bad += n;
}

__global__ void atomics(unsigned *u, long long *l, float *f, double *d, unsigned short *h,
                        int *signed_)
{
    atomicAdd(&u[0], 2u), atomicSub(&u[1], 1u), atomicMin(&u[2], threadIdx.x),
        atomicMax(&u[3], threadIdx.x);
    atomicInc(&u[4], 9), atomicDec(&u[5], 9), atomicOr(&u[6], 1u << threadIdx.x),
        atomicAnd(&u[7], ~(1u << threadIdx.x));
    atomicXor(&u[8], 1u << threadIdx.x), atomicExch(&u[9], 5u), atomicCAS(&u[10], 0u, 7u);
    atomicMin(&l[0], -(long long)threadIdx.x), atomicAdd((unsigned long long *)&l[1], 1ull << 33);
    atomicAdd(f, 0.5f), atomicAdd(d, 0.25), atomicCAS(h, (unsigned short)0, (unsigned short)65535);
    atomicMin(signed_, -(int)threadIdx.x), atomicAdd_block(&device_counter, 1);
}

__global__ void indices(int *bad, dim3 block, dim3 grid)
{
    int id = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int wrong = blockDim.x != block.x || blockDim.y != block.y || blockDim.z != block.z ||
                gridDim.x != grid.x || gridDim.y != grid.y || gridDim.z != grid.z ||
                blockIdx.x >= grid.x || blockIdx.y >= grid.y || blockIdx.z >= grid.z ||
                id >= (int)(block.x * block.y * block.z) || warpSize != 32;
    atomicAdd(&bad[0], wrong);
    atomicAdd(&bad[1], id + 1000 * (int)(blockIdx.x + grid.x * (blockIdx.y + grid.y * blockIdx.z)));
}

__global__ void conversions(long n, float x, int *out)
{
    *out = n == 3 && x == 2.0f;
}

template <bool fixed> __global__ void pipelined(const int *in, int *out)
{
    __shared__ __align__(16) int stage[2][4 * 32];
    int t = threadIdx.x;
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&stage[k][4 * t], in + 128 * k + 4 * t, 16);
        __pipeline_commit();
    }
    for (int k = 0; k < 2; ++k) {
        if (fixed)
            __pipeline_wait_prior(1 - k);
        __syncthreads();
        for (int i = 0; i < 4; ++i)
            out[128 * k + 32 * i + t] = stage[k][32 * i + t];
    }
}

static void test_pipeline(void)
{
    int *in, *out, host[N], back[N];
    for (int i = 0; i < N; ++i)
        host[i] = i + 1;
    cudaMalloc(&in, sizeof host), cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaLaunchConfig_t c = {};
    c.gridDim = 1, c.blockDim = 32;
    cudaLaunchKernelEx(&c, pipelined<true>, in, out);
    cudaMemcpy(back, out, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(!cudaGetLastError() && !memcmp(back, host, sizeof host),
           "asynchronous copies arrive at the wait");
    simt_print_reports(0);
    cudaLaunchKernelEx(&c, pipelined<false>, in, out);
    simt_print_reports(1);
    cudaMemcpy(back, out, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(cudaGetLastError() || memcmp(back, host, sizeof host), "and not before");
    cudaFree(in), cudaFree(out);
}

// In a process of its own, for it dies.
static void test_host_access(void)
{
    int *p;
    cudaMalloc(&p, 4);
    cudaMemset(p, 0, 4);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        _exit(*(volatile int *)p);
    }
    int status = 0;
    tap_ok(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
               WTERMSIG(status) == SIGABRT,
           "host code that reads device memory is stopped");
    cudaFree(p);
}

// Needs no instrumentation: the hardware tells.
__global__ void wild(int **p)
{
    **p = 1;
}
__global__ void divide(int *p)
{
    p[1] = p[1] / p[0];
}
__device__ __noinline__ int deep(int n, volatile int *p)
{
    volatile int room[64];
    room[n % 64] = *p;
    return n ? deep(n - 1, p) + room[n % 64] : 0;
}
__global__ void too_deep(int *p)
{
    *p = deep(10000, p);
}

static void test_hardware(void)
{
    int **p;
    cudaMalloc(&p, 64);
    cudaMemset(p, 0, 64);
    simt_print_reports(0);
    cudaLaunchConfig_t c = {};
    c.gridDim = 2, c.blockDim = 32;
    cudaError_t null = cudaLaunchKernelEx(&c, wild, p);
    cudaError_t division = cudaLaunchKernelEx(&c, divide, (int *)p);
    c.blockDim = 1;
    cudaError_t stack = cudaLaunchKernelEx(&c, too_deep, (int *)p);
    bool says = strstr(simt_last_report()->text, "stack");
    simt_print_reports(1);
    cudaGetLastError();
    tap_ok(null == cudaErrorIllegalAddress && division == cudaErrorIllegalInstruction &&
               stack == cudaErrorIllegalAddress && says,
           "a wild pointer, a division by zero, a stack too deep");
    tap_ok(launch_nothing() == cudaSuccess, "and the device goes on");
    cudaFree(p);
}

static void test_device_api(void)
{
    int *bad, host[2];
    cudaMalloc(&bad, sizeof host);
    cudaMemset(bad, 0, sizeof host);
    cudaLaunchConfig_t c = {};
    c.gridDim = 2, c.blockDim = 32;
    cudaLaunchKernelEx(&c, warp_functions, bad);
    cudaMemcpy(host, bad, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(!cudaGetLastError() && !host[0],
           "shuffles, votes, matches, reductions, counting barriers (%d wrong)", host[0]);

    c.gridDim = 1, c.blockDim = 1;
    cudaMemset(bad, 0, sizeof host);
    cudaLaunchKernelEx(&c, intrinsics, bad);
    cudaMemcpy(host, bad, sizeof host, cudaMemcpyDeviceToHost);
    tap_ok(!cudaGetLastError() && !host[0], "integer and floating-point intrinsics (%d wrong)",
           host[0]);

    void *memory;
    unsigned u[11];
    cudaMalloc(&memory, 256);
    cudaMemset(memory, 0, 256);
    unsigned start[11] = {0, 32, 100, 0, 0, 0, 0, ~0u, 0, 0, 0};
    cudaMemcpy(memory, start, sizeof start, cudaMemcpyHostToDevice);
    char *at = (char *)memory;
    c.blockDim = 32;
    cudaLaunchKernelEx(&c, atomics, (unsigned *)at, (long long *)(at + 64), (float *)(at + 80),
                       (double *)(at + 88), (unsigned short *)(at + 96), (int *)(at + 100));
    cudaMemcpy(u, memory, sizeof u, cudaMemcpyDeviceToHost);
    long long l[2];
    float f;
    double d;
    unsigned short h;
    int s, counter;
    cudaMemcpy(l, at + 64, 16, cudaMemcpyDeviceToHost),
        cudaMemcpy(&f, at + 80, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&d, at + 88, 8, cudaMemcpyDeviceToHost),
        cudaMemcpy(&h, at + 96, 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(&s, at + 100, 4, cudaMemcpyDeviceToHost),
        cudaMemcpyFromSymbol(&counter, device_counter, 4);
    tap_ok(!cudaGetLastError() && u[0] == 64 && u[1] == 0 && u[2] == 0 && u[3] == 31 && u[4] == 2 &&
               u[5] == 8 && u[6] == ~0u && u[7] == 0 && u[8] == ~0u && u[9] == 5 && u[10] == 7 &&
               l[0] == -31 && l[1] == 32ll << 33 && f == 16 && d == 8 && h == 65535 && s == -31 &&
               counter == 32,
           "atomics of every kind");
    cudaFree(memory);

    bool good = true;
    static const dim3 blocks[] = {{16, 2, 1}, {7, 4, 3}, {1, 1, 64}, {1024, 1, 1}},
                      grids[] = {{3, 1, 1}, {2, 3, 4}};
    for (dim3 b : blocks)
        for (dim3 g : grids) {
            cudaMemset(bad, 0, sizeof host);
            c.blockDim = b, c.gridDim = g;
            cudaLaunchKernelEx(&c, indices, bad, b, g);
            cudaMemcpy(host, bad, sizeof host, cudaMemcpyDeviceToHost);
            int threads = b.x * b.y * b.z, count = g.x * g.y * g.z;
            int sum =
                count * (threads * (threads - 1) / 2) + 1000 * threads * (count * (count - 1) / 2);
            good = !cudaGetLastError() && good && !host[0] && host[1] == sum;
        }
    tap_ok(good, "indices of one, two and three dimensions");

    c.gridDim = 1, c.blockDim = 1;
    int small = 3;
    cudaLaunchKernelEx(&c, conversions, small, 2.0, bad);
    cudaMemcpy(host, bad, 4, cudaMemcpyDeviceToHost);
    bool first = host[0] == 1;
    long n = 3;
    float x = 2;
    void *pointers[] = {&n, &x, &bad};
    cudaMemset(bad, 0, 4);
    cudaLaunchKernel(conversions, dim3(1), dim3(1), pointers, 0, 0);
    cudaMemcpy(host, bad, 4, cudaMemcpyDeviceToHost);
    tap_ok(first && host[0] == 1, "arguments are converted, and passed by address");
    cudaFree(bad);
}

// ---- the runtime API ----------------------------------------------------------------------------

template <int> __global__ void wants_shared(void)
{
}

static cudaError_t launch_shape(dim3 grid, dim3 block, size_t bytes)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = grid, c.blockDim = block, c.dynamicSmemBytes = bytes;
    cudaError_t e = cudaLaunchKernelEx(&c, wants_shared<0>);
    return cudaGetLastError() == e ? e : cudaErrorUnknown;
}

static void test_runtime(void)
{
    simt_print_reports(0); // the errors are on purpose
    tap_ok(launch_shape(1, 1025, 0) == cudaErrorInvalidConfiguration &&
               launch_shape(1, 0, 0) == cudaErrorInvalidConfiguration &&
               launch_shape(0, 1, 0) == cudaErrorInvalidConfiguration &&
               launch_shape(dim3(1, 65536), 1, 0) == cudaErrorInvalidConfiguration &&
               launch_shape(1, dim3(1, 1, 65), 0) == cudaErrorInvalidConfiguration &&
               launch_shape(1, dim3(32, 33), 0) == cudaErrorInvalidConfiguration,
           "launches out of range are refused");
    tap_ok(launch_shape(1, 1, 49153) == cudaErrorInvalidValue,
           "48 KiB of dynamic shared memory unasked, no more");
    cudaFuncSetAttribute(wants_shared<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024);
    tap_ok(launch_shape(1, 1, 227 * 1024) == cudaSuccess, "227 KiB when asked");
    cudaGetLastError();

    int x = 0, *p = &x, *q = NULL;
    tap_ok(cudaMalloc(&p, 0) == cudaSuccess && !p, "cudaMalloc of nothing is null");
    tap_ok(cudaMalloc(&p, (size_t)1 << 60) == cudaErrorMemoryAllocation && !p,
           "cudaMalloc of too much");
    tap_ok(cudaFree(NULL) == cudaSuccess && cudaFree(&x) == cudaErrorInvalidValue,
           "cudaFree of null and of a stranger");
    cudaMalloc(&p, 16);
    tap_ok(cudaMemcpy(p, &x, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue &&
               cudaMemcpy(p, p, 32, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue &&
               cudaMemset(p, 0, 17) == cudaErrorInvalidValue,
           "copies out of range are refused");
    cudaFree(p);
    tap_ok(cudaFree(p) == cudaErrorInvalidValue && cudaMemset(p, 0, 4) == cudaErrorInvalidValue,
           "double free, use of freed");
    cudaGetLastError();
    simt_print_reports(1);
    tap_ok(cudaMallocHost(&q, 64) == cudaSuccess && (q[3] = 5) && cudaFreeHost(q) == cudaSuccess,
           "pinned host memory");

    cudaDeviceProp prop;
    int value = 0, count = 0;
    tap_ok(!cudaGetDeviceProperties(&prop, 0) && prop.warpSize == 32 &&
               !cudaGetDeviceCount(&count) && count == 1 &&
               !cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) &&
               value == prop.multiProcessorCount && cudaSetDevice(1) == cudaErrorInvalidDevice,
           "device properties");
    cudaGetLastError();
    tap_ok(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"),
           "error names");

    cudaStream_t stream;
    cudaEvent_t a, b;
    float ms = -1;
    cudaStreamCreate(&stream), cudaEventCreate(&a), cudaEventCreate(&b);
    cudaEventRecord(a, stream), cudaEventRecord(b, stream), cudaEventSynchronize(b);
    tap_ok(!cudaEventElapsedTime(&ms, a, b) && ms >= 0 && !cudaStreamSynchronize(stream),
           "streams and events");
    cudaEventDestroy(a), cudaEventDestroy(b), cudaStreamDestroy(stream);

    simt_config c = simt_get_config(), wrong = c;
    wrong.resident = 17;
    fflush(stderr);
    tap_ok(simt_set_config(&wrong) == -1 && simt_get_config().resident == c.resident,
           "a setting out of range is refused");
}

// ---- orders of blocks ---------------------------------------------------------------------------

__global__ void arrival(int *next, int *order)
{
    if (!threadIdx.x)
        order[atomicAdd(next, 1)] = blockIdx.x;
}

static void test_orders(void)
{
    enum { B = 37 };
    int *memory, host[3][B];
    cudaMalloc(&memory, (B + 1) * sizeof(int));
    for (int order = 0; order < 3; ++order) {
        set((simt_order)order, 1, 42);
        cudaMemset(memory, 0, (B + 1) * sizeof(int));
        cudaLaunchConfig_t c = {};
        c.gridDim = B, c.blockDim = 32;
        cudaLaunchKernelEx(&c, arrival, memory, memory + 1);
        cudaMemcpy(host[order], memory + 1, sizeof host[order], cudaMemcpyDeviceToHost);
    }
    bool forward = true, reverse = true, seen[B] = {}, moved = false;
    for (int i = 0; i < B; ++i) {
        forward = forward && host[0][i] == i;
        reverse = reverse && host[1][i] == B - 1 - i;
        seen[host[2][i]] = true;
        moved = moved || (host[2][i] != i && host[2][i] != B - 1 - i);
    }
    bool permutation = true;
    for (bool s : seen)
        permutation = permutation && s;
    tap_ok(forward, "blocks forward");
    tap_ok(reverse, "blocks in reverse");
    tap_ok(permutation && moved, "blocks shuffled, each once");
    cudaFree(memory);
    set(SIMT_FORWARD, 1, 1);
}

// ---- speed: shown, not judged -------------------------------------------------------------------

__global__ void barriers(int n)
{
    for (int i = 0; i < n; ++i)
        __syncthreads();
}

static double now(void)
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_speed(void)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = 4096, c.blockDim = 256;
    double start = now();
    cudaLaunchKernelEx(&c, nothing);
    tap_diag("%.0f million threads a second", 4096 * 256 / (now() - start) / 1e6);
    c.gridDim = 64;
    start = now();
    cudaLaunchKernelEx(&c, barriers, 100);
    tap_diag("%.0f ns a thread and barrier", (now() - start) / (64. * 256 * 100) * 1e9);
}

int main()
{
    launch_nothing();
    if (simt_traced()) {
        test_faults();
        test_patterns();
        test_rotation();
        test_counts();
        test_long_loop();
        test_again();
        test_transpose<__half>("__half");
        test_transpose<__nv_bfloat16>("__nv_bfloat16");
        test_host_access();
    } else {
        tap_skip("faults and counts: not compiled with the CPU device's flags (docs/simt.md)");
    }
    test_device_api();
    test_pipeline();
    test_hardware();
    test_runtime();
    test_orders();
    show_speed();
    return tap_done();
}

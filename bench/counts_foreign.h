// SPDX-License-Identifier: MIT
//
// The kernels of counts_foreign.cu and of tests/simt/foreign_test.cu, and their input.

enum { BLOCKS = 4, THREADS = 128, N = BLOCKS * THREADS, ROOM = 64 * N };

struct p3 {
    float x, y, z;
};
struct p4 {
    float x, y, z, w;
};
struct __align__(16) a4
{
    float x, y, z, w;
};

typedef struct {
    float *in, *out; // ROOM each
    int *index;      // ROOM: a permutation of 0 .. ROOM - 1
    int *row;        // N + 1: row t has 1 + t % 13 elements
} arrays;

#define SELF ((int)(blockIdx.x * blockDim.x + threadIdx.x))

// ---- branches and loops -------------------------------------------------------------------------

__global__ void alternate(arrays a)
{
    int t = SELF;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < 8; ++k)
        if ((t + k) & 1)
            s += a.in[k * N + t];
    a.out[t] = s;
}

__global__ void triangle(arrays a)
{
    int t = SELF;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k <= t % 32; ++k)
        s += a.in[k * N + t];
    a.out[t] = s;
}

__global__ void collatz(arrays a)
{
    int t = SELF, steps = 0;
    unsigned n = t + 1;
#pragma unroll 1
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        ++steps;
        a.out[steps * N + t] = n;
        if (steps == 60)
            break;
    }
    a.out[t] = steps;
}

__global__ void early_break(arrays a)
{
    int t = SELF;
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
        float v = a.in[k * N + t];
        if (v > t % 32 * 4) {
            a.out[t] = v * k;
            break;
        }
        a.out[N + t] = v;
    }
}

__global__ void continued(arrays a)
{
    int t = SELF;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < 16; ++k) {
        s += a.in[k * N + t];
        if (a.index[k * N + t] % 3 == 0)
            continue;
        s *= a.in[(k + 16) * N + t];
    }
    a.out[t] = s;
}

__global__ void nested(arrays a)
{
    int t = SELF;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
#pragma unroll 1
        for (int j = 0; j <= (t & k); ++j)
            s += a.in[(k * 4 + j) * N + t];
        a.out[k * N + t] = s;
    }
}

__global__ void switched(arrays a)
{
    int t = SELF;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < 8; ++k) {
        switch ((t >> k) & 3) {
        case 0:
            s += a.in[k * N + t];
            break;
        case 1:
            s *= a.in[k * N + t + N / 2];
            break;
        case 2:
            a.out[(k + 1) * N + t] = s;
            // fall through
        default:
            s += a.in[(k + 8) * N + (t ^ 1)];
        }
    }
    a.out[t] = s;
}

__global__ void voted(arrays a)
{
    int t = SELF, k = 0;
    float s = 0;
#pragma unroll 1
    while (__any_sync(0xffffffff, k < t % 7)) {
        if (k < t % 7)
            s += a.in[k * N + t];
        ++k;
    }
    a.out[t] = s;
}

static __device__ __noinline__ float apart(const float *in, int i)
{
    return i % 3 ? in[i] * 2 : in[i + N];
}
static __device__ __forceinline__ float within(const float *in, int i)
{
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < i % 5; ++k)
        s += in[k * N + i];
    return s;
}
__global__ void functions(arrays a)
{
    int t = SELF;
    float s = within(a.in, t);
    if (t & 4)
        s += apart(a.in, t);
    else
        s -= apart(a.in, t + 1);
    a.out[t] = s + within(a.in, t + 1);
}

// ---- structures ---------------------------------------------------------------------------------

__global__ void structs_of_4(arrays a)
{
    const p4 v = ((const p4 *)a.in)[SELF];
    a.out[SELF] = v.x + v.y * v.z + v.w;
}

__global__ void structs_of_3(arrays a)
{
    const p3 v = ((const p3 *)a.in)[SELF];
    a.out[SELF] = v.x + v.y * v.z;
}

__global__ void arrays_of_4(arrays a)
{
    int t = SELF;
    a.out[t] = a.in[t] + a.in[N + t] * a.in[2 * N + t] + a.in[3 * N + t];
}

__global__ void unused_fields(arrays a)
{
    const p4 v = ((const p4 *)a.in)[SELF];
    a.out[SELF] = v.x + v.z;
}

__global__ void copied_structs(arrays a)
{
    ((p4 *)a.out)[SELF] = ((const p4 *)a.in)[SELF];
    ((p3 *)a.out)[2 * N + SELF] = ((const p3 *)a.in)[2 * N + SELF];
}

__global__ void vectors(arrays a)
{
    float4 v = ((const float4 *)a.in)[SELF];
    float2 w = ((const float2 *)a.in)[SELF];
    v.x += v.y + v.z + v.w + w.x + w.y;
    ((float4 *)a.out)[SELF] = v;
}

__global__ void aligned_structs(arrays a)
{
    a4 v = ((const a4 *)a.in)[SELF];
    v.x += v.y + v.z + v.w;
    ((a4 *)a.out)[SELF] = v;
}

// ---- patterns of memory -------------------------------------------------------------------------

template <int PITCH> static __device__ void transposed(arrays a)
{
    __shared__ float tile[32][PITCH];
    int x = threadIdx.x % 32, y = threadIdx.x / 32;
#pragma unroll 1
    for (int j = y; j < 32; j += 4)
        tile[j][x] = a.in[(blockIdx.x * 32 + j) * 32 + x];
    __syncthreads();
#pragma unroll 1
    for (int j = y; j < 32; j += 4)
        a.out[(blockIdx.x * 32 + j) * 32 + x] = tile[x][j];
}
__global__ void transpose(arrays a)
{
    transposed<32>(a);
}
__global__ void transpose_padded(arrays a)
{
    transposed<33>(a);
}

__global__ void gather(arrays a)
{
    int t = SELF;
    a.out[t] = a.in[a.index[t]];
}

__global__ void scatter(arrays a)
{
    int t = SELF;
    a.out[a.index[t]] = a.in[t];
}

__global__ void sparse(arrays a)
{
    int t = SELF;
    float s = 0;
#pragma unroll 1
    for (int k = a.row[t]; k < a.row[t + 1]; ++k)
        s += a.in[k] * a.in[a.index[k]];
    a.out[t] = s;
}

__global__ void histogram(arrays a)
{
    __shared__ int bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 8; ++k)
        atomicAdd(&bins[a.index[k * N + SELF] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd((int *)a.out + threadIdx.x, bins[threadIdx.x]);
}

__global__ void stencil(arrays a)
{
    __shared__ float s[THREADS + 2];
    int t = SELF, i = threadIdx.x + 1;
    s[i] = a.in[t];
    if (threadIdx.x == 0)
        s[0] = t > 0 ? a.in[t - 1] : 0;
    if (threadIdx.x == THREADS - 1)
        s[i + 1] = t < N - 1 ? a.in[t + 1] : 0;
    __syncthreads();
    a.out[t] = s[i - 1] + s[i] + s[i + 1];
}

// ---- wide accesses of shared memory: lane i reads word f(i) of 8 or 16 bytes ---------------------

template <typename T> static __device__ __forceinline__ void wide(arrays a, int word)
{
    __shared__ T s[256];
#pragma unroll 1
    for (int k = threadIdx.x; k < (int)sizeof s / 4; k += THREADS)
        ((float *)s)[k] = a.in[k];
    __syncthreads();
    ((T *)a.out)[SELF] = s[word];
}

#define WIDE(name, type, f)                                                                        \
    __global__ void name(arrays a)                                                                 \
    {                                                                                              \
        const int i = threadIdx.x % 32;                                                            \
        wide<type>(a, f);                                                                          \
    }
#define WIDES(V)                                                                                   \
    V(wide8_one, float2, i * 0)                                                                    \
    V(wide8_own, float2, i)                                                                        \
    V(wide8_two, float2, i & 1)                                                                    \
    V(wide8_halves, float2, i / 16)                                                                \
    V(wide8_far_halves, float2, i / 16 * 16)                                                       \
    V(wide8_pairs, float2, i / 2)                                                                  \
    V(wide8_mod16, float2, i % 16)                                                                 \
    V(wide8_stride2, float2, i * 2)                                                                \
    V(wide8_stride4, float2, i * 4)                                                                \
    V(wide8_pair_stride, float2, i / 2 * 16)                                                       \
    V(wide8_mod8_stride, float2, i % 8 * 16)                                                       \
    V(wide16_one, float4, i * 0)                                                                   \
    V(wide16_own, float4, i)                                                                       \
    V(wide16_two, float4, i & 1)                                                                   \
    V(wide16_halves, float4, i / 16)                                                               \
    V(wide16_far_halves, float4, i / 16 * 8)                                                       \
    V(wide16_quarters, float4, i / 8)                                                              \
    V(wide16_far_quarters, float4, i / 8 * 8)                                                      \
    V(wide16_pairs, float4, i / 2)                                                                 \
    V(wide16_mod8, float4, i % 8)                                                                  \
    V(wide16_mod16, float4, i % 16)                                                                \
    V(wide16_mod4, float4, i % 4)                                                                  \
    V(wide16_stride2, float4, i * 2)                                                               \
    V(wide16_pair_stride, float4, i / 2 * 8)                                                       \
    V(wide16_mod4_stride, float4, i % 4 * 8)                                                       \
    V(wide16_mod2_stride, float4, i % 2 * 8)                                                       \
    V(wide8_half_pairs, float2, i < 16 ? i / 2 : i)                                                \
    V(wide16_half_pairs, float4, i < 16 ? i / 2 : i)
WIDES(WIDE)

// Every other lane; and stores.
template <typename T> static __device__ __forceinline__ void wide_some(arrays a, int word)
{
    __shared__ T s[256];
    const T v = ((const T *)a.in)[SELF];
    s[word] = v;
    __syncthreads();
    if (threadIdx.x & 1)
        ((T *)a.out)[SELF] = s[threadIdx.x / 4];
}
__global__ void wide8_some(arrays a)
{
    wide_some<float2>(a, threadIdx.x);
}
__global__ void wide16_some(arrays a)
{
    wide_some<float4>(a, threadIdx.x);
}

// clang-format off
#define KERNELS(K) \
    K(alternate) K(triangle) K(collatz) K(early_break) K(continued) K(nested) K(switched) \
    K(voted) K(functions) K(structs_of_4) K(structs_of_3) K(arrays_of_4) K(unused_fields) \
    K(copied_structs) K(vectors) K(aligned_structs) K(transpose) K(transpose_padded) K(gather) \
    K(scatter) K(sparse) K(histogram) K(stencil) K(wide8_one) K(wide8_own) K(wide8_two) \
    K(wide8_halves) K(wide8_far_halves) K(wide8_pairs) K(wide8_mod16) K(wide8_stride2) \
    K(wide8_stride4) K(wide8_pair_stride) K(wide8_mod8_stride) K(wide16_one) K(wide16_own) \
    K(wide16_two) K(wide16_halves) K(wide16_far_halves) K(wide16_quarters) \
    K(wide16_far_quarters) K(wide16_pairs) K(wide16_mod8) K(wide16_mod16) K(wide16_mod4) \
    K(wide16_stride2) K(wide16_pair_stride) K(wide16_mod4_stride) K(wide16_mod2_stride) \
    K(wide8_half_pairs) K(wide16_half_pairs) K(wide8_some) K(wide16_some)
// clang-format on

static cudaError_t make_arrays(arrays *a)
{
    static float in[ROOM];
    static int index[ROOM], row[N + 1];
    unsigned random = 1;
    for (int i = 0; i < ROOM; ++i) {
        in[i] = (float)(i / N * 4 % 128);
        index[i] = i;
    }
    for (int i = ROOM - 1; i > 0; --i) {
        random = random * 1664525u + 1013904223u;
        const int j = (int)((random >> 8) % (unsigned)(i + 1)), k = index[i];
        index[i] = index[j], index[j] = k;
    }
    for (int t = 0; t < N; ++t)
        row[t + 1] = row[t] + 1 + t % 13;
    void *p[4];
    const void *from[4] = {in, in, index, row};
    const size_t bytes[4] = {sizeof in, sizeof in, sizeof index, sizeof row};
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < 4 && !status; ++i) {
        status = cudaMalloc(&p[i], bytes[i]);
        if (!status)
            status = cudaMemcpy(p[i], from[i], bytes[i], cudaMemcpyHostToDevice);
    }
    *a = {(float *)p[0], (float *)p[1], (int *)p[2], (int *)p[3]};
    return status;
}

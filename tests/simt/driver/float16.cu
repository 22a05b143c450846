// SPDX-License-Identifier: MIT
// __half and __nv_bfloat16: writes what each function makes of the numbers in a file, for
// test_driver.py to compare, and checks what kernels do with them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdio.h>

#include <vector>

#ifdef SIMT
#include <simt.h>
#endif

__host__ __device__ unsigned short bits(__half h)
{
    return __half_as_ushort(h);
}
__host__ __device__ unsigned short bits(__nv_bfloat16 h)
{
    return __bfloat16_as_ushort(h);
}
void make(__half *to, unsigned short b)
{
    *to = __ushort_as_half(b);
}
void make(__nv_bfloat16 *to, unsigned short b)
{
    *to = __ushort_as_bfloat16(b);
}
void round_to(__half to[6], float x)
{
    to[0] = __float2half(x), to[1] = __float2half_rz(x), to[2] = __float2half_ru(x);
    to[3] = __float2half_rd(x), to[4] = __double2half(x),
    to[5] = __ll2half_rn((long long)(x * 1e6f));
}
void round_to(__nv_bfloat16 to[6], float x)
{
    to[0] = __float2bfloat16(x), to[1] = __float2bfloat16_rz(x), to[2] = __float2bfloat16_ru(x);
    to[3] = __float2bfloat16_rd(x), to[4] = __double2bfloat16(x);
    to[5] = __ll2bfloat16_rn((long long)(x * 1e6f));
}

template <class T> void host(const std::vector<float> &numbers, FILE *out)
{
    for (unsigned i = 0; i < 65536; ++i) { // all there are
        T t;
        make(&t, (unsigned short)i);
        const float wide = t, root = hsqrt(t);
        const int back = bits(T(wide)), whole = (int)t;
        fwrite(&wide, 4, 1, out), fwrite(&back, 4, 1, out), fwrite(&root, 4, 1, out);
        fwrite(&whole, 4, 1, out);
    }
    for (float x : numbers) {
        T to[6];
        round_to(to, x);
        fwrite(to, 2, 6, out);
    }
    for (size_t i = 0; i + 2 < numbers.size(); ++i) {
        const T a = numbers[i], b = numbers[i + 1], c = numbers[i + 2];
        T r[] = {a + b, a - b, a * b, a / b, __hfma(a, b, c), __hmax(a, b), __hmin_nan(a, b),
                 a,     b,     c};
        r[0] -= b, r[0] += b, ++r[0], r[0]--, r[0] = a + b;
        const unsigned short less =
            (unsigned short)((a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 |
                             __hltu(a, b) << 4 | __hne(a, b) << 5);
        fwrite(r, 2, 10, out), fwrite(&less, 2, 1, out);
    }
}

template <class T, class T2>
__global__ void kernel(const T *in, const T2 *pairs, T *sums, T2 *pair_sum, T *out)
{
    const int i = (int)threadIdx.x;
    T sum = in[i];
    for (int d = 16; d; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    const T2 pair = pairs[i], next = __shfl_xor_sync(0xffffffffu, pair, 1);
    if (i == 0)
        sums[0] = sum;
    atomicAdd(sums + 1, in[i]);
    atomicAdd(pair_sum, pair);
    out[i] = __hfma(next.x, T(2.0f), pair.y);
}

template <class T, class T2> int device()
{
    T in[32], sums[2] = {T(0.0f), T(0.0f)}, out[32];
    T2 pairs[32], pair_sum = T2(T(0.0f), T(0.0f));
    for (int i = 0; i < 32; ++i)
        in[i] = T(i % 4), pairs[i] = T2(T(i % 8), T(1));
    T *d_in, *d_sums, *d_out;
    T2 *d_pairs, *d_pair_sum;
    cudaMalloc(&d_in, sizeof in), cudaMalloc(&d_sums, sizeof sums), cudaMalloc(&d_out, sizeof out);
    cudaMalloc(&d_pairs, sizeof pairs), cudaMalloc(&d_pair_sum, sizeof pair_sum);
    cudaMemcpy(d_in, in, sizeof in, cudaMemcpyDefault);
    cudaMemcpy(d_sums, sums, sizeof sums, cudaMemcpyDefault);
    cudaMemcpy(d_pairs, pairs, sizeof pairs, cudaMemcpyDefault);
    cudaMemcpy(d_pair_sum, &pair_sum, sizeof pair_sum, cudaMemcpyDefault);
    kernel<<<1, 32>>>(d_in, d_pairs, d_sums, d_pair_sum, d_out);
    cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDefault);
    cudaMemcpy(&pair_sum, d_pair_sum, sizeof pair_sum, cudaMemcpyDefault);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDefault);
    printf("%s %g %g (%g, %g) %g\n", cudaGetErrorString(cudaGetLastError()), (float)sums[0],
           (float)sums[1], (float)pair_sum.x, (float)pair_sum.y, (float)out[2]);
#ifdef SIMT
    simt_counts c;
    simt_last_counts(&c);
    printf("loads %llu stores %llu bytes %llu atomics %llu\n", c.global_loads, c.global_stores,
           c.global_bytes, c.atomics_global);
#endif
    return 0;
}

int main(int argc, char **argv)
{
    std::vector<float> numbers;
    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[argc - 1], "wb");
    for (float x; fread(&x, 4, 1, in) == 1;)
        numbers.push_back(x);
    host<__half>(numbers, out);
    host<__nv_bfloat16>(numbers, out);
    fclose(out);
    const __half mixed = __half(__nv_bfloat16(1.5f));
    const __half2 both = __floats2half2_rn(1.0f, 2.0f) * __half2half2(mixed);
    printf("%g %g %d\n", __low2float(both), (float)__high2half(both),
           __hbgt2(both, __float2half2_rn(1.25f)));
    return device<__half, __half2>() + device<__nv_bfloat16, __nv_bfloat162>();
}

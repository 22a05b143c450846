// SPDX-License-Identifier: MIT
// Every kind of launch, without an #include of the runtime. Prints what is wrong; test_driver.py runs
// it, and asks nvcc whether it is CUDA.
#include "launches.cuh"

#include <stdio.h>

#include <vector>

int failures;
template <class T> void expect(int line, const T *p, T wanted)
{
    T got;
    cudaMemcpy(&got, p, sizeof got, cudaMemcpyDefault);
    cudaError_t error = cudaGetLastError();
    if (error || got != wanted) {
        printf("launches.cu:%d: %g, and not %g: %s\n", line, (double)got, (double)wanted,
               cudaGetErrorString(error));
        ++failures;
    }
}
#define EXPECT(p, wanted) expect(__LINE__, p, wanted)

template <class A, class B> struct pair {
    enum { threads = 8 };
};

template <class T> __global__ void scale(T *p, T factor, int n = 4)
{
    if ((int)threadIdx.x < n)
        p[threadIdx.x] = factor * T(threadIdx.x + 1);
}
__global__ void over(int *p)
{
    *p = 1;
}
__global__ void over(float *p, dim3 d = 7)
{
    *p = d.x;
}
__global__ void over(const float *p, float *to, int i)
{
    *to = p ? p[i] : 30.0f;
}
__global__ void sum(float *p, dim3 d, const int *more = NULL, bool negative = false)
{
    *p = (negative ? -1.0f : 1.0f) * (float)(d.x + d.y + d.z + (more ? *more : 0));
}
template <int n, class T> __global__ void part(T *p)
{
    *p = n;
}
template <class F> __global__ void apply(F f, float *p)
{
    *p = f(3.0f);
}
__global__ void add(int *p, int n)
{
    atomicAdd(p, n++);
}
template <class T> __global__ void either(T *p, const T *q)
{
    *p = q ? *q : T(-1);
}
__global__ void none()
{
}

namespace outer
{
namespace
{
extern __shared__ __align__(16) unsigned char bytes[];

template <class T> __global__ void reverse(T *p)
{
    T *mem = shared_memory<T>();
    mem[threadIdx.x] = T(threadIdx.x);
    __syncthreads();
    p[threadIdx.x] = mem[blockDim.x - 1 - threadIdx.x] + ((T *)bytes)[0];
}
__global__ void tiles(int *p)
{
    extern __shared__ int tile[][4];
    tile[threadIdx.x][1] = (int)threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = tile[threadIdx.x ^ 1][1];
}
} // namespace
} // namespace outer

#ifdef SIMT // which takes a member for a kernel, and nvcc does not
struct holder {
    void launch(float *p)
    {
        set_nine<<<1, {1, 1}>>>(p);
        EXPECT(p, 9.0f);
        this->set_nine<<<1, 1>>>(p);
    }
    template <class T> void launch_template(T *p)
    {
        this->template set<T><<<1, 1>>>(p, 10);
        EXPECT(p, T(10));
        set<<<1, 1>>>(p, 11);
        EXPECT(p, T(11));
    }
    static __global__ void set_nine(float *p);
    template <class T> static __global__ void set(T *p, int to)
    {
        *p = T(to);
    }
};
__global__ void holder::set_nine(float *p)
{
    *p = 9;
}
#endif

template <class F, class... A> void run(F f, A... arguments)
{
    f<<<1, 1>>>(arguments...);
}

typedef void (*kernel)(float *, dim3, const int *, bool);
int got = 0;
kernel get(int)
{
    ++got;
    return sum;
}

#define LAUNCH(k, threads, ...) k<<<1, threads>>>(__VA_ARGS__)
#define AS_WRITTEN(...)                                                                            \
    do {                                                                                           \
        __VA_ARGS__;                                                                               \
    } while (0)

int main(int argc, char **)
{
    float *p;
    int *q;
    double *d;
    cudaMalloc(&p, 4096), cudaMalloc(&q, 4096), cudaMalloc(&d, 4096);

    // Arguments: deduced, default, converted, braces, null pointers of every kind.
    scale<<<1, 4>>>(p, 2.0f);
    EXPECT(p + 3, 8.0f);
    scale<<<dim3{1}, 4, 0, 0>>>(d, 3.0, 2u);
    EXPECT(d + 1, 6.0);
    scale<float><<<{1, 1}, {4, 1, 1}>>>(p, 5, 1);
    EXPECT(p, 5.0f);
    over<<<1, 1>>>(q);
    EXPECT(q, 1);
    over<<<1, 1>>>(p);
    EXPECT(p, 7.0f);
    over<<<1, 1>>>(p, 8);
    EXPECT(p, 8.0f);
    sum<<<1, 1>>>(p, {3, 4});
    EXPECT(p, 8.0f);
    sum<<<1, 1>>>(p, {3, 4}, NULL);
    sum<<<1, 1>>>(p, dim3{3, 4, 5}, nullptr);
    EXPECT(p, 12.0f);
    sum<<<1, 1>>>(p, 2, 0, true);
    EXPECT(p, -4.0f);
    sum<<<1, 1>>>(p, 2, q);
    EXPECT(p, 5.0f);
    either<int><<<1, 1>>>(q, NULL);
    EXPECT(q, -1);
    over<<<1, 1>>>(NULL, p, 0);
    EXPECT(p, 30.0f);
    over<<<1, 1>>>(p, dim3{2, 2});
    EXPECT(p, 2.0f);
    part<3><<<1, 1>>>(p);
    EXPECT(p, 3.0f);
    none<<<1, 1>>>();

    // They are evaluated once, before the launch.
    int n = 0;
    cudaMemset(q, 0, sizeof *q);
    add<<<2, 64>>>(q, ++n);
    EXPECT(q, 128);
    failures += n != 1;

    // Kernels that aren't a plain name, and chevrons that aren't a launch.
    kernel table[] = {sum, sum}, f = sum, *list = table;
    table[1]<<<1, 1>>>(p, 2, NULL, false);
    EXPECT(p, 4.0f);
    // clang-format off
    get(1)<<<2 >> 1, 1>>>(p, 3, NULL, false);
    // clang-format on
    EXPECT(p, 5.0f);
    (*f)<<<1 << 0, 1>>>(p, 4, NULL, false);
    EXPECT(p, 6.0f);
    list[0]<<<1, 1>>>(p, 5, NULL, false);
    EXPECT(p, 7.0f);
    if (got == 1)
        (f)<<<1, 1>>>(p, 6, NULL, false);
    EXPECT(p, 8.0f);
#ifdef SIMT
    holder().launch_template(p);
    holder().launch(p);
    EXPECT(p, 9.0f);
#endif
    run(f, p, dim3(7), nullptr, false);
    EXPECT(p, 9.0f);

    // In every kind of statement.
    auto each = [&](auto x) { scale<<<1, 1>>>(p, x); };
    each(12.0f);
    EXPECT(p, 12.0f);
    if (n == 5)
        each(1.0f);
    else
        ::over<<<1, 1>>>(p, 13);
    EXPECT(p, 13.0f);
    n ? over<<<1, 1>>>(p, 14) : part<3><<<1, 1>>>(p);
    EXPECT(p, 14.0f);
    switch (n) {
    case 1:
        (over<<<1, 1>>>(p, 15), cudaDeviceSynchronize());
    }
    EXPECT(p, 15.0f);

    // Templates in the configuration; lines and comments between the parts; macros.
    outer::reverse<float><<<1, pair<int, pair<int, float>>::threads, 1024>>>(p);
    EXPECT(p + 1, 6.0f);
    outer::reverse<double> // a comment <<<
        <<<1, 8, /* >>> */ 1024>>>(d);
    EXPECT(d, 7.0);
    outer::tiles<<<1, 4, 64>>>(q);
    EXPECT(q + 2, 3);
    LAUNCH(sum, 1, p, {1, 2});
    EXPECT(p, 4.0f);
    AS_WRITTEN(sum<<<1, 1>>>(p, {2, 2}));
    EXPECT(p, 5.0f);
    const char *text = "k<<<1, 1>>>(p)", *raw = R"(k<<<1, 1>>>(")";
    failures += text[1] != '<' || raw[1] != '<';

#ifdef __CUDACC_EXTENDED_LAMBDA__
    int shift = 5;
    apply<<<1, 1>>>([=] __device__(float x) { return x + (float)shift; }, p);
    EXPECT(p, 8.0f);
#endif
    from_header(p);
    EXPECT(p, 21.0f);
    from_file(p);
    EXPECT(p, 22.0f);
    failures += LEVEL != 3; // -DLEVEL=3

    if (argc > 1) { // the names in reports
        scale<<<1, 4>>>(p, 2.0f, 4);
        scale<<<1, 4>>>(p, 2.0f);
        over<<<1, 1>>>(p + 1024, 1);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}

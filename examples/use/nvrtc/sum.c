// SPDX-License-Identifier: MIT
//
// Sums of random floats in plain C: NVRTC compiles coarsen's header when the program runs, for the GPU that is there, and
// the driver launches the kernel, which COARSEN_LINKAGE gave a plain name. Checked.
//
// sum INCLUDE: coarsen's folder include. Exit status: 0; 1 when a sum is wrong or something fails; 77 without a GPU.

#include <cuda.h>
#include <math.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_DIM     512 // threads per block
#define COARSE_FACTOR 4   // vectors per thread, of 4 floats each
#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number

static const char source[] =
    "#define COARSEN_NAME    sum_f32\n"
    "#define COARSEN_TYPE    float\n"
    "#define COARSEN_LINKAGE extern \"C\"\n"
    "#define BLOCK_DIM       " TEXT(BLOCK_DIM) "\n"
                                               "#define COARSE_FACTOR   " TEXT(
                                                   COARSE_FACTOR) "\n"
                                                                  "#include <coarsen/reduce.h>\n";

static void check(CUresult status)
{
    const char *text = "an error that the driver does not know";
    if (status == CUDA_SUCCESS)
        return;
    cuGetErrorString(status, &text);
    fprintf(stderr, "sum: %s\n", text);
    exit(1);
}

static void check_compiler(nvrtcResult status)
{
    if (status == NVRTC_SUCCESS)
        return;
    fprintf(stderr, "sum: %s\n", nvrtcGetErrorString(status));
    exit(1);
}

// The machine code for a GPU, or PTX for one that is none: compute_75.
static char *compile(const char *architecture, const char *include)
{
    char options[2][1024];
    const char *const list[] = {options[0], options[1]};
    snprintf(options[0], sizeof(options[0]), "--gpu-architecture=%s", architecture);
    snprintf(options[1], sizeof(options[1]), "-I%s", include);

    nvrtcProgram program;
    check_compiler(nvrtcCreateProgram(&program, source, "sum.cu", 0, NULL, NULL));
    const nvrtcResult compiled = nvrtcCompileProgram(program, 2, list);
    size_t bytes;
    check_compiler(nvrtcGetProgramLogSize(program, &bytes));
    char *const log = (char *)malloc(bytes);
    check_compiler(nvrtcGetProgramLog(program, log));
    fputs(log, stderr);
    free(log);
    check_compiler(compiled);
    const int machine_code = architecture[0] == 's';
    check_compiler(machine_code ? nvrtcGetCUBINSize(program, &bytes)
                                : nvrtcGetPTXSize(program, &bytes));
    char *const code = (char *)malloc(bytes);
    check_compiler(machine_code ? nvrtcGetCUBIN(program, code) : nvrtcGetPTX(program, code));
    check_compiler(nvrtcDestroyProgram(&program));
    return code;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 1, 1000, 100003, 5000000};
    const size_t most = 5000001;
    int devices = 0, major, minor, processors, resident, wrong = 0;
    if (argc != 2) {
        fprintf(stderr, "sum: give coarsen's folder include\n");
        return 1;
    }
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices == 0) {
        free(compile("compute_75", argv[1]));
        puts("sum: compiled; no GPU");
        return 77;
    }

    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    char architecture[16];
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    check(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    check(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    check(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    snprintf(architecture, sizeof(architecture), "sm_%d%d", major, minor);
    char *const code = compile(architecture, argv[1]);
    check(cuModuleLoadData(&module, code));
    free(code);
    check(cuModuleGetFunction(&kernel, module, "sum_f32_kernel"));
    check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, BLOCK_DIM, 0));

    float *const host = (float *)malloc(most * sizeof(float));
    for (size_t i = 0; host && i < most; i++)
        host[i] = (float)rand() / (float)RAND_MAX - 0.25f;
    // What sum_f32_plan says where there is a runtime: no more blocks than the GPU holds at once, of which each takes
    // tiles in turn; and a scratch of 16 bytes, and 8 per block, zeros before the first launch.
    const size_t wave = (size_t)processors * (size_t)resident, bytes = 16 + 8 * wave;
    CUdeviceptr in, out, scratch;
    check(cuMemAlloc(&in, most * sizeof(float)));
    check(cuMemAlloc(&out, sizeof(float)));
    check(cuMemAlloc(&scratch, bytes));
    check(cuMemsetD8(scratch, 0, bytes));
    check(cuMemcpyHtoD(in, host, most * sizeof(float)));

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        for (size_t offset = 0; offset <= 1; offset++) { // elements: any alignment works
            size_t n = sizes[k];
            unsigned int tile = COARSE_FACTOR * BLOCK_DIM; // vectors
            const size_t tiles = n / (4 * tile) + 1;
            CUdeviceptr first = in + offset * sizeof(float);
            void *arguments[] = {&first, &out, &n, &tile, &scratch};
            check(cuLaunchKernel(kernel, (unsigned int)least(tiles, wave), 1, 1, BLOCK_DIM, 1, 1, 0,
                                 NULL, arguments, NULL));

            float got;
            double exact = 0, all = 0;
            check(cuMemcpyDtoH(&got, out, sizeof(got)));
            for (size_t i = 0; i < n; i++) {
                exact += host[offset + i];
                all += fabs(host[offset + i]);
            }
            const int right = fabs(got - exact) <= 1e-6 * all;
            wrong += !right;
            printf("%7zu floats at +%zu: %.9g, exactly %.9g: %s\n", n, offset, got, exact,
                   right ? "right" : "WRONG");
        }
    check(cuMemFree(in));
    check(cuMemFree(out));
    check(cuMemFree(scratch));
    check(cuModuleUnload(module));
    check(cuDevicePrimaryCtxRelease(device));
    free(host);
    return wrong > 0;
}

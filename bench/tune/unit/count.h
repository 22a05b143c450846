// SPDX-License-Identifier: MIT
//
// The program that g++ makes of a unit: it plans the launches, or makes them on simt and counts.
// job.h: what it is asked and answers.

#include <errno.h>
#include <simt.h>

#include "job.h"

static tune_job tune_asked;

static cudaError_t tune_count_launch(cudaError_t status)
{
    if (tune_plan->launches > 0)
        simt_last_counts(&tune_asked.counts[tune_plan->launches - 1]);
    if (status != cudaSuccess)
        snprintf(tune_asked.fault, sizeof(tune_asked.fault), "%s", simt_last_report()->text);
    return status;
}

static bool tune_trouble(const char *what, const char *file)
{
    snprintf(tune_asked.trouble, sizeof(tune_asked.trouble), "%s %s: %s", what, file,
             strerror(errno));
    return false;
}

// A buffer on the device, with what it holds at first.
static bool tune_make_buffer(int b)
{
    const size_t bytes = tune_plan->count[b] * tune_plan->item[b];
    void *device = NULL;
    if (cudaMalloc(&device, bytes ? bytes : 1) != cudaSuccess) {
        errno = ENOMEM;
        return tune_trouble("cannot make", "a buffer");
    }
    tune_plan->buffer[b] = (unsigned long long)device;
    // An output is what no kernel writes by chance, so that it shows what was not written.
    cudaMemset(device, tune_asked.zeroed[b] ? 0 : 0xa5, bytes);
    if (!tune_asked.read[b] || bytes == 0)
        return true;
    char name[64];
    snprintf(name, sizeof(name), "data-%d-%zu", b, bytes);
    FILE *const in = fopen(name, "rb");
    void *const host = malloc(bytes);
    const bool ok = in && host && fread(host, 1, bytes, in) == bytes;
    if (!ok)
        tune_trouble("cannot read", name);
    else
        cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
    if (in)
        fclose(in);
    free(host);
    return ok;
}

static bool tune_write_outputs(void)
{
    FILE *const out = fopen(tune_asked.output, "wb");
    bool ok = out != NULL;
    for (int b = 0; b < tune_asked.buffers && ok; b++) {
        const size_t bytes = tune_plan->count[b] * tune_plan->item[b];
        if (!tune_asked.written[b] || bytes == 0)
            continue;
        void *const host = malloc(bytes);
        ok = host &&
             cudaMemcpy(host, (void *)tune_plan->buffer[b], bytes, cudaMemcpyDeviceToHost) == 0 &&
             fwrite(host, 1, bytes, out) == bytes;
        free(host);
    }
    if (out && fclose(out) != 0)
        ok = false;
    return ok || tune_trouble("cannot write", tune_asked.output);
}

static void tune_answer(void)
{
    tune_sizes(tune_plan->size, tune_plan->count, tune_plan->item, tune_plan->most,
               &tune_plan->work, &tune_plan->tolerance);
    tune_plan->launches = 0;
    tune_plan->status = 0;
    if (tune_plan->run == 0)
        return;
    for (int b = 0; b < tune_asked.buffers; b++)
        if (tune_plan->run ==
            1) // addresses that nothing uses, as aligned as cudaMalloc's, and apart
            tune_plan->buffer[b] = (b + 1ull) << 42;
        else if (!tune_make_buffer(b))
            return;
    const cudaError_t status = tune_run(tune_plan->size, tune_plan->buffer);
    tune_plan->status = (int)status;
    snprintf(tune_asked.error, sizeof(tune_asked.error), "%s", cudaGetErrorName(status));
    if (tune_plan->run > 1 && status == cudaSuccess)
        tune_write_outputs();
}

int main(int arguments, char **argument)
{
    simt_print_reports(0);
    FILE *const file = arguments == 2 ? fopen(argument[1], "r+b") : NULL;
    if (!file || fread(&tune_asked, sizeof(tune_asked), 1, file) != 1) {
        fprintf(stderr, "coarsen-tune runs this program, with a file that says what is asked\n");
        return 2;
    }
    tune_plan = &tune_asked.plan;
    tune_answer();
    tune_asked.done = 1;
    rewind(file);
    const bool written = fwrite(&tune_asked, sizeof(tune_asked), 1, file) == 1;
    return fclose(file) == 0 && written ? 0 : 3;
}

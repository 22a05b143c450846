// SPDX-License-Identifier: MIT
//
// The product for elements of MATMUL_TYPE, as MATMUL_NAME_product. Included by matmul.cu, once for
// each type.

#define COARSEN_NAME COARSEN_JOIN(MATMUL_NAME, _matmul)
#define COARSEN_TYPE MATMUL_TYPE
#include <coarsen/matmul.h>

#define MATMUL_(what) COARSEN_JOIN(MATMUL_NAME, what)

// The elements of a row-major matrix, for an array of either order.
static const MATMUL_TYPE *MATMUL_(_row_major)(npy_array *array)
{
    const size_t rows = array->shape[0], cols = array->shape[1];
    MATMUL_TYPE *const from = (MATMUL_TYPE *)array->data;
    if (!array->fortran || array->count == 0)
        return from;
    MATMUL_TYPE *const to = (MATMUL_TYPE *)host_alloc(array->count * sizeof(*to));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            to[i * cols + j] = from[j * rows + i];
    free(from);
    array->data = to;
    array->fortran = false;
    return to;
}

// M N, computed by the device, checked and printed. If a path is given, M N is written there.
static bool MATMUL_(_product)(npy_array *m_array, npy_array *n_array, const char *path)
{
    const size_t rows = m_array->shape[0], inner = m_array->shape[1], cols = n_array->shape[1];
    const MATMUL_TYPE *const m = MATMUL_(_row_major)(m_array), *const n =
                                                                   MATMUL_(_row_major)(n_array);
    if (cols > 0 && rows > PTRDIFF_MAX / sizeof(MATMUL_TYPE) / cols) {
        fprintf(stderr, "matmul: a product of %zu x %zu is more than memory can hold\n", rows,
                cols);
        exit(1);
    }
    const size_t bytes = rows * cols * sizeof(MATMUL_TYPE);
    MATMUL_TYPE *const on_m = (MATMUL_TYPE *)device_copy(m, m_array->count * sizeof(*m));
    MATMUL_TYPE *const on_n = (MATMUL_TYPE *)device_copy(n, n_array->count * sizeof(*n));
    MATMUL_TYPE *const on_p = (MATMUL_TYPE *)device_alloc(bytes);
    const size_t scratch_bytes =
        COARSEN_JOIN(MATMUL_NAME, _matmul_scratch_bytes)(rows, cols, inner);
    void *const scratch = device_alloc(scratch_bytes);
    MATMUL_TYPE *const p = (MATMUL_TYPE *)host_alloc(bytes);

    // P = 1 M N + 0 P; rows follow one another without a gap.
    CHECK(COARSEN_JOIN(MATMUL_NAME, _matmul_launch)(rows, cols, inner, 1, on_m, inner, on_n, cols,
                                                    0, on_p, cols, scratch, scratch_bytes, 0));
    CHECK(cudaDeviceSynchronize());
    if (bytes > 0)
        CHECK(cudaMemcpy(p, on_p, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(on_m));
    CHECK(cudaFree(on_n));
    CHECK(cudaFree(on_p));
    CHECK(cudaFree(scratch));

    // Some entries again, in double. Each of the inner additions rounds by at most half a unit.
    const size_t entries = rows * cols, sample = entries < SAMPLE ? entries : SAMPLE;
    const double epsilon = sizeof(MATMUL_TYPE) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
    size_t wrong = 0;
    for (size_t s = 0; s < sample; s++) {
        // All of them if they are few. Otherwise far apart, and not often in one row or column.
        const size_t e =
            entries <= SAMPLE ? s : (size_t)((s + 0.5) * 0.6180339887498949 * entries) % entries;
        double sum = 0, magnitude = 0;
        for (size_t k = 0; k < inner; k++) {
            const double product = (double)m[e / cols * inner + k] * n[k * cols + e % cols];
            sum += product;
            magnitude += fabs(product);
        }
        const double error = fabs((double)p[e] - sum);
        wrong += !(error <= (double)(inner + 1) * epsilon * magnitude) && magnitude < DBL_MAX;
    }

    for (size_t i = 0; i < rows && i < 4; i++) {
        for (size_t j = 0; j < cols && j < 4; j++)
            printf("%14.7g", (double)p[i * cols + j]);
        printf(cols > 4 ? "  ...\n" : "\n");
    }
    printf(rows > 4 ? "  ...\n" : "");
    printf("%zu x %zu, %zu of %zu entries checked in double: ", rows, cols, sample, entries);
    if (wrong > 0)
        printf("%zu wrong\n", wrong);
    else
        printf("right\n");
    if (path)
        write_npy(path, MATMUL_DESCR, rows, cols, p, bytes);
    free(p);
    return wrong == 0;
}

#undef MATMUL_
#undef MATMUL_NAME
#undef MATMUL_TYPE
#undef MATMUL_DESCR

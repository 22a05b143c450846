// SPDX-License-Identifier: MIT
//
// stats_of.h: the statistics of arrays of one element type. stats.cu includes it once for each type,
// as it would a header of coarsen, with
//
//     STATS_NAME              every name that this file makes begins with it
//     STATS_TYPE              element type
//     STATS_SUM               type of the sum
//     STATS_PRINT(label, x)   prints an element or a sum
//
// Defines void NAME_stats(const void *array, size_t n), which copies the host's array to the
// device, reduces it there and prints the results.

#define STATS_JOIN(suffix) COARSEN_JOIN(STATS_NAME, suffix)

// An element with its index; then three reductions: to the sum, the least and the greatest.

#define COARSEN_NAME       STATS_JOIN(_at)
#define COARSEN_TYPE       STATS_TYPE
#include <coarsen/arg.h>

#define COARSEN_NAME STATS_JOIN(_sum)
#define COARSEN_TYPE STATS_TYPE
#define COARSEN_ACC  STATS_SUM
#include <coarsen/reduce.h>

#define COARSEN_NAME     STATS_JOIN(_argmin)
#define COARSEN_TYPE     STATS_TYPE
#define COARSEN_ACC      STATS_JOIN(_at)
#define COARSEN_LIFT     STATS_JOIN(_at_lift)
#define COARSEN_OP       STATS_JOIN(_at_min)
#define COARSEN_IDENTITY STATS_JOIN(_at_none)()
#include <coarsen/reduce.h>

#define COARSEN_NAME     STATS_JOIN(_argmax)
#define COARSEN_TYPE     STATS_TYPE
#define COARSEN_ACC      STATS_JOIN(_at)
#define COARSEN_LIFT     STATS_JOIN(_at_lift)
#define COARSEN_OP       STATS_JOIN(_at_max)
#define COARSEN_IDENTITY STATS_JOIN(_at_none)()
#include <coarsen/reduce.h>

typedef struct {
    STATS_SUM sum;
    STATS_JOIN(_at) min, max;
} STATS_JOIN(_result);

static void STATS_JOIN(_stats)(const void *array, size_t n)
{
    const STATS_TYPE *in = (const STATS_TYPE *)device_copy(array, n * sizeof(STATS_TYPE));
    STATS_JOIN(_result) *out = (STATS_JOIN(_result) *)device_alloc(sizeof(*out)), result;

    // One scratch serves all three: they run one after the other, and each leaves it as it was.
    static_assert(sizeof(STATS_SUM) <= sizeof(STATS_JOIN(_at)), "the argmin's is the largest");
    const size_t bytes = STATS_JOIN(_argmin_scratch_bytes)(n);
    void *scratch = device_alloc(bytes);
    CHECK(STATS_JOIN(_argmin_scratch_init)(scratch, bytes, 0));

    CHECK(STATS_JOIN(_sum_launch)(in, &out->sum, n, scratch, bytes, 0));
    CHECK(STATS_JOIN(_argmin_launch)(in, &out->min, n, scratch, bytes, 0));
    CHECK(STATS_JOIN(_argmax_launch)(in, &out->max, n, scratch, bytes, 0));
    CHECK(cudaMemcpy(&result, out, sizeof(result), cudaMemcpyDeviceToHost));

    print_integer("count", n);
    STATS_PRINT("sum", result.sum);
    if (n == 0) {
        printf("mean    none\nmin     none\nargmin  none\nmax     none\nargmax  none\n");
    } else {
        print_real("mean", (double)result.sum / (double)n, sizeof(double));
        STATS_PRINT("min", result.min.value);
        print_integer("argmin", result.min.index);
        STATS_PRINT("max", result.max.value);
        print_integer("argmax", result.max.index);
    }

    CHECK(cudaFree(scratch));
    CHECK(cudaFree(out));
    CHECK(cudaFree((void *)in));
}

#undef STATS_JOIN
#undef STATS_NAME
#undef STATS_TYPE
#undef STATS_SUM
#undef STATS_PRINT

// SPDX-License-Identifier: MIT
#define COARSEN_NAME sum_f32
#define COARSEN_TYPE float
#include <coarsen/reduce.h>

#if COARSEN_VERSION < 100
#error "coarsen is older than 0.1"
#endif

int main(void)
{
    return sum_f32_launch(NULL, NULL, 1, NULL, 0, NULL) == cudaSuccess; // which it must not be
}

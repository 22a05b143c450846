// SPDX-License-Identifier: MIT
//
// What every unit includes last: where the tuner comes in. A unit has tune_sizes() and tune_run()
// by now.

#ifdef TUNE_ON_DEVICE

extern "C" __global__ void tune_entry(plan_record *p)
{
    tune_plan = p;
    tune_sizes(p->size, p->count, p->item, p->most, &p->work, &p->tolerance);
    p->launches = 0;
    p->status = p->run ? (int)tune_run(p->size, p->buffer) : 0;
}

// The greatest |want| of n floats (item 4) or doubles (8), and the first element of got that is
// further from want than the tolerance; of anything else (floating false), the first that differs
// in a byte. As bits, which for numbers that aren't negative are in the order of the numbers.
extern "C" __global__ void tune_compare(const unsigned char *got, const unsigned char *want,
                                        unsigned long long n, unsigned int item, int floating,
                                        double tolerance, unsigned long long *first,
                                        unsigned long long *greatest)
{
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        bool same = true;
        if (floating) {
            const double a = item == 4 ? ((const float *)got)[i] : ((const double *)got)[i];
            const double b = item == 4 ? ((const float *)want)[i] : ((const double *)want)[i];
            const double size = b < 0 ? -b : b;
            same = a == b || (a != a && b != b) || (a - b <= tolerance && b - a <= tolerance);
            // The test first, as an atomic for each element would take long.
            if (size > __longlong_as_double((long long)*(volatile unsigned long long *)greatest) &&
                size <= 1.7e308)
                atomicMax(greatest, (unsigned long long)__double_as_longlong(size));
        } else
            for (unsigned int j = 0; j < item; j++)
                same &= got[i * item + j] == want[i * item + j];
        if (!same)
            atomicMin(first, i);
    }
}

#else
#include "count.h"
#endif

// SPDX-License-Identifier: MIT
//
// The Test Anything Protocol, as much of it as the tests here need.
//
//     tap_ok(sum == 10, "sum of %d elements", n);   // one numbered line, and where it failed
//     tap_diag("n = %d", n);                        // a remark, for a reader
//     if (!device) tap_skip("no device");           // one numbered line that counts as passed
//     return tap_done();                            // the plan; 0 when nothing failed
//
// Counters are static: include it in the file that has main, or give each file its own plan.

#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>

#if defined __GNUC__
#define TAP_UNUSED       __attribute__((unused))
#define TAP_FORMAT(f, a) __attribute__((format(printf, f, a)))
#else
#define TAP_UNUSED
#define TAP_FORMAT(f, a)
#endif

// What a file that includes this one may have to say of the circumstances of a failure.
#ifndef TAP_CIRCUMSTANCES
#define TAP_CIRCUMSTANCES ""
#endif

static int tap_count, tap_failed;

// 1 when `passed`; callers write tap_ok.
TAP_UNUSED TAP_FORMAT(4, 5) static int tap_ok_at(const char *file, int line, int passed,
                                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    if (!passed) {
        ++tap_failed;
        printf("#   failed at %s:%d %s\n", file, line, TAP_CIRCUMSTANCES);
    }
    fflush(stdout);
    return passed;
}

#define tap_ok(cond, ...) tap_ok_at(__FILE__, __LINE__, !!(cond), __VA_ARGS__)

TAP_UNUSED TAP_FORMAT(1, 2) static void tap_diag(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("# ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
}

TAP_UNUSED static void tap_skip(const char *reason)
{
    printf("ok %d # skipped %s\n", ++tap_count, reason);
    fflush(stdout);
}

// A program that ran no test has failed: it showed nothing.
TAP_UNUSED static int tap_done(void)
{
    printf("1..%d\n", tap_count);
    if (tap_failed)
        printf("# %d of %d failed\n", tap_failed, tap_count);
    fflush(stdout);
    return tap_failed || !tap_count;
}

#endif

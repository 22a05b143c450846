// SPDX-License-Identifier: MIT
//
// Reads each file named on its standard input, a path a line, and prints a line for each: its type,
// its count and its bytes in hexadecimal, or the error. test_npy.py builds it with the sanitizers.

#include "npy.h"

int main(void)
{
    static const char *const names[] = {"f4", "f8", "i4", "i8"};
    char path[4096], error[NPY_ERROR];
    while (fgets(path, sizeof(path), stdin)) {
        npy_array array;
        path[strcspn(path, "\n")] = '\0';
        if (!npy_read(path, &array, error)) {
            printf("error %s\n", error);
            continue;
        }
        const size_t bytes = array.count * npy_item_bytes(array.type);
        printf("%s %zu ", names[array.type], array.count);
        for (size_t i = 0; i < bytes; i++)
            printf("%02x", ((unsigned char *)array.data)[i]);
        putchar('\n');
        npy_free(&array);
    }
    return 0;
}

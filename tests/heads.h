// SPDX-License-Identifier: MIT
//
// heads.h: where runs, or segments, begin in an array: what the tests of both ask. device.h comes first.

#ifndef HEADS_H
#define HEADS_H

struct layout {
    const char *name;
    bool (*head)(uint64_t bits, size_t i, size_t row);
};

static const layout layouts[] = {
    {"one of all", [](uint64_t, size_t, size_t) { return false; }},
    {"of 1", [](uint64_t, size_t, size_t) { return true; }},
    {"of 2", [](uint64_t, size_t i, size_t) { return i % 2 == 1; }},
    {"of about 3", [](uint64_t bits, size_t, size_t) { return bits % 3 == 0; }},
    {"of about 50", [](uint64_t bits, size_t, size_t) { return bits % 50 == 0; }},
    {"of about a row", [](uint64_t bits, size_t, size_t row) { return bits % row == 0; }},
    {"from row to row",
     [](uint64_t bits, size_t i, size_t row) { return (i + bits % 3) % row == 1; }},
    {"of every length", [](uint64_t bits, size_t i,
                           size_t) { return bits % (1ull << test_random(9, i / 300) % 12) == 0; }},
    {"two", [](uint64_t, size_t i, size_t row) { return i == 3 * row + 5; }},
};

// One test: around a row, several rows of one block, and many tiles, each layout in turn, in every order of
// blocks. once(layout, n, bits): whether all is right; if not, it has said so.
template <class Once>
static void check_layouts(const char *name, size_t row, size_t most, const Once &once)
{
    uint64_t turn = 0;
    bool ok = true;
    for (size_t n : {(size_t)0, (size_t)1, (size_t)2, (size_t)33, row - 1, row, row + 1,
                     3 * row + 5, 5 * row - 3, 9 * row + 1, most * row + 7})
        for (const layout &of : layouts) {
            test_order((int)(turn % test_order_count()));
            ok = ok && once(of, n, test_random(row, turn++));
        }
    test_order(0);
    if (ok)
        tap_ok(1, "%s: right at every size up to %zu", name, most * row + 7);
}

#endif // HEADS_H

// SPDX-License-Identifier: MIT
//
// coarsen/block/slots.h: slots in global memory, by which blocks hand values on without a fence.
//
//     #define COARSEN_NAME sum
//     #define COARSEN_TYPE float
//     #include <coarsen/block/slots.h>
//
//     // in a kernel: one thread of each block leaves a value, and one thread of one block collects it
//     //     sum_leave(slots + block * sum_words_of_slot, 1, value);
//     //     value = sum_collect(slots + block * sum_words_of_slot);
//
// | parameter            | default          | meaning                                              |
// |----------------------|------------------|------------------------------------------------------|
// | COARSEN_NAME         | required         | what every name this makes begins with               |
// | COARSEN_TYPE         | required         | type of the values: any that a copy of its bytes makes |
// Defines
//     NAME_words           a value as 4-byte words
//     NAME_words_of_slot   the unsigned long longs of a slot: one per word of a value
//     void NAME_expect(const unsigned long long *slot)
//     void NAME_leave(unsigned long long *slot, unsigned int flag, COARSEN_TYPE value)
//     unsigned int NAME_look(const unsigned long long *slot, COARSEN_TYPE *value)
//     NAME_slot NAME_peek(const unsigned long long *slot)
//     unsigned int NAME_value_of(NAME_slot seen, COARSEN_TYPE *value)
//     COARSEN_TYPE NAME_collect(unsigned long long *slot)
// A slot is empty if all of it is 0. NAME_expect, which may be left out, has the slot brought into the
// cache, so that the first look at it need not wait for memory. NAME_leave writes a value with a flag greater than 0.
// NAME_look returns the flag and the value, or 0 if there is no whole value yet. It is
// NAME_value_of(NAME_peek(slot), value): who looks at several slots peeks into all of them first.
// NAME_collect waits for a value with flag 1 and empties the slot. One thread calls each. Slots are 8-byte
// aligned.
// Each word of the value is beside the flag in one 8-byte store, so no fence is needed: a word that
// can be seen is whole. What else the writer wrote before may not be visible yet.
// Cost: 8 bytes per 4 bytes of a value, written and read.
// Source: D. Merrill and M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back
// (2016).

#define COARSEN_BEGIN COARSEN_PATTERN_VALUE
#include "../base.h"
#ifndef COARSEN_MADE_SLOTS
#define COARSEN_MADE_SLOTS

enum { COARSEN_(words_of_slot) = (sizeof(COARSEN_(acc)) + 3) / 4 };

typedef struct {
    unsigned int word[COARSEN_(words_of_slot)];
} COARSEN_(words);

COARSEN_DEVICE COARSEN_(words) COARSEN_(to_words)(COARSEN_(acc) value)
{
    COARSEN_(words) words = {};
    memcpy(&words, &value, sizeof(value));
    return words;
}

COARSEN_DEVICE COARSEN_(acc) COARSEN_(from_words)(COARSEN_(words) words)
{
    COARSEN_(acc) value;
    memcpy((void *)&value, &words, sizeof(value));
    return value;
}

COARSEN_DEVICE void COARSEN_(expect)(COARSEN_UNUSED const unsigned long long *slot)
{
#if COARSEN_PTX
    asm volatile("prefetch.global.L2 [%0];" : : "l"(slot));
#endif
}

COARSEN_DEVICE void COARSEN_(leave)(unsigned long long *slot, unsigned int flag,
                                    COARSEN_(acc) value)
{
    const COARSEN_(words) words = COARSEN_(to_words)(value);
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
        ((volatile unsigned long long *)slot)[w] = (unsigned long long)flag << 32 | words.word[w];
}

// What is in a slot, not looked at yet, so that several may be under way.
typedef struct {
    unsigned long long word[COARSEN_(words_of_slot)];
} COARSEN_(slot);

COARSEN_DEVICE COARSEN_(slot) COARSEN_(peek)(const unsigned long long *slot)
{
    COARSEN_(slot) seen;
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++)
        seen.word[w] = ((const volatile unsigned long long *)slot)[w];
    return seen;
}

COARSEN_DEVICE unsigned int COARSEN_(value_of)(COARSEN_(slot) seen, COARSEN_(acc) * value)
{
    const unsigned int flag = (unsigned int)(seen.word[0] >> 32);
    COARSEN_(words) words;
#pragma unroll
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++) {
        if (seen.word[w] >> 32 != flag)
            return 0; // words of two values
        words.word[w] = (unsigned int)seen.word[w];
    }
    *value = COARSEN_(from_words)(words);
    return flag;
}

COARSEN_DEVICE unsigned int COARSEN_(look)(const unsigned long long *slot, COARSEN_(acc) * value)
{
    return COARSEN_(value_of)(COARSEN_(peek)(slot), value);
}

COARSEN_DEVICE COARSEN_(acc) COARSEN_(collect)(unsigned long long *slot)
{
    volatile unsigned long long *const word_of_slot = slot;
    COARSEN_(words) words;
    for (unsigned int w = 0; w < COARSEN_(words_of_slot); w++) {
        unsigned long long flagged;
        do
            flagged = word_of_slot[w];
        while (flagged >> 32 == 0);
        if (flagged >> 32 != 1)
            __trap(); // the slot was not empty: the scratch was not made ready
        words.word[w] = (unsigned int)flagged;
        word_of_slot[w] = 0;
    }
    return COARSEN_(from_words)(words);
}
#endif

#define COARSEN_END
#include "../base.h"

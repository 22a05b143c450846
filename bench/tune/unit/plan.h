// SPDX-License-Identifier: MIT
//
// What the tuner asks of a unit, and what the unit answers. The same bytes on both sides: in the
// tuner (C), in the unit on the GPU (NVRTC) and in the unit on simt (g++).

#ifndef TUNE_PLAN_H
#define TUNE_PLAN_H

enum {
    PLAN_SIZES = 4,
    PLAN_BUFFERS = 8,
    PLAN_LAUNCHES = 32,
    PLAN_ARGUMENTS = 32,
    PLAN_BYTES = 1024,
    PLAN_NAME = 128
};

typedef struct {
    char kernel[PLAN_NAME];
    unsigned int threads;
    unsigned long long shared_bytes;
    int blocks; // that a multiprocessor holds; 0 where it was asked and is not known
} plan_occupancy;

typedef struct {
    char kernel[PLAN_NAME]; // "": a memset of the bytes at `to` to value, or a copy to there
    unsigned int grid[3], block[3];
    unsigned int cluster[3];   // cluster[0] is 0 where the launch has none
    int cooperative, overlaps; // overlaps: it may begin while the one before it runs
    unsigned long long shared_bytes;
    unsigned long long to, from, bytes; // from: 0 for a memset
    int value;
    int arguments;
    unsigned short offset[PLAN_ARGUMENTS]; // of each, in the bytes below
    unsigned char argument[PLAN_BYTES];
} plan_launch;

typedef struct {
    // Asked.
    unsigned long long size[PLAN_SIZES], buffer[PLAN_BUFFERS];
    int run; // 0: only count[], item[], most[] and work are wanted
    int processors, shared_limit, cache_bytes; // of the device; the last: of L2
    int occupancies; // what is known of occupancy, and what was asked besides
    plan_occupancy occupancy[PLAN_LAUNCHES];

    // Answered.
    unsigned long long count[PLAN_BUFFERS], item[PLAN_BUFFERS]; // elements, and bytes of one
    unsigned long long most[PLAN_BUFFERS];                      // the last of numbers that rise
    double work;
    double tolerance; // of a floating-point element; < 0: 1e-5 of the greatest
    int status;       // a cudaError_t, as the launcher returned it
    int launches;     // -1: there were more than fit
    plan_launch launch[PLAN_LAUNCHES];
} plan_record;

#endif

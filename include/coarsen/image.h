// SPDX-License-Identifier: MIT
//
// coarsen/image.h: images of 8-bit samples: a blur if COARSEN_RADIUS is defined, otherwise RGB to
// gray. Use this one. The manuals are the top comments of the rungs that it takes.
//
//     #define COARSEN_NAME gray
//     #include <coarsen/image.h>
//
//     #define COARSEN_NAME     blur
//     #define COARSEN_RADIUS   3
//     #define COARSEN_CHANNELS 3
//     #include <coarsen/image.h>
//
//     size_t width = 640, height = 480;
//     const unsigned char *pixels = (const unsigned char *)in;
//     gray_launch(pixels, 3 * width, (unsigned char *)out, width, width, height, stream);
//     blur_launch(pixels, 3 * width, (unsigned char *)out, 3 * width, width, height, stream);
//
// The ladders, one file per rung in image/, from the finest grain to the coarsest:
//     grayscale_single.h      one pixel per thread
//     grayscale_coarsened.h   + COARSE_FACTOR pixels per thread, BLOCK_DIM apart
//     grayscale_vectorized.h  + 16 neighbours, 16 bytes per access: taken
//
//     blur_single.h           one sample per thread, which adds up its whole box
//     blur_coarsened.h        + COARSE_FACTOR samples down a column, each box made from the last
//     blur_tiled.h            + the block's tile with its halo in shared memory: for radius 8 to 31
//     blur_rolling.h          + 16 columns per thread, their sums in registers: for radius 1 to 7
//
// Why those: they are the fastest at every size measured. Coarsening saves no work in grayscale,
// only instructions and waiting. In a blur it saves nearly all of the work, because neighbours
// share nearly all of their boxes.

#ifndef COARSEN_RADIUS
#include "image/grayscale_vectorized.h"
#elif COARSEN_RADIUS > 7
#include "image/blur_tiled.h"
#else
#include "image/blur_rolling.h"
#endif

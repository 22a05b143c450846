// SPDX-License-Identifier: MIT
//
// coarsen/image.h: pictures of 8-bit samples, to gray or blurred. This is the rung to use: a blur where
// COARSEN_RADIUS is defined, and RGB to gray where it is not. The rungs' top comments are the manuals of
// parameters, arguments and errors.
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
//     gray_launch((const unsigned char *)in, (unsigned char *)out, width, height, stream);
//     blur_launch((const unsigned char *)in, (unsigned char *)out, width, height, stream);
//
// The ladders, each rung in a file of its own under image/, from the finest grain to the coarsest:
//
//     grayscale_single.h      one pixel a thread
//     grayscale_coarsened.h   + COARSE_FACTOR of them, BLOCK_DIM apart
//     grayscale_vectorized.h  + 16 neighbours, 16 bytes an access: the one taken
//
//     blur_single.h           one sample a thread, its whole box added up
//     blur_coarsened.h        + COARSE_FACTOR of them down a column, each box made from the last
//     blur_tiled.h            + the block's tile, with its halo, in shared memory: taken for a radius
//                             of 8 to 31
//     blur_rolling.h          + 16 columns a thread, their sums rolling down the rows in registers:
//                             taken for a radius of 1 to 7
//
// Why those: they are the fastest at every size measured. Coarsening saves grayscale no work, only
// instructions and waiting; a blur it saves nearly all of its work, for neighbours share nearly all of
// their boxes.

#ifndef COARSEN_RADIUS
#include "image/grayscale_vectorized.h"
#elif COARSEN_RADIUS > 7
#include "image/blur_tiled.h"
#else
#include "image/blur_rolling.h"
#endif

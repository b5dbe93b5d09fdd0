/* A frame on its way through the process, and its clock. */
#ifndef QUEUE_H
#define QUEUE_H

#include "offload.h"
#include "statistics.h"

#include <time.h>

#define SECOND ((int64_t)1000 * 1000 * 1000)
#define MILLISECOND ((int64_t)1000 * 1000)

struct frame {
    struct frame *next;   /* Of its line. */
    struct frame *queued; /* Of those that the thread has not seen. */
    struct line *line;
    enum g711 function;
    enum coded coded;
    int done;
    uint32_t number;
    size_t length; /* Of the input, and once it is done of the output. */
    int64_t given, started, finished;
    uint8_t input[OFFLOAD_LONGEST], output[OFFLOAD_LONGEST];
};

static inline int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

#endif

/* What became of the frames, for the file that is written at the end. */
#ifndef STATISTICS_H
#define STATISTICS_H

#include "g711.h"

#include <stdint.h>

enum coded { CODED_BY_DSP, CODED_HERE, CODED_LATE };

/* A frame that came out: who coded it, and when it was given, sent, found coded and taken, in
   nanoseconds of the monotonic clock, which all processes of a machine share; 0: nobody took it. */
struct record {
    enum g711 function;
    enum coded coded;
    uint32_t number;
    int64_t given, started, finished, taken;
};

/* Takes a record in. For one thread at a time. */
void statistics_add(const struct record *record);

/* How often a DSP was linked, and how often it was lost. */
void statistics_found(void);
void statistics_lost(void);

/* Writes the file, and begins anew. 0, or -1 with errno. */
int statistics_write(const char *path, const char *dsp, const char *strategy);

#endif

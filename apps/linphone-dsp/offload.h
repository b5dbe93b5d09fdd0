/*
 * Frames of sound that a DSP codes, from threads that must not wait.
 *
 * A line takes frames for one of the functions of g711.h and gives the coded frames back in the
 * same order. A thread of the process sends them to the DSP, which is another process, and collects
 * what comes back:
 *
 *   thread of a filter          thread of the process            the DSP
 *
 *     line_give ── queue, wake ──► narrows_start ── flow ──────► g711.encode.mu
 *     line_take ◄── done, in order ── narrows_finish_next ◄─────
 *
 * A frame is coded here if no DSP is linked, if it has no room, or if it does not answer within
 * OFFLOAD_PATIENCE: so every frame comes out, and none later than that.
 */
#ifndef OFFLOAD_H
#define OFFLOAD_H

#include "g711.h"

#include <stdint.h>

/* The longest frame, in bytes: 140 ms of samples. */
#define OFFLOAD_LONGEST 2240
/* Milliseconds after which a frame is coded here although the DSP is there. Two looks at the
   longest interval of the published table, 20 ms, are far below it; a gap of it is hardly heard. */
#define OFFLOAD_PATIENCE 60

struct offload_settings {
    const char *dsp;        /* The name of the DSP's node; NULL: all frames are coded here. */
    const char *strategy;   /* How calls travel, by interrupt (also if NULL), poll=TIME or
                               timer=TIME. */
    const char *statistics; /* The file that offload_stop writes; NULL is none. */
    void (*log)(const char *sentence);
};

/* Starts the thread, if there is a DSP to look for. 0, or -1 after a sentence to the log. */
int offload_start(const struct offload_settings *settings);

/* Codes what is under way, ends the thread, and writes the statistics. */
void offload_stop(void);

struct line;

/* A line of frames; NULL if there is no memory. */
struct line *line_open(enum g711 function);

/* Waits for what is under way, at most OFFLOAD_PATIENCE, and closes it. */
void line_close(struct line *line);

/* Gives a frame, with a number for the statistics. Never waits for the DSP. A frame for which there
   is no memory, or which is too long, is dropped: -1. */
int line_give(struct line *line, const void *frame, size_t length, uint32_t number);

/* The next coded frame, or 0 if there is none yet. */
size_t line_take(struct line *line, void *frame, size_t room, uint32_t *number);

#endif

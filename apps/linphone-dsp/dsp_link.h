/*
 * The link to the DSP, as the coding thread has it. All of it is for that thread alone, except
 * dsp_configure, which comes before it.
 */
#ifndef DSP_LINK_H
#define DSP_LINK_H

#include "queue.h"

/* Which DSP, and how calls travel. 0, or -1 after a sentence to the log. */
int dsp_configure(const char *name, const char *strategy, void (*log)(const char *));

int dsp_is_linked(void);

/* Looks for the DSP, or opens a flow to one more of its functions: frames are seen to in between. 1
   if there is more to do at once. */
int dsp_hunt(void);

/* Starts a call with a frame; 0 if it has to be coded here. */
int dsp_send(struct frame *frame);

/* What becomes of a frame: its output; NULL if the DSP did not answer in time, or is gone. */
typedef void (*dsp_done)(struct frame *frame, const void *output, size_t length);

/* Collects what has come back, and gives up what is late. When it is to be called again. */
int64_t dsp_collect(dsp_done done);

/* Before a sleep: 0 if there is something already. Sets the descriptor to sleep on, if any. */
int dsp_arm(int *descriptor);
void dsp_disarm(void);

/* Gives up what is under way, and closes the link and the node. */
void dsp_close(dsp_done done);

#endif

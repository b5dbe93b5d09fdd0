/*
 * Speech in eight bits a sample, after ITU-T Recommendation G.711.
 *
 * Each function turns a frame of samples of 16 bits, in this machine's order, into codes, or back.
 * It returns how many bytes it wrote; more than room, and nothing written, if they do not fit or
 * the frame has half a sample. Names and signature are those of functions of a workload's library.
 */
#ifndef G711_H
#define G711_H

#include <stddef.h>

size_t g711_encode_mu(const void *samples, size_t length, void *codes, size_t room);
size_t g711_decode_mu(const void *codes, size_t length, void *samples, size_t room);
size_t g711_encode_a(const void *samples, size_t length, void *codes, size_t room);
size_t g711_decode_a(const void *codes, size_t length, void *samples, size_t room);

/* The four of them, by their names at a DSP. */
enum g711 { G711_ENCODE_MU, G711_DECODE_MU, G711_ENCODE_A, G711_DECODE_A, G711_ALL };

struct g711_function {
    const char *name;
    size_t (*run)(const void *, size_t, void *, size_t);
};

extern const struct g711_function g711_functions[G711_ALL];

#endif

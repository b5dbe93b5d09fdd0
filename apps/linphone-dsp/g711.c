#include "g711.h"

#include <stdint.h>
#include <string.h>

/* The laws invert bits on the line: A-law every other one, mu-law all but the sign, which is set
   for positive samples in both. */
enum { SIGN = 0x80, EVEN_BITS = 0x55, MU_BIAS = 33, MU_LOUDEST = 0x1fff };

/* A negative sample -1 - x has the code of x with the other sign. */
static unsigned magnitude(int16_t sample)
{
    return (unsigned)(sample < 0 ? -1 - sample : sample);
}

/* How many bits from the highest that is set. */
static unsigned bits(unsigned value)
{
    unsigned count = 0;
    while (value >> count)
        count++;
    return count;
}

static uint8_t mu(int16_t sample)
{
    unsigned biased = (magnitude(sample) >> 2) + MU_BIAS, segment;
    if (biased > MU_LOUDEST)
        biased = MU_LOUDEST;
    segment = bits(biased) - 6;
    return (uint8_t)~((sample < 0 ? SIGN : 0u) | segment << 4 | (biased >> (segment + 1) & 15));
}

static int16_t mu_back(uint8_t code)
{
    unsigned plain = (uint8_t)~code, segment = plain >> 4 & 7;
    int value = (int)((((plain & 15) << 3) + 4 * MU_BIAS) << segment) - 4 * MU_BIAS;
    return (int16_t)(plain & SIGN ? -value : value);
}

static uint8_t a(int16_t sample)
{
    /* The two lowest segments have equal steps. */
    unsigned steps = magnitude(sample) >> 4, length = bits(steps);
    unsigned segment = length > 4 ? length - 4 : 0;
    unsigned within = steps >> (segment > 0 ? segment - 1 : 0) & 15;
    return (uint8_t)(((sample < 0 ? 0u : SIGN) | segment << 4 | within) ^ EVEN_BITS);
}

static int16_t a_back(uint8_t code)
{
    unsigned plain = code ^ EVEN_BITS, segment = plain >> 4 & 7, within = (plain & 15) << 4;
    int value = (int)(segment == 0 ? within + 8 : (within + 0x108) << (segment - 1));
    return (int16_t)(plain & SIGN ? value : -value);
}

static size_t encode(uint8_t (*code)(int16_t), const void *samples, size_t length, void *codes,
                     size_t room)
{
    const char *from = (const char *)samples;
    uint8_t *to = (uint8_t *)codes;
    int16_t sample;
    size_t i, count = length / sizeof sample;
    if (length % sizeof sample != 0 || count > room)
        return room + 1;
    for (i = 0; i < count; i++) {
        /* What comes out of shared memory need not be aligned. */
        memcpy(&sample, from + i * sizeof sample, sizeof sample);
        to[i] = code(sample);
    }
    return count;
}

static size_t decode(int16_t (*back)(uint8_t), const void *codes, size_t length, void *samples,
                     size_t room)
{
    const uint8_t *from = (const uint8_t *)codes;
    char *to = (char *)samples;
    int16_t sample;
    size_t i;
    if (length > room / sizeof sample)
        return room + 1;
    for (i = 0; i < length; i++) {
        sample = back(from[i]);
        memcpy(to + i * sizeof sample, &sample, sizeof sample);
    }
    return length * sizeof sample;
}

size_t g711_encode_mu(const void *samples, size_t length, void *codes, size_t room)
{
    return encode(mu, samples, length, codes, room);
}

size_t g711_decode_mu(const void *codes, size_t length, void *samples, size_t room)
{
    return decode(mu_back, codes, length, samples, room);
}

size_t g711_encode_a(const void *samples, size_t length, void *codes, size_t room)
{
    return encode(a, samples, length, codes, room);
}

size_t g711_decode_a(const void *codes, size_t length, void *samples, size_t room)
{
    return decode(a_back, codes, length, samples, room);
}

const struct g711_function g711_functions[G711_ALL] = {
    {"g711.encode.mu", g711_encode_mu},
    {"g711.decode.mu", g711_decode_mu},
    {"g711.encode.a", g711_encode_a},
    {"g711.decode.a", g711_decode_a},
};

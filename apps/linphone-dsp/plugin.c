/*
 * G.711 for mediastreamer2, on a DSP: encoders and decoders for PCMU and PCMA that take the place
 * of its own. README.md has the environment variables.
 *
 * All are pumps: they are called at every tick of 10 ms, and hand on what has come back since the
 last. */
#include "offload.h"

#include <mediastreamer2/msfilter.h>
#include <mediastreamer2/msfactory.h>
#include <stdio.h>
#include <stdlib.h>

/* Samples of 10 ms, the unit of a packet's length, and how many of these a packet has at most. */
enum { TICK = 80, MOST_TICKS = 14 };

struct filter {
    struct line *line;
    MSBufferizer *samples; /* Of an encoder: what makes no whole frame yet. */
    int ticks;             /* Of an encoder: how many tens of milliseconds a packet has. */
    uint32_t given, taken; /* Of an encoder: frames. */
};

static void say(const char *sentence)
{
    ms_warning("linphone-dsp: %s", sentence);
    /* linphonec keeps its log to itself unless it is asked for it. */
    fprintf(stderr, "linphone-dsp: %s\n", sentence);
}

static void open_filter(MSFilter *f, enum g711 function, int encodes)
{
    struct filter *filter = ms_new0(struct filter, 1);
    filter->line = line_open(function);
    filter->ticks = 2;
    if (encodes)
        filter->samples = ms_bufferizer_new();
    f->data = filter;
}

static void open_encode_mu(MSFilter *f)
{
    open_filter(f, G711_ENCODE_MU, 1);
}

static void open_encode_a(MSFilter *f)
{
    open_filter(f, G711_ENCODE_A, 1);
}

static void open_decode_mu(MSFilter *f)
{
    open_filter(f, G711_DECODE_MU, 0);
}

static void open_decode_a(MSFilter *f)
{
    open_filter(f, G711_DECODE_A, 0);
}

static void close_filter(MSFilter *f)
{
    struct filter *filter = (struct filter *)f->data;
    line_close(filter->line);
    if (filter->samples != NULL)
        ms_bufferizer_destroy(filter->samples);
    ms_free(filter);
    f->data = NULL;
}

static void encode(MSFilter *f)
{
    struct filter *filter = (struct filter *)f->data;
    size_t bytes = (size_t)filter->ticks * TICK * 2, length;
    uint8_t frame[OFFLOAD_LONGEST];
    uint32_t number;
    if (filter->line == NULL) {
        ms_queue_flush(f->inputs[0]);
        return;
    }
    ms_bufferizer_put_from_queue(filter->samples, f->inputs[0]);
    while (ms_bufferizer_get_avail(filter->samples) >= bytes &&
           ms_bufferizer_read(filter->samples, frame, bytes) == bytes)
        line_give(filter->line, frame, bytes, filter->given++);
    while ((length = line_take(filter->line, frame, sizeof frame, &number)) > 0) {
        mblk_t *packet = allocb(length, 0);
        memcpy(packet->b_wptr, frame, length);
        packet->b_wptr += length;
        /* A packet follows where the last ended, also if a frame between them was dropped. */
        mblk_set_timestamp_info(packet, filter->taken);
        filter->taken += (uint32_t)length;
        ms_queue_put(f->outputs[0], packet);
    }
}

static void decode(MSFilter *f)
{
    struct filter *filter = (struct filter *)f->data;
    uint8_t frame[OFFLOAD_LONGEST];
    mblk_t *packet;
    size_t length;
    uint32_t number;
    while ((packet = ms_queue_get(f->inputs[0])) != NULL) {
        msgpullup(packet, (size_t)-1);
        /* What comes from the network may be longer than any packet of this codec. */
        if (filter->line != NULL)
            while (packet->b_rptr < packet->b_wptr) {
                size_t left = (size_t)(packet->b_wptr - packet->b_rptr);
                size_t piece = left < OFFLOAD_LONGEST / 2 ? left : OFFLOAD_LONGEST / 2;
                line_give(filter->line, packet->b_rptr, piece, mblk_get_cseq(packet));
                packet->b_rptr += piece;
            }
        freemsg(packet);
    }
    if (filter->line == NULL)
        return;
    while ((length = line_take(filter->line, frame, sizeof frame, &number)) > 0) {
        mblk_t *samples = allocb(length, 0);
        memcpy(samples->b_wptr, frame, length);
        samples->b_wptr += length;
        mblk_set_cseq(samples, number);
        ms_queue_put(f->outputs[0], samples);
    }
}

/* "ptime:20" of the session description, or "ptime=20" of a codec's parameters. */
static int set_length(MSFilter *f, const char *text)
{
    struct filter *filter = (struct filter *)f->data;
    const char *found = text == NULL ? NULL : strstr(text, "ptime");
    int ticks;
    /* Not the longest that the other side takes. */
    if (found == NULL || (found >= text + 3 && strncmp(found - 3, "max", 3) == 0) ||
        (found[5] != ':' && found[5] != '='))
        return 0;
    ticks = atoi(found + 6) / 10;
    if (ticks >= 1)
        filter->ticks = ticks < MOST_TICKS ? ticks : MOST_TICKS;
    return 0;
}

static int add_text(MSFilter *f, void *text)
{
    return set_length(f, (const char *)text);
}

static int set_ptime(MSFilter *f, void *milliseconds)
{
    struct filter *filter = (struct filter *)f->data;
    int ticks = *(const int *)milliseconds / 10;
    if (ticks < 1 || ticks > MOST_TICKS)
        return -1;
    filter->ticks = ticks;
    return 0;
}

static int get_ptime(MSFilter *f, void *milliseconds)
{
    *(int *)milliseconds = ((const struct filter *)f->data)->ticks * 10;
    return 0;
}

static int get_rate(MSFilter *f, void *rate)
{
    (void)f;
    *(int *)rate = 8000;
    return 0;
}

static int get_channels(MSFilter *f, void *channels)
{
    (void)f;
    *(int *)channels = 1;
    return 0;
}

/* Lost packets are concealed by the filter that mediastreamer2 puts behind. */
static int have_plc(MSFilter *f, void *answer)
{
    (void)f;
    *(int *)answer = 0;
    return 0;
}

static MSFilterMethod encoder_methods[] = {
    {MS_FILTER_ADD_ATTR, add_text},
    {MS_FILTER_ADD_FMTP, add_text},
    {MS_AUDIO_ENCODER_SET_PTIME, set_ptime},
    {MS_AUDIO_ENCODER_GET_PTIME, get_ptime},
    {MS_FILTER_GET_SAMPLE_RATE, get_rate},
    {MS_FILTER_GET_NCHANNELS, get_channels},
    {0, NULL},
};

static MSFilterMethod decoder_methods[] = {
    {MS_FILTER_GET_SAMPLE_RATE, get_rate},
    {MS_FILTER_GET_NCHANNELS, get_channels},
    {MS_DECODER_HAVE_PLC, have_plc},
    {0, NULL},
};

#define FILTER(variable, title, kind, format, opens, works, table)                                \
    static MSFilterDesc variable = {                                                              \
        .id = MS_FILTER_PLUGIN_ID,                                                                \
        .name = title,                                                                            \
        .text = "G.711 on a DSP, by Narrows",                                                     \
        .category = kind,                                                                         \
        .enc_fmt = format,                                                                        \
        .ninputs = 1,                                                                             \
        .noutputs = 1,                                                                            \
        .init = opens,                                                                            \
        .process = works,                                                                         \
        .uninit = close_filter,                                                                   \
        .methods = table,                                                                         \
        .flags = MS_FILTER_IS_PUMP,                                                               \
    }

FILTER(encoder_mu, "NarrowsMuEnc", MS_FILTER_ENCODER, "PCMU", open_encode_mu, encode,
       encoder_methods);
FILTER(decoder_mu, "NarrowsMuDec", MS_FILTER_DECODER, "PCMU", open_decode_mu, decode,
       decoder_methods);
FILTER(encoder_a, "NarrowsAEnc", MS_FILTER_ENCODER, "PCMA", open_encode_a, encode,
       encoder_methods);
FILTER(decoder_a, "NarrowsADec", MS_FILTER_DECODER, "PCMA", open_decode_a, decode,
       decoder_methods);

static int loaded;

__attribute__((visibility("default"))) void libmsnarrows_init(MSFactory *factory);

void libmsnarrows_init(MSFactory *factory)
{
    struct offload_settings settings = {
        .dsp = getenv("NARROWS_DSP"),
        .strategy = getenv("NARROWS_DSP_STRATEGY"),
        .statistics = getenv("NARROWS_DSP_STATISTICS"),
        .log = say,
    };
    if (settings.dsp != NULL && *settings.dsp == '\0')
        settings.dsp = NULL;
    ms_factory_register_filter(factory, &encoder_mu);
    ms_factory_register_filter(factory, &decoder_mu);
    ms_factory_register_filter(factory, &encoder_a);
    ms_factory_register_filter(factory, &decoder_a);
    /* A program may have several factories, and has one thread. */
    if (!loaded)
        offload_start(&settings);
    loaded = 1;
}

/* When the client ends, or unloads the plugin. */
__attribute__((destructor)) static void unload(void)
{
    if (loaded)
        offload_stop();
    loaded = 0;
}

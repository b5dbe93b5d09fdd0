#include "statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames that are kept one by one, half an hour of a call; all are counted. */
#define KEPT ((size_t)180000)

static struct {
    uint64_t counts[G711_ALL][CODED_LATE + 1], found, lost;
    struct record *records;
    size_t used, room;
} all;

static const char *const words[] = {"dsp", "here", "late"};

void statistics_add(const struct record *record)
{
    all.counts[record->function][record->coded]++;
    if (all.used == all.room && all.room < KEPT) {
        size_t room = all.room == 0 ? 1024 : all.room * 2;
        struct record *more = realloc(all.records, room * sizeof *more);
        if (more == NULL)
            return;
        all.records = more;
        all.room = room;
    }
    if (all.used < all.room)
        all.records[all.used++] = *record;
}

void statistics_found(void)
{
    all.found++;
}

void statistics_lost(void)
{
    all.lost++;
}

int statistics_write(const char *path, const char *dsp, const char *strategy)
{
    FILE *file = fopen(path, "w");
    size_t i;
    int wrong;
    if (file == NULL)
        return -1;
    fprintf(file, "dsp %s\nstrategy %s\n", dsp == NULL ? "-" : dsp, strategy);
    fprintf(file, "found %" PRIu64 "\nlost %" PRIu64 "\n", all.found, all.lost);
    for (i = 0; i < G711_ALL; i++) {
        const uint64_t *counts = all.counts[i];
        fprintf(file, "function %s dsp %" PRIu64 " here %" PRIu64 " late %" PRIu64 "\n",
                g711_functions[i].name, counts[CODED_BY_DSP], counts[CODED_HERE],
                counts[CODED_LATE]);
    }
    for (i = 0; i < all.used; i++) {
        const struct record *one = &all.records[i];
        fprintf(file, "frame %s %s %" PRIu32 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                g711_functions[one->function].name, words[one->coded], one->number, one->given,
                one->started, one->finished, one->taken);
    }
    wrong = ferror(file);
    /* What comes after it begins anew. */
    free(all.records);
    memset(&all, 0, sizeof all);
    return fclose(file) != 0 || wrong ? -1 : 0;
}

/*
 * w2.c - 1,000 runs of 8 steps that do nothing, 64 at a time, in process (runs.h).  Admission
 * happens in the batch of the submission.
 */
#include "bench/raw.h"
#include "bench/runs.h"

enum { AT_ONCE = 64 };

static void measure_raw(struct raw *raw, int64_t total, struct figure *figure)
{
    struct raw_runs runs = {.runs = total,
                            .at_once = AT_ONCE,
                            .each = (int64_t)(figure->batch + 0.5),
                            .payload = runs_payload()};
    double rate = raw_run(raw, &runs);
    if (rate > figure->raw) {
        figure->raw = rate;
        figure->raw_batch = (double)runs.each;
    }
}

void w2_run(const struct bench *bench)
{
    report_group(bench->report, "W2  1,000 runs of 8 steps that do nothing");
    report_note(bench->report, "Steps: admit, prepare, hydrate, agent, verify, judge, publish, "
                               "clean; 15 commands, 35 events, 83 writes a run.");
    struct runs_wish wish = {.total = bench->quick ? 128 : 1000, .at_once = AT_ONCE};
    char dir[BENCH_PATH_BYTES], url[BENCH_URL_BYTES];
    bench_dir(bench, "w2", dir);
    bench_sqlite_url(dir, url);
    struct runs *runs = runs_open(&(struct plant_setup){.url = url});
    struct raw *raw = raw_open(bench, "w2-raw");
    struct figure figure = {.group = "W2",
                            .what = "submit to cleaned up",
                            .unit = "runs/s",
                            .how = "in process, 64 at a time",
                            .aim = 2800};
    for (int i = 0; i < bench->repeat; i++) {
        runs_whole(runs, &wish, &figure);
        measure_raw(raw, wish.total, &figure);
    }
    raw_close(raw);
    runs_close(runs);
    report_add(bench->report, &figure);
}

#include "bench/report.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/mem.h"
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NOTES_MAX = 64, NOTE_BYTES = 256, JSON_BYTES_MAX = 1024 * 1024 };
#define BUSY_LOAD 0.5

struct report {
    struct place place;
    struct figure figures[FIGURES_MAX];
    size_t count;
    char notes[NOTES_MAX][NOTE_BYTES];
    size_t note_count;
};

struct report *report_new(const struct place *place)
{
    struct report *report = mem_alloc(sizeof *report);
    report->place = *place;
    printf("drover %s on %s, %ld cores; data on %s\n", DROVER_VERSION, place->cpu, place->cores,
           place->filesystem);
    printf("%s; one flush of 4 KB takes %.2f ms; best of %d%s\n", place->durability,
           place->flush_ms, place->repeat, place->quick ? "; QUICK: too short to compare" : "");
    if (place->load > BUSY_LOAD)
        printf(
            "DISTURBED: others keep the machine busy (load %.1f); compare within this run only\n",
            place->load);
    return report;
}

void report_free(struct report *report)
{
    mem_free(report);
}

void report_group(struct report *report, const char *title)
{
    (void)report;
    printf("\n%-62s %10s %10s %-7s %9s %4s %10s %6s %6s %8s %7s\n", title, "best", "median", "",
           "aim", "", "raw limit", "of it", "batch", "flush/k", "cpu us");
    (void)fflush(stdout);
}

void report_note(struct report *report, const char *fmt, ...)
{
    assert(report->note_count < NOTES_MAX);
    char *note = report->notes[report->note_count++];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(note, NOTE_BYTES, fmt, args);
    va_end(args);
    printf("  %s\n", note);
    (void)fflush(stdout);
}

/* ---- figures ---- */

double figure_best(const struct figure *figure)
{
    assert(figure->count > 0);
    double best = figure->values[0];
    for (size_t i = 1; i < figure->count; i++)
        best = figure->better == MORE_IS_BETTER ? fmax(best, figure->values[i])
                                                : fmin(best, figure->values[i]);
    return best;
}

static double figure_median(const struct figure *figure)
{
    double values[BENCH_REPEAT_MAX];
    memcpy(values, figure->values, sizeof values);
    return bench_percentile(values, figure->count, 0.5);
}

static bool aim_reached(const struct figure *figure)
{
    double best = figure_best(figure);
    return figure->better == MORE_IS_BETTER ? best >= figure->aim : best <= figure->aim;
}

/* ---- the table ---- */

enum { CELL_BYTES = 32 };

/* Three digits that mean something; thousands stand apart. */
static const char *number(char to[CELL_BYTES], double value)
{
    if (value >= 10000)
        (void)snprintf(to, CELL_BYTES, "%lld,%03lld", (long long)value / 1000,
                       (long long)value % 1000);
    else if (value >= 100)
        (void)snprintf(to, CELL_BYTES, "%.0f", value);
    else if (value >= 10)
        (void)snprintf(to, CELL_BYTES, "%.1f", value);
    else
        (void)snprintf(to, CELL_BYTES, "%.2f", value);
    return to;
}

static const char *number_or_blank(char to[CELL_BYTES], double value)
{
    to[0] = '\0';
    return value > 0 ? number(to, value) : to;
}

static const char *verdict(const struct figure *figure)
{
    if (figure->aim <= 0)
        return "";
    return aim_reached(figure) ? "ok" : "no";
}

static void print_figure(const struct figure *figure)
{
    char best[CELL_BYTES], median[CELL_BYTES], aim[CELL_BYTES], raw[CELL_BYTES], batch[CELL_BYTES],
        flushes[CELL_BYTES], cpu[CELL_BYTES], share[CELL_BYTES] = "";
    if (figure->raw > 0)
        (void)snprintf(share, sizeof share, "%.0f%%", 100 * figure_best(figure) / figure->raw);
    printf("  %-32s %-27s %10s %10s %-7s %9s %4s %10s %6s %6s %8s %7s\n", figure->what, figure->how,
           number(best, figure_best(figure)), number(median, figure_median(figure)), figure->unit,
           number_or_blank(aim, figure->aim), verdict(figure), number_or_blank(raw, figure->raw),
           share, number_or_blank(batch, figure->batch), number_or_blank(flushes, figure->flushes),
           number_or_blank(cpu, figure->cpu_us));
    (void)fflush(stdout);
}

void report_add(struct report *report, const struct figure *figure)
{
    assert(report->count < FIGURES_MAX);
    report->figures[report->count++] = *figure;
    print_figure(figure);
}

/* ---- JSON ---- */

static void write_place(struct jw *jw, const struct place *place)
{
    jw_kstr(jw, "version", DROVER_VERSION);
    jw_kstr(jw, "cpu", place->cpu);
    jw_kint(jw, "cores", place->cores);
    jw_kstr(jw, "filesystem", place->filesystem);
    jw_kstr(jw, "durability", place->durability);
    jw_kreal(jw, "flushMs", place->flush_ms);
    jw_kreal(jw, "loadBefore", place->load);
    jw_kint(jw, "repeat", place->repeat);
    jw_kbool(jw, "quick", place->quick);
}

static void write_optional(struct jw *jw, const char *key, double value)
{
    if (value > 0)
        jw_kreal(jw, key, value);
}

static void write_figure(struct jw *jw, const struct figure *figure)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "group", figure->group);
    jw_kstr(jw, "what", figure->what);
    jw_kstr(jw, "how", figure->how);
    jw_kstr(jw, "unit", figure->unit);
    jw_kstr(jw, "better", figure->better == MORE_IS_BETTER ? "more" : "less");
    jw_kreal(jw, "best", figure_best(figure));
    jw_kreal(jw, "median", figure_median(figure));
    jw_key(jw, "all");
    jw_begin(jw, '[');
    for (size_t i = 0; i < figure->count; i++)
        jw_real(jw, figure->values[i]);
    jw_end(jw, ']');
    if (figure->aim > 0) {
        jw_kreal(jw, "aim", figure->aim);
        jw_kbool(jw, "reached", aim_reached(figure));
    }
    write_optional(jw, "rawLimit", figure->raw);
    write_optional(jw, "rawBatch", figure->raw_batch);
    write_optional(jw, "ofRawLimit", figure->raw > 0 ? figure_best(figure) / figure->raw : 0);
    write_optional(jw, "commandsPerCommit", figure->batch);
    write_optional(jw, "flushesPerThousand", figure->flushes);
    write_optional(jw, "cpuUsPerOperation", figure->cpu_us);
    jw_end(jw, '}');
}

static void write_json(const struct report *report, const char *path)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, JSON_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    write_place(&jw, &report->place);
    jw_key(&jw, "figures");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < report->count; i++)
        write_figure(&jw, &report->figures[i]);
    jw_end(&jw, ']');
    jw_key(&jw, "notes");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < report->note_count; i++)
        jw_str(&jw, report->notes[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    buf_addc(&buf, '\n');
    assert(!buf.overflow);
    struct err err = {0};
    bench_must(file_write_durable(path, buf.data, buf.len, 0644, &err), &err, path);
}

void report_close(struct report *report, const char *json_path)
{
    int aims = 0, reached = 0;
    for (size_t i = 0; i < report->count; i++) {
        if (report->figures[i].aim <= 0)
            continue;
        aims++;
        reached += aim_reached(&report->figures[i]) ? 1 : 0;
    }
    write_json(report, json_path);
    printf("\n%d of %d aims reached; figures in %s\n", reached, aims, json_path);
}

/*
 * log.c - structured logs.
 *
 *     {"time":"2026-07-03T12:00:00.500000Z","level":"warn","msg":"lease lost","epoch":3}
 *     12:00:00 WARN  lease lost  epoch=3
 *
 * A line is at most LINE_MAX_BYTES long and always whole: texts are cut at VALUE_MAX,
 * and a field that no longer fits is left out, marked by "truncated".
 */
#include "base/log.h"
#include "base/buf.h"
#include "base/jw.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* TAIL_MAX is kept free for what closes a line. */
enum { LINE_MAX_BYTES = 16 * 1024, TAIL_MAX = 64, VALUE_MAX = 2048 };
enum { TAP_OFF = LOG_FATAL + 1 };

static const char *const names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info",   [LOG_WARN] = "warn",
    [LOG_ERROR] = "error", [LOG_FATAL] = "fatal",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_options current = {.fd = STDERR_FILENO, .level = LOG_INFO};
/* Held to read while the tap runs; its level is read without it. */
static pthread_rwlock_t tap_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct log_tap tap;
static atomic_int tap_level = TAP_OFF;
static _Thread_local bool hidden;

static struct log_options options_now(void)
{
    (void)pthread_mutex_lock(&lock);
    struct log_options options = current;
    (void)pthread_mutex_unlock(&lock);
    return options;
}

void log_configure(const struct log_options *options)
{
    (void)pthread_mutex_lock(&lock);
    current = *options;
    (void)pthread_mutex_unlock(&lock);
}

void log_set_tap(const struct log_tap *next)
{
    (void)pthread_rwlock_wrlock(&tap_lock);
    tap = *next;
    atomic_store(&tap_level, next->line != NULL ? (int)next->level : TAP_OFF);
    (void)pthread_rwlock_unlock(&tap_lock);
}

void log_hide_thread(void)
{
    hidden = true;
}

static bool is_tapped(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&tap_level, memory_order_relaxed) && !hidden;
}

bool log_enabled(enum log_level level)
{
    return level >= options_now().level || is_tapped(level);
}

const char *log_level_name(enum log_level level)
{
    assert((size_t)level < COUNT_OF(names));
    return names[level];
}

bool log_level_parse(const char *name, enum log_level *ret_level)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_same(name, names[i])) {
            *ret_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

/* The length to print: at most VALUE_MAX, and not through the middle of a character. */
static size_t cut_len(const char *text)
{
    size_t len = strnlen(text, VALUE_MAX + 1);
    if (len <= VALUE_MAX)
        return len;
    len = VALUE_MAX;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static void json_line(struct buf *line, const struct log_line *of, const char *message)
{
    char time_text[TIME_TEXT_BYTES];
    struct jw jw = jw_to(line);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "time", time_format(time_text, of->time_us));
    jw_kstr(&jw, "level", names[of->level]);
    jw_key(&jw, "msg");
    jw_strn(&jw, message, cut_len(message));
    for (const struct log_field *fields = of->fields; fields->key != NULL; fields++) {
        size_t before = line->len;
        jw_key(&jw, fields->key);
        if (fields->text != NULL)
            jw_strn(&jw, fields->text, cut_len(fields->text));
        else
            jw_int(&jw, fields->number);
        if (line->len > LINE_MAX_BYTES - TAIL_MAX) {
            buf_cut(line, before);
            jw_kbool(&jw, "truncated", true);
            break;
        }
    }
    jw_end(&jw, '}');
}

/* Texts from outside must not control the terminal. */
static void add_printable(struct buf *line, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)text[i];
        size_t step = utf8_len(text + i, len - i);
        bool control = step == 0 || c < 0x20 || c == 0x7f ||
                       (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0);
        if (control)
            buf_addc(line, c == '\n' || c == '\t' ? ' ' : '?');
        else
            buf_add(line, text + i, step);
        i += step ? step : 1;
    }
}

static void add_human_field(struct buf *line, const struct log_field *field)
{
    buf_addf(line, "  %.64s=", field->key);
    if (field->text == NULL) {
        buf_addf(line, "%" PRId64, field->number);
        return;
    }
    bool quoted = *field->text == '\0' || strpbrk(field->text, " \t\n\"=") != NULL;
    buf_adds(line, quoted ? "\"" : "");
    add_printable(line, field->text, cut_len(field->text));
    buf_adds(line, quoted ? "\"" : "");
}

static void human_line(struct buf *line, const struct log_options *options, enum log_level level,
                       const char *message, const struct log_field *fields)
{
    static const char *const labels[] = {[LOG_DEBUG] = "DEBUG",
                                         [LOG_INFO] = "INFO ",
                                         [LOG_WARN] = "WARN ",
                                         [LOG_ERROR] = "ERROR",
                                         [LOG_FATAL] = "FATAL"};
    static const char *const colours[] = {[LOG_DEBUG] = "\033[2m",
                                          [LOG_INFO] = "\033[32m",
                                          [LOG_WARN] = "\033[33m",
                                          [LOG_ERROR] = "\033[31m",
                                          [LOG_FATAL] = "\033[1;31m"};
    bool colour = isatty(options->fd);
    time_t now = time(NULL);
    struct tm local;
    char clock_text[16] = "";
    if (localtime_r(&now, &local) != NULL)
        (void)strftime(clock_text, sizeof clock_text, "%H:%M:%S", &local);
    buf_addf(line, "%s %s%s%s ", clock_text, colour ? colours[level] : "", labels[level],
             colour ? "\033[0m" : "");
    add_printable(line, message, cut_len(message));
    for (; fields->key != NULL; fields++) {
        size_t before = line->len;
        add_human_field(line, fields);
        if (line->len > LINE_MAX_BYTES - TAIL_MAX) {
            buf_cut(line, before);
            buf_adds(line, "  truncated=true");
            break;
        }
    }
}

static void call_tap(const struct log_line *line)
{
    (void)pthread_rwlock_rdlock(&tap_lock);
    if (tap.line != NULL && line->level >= tap.level)
        tap.line(tap.ctx, line);
    (void)pthread_rwlock_unlock(&tap_lock);
}

static void print(const struct log_options *options, const struct log_line *of, const char *message)
{
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, (size_t)LINE_MAX_BYTES * 2);
    if (options->human)
        human_line(&line, options, of->level, message, of->fields);
    else
        buf_add(&line, of->json.at, of->json.len);
    buf_addc(&line, '\n');
    ssize_t done;
    do
        done = write(options->fd, line.data, line.len);
    while (done < 0 && errno == EINTR); /* Other errors cannot be reported anywhere. */
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    assert((size_t)level < COUNT_OF(names));
    struct log_options options = options_now();
    bool printed = level >= options.level, tapped = is_tapped(level);
    if (!printed && !tapped)
        return;
    int before = errno;
    struct clock clock = clock_real();
    struct log_line of = {.level = level, .time_us = clock_now_us(&clock), .fields = fields};
    CLEANUP(buf_release) struct buf json;
    buf_init(&json, (size_t)LINE_MAX_BYTES * 2);
    if (tapped || !options.human)
        json_line(&json, &of, message);
    of.json = buf_str(&json);
    if (printed)
        print(&options, &of, message);
    if (tapped)
        call_tap(&of);
    errno = before;
}

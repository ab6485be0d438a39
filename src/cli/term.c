#include "cli/term.h"
#include "base/clock.h"
#include "base/str.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS_DEFAULT = 80, COLUMNS_MIN = 40 };

static size_t terminal_columns(void)
{
    struct winsize size = {0};
    int64_t columns = 0;
    const char *given = getenv("COLUMNS");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    else if (given == NULL || !text_to_i64(given, &columns))
        columns = COLUMNS_DEFAULT;
    if (columns < COLUMNS_MIN)
        columns = COLUMNS_MIN;
    return columns > TERM_COLUMNS_MAX ? TERM_COLUMNS_MAX : (size_t)columns;
}

struct term term_open(bool no_color)
{
    struct clock clock = clock_real();
    struct term term = {.tty = isatty(STDOUT_FILENO) == 1, .now_us = clock_now_us(&clock)};
    const char *name = getenv("TERM");
    bool dumb = text_same(name, "dumb");
    term.color = term.tty && !dumb && !no_color && text_empty(getenv("NO_COLOR"));
    term.columns = term.tty ? terminal_columns() : SIZE_MAX;
    return term;
}

const char *term_on(const struct term *term, enum tone tone)
{
    static const char *const codes[] = {
        [TONE_PLAIN] = "",        [TONE_BOLD] = "\033[1m",   [TONE_DIM] = "\033[2m",
        [TONE_RED] = "\033[31m",  [TONE_GREEN] = "\033[32m", [TONE_YELLOW] = "\033[33m",
        [TONE_CYAN] = "\033[36m",
    };
    assert((unsigned)tone < COUNT_OF(codes));
    return term->color ? codes[tone] : "";
}

const char *term_off(const struct term *term, enum tone tone)
{
    return term->color && tone != TONE_PLAIN ? "\033[0m" : "";
}

enum tone term_status_tone(const char *status)
{
    static const struct {
        const char *status;
        enum tone tone;
    } table[] = {
        {"completed", TONE_GREEN}, {"merged", TONE_GREEN},
        {"approved", TONE_GREEN},  {"failed", TONE_RED},
        {"timed_out", TONE_RED},   {"rejected", TONE_RED},
        {"cancelled", TONE_DIM},   {"expired", TONE_DIM},
        {"closed", TONE_DIM},      {"pending", TONE_YELLOW},
        {"deferred", TONE_YELLOW}, {"awaiting_approval", TONE_YELLOW},
        {"submitted", TONE_PLAIN}, {"queued", TONE_PLAIN},
        {"succeeded", TONE_GREEN}, {"compensating", TONE_YELLOW},
        {"compensated", TONE_DIM}, {"stuck", TONE_RED},
        {"paused", TONE_YELLOW},   {"stopping", TONE_YELLOW},
        {"stopped", TONE_RED},     {"cancelling", TONE_YELLOW},
        {"refused", TONE_RED},     {"skipped", TONE_DIM},
        {"dropped", TONE_DIM},     {"waiting", TONE_PLAIN},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (text_same(table[i].status, status))
            return table[i].tone;
    }
    return TONE_CYAN; /* In progress. */
}

/* ---- width ---- */

struct span {
    uint32_t first, last;
};

static bool in_spans(uint32_t point, const struct span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (point >= spans[i].first && point <= spans[i].last)
            return true;
    }
    return false;
}

static size_t point_columns(uint32_t point)
{
    static const struct span none[] = {
        {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
        {0x064B, 0x065F}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2069},
        {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
    };
    static const struct span wide[] = {
        {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
        {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2E80, 0x303E},
        {0x3041, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
        {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
        {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
    };
    if (in_spans(point, none, COUNT_OF(none)))
        return 0;
    return in_spans(point, wide, COUNT_OF(wide)) ? 2 : 1;
}

/* One character off the front, made safe: what to print, and how wide it is. */
struct glyph {
    const char *at;
    size_t len; /* Bytes to print. */
    size_t columns;
    size_t taken; /* Bytes of the text; 0 at its end. */
};

static uint32_t decode(const char *at, size_t len)
{
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t point = (unsigned char)at[0] & first_bits[len];
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)at[i] & 0x3F);
    return point;
}

/* Control codes of terminals, and marks that change the direction of text. */
static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0) ||
           (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

static struct glyph glyph_of(const char *text)
{
    if (*text == '\0')
        return (struct glyph){.taken = 0};
    size_t len = utf8_len(text, strnlen(text, 4));
    if (len == 0)
        return (struct glyph){"?", 1, 1, 1};
    uint32_t point = decode(text, len);
    if (is_control(point))
        return (struct glyph){" ", 1, 1, len};
    return (struct glyph){text, len, point_columns(point), len};
}

size_t term_columns(const char *text)
{
    size_t columns = 0;
    for (struct glyph glyph = glyph_of(text); glyph.taken > 0; glyph = glyph_of(text)) {
        columns += glyph.columns;
        text += glyph.taken;
    }
    return columns;
}

void term_clean(struct buf *to, const char *text)
{
    term_fit(to, text, SIZE_MAX);
}

void term_fit(struct buf *to, const char *text, size_t columns)
{
    bool cut = columns != SIZE_MAX && term_columns(text) > columns;
    size_t room = cut && columns > 0 ? columns - 1 : columns;
    for (struct glyph glyph = glyph_of(text); glyph.taken > 0; glyph = glyph_of(text)) {
        if (glyph.columns > room)
            break;
        buf_add(to, glyph.at, glyph.len);
        room -= glyph.columns;
        text += glyph.taken;
    }
    if (cut && columns > 0)
        buf_adds(to, "\xE2\x80\xA6");
}

/* ---- times and sizes ---- */

char *term_ago(struct arena *arena, int64_t now_us, int64_t time_us)
{
    int64_t us = now_us - time_us;
    bool read_ahead = us < 0;
    if (read_ahead)
        us = -us;
    if (us < 2 * US_PER_SECOND)
        return arena_strdup(arena, read_ahead ? "now" : "just now");
    const char *unit = "d";
    int64_t count = us / US_PER_DAY;
    if (us < US_PER_MINUTE) {
        unit = "s";
        count = us / US_PER_SECOND;
    } else if (us < US_PER_HOUR) {
        unit = "min";
        count = us / US_PER_MINUTE;
    } else if (us < US_PER_DAY) {
        unit = "h";
        count = us / US_PER_HOUR;
    }
    return arena_printf(arena, "%s%lld %s%s", read_ahead ? "in " : "", (long long)count, unit,
                        read_ahead ? "" : " ago");
}

const char *term_time(const struct term *term, const char *rfc3339, struct arena *arena)
{
    int64_t time_us = 0;
    if (text_empty(rfc3339) || !time_parse(rfc3339, &time_us))
        return "";
    if (term->tty)
        return term_ago(arena, term->now_us, time_us);
    char text[TIME_TEXT_BYTES];
    (void)time_format(text, time_us - time_us % US_PER_SECOND);
    char *plain = arena_strdup(arena, text);
    char *separator = strchr(plain, 'T');
    if (separator != NULL)
        *separator = ' ';
    return plain;
}

const char *term_clock(const char *rfc3339, struct arena *arena)
{
    int64_t time_us = 0;
    struct tm local;
    if (text_empty(rfc3339) || !time_parse(rfc3339, &time_us))
        return "--:--:--";
    time_t seconds = (time_t)(time_us / US_PER_SECOND);
    if (localtime_r(&seconds, &local) == NULL)
        return "--:--:--";
    return arena_printf(arena, "%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
}

char *term_bytes(struct arena *arena, int64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB"};
    if (bytes < 1000)
        return arena_printf(arena, "%lld B", (long long)bytes);
    double size = (double)bytes / 1000;
    size_t unit = 0;
    for (; size >= 1000 && unit + 1 < COUNT_OF(units); unit++)
        size /= 1000;
    return arena_printf(arena, "%.1f %s", size, units[unit]);
}

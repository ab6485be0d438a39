/*
 * term.h - output for people: colours, widths, times, and text made safe for a terminal.
 *
 * Descriptions, agent output and branch names come from outside: control characters in them
 * could move the cursor or worse, so every text goes through term_clean or term_fit.
 */
#ifndef CLI_TERM_H
#define CLI_TERM_H
#include "base/arena.h"
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

enum { TERM_COLUMNS_MAX = 1000 };

struct term {
    bool tty;
    bool color;
    size_t columns; /* SIZE_MAX when it is no terminal: nothing is cut. */
    int64_t now_us;
};

/* For stdout: colours only on a terminal, without NO_COLOR and without --no-color. */
struct term term_open(bool no_color);

enum tone { TONE_PLAIN, TONE_BOLD, TONE_DIM, TONE_RED, TONE_GREEN, TONE_YELLOW, TONE_CYAN };
const char *term_on(const struct term *term, enum tone tone); /* "" without colours. */
const char *term_off(const struct term *term, enum tone tone);
/* How the status of a task, run, approval or pull request is shown. */
enum tone term_status_tone(const char *status);

/* Columns that the text takes on a terminal: 0 for combining marks, 2 for wide characters. */
size_t term_columns(const char *text);
/* Appends the text with control characters as blanks and broken UTF-8 as '?'. */
void term_clean(struct buf *to, const char *text);
/* The same, cut to the columns with an ellipsis at the end. */
void term_fit(struct buf *to, const char *text, size_t columns);

/* An RFC 3339 time: "2 min ago" on a terminal, "2026-07-03 12:00:00Z" elsewhere, "" for none. */
const char *term_time(const struct term *term, const char *rfc3339, struct arena *arena);
/* The time of day here: "12:00:03". */
const char *term_clock(const char *rfc3339, struct arena *arena);
/* "just now", "40 s ago", "in 3 min", "2 h ago", "5 d ago" */
char *term_ago(struct arena *arena, int64_t now_us, int64_t time_us);
/* "830 B", "1.2 KB", "3.4 MB" */
char *term_bytes(struct arena *arena, int64_t bytes);
#endif

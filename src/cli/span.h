/*
 * span.h - lengths of time and times as people type them.
 */
#ifndef CLI_SPAN_H
#define CLI_SPAN_H
#include "base/clock.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stdint.h>

/* "90s", "45m", "12h", "30d", up to a hundred years. */
MUST_USE bool span_parse(const char *text, int64_t *ret_us);
/* RFC 3339, the same in UTC without T and Z ("2026-07-03 12:00", "2026-07-03"), or a span: so long
   ago. */
MUST_USE bool span_time_parse(const char *text, int64_t now_us, int64_t *ret_us);
/* Such a time as RFC 3339, written to `to`; any other text as it is, for the server to read. */
const char *span_time_text(const char *text, int64_t now_us, char to[TIME_TEXT_BYTES]);
#endif

#include "core/traceparent.h"
#include <assert.h>
#include <string.h>

enum { TRACE_AT = 3, TRACE_LEN = 32, PARENT_AT = 36, PARENT_LEN = 16, FLAGS_AT = 53 };
enum { UUID_DASHES = 4, UUID_LAST_HALF = 19 }; /* xxxxxxxx-xxxx-xxxx-[xxxx-xxxxxxxxxxxx] */

static bool is_hex(const char *text, size_t len)
{
    return strspn(text, "0123456789abcdef") >= len;
}

static bool is_zero(const char *text, size_t len)
{
    return strspn(text, "0") >= len;
}

bool traceparent_valid(const char *text)
{
    if (text == NULL || strlen(text) != TRACEPARENT_LEN)
        return false;
    return text[TRACE_AT - 1] == '-' && text[PARENT_AT - 1] == '-' && text[FLAGS_AT - 1] == '-' &&
           is_hex(text, TRACE_AT - 1) && strncmp(text, "ff", 2) != 0 &&
           is_hex(text + TRACE_AT, TRACE_LEN) && !is_zero(text + TRACE_AT, TRACE_LEN) &&
           is_hex(text + PARENT_AT, PARENT_LEN) && !is_zero(text + PARENT_AT, PARENT_LEN) &&
           is_hex(text + FLAGS_AT, TRACEPARENT_LEN - FLAGS_AT);
}

/* The digits of a UUID from there on. */
static char *add_digits(char *to, const char *uuid)
{
    for (; *uuid != '\0'; uuid++)
        if (*uuid != '-')
            *to++ = *uuid;
    return to;
}

void traceparent_of_ids(const struct id *trace, const struct id *parent,
                        char ret_text[static TRACEPARENT_BYTES])
{
    assert(!id_is_none(trace) && !id_is_none(parent));
    _Static_assert(ID_TEXT_BYTES - 1 - UUID_DASHES == TRACE_LEN, "a UUID is a trace id");
    char *to = ret_text;
    memcpy(to, "00-", TRACE_AT);
    to = add_digits(to + TRACE_AT, trace->text);
    *to++ = '-';
    to = add_digits(to, parent->text + UUID_LAST_HALF);
    memcpy(to, "-01", sizeof "-01"); /* Recorded: it is in the log. */
}

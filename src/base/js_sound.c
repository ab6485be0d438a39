#include "base/js_sound.h"
#include "base/js.h"
#include <ctype.h>
#include <string.h>

struct scan {
    const char *at, *end;
    char open[JS_DEPTH_MAX]; /* '{' or '[', outermost first. */
    size_t depth;
};

static char peek(const struct scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

static bool take_char(struct scan *scan, char c)
{
    if (peek(scan) != c || scan->at == scan->end)
        return false;
    scan->at++;
    return true;
}

static bool take_escape(struct scan *scan)
{
    char c = peek(scan);
    scan->at++;
    if (c != 'u')
        return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
    for (int i = 0; i < 4; i++, scan->at++)
        if (!isxdigit((unsigned char)peek(scan)))
            return false;
    return true;
}

static bool take_string(struct scan *scan)
{
    if (!take_char(scan, '"'))
        return false;
    while (scan->at < scan->end) {
        unsigned char c = (unsigned char)*scan->at++;
        if (c == '"')
            return true;
        if (c < ' ' || (c == '\\' && !take_escape(scan)))
            return false;
    }
    return false;
}

static bool take_digits(struct scan *scan)
{
    const char *from = scan->at;
    while (isdigit((unsigned char)peek(scan)))
        scan->at++;
    return scan->at > from;
}

static bool take_number(struct scan *scan)
{
    (void)take_char(scan, '-');
    if (!take_char(scan, '0') && !take_digits(scan))
        return false;
    if (take_char(scan, '.') && !take_digits(scan))
        return false;
    if (take_char(scan, 'e') || take_char(scan, 'E')) {
        if (!take_char(scan, '+'))
            (void)take_char(scan, '-');
        return take_digits(scan);
    }
    return true;
}

static bool take_word(struct scan *scan, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0)
        return false;
    scan->at += len;
    return true;
}

static bool take_scalar(struct scan *scan)
{
    switch (peek(scan)) {
    case '"':
        return take_string(scan);
    case 't':
        return take_word(scan, "true");
    case 'f':
        return take_word(scan, "false");
    case 'n':
        return take_word(scan, "null");
    default:
        return take_number(scan);
    }
}

/* The name of a member, and its colon. */
static bool take_name(struct scan *scan)
{
    skip_blanks(scan);
    if (!take_string(scan))
        return false;
    skip_blanks(scan);
    return take_char(scan, ':');
}

/* A scalar, or the beginning of an object or array: *ret_whole tells if a value has ended. */
static bool take_value(struct scan *scan, bool *ret_whole)
{
    skip_blanks(scan);
    char c = peek(scan);
    *ret_whole = true;
    if (c != '{' && c != '[')
        return take_scalar(scan);
    scan->at++;
    skip_blanks(scan);
    if (take_char(scan, c == '{' ? '}' : ']'))
        return true;
    if (scan->depth == JS_DEPTH_MAX)
        return false;
    scan->open[scan->depth++] = c;
    *ret_whole = false;
    return c == '[' || take_name(scan);
}

/* Behind a value: closes what ends here, until another value must follow (true) or all is closed.
   false with depth > 0: neither a comma nor an end. */
static bool take_more(struct scan *scan)
{
    while (scan->depth > 0) {
        char open = scan->open[scan->depth - 1];
        skip_blanks(scan);
        if (take_char(scan, ','))
            return open == '[' || take_name(scan);
        if (!take_char(scan, open == '{' ? '}' : ']'))
            return false;
        scan->depth--;
    }
    return false;
}

bool js_sound(struct str text)
{
    struct scan scan = {.at = text.at, .end = text.at + text.len};
    bool whole;
    do {
        if (!take_value(&scan, &whole))
            return false;
    } while (!whole || take_more(&scan));
    skip_blanks(&scan);
    return scan.depth == 0 && scan.at == scan.end;
}

/*
 * id.c - UUIDv7, RFC 9562:
 *
 *     unix ms (48) | 0111 | sub-ms fraction (12) | 10 | random (62)
 */
#include "base/id.h"
#include "base/clock.h"
#include "base/str.h"
#include <assert.h>
#include <string.h>

static bool dash_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

static struct id id_of_moment(int64_t time_us, uint64_t low)
{
    assert(time_us >= 0);
    uint64_t ms = (uint64_t)(time_us / US_PER_MS);
    uint64_t fraction = (uint64_t)(time_us % US_PER_MS) * 4096 / 1000;
    uint64_t high = (ms << 16) | (UINT64_C(7) << 12) | fraction;
    unsigned char bytes[16];
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(high >> (56 - 8 * i));
        bytes[8 + i] = (unsigned char)(low >> (56 - 8 * i));
    }
    char hex[33];
    hex_encode(hex, bytes, sizeof bytes);
    struct id id = {{0}};
    const char *from = hex;
    for (size_t i = 0; i < ID_TEXT_BYTES - 1; i++)
        id.text[i] = dash_at(i) ? '-' : *from++;
    return id;
}

struct id id_new(int64_t now_us, struct random *random)
{
    return id_of_moment(now_us, (UINT64_C(2) << 62) | (random_next(random) >> 2));
}

struct id id_first_at(int64_t time_us)
{
    return id_of_moment(time_us, 0);
}

/* The digit in lower case, or NUL when it is none. */
static char hex_digit(char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))
        return c;
    return c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : '\0';
}

bool id_parse(const char *text, struct id *ret_id)
{
    if (text == NULL)
        return false;
    struct id id = {{0}};
    for (size_t i = 0; i < ID_TEXT_BYTES - 1; i++) {
        id.text[i] = dash_at(i) && text[i] == '-' ? '-' : hex_digit(text[i]);
        if (id.text[i] == '\0' || dash_at(i) != (text[i] == '-'))
            return false;
    }
    if (text[ID_TEXT_BYTES - 1] != '\0')
        return false;
    *ret_id = id;
    return true;
}

bool id_is_none(const struct id *id)
{
    return id->text[0] == '\0';
}

bool id_same(const struct id *a, const struct id *b)
{
    return strcmp(a->text, b->text) == 0;
}

const char *id_or_null(const struct id *id)
{
    return id_is_none(id) ? NULL : id->text;
}

struct id id_of(const char *text)
{
    struct id id = {{0}};
    return id_parse(text, &id) ? id : (struct id){{0}};
}

struct id id_of_stored(struct str text)
{
    struct id id = {{0}};
    if (text.len == ID_TEXT_BYTES - 1 && text.at[8] == '-' && text.at[13] == '-' &&
        text.at[18] == '-' && text.at[23] == '-')
        memcpy(id.text, text.at, text.len);
    return id;
}

/*
 * cursor.c - base64url of a kind and a key.
 */
#include "api/cursor.h"
#include "base/str.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const char *cursor_encode(enum cursor_kind kind, const char *key, struct arena *arena)
{
    size_t len = strlen(key) + 1;
    assert(len <= CURSOR_KEY_MAX + 1);
    unsigned char plain[CURSOR_KEY_MAX + 1];
    plain[0] = (unsigned char)kind;
    memcpy(plain + 1, key, len - 1);
    char *text = arena_alloc(arena, CURSOR_TEXT_MAX);
    size_t out = 0;
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | plain[i];
        for (held += 8; held >= 6; held -= 6)
            text[out++] = alphabet[bits >> (held - 6) & 63];
    }
    if (held)
        text[out++] = alphabet[bits << (6 - held) & 63];
    return text;
}

bool cursor_decode(enum cursor_kind kind, const char *text, struct arena *arena,
                   const char **ret_key)
{
    char plain[CURSOR_KEY_MAX + 2] = {0};
    size_t out = 0;
    uint32_t bits = 0;
    int held = 0;
    for (; *text; text++) {
        const char *place = strchr(alphabet, *text);
        if (place == NULL)
            return false;
        bits = bits << 6 | (uint32_t)(place - alphabet);
        held += 6;
        if (held < 8)
            continue;
        if (out == CURSOR_KEY_MAX + 1)
            return false;
        held -= 8;
        plain[out++] = (char)(bits >> held & 255);
    }
    bool left_over = held >= 6 || (bits & ((1U << held) - 1)) != 0;
    if (out < 2 || left_over || plain[0] != (char)kind || !text_utf8_valid(plain, out))
        return false;
    *ret_key = arena_strndup(arena, plain + 1, out - 1);
    return true;
}

#include "core/mcp/base64.h"
#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *into, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)(unsigned char)bytes.at[i] << 16;
        if (left > 1)
            bits |= (uint32_t)(unsigned char)bytes.at[i + 1] << 8;
        if (left > 2)
            bits |= (unsigned char)bytes.at[i + 2];
        char group[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                         left > 1 ? digits[bits >> 6 & 63] : '=',
                         left > 2 ? digits[bits & 63] : '='};
        buf_add(into, group, sizeof group);
    }
}

struct str base64_bytes(struct str coded, struct arena *arena)
{
    size_t padding = 0, len = 0;
    while (padding < 2 && padding < coded.len && coded.at[coded.len - 1 - padding] == '=')
        padding++;
    if (coded.len % 4 != 0)
        return (struct str){0};
    char *to = arena_alloc(arena, coded.len / 4 * 3 + 1);
    uint32_t bits = 0;
    for (size_t i = 0; i < coded.len; i++) {
        char c = coded.at[i];
        bool pads = i >= coded.len - padding;
        const char *digit = pads ? digits : memchr(digits, c, sizeof digits - 1);
        if (digit == NULL)
            return (struct str){0};
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (i % 4 == 3) {
            to[len++] = (char)(bits >> 16);
            to[len++] = (char)(bits >> 8);
            to[len++] = (char)bits;
            bits = 0;
        }
    }
    len -= padding;
    to[len] = '\0';
    return (struct str){to, len};
}

const char *base64_text(struct str coded, struct arena *arena)
{
    struct str bytes = base64_bytes(coded, arena);
    return bytes.at != NULL && text_utf8_valid(bytes.at, bytes.len) ? bytes.at : NULL;
}

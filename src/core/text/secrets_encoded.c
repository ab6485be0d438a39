#include "core/text/secrets_encoded.h"
#include <string.h>

enum {
    CODE_BITS = 6,
    PLACES = 3,
    CUT_CODES_MIN = 16, /* Of a text that the line cuts off: twelve bytes of it. */
    PADDING_MAX = 2,
};
static const size_t first_bits[PLACES] = {0, 4, 2};

/* ---- base64 ---- */

/* The six bits of a character in either alphabet, plus one; 0: it is in none. */
#define RUN8(c, n)                                                                \
    [c] = (n) + 1, [(c) + 1] = (n) + 2, [(c) + 2] = (n) + 3, [(c) + 3] = (n) + 4, \
    [(c) + 4] = (n) + 5, [(c) + 5] = (n) + 6, [(c) + 6] = (n) + 7, [(c) + 7] = (n) + 8
static const signed char codes[256] = {
    RUN8('A', 0),  RUN8('I', 8),  RUN8('Q', 16), ['Y'] = 25, ['Z'] = 26,    RUN8('a', 26),
    RUN8('i', 34), RUN8('q', 42), ['y'] = 51,    ['z'] = 52, RUN8('0', 52), ['8'] = 61,
    ['9'] = 62,    ['+'] = 63,    ['-'] = 63,    ['/'] = 64, ['_'] = 64,
};

static int code_of(char c)
{
    return codes[(unsigned char)c] - 1;
}

bool encoded_is_code(char c)
{
    return code_of(c) >= 0;
}

size_t encoded_run(struct str line, size_t at)
{
    size_t end = at;
    while (end < line.len && (code_of(line.at[end]) >= 0 || line.at[end] == '%' ||
                              line.at[end] == '\\' || line.at[end] == '='))
        end++;
    return end - at;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that %XX stands for; -1: it does not stand here. */
static int percent_at(struct str line, size_t at)
{
    if (at + 2 >= line.len || line.at[at] != '%')
        return -1;
    int high = hex_of(line.at[at + 1]), low = hex_of(line.at[at + 2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* Breaks of lines, as JSON writes them. */
static size_t skip_breaks(struct str line, size_t at)
{
    while (at + 1 < line.len && line.at[at] == '\\' &&
           (line.at[at + 1] == 'n' || line.at[at + 1] == 'r'))
        at += 2;
    return at;
}

/* The next character, also as a URL (%2B) or JSON (\/) writes it; -1: there is none. */
static int next_code(struct str line, size_t *at)
{
    size_t here = skip_breaks(line, *at);
    if (here >= line.len)
        return -1;
    int code = code_of(line.at[here]), byte = percent_at(line, here);
    size_t len = 1;
    if (byte >= 0) {
        code = code_of((char)byte);
        len = 3;
    } else if (line.at[here] == '\\' && here + 1 < line.len && line.at[here + 1] == '/') {
        code = code_of('/');
        len = 2;
    }
    if (code >= 0)
        *at = here + len;
    return code;
}

/* Six bits of the text; behind its end are zeroes. */
static int bits_at(struct str text, size_t bit)
{
    size_t byte = bit / 8, shift = 16 - CODE_BITS - bit % 8;
    unsigned pair = (unsigned)(unsigned char)text.at[byte] << 8;
    if (byte + 1 < text.len)
        pair |= (unsigned char)text.at[byte + 1];
    return (int)(pair >> shift & 63);
}

static uint32_t hash_of(int first, int second, int third)
{
    uint32_t key = (uint32_t)first << 12 | (uint32_t)second << 6 | (uint32_t)third;
    return key * 2654435761U >> (32 - ENCODED_HASH_BITS);
}

void encoded_add(struct encoded_starts *starts, struct str text)
{
    for (size_t i = 0; text.len > 2 && i < PLACES; i++) {
        size_t bit = first_bits[i];
        uint32_t hash = hash_of(bits_at(text, bit), bits_at(text, bit + CODE_BITS),
                                bits_at(text, bit + 2 * CODE_BITS));
        starts->bits[hash / 64] |= (uint64_t)1 << hash % 64;
    }
}

/* What is written with escapes is seldom, and takes the longer way. */
bool encoded_may_begin(const struct encoded_starts *starts, struct str line, size_t at)
{
    if (at + 2 >= line.len)
        return false;
    int first = code_of(line.at[at]), second = code_of(line.at[at + 1]);
    int third = code_of(line.at[at + 2]);
    if ((first | second | third) < 0) {
        first = next_code(line, &at);
        second = first >= 0 ? next_code(line, &at) : -1;
        third = second >= 0 ? next_code(line, &at) : -1;
        if (third < 0)
            return false;
    }
    uint32_t hash = hash_of(first, second, third);
    return starts->bits[hash / 64] >> hash % 64 & 1;
}

/* The characters of the text alone, at one of the places.  *at is behind them then; *cut: the line
   ended before. */
static bool take_codes(struct str text, size_t bit, struct str line, size_t *at, bool *cut)
{
    size_t here = *at, taken = 0;
    *cut = false;
    for (; bit + CODE_BITS <= 8 * text.len; bit += CODE_BITS, taken++) {
        int code = next_code(line, &here);
        *cut = code < 0 && skip_breaks(line, here) >= line.len && taken >= CUT_CODES_MIN;
        if (*cut)
            break;
        if (code != bits_at(text, bit))
            return false;
    }
    *at = here;
    return true;
}

/* The character before holds the first bits of the text, unless it begins with one. */
static size_t begin_of(const struct encoded_place *place, size_t bit)
{
    bool shared = bit > 0 && place->at > place->from && code_of(place->line.at[place->at - 1]) >= 0;
    return shared ? place->at - 1 : place->at;
}

static size_t skip_padding(struct str line, size_t at)
{
    for (int i = 0; i < PADDING_MAX && at < line.len; i++) {
        if (line.at[at] == '=')
            at++;
        else if (percent_at(line, at) == '=')
            at += 3;
    }
    return at;
}

bool encoded_find(struct str text, const struct encoded_place *place, struct encoded_span *ret_span)
{
    struct str line = place->line;
    for (size_t i = 0; i < PLACES; i++) {
        size_t bit = first_bits[i], end = place->at;
        bool cut;
        if (!take_codes(text, bit, line, &end, &cut))
            continue;
        if (!cut && (8 * text.len - bit) % CODE_BITS > 0)
            (void)next_code(line, &end);
        *ret_span = (struct encoded_span){begin_of(place, bit), skip_padding(line, end)};
        return true;
    }
    return false;
}

/* Reads on behind the prefix; *end is behind the last character that holds some of what was
   taken. */
static void take_rest(struct str prefix, size_t bit, struct str line, struct encoded_rest *rest,
                      size_t *end)
{
    size_t left = (8 * prefix.len - bit) % CODE_BITS, at = *end;
    unsigned bits = 0, known = left == 0 ? 0 : CODE_BITS - (unsigned)left;
    if (left > 0) {
        int code = next_code(line, &at);
        unsigned tail = (unsigned char)prefix.at[prefix.len - 1] & ((1U << left) - 1);
        if (code < 0 || (unsigned)code >> known != tail)
            return;
        bits = (unsigned)code & ((1U << known) - 1);
    }
    while (rest->count <= rest->max) {
        int code = next_code(line, &at);
        if (code < 0)
            return;
        bits = bits << CODE_BITS | (unsigned)code;
        known += CODE_BITS;
        if (known < 8)
            continue;
        known -= 8;
        if (!rest->goes_on(rest->ctx, (char)(bits >> known & 0xff)))
            return;
        bits &= (1U << known) - 1;
        rest->count++;
        *end = at;
    }
}

bool encoded_find_prefix(struct str prefix, const struct encoded_place *place,
                         struct encoded_rest *rest, struct encoded_span *ret_span)
{
    struct str line = place->line;
    for (size_t i = 0; i < PLACES; i++) {
        size_t bit = first_bits[i], end = place->at;
        bool cut;
        if (!take_codes(prefix, bit, line, &end, &cut) || cut)
            continue;
        rest->count = 0;
        take_rest(prefix, bit, line, rest, &end);
        if (rest->count == 0)
            continue;
        *ret_span = (struct encoded_span){begin_of(place, bit), skip_padding(line, end)};
        return true;
    }
    return false;
}

/* ---- percent-encoding and escapes ---- */

/* Bytes of the line at this place that spell the byte; 0: none do.  Escapes first: a sign that
   begins them stands for itself only where it begins none. */
static size_t spelled_byte(struct str line, size_t at, char byte)
{
    bool escaped = line.at[at] == '\\' && at + 1 < line.len && line.at[at + 1] == byte;
    if (percent_at(line, at) == (unsigned char)byte)
        return 3;
    if (escaped && strchr("\"\\/", byte) != NULL)
        return 2;
    return line.at[at] == byte || (line.at[at] == '+' && byte == ' ') ? 1 : 0;
}

size_t spelled_len(struct str text, struct str line)
{
    if (line.len >= text.len && memcmp(line.at, text.at, text.len) == 0)
        return text.len;
    size_t at = 0;
    for (size_t i = 0; i < text.len; i++) {
        size_t len = at < line.len ? spelled_byte(line, at, text.at[i]) : 0;
        if (len == 0)
            return 0;
        at += len;
    }
    return at;
}

int spelled_first(struct str line)
{
    int byte = percent_at(line, 0);
    if (byte >= 0)
        return byte;
    if (line.len > 1 && line.at[0] == '\\' && strchr("\"\\/", line.at[1]) != NULL)
        return (unsigned char)line.at[1];
    return -1;
}

char *percent_decoded(struct str text, struct arena *arena)
{
    char *decoded = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        int byte = percent_at(text, at);
        decoded[len++] = byte > 0 ? (char)byte : text.at[at];
        at += byte > 0 ? 3 : 1;
    }
    decoded[len] = '\0';
    return decoded;
}

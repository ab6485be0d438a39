#include "core/http/chunks.h"
#include "core/http/head.h"

enum {
    SIZE_DIGITS_MAX = 15,
    EXTENSION_BYTES_MAX = 8 * 1024,
    TRAILER_BYTES_MAX = 8 * 1024,
};

static enum rc malformed(struct err *err, const char *what)
{
    return err_set(err, RC_MALFORMED, "MALFORMED_REQUEST", "the chunked body is malformed: %s",
                   what);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Lines end in CR LF, and have neither elsewhere. */
static enum rc line_byte(struct http_chunks *chunks, char c, bool *ret_end, struct err *err)
{
    *ret_end = chunks->cr && c == '\n';
    if (chunks->cr != (c == '\n'))
        return malformed(err, "its lines must end in CR LF");
    chunks->cr = c == '\r';
    if ((unsigned char)c < ' ' && c != '\t' && c != '\r' && c != '\n')
        return malformed(err, "its lines hold a control character");
    return c == 0x7f ? malformed(err, "its lines hold a control character") : RC_OK;
}

/* Behind the digits: spaces, which only a semicolon may follow, and what stands behind that. */
static enum rc extension_byte(struct http_chunks *chunks, char c, struct err *err)
{
    if (++chunks->extension_bytes > EXTENSION_BYTES_MAX)
        return err_set(err, RC_TOO_LARGE, "EXTENSIONS_TOO_LARGE",
                       "the extensions of the body's chunks have more than %d bytes",
                       EXTENSION_BYTES_MAX);
    if (chunks->extension)
        return RC_OK;
    chunks->extension = c == ';';
    chunks->padded = true;
    return RC_OK;
}

static enum rc size_byte(struct http_chunks *chunks, char c, struct err *err)
{
    static const char not_a_size[] = "a chunk's size is not a hexadecimal number";
    bool end;
    enum rc rc = line_byte(chunks, c, &end, err);
    if (rc != RC_OK)
        return rc;
    if (end) {
        chunks->state = chunks->size > 0 ? CHUNKS_CONTENT : CHUNKS_TRAILER;
        chunks->digits = 0;
        chunks->padded = chunks->extension = false;
        return RC_OK;
    }
    bool complete = chunks->digits > 0 && (!chunks->padded || chunks->extension);
    if (chunks->cr)
        return complete ? RC_OK : malformed(err, not_a_size);
    bool apart = c == ';' || c == ' ' || c == '\t';
    if (chunks->extension || (chunks->digits > 0 && apart))
        return extension_byte(chunks, c, err);
    int digit = digit_of(c);
    if (digit < 0 || chunks->padded || ++chunks->digits > SIZE_DIGITS_MAX)
        return malformed(err, not_a_size);
    chunks->size = chunks->size * 16 + digit;
    return RC_OK;
}

static enum rc content_end_byte(struct http_chunks *chunks, char c, struct err *err)
{
    if (c != (chunks->cr ? '\n' : '\r'))
        return malformed(err, "a chunk is longer than it says");
    chunks->cr = !chunks->cr;
    if (!chunks->cr)
        chunks->state = CHUNKS_SIZE;
    return RC_OK;
}

/* An empty line ends the body; every other line must have the form of a header. */
static enum rc trailer_byte(struct http_chunks *chunks, char c, struct err *err)
{
    bool end;
    enum rc rc = line_byte(chunks, c, &end, err);
    if (rc != RC_OK)
        return rc;
    if (++chunks->trailer_bytes > TRAILER_BYTES_MAX)
        return err_set(err, RC_TOO_LARGE, "HEADERS_TOO_LARGE",
                       "the body's trailer has more than %d bytes", TRAILER_BYTES_MAX);
    if (end) {
        chunks->state = chunks->line_bytes == 0 ? CHUNKS_DONE : CHUNKS_TRAILER;
        chunks->line_bytes = 0;
        chunks->value = false;
        return RC_OK;
    }
    bool bare = chunks->cr && chunks->line_bytes == 0;
    bool colon = c == ':' && chunks->line_bytes > 0;
    if (!chunks->value && !colon && !bare && !http_is_token((unsigned char)c))
        return malformed(err, "its trailer is not a name, a colon and a value");
    chunks->value |= colon;
    chunks->line_bytes += !chunks->cr;
    return RC_OK;
}

static enum rc frame_byte(struct http_chunks *chunks, char c, struct err *err)
{
    switch (chunks->state) {
    case CHUNKS_SIZE:
        return size_byte(chunks, c, err);
    case CHUNKS_CONTENT_END:
        return content_end_byte(chunks, c, err);
    case CHUNKS_TRAILER:
        return trailer_byte(chunks, c, err);
    case CHUNKS_CONTENT:
    case CHUNKS_DONE:
        break;
    }
    return RC_OK;
}

enum rc http_chunks_next(struct http_chunks *chunks, struct str *bytes, struct str *ret_content,
                         struct err *err)
{
    *ret_content = (struct str){0};
    while (bytes->len > 0 && chunks->state != CHUNKS_DONE) {
        if (chunks->state == CHUNKS_CONTENT) {
            size_t len = bytes->len;
            if ((int64_t)len > chunks->size)
                len = (size_t)chunks->size;
            *ret_content = (struct str){bytes->at, len};
            chunks->size -= (int64_t)len;
            if (chunks->size == 0)
                chunks->state = CHUNKS_CONTENT_END;
            bytes->at += len;
            bytes->len -= len;
            return RC_OK;
        }
        char c = *bytes->at++;
        bytes->len--;
        enum rc rc = frame_byte(chunks, c, err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

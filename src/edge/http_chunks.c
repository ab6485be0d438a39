/*
 * http_chunks.c - see http_chunks.h.
 */
#include "edge/http_chunks.h"

enum { SIZE_DIGITS_MAX = 15, EXTENSION_BYTES_MAX = 256, TRAILER_BYTES_MAX = 8 * 1024 };

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
    return RC_OK;
}

static void size_ended(struct http_chunks *chunks)
{
    chunks->state = chunks->size > 0 ? CHUNKS_CONTENT : CHUNKS_TRAILER;
    chunks->digits = 0;
    chunks->line_bytes = 0;
    chunks->extension = false;
}

static enum rc size_byte(struct http_chunks *chunks, char c, struct err *err)
{
    bool end;
    enum rc rc = line_byte(chunks, c, &end, err);
    if (rc != RC_OK || (chunks->cr && chunks->digits > 0))
        return rc;
    if (end) {
        size_ended(chunks);
        return RC_OK;
    }
    if (chunks->extension) {
        bool fits = ++chunks->line_bytes <= EXTENSION_BYTES_MAX;
        return fits ? RC_OK : malformed(err, "a chunk's extension is too long");
    }
    int digit = digit_of(c);
    chunks->extension = chunks->digits > 0 && (c == ';' || c == ' ' || c == '\t');
    if (chunks->extension)
        return RC_OK;
    if (digit < 0 || ++chunks->digits > SIZE_DIGITS_MAX)
        return malformed(err, "a chunk's size is not a hexadecimal number");
    chunks->size = chunks->size * 16 + digit;
    return RC_OK;
}

static enum rc content_end_byte(struct http_chunks *chunks, char c, struct err *err)
{
    bool end;
    enum rc rc = line_byte(chunks, c, &end, err);
    if (rc == RC_OK && !end && !chunks->cr)
        rc = malformed(err, "a chunk is longer than it says");
    if (rc == RC_OK && end)
        chunks->state = CHUNKS_SIZE;
    return rc;
}

/* An empty line ends the body. */
static enum rc trailer_byte(struct http_chunks *chunks, char c, struct err *err)
{
    bool end;
    enum rc rc = line_byte(chunks, c, &end, err);
    if (rc != RC_OK)
        return rc;
    if (++chunks->trailer_bytes > TRAILER_BYTES_MAX)
        return malformed(err, "its trailer is too long");
    if (end && chunks->line_bytes == 0)
        chunks->state = CHUNKS_DONE;
    else if (end)
        chunks->line_bytes = 0;
    else if (!chunks->cr)
        chunks->line_bytes++;
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

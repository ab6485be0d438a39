/*
 * chunks.h - the content of a chunked body, taken out of its frame while it arrives
 * (RFC 9112, 7.1).
 *
 *     (hex-size [extension] CRLF  content CRLF)*  0 [extension] CRLF  trailer-line*  CRLF
 *     extension: (SP | HTAB)* ";" anything without control characters
 *
 *   SIZE -> CONTENT -> CONTENT_END -> SIZE ... -> TRAILER -> DONE
 *
 * Strict: sizes are hexadecimal digits alone, lines end in CR LF.  Extensions and trailers are
 * bounded for the whole body and dropped: a trailer never becomes a header.  Pure.
 */
#ifndef CORE_HTTP_CHUNKS_H
#define CORE_HTTP_CHUNKS_H
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum http_chunks_state {
    CHUNKS_SIZE,
    CHUNKS_CONTENT,
    CHUNKS_CONTENT_END,
    CHUNKS_TRAILER,
    CHUNKS_DONE
};

struct http_chunks { /* Zeroed it is at the beginning. */
    enum http_chunks_state state;
    int64_t size; /* SIZE: so far.  CONTENT: bytes of the chunk that are still to come. */
    int64_t extension_bytes, trailer_bytes; /* Of the whole body. */
    int64_t line_bytes;                     /* TRAILER: of the line, without its end. */
    int digits;
    bool padded;    /* SIZE: behind the digits, a space was read. */
    bool extension; /* SIZE: behind a semicolon. */
    bool value;     /* TRAILER: behind the colon. */
    bool cr;        /* The last byte was a CR. */
};

/*
 * Takes bytes from the front of *bytes until there is content or the body has ended; *ret_content
 * points into them and is empty at the end or when all bytes were taken.  RC_MALFORMED;
 * RC_TOO_LARGE: extensions or trailers pass their bound.
 */
MUST_USE enum rc http_chunks_next(struct http_chunks *chunks, struct str *bytes,
                                  struct str *ret_content, struct err *err);
#endif

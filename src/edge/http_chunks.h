/*
 * http_chunks.h - the content of a chunked body, taken out of its frame while it arrives.
 *
 *     (hex-size [;extension] CRLF  content CRLF)*  0 CRLF  trailer-line*  CRLF
 *
 *   SIZE -> CONTENT -> CONTENT_END -> SIZE ... -> TRAILER -> DONE
 *
 * Stricter than libevent: lines end in CR LF, sizes are hexadecimal digits alone.  Pure.
 */
#ifndef EDGE_HTTP_CHUNKS_H
#define EDGE_HTTP_CHUNKS_H
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
    int64_t size;       /* SIZE: so far.  CONTENT: bytes of the chunk that are still to come. */
    int64_t line_bytes; /* Of the line that is being read, without its end. */
    int64_t trailer_bytes;
    int digits;
    bool extension; /* SIZE: behind a semicolon. */
    bool cr;        /* The last byte was a CR. */
};

/*
 * Takes bytes from the front of *bytes until there is content or the body has ended; *ret_content
 * points into them and is empty at the end or when all bytes were taken.  RC_MALFORMED.
 */
MUST_USE enum rc http_chunks_next(struct http_chunks *chunks, struct str *bytes,
                                  struct str *ret_content, struct err *err);
#endif

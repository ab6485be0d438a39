/*
 * buf.h - a growing byte buffer whose maximum is set by buf_init.
 *
 * Appending past the maximum sets `overflow`, keeps what fitted and ignores
 * the rest; callers check it once, at the end.  The content is NUL-terminated.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t len;
    size_t room;
    size_t max_bytes;
    bool overflow;
};

void buf_init(struct buf *buf, size_t max_bytes);
void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_adds(struct buf *buf, const char *text);
void buf_addc(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_clear(struct buf *buf);            /* Empty again, memory kept. */
void buf_cut(struct buf *buf, size_t len);  /* Shorten to len. */
void buf_drop(struct buf *buf, size_t len); /* Remove len bytes from the front. */
struct str buf_str(const struct buf *buf);
const char *buf_text(const struct buf *buf); /* Never NULL. */
void buf_release(struct buf *buf);           /* For CLEANUP too. */
#endif

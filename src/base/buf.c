/*
 * buf.c - a growing byte buffer with a maximum.
 *
 * Invariants: len <= max_bytes; data is NULL or holds room bytes (at most
 * max_bytes + 1), of which len + 1 are in use and data[len] is NUL.
 */
#include "base/buf.h"
#include "base/mem.h"
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM_MIN = 128 };

void buf_init(struct buf *buf, size_t max_bytes)
{
    assert(max_bytes < SIZE_MAX / 4);
    *buf = (struct buf){.max_bytes = max_bytes};
}

/* Makes room for len more bytes and the NUL; gives back how many of them may be used. */
static size_t reserve(struct buf *buf, size_t len)
{
    size_t left = buf->max_bytes - buf->len;
    if (len > left) {
        buf->overflow = true;
        len = left;
    }
    size_t need = buf->len + len + 1;
    if (need <= buf->room)
        return len;
    size_t room = buf->room ? buf->room * 2 : ROOM_MIN;
    if (room > buf->max_bytes + 1)
        room = buf->max_bytes + 1;
    if (room < need)
        room = need;
    buf->data = mem_grow(buf->data, room);
    buf->room = room;
    return len;
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
    len = reserve(buf, len);
    if (len)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_adds(struct buf *buf, const char *text)
{
    if (text != NULL)
        buf_add(buf, text, strlen(text));
}

/* JSON is mostly made of these: without a call while there is room, which ends at max_bytes + 1. */
void buf_addc(struct buf *buf, char c)
{
    if (buf->len + 2 > buf->room) {
        buf_add(buf, &c, 1);
        return;
    }
    buf->data[buf->len++] = c;
    buf->data[buf->len] = '\0';
}

void buf_addf(struct buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    size_t left = buf->data != NULL ? buf->room - buf->len : 0; /* Never reaches past max_bytes. */
    int wanted = vsnprintf(left ? buf->data + buf->len : NULL, left, fmt, args);
    va_end(args);
    assert(wanted >= 0);
    size_t len = (size_t)wanted;
    if (len >= left) {
        len = reserve(buf, len);
        (void)vsnprintf(buf->data + buf->len, len + 1, fmt, again);
    }
    va_end(again);
    buf->len += len;
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

void buf_cut(struct buf *buf, size_t len)
{
    assert(len <= buf->len);
    buf->len = len;
    if (buf->data != NULL)
        buf->data[len] = '\0';
}

void buf_drop(struct buf *buf, size_t len)
{
    assert(len <= buf->len);
    if (len == 0)
        return;
    memmove(buf->data, buf->data + len, buf->len - len + 1);
    buf->len -= len;
}

struct str buf_str(const struct buf *buf)
{
    return (struct str){buf_text(buf), buf->len};
}

const char *buf_text(const struct buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}

void buf_release(struct buf *buf)
{
    if (buf == NULL)
        return;
    mem_free(buf->data);
    *buf = (struct buf){.max_bytes = buf->max_bytes};
}

/*
 * ustar.h - writes a tar archive (POSIX ustar) to a file, member by member.
 *
 *     ustar_open(&tar, fd, mtime_s);
 *     ustar_begin(&tar, "events.ndjson");  ustar_add(&tar, bytes) ...  ustar_end(&tar, &digest)
 *     ustar_finish(&tar)
 *
 * A member's size need not be known before: its header is written when it ends, so the file must be
 * one that can be written at any place.  Memory does not grow with the archive.
 * All members are plain files of mode 0644 with owner 0.
 */
#ifndef BASE_USTAR_H
#define BASE_USTAR_H
#include "base/hash.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdint.h>

enum { USTAR_BLOCK = 512, USTAR_NAME_MAX = 100 };

struct ustar {
    int fd; /* The caller's. */
    int64_t mtime_s;
    int64_t bytes;     /* Of the archive so far. */
    int64_t bytes_max; /* RC_TOO_LARGE beyond. */
    int64_t header_at; /* Of the open member; -1: none is open. */
    char name[USTAR_NAME_MAX + 1];
    struct sha256 *sha; /* Of the open member. */
};

struct ustar_member {
    int64_t bytes;
    char sha256[SHA256_TEXT_BYTES];
};

void ustar_open(struct ustar *tar, int fd, int64_t mtime_s, int64_t bytes_max);
void ustar_release(struct ustar *tar); /* For CLEANUP: after an error, or at the end. */
/* RC_INVALID: the name is longer than USTAR_NAME_MAX, or empty. */
MUST_USE enum rc ustar_begin(struct ustar *tar, const char *name, struct err *err);
MUST_USE enum rc ustar_add(struct ustar *tar, struct str bytes, struct err *err);
/* All of an open file, from where it stands. */
MUST_USE enum rc ustar_add_file(struct ustar *tar, int fd, struct err *err);
MUST_USE enum rc ustar_end(struct ustar *tar, struct ustar_member *ret_member, struct err *err);
/* The end of the archive. */
MUST_USE enum rc ustar_finish(struct ustar *tar, struct err *err);
#endif

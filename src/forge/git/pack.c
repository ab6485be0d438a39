/*
 * pack.c - see pack.h.
 *
 *     "PACK" version(4) count(4) objects... checksum    numbers are big-endian
 *
 * git's messages about a bad pack are not passed on: they quote bytes that an agent chose.
 */
#include "forge/git/pack.h"
#include "base/fd.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 12, PACK_BYTES_MIN = 32, SIZE_LINE_BYTES = 40 };

static enum rc too_large(struct err *err, const char *what, int64_t is, int64_t allowed)
{
    return err_set(err, RC_TOO_LARGE, "PACK_TOO_LARGE",
                   "The pack has %s %" PRId64 ", %" PRId64 " are allowed.", what, is, allowed);
}

static enum rc not_sound(struct err *err, const char *what)
{
    return err_set(err, RC_INVALID, "PACK_REFUSED", "The pack from the sandbox is refused: %s.",
                   what);
}

static int64_t number_at(const unsigned char *at)
{
    return (int64_t)at[0] << 24 | (int64_t)at[1] << 16 | (int64_t)at[2] << 8 | (int64_t)at[3];
}

static enum rc check_header(const struct pack *pack, int64_t *ret_objects, struct err *err)
{
    unsigned char header[HEADER_BYTES];
    struct stat status;
    if (fstat(pack->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return not_sound(err, "it is no file");
    if (status.st_size > pack->limits.bytes)
        return too_large(err, "bytes:", (int64_t)status.st_size, pack->limits.bytes);
    if (status.st_size < PACK_BYTES_MIN ||
        pread(pack->fd, header, sizeof header, 0) != (ssize_t)sizeof header)
        return not_sound(err, "it ends too early");
    int64_t version = number_at(header + 4), objects = number_at(header + 8);
    if (memcmp(header, "PACK", 4) != 0 || (version != 2 && version != 3))
        return not_sound(err, "it does not begin as a pack does");
    if (objects > pack->limits.objects)
        return too_large(err, "objects:", objects, pack->limits.objects);
    *ret_objects = objects;
    return RC_OK;
}

/* RC_IO of git means that it refused the pack. */
static enum rc refuse(enum rc rc, const char *what, struct err *err)
{
    if (rc != RC_IO)
        return rc;
    /* git's message when RLIMIT_DATA stops it. */
    bool memory = strstr(err->text, "ut of memory") != NULL ||
                  strstr(err->text, "annot allocate memory") != NULL;
    return memory ? err_set(err, RC_TOO_LARGE, "PACK_TOO_LARGE",
                            "The pack unpacks to more than a git process may allocate.")
                  : not_sound(err, what);
}

static enum rc index_pack(const struct git *git, const struct pack *pack, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    if (lseek(pack->fd, 0, SEEK_SET) != 0)
        return not_sound(err, "it cannot be read");
    const char *size = arena_printf(&arena, "--max-input-size=%" PRId64, pack->limits.bytes);
    struct git_call call = {
        .git_dir = pack->dir,
        .args = GIT_ARGS("index-pack", "--stdin", "--strict", "--fix-thin", "--threads=1", size),
        .input_fd = pack->fd,
        .memory_bytes = GIT_MEMORY_SMALL};
    return refuse(git_run(git, &call, err), "git index-pack --strict does not accept it", err);
}

/* All that the tip needs beyond what is known, one hash a line; fails when one is missing. */
static enum rc list_objects(const struct git *git, const struct pack *pack, struct buf *into,
                            struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *known = arena_printf(&arena, "^%s^{tree}", pack->known);
    struct git_call list = {.git_dir = pack->dir,
                            .args = GIT_ARGS("rev-list", "--objects", "--no-object-names",
                                             "--end-of-options", pack->tip, known),
                            .out = into,
                            .memory_bytes = GIT_MEMORY_SMALL};
    enum rc rc = git_run(git, &list, err);
    if (rc == RC_TOO_LARGE)
        return too_large(err, "a tree with more objects than", pack->limits.objects,
                         pack->limits.objects);
    return refuse(rc, "it does not hold all that its tree needs", err);
}

/* "<type> <size>" for each. */
static enum rc check_sizes(const struct git *git, const struct pack *pack, struct str hashes,
                           struct err *err)
{
    CLEANUP(buf_release) struct buf sizes;
    buf_init(&sizes, (size_t)(pack->limits.objects + 1) * SIZE_LINE_BYTES);
    struct git_call ask = {
        .git_dir = pack->dir,
        .args = GIT_ARGS("cat-file", "--batch-check=%(objecttype) %(objectsize)"),
        .input = hashes,
        .out = &sizes,
        .memory_bytes = GIT_MEMORY_SMALL};
    enum rc rc = git_run(git, &ask, err);
    if (rc != RC_OK)
        return refuse(rc, "its objects cannot be read", err);
    struct str rest = buf_str(&sizes), line;
    int64_t sum = 0;
    bool first = true;
    while (str_take_line(&rest, &line)) {
        const char *blank = memchr(line.at, ' ', line.len);
        if (blank == NULL || (first && strncmp(line.at, "tree ", 5) != 0))
            return not_sound(err, "its tip is no tree");
        first = false;
        int64_t size = strtoll(blank + 1, NULL, 10);
        sum += size;
        if (size > pack->limits.object_bytes)
            return too_large(err, "an object with bytes:", size, pack->limits.object_bytes);
        if (sum > pack->limits.unpacked_bytes)
            return too_large(err, "unpacked bytes:", sum, pack->limits.unpacked_bytes);
    }
    return RC_OK;
}

enum rc pack_take(const struct git *git, const struct pack *pack, struct err *err)
{
    int64_t objects = 0;
    if (!git_hash_valid(pack->tip) || !git_hash_valid(pack->known))
        return not_sound(err, "its tip is no hash");
    enum rc rc = check_header(pack, &objects, err);
    if (rc == RC_OK)
        rc = dir_remove(pack->dir, err);
    if (rc == RC_OK)
        rc = git_borrow(pack->lender, pack->dir, err);
    if (rc == RC_OK && objects > 0)
        rc = index_pack(git, pack, err);
    CLEANUP(buf_release) struct buf hashes;
    buf_init(&hashes, (size_t)(pack->limits.objects + 1) * (GIT_HASH_BYTES + 1));
    if (rc == RC_OK)
        rc = list_objects(git, pack, &hashes, err);
    if (rc == RC_OK && hashes.len > 0)
        rc = check_sizes(git, pack, buf_str(&hashes), err);
    return rc;
}

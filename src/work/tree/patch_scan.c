/*
 * patch_scan.c - see patch_scan.h.
 *
 * A diff holds binary files in packed form, so they are read from git, by the blobs that the diff
 * names.  UTF-16 text is binary to git: what is found when the NULs are left out counts as well.
 */
#include "work/tree/patch_scan.h"
#include "core/text/redact.h"
#include "work/job/step_secrets.h"
#include <string.h>

/* Tokens by their form only where the repository configures that; secrets that were handed out
   always. */
static struct secrets wanted(struct step *step)
{
    struct secrets secrets = *step_secrets(step);
    secrets.shapes = step->input.config.policy.scan_secrets;
    return secrets;
}

struct secret_hits *patch_scan_lines(struct step *step, struct str diff)
{
    struct secrets secrets = wanted(step);
    struct secret_hits *hits = arena_alloc(step->arena, sizeof *hits);
    secrets_in_patch(&secrets, diff, step->arena, hits);
    return hits->count > 0 ? hits : NULL;
}

/* ---- binary files ---- */

struct blobs {
    struct step *step;
    const struct treegit *treegit; /* NULL: the mirror's. */
    struct secrets secrets;
    struct secret_hits hits;
    size_t files, bytes; /* Scanned so far. */
};

static bool is_none(const char *oid)
{
    return oid[strspn(oid, "0")] == '\0';
}

/* *ret_whole is false when it has more bytes than `into` may hold. */
static enum rc read_blob(const struct blobs *blobs, const char *oid, struct buf *into,
                         bool *ret_whole, struct err *err)
{
    const char *const args[] = {"cat-file", "blob", oid, NULL};
    struct git git = step_git(blobs->step);
    struct git_call call = {.git_dir = blobs->step->mirror,
                            .args = args,
                            .out = into,
                            .memory_bytes = GIT_MEMORY_SMALL};
    *ret_whole = true;
    if (is_none(oid))
        return RC_OK;
    enum rc rc = blobs->treegit != NULL ? treegit_blob(blobs->treegit, oid, into, err)
                                        : git_run(&git, &call, err);
    *ret_whole = !into->overflow;
    return rc == RC_TOO_LARGE ? RC_OK : rc;
}

static void drop_nuls(struct buf *buf)
{
    size_t len = 0;
    for (size_t i = 0; i < buf->len; i++) {
        if (buf->data[i] != '\0')
            buf->data[len++] = buf->data[i];
    }
    buf_cut(buf, len);
}

static void find(struct blobs *blobs, const char *path, const struct buf *now,
                 const struct buf *before)
{
    struct secret_blob blob = {.path = path, .now = buf_str(now), .before = buf_str(before)};
    secrets_in_blob(&blobs->secrets, &blob, blobs->step->arena, &blobs->hits);
}

/* The old content of the file is read only when that matters; if it is too large, it counts as
   empty. */
static enum rc scan_blob(struct blobs *blobs, const struct patch_binary *binary, bool *ret_scanned,
                         struct err *err)
{
    CLEANUP(buf_release) struct buf now;
    CLEANUP(buf_release) struct buf before;
    size_t had = blobs->hits.count;
    bool whole;
    buf_init(&now, PATCH_BLOB_MAX);
    buf_init(&before, PATCH_BLOB_MAX);
    enum rc rc = read_blob(blobs, binary->now, &now, ret_scanned, err);
    if (rc != RC_OK || !*ret_scanned)
        return rc;
    blobs->bytes += now.len;
    for (int pass = 0; pass < 2 && rc == RC_OK && blobs->hits.count == had; pass++) {
        find(blobs, binary->path, &now, &before);
        if (blobs->hits.count > had && before.len == 0) {
            rc = read_blob(blobs, binary->was, &before, &whole, err);
            if (pass == 1)
                drop_nuls(&before);
            blobs->hits.count = had;
            find(blobs, binary->path, &now, &before);
        }
        drop_nuls(&now);
        drop_nuls(&before);
    }
    return rc;
}

static enum rc scan_blobs(struct blobs *blobs, const struct patch_stats *stats,
                          struct patch_scan *scan, struct err *err)
{
    enum rc rc = RC_OK;
    scan->unscanned = arena_array(blobs->step->arena, stats->binary_count, sizeof(char *));
    for (size_t i = 0; rc == RC_OK && i < stats->binary_count; i++) {
        const struct patch_binary *binary = &stats->binaries[i];
        bool scanned = false;
        if (is_none(binary->now))
            continue;
        if (blobs->files < PATCH_BLOBS_MAX && blobs->bytes < PATCH_BLOB_SUM_MAX) {
            blobs->files++;
            rc = scan_blob(blobs, binary, &scanned, err);
        }
        if (rc == RC_OK && !scanned)
            scan->unscanned[scan->unscanned_count++] = binary->path;
    }
    return rc;
}

enum rc patch_scan(struct step *step, const struct treegit *treegit, struct str diff,
                   const struct patch_stats *stats, struct patch_scan *ret_scan, struct err *err)
{
    struct patch_scan scan = {.secrets = patch_scan_lines(step, diff)};
    struct blobs *blobs = arena_alloc(step->arena, sizeof *blobs);
    *blobs = (struct blobs){.step = step, .treegit = treegit, .secrets = wanted(step)};
    if (scan.secrets != NULL) /* They are reported together. */
        blobs->hits = *scan.secrets;
    enum rc rc = stats->binary_count > 0 ? scan_blobs(blobs, stats, &scan, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    if (blobs->hits.count > 0)
        scan.secrets = &blobs->hits;
    *ret_scan = scan;
    return RC_OK;
}

/* ---- the copy for people ---- */

static struct str take_line(struct str *text)
{
    const char *end = memchr(text->at, '\n', text->len);
    struct str line = {text->at, end != NULL ? (size_t)(end - text->at) + 1 : text->len};
    *text = (struct str){text->at + line.len, text->len - line.len};
    return line;
}

static bool starts(struct str line, const char *prefix)
{
    return line.len >= strlen(prefix) && memcmp(line.at, prefix, strlen(prefix)) == 0;
}

bool patch_scan_packed(struct str diff)
{
    while (diff.len > 0) {
        if (starts(take_line(&diff), PATCH_BINARY))
            return true;
    }
    return false;
}

/* No line of a text file begins as these do: it has its sign before it. */
void patch_scan_redact(struct step *step, struct str diff, struct buf *into)
{
    CLEANUP(buf_release) struct buf shown;
    bool packed = false;
    buf_init(&shown, diff.len + 1);
    while (diff.len > 0) {
        struct str line = take_line(&diff);
        packed = starts(line, PATCH_BINARY) || (packed && !starts(line, "diff --git "));
        if (!packed)
            buf_add(&shown, line.at, line.len);
    }
    redact_text(step_secrets(step), buf_str(&shown), into);
}

/*
 * secrets_patch.c - the scan of a git diff: names, added lines, and all text outside of
 * files, such as the message above a mailed patch.
 *
 * What a diff holds of a binary file is packed and cannot be scanned: the file itself is read.
 */
#include "core/run/secrets_patch.h"
#include "core/run/patch.h"
#include "core/text/redact.h"
#include <stdlib.h>
#include <string.h>

enum {
    LOOKS_MAX = 500,
    LOOKED_BYTES_MAX = 256 * 1024 * 1024, /* By all searches together. */
    HUNK_NUMBER_MAX = 1 << 30,            /* More lines than any diff here has. */
    TEXT_MAX = 200,                       /* Of the line round a hit. */
};

static struct str from(struct str text, size_t at)
{
    return (struct str){text.at + at, text.len - at};
}

static bool starts(struct str text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.at, prefix, len) == 0;
}

struct patch_scan {
    const struct secrets *secrets;
    struct str diff;
    struct arena *arena;
    struct secret_hits *hits;
    const char *path;           /* Redacted. */
    int64_t old_left, new_left; /* Lines of the hunk still to come. */
    int64_t line;               /* Of the new file. */
    enum key_state key;
    bool binary; /* The rest of the file is no text. */
    int looks;   /* Searches in what was removed. */
    size_t looked_bytes;
};

/* Searching the removed lines is slow: a patch that moves very many secrets, or is very long and
   moves many, is held back as if they were new. */
static bool was_there(struct patch_scan *scan, struct str value)
{
    struct str diff = scan->diff, line;
    scan->looks++;
    while (scan->looks <= LOOKS_MAX && scan->looked_bytes <= LOOKED_BYTES_MAX &&
           str_take_line(&diff, &line)) {
        scan->looked_bytes += line.len + 1;
        if (line.len > 0 && line.at[0] == '-' &&
            memmem(line.at, line.len, value.at, value.len) != NULL)
            return true;
    }
    return false;
}

static void add_hit(struct patch_scan *scan, const char *rule, struct str line)
{
    struct secret_hits *hits = scan->hits;
    if (hits->count == SECRETS_HITS_MAX) {
        hits->more = true;
        return;
    }
    const char *text = redact_dup(scan->secrets, str_dup(scan->arena, line), scan->arena);
    hits->at[hits->count++] = (struct secret_hit){
        .rule = rule,
        .path = scan->path,
        .line = scan->line,
        .text = arena_strndup(scan->arena, text, strnlen(text, TEXT_MAX)),
    };
}

static void scan_text(struct patch_scan *scan, struct str text)
{
    struct secret_scan line = secrets_scan(scan->secrets, text, &scan->key);
    struct secret secret;
    bool told = false; /* One hit of a line is enough to find it. */
    while (secrets_next(&line, &secret)) {
        struct str value = {text.at + secret.at, secret.len};
        if (told || scan->hits->more || was_there(scan, value))
            continue;
        add_hit(scan, secret.rule, text);
        told = true;
    }
}

static int64_t hunk_number(const char *text, char **ret_end)
{
    long long number = strtoll(text, ret_end, 10);
    return number < 0 ? 0 : number > HUNK_NUMBER_MAX ? HUNK_NUMBER_MAX : number;
}

/* "@@ -1,2 +3,4 @@": a count that is not there is 1. */
static void open_hunk(struct patch_scan *scan, struct str line)
{
    char head[80];
    text_copy(head, line.len < sizeof head ? line.len + 1 : sizeof head, line.at);
    int64_t numbers[4] = {0, 1, 0, 1};
    const char *at = head;
    for (int side = 0; side < 2; side++) {
        at = strpbrk(at, side == 0 ? "-" : "+");
        if (at == NULL)
            return;
        char *end;
        numbers[side * 2] = hunk_number(at + 1, &end);
        if (*end == ',')
            numbers[side * 2 + 1] = hunk_number(end + 1, &end);
        at = end;
    }
    scan->old_left = numbers[1];
    scan->line = numbers[2];
    scan->new_left = numbers[3];
    scan->key = KEY_OUTSIDE;
}

static void scan_head(struct patch_scan *scan, struct str line)
{
    if (starts(line, "@@ -")) {
        open_hunk(scan, line);
    } else if (starts(line, "diff --git ")) {
        struct str names = from(line, strlen("diff --git "));
        const char *second = memmem(names.at, names.len, " b/", 3);
        struct str path = second != NULL ? from(names, (size_t)(second - names.at) + 3)
                                         : names; /* A quoted one: as it stands there. */
        scan->line = 0;
        scan->binary = false;
        scan->key = KEY_OUTSIDE;
        scan->path = redact_dup(scan->secrets, str_dup(scan->arena, path), scan->arena);
        scan_text(scan, path);
    } else if (starts(line, PATCH_BINARY)) {
        scan->binary = true;
    } else if (!scan->binary) {
        scan_text(scan, line);
    }
}

static void scan_hunk_line(struct patch_scan *scan, struct str line)
{
    char sign = line.len > 0 ? line.at[0] : ' ';
    if (sign == '\\') /* "\ No newline at end of file" */
        return;
    scan->old_left -= sign != '+';
    scan->new_left -= sign != '-';
    if (sign == '+')
        scan_text(scan, from(line, 1));
    scan->line += sign != '-';
}

void secrets_in_patch(const struct secrets *secrets, struct str diff, struct arena *arena,
                      struct secret_hits *ret_hits)
{
    *ret_hits = (struct secret_hits){.count = 0};
    struct patch_scan scan = {
        .secrets = secrets, .diff = diff, .arena = arena, .hits = ret_hits, .path = ""};
    struct str rest = diff, line;
    while (str_take_line(&rest, &line)) {
        if (scan.old_left > 0 || scan.new_left > 0)
            scan_hunk_line(&scan, line);
        else
            scan_head(&scan, line);
    }
}

void secrets_in_blob(const struct secrets *secrets, const struct secret_blob *blob,
                     struct arena *arena, struct secret_hits *hits)
{
    struct str rest = blob->now, line;
    struct secret_hit hit = {.path = redact_dup(secrets, blob->path, arena), .text = ""};
    enum key_state key = KEY_OUTSIDE;
    while (hits->count < SECRETS_HITS_MAX && str_take_line(&rest, &line)) {
        struct secret_scan scan = secrets_scan(secrets, line, &key);
        struct secret secret;
        bool told = false;
        hit.line++;
        while (secrets_next(&scan, &secret)) {
            bool old = memmem(blob->before.at, blob->before.len, line.at + secret.at, secret.len) !=
                       NULL;
            hit.rule = secret.rule;
            if (!old && !told && hits->count < SECRETS_HITS_MAX)
                hits->at[hits->count++] = hit;
            told |= !old;
        }
    }
}

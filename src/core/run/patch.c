/*
 * patch.c - what a unified git diff touches.
 *
 *   diff --git a/OLD b/NEW           one file
 *   rename from OLD, rename to NEW   also modes, index, similarity
 *   --- a/OLD, +++ b/NEW             or /dev/null; absent for binary, empty and mode-only changes
 *   @@ -from,count +from,count @@    then exactly count lines: these are not parsed as headers,
 *   ...                              so a deleted line "-- x" is no "--- x"
 *
 * Names that hold odd bytes stand in double quotes with C escapes.  A patch may come from a
 * tree that an agent owns, so what is not expected is refused, and so are names that contradict
 * each other: what is judged here must be what git applies.
 */
#include "core/run/patch.h"
#include <stdbool.h>
#include <string.h>

static const char file_head[] = "diff --git ";

struct reader {
    struct str rest;
    int64_t line_no;
    struct arena *arena;
    struct err *err;
    struct patch_stats stats;
    size_t *slots; /* Hash set of paths: index into stats.paths plus one; 0 is free. */
    size_t slot_count;
};

/* A "---" or "+++" line. */
struct side {
    bool seen;
    const char *path; /* NULL: /dev/null. */
};

/* The file being read. */
struct change {
    struct str names; /* What follows "diff --git ". */
    struct side old_side, new_side;
    const char *moved_from, *moved_to; /* A rename or a copy. */
    bool renamed;
    bool in_hunks, in_binary;
    struct str blobs; /* What follows "index ". */
};

struct hunk {
    int64_t old_lines, new_lines;
};

static enum rc broken(struct reader *reader, const char *what)
{
    return err_set(reader->err, RC_INVALID, "INVALID_PATCH",
                   "The patch is no git diff: %s at line %lld.", what, (long long)reader->line_no);
}

static bool str_starts(struct str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && memcmp(s.at, prefix, len) == 0;
}

static struct str str_from(struct str s, size_t offset)
{
    return (struct str){s.at + offset, s.len - offset};
}

static bool next_line(struct reader *reader, struct str *ret_line)
{
    if (!str_take_line(&reader->rest, ret_line))
        return false;
    reader->line_no++;
    return true;
}

/* One escape after its backslash; 0 when there is no such escape. */
static char unescape(struct str *text)
{
    static const char letters[] = "abtnvfr\"\\";
    static const char bytes[] = "\a\b\t\n\v\f\r\"\\";
    if (text->len == 0)
        return 0;
    const char *letter = memchr(letters, text->at[0], sizeof letters - 1);
    if (letter != NULL) {
        *text = str_from(*text, 1);
        return bytes[letter - letters];
    }
    unsigned value = 0;
    if (text->len < 3)
        return 0;
    for (size_t i = 0; i < 3; i++) {
        if (text->at[i] < '0' || text->at[i] > '7')
            return 0;
        value = value * 8 + (unsigned)(text->at[i] - '0');
    }
    *text = str_from(*text, 3);
    return value <= 0xff ? (char)value : 0;
}

/* A name that stands there as it is; NULL when it holds a NUL, which would hide its end. */
static const char *copy_name(struct reader *reader, struct str name)
{
    if (name.len > 0 && memchr(name.at, '\0', name.len) != NULL)
        return NULL;
    return str_dup(reader->arena, name);
}

/* Reads a name at the start of *text: quoted up to its quote, else all that is there. */
static const char *read_name(struct reader *reader, struct str *text)
{
    if (!str_starts(*text, "\"")) {
        const char *name = copy_name(reader, *text);
        *text = str_from(*text, text->len);
        return name;
    }
    char *name = arena_alloc(reader->arena, text->len + 1);
    size_t len = 0;
    struct str left = str_from(*text, 1);
    while (left.len > 0 && left.at[0] != '"') {
        char c = left.at[0];
        left = str_from(left, 1);
        if (c == '\\')
            c = unescape(&left);
        if (c == '\0')
            return NULL;
        name[len++] = c;
    }
    if (left.len == 0)
        return NULL;
    *text = str_from(left, 1);
    return name;
}

/* A whole name without its a/ or b/. */
static const char *strip_side(const char *name)
{
    if (name == NULL || (!text_starts(name, "a/") && !text_starts(name, "b/")) || name[2] == '\0')
        return NULL;
    return name + 2;
}

/* git ends a name with blanks in it by a tab. */
static enum rc read_side(struct reader *reader, struct str text, struct side *side)
{
    if (side->seen)
        return broken(reader, "a second name for one file");
    side->seen = true;
    if (str_is(text, "/dev/null"))
        return RC_OK;
    if (text.len > 0 && text.at[text.len - 1] == '\t')
        text.len--;
    side->path = strip_side(read_name(reader, &text));
    if (side->path == NULL || text.len > 0)
        return broken(reader, "a bad file name");
    return RC_OK;
}

/* "rename from x", "copy to x": no a/ or b/ here. */
static enum rc read_bare(struct reader *reader, struct str text, const char **path)
{
    if (*path != NULL)
        return broken(reader, "a second name for one file");
    *path = read_name(reader, &text);
    if (text_empty(*path) || text.len > 0)
        return broken(reader, "a bad file name");
    return RC_OK;
}

/* The name in "diff --git a/x b/x", which stands there twice unless the file moved. */
static const char *same_name(struct reader *reader, struct str names)
{
    if (str_starts(names, "\"")) {
        const char *old_path = strip_side(read_name(reader, &names));
        if (old_path == NULL || !str_starts(names, " "))
            return NULL;
        names = str_from(names, 1);
        const char *new_path = strip_side(read_name(reader, &names));
        return names.len == 0 && text_same(old_path, new_path) ? new_path : NULL;
    }
    if (names.len % 2 == 0)
        return NULL;
    size_t half = names.len / 2;
    struct str old_name = {names.at, half};
    struct str new_name = str_from(names, half + 1);
    if (names.at[half] != ' ' || !str_starts(old_name, "a/") || !str_starts(new_name, "b/"))
        return NULL;
    if (half <= 2 || !str_same(str_from(old_name, 2), str_from(new_name, 2)))
        return NULL;
    return copy_name(reader, str_from(new_name, 2));
}

static bool read_number(struct str *text, int64_t *ret_number)
{
    int64_t number = 0;
    size_t i = 0;
    while (i < text->len && i < 10 && text->at[i] >= '0' && text->at[i] <= '9')
        number = number * 10 + (text->at[i++] - '0');
    if (i == 0)
        return false;
    *text = str_from(*text, i);
    *ret_number = number;
    return true;
}

/* "-3,7" or "-3", which means one line. */
static bool read_range(struct str *text, char sign, int64_t *ret_lines)
{
    int64_t start, lines = 1;
    if (text->len == 0 || text->at[0] != sign)
        return false;
    *text = str_from(*text, 1);
    if (!read_number(text, &start))
        return false;
    if (str_starts(*text, ",")) {
        *text = str_from(*text, 1);
        if (!read_number(text, &lines))
            return false;
    }
    *ret_lines = lines;
    return true;
}

/* "-1,7 +1,6 @@", what follows is for people. */
static bool read_hunk_head(struct str text, struct hunk *ret_hunk)
{
    if (!read_range(&text, '-', &ret_hunk->old_lines) || !str_starts(text, " "))
        return false;
    text = str_from(text, 1);
    return read_range(&text, '+', &ret_hunk->new_lines) && str_starts(text, " @@");
}

/* head: what follows "@@ ". */
static enum rc read_hunk(struct reader *reader, struct str head)
{
    struct hunk left;
    if (!read_hunk_head(head, &left))
        return broken(reader, "a bad hunk header");
    while (left.old_lines > 0 || left.new_lines > 0) {
        struct str line;
        if (!next_line(reader, &line))
            return broken(reader, "a hunk that ends too early");
        char kind = line.len > 0 ? line.at[0] : ' ';
        if (kind == '\\')
            continue;
        if (kind != ' ' && kind != '+' && kind != '-')
            return broken(reader, "a bad line in a hunk");
        left.old_lines -= kind != '+';
        left.new_lines -= kind != '-';
        if (left.old_lines < 0 || left.new_lines < 0)
            return broken(reader, "a hunk that does not fit its header");
        reader->stats.lines_added += kind == '+';
        reader->stats.lines_deleted += kind == '-';
    }
    return RC_OK;
}

enum head_kind {
    HEAD_IGNORED,
    HEAD_INDEX,
    HEAD_OLD,
    HEAD_NEW,
    HEAD_RENAME_FROM,
    HEAD_COPY_FROM,
    HEAD_MOVED_TO,
    HEAD_BINARY,
    HEAD_HUNK
};

static const struct {
    const char *prefix;
    enum head_kind kind;
} heads[] = {
    {"@@ ", HEAD_HUNK},
    {"--- ", HEAD_OLD},
    {"+++ ", HEAD_NEW},
    {"rename from ", HEAD_RENAME_FROM},
    {"rename to ", HEAD_MOVED_TO},
    {"copy from ", HEAD_COPY_FROM},
    {"copy to ", HEAD_MOVED_TO},
    {"index ", HEAD_INDEX},
    {"old mode ", HEAD_IGNORED},
    {"new mode ", HEAD_IGNORED},
    {"new file mode ", HEAD_IGNORED},
    {"deleted file mode ", HEAD_IGNORED},
    {"similarity index ", HEAD_IGNORED},
    {"dissimilarity index ", HEAD_IGNORED},
    {"Binary files ", HEAD_IGNORED},
    {PATCH_BINARY, HEAD_BINARY},
};

static enum rc read_head(struct reader *reader, struct str line, struct change *change)
{
    size_t i = 0;
    while (i < COUNT_OF(heads) && !str_starts(line, heads[i].prefix))
        i++;
    if (i == COUNT_OF(heads))
        return broken(reader, "an unknown line");
    struct str rest = str_from(line, strlen(heads[i].prefix));
    switch (heads[i].kind) {
    case HEAD_IGNORED:
        break;
    case HEAD_INDEX:
        change->blobs = rest;
        break;
    case HEAD_OLD:
        return read_side(reader, rest, &change->old_side);
    case HEAD_NEW:
        return read_side(reader, rest, &change->new_side);
    case HEAD_RENAME_FROM:
        change->renamed = true;
        return read_bare(reader, rest, &change->moved_from);
    case HEAD_COPY_FROM:
        return read_bare(reader, rest, &change->moved_from);
    case HEAD_MOVED_TO:
        return read_bare(reader, rest, &change->moved_to);
    case HEAD_BINARY:
        change->in_binary = true;
        break;
    case HEAD_HUNK:
        change->in_hunks = true;
        return read_hunk(reader, rest);
    }
    return RC_OK;
}

/* Base 85 has no blanks, and no line of it begins with anything but a letter. */
static bool is_binary_line(struct str line)
{
    if (line.len == 0 || str_starts(line, "literal ") || str_starts(line, "delta "))
        return true;
    bool letter = (line.at[0] >= 'a' && line.at[0] <= 'z') ||
                  (line.at[0] >= 'A' && line.at[0] <= 'Z');
    return letter && memchr(line.at, ' ', line.len) == NULL;
}

static enum rc read_change_line(struct reader *reader, struct str line, struct change *change)
{
    if (change->in_binary)
        return is_binary_line(line) ? RC_OK : broken(reader, "a bad line in a binary patch");
    if (!change->in_hunks)
        return read_head(reader, line, change);
    if (str_starts(line, "@@ "))
        return read_hunk(reader, str_from(line, strlen("@@ ")));
    if (str_starts(line, "\\ "))
        return RC_OK;
    return broken(reader, "a line outside of its hunk");
}

/* FNV-1a: the set is small, and a bad patch can only slow down its own reading. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static void add_path(struct reader *reader, const char *path)
{
    size_t at = (size_t)(hash_of(path) & (reader->slot_count - 1));
    while (reader->slots[at] != 0) {
        if (text_same(reader->stats.paths[reader->slots[at] - 1], path))
            return;
        at = (at + 1) & (reader->slot_count - 1);
    }
    reader->stats.paths[reader->stats.files++] = path;
    reader->slots[at] = reader->stats.files;
}

/* "WAS..NOW", and maybe a mode. */
static bool read_blobs(struct str text, struct patch_binary *binary)
{
    char *const to[] = {binary->was, binary->now};
    for (size_t side = 0; side < COUNT_OF(to); side++) {
        size_t len = 0;
        while (len < text.len && strchr("0123456789abcdef", text.at[len]) != NULL && text.at[len])
            len++;
        if (len != 40 && len != 64)
            return false;
        memcpy(to[side], text.at, len);
        to[side][len] = '\0';
        text = str_from(text, len);
        if (side == 0 && !str_starts(text, ".."))
            return false;
        text = str_from(text, side == 0 ? 2 : 0);
    }
    return true;
}

/* Counts the change once its names are known to agree. */
static enum rc settle(struct reader *reader, const struct change *change)
{
    if ((change->moved_from == NULL) != (change->moved_to == NULL))
        return broken(reader, "half a rename");
    const char *new_path = change->moved_to;
    if (new_path == NULL)
        new_path = same_name(reader, change->names);
    if (new_path == NULL)
        return broken(reader, "a file without a name");
    const char *old_path = change->moved_from != NULL ? change->moved_from : new_path;
    if ((change->old_side.path != NULL && !text_same(change->old_side.path, old_path)) ||
        (change->new_side.path != NULL && !text_same(change->new_side.path, new_path)))
        return broken(reader, "names that contradict each other");
    add_path(reader, new_path);
    struct patch_binary binary = {.path = new_path};
    if (change->in_binary && read_blobs(change->blobs, &binary))
        reader->stats.binaries[reader->stats.binary_count++] = binary;
    if (change->renamed)
        reader->stats.renamed_from[reader->stats.renamed_from_count++] = old_path;
    return RC_OK;
}

static enum rc read_change(struct reader *reader, struct str head)
{
    struct change change = {.names = str_from(head, strlen(file_head))};
    struct str line;
    while (!str_starts(reader->rest, file_head) && next_line(reader, &line)) {
        enum rc rc = read_change_line(reader, line, &change);
        if (rc != RC_OK)
            return rc;
    }
    return settle(reader, &change);
}

static size_t count_lines(struct str diff, const char *prefix)
{
    struct reader scan = {.rest = diff};
    struct str line;
    size_t count = 0;
    while (next_line(&scan, &line))
        count += str_starts(line, prefix);
    return count;
}

enum rc patch_read(struct str diff, struct arena *arena, struct patch_stats *ret_stats,
                   struct err *err)
{
    struct reader reader = {.rest = diff, .arena = arena, .err = err, .slot_count = 16};
    size_t count = count_lines(diff, file_head), binaries = count_lines(diff, PATCH_BINARY);
    if (count > PATCH_FILES_MAX)
        return err_set(err, RC_TOO_LARGE, "PATCH_TOO_LARGE",
                       "The patch changes %zu files, at most %d are allowed.", count,
                       PATCH_FILES_MAX);
    while (reader.slot_count < 2 * count)
        reader.slot_count *= 2;
    reader.slots = arena_array(arena, reader.slot_count, sizeof *reader.slots);
    reader.stats.paths = arena_array(arena, count + 1, sizeof *reader.stats.paths);
    reader.stats.renamed_from = arena_array(arena, count + 1, sizeof *reader.stats.renamed_from);
    reader.stats.binaries = arena_array(arena, binaries, sizeof *reader.stats.binaries);
    struct str line;
    while (next_line(&reader, &line)) {
        if (!str_starts(line, file_head))
            return broken(&reader, "no \"diff --git\" line");
        enum rc rc = read_change(&reader, line);
        if (rc != RC_OK)
            return rc;
    }
    *ret_stats = reader.stats;
    return RC_OK;
}

#include "cli/audit_file.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/signature.h"
#include "base/str.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_BYTES_MAX = AUDIT_JSON_MAX };

/* ---- lines ---- */

static void file_closep(FILE **file)
{
    if (*file != NULL && *file != stdin)
        (void)fclose(*file);
}

static enum rc open_lines(const char *path, FILE **ret_file, struct err *err)
{
    FILE *file = text_same(path, "-") ? stdin : fopen(path, "re");
    if (file == NULL)
        return err_set(err, errno == ENOENT ? RC_NOT_FOUND : RC_IO, "IO_ERROR",
                       "cannot open %.300s: %s", path, strerror(errno));
    *ret_file = file;
    return RC_OK;
}

/* The next line without its end; a longer one than the buffer is cut.  false: the end. */
static bool next_line(FILE *file, char *line, size_t bytes)
{
    size_t len = 0;
    int c;
    while ((c = getc_unlocked(file)) != EOF && c != '\n')
        if (len + 1 < bytes)
            line[len++] = (char)c;
    line[len] = '\0';
    return c != EOF || len > 0;
}

static bool is_blank(const char *line)
{
    return line[strspn(line, " \t\r")] == '\0';
}

/* ---- notes ---- */

enum rc audit_notes_read(const char *path, const char *key_path, struct arena *arena,
                         struct audit_notes *ret_notes, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(buf_release) struct buf key;
    buf_init(&text, AUDIT_NOTES_BYTES_MAX);
    buf_init(&key, SIGNATURE_PEM_MAX);
    enum rc rc = key_path != NULL ? file_read(key_path, &key, err) : RC_OK;
    if (rc == RC_OK)
        rc = file_read(path, &text, err);
    if (rc != RC_OK)
        return rc;
    rc = audit_notes_parse(buf_str(&text), buf_str(&key), arena, ret_notes, err);
    return rc != RC_OK ? err_wrap(err, rc, path) : RC_OK;
}

/* ---- exports ---- */

/* false: enough. */
static bool add_line(const char *line, struct audit_chain *chain)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct audit_entry entry;
    struct err err = {0};
    if (js_parse(line, strlen(line), &tree, &err) != RC_OK) {
        audit_chain_unreadable(chain, err.text);
        return false;
    }
    if (!audit_read(tree, &arena, &entry)) {
        audit_chain_unreadable(chain,
                               "members of a row are missing, of another type, or none of a row");
        return false;
    }
    return audit_chain_add(chain, &entry);
}

enum rc audit_file_verify(const char *path, struct audit_chain *chain, struct err *err)
{
    CLEANUP(file_closep) FILE *file = NULL;
    char line[ROW_BYTES_MAX];
    bool goes_on = true;
    enum rc rc = open_lines(path, &file, err);
    if (rc != RC_OK)
        return rc;
    while (goes_on && next_line(file, line, sizeof line))
        if (!is_blank(line))
            goes_on = add_line(line, chain);
    if (ferror(file))
        return err_set(err, RC_IO, "IO_ERROR", "cannot read %.300s: %s", path, strerror(errno));
    audit_chain_end(chain, NULL);
    return RC_OK;
}

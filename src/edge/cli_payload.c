/*
 * cli_payload.c - see cli_payload.h.
 */
#include "edge/cli_payload.h"
#include "base/fd.h"
#include "base/js.h"
#include "base/jw.h"
#include <string.h>
#include <unistd.h>

static void cut_blanks(struct buf *text)
{
    while (text->len > 0 && strchr(" \t\r\n", text->data[text->len - 1]) != NULL)
        buf_cut(text, text->len - 1);
}

enum rc cli_read_stdin(struct buf *into, struct err *err)
{
    char chunk[4096];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, chunk, sizeof(chunk));
        if (got < 0)
            return err_set(err, RC_IO, "IO", "standard input cannot be read");
        if (got == 0)
            break;
        buf_add(into, chunk, (size_t)got);
        if (into->overflow)
            return err_set(err, RC_TOO_LARGE, "TOO_LARGE",
                           "standard input may hold at most %zu bytes", into->max_bytes);
    }
    cut_blanks(into);
    return RC_OK;
}

static enum rc read_file(const char *path, struct buf *into, struct err *err)
{
    enum rc rc = file_read(path, into, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_MALFORMED, "NO_SUCH_FILE", "there is no file %s", path);
    cut_blanks(into);
    return rc;
}

static struct str as_json(struct cli *cli, const struct buf *text)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_parse(buf_text(text), text->len, &tree, NULL) == RC_OK)
        return str_of(js_text(tree, &cli->arena));
    CLEANUP(buf_release) struct buf json;
    buf_init(&json, (size_t)CLI_PAYLOAD_MAX * 6 + 3); /* All of it escaped. */
    struct jw jw = jw_to(&json);
    jw_strn(&jw, buf_text(text), text->len);
    return str_of(arena_strndup(&cli->arena, buf_text(&json), json.len));
}

enum rc cli_payload(struct cli *cli, const char *word, struct str *ret_json, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, CLI_PAYLOAD_MAX);
    enum rc rc = RC_OK;
    if (word == NULL)
        buf_adds(&text, "null");
    else if (text_same(word, "-"))
        rc = cli_read_stdin(&text, err);
    else if (word[0] == '@')
        rc = read_file(word + 1, &text, err);
    else
        buf_adds(&text, word);
    if (rc == RC_OK && text.overflow)
        rc = err_set(err, RC_TOO_LARGE, "TOO_LARGE", "a payload has at most %d bytes",
                     CLI_PAYLOAD_MAX);
    if (rc == RC_OK)
        *ret_json = as_json(cli, &text);
    return rc;
}

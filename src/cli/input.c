#include "cli/input.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/command.h"
#include <unistd.h>

enum { DOCUMENT_BYTES_MAX = 512 * 1024 };

enum rc cli_read_stdin(struct buf *into, struct err *err)
{
    char chunk[4096];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, chunk, sizeof chunk);
        if (got < 0)
            return err_set(err, RC_IO, "IO", "standard input cannot be read");
        if (got == 0)
            return RC_OK;
        buf_add(into, chunk, (size_t)got);
        if (into->overflow)
            return err_set(err, RC_TOO_LARGE, "TOO_LARGE",
                           "standard input holds more than %zu bytes", into->max_bytes);
    }
}

enum rc cli_read_text(const struct cli *cli, size_t first, struct buf *into, struct err *err)
{
    const char *word = args_word(&cli->args, first);
    if (text_same(word, "-") && args_word(&cli->args, first + 1) == NULL)
        return cli_read_stdin(into, err);
    for (size_t i = first; (word = args_word(&cli->args, i)) != NULL; i++) {
        if (i > first)
            buf_addc(into, ' ');
        buf_adds(into, word);
    }
    return RC_OK;
}

enum rc cli_read_source(const char *path, struct buf *into, struct err *err)
{
    if (text_same(path, "-"))
        return cli_read_stdin(into, err);
    enum rc rc = file_read(path, into, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_MALFORMED, "NO_SUCH_FILE", "there is no file %s", path);
    return rc;
}

enum rc cli_read_document(const char *path, struct js **ret_tree, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    enum rc rc = cli_read_source(path, &text, err);
    if (rc != RC_OK)
        return rc;
    rc = yaml_parse(buf_text(&text), text.len, &tree, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, path);
    if (js_type(tree) != JS_OBJECT)
        return err_set(err, RC_MALFORMED, "INVALID_CONFIG", "%s: a mapping is expected, not %s",
                       path, js_type_name(js_type(tree)));
    *ret_tree = tree;
    tree = NULL;
    return RC_OK;
}

enum rc cli_read_payload(const char *word, struct js **ret_tree, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    enum rc rc = RC_OK;
    if (text_same(word, "-") || word[0] == '@')
        rc = cli_read_source(word[0] == '@' ? word + 1 : word, &text, err);
    else
        buf_adds(&text, word);
    if (rc != RC_OK)
        return rc;
    struct err why = {0};
    if (text.overflow || js_parse(buf_text(&text), text.len, ret_tree, &why) != RC_OK)
        return err_set(err, RC_MALFORMED, "INVALID_JSON",
                       "the payload is no JSON: %s\nA text stands in quotes: '\"hello\"'",
                       text.overflow ? "it is too long" : why.text);
    return RC_OK;
}

enum rc cli_payload_text(const char *word, struct arena *arena, struct str *ret_json,
                         struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = word != NULL ? cli_read_payload(word, &tree, err) : RC_OK;
    if (rc == RC_OK)
        *ret_json = tree != NULL ? str_of(js_text(tree, arena)) : STR("null");
    return rc;
}

#include "work/steps/outcome.h"
#include "base/js.h"
#include "base/jw.h"
#include "work/job/step.h"
#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <sysexits.h>

/* A byte becomes six at most: \u0000. */
enum { ESCAPED_BYTES_MAX = 6, FRAME_BYTES = 64 };

/* ---- what it printed ---- */

static struct str without_end_blanks(struct str text)
{
    while (text.len > 0 && isspace((unsigned char)text.at[text.len - 1]))
        text.len--;
    return text;
}

/* JSON has no place for a NUL in a text. */
static char *without_nuls(struct str text, struct arena *arena)
{
    char *copy = arena_alloc(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        copy[i] = text.at[i] != '\0' ? text.at[i] : ' ';
    return copy;
}

/* How much of the front to keep so that no character is cut. */
static size_t whole_characters(const char *text, size_t len)
{
    size_t cut = len;
    while (cut > 0 && len - cut < 4 && ((unsigned char)text[cut] & 0xC0) == 0x80)
        cut--;
    return cut;
}

static void write_text(struct buf *to, const char *text, size_t len, bool cut)
{
    buf_clear(to);
    struct jw jw = jw_to(to);
    jw_begin(&jw, '{');
    jw_key(&jw, "output");
    jw_strn(&jw, text, len);
    if (cut)
        jw_kbool(&jw, "truncated", true);
    jw_end(&jw, '}');
}

/* {"output": "as much of the text as goes into max_bytes"} */
static struct str text_output(struct str out, size_t max_bytes, struct arena *arena)
{
    CLEANUP(buf_release) struct buf to;
    const char *text = without_nuls(out, arena);
    size_t len = out.len < max_bytes ? out.len : whole_characters(text, max_bytes);
    buf_init(&to, max_bytes * ESCAPED_BYTES_MAX + FRAME_BYTES);
    write_text(&to, text, len, len < out.len);
    while (to.len > max_bytes) {
        size_t excess = to.len - max_bytes;
        size_t less = excess / ESCAPED_BYTES_MAX + 1;
        assert(len >= less); /* The frame alone always fits. */
        len = whole_characters(text, len - less);
        write_text(&to, text, len, true);
    }
    return (struct str){arena_strndup(arena, buf_text(&to), to.len), to.len};
}

struct str outcome_output(struct str out, size_t max_bytes, struct arena *arena)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    out = without_end_blanks(out);
    if (out.len == 0)
        return STR("null");
    if (js_parse(out.at, out.len, &tree, NULL) == RC_OK) {
        struct str json = str_of(js_text(tree, arena));
        if (json.len <= max_bytes)
            return json;
    }
    return text_output(out, max_bytes, arena);
}

/* A result is an object. */
static struct str result_of(struct str out, struct arena *arena)
{
    struct str json = outcome_output(out, STEP_RESULT_MAX - FRAME_BYTES, arena);
    if (json.at[0] == '{')
        return json;
    if (str_is(json, "null"))
        return STR("{}");
    return str_of(arena_printf(arena, "{\"output\":%.*s}", (int)json.len, json.at));
}

/* ---- why it failed ---- */

/* The last lines, at most OUTCOME_LINES_MAX of them and OUTCOME_MESSAGE_MAX bytes. */
static const char *last_lines(struct str text, struct arena *arena)
{
    text = without_end_blanks(text);
    size_t from = text.len, lines = 0;
    while (from > 0 && text.len - from < OUTCOME_MESSAGE_MAX) {
        if (text.at[from - 1] == '\n' && ++lines == OUTCOME_LINES_MAX)
            break;
        from--;
    }
    while (from < text.len && ((unsigned char)text.at[from] & 0xC0) == 0x80)
        from++; /* Not within a character. */
    return without_nuls((struct str){text.at + from, text.len - from}, arena);
}

static struct port_failure failure_of(const struct command_end *end, struct arena *arena)
{
    const struct proc_exit *exit = &end->how.exit;
    const char *said = last_lines(end->err, arena);
    struct port_failure failure = {.message = said, .retryable = true};
    const char *plain = NULL;
    if (end->how.timed_out) {
        failure.code = "timed_out";
        plain = "The command took too long.";
    } else if (exit->signal != 0) {
        failure.code = arena_printf(arena, "signal_%d", exit->signal);
        plain = arena_printf(arena, "Signal %d ended the command.", exit->signal);
    } else {
        failure.code = arena_printf(arena, "exit_%d", exit->code);
        plain = arena_printf(arena, "The command ended with %d.", exit->code);
        failure.policy = exit->code == EX_NOPERM;
        failure.retryable = exit->code != EX_USAGE && exit->code != EX_DATAERR && !failure.policy;
    }
    if (said[0] == '\0')
        failure.message = plain;
    return failure;
}

struct step_report outcome_of(const struct command_end *end, struct arena *arena)
{
    if (!end->how.timed_out && end->how.exit.signal == 0 && end->how.exit.code == 0)
        return (struct step_report){.kind = STEP_COMPLETED, .result = result_of(end->out, arena)};
    return (struct step_report){.kind = STEP_FAILED, .failure = failure_of(end, arena)};
}

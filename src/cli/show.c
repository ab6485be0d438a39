#include "cli/show.h"
#include "base/clock.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>

enum { VALUE_BYTES_MAX = 128 * 1024 };

int show_one(struct cli *cli, const struct show_one *how)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = how->resolve(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK)
        rc = cli_get(cli, cli_path(cli, how->prefix, id.text, how->suffix), &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        how->print(cli, &id, answer.tree);
    return CLI_DONE;
}

int show_call(struct cli *cli, const struct http_call *call,
              void (*print)(struct cli *cli, const struct js *document))
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_call(cli, call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print(cli, answer.tree);
    return CLI_DONE;
}

int show_list(struct cli *cli, const struct show_list *how)
{
    struct err err = {0};
    CLEANUP(cli_listing_release) struct cli_listing listing = {0};
    enum rc rc = cli_list(cli, how->path, &listing, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_listing_print_json(cli, &listing);
    } else if (listing.count == 0) {
        (void)printf("%s\n", how->empty);
    } else {
        how->print(cli, &listing);
        if (listing.cursor != NULL)
            (void)printf("There is more: --limit N shows it.\n");
    }
    return CLI_DONE;
}

void show_line(const struct cli *cli, const char *label, const char *value, enum tone tone)
{
    if (text_empty(value))
        return;
    CLEANUP(buf_release) struct buf safe;
    buf_init(&safe, VALUE_BYTES_MAX);
    term_clean(&safe, value);
    (void)printf("%-14s%s%s%s\n", label, term_on(&cli->term, tone), buf_text(&safe),
                 term_off(&cli->term, tone));
}

static const char *list_text(struct cli *cli, const struct js *array)
{
    CLEANUP(buf_release) struct buf list;
    buf_init(&list, VALUE_BYTES_MAX);
    for (size_t i = 0; i < js_count(array); i++)
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", js_str(js_at(array, i), "?"));
    return arena_strdup(&cli->arena, buf_text(&list));
}

void show_member(struct cli *cli, const char *label, const struct js *object, const char *key)
{
    const struct js *value = js_get(object, key);
    const char *text = NULL;
    switch (js_type(value)) {
    case JS_NULL:
        return;
    case JS_STRING:
        text = js_str(value, "");
        break;
    case JS_ARRAY:
        text = list_text(cli, value);
        break;
    case JS_BOOL:
        text = js_bool(value, false) ? "yes" : "no";
        break;
    case JS_INT:
    case JS_REAL:
    case JS_OBJECT:
        text = js_text(value, &cli->arena);
        break;
    }
    show_line(cli, label, text, TONE_PLAIN);
}

void show_status(struct cli *cli, const struct js *object)
{
    const char *status = js_get_str(object, "status", "?");
    show_line(cli, "Status", status, term_status_tone(status));
}

void show_time(struct cli *cli, const char *label, const struct js *object, const char *key)
{
    const char *text = js_get_str(object, key, NULL);
    int64_t time_us = 0;
    if (text == NULL || !time_parse(text, &time_us))
        return;
    struct term exact = cli->term;
    exact.tty = false;
    const char *shown = term_time(&exact, text, &cli->arena);
    if (cli->term.tty)
        shown = arena_printf(&cli->arena, "%s (%s)", shown,
                             term_ago(&cli->arena, cli->term.now_us, time_us));
    show_line(cli, label, shown, TONE_PLAIN);
}

const char *show_age(struct cli *cli, const struct js *object, const char *until)
{
    int64_t asked_us = 0, until_us = 0;
    char text[TIME_TEXT_BYTES];
    if (!time_parse(js_get_str(object, "requestedAt", ""), &asked_us))
        return "";
    if (!time_parse(js_get_str(object, until, ""), &until_us)) {
        struct clock clock = clock_real();
        until_us = clock_now_us(&clock);
    }
    return arena_strdup(&cli->arena, duration_format(text, until_us - asked_us));
}

void show_error(struct cli *cli, const struct js *object)
{
    const char *code = js_get_str(object, "errorCode", "");
    const char *message = js_get_str(object, "errorMessage", "");
    if (*code == '\0' && *message == '\0')
        return;
    const char *text = *message == '\0' ? code
                       : *code == '\0'  ? message
                                        : arena_printf(&cli->arena, "%s (%s)", message, code);
    show_line(cli, "Error", text, TONE_RED);
}

void show_next(const struct cli *cli, const char *label, const char *fmt, ...)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf safe;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    char *text = arena_alloc(&arena, len > 0 ? (size_t)len + 1 : 1);
    (void)vsnprintf(text, len > 0 ? (size_t)len + 1 : 1, fmt, again);
    va_end(again);
    va_end(args);
    buf_init(&safe, VALUE_BYTES_MAX);
    term_clean(&safe, text);
    (void)printf("%s%-13s%s %s\n", term_on(&cli->term, TONE_DIM), label,
                 term_off(&cli->term, TONE_DIM), buf_text(&safe));
}

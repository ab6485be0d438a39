/*
 * memory.c - memories, which finished runs store for later ones: memory list, remove.
 */
#include "base/buf.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES_MAX = 1024 };

/* "Task: Fix the clock" of a summary's first line, without the label. */
static const char *task_of(struct cli *cli, const struct js *memory)
{
    const char *summary = js_get_str(memory, "summary", "");
    const char *text = text_starts(summary, "Task: ") ? summary + strlen("Task: ") : summary;
    return arena_strndup(&cli->arena, text, strcspn(text, "\n"));
}

static void memories_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},       {"OUTCOME", false, false}, {"REPOSITORY", false, false},
        {"RECORDED", false, false}, {"TASK", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *memory = listing->items[i];
        const char *outcome = js_get_str(memory, "outcome", "?");
        table_cell(&table, cli_id_shown(cli, memory, "id", len), TONE_PLAIN);
        table_cell(&table, outcome, term_status_tone(outcome));
        table_cell(&table, js_get_str(memory, "repository", ""), TONE_PLAIN);
        table_cell(&table,
                   term_time(&cli->term, js_get_str(memory, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, task_of(cli, memory), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static void list_path(struct cli *cli, struct buf *path)
{
    buf_init(path, PATH_BYTES_MAX);
    buf_adds(path, "/v1/memories");
    if (args_has(&cli->args, "repo"))
        url_add_query(path, "repository", args_text(&cli->args, "repo", ""));
}

static int run_list(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    list_path(cli, &path);
    return show_list(cli,
                     &(struct show_list){buf_text(&path), "No memories: no run has finished yet.",
                                         memories_table});
}

static int run_remove(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_resolve_memory(cli, args_word(&cli->args, 0), &id, &err);
    if (rc == RC_OK) {
        const struct http_call call = {.method = "DELETE",
                                       .path = cli_path(cli, "/v1/memories/", id.text, "")};
        rc = cli_call(cli, &call, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("Memory %s is removed: no later run is told of it.\n", id.text);
    return CLI_DONE;
}

static const struct arg_option list_options[] = {
    {"repo", "NAME", "only of this repository", ARG_TEXT, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};

const struct cli_command cli_memory_commands[] = {
    {"memory list", "list what finished runs left for later ones",
     "[--repo NAME] [--limit N] [--json]", list_options, "drover memory list --repo acme/billing",
     NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_list},
    {"memory remove", "remove a memory that is wrong", "ID", NULL, "drover memory remove 0197a2",
     "drover memory list", 1, 1, CLI_REMOTE, run_remove},
    {0},
};

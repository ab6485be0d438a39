/*
 * cli.c - finds the command, reads its options, calls it, and prints its error.
 */
#include "cli/cli.h"
#include "base/jw.h"
#include "base/str.h"
#include "base/suggest.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/refresh.h"
#include <ctype.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* To add one: a row in the table of its noun (as in cli/task.c), and its words in the man page
   docs/drover.1.  share/completions/drover.bash asks `drover help` for commands and options; only
   an option with a fixed set of values has a line there.  A new noun is a file with its table,
   which is declared in cli/command.h and has a row here. */
static const struct {
    const char *title;
    const struct cli_command *commands;
} families[] = {
    /* clang-format off */
    {"Server", cli_serve_commands},
    {NULL, cli_worker_commands},
    {NULL, cli_workers_commands},
    {NULL, cli_mcp_commands},
    {NULL, cli_token_commands},
    {NULL, cli_doctor_commands},
    {NULL, cli_prune_commands},
    {NULL, cli_retention_commands},
    {NULL, cli_compact_commands},
    {NULL, cli_backup_commands},
    {NULL, cli_audit_commands},
    {"Repositories", cli_init_commands},
    {NULL, cli_repo_commands},
    {NULL, cli_schema_commands},
    {NULL, cli_registry_commands},
    {NULL, cli_agents_commands},
    {NULL, cli_agents_check_commands},
    {"Agents", cli_agent_commands},
    {"Tasks", cli_task_commands},
    {NULL, cli_batch_commands},
    {NULL, cli_compare_commands},
    {"Runs", cli_run_commands},
    {NULL, cli_watch_commands},
    {NULL, cli_steer_commands},
    {NULL, cli_artifact_commands},
    {NULL, cli_snapshot_commands},
    {NULL, cli_replay_commands},
    {NULL, cli_export_commands},
    {NULL, cli_whatif_commands},
    {"Events and queues", cli_events_commands},
    {NULL, cli_logs_commands},
    {NULL, cli_event_commands},
    {NULL, cli_consumer_commands},
    {NULL, cli_sink_commands},
    {NULL, cli_webhooks_commands},
    {NULL, cli_queue_commands},
    {NULL, cli_enqueue_commands},
    {NULL, cli_consume_commands},
    {NULL, cli_dlq_commands},
    {NULL, cli_saga_commands},
    {NULL, cli_breaker_commands},
    {NULL, cli_account_commands},
    {"Topics and schedules", cli_topic_commands},
    {NULL, cli_schedule_commands},
    {"Review", cli_inbox_commands},
    {NULL, cli_approval_commands},
    {NULL, cli_question_commands},
    {NULL, cli_credential_commands},
    {NULL, cli_pr_commands},
    {NULL, cli_train_commands},
    {NULL, cli_issue_commands},
    {NULL, cli_lifecycle_commands},
    {NULL, cli_memory_commands},
    {NULL, cli_notify_commands},
    {"Help", cli_help_commands},
    /* clang-format on */
};

static const struct arg_option remote_options[] = {
    {"server", "URL", "the server's address (default: $DROVER_URL, or DIR/server.json)", ARG_TEXT,
     0, 0, NULL},
    {"data", "DIR", "the server's data directory (default: $DROVER_DATA)", ARG_TEXT, 0, 0, NULL},
    {"token-file", "FILE", "read the token there (default: $DROVER_TOKEN, or DIR/admin.token)",
     ARG_TEXT, 0, 0, NULL},
    {"no-color", NULL, "no colours; $NO_COLOR does the same", ARG_FLAG, 0, 0, NULL},
    {NULL, NULL, NULL, ARG_FLAG, 0, 0, NULL},
};
static const struct arg_option json_options[] = {
    {"json", NULL, "print JSON instead of text", ARG_FLAG, 0, 0, NULL},
    {NULL, NULL, NULL, ARG_FLAG, 0, 0, NULL},
};
static const struct arg_option help_options[] = {
    {"help", NULL, "show this", ARG_FLAG, 0, 0, NULL},
    {NULL, NULL, NULL, ARG_FLAG, 0, 0, NULL},
};

/* ---- finding ---- */

static const struct cli_command *cli_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        for (const struct cli_command *each = families[i].commands; each->name != NULL; each++) {
            if (text_same(each->name, name))
                return each;
        }
    }
    return NULL;
}

/* Is it the first word of commands of two words, like repo? */
static bool is_family(const char *word)
{
    char prefix[CLI_NAME_BYTES];
    (void)snprintf(prefix, sizeof prefix, "%s ", word);
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        for (const struct cli_command *each = families[i].commands; each->name != NULL; each++) {
            if (text_starts(each->name, prefix))
                return true;
        }
    }
    return false;
}

static bool has_two_words(const char *name)
{
    return strchr(name, ' ') != NULL;
}

/* Of the commands of so many words, or of the first words of those of two. */
enum among { AMONG_ONE, AMONG_TWO, AMONG_FIRST };

static void offer(struct suggest *suggest, const char *name, enum among among,
                  char to[CLI_NAME_BYTES])
{
    char word[CLI_NAME_BYTES];
    size_t before = suggest->distance;
    if (has_two_words(name) == (among == AMONG_ONE))
        return;
    size_t len = among == AMONG_FIRST ? strcspn(name, " ") : strlen(name);
    (void)snprintf(word, sizeof word, "%.*s", (int)len, name);
    suggest_offer(suggest, word);
    if (suggest->distance < before)
        text_copy(to, CLI_NAME_BYTES, word);
}

/* Closer than *distance, which it lowers. */
static void find_closest(const char *name, enum among among, size_t *distance,
                         char to[CLI_NAME_BYTES])
{
    struct suggest suggest = suggest_for(name);
    if (*distance < suggest.distance)
        suggest.distance = *distance;
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        for (const struct cli_command *each = families[i].commands; each->name != NULL; each++)
            offer(&suggest, each->name, among, to);
    }
    *distance = suggest.distance;
}

bool cli_closest(const char *first, const char *second, char to[CLI_NAME_BYTES])
{
    size_t distance = SIZE_MAX;
    to[0] = '\0';
    if (second != NULL) {
        char name[CLI_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s %s", first, second);
        find_closest(name, AMONG_TWO, &distance, to);
    }
    if (to[0] == '\0') {
        distance = SIZE_MAX;
        find_closest(first, AMONG_ONE, &distance, to);
        find_closest(first, AMONG_FIRST, &distance, to);
    }
    return to[0] != '\0';
}

/* ---- help ---- */

static void print_commands(const char *family)
{
    char prefix[CLI_NAME_BYTES];
    (void)snprintf(prefix, sizeof prefix, "%s ", family != NULL ? family : "");
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        if (family == NULL && families[i].title != NULL)
            (void)printf("%s%s:\n", i > 0 ? "\n" : "", families[i].title);
        for (const struct cli_command *each = families[i].commands; each->name != NULL; each++) {
            if (family == NULL || text_starts(each->name, prefix))
                (void)printf("  %-20s %s\n", each->name, each->summary);
        }
    }
}

static void print_overview(void)
{
    (void)printf("drover drives a herd of coding agents home: a task goes in, a pull request comes "
                 "out.\n\n"
                 "usage: drover COMMAND [OPTION...]\n\n");
    print_commands(NULL);
    (void)printf("\n"
                 "drover help COMMAND and drover COMMAND --help show more.\n"
                 "Where an ID is asked for, its first characters do, or the word latest.\n");
}

static void print_options(const struct arg_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        char left[CLI_NAME_BYTES];
        (void)snprintf(left, sizeof left, "--%s%s%s", options->name,
                       options->value != NULL ? " " : "",
                       options->value != NULL ? options->value : "");
        (void)printf("  %-22s %s\n", left, options->help);
    }
}

static void print_usage_line(const struct cli_command *command, FILE *to)
{
    (void)fprintf(to, "usage: drover %s%s%s\n", command->name, *command->synopsis ? " " : "",
                  command->synopsis);
}

static void print_help(const struct cli_command *command)
{
    print_usage_line(command, stdout);
    (void)printf("\n%c%s.\n", toupper(command->summary[0]), command->summary + 1);
    (void)printf("\nOptions:\n");
    print_options(command->options);
    if (command->flags & CLI_REFRESH)
        print_options(cli_refresh_options);
    if (command->flags & CLI_JSON)
        print_options(json_options);
    if (command->flags & CLI_REMOTE)
        print_options(remote_options);
    print_options(help_options);
    (void)printf("\nExample:\n  %s\n", command->example);
}

/* ---- failing ---- */

int cli_exit_of(enum rc rc)
{
    static const int table[RC_COUNT] = {
        [RC_OK] = CLI_DONE,
        [RC_MALFORMED] = CLI_USAGE,
        [RC_INVALID] = CLI_REFUSED,
        [RC_UNAUTHORIZED] = CLI_REFUSED,
        [RC_DENIED] = CLI_REFUSED,
        [RC_NOT_FOUND] = CLI_NOT_FOUND,
        [RC_CONFLICT] = CLI_REFUSED,
        [RC_STALE] = CLI_REFUSED,
        [RC_TOO_LARGE] = CLI_REFUSED,
        [RC_LIMIT] = CLI_REFUSED,
        [RC_BUSY] = CLI_REFUSED,
        [RC_TIMEOUT] = CLI_UNREACHABLE,
        [RC_CANCELLED] = CLI_INTERRUPTED,
        [RC_UNREACHABLE] = CLI_UNREACHABLE,
        [RC_IO] = CLI_FAILED,
        [RC_CORRUPT] = CLI_FAILED,
    };
    return table[rc];
}

/* What to do next, or NULL: by code where there is a hint for it, else by rc. */
static const char *advice(enum rc rc, const struct err *err)
{
    static const struct {
        const char *code;
        const char *advice;
    } by_code[] = {
        {"policy.execution_mode_not_allowed", "Choose another --mode, or a lower --risk."},
        {"AMBIGUOUS_ID", "Give more of the id."},
        {"NO_REPOSITORY", "Add it: drover init   See what there is: drover repo list"},
        {"SCHEMA_BREAKING", "Give it another name, or register it all the same with --force."},
        {"REQUEST_TIMED_OUT", "Does a consumer work on it? See: drover subscription list"},
        {"STORE_UNREACHABLE", "Start PostgreSQL or see to its address (--db), then try again."},
        {"ROLE_NOT_ALLOWED", "Use a token of that role: $DROVER_TOKEN or --token-file FILE."},
    };
    static const char no_token[] = "Give a token: $DROVER_TOKEN, --token-file FILE or --data DIR.\n"
                                   "The user who runs the server makes one: drover token create";
    static const char *const by_rc[RC_COUNT] = {
        [RC_UNAUTHORIZED] = no_token,
        [RC_LIMIT] = "Try again later.",
        [RC_BUSY] = "Try again in a moment.",
        [RC_TIMEOUT] = "Try again; drover doctor looks the server over.",
        [RC_UNREACHABLE] = "Is it running? Start it with: drover serve",
    };
    for (size_t i = 0; i < COUNT_OF(by_code); i++) {
        if (text_same(by_code[i].code, err->code))
            return by_code[i].advice;
    }
    return by_rc[rc];
}

/* One line of a message, made safe: the server's texts are not trusted either. */
static void print_safe(const char *line, size_t len)
{
    char text[ERR_TEXT_MAX];
    CLEANUP(buf_release) struct buf safe;
    buf_init(&safe, (size_t)ERR_TEXT_MAX * 4);
    (void)snprintf(text, sizeof text, "%.*s", (int)len, line);
    term_clean(&safe, text);
    (void)fputs(buf_text(&safe), stderr);
}

/* "drover: what went wrong (CODE)", then further lines if there are any. */
static void print_error(const struct err *err, const char *text)
{
    size_t len = strcspn(text, "\n");
    (void)fputs("drover: ", stderr);
    if (err->field[0] != '\0' && strstr(text, err->field) == NULL) {
        print_safe(err->field, strlen(err->field));
        (void)fputs(": ", stderr);
    }
    print_safe(text, len);
    if (err->code[0] != '\0') {
        (void)fputs(" (", stderr);
        print_safe(err->code, strlen(err->code));
        (void)fputc(')', stderr);
    }
    (void)fputc('\n', stderr);
    for (text += len; *text == '\n'; text += len) {
        len = strcspn(++text, "\n");
        print_safe(text, len);
        (void)fputc('\n', stderr);
    }
}

int cli_fail(struct cli *cli, enum rc rc, const struct err *err)
{
    cli->failure = rc;
    (void)fflush(stdout);
    print_error(err, err->text[0] != '\0' ? err->text : rc_name(rc));
    const char *next = advice(rc, err);
    if (next != NULL)
        (void)fprintf(stderr, "%s\n", next);
    else if (rc == RC_NOT_FOUND && cli->command->see != NULL)
        (void)fprintf(stderr, "See what there is: %s\n", cli->command->see);
    return cli_exit_of(rc);
}

int cli_usage(struct cli *cli, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fflush(stdout);
    (void)fputs("drover: ", stderr);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    if (cli->command != NULL)
        print_usage_line(cli->command, stderr);
    return CLI_USAGE;
}

/* ---- running ---- */

/* "add, list, show", the second words of a family. */
static void print_seconds(const char *family)
{
    char prefix[CLI_NAME_BYTES];
    const char *comma = "";
    (void)snprintf(prefix, sizeof prefix, "%s ", family);
    (void)fprintf(stderr, "After %s there may be: ", family);
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        for (const struct cli_command *each = families[i].commands; each->name != NULL; each++) {
            if (!text_starts(each->name, prefix))
                continue;
            (void)fprintf(stderr, "%s%s", comma, each->name + strlen(prefix));
            comma = ", ";
        }
    }
    (void)fputc('\n', stderr);
}

/* second: the word behind it, or NULL. */
static int unknown_command(const char *first, const char *second)
{
    char close[CLI_NAME_BYTES];
    bool family = is_family(first);
    (void)fprintf(stderr, "drover: there is no command \"%s%s%s\"\n", first, family ? " " : "",
                  family ? second : "");
    if (cli_closest(first, second, close) && !text_same(close, first))
        (void)fprintf(stderr, "Did you mean: drover %s\n", close);
    else if (family)
        print_seconds(first);
    else
        (void)fprintf(stderr, "drover help lists the commands.\n");
    return CLI_USAGE;
}

static int run_command(struct cli *cli, size_t argc, char **argv)
{
    const struct cli_command *command = cli->command;
    struct err err = {0};
    const struct arg_option *const tables[] = {
        help_options,
        command->options,
        command->flags & CLI_REMOTE ? remote_options : NULL,
        command->flags & CLI_JSON ? json_options : NULL,
        command->flags & CLI_REFRESH ? cli_refresh_options : NULL,
    };
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        if (tables[i] != NULL)
            cli->args.tables[cli->args.table_count++] = tables[i];
    }
    enum rc rc = args_parse(&cli->args, argc, argv, &cli->arena, &err);
    if (rc != RC_OK)
        return cli_usage(cli, "%s", err.text);
    if (args_has(&cli->args, "help")) {
        print_help(command);
        return CLI_DONE;
    }
    if (cli->args.word_count < command->words_min)
        return cli_usage(cli, "something is missing after %s", command->name);
    if (cli->args.word_count > command->words_max)
        return cli_usage(cli, "too much: \"%s\"", cli->args.words[command->words_max]);
    bool remote = (command->flags & CLI_REMOTE) != 0;
    cli->term = term_open(remote && args_has(&cli->args, "no-color"));
    cli->json = (command->flags & CLI_JSON) != 0 && args_has(&cli->args, "json");
    if ((command->flags & CLI_REFRESH) != 0 && args_has(&cli->args, "watch"))
        return cli_refresh(cli, command->run);
    return command->run(cli);
}

/* A family without a command, or with an unknown one. */
static int family_only(const char *family, const char *second)
{
    if (text_same(second, "--help")) {
        print_commands(family);
        return CLI_DONE;
    }
    if (second != NULL && second[0] != '-')
        return unknown_command(family, second);
    (void)fprintf(stderr, "drover: %s what?\n", family);
    (void)fflush(stderr);
    print_commands(family);
    return CLI_USAGE;
}

static int find_and_run(struct cli *cli, size_t argc, char **argv)
{
    if (argc == 0 || text_same(argv[0], "--help") || text_same(argv[0], "-h")) {
        print_overview();
        return argc == 0 ? CLI_USAGE : CLI_DONE;
    }
    if (text_same(argv[0], "--version"))
        argv[0] = "version";
    if (argv[0][0] == '-')
        return cli_usage(cli, "options come after the command: drover COMMAND %s", argv[0]);
    size_t used = 1;
    if (is_family(argv[0])) {
        const char *second = argc > 1 ? argv[1] : NULL;
        char name[CLI_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s %s", argv[0], second != NULL ? second : "");
        cli->command = cli_find(name);
        used = 2;
        if (cli->command == NULL) { /* Some, like accounts, are a command as well. */
            const struct cli_command *alone = cli_find(argv[0]);
            bool takes = alone != NULL && alone->words_max > 0;
            cli->command = second == NULL || second[0] == '-' || takes ? alone : NULL;
            used = 1;
        }
        if (cli->command == NULL)
            return family_only(argv[0], second);
    } else {
        cli->command = cli_find(argv[0]);
    }
    if (cli->command == NULL)
        return unknown_command(argv[0], argc > 1 && argv[1][0] != '-' ? argv[1] : NULL);
    return run_command(cli, argc - used, argv + used);
}

static int run_help(struct cli *cli)
{
    if (cli->args.word_count == 0) {
        print_overview();
        return CLI_DONE;
    }
    const char *name = args_joined(&cli->args, &cli->arena);
    const struct cli_command *command = cli_find(name);
    if (command != NULL) {
        print_help(command);
        return CLI_DONE;
    }
    if (!is_family(name))
        return unknown_command(args_word(&cli->args, 0), args_word(&cli->args, 1));
    print_commands(name);
    return CLI_DONE;
}

static void print_versions_json(const char *server)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ERR_TEXT_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "client", DROVER_VERSION);
    jw_kstr(&jw, "server", server);
    jw_end(&jw, '}');
    (void)puts(buf_text(&text));
}

/* The client's version, and the server's when one answers. */
static int run_version(struct cli *cli)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    struct err err = {0};
    const struct http_call call = {.method = "GET", .path = "/v1/version", .timeout_ms = 2000};
    const char *server = NULL;
    if (cli_call(cli, &call, &answer, &err) == RC_OK)
        server = js_get_str(answer.tree, "version", NULL);
    if (cli->json)
        print_versions_json(server);
    else if (server != NULL)
        (void)printf("drover %s (server %s at %s)\n", DROVER_VERSION, server,
                     http_client_url(cli->client));
    else
        (void)printf("drover %s\n", DROVER_VERSION);
    return CLI_DONE;
}

const struct cli_command cli_help_commands[] = {
    {"help", "list the commands, or tell about one", "[COMMAND]", NULL, "drover help submit", NULL,
     0, 2, 0, run_help},
    {"version", "show the versions of this program and of the server", "[--json]", NULL,
     "drover version", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_version},
    {0},
};

/* `drover tasks | head -1`: a reader that closes the pipe early is no failure. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int cli_main(int argc, char **argv)
{
    struct cli cli = {0};
    int status = find_and_run(&cli, argc > 0 ? (size_t)argc - 1 : 0, argv + 1);
    http_client_free(cli.client);
    arena_release(&cli.arena);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (written || reader_left())
        return status;
    (void)fprintf(stderr, "drover: the output could not be written\n");
    return status == CLI_DONE ? CLI_FAILED : status;
}

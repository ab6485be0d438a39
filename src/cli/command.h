/*
 * command.h - what a command of the command line is, and what all of them share.
 *
 * One file per family (task.c, run.c, ...) holds a table of commands; cli.c collects the
 * tables, finds the command, reads its options and calls it.  A command returns its exit status.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H
#include "base/arena.h"
#include "base/rc.h"
#include "cli/args.h"
#include "cli/term.h"
#include "net/http_client.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NOT_FOUND = 3,
    CLI_REFUSED = 4, /* Conflict, policy, limit, not valid. */
    CLI_UNREACHABLE = 5,
    CLI_INTERRUPTED = 130 /* Ctrl-C while watching; 128 + SIGINT, as in shells. */
};

struct cli {
    const struct cli_command *command;
    struct args args;
    struct arena arena; /* For as long as the command runs. */
    struct term term;
    const char *server_url;     /* Where a command has another option than --server; or NULL. */
    struct http_client *client; /* Made by the first call to the server. */
    bool json;
    int64_t timeout_ms;     /* Of calls that name none; 0: as the client has it. */
    const atomic_int *stop; /* Ends calls to the server once it is not 0; or NULL. */
    enum rc failure;        /* That cli_fail printed last. */
    bool over;              /* What is watched has ended, by the last draw: refresh.h. */
    int outcome;            /* The exit status then. */
};

enum cli_flags {
    CLI_REMOTE = 1, /* Calls the server: takes --server, --data, --token-file. */
    CLI_JSON = 2,   /* Takes --json. */
    CLI_REFRESH = 4 /* Takes --watch and --every: refresh.h. */
};

struct cli_command {
    const char *name; /* One or two words; NULL ends a table. */
    const char *summary;
    const char *synopsis;             /* What follows the name. */
    const struct arg_option *options; /* Or NULL. */
    const char *example;
    const char *see; /* The command that lists what this one takes: "drover runs"; or NULL. */
    size_t words_min, words_max;
    unsigned flags;
    int (*run)(struct cli *cli);
};

extern const struct cli_command cli_serve_commands[];
extern const struct cli_command cli_worker_commands[];
extern const struct cli_command cli_workers_commands[];
extern const struct cli_command cli_token_commands[];
extern const struct cli_command cli_repo_commands[];
extern const struct cli_command cli_schema_commands[];
extern const struct cli_command cli_registry_commands[];
extern const struct cli_command cli_agents_commands[];
extern const struct cli_command cli_agents_check_commands[];
extern const struct cli_command cli_agent_commands[];
extern const struct cli_command cli_task_commands[];
extern const struct cli_command cli_batch_commands[];
extern const struct cli_command cli_compare_commands[];
extern const struct cli_command cli_run_commands[];
extern const struct cli_command cli_replay_commands[];
extern const struct cli_command cli_export_commands[];
extern const struct cli_command cli_whatif_commands[];
extern const struct cli_command cli_steer_commands[];
extern const struct cli_command cli_watch_commands[];
extern const struct cli_command cli_events_commands[];
extern const struct cli_command cli_logs_commands[];
extern const struct cli_command cli_event_commands[];
extern const struct cli_command cli_artifact_commands[];
extern const struct cli_command cli_snapshot_commands[];
extern const struct cli_command cli_inbox_commands[];
extern const struct cli_command cli_approval_commands[];
extern const struct cli_command cli_question_commands[];
extern const struct cli_command cli_credential_commands[];
extern const struct cli_command cli_pr_commands[];
extern const struct cli_command cli_train_commands[];
extern const struct cli_command cli_issue_commands[];
extern const struct cli_command cli_lifecycle_commands[];
extern const struct cli_command cli_memory_commands[];
extern const struct cli_command cli_notify_commands[];
extern const struct cli_command cli_sink_commands[];
extern const struct cli_command cli_webhooks_commands[];
extern const struct cli_command cli_queue_commands[];
extern const struct cli_command cli_enqueue_commands[];
extern const struct cli_command cli_consume_commands[];
extern const struct cli_command cli_consumer_commands[];
extern const struct cli_command cli_dlq_commands[];
extern const struct cli_command cli_saga_commands[];
extern const struct cli_command cli_breaker_commands[];
extern const struct cli_command cli_account_commands[];
extern const struct cli_command cli_topic_commands[];
extern const struct cli_command cli_schedule_commands[];
extern const struct cli_command cli_doctor_commands[];
extern const struct cli_command cli_prune_commands[];
extern const struct cli_command cli_retention_commands[];
extern const struct cli_command cli_compact_commands[];
extern const struct cli_command cli_backup_commands[];
extern const struct cli_command cli_audit_commands[];
extern const struct cli_command cli_mcp_commands[];
extern const struct cli_command cli_init_commands[];
extern const struct cli_command cli_help_commands[];

/* Reads `defaults` of a server's configuration file: the layer under all repositories' documents.
   Defined in server/cmd_serve.c. */
MUST_USE enum rc cli_read_defaults(const char *path, struct arena *arena, struct str *ret_defaults,
                                   struct err *err);

/* The only table from rc to exit status. */
int cli_exit_of(enum rc rc);
/* Prints what went wrong and what to do next; returns the exit status. */
int cli_fail(struct cli *cli, enum rc rc, const struct err *err);
/* A wrong command line: prints it and the usage line; CLI_USAGE. */
int cli_usage(struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

enum { CLI_NAME_BYTES = 64 };
/* The command, or the first word of commands of two, that is spelled similarly.  second: the next
   word of the command line, or NULL.  False: there is none. */
bool cli_closest(const char *first, const char *second, char to[CLI_NAME_BYTES]);
#endif

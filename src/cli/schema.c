/*
 * schema.c - JSON Schemas: those of what drover is given, a document against one, and one version
 * of a schema against the next.  None of it needs a server.
 */
#include "base/js_bytes.h"
#include "cli/command.h"
#include "cli/faults.h"
#include "cli/input.h"
#include "core/config/schema_change.h"
#include "core/config/schema_text.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of validate and check, for scripts. */
enum { EXIT_YES = 0, EXIT_NO = 1, EXIT_UNKNOWN = 2 };
enum { SCHEMA_BYTES_MAX = 4 * 1024 * 1024 };

/* ---- list, get ---- */

static int run_list(struct cli *cli)
{
    (void)cli;
    for (const struct schema_text *each = schema_texts; each->name != NULL; each++)
        (void)printf("%s\n", each->name);
    return CLI_DONE;
}

static int run_get(struct cli *cli)
{
    struct err err = {0};
    const char *name = args_word(&cli->args, 0);
    struct str text = schema_text_of(name);
    if (text.len == 0)
        return cli_fail(
            cli,
            err_set(&err, RC_NOT_FOUND, "NOT_FOUND",
                    "there is no schema %s; drover schema registered lists those of the server",
                    name),
            &err);
    (void)fwrite(text.at, 1, text.len, stdout);
    return CLI_DONE;
}

static int run_schema(struct cli *cli)
{
    return cli->args.word_count == 0 ? run_list(cli) : run_get(cli);
}

/* ---- reading ---- */

/* A file, or the name of one of drover's own.  False: printed why. */
static bool open_schema(struct cli *cli, const char *word, struct schema *schema)
{
    CLEANUP(buf_release) struct buf text;
    struct err err = {0};
    struct str own = schema_text_of(word);
    enum rc rc = RC_OK;
    buf_init(&text, SCHEMA_BYTES_MAX);
    if (own.len == 0)
        rc = cli_read_source(word, &text, &err);
    if (text_same(err.code, "NO_SUCH_FILE"))
        rc = err_set(&err, rc, "NO_SUCH_FILE",
                     "%.200s is neither a file nor a schema of drover (drover schema list); one of "
                     "the server becomes a file by: drover schema registered NAME >FILE",
                     word);
    if (rc == RC_OK) {
        rc = schema_open(schema, own.len > 0 ? own : buf_str(&text), &err);
        if (rc != RC_OK)
            rc = err_wrap(&err, rc, word);
    }
    if (rc != RC_OK)
        (void)cli_fail(cli, rc, &err);
    return rc == RC_OK;
}

/* ---- validate ---- */

/* JSON has values that are no mapping; all else may be YAML. */
static bool read_instance(struct cli *cli, const char *path, struct cli_source *source)
{
    struct err err = {0};
    int status = 0;
    buf_init(&source->text, SCHEMA_BYTES_MAX);
    source->name = text_same(path, "-") ? "standard input" : path;
    enum rc rc = cli_read_source(path, &source->text, &err);
    if (rc != RC_OK) {
        (void)cli_fail(cli, rc, &err);
        return false;
    }
    if (js_parse_bytes(buf_text(&source->text), source->text.len, &source->tree, NULL) == RC_OK)
        return true;
    buf_release(&source->text);
    return cli_source_read(cli, path, source, &status);
}

static int run_validate(struct cli *cli)
{
    CLEANUP(schema_release) struct schema schema = {0};
    CLEANUP(cli_source_release) struct cli_source source = {0};
    struct faults faults = {0};
    if (!open_schema(cli, args_word(&cli->args, 0), &schema) ||
        !read_instance(cli, args_word(&cli->args, 1), &source))
        return EXIT_UNKNOWN;
    if (!schema_check(&schema, source.tree, &(struct schema_options){0}, &cli->arena, &faults)) {
        (void)cli_print_faults(cli, &source, &faults);
        return EXIT_NO;
    }
    (void)printf("%s is valid.\n", source.name);
    return EXIT_YES;
}

/* ---- check ---- */

enum { SCHEMAS_MAX = 4096 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_schema(const char *name)
{
    const char *end = strrchr(name, '.');
    return end != NULL && strcmp(end, ".json") == 0;
}

/* The names of the schemas in a directory, in order and NULL-terminated; NULL: printed why. */
static const char **list_schemas(struct cli *cli, const char *path)
{
    struct err err = {0};
    const struct dirent *entry = NULL;
    size_t count = 0;
    const char **names = arena_array(&cli->arena, SCHEMAS_MAX + 1, sizeof *names);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        enum rc rc = err_set(&err, RC_IO, "IO_ERROR", "cannot read %s: %s", path, strerror(errno));
        (void)cli_fail(cli, rc, &err);
        return NULL;
    }
    // cppcheck-suppress readdirCalled
    while (count < SCHEMAS_MAX && (entry = readdir(dir)) != NULL) { /* The stream is not shared. */
        if (is_schema(entry->d_name))
            names[count++] = arena_strdup(&cli->arena, entry->d_name);
    }
    (void)closedir(dir);
    if (count == SCHEMAS_MAX) {
        enum rc rc = err_set(&err, RC_LIMIT, "TOO_MANY", "%s has more than %d schemas", path,
                             SCHEMAS_MAX - 1);
        (void)cli_fail(cli, rc, &err);
        return NULL;
    }
    qsort(names, count, sizeof *names, compare_names);
    return names;
}

static bool compare_files(struct cli *cli, const char *before, const char *after, const char *name,
                          struct schema_changes *changes)
{
    CLEANUP(schema_release) struct schema old = {0};
    CLEANUP(schema_release) struct schema new = {0};
    const struct schema_compare_options options = {args_has(&cli->args, "same-meaning")};
    if (!open_schema(cli, before, &old) || !open_schema(cli, after, &new))
        return false;
    size_t first = changes->count;
    (void)schema_compare(&old, &new, &options, &cli->arena, changes);
    for (size_t i = first; name != NULL && i < changes->count; i++) {
        const char *path = changes->items[i].path;
        changes->items[i].path = path[0] != '\0' ? arena_printf(&cli->arena, "%s: %s", name, path)
                                                 : name;
    }
    return true;
}

/* Both lists are sorted. */
static bool compare_dirs(struct cli *cli, const char *before, const char *after,
                         struct schema_changes *changes)
{
    const char **old = list_schemas(cli, before), **new = old;
    if (old == NULL || (new = list_schemas(cli, after)) == NULL)
        return false;
    while (*old != NULL || *new != NULL) {
        int order = *old == NULL ? 1 : *new == NULL ? -1 : strcmp(*old, *new);
        if (order < 0)
            schema_changes_add(changes, RULE_SCHEMA_REMOVED, *old++,
                               "is gone: consumers may rely on it");
        else if (order > 0)
            schema_changes_add(changes, RULE_SCHEMA_ADDED, *new ++, "is new");
        else if (!compare_files(cli, arena_printf(&cli->arena, "%s/%s", before, *old++),
                                arena_printf(&cli->arena, "%s/%s", after, *new), *new, changes))
            return false;
        else
            new ++;
    }
    return true;
}

static void write_changes(const struct schema_changes *changes)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SCHEMA_BYTES_MAX);
    struct jw jw = jw_to(&text);
    schema_changes_write(changes, &jw);
    (void)printf("%s\n", buf_text(&text));
}

static void print_changes(const struct schema_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct schema_change *each = &changes->items[i];
        (void)printf("%-10s  %s%s%s\n", each->breaking ? "breaking" : "compatible", each->path,
                     each->path[0] != '\0' ? ": " : "", each->why);
    }
    if (changes->left_out > 0)
        (void)printf("and %zu more\n", changes->left_out);
    if (changes->breaking > 0)
        (void)printf("The new version is breaking: give it another name, so that consumers of "
                     "the old one go on.\n");
    else
        (void)printf("The new version is compatible.\n");
}

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int run_check(struct cli *cli)
{
    struct schema_changes changes = {0};
    const char *before = args_word(&cli->args, 0), *after = args_word(&cli->args, 1);
    bool dirs = is_dir(before) && is_dir(after);
    if (!(dirs ? compare_dirs(cli, before, after, &changes)
               : compare_files(cli, before, after, NULL, &changes)))
        return EXIT_UNKNOWN;
    if (cli->json)
        write_changes(&changes);
    else
        print_changes(&changes);
    return changes.breaking == 0 ? EXIT_YES : EXIT_NO;
}

static const struct arg_option check_options[] = {
    {"same-meaning", NULL, "descriptions that changed mean the same as before", ARG_FLAG, 0, 0,
     NULL},
    {0},
};

const struct cli_command cli_schema_commands[] = {
    {"schema", "print the JSON Schema of a document, or the names of all", "[NAME]", NULL,
     "drover schema repository >repository.json", "drover schema", 0, 1, 0, run_schema},
    {"schema list", "list the JSON Schemas of drover", "", NULL, "drover schema list", NULL, 0, 0,
     0, run_list},
    {"schema get", "print one of them", "NAME", NULL, "drover schema get batch",
     "drover schema list", 1, 1, 0, run_get},
    {"schema validate", "check a document: exit status 0 valid, 1 not, 2 cannot tell",
     "SCHEMA FILE   (SCHEMA: a file, or a name of drover schema list; FILE: JSON or YAML, -: "
     "stdin)",
     NULL, "drover schema validate batch fleet.yaml", "drover schema list", 2, 2, 0, run_validate},
    {"schema check", "compare two versions: exit status 0 compatible, 1 breaking, 2 cannot tell",
     "OLD NEW [--same-meaning]   (files, or directories of *.json)", check_options,
     "drover schema check v1/order.json v2/order.json", NULL, 2, 2, CLI_JSON, run_check},
    {0},
};

/*
 * schema.c - the JSON Schemas of what drover is given: for editors, and for people.
 */
#include "cli/command.h"
#include "core/config/repo_document.h"
#include "core/config/schema_text.h"
#include <stdio.h>

static int run_schema(struct cli *cli)
{
    const char *name = args_word(&cli->args, 0);
    for (const struct schema_text *each = schema_texts; name == NULL && each->name != NULL; each++)
        (void)printf("%s\n", each->name);
    if (name == NULL)
        return CLI_DONE;
    struct err err = {0};
    struct str text = schema_text_of(name);
    if (text.len == 0)
        return cli_fail(
            cli, err_set(&err, RC_NOT_FOUND, "NOT_FOUND", "there is no schema %s", name), &err);
    (void)fwrite(text.at, 1, text.len, stdout);
    return CLI_DONE;
}

const struct cli_command cli_schema_commands[] = {
    {"schema", "print the JSON Schema of a document, or the names of all", "[NAME]", NULL,
     "drover schema repository >repository.json", "drover schema", 0, 1, 0, run_schema},
    {0},
};

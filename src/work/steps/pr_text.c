#include "work/steps/pr_text.h"
#include "core/text/prose.h"
#include <inttypes.h>
#include <string.h>

enum {
    CHECKS_TOLD_MAX = 50,
    FILES_TOLD_MAX = 30,
    MESSAGE_BYTES = 64 * 1024,
    BODY_BYTES = 60 * 1000, /* GitHub takes 65,536 characters. */
    WHY_BYTES = 16 * 1024,
};

/* ---- parts ---- */

/* In backquotes: names of files and commands are texts of others. */
static void add_code(struct buf *to, const char *text)
{
    buf_addc(to, '`');
    for (const char *at = text; *at; at++)
        buf_addc(to, *at == '`' || (unsigned char)*at < ' ' || *at == '|' ? ' ' : *at);
    buf_addc(to, '`');
}

static int64_t count_of(const struct js *certificate, const char *key)
{
    return js_get_int(js_get(certificate, "counts"), key, 0);
}

const char *pr_certificate_title(const struct js *certificate, struct arena *arena)
{
    return arena_printf(arena, "%s: %" PRId64 " of %" PRId64 " checks passed",
                        js_get_str(certificate, "verdict", "unknown"),
                        count_of(certificate, "passed"), count_of(certificate, "total"));
}

static void add_check_rows(struct buf *to, const struct js *certificate)
{
    const struct js *checks = js_get(certificate, "checks");
    size_t count = js_count(checks);
    buf_adds(to, "| check | command | result | seconds |\n|---|---|---|---|\n");
    for (size_t i = 0; i < count && i < CHECKS_TOLD_MAX; i++) {
        const struct js *check = js_at(checks, i);
        buf_adds(to, "| ");
        add_code(to, js_get_str(check, "name", ""));
        buf_adds(to, js_get_bool(check, "optional", false) ? " (optional) | " : " | ");
        add_code(to, js_get_str(check, "command", ""));
        buf_addf(to, " | %s | %.1f |\n", js_get_str(check, "status", ""),
                 (double)js_get_int(check, "durationMs", 0) / 1000);
    }
    if (count > CHECKS_TOLD_MAX)
        buf_addf(to, "\n%zu more are in the certificate.\n", count - CHECKS_TOLD_MAX);
}

static void add_certificate(struct buf *to, const struct pr_facts *facts, struct arena *arena)
{
    const struct js *certificate = facts->certificate;
    buf_addf(to, "%s, on a clean checkout of tree `%s`.\n\n",
             pr_certificate_title(certificate, arena),
             js_get_str(certificate, "treeHash", "unknown"));
    add_check_rows(to, certificate);
    buf_addf(to, "\nCertificate: `%s`\n", facts->input->certificate_sha256);
}

const char *pr_certificate_text(const struct pr_facts *facts, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, BODY_BYTES);
    add_certificate(&text, facts, arena);
    return arena_strdup(arena, buf_text(&text));
}

static void add_changes(struct buf *to, const struct patch_stats *patch)
{
    buf_addf(to,
             "## What changed\n\n%zu file%s, %" PRId64 " line%s added, %" PRId64 " deleted:\n\n",
             patch->files, patch->files == 1 ? "" : "s", patch->lines_added,
             patch->lines_added == 1 ? "" : "s", patch->lines_deleted);
    for (size_t i = 0; i < patch->files && i < FILES_TOLD_MAX; i++) {
        buf_adds(to, "- ");
        add_code(to, patch->paths[i]);
        buf_addc(to, '\n');
    }
    if (patch->files > FILES_TOLD_MAX)
        buf_addf(to, "- and %zu more\n", patch->files - FILES_TOLD_MAX);
}

/* The text of an issue is not repeated: it is there, and may be by a stranger. */
static void add_why(struct buf *to, const struct step_input *input)
{
    buf_adds(to, "\n## Why\n\n");
    if (input->issue_number > 0) {
        buf_addf(to, "Closes #%" PRId64 "\n", input->issue_number);
        return;
    }
    const char *text = input->description != NULL ? input->description : input->title;
    size_t len = strlen(text), fit = prose_fit(text, len, WHY_BYTES);
    buf_add(to, text, fit);
    buf_adds(to, fit < len ? "\n\n(shortened)\n" : "\n");
}

static void add_verification(struct buf *to, const struct pr_facts *facts, struct arena *arena)
{
    buf_adds(to, "\n## How it was verified\n\n");
    if (facts->certificate == NULL)
        buf_adds(to, "It was not: the repository configures no checks.\n");
    else
        add_certificate(to, facts, arena);
}

static void add_cost(struct buf *to, const struct step_input *input)
{
    const struct js *used = js_get(input->payload, "used");
    int64_t microusd = js_get_int(used, "costMicrousd", 0);
    int64_t tokens_in = js_get_int(used, "inputTokens", 0);
    int64_t tokens_out = js_get_int(used, "outputTokens", 0);
    buf_adds(to, "\n## What it cost\n\n");
    if (microusd > 0)
        buf_addf(to, "%.2f USD, ", (double)microusd / 1e6);
    if (tokens_in + tokens_out > 0)
        buf_addf(to, "%" PRId64 " tokens read and %" PRId64 " written, ", tokens_in, tokens_out);
    buf_addf(to, "%" PRId64 " attempt%s of the agent `%s`.\n", input->attempt,
             input->attempt == 1 ? "" : "s", agent_name(&input->config.agent));
}

static void add_rerun(struct buf *to, const struct pr_facts *facts)
{
    const struct js *checks = js_get(facts->certificate, "checks");
    buf_adds(to, "\n## Run it again\n\n```sh\n");
    for (size_t i = 0; i < js_count(checks) && i < CHECKS_TOLD_MAX; i++) {
        const char *command = js_get_str(js_at(checks, i), "command", "");
        if (strstr(command, "```") == NULL)
            buf_addf(to, "%s\n", command);
    }
    buf_addf(to, "drover task retry %s\n```\n", facts->input->task_id.text);
}

/* ---- texts ---- */

const char *pr_body(const struct pr_facts *facts, struct arena *arena)
{
    const struct step_input *input = facts->input;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES);
    buf_addf(&body, "<!-- Drover-Run: %s Drover-Task: %s -->\n", input->run_id.text,
             input->task_id.text);
    add_changes(&body, facts->patch);
    add_why(&body, input);
    add_verification(&body, facts, arena);
    add_cost(&body, input);
    add_rerun(&body, facts);
    return arena_strdup(arena, buf_text(&body));
}

static void add_plain_checks(struct buf *to, const struct js *certificate)
{
    const struct js *checks = js_get(certificate, "checks");
    size_t count = js_count(checks);
    buf_addf(to, "Verification: %s, %" PRId64 " of %" PRId64 " passed, tree %s\n",
             js_get_str(certificate, "verdict", "unknown"), count_of(certificate, "passed"),
             count_of(certificate, "total"), js_get_str(certificate, "treeHash", "unknown"));
    for (size_t i = 0; i < count && i < CHECKS_TOLD_MAX; i++) {
        const struct js *check = js_at(checks, i);
        buf_addf(to, "- %s%s: %s (exit %" PRId64 ")\n", js_get_str(check, "name", ""),
                 js_get_bool(check, "optional", false) ? " (optional)" : "",
                 js_get_str(check, "status", ""), js_get_int(check, "exitCode", -1));
    }
}

const char *pr_commit_message(const struct pr_facts *facts, struct arena *arena)
{
    const struct step_input *input = facts->input;
    const char *description = input->description;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, MESSAGE_BYTES);
    /* A description of one line is the title already. */
    if (description != NULL && strchr(description, '\n') != NULL) {
        buf_add(&text, description, prose_fit(description, strlen(description), MESSAGE_BYTES / 2));
        buf_adds(&text, "\n\n");
    }
    if (facts->certificate != NULL) {
        add_plain_checks(&text, facts->certificate);
        buf_addf(&text, "Certificate: %s\n\n", input->certificate_sha256);
    }
    buf_addf(&text, "Drover-Task: %s\nDrover-Run: %s\n", input->task_id.text, input->run_id.text);
    return arena_strdup(arena, buf_text(&text));
}

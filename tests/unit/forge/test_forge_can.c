/*
 * test_forge_can.c - what forges can do: said by .can, met by the functions, and documented.
 */
#include "base/fd.h"
#include "forge/forges.h"
#include "forge/port/checks.h"
#include "forge/port/deliveries.h"
#include "forge/port/prs.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"local", "github", "gitlab", "gitea", "forgejo"};

static const struct row {
    enum forge_can can;
    const char *words;
} rows[] = {
    {CAN_DRAFT, "opens drafts"},
    {CAN_LABEL, "sets labels"},
    {CAN_REQUEST_REVIEW, "requests reviews"},
    {CAN_CHECKS, "reads checks"},
    {CAN_PUT_CHECK, "puts a check of its own"},
    {CAN_RERUN_CHECK, "runs a check again"},
    {CAN_CHECK_LOG, "reads the log of a check"},
    {CAN_REVIEW, "reads and writes reviews"},
    {CAN_THREADS, "answers threads"},
    {CAN_RESOLVE, "resolves threads"},
    {CAN_AUTO_MERGE, "leaves the merge to the forge"},
    {CAN_QUEUE, "uses the forge's merge queue"},
    {CAN_WEBHOOKS, "takes webhooks"},
    {CAN_LIST_DELIVERIES, "finds missed webhooks in a list"},
    {CAN_DEPENDENCIES, "reads which issues block an issue"},
    {CAN_APP, "makes tokens for one repository"},
};

/* The line of the table in docs/CONFIGURATION.md. */
static void line_of(const struct row *row, char *to, size_t bytes)
{
    int len = snprintf(to, bytes, "\n| %s |", row->words);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct forge_ops *forge = forge_find(names[i]);
        ck_assert_msg(forge != NULL, "%s is no forge", names[i]);
        len += snprintf(to + len, bytes - (size_t)len, " %s |",
                        (forge->can & row->can) != 0 ? "yes" : "no");
    }
    (void)snprintf(to + len, bytes - (size_t)len, "\n");
}

START_TEST(the_documents_say_what_each_forge_can)
{
    static char text[1024 * 1024];
    FILE *file = fopen("docs/CONFIGURATION.md", "r");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char line[400];
        line_of(&rows[i], line, sizeof line);
        ck_assert_msg(strstr(text, line) != NULL, "docs/CONFIGURATION.md lacks:%s", line);
    }
}
END_TEST

/* A function that is there although the forge cannot, or missing although it can. */
static void same(const struct forge_ops *forge, enum forge_can can, bool there, const char *what)
{
    ck_assert_msg(((forge->can & can) != 0) == there, "%s: %s", forge->name, what);
}

START_TEST(a_forge_has_the_functions_that_it_says_and_no_other)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct forge_ops *forge = forge_find(names[i]);
        const struct pr_ops *prs = forge->prs;
        const struct check_ops *checks = forge->checks;
        const struct delivery_ops *deliveries = forge->deliveries;
        if (forge->can == 0)
            continue; /* The local forge. */
        ck_assert_ptr_nonnull(prs);
        same(forge, CAN_LABEL, prs->label != NULL, "label");
        same(forge, CAN_REQUEST_REVIEW, prs->request_review != NULL, "request_review");
        same(forge, CAN_DRAFT, prs->mark_ready != NULL, "mark_ready");
        same(forge, CAN_REVIEW, prs->review != NULL, "review");
        same(forge, CAN_THREADS, prs->thread_reply != NULL, "thread_reply");
        same(forge, CAN_RESOLVE, prs->thread_resolve != NULL, "thread_resolve");
        same(forge, CAN_AUTO_MERGE, prs->auto_merge != NULL, "auto_merge");
        same(forge, CAN_QUEUE, prs->enqueue != NULL, "enqueue");
        same(forge, CAN_CHECKS, checks != NULL && checks->of_commit != NULL, "of_commit");
        same(forge, CAN_PUT_CHECK, checks != NULL && checks->put != NULL, "put");
        same(forge, CAN_RERUN_CHECK, checks != NULL && checks->rerun != NULL, "rerun");
        same(forge, CAN_CHECK_LOG, checks != NULL && checks->log != NULL, "log");
        same(forge, CAN_WEBHOOKS, deliveries != NULL && deliveries->signed_with != NULL,
             "webhooks");
        same(forge, CAN_LIST_DELIVERIES, deliveries != NULL && deliveries->list != NULL, "list");
        same(forge, CAN_DEPENDENCIES, forge->issues != NULL && forge->issues->blocked_by != NULL,
             "blocked_by");
        ck_assert(prs->view != NULL && prs->changed != NULL && prs->comment != NULL &&
                  prs->set_body != NULL);
    }
}
END_TEST

Suite *forge_can_suite(void)
{
    Suite *suite = suite_create("forge_can");
    TCase *tcase = tcase_create("can");
    tcase_add_test(tcase, the_documents_say_what_each_forge_can);
    tcase_add_test(tcase, a_forge_has_the_functions_that_it_says_and_no_other);
    suite_add_tcase(suite, tcase);
    return suite;
}

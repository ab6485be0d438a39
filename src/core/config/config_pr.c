/*
 * config_pr.c - the section `pullRequest` of a repository's configuration: what a new one gets.
 *
 *   pullRequest: {labels, reviewers, draft}
 */
#include "core/config/config_decoder.h"

enum { LABEL_BYTES_MAX = 100, REVIEWER_BYTES_MAX = 200 };

enum rc config_decode_pr(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct fields fields;
    bool draft = false;
    fields_open(&fields, object, "pullRequest", decoder->err);
    config_strings(&fields, "labels",
                   &(struct config_list){.to = config->pr.labels,
                                         .max = CONFIG_PR_NAMES_MAX,
                                         .each = {.min = 1, .max = LABEL_BYTES_MAX}});
    config_strings(&fields, "reviewers",
                   &(struct config_list){.to = config->pr.reviewers,
                                         .max = CONFIG_PR_NAMES_MAX,
                                         .each = {.min = 1, .max = REVIEWER_BYTES_MAX}});
    fields_bool(&fields, "draft", FIELD_OPTIONAL, &draft);
    if (js_get(object, "draft") != NULL)
        config->pr.draft = draft ? PR_DRAFT_ALWAYS : PR_DRAFT_NEVER;
    return fields_close(&fields);
}

/*
 * config_train.c - the section `train` of a repository's configuration.
 *
 *   train: {use, land, verify, batch, ahead, checks}
 */
#include "core/config/config_decoder.h"
#include "core/pr/train.h"
#include <assert.h>
#include <string.h>

/* Decoded like `verify`, whose turn comes later and which is still empty. */
static enum rc decode_checks(struct decoder *decoder, const struct js *array)
{
    struct repo_config *config = &decoder->config;
    assert(config->verify_count == 0);
    enum rc rc = config_decode_each(decoder, array, "train.checks", config_decode_verifier);
    if (rc != RC_OK)
        return rc;
    struct verifier_config *checks = arena_array(decoder->arena, config->verify_count + 1,
                                                 sizeof *checks);
    memcpy(checks, config->verify, config->verify_count * sizeof *checks);
    config->train.checks = checks;
    config->train.check_count = config->verify_count;
    memset(config->verify, 0, sizeof config->verify);
    config->verify_count = 0;
    return RC_OK;
}

enum rc config_decode_train(struct decoder *decoder, const struct js *object)
{
    static const char *const uses[] = {[TRAIN_USE_DROVER] = "drover",
                                       [TRAIN_USE_AUTO] = "auto",
                                       [TRAIN_USE_QUEUE] = "queue",
                                       [TRAIN_USE_OFF] = "off",
                                       NULL};
    static const char *const landings[] = {"push", "api", NULL};
    static const char *const ways[] = {"each", "batch", NULL};
    struct repo_config *config = &decoder->config;
    int use = (int)config->train.use, api = config->train.api, batch = config->train.batch;
    const struct js *checks = NULL;
    struct fields fields;
    fields_open(&fields, object, "train", decoder->err);
    fields_choice(&fields, "use", FIELD_OPTIONAL, uses, &use);
    fields_choice(&fields, "land", FIELD_OPTIONAL, landings, &api);
    fields_choice(&fields, "verify", FIELD_OPTIONAL, ways, &batch);
    fields_int(&fields, "batch", FIELD_OPTIONAL, &(struct field_range){1, TRAIN_BATCH_MAX},
               &config->train.batch_max);
    fields_int(&fields, "ahead", FIELD_OPTIONAL, &(struct field_range){1, TRAIN_AHEAD_MAX},
               &config->train.ahead_max);
    fields_array(&fields, "checks", FIELD_OPTIONAL, CONFIG_VERIFIERS_MAX, &checks);
    if (api == 1 && batch == 1)
        fields_fail(
            &fields, "verify",
            "verify batch lands many pull requests as one commit, which land api cannot do");
    config->train.use = (enum train_use)use;
    config->train.api = api == 1;
    config->train.batch = batch == 1;
    enum rc rc = fields_close(&fields);
    return rc == RC_OK && checks != NULL ? decode_checks(decoder, checks) : rc;
}

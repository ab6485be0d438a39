/*
 * config_forge.c - where a repository lives, and with what drover goes there.
 *
 *   forge: local, github, gitlab, gitea, forgejo
 *   api:   base of its API, where that does not follow from the address
 *   credentials: {forge: NAME} or {app: {id, keyFile, installation}}
 *                {reviewer: NAME} or {reviewerApp: {...}}: the identity that reviews
 *                {agent: NAME}: to read, for the git of agents
 *
 * Names are variables of the environment; a key file is one of the server's machine.
 */
#include "core/config/config_decoder.h"
#include <ctype.h>
#include <string.h>

enum { APP_ID_BYTES_MAX = 100, KEY_FILE_BYTES_MAX = 1000 };
#define INSTALLATION_MAX ((INT64_C(1) << 53) - 1)

void config_forge(struct fields *fields, struct repo_config *config)
{
    static const char *const forges[] = {"local", "github", "gitlab", "gitea", "forgejo", NULL};
    int forge = 0;
    fields_choice(fields, "forge", FIELD_OPTIONAL, forges, &forge);
    config->forge = forges[forge];
    config_http_url(fields, "api", FIELD_OPTIONAL, &config->api);
    bool local = text_same(config->forge, "local");
    if (config->api != NULL && local)
        fields_fail(fields, "api",
                    "api is for forges that are servers: github, gitlab, gitea, forgejo");
    if (!local && config->url != NULL &&
        (config->url[0] == '/' || text_starts(config->url, "file:")))
        fields_fail(fields, "forge", "forge %s needs a url of its server: https://host/path or ssh",
                    config->forge);
}

/* An id is a number; the client id of an App, which stands for it, is a text. */
static void app_id(struct fields *fields, struct arena *arena, const char **ret_id)
{
    const struct js *id = NULL;
    fields_any(fields, "id", FIELD_REQUIRED, &id);
    if (id == NULL)
        return;
    const char *text = js_type(id) == JS_INT && js_int(id, 0) > 0
                           ? arena_printf(arena, "%lld", (long long)js_int(id, 0))
                           : js_str(id, "");
    size_t len = strlen(text);
    bool valid = len > 0 && len <= APP_ID_BYTES_MAX;
    for (size_t i = 0; i < len && valid; i++)
        valid = isalnum((unsigned char)text[i]) || strchr("._-", text[i]) != NULL;
    if (!valid)
        fields_fail(fields, "id", "id must be the number of the App, or its client id");
    *ret_id = text;
}

static enum rc decode_app(struct decoder *decoder, const struct js *object, const char *path,
                          struct app_config *app)
{
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    app_id(&fields, decoder->arena, &app->id);
    fields_string(&fields, "keyFile", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = KEY_FILE_BYTES_MAX}, &app->key_file);
    if (app->key_file != NULL &&
        (app->key_file[0] != '/' || config_text_has_control(app->key_file)))
        fields_fail(&fields, "keyFile", "keyFile must be an absolute path");
    fields_int(&fields, "installation", FIELD_OPTIONAL, &(struct field_range){1, INSTALLATION_MAX},
               &app->installation);
    return fields_close(&fields);
}

enum rc config_decode_credentials(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    const struct js *app = NULL, *reviewer_app = NULL;
    struct fields fields;
    fields_open(&fields, object, "credentials", decoder->err);
    config_variable(&fields, "forge", &config->forge_credential);
    config_variable(&fields, "reviewer", &config->reviewer_credential);
    config_variable(&fields, "agent", &config->agent_credential);
    fields_object(&fields, "app", FIELD_OPTIONAL, &app);
    fields_object(&fields, "reviewerApp", FIELD_OPTIONAL, &reviewer_app);
    bool github = text_same(config->forge, "github");
    if (app != NULL && !github)
        fields_fail(&fields, "app", "app is for forge github only");
    if (app != NULL && config->forge_credential != NULL)
        fields_fail(&fields, "app", "app cannot stand beside forge");
    if (reviewer_app != NULL && !github)
        fields_fail(&fields, "reviewerApp", "reviewerApp is for forge github only");
    if (reviewer_app != NULL && config->reviewer_credential != NULL)
        fields_fail(&fields, "reviewerApp", "reviewerApp cannot stand beside reviewer");
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK && app != NULL)
        rc = decode_app(decoder, app, "credentials.app", &config->app);
    if (rc == RC_OK && reviewer_app != NULL)
        rc = decode_app(decoder, reviewer_app, "credentials.reviewerApp", &config->reviewer_app);
    return rc;
}

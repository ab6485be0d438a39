#include "forge/github/acts.h"
#include "base/jw.h"
#include "forge/port/mark.h"
#include <inttypes.h>
#include <string.h>

enum { BODY_BYTES_MAX = 512 * 1024, LABELS_MAX = 100 };

/* ---- comments ---- */

/* "drover[bot]" in REST is "drover" in some answers of GraphQL.  A person may be called "drover",
   too: where GraphQL says that we are a bot, such a person is not us. */
static bool is_login(const char *me, const char *login)
{
    static const char bot[] = "[bot]";
    size_t len = strlen(login);
    if (strcasecmp(me, login) == 0)
        return true;
    len -= text_ends(login, bot) ? strlen(bot) : 0;
    return strlen(me) == len && strncasecmp(me, login, len) == 0;
}

enum rc github_is_me(const struct github *gh, struct github_me *me, const char *login,
                     bool *ret_mine)
{
    static const struct github_query query = {.text = "query Me { viewer { login } }",
                                              .variables = {"{}", 2}};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = me->login == NULL ? github_graphql(gh, &query, &answer) : RC_OK;
    if (rc != RC_OK)
        return rc;
    if (me->login == NULL)
        me->login = arena_strdup(gh->arena,
                                 js_str(js_path(answer.document, "data.viewer.login"), ""));
    *ret_mine = me->login[0] != '\0' && is_login(me->login, login);
    return RC_OK;
}

/* The first comment with the mark that is ours: it may stand behind copies by others. */
struct own_comment {
    const struct github *gh;
    const char *key;
    int64_t id; /* 0: not found */
    bool same;  /* It has the wanted text already. */
    const char *text;
    struct github_me me;
    enum rc rc;
};

static bool find_comment(void *ctx, const struct js *comment)
{
    struct own_comment *own = ctx;
    const char *body = js_get_str(comment, "body", "");
    if (!mark_is(body, own->key))
        return true;
    bool mine = false;
    own->rc = github_is_me(own->gh, &own->me, github_login(js_get(comment, "user"), own->gh->arena),
                           &mine);
    if (own->rc != RC_OK || !mine)
        return own->rc == RC_OK;
    own->id = js_get_int(comment, "id", 0);
    own->same = text_same(body, own->text);
    return false;
}

enum rc github_put_comment(const struct github *gh, int64_t number,
                           const struct forge_comment *comment)
{
    CLEANUP(buf_release) struct buf body;
    struct own_comment own = {
        .gh = gh, .key = comment->key, .text = github_marked_body(comment, gh->arena)};
    buf_init(&body, BODY_BYTES_MAX);
    const struct rest_request list = github_request(
        gh, "GET", arena_printf(gh->arena, "/issues/%" PRId64 "/comments?per_page=100", number));
    enum rc rc = rest_pages(gh->call, &list, gh->arena, find_comment, &own, NULL, gh->err);
    if (rc == RC_OK)
        rc = own.rc;
    if (rc != RC_OK || (own.id != 0 && own.same))
        return rc;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "body", own.text);
    jw_end(&jw, '}');
    struct rest_request put =
        own.id != 0
            ? github_request(gh, "PATCH",
                             arena_printf(gh->arena, "/issues/comments/%" PRId64, own.id))
            : github_request(gh, "POST",
                             arena_printf(gh->arena, "/issues/%" PRId64 "/comments", number));
    put.body = buf_str(&body);
    return github_do(gh, &put);
}

enum rc github_add_labels(const struct github *gh, int64_t number, const char *const *labels)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    if (labels == NULL || labels[0] == NULL)
        return RC_OK;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_key(&jw, "labels");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < LABELS_MAX && labels[i] != NULL; i++)
        jw_str(&jw, labels[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    struct rest_request add = github_request(
        gh, "POST", arena_printf(gh->arena, "/issues/%" PRId64 "/labels", number));
    add.body = buf_str(&body);
    return github_do(gh, &add);
}

/* ---- merging ---- */

static const char find_pr[] =
    "query PullRequestId($owner: String!, $name: String!, $number: Int!) {\n"
    "  repository(owner: $owner, name: $name) {\n"
    "    pullRequest(number: $number) {\n"
    "      id state isDraft headRefOid isInMergeQueue autoMergeRequest { mergeMethod }\n"
    "    }\n"
    "  }\n"
    "}\n";
static const char ready_mutation[] =
    "mutation MarkReady($id: ID!) {\n"
    "  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { id isDraft } }\n"
    "}\n";
static const char auto_merge_mutation[] =
    "mutation AutoMerge($id: ID!, $head: GitObjectID, $way: PullRequestMergeMethod) {\n"
    "  enablePullRequestAutoMerge(\n"
    "    input: {pullRequestId: $id, expectedHeadOid: $head, mergeMethod: $way}) {\n"
    "    pullRequest { id }\n"
    "  }\n"
    "}\n";
static const char enqueue_mutation[] =
    "mutation Enqueue($id: ID!, $head: GitObjectID) {\n"
    "  enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head}) {\n"
    "    mergeQueueEntry { id }\n"
    "  }\n"
    "}\n";

static const char *const way_names[] = {
    [MERGE_WAY_MERGE] = "MERGE", [MERGE_WAY_SQUASH] = "SQUASH", [MERGE_WAY_REBASE] = "REBASE"};

/* The pull request as it is now, before one of these acts. */
struct subject {
    struct github gh;
    struct rest_answer answer;
    const struct js *pr; /* In the answer. */
};

static void subject_release(struct subject *subject)
{
    rest_answer_release(&subject->answer);
}

static enum rc subject_open(struct subject *subject, const struct pr_ref *ref)
{
    const struct github *gh = &subject->gh;
    CLEANUP(buf_release) struct buf variables;
    buf_init(&variables, 4096);
    enum rc rc = github_open(&subject->gh, ref->url);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(&variables);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "owner", github_owner(gh));
    jw_kstr(&jw, "name", github_name(gh));
    jw_kint(&jw, "number", ref->number);
    jw_end(&jw, '}');
    const struct github_query query = {.text = find_pr, .variables = buf_str(&variables)};
    rc = github_graphql(gh, &query, &subject->answer);
    if (rc != RC_OK)
        return rc;
    subject->pr = js_path(subject->answer.document, "data.repository.pullRequest");
    if (js_get_str(subject->pr, "id", NULL) == NULL)
        return err_set(gh->err, RC_NOT_FOUND, "FORGE_NOT_FOUND", "%s has no pull request %" PRId64,
                       gh->repo.path, ref->number);
    return RC_OK;
}

/* RC_CONFLICT: it is not open, or not at this head. */
static enum rc subject_check(const struct subject *subject, const char *head)
{
    const char *state = js_get_str(subject->pr, "state", "");
    if (!text_same(state, "OPEN"))
        return err_set(subject->gh.err, RC_CONFLICT, "FORGE_CONFLICT",
                       "the pull request is not open");
    if (head != NULL && !text_same(js_get_str(subject->pr, "headRefOid", ""), head))
        return err_set(subject->gh.err, RC_CONFLICT, "FORGE_CONFLICT",
                       "the pull request has another head than %.64s", head);
    return RC_OK;
}

/* A mutation of the subject; head and way may be NULL. */
static enum rc change(const struct subject *subject, const char *text, const char *head,
                      const char *way)
{
    CLEANUP(buf_release) struct buf variables;
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    buf_init(&variables, 4096);
    struct jw jw = jw_to(&variables);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", js_get_str(subject->pr, "id", ""));
    jw_optstr(&jw, "head", head);
    jw_optstr(&jw, "way", way);
    jw_end(&jw, '}');
    const struct github_query query = {
        .text = text, .variables = buf_str(&variables), .changes = true};
    return github_graphql(&subject->gh, &query, &answer);
}

enum rc github_mark_ready(struct forge_call *call, const struct pr_ref *ref, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(subject_release)
    struct subject subject = {.gh = {.call = call, .arena = &arena, .err = err}};
    enum rc rc = subject_open(&subject, ref);
    if (rc != RC_OK || !js_get_bool(subject.pr, "isDraft", false))
        return rc;
    rc = subject_check(&subject, NULL);
    return rc == RC_OK ? change(&subject, ready_mutation, NULL, NULL) : rc;
}

enum rc github_auto_merge(struct forge_call *call, const struct pr_ref *ref, const char *head,
                          enum merge_way way, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(subject_release)
    struct subject subject = {.gh = {.call = call, .arena = &arena, .err = err}};
    enum rc rc = subject_open(&subject, ref);
    if (rc == RC_OK && text_same(js_get_str(subject.pr, "state", ""), "MERGED"))
        return RC_OK;
    if (rc == RC_OK)
        rc = subject_check(&subject, head);
    const char *now = js_str(js_path(subject.pr, "autoMergeRequest.mergeMethod"), "");
    if (rc != RC_OK || text_same(now, way_names[way]))
        return rc;
    return change(&subject, auto_merge_mutation, head, way_names[way]);
}

enum rc github_enqueue(struct forge_call *call, const struct pr_ref *ref, const char *head,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(subject_release)
    struct subject subject = {.gh = {.call = call, .arena = &arena, .err = err}};
    enum rc rc = subject_open(&subject, ref);
    if (rc == RC_OK && text_same(js_get_str(subject.pr, "state", ""), "MERGED"))
        return RC_OK;
    if (rc == RC_OK)
        rc = subject_check(&subject, head);
    if (rc != RC_OK || js_get_bool(subject.pr, "isInMergeQueue", false))
        return rc;
    return change(&subject, enqueue_mutation, head, NULL);
}

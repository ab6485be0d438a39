#include "forge/host/people.h"

struct host_people host_people_new(const struct host_api *api, const struct host_people_ops *ops)
{
    return (struct host_people){
        .ops = ops, .api = api, .kept = arena_alloc(api->arena, ops->kept_bytes)};
}

void host_people_add(const struct host_people *people, const struct js *user)
{
    if (people->ops->add != NULL)
        people->ops->add(people->kept, people->api->arena, user);
}

static const char *association_of(const struct host_people *people, const char *login)
{
    return people->ops->association(people->api, people->kept, login);
}

enum rc host_people_one(const struct host_api *api, const struct host_people_ops *ops,
                        const char *login, const char **ret_association, struct err *err)
{
    const struct host_people people = host_people_new(api, ops);
    enum rc rc = ops->read(api, people.kept, err);
    if (rc == RC_OK)
        *ret_association = association_of(&people, login);
    return rc;
}

enum rc host_people_of_issue(const struct host_people *people, struct issue *issue, struct err *err)
{
    enum rc rc = people->ops->read(people->api, people->kept, err);
    if (rc != RC_OK)
        return rc;
    issue->association = association_of(people, issue->author);
    for (int64_t i = 0; i < issue->comment_count; i++)
        issue->comments[i].association = association_of(people, issue->comments[i].author);
    return RC_OK;
}

static const char *trusted_as(const struct host_people *people, const char *login)
{
    const char *association = association_of(people, login);
    return association != NULL ? association : "NONE";
}

enum rc host_people_of_view(const struct host_people *people, struct pr_view *view, struct err *err)
{
    enum rc rc = people->ops->read(people->api, people->kept, err);
    if (rc != RC_OK)
        return rc;
    bool any = view->review_count > 0 || view->thread_count > 0;
    view->cut |= any && !people->ops->whole(people->kept);
    for (size_t i = 0; i < view->review_count; i++)
        view->reviews[i].association = trusted_as(people, view->reviews[i].author);
    for (size_t i = 0; i < view->thread_count; i++) {
        struct thread_view *thread = &view->threads[i];
        for (size_t at = 0; at < thread->comment_count; at++)
            thread->comments[at].association = trusted_as(people, thread->comments[at].author);
    }
    return RC_OK;
}

// routes_issues.mjs - issues, comments, labels, assignees, dependencies.
import { R, list, notFound, required, sorted } from './routes.mjs';
import { Refusal } from './world.mjs';

const seen = [['issues', 'pull_requests'], 'read'];
const does = [['issues', 'pull_requests'], 'write'];
const I = `${R}/issues/{issue_number}`;

const issueOf = ({ repo, params }) => notFound(repo.any(params.issue_number));
const commentOf = ({ repo, params }) => notFound(repo.issues.flatMap((issue) => issue.comments)
    .find((comment) => comment.id === Number(params.comment_id)));
const since = (query) => (query.has('since') ? Date.parse(query.get('since')) : -Infinity);
// Times are told in whole seconds.
const inSeconds = (ms) => Math.floor(ms / 1000) * 1000;

// Labels and assignees are for those who may write; others' are ignored, as GitHub does.
const trusted = ({ repo, actor }) => repo.may(actor, 'contents', 'write')
    || repo.may(actor, 'issues', 'write');

function listIssues({ repo, show, query }) {
    const state = query.get('state') ?? 'open';
    const labels = (query.get('labels') ?? '').split(',').filter(Boolean)
        .map((name) => name.toLowerCase());
    const from = since(query);
    const found = repo.issues.filter((issue) => (state === 'all' || issue.state === state)
        && inSeconds(issue.updated) >= from
        && (!query.has('creator') || issue.user.login === query.get('creator'))
        && (!query.has('assignee') || (query.get('assignee') === '*' ? issue.assignees.length > 0
            : issue.assignees.some(({ login }) => login === query.get('assignee'))))
        && labels.every((name) => issue.labels.some((each) => each.name.toLowerCase() === name)));
    return list(sorted(found, query, { created: (issue) => issue.number,
        updated: (issue) => issue.updated, comments: (issue) => issue.comments.length },
    'created'), (issue) => show.issue(issue));
}

function createIssue(ctx) {
    const { repo, show, actor, body } = ctx;
    required(body, 'Issue', 'title');
    const names = trusted(ctx) ? (body.labels ?? []).map((each) => each.name ?? each) : [];
    const issue = repo.issue({ title: String(body.title), body: body.body ?? null,
        user: actor.user, app: actor.app, labels: names,
        assignees: trusted(ctx) ? body.assignees ?? [] : [] });
    return { status: 201, body: show.issue(issue), headers: { location: show.issue(issue).url } };
}

function updateIssue(ctx) {
    const { show, actor, body } = ctx;
    const issue = issueOf(ctx);
    if (!trusted(ctx) && issue.user !== actor.user)
        throw new Refusal(403, 'Must have admin rights to Repository.');
    issue.edit(body, actor.user);
    if (body.labels) issue.setLabels(body.labels.map((each) => each.name ?? each), actor.user);
    for (const login of body.assignees ?? []) issue.assign(login, actor.user);
    if (body.state === 'closed') issue.close(actor.user, body.state_reason ?? 'completed');
    else if (body.state === 'open') issue.reopen(actor.user);
    else if (body.state !== undefined) throw new Refusal(422, 'Validation Failed',
        { errors: [{ resource: 'Issue', field: 'state', code: 'invalid' }] });
    return { body: show.issue(issue) };
}

function createComment(ctx) {
    required(ctx.body, 'IssueComment', 'body');
    const { actor, show, body } = ctx;
    if (String(body.body).length > 65_536) throw new Refusal(422, 'Validation Failed', { errors: [{
        resource: 'IssueComment', field: 'body', code: 'custom',
        message: 'body is too long (maximum is 65536 characters)' }] });
    const comment = issueOf(ctx).comment({ by: actor.user, app: actor.app, body: body.body });
    return { status: 201, body: show.comment(comment),
        headers: { location: show.comment(comment).url } };
}

const listComments = (ctx) => {
    const from = since(ctx.query);
    return list(issueOf(ctx).comments.filter((each) => inSeconds(each.updated) >= from),
        (each) => ctx.show.comment(each));
};

function allComments({ repo, show, query }) {
    const from = since(query);
    const all = repo.issues.flatMap((issue) => issue.comments)
        .filter((each) => inSeconds(each.updated) >= from);
    return list(sorted(all, query, { created: (each) => each.id,
        updated: (each) => each.updated }, 'created', 'asc'), (each) => show.comment(each));
}

const labelNames = (body) => {
    const given = Array.isArray(body) ? body : body.labels ?? [];
    return given.map((each) => each.name ?? each);
};

const shownLabels = (ctx, issue) => list(issue.labels, (label) => ctx.show.label(ctx.repo, label));

function writeComment(ctx, change) {
    const comment = commentOf(ctx);
    const own = comment.user === ctx.actor.user;
    if (!own && !ctx.repo.may(ctx.actor, 'contents', 'write'))
        throw new Refusal(403, 'Must have admin rights to Repository.');
    return change(comment, ctx.actor.user);
}

function otherIssue({ world, body, params }) {
    const id = Number(body.issue_id ?? params.issue_id);
    return notFound(world.repos.flatMap((repo) => repo.issues).find((issue) => issue.id === id));
}

export const issueRoutes = [
    ['GET', `${R}/issues`, seen, listIssues],
    ['POST', `${R}/issues`, ['issues', 'write'], createIssue],
    ['GET', `${R}/issues/comments`, seen, allComments],
    ['GET', `${R}/issues/comments/{comment_id}`, seen, (ctx) => ({
        body: ctx.show.comment(commentOf(ctx)) })],
    ['PATCH', `${R}/issues/comments/{comment_id}`, does, (ctx) => writeComment(ctx,
        (comment, by) => {
            required(ctx.body, 'IssueComment', 'body');
            comment.issue.editComment(comment, ctx.body.body, by);
            return { body: ctx.show.comment(comment) };
        })],
    ['DELETE', `${R}/issues/comments/{comment_id}`, does, (ctx) => writeComment(ctx,
        (comment, by) => {
            comment.issue.deleteComment(comment, by);
            return { status: 204 };
        })],
    ['GET', I, seen, (ctx) => ({ body: ctx.show.issue(issueOf(ctx)) })],
    ['PATCH', I, does, updateIssue],
    ['GET', `${I}/comments`, seen, listComments],
    ['POST', `${I}/comments`, does, createComment],
    ['GET', `${I}/events`, seen, (ctx) => {
        const issue = issueOf(ctx);
        return list(issue.events, (event) => ctx.show.issueEvent(event, issue));
    }],
    ['GET', `${I}/labels`, seen, (ctx) => shownLabels(ctx, issueOf(ctx))],
    ['POST', `${I}/labels`, does, (ctx) => {
        const issue = issueOf(ctx);
        for (const name of labelNames(ctx.body)) issue.label(name, ctx.actor.user);
        return shownLabels(ctx, issue);
    }],
    ['PUT', `${I}/labels`, does, (ctx) => {
        issueOf(ctx).setLabels(labelNames(ctx.body), ctx.actor.user);
        return shownLabels(ctx, issueOf(ctx));
    }],
    ['DELETE', `${I}/labels/{name}`, does, (ctx) => {
        issueOf(ctx).unlabel(ctx.params.name, ctx.actor.user);
        return shownLabels(ctx, issueOf(ctx));
    }],
    ['POST', `${I}/assignees`, does, (ctx) => {
        for (const login of ctx.body.assignees ?? []) issueOf(ctx).assign(login, ctx.actor.user);
        return { status: 201, body: ctx.show.issue(issueOf(ctx)) };
    }],
    ['DELETE', `${I}/assignees`, does, (ctx) => {
        for (const login of ctx.body.assignees ?? []) issueOf(ctx).unassign(login, ctx.actor.user);
        return { body: ctx.show.issue(issueOf(ctx)) };
    }],
    ['GET', `${I}/dependencies/blocked_by`, seen, (ctx) => list([...issueOf(ctx).blockedBy],
        (issue) => ctx.show.issue(issue))],
    ['GET', `${I}/dependencies/blocking`, seen, (ctx) => list(issueOf(ctx).blocking,
        (issue) => ctx.show.issue(issue))],
    ['POST', `${I}/dependencies/blocked_by`, ['issues', 'write'], (ctx) => {
        required(ctx.body, 'IssueDependency', 'issue_id');
        issueOf(ctx).blockedBy.add(otherIssue(ctx));
        return { status: 201, body: ctx.show.issue(issueOf(ctx)) };
    }],
    ['DELETE', `${I}/dependencies/blocked_by/{issue_id}`, ['issues', 'write'], (ctx) => {
        issueOf(ctx).blockedBy.delete(otherIssue(ctx));
        return { body: ctx.show.issue(issueOf(ctx)) };
    }],
    ['GET', `${R}/labels`, seen, ({ repo, show }) => list([...repo.labels.values()],
        (label) => show.label(repo, label))],
    ['POST', `${R}/labels`, does, ({ repo, show, body }) => {
        required(body, 'Label', 'name');
        if (repo.labels.has(body.name.toLowerCase())) throw new Refusal(422, 'Validation Failed',
            { errors: [{ resource: 'Label', field: 'name', code: 'already_exists' }] });
        const label = Object.assign(repo.label(body.name), { color: body.color ?? 'ededed',
            description: body.description ?? null });
        return { status: 201, body: show.label(repo, label) };
    }],
    ['GET', `${R}/labels/{name}`, seen, ({ repo, show, params }) => ({ body: show.label(repo,
        notFound(repo.labels.get(params.name.toLowerCase()))) })],
    ['GET', `${R}/assignees/{assignee}`, seen, ({ repo, world, params }) => {
        if (['none', 'read'].includes(repo.permissionOf(world.users.get(
            params.assignee.toLowerCase())))) throw new Refusal(404, 'Not Found');
        return { status: 204 };
    }],
];

// gitlab.mjs - a GitLab on loopback that keeps state: merge requests, notes, discussions,
// approvals, pipelines, statuses, issues, and git over HTTP.
//
// Answers have the members that GitLab's own descriptions of them have, as far as a client may need
// them.  A request with a member that GitLab does not know is refused: GitLab would ignore it.
import { ForgeFront } from './forge_front.mjs';

const ROLES = { read: 20, write: 30, owner: 50 };
const DRAFT = /^\s*(draft:|\[draft\]|\(draft\))\s*/i;

export function startGitlab() {
    return new ForgeFront({
        api: '/api/v4',
        routes: ROUTES,
        page: { param: 'per_page', max: 100, etags: true },
        tokenOf: (header) => /^Bearer (.+)$/.exec(header)?.[1],
        separateNumbers: true,
        refusals: (status, message) => ({ message: status < 400 ? message
            : `${status} ${message}` }),
    }).start();
}

// ---- what is shown ----

const person = (forge, { id, login }) => ({ id, username: login, name: login, state: 'active',
    locked: false, avatar_url: null, web_url: `${forge.url}/${login}` });

const stateOf = (item) => (item.merged ? 'merged' : item.state === 'open' ? 'opened' : 'closed');

function mergeStatus(pull) {
    if (pull.state !== 'open') return 'not_open';
    if (DRAFT.test(pull.title)) return 'draft_status';
    return pull.fit === 'clean' ? 'mergeable' : 'conflict';
}

function mergeRequest(forge, pull) {
    const { repo } = pull;
    const target = repo.head(pull.base);
    return {
        id: pull.id, iid: pull.number, project_id: repo.id, title: pull.title,
        description: pull.body, state: stateOf(pull), created_at: pull.created,
        updated_at: pull.updated, merged_at: pull.merged ? pull.updated : null,
        merge_user: null, merged_by: null, closed_by: null, closed_at: null,
        target_branch: pull.base, source_branch: pull.head, user_notes_count: pull.comments.length,
        upvotes: 0, downvotes: 0, author: person(forge, pull.by), assignees: [], assignee: null,
        reviewers: pull.reviewers.map((each) => person(forge, each)),
        source_project_id: repo.id, target_project_id: repo.id, labels: [...pull.labels],
        draft: DRAFT.test(pull.title), work_in_progress: DRAFT.test(pull.title), milestone: null,
        merge_when_pipeline_succeeds: pull.autoMerge !== null, merge_status: 'can_be_merged',
        detailed_merge_status: mergeStatus(pull), sha: pull.sha,
        merge_commit_sha: pull.mergeCommit, squash_commit_sha: null, discussion_locked: null,
        should_remove_source_branch: null, force_remove_source_branch: false,
        reference: `!${pull.number}`, web_url: `${forge.url}/${repo.fullName}/-/merge_requests/`
            + `${pull.number}`,
        has_conflicts: pull.state === 'open' && pull.fit === 'conflict',
        blocking_discussions_resolved: pull.threads.every(({ resolved }) => resolved),
        diff_refs: { base_sha: repo.bare.mergeBase(target, pull.sha), head_sha: pull.sha,
            start_sha: target },
    };
}

const issueOf = (forge, issue) => ({
    id: issue.id, iid: issue.number, project_id: issue.repo.id, title: issue.title,
    description: issue.body, state: stateOf(issue), created_at: issue.created,
    updated_at: issue.updated, closed_at: null, labels: [...issue.labels], milestone: null,
    assignees: issue.assignees.map((each) => person(forge, each)), author: person(forge, issue.by),
    type: 'ISSUE', user_notes_count: issue.comments.filter(({ system }) => !system).length,
    confidential: false, web_url: `${forge.url}/${issue.repo.fullName}/-/issues/${issue.number}`,
});

const note = (forge, item, comment, more = {}) => ({
    id: comment.id, type: null, body: comment.body, author: person(forge, comment.by),
    created_at: comment.created, updated_at: comment.updated, system: comment.system ?? false,
    noteable_id: item.id, noteable_iid: item.number, project_id: item.repo.id, resolvable: false,
    confidential: false, internal: false, ...more,
});

const discussionOf = (forge, pull, thread) => ({
    id: thread.id, individual_note: false,
    notes: thread.comments.map((comment) => note(forge, pull, comment, {
        type: thread.path ? 'DiffNote' : 'DiscussionNote', resolvable: true,
        resolved: thread.resolved !== null,
        ...(thread.path && { position: { base_sha: thread.sha, start_sha: thread.sha,
            head_sha: thread.sha, position_type: 'text', old_path: thread.path,
            new_path: thread.path, old_line: null, new_line: thread.line } }) })),
});

const statusOf = (forge, status) => ({ id: status.id, sha: status.sha, ref: 'main',
    status: status.state, name: status.name, target_url: status.url || null,
    description: status.description || null, created_at: status.created,
    started_at: status.created, finished_at: status.updated, allow_failure: false, coverage: null,
    pipeline_id: status.pipeline ?? null, author: status.by && person(forge, status.by) });

const jobOf = (forge, repo, job) => ({ id: job.id, name: job.name, stage: 'test',
    status: job.state, ref: 'main', tag: false, allow_failure: job.allowFailure ?? false,
    created_at: job.created, started_at: job.created, finished_at: job.updated, duration: 1,
    failure_reason: job.reason, web_url: `${forge.url}/${repo.fullName}/-/jobs/${job.id}`,
    commit: { id: job.sha }, pipeline: { id: job.pipeline, project_id: repo.id, sha: job.sha } });

// ---- what is asked ----

// Refuses what GitLab does not know, and what it needs.
function check(ctx, known, needed = []) {
    for (const key of Object.keys(ctx.body))
        if (!known.includes(key)) ctx.refuse(400, `(test) GitLab knows no ${key}`);
    for (const key of needed)
        if (ctx.body[key] === undefined) ctx.refuse(400, `${key} is missing`);
}

function checkQuery(ctx, known) {
    for (const key of ctx.query.keys())
        if (!['page', 'per_page', ...known].includes(key))
            ctx.refuse(400, `(test) GitLab knows no parameter ${key}`);
}

const pullOf = (ctx) => ctx.repo.pull(Number(ctx.params.iid)) ?? ctx.refuse(404, 'Not found');
const issueIn = (ctx) => ctx.repo.issue(Number(ctx.params.iid)) ?? ctx.refuse(404, 'Not found');
const itemOf = (ctx) => (ctx.params.kind === 'issues' ? issueIn(ctx) : pullOf(ctx));

function sorted(items, query) {
    const key = query.get('order_by') === 'updated_at' ? 'updated' : 'created';
    const order = query.get('sort') === 'asc' ? 1 : -1;
    return [...items].sort((a, b) => order * (a[key] < b[key] ? -1 : a[key] > b[key] ? 1
        : a.number - b.number));
}

function select(items, query) {
    const state = query.get('state') ?? 'all';
    const after = query.get('updated_after');
    return sorted(items.filter((item) => (state === 'all' || stateOf(item) === state)
        && (!after || Date.parse(item.updated) >= Date.parse(after))), query);
}

const LISTING = ['state', 'scope', 'order_by', 'sort', 'updated_after'];

function listMergeRequests(ctx) {
    checkQuery(ctx, [...LISTING, 'source_branch']);
    const branch = ctx.query.get('source_branch');
    return select(ctx.repo.pulls.filter(({ head }) => !branch || head === branch), ctx.query)
        .map((pull) => mergeRequest(ctx.forge, pull));
}

function createMergeRequest(ctx) {
    check(ctx, ['source_branch', 'target_branch', 'title', 'description', 'labels', 'reviewer_ids',
        'remove_source_branch', 'squash'], ['source_branch', 'target_branch', 'title']);
    const { source_branch: head, target_branch: base, title, description: body } = ctx.body;
    const open = ctx.repo.pulls.find((pull) => pull.state === 'open' && pull.head === head
        && pull.base === base);
    if (open) return { status: 409, body: { message: ['Another open merge request already exists '
        + `for this source branch: !${open.number}`] } };
    if (!ctx.repo.head(head)) return { status: 400, body: { message: { source_branch:
        ['does not exist'] } } };
    const pull = ctx.repo.openPull({ head, base, title, body, by: ctx.user.login });
    return { status: 201, body: mergeRequest(ctx.forge, pull) };
}

function updateMergeRequest(ctx) {
    check(ctx, ['title', 'description', 'state_event', 'add_labels', 'remove_labels', 'labels',
        'reviewer_ids', 'target_branch']);
    const pull = pullOf(ctx);
    const { title, description, state_event: event, add_labels: labels, reviewer_ids: ids } =
        ctx.body;
    if (title !== undefined) pull.title = title;
    if (description !== undefined) pull.body = description;
    for (const name of (labels ?? '').split(',').filter(Boolean))
        pull.label(name, ctx.user.login);
    if (ids) pull.reviewers = ids.map((id) => [...ctx.forge.users.values()]
        .find((user) => user.id === id)).filter(Boolean);
    if (event === 'close' && pull.state === 'open') pull.state = 'closed';
    if (event === 'reopen' && !pull.merged) pull.state = 'open';
    pull.touch();
    return { body: mergeRequest(ctx.forge, pull) };
}

function mergeMergeRequest(ctx) {
    check(ctx, ['sha', 'merge_commit_message', 'squash', 'squash_commit_message', 'auto_merge',
        'merge_when_pipeline_succeeds', 'should_remove_source_branch']);
    const pull = pullOf(ctx);
    const { sha, merge_commit_message: message, auto_merge: auto } = ctx.body;
    if (pull.state !== 'open' || DRAFT.test(pull.title)) ctx.refuse(405, 'Method Not Allowed');
    if (sha && sha !== pull.sha)
        ctx.refuse(409, `SHA does not match HEAD of source branch: ${pull.sha}`);
    if (auto && ctx.repo.latestStatuses(pull.sha).some(({ state }) => state === 'running')) {
        pull.autoMerge = sha;
        return { body: mergeRequest(ctx.forge, pull) };
    }
    if (!pull.merge({ message: message ?? `Merge branch '${pull.head}' into '${pull.base}'` }))
        ctx.refuse(422, 'Branch cannot be merged');
    return { body: mergeRequest(ctx.forge, pull) };
}

// ---- notes and discussions ----

function listNotes(ctx) {
    checkQuery(ctx, ['order_by', 'sort', 'activity_filter']);
    const item = itemOf(ctx);
    return sorted(item.comments, ctx.query).map((comment) => note(ctx.forge, item, comment));
}

function createNote(ctx) {
    check(ctx, ['body', 'internal', 'created_at'], ['body']);
    const item = itemOf(ctx);
    return { status: 201, body: note(ctx.forge, item,
        item.comment({ by: ctx.user.login, body: ctx.body.body })) };
}

function editNote(ctx) {
    check(ctx, ['body'], ['body']);
    const item = itemOf(ctx);
    const comment = item.comments.find(({ id }) => id === Number(ctx.params.note))
        ?? ctx.refuse(404, 'Not found');
    if (comment.by !== ctx.user) ctx.refuse(403, 'Forbidden');
    Object.assign(comment, { body: ctx.body.body, updated: ctx.forge.now() });
    return { body: note(ctx.forge, item, comment) };
}

function listDiscussions(ctx) {
    const pull = pullOf(ctx);
    const single = pull.comments.map((comment) => ({ id: `note-${comment.id}`,
        individual_note: true, notes: [note(ctx.forge, pull, comment)] }));
    return [...single, ...pull.threads.map((thread) => discussionOf(ctx.forge, pull, thread))];
}

const threadIn = (ctx, pull) => pull.threads.find(({ id }) => id === ctx.params.discussion)
    ?? ctx.refuse(404, 'Discussion Not Found');

function addReply(ctx) {
    check(ctx, ['body'], ['body']);
    const pull = pullOf(ctx);
    const comment = pull.reply(threadIn(ctx, pull), { by: ctx.user.login, body: ctx.body.body });
    return { status: 201, body: note(ctx.forge, pull, comment) };
}

function editReply(ctx) {
    check(ctx, ['body', 'resolved']);
    const pull = pullOf(ctx);
    const comment = threadIn(ctx, pull).comments.find(({ id }) => id === Number(ctx.params.note))
        ?? ctx.refuse(404, 'Not found');
    Object.assign(comment, { body: ctx.body.body, updated: ctx.forge.now() });
    return { body: note(ctx.forge, pull, comment) };
}

function resolveThread(ctx) {
    check(ctx, ['resolved'], ['resolved']);
    const pull = pullOf(ctx);
    const thread = threadIn(ctx, pull);
    thread.resolved = ctx.body.resolved ? ctx.user : null;
    return { body: discussionOf(ctx.forge, pull, thread) };
}

// ---- approvals ----

const approvalsOf = (ctx, pull) => ({ id: pull.id, iid: pull.number, project_id: ctx.repo.id,
    title: pull.title, state: stateOf(pull), merge_status: 'can_be_merged',
    approved: pull.approvals.length > 0, approvals_required: 0, approvals_left: 0,
    user_has_approved: pull.approvals.some(({ by }) => by === ctx.user),
    approved_by: pull.approvals.map(({ by, at }) => ({ user: person(ctx.forge, by),
        approved_at: at })) });

function approve(ctx) {
    check(ctx, ['sha']);
    const pull = pullOf(ctx);
    if (ctx.body.sha && ctx.body.sha !== pull.sha) ctx.refuse(409, 'SHA does not match HEAD');
    if (pull.by === ctx.user || pull.approvals.some(({ by }) => by === ctx.user))
        ctx.refuse(401, 'Unauthorized');
    pull.approvals.push({ by: ctx.user, at: ctx.forge.now() });
    pull.comment({ by: ctx.user.login, body: 'approved this merge request', system: true });
    return { status: 201, body: approvalsOf(ctx, pull) };
}

// ---- statuses and jobs ----

function putStatus(ctx) {
    check(ctx, ['state', 'name', 'context', 'description', 'target_url', 'ref', 'coverage',
        'pipeline_id'], ['state']);
    const { sha } = ctx.params;
    if (!ctx.repo.bare.rev(sha)) ctx.refuse(404, 'Commit Not Found');
    const { name = 'default', state } = ctx.body;
    const last = ctx.repo.latestStatuses(sha).find((each) => each.name === name);
    if (last?.state === state) return { status: 400, body: { message:
        `Cannot transition status via :run from :${state}` } };
    return { status: 201, body: statusOf(ctx.forge, ctx.repo.status(sha, { name, state,
        description: ctx.body.description, url: ctx.body.target_url, by: ctx.user })) };
}

function listStatuses(ctx) {
    checkQuery(ctx, ['name', 'ref', 'stage', 'all', 'order_by', 'sort', 'pipeline_id']);
    const name = ctx.query.get('name');
    const jobs = ctx.repo.jobs.filter((job) => job.sha === ctx.params.sha && !job.retried)
        .map((job) => ({ ...statusOf(ctx.forge, job), pipeline_id: job.pipeline }));
    return [...jobs, ...ctx.repo.latestStatuses(ctx.params.sha)
        .map((status) => statusOf(ctx.forge, status))].filter((each) => !name
        || each.name === name);
}

const jobIn = (ctx) => ctx.repo.jobs.find(({ id }) => id === Number(ctx.params.job))
    ?? ctx.refuse(404, 'Not found');

function retryJob(ctx) {
    const job = jobIn(ctx);
    if (job.retried || job.state === 'running') ctx.refuse(403, 'Forbidden - Job is not retryable');
    job.retried = true;
    const next = { ...job, id: ctx.forge.nextId(), state: 'running', retried: false };
    ctx.repo.jobs.push(next);
    return { status: 201, body: jobOf(ctx.forge, ctx.repo, next) };
}

// ---- issues ----

function listIssues(ctx) {
    checkQuery(ctx, LISTING);
    return select(ctx.repo.issues, ctx.query).map((issue) => issueOf(ctx.forge, issue));
}

function createIssue(ctx) {
    check(ctx, ['title', 'description', 'labels'], ['title']);
    const { title, description: body, labels = '' } = ctx.body;
    const issue = ctx.repo.issue({ title, body, by: ctx.user.login,
        labels: labels.split(',').filter(Boolean) });
    return { status: 201, body: issueOf(ctx.forge, issue) };
}

function updateIssue(ctx) {
    check(ctx, ['state_event', 'title', 'description', 'labels', 'add_labels']);
    const issue = issueIn(ctx);
    if (ctx.body.state_event)
        issue.state = ctx.body.state_event === 'close' ? 'closed' : 'open';
    issue.touch();
    return { body: issueOf(ctx.forge, issue) };
}

function listMembers(ctx) {
    checkQuery(ctx, ['user_ids[]', 'query']);
    const part = ctx.query.get('query') ?? '';
    const asked = ctx.query.getAll('user_ids[]').map(Number);
    return Object.entries(ctx.repo.members).map(([login, role]) => ({
        ...person(ctx.forge, ctx.forge.user(login)), access_level: ROLES[role] }))
        .filter(({ id, username }) => (asked.length === 0 || asked.includes(id))
            && username.includes(part));
}

const P = '/projects/:repo';
const M = `${P}/merge_requests/:iid`;
const ROUTES = [
    ['GET', '/user', (ctx) => ({ body: person(ctx.forge, ctx.user) })],
    ['GET', '/users', (ctx) => {
        checkQuery(ctx, ['username']);
        const user = ctx.forge.users.get(ctx.query.get('username'));
        return user ? [person(ctx.forge, user)] : [];
    }],
    ['GET', P, ({ forge, repo }) => ({ body: { id: repo.id, name: repo.fullName.split('/').at(-1),
        path_with_namespace: repo.fullName, default_branch: 'main', visibility: 'private',
        merge_method: 'merge', web_url: `${forge.url}/${repo.fullName}`,
        http_url_to_repo: forge.gitUrl(repo) } })],
    ['GET', `${P}/members/all`, listMembers],
    ['GET', `${P}/repository/branches/:branch`, (ctx) => {
        const sha = ctx.repo.head(ctx.params.branch) ?? ctx.refuse(404, 'Branch Not Found');
        return { body: { name: ctx.params.branch, commit: { id: sha }, merged: false,
            protected: ctx.params.branch === 'main', default: ctx.params.branch === 'main' } };
    }],
    ['GET', `${P}/merge_requests`, listMergeRequests],
    ['POST', `${P}/merge_requests`, createMergeRequest],
    ['GET', M, (ctx) => ({ body: mergeRequest(ctx.forge, pullOf(ctx)) })],
    ['PUT', M, updateMergeRequest],
    ['PUT', `${M}/merge`, mergeMergeRequest],
    ['GET', `${M}/approvals`, (ctx) => ({ body: approvalsOf(ctx, pullOf(ctx)) })],
    ['POST', `${M}/approve`, approve, { anyone: true }],
    ['GET', `${M}/reviewers`, (ctx) => pullOf(ctx).reviewers.map((user) => ({
        user: person(ctx.forge, user), state: 'unreviewed', created_at: ctx.forge.now() }))],
    ['GET', `${M}/versions`, (ctx) => [...pullOf(ctx).versions].reverse().map((each) => ({
        id: each.id, head_commit_sha: each.sha, created_at: each.created, state: 'collected' }))],
    ['GET', `${M}/discussions`, listDiscussions],
    ['GET', `${M}/discussions/:discussion`, (ctx) => ({ body: discussionOf(ctx.forge, pullOf(ctx),
        threadIn(ctx, pullOf(ctx))) })],
    ['PUT', `${M}/discussions/:discussion`, resolveThread],
    ['POST', `${M}/discussions/:discussion/notes`, addReply],
    ['PUT', `${M}/discussions/:discussion/notes/:note`, editReply],
    ['GET', `${P}/:kind/:iid/notes`, listNotes],
    ['POST', `${P}/:kind/:iid/notes`, createNote, { anyone: true }],
    ['PUT', `${P}/:kind/:iid/notes/:note`, editNote, { anyone: true }],
    ['GET', `${P}/merge_trains/merge_requests/:iid`, (ctx) => ctx.refuse(403, 'Forbidden')],
    ['GET', `${P}/pipelines`, (ctx) => {
        checkQuery(ctx, ['sha', 'order_by', 'sort', 'ref', 'source']);
        return ctx.repo.pipelines.filter(({ sha }) => sha === ctx.query.get('sha'));
    }],
    ['GET', `${P}/pipelines/:pipeline/jobs`, (ctx) => ctx.repo.jobs
        .filter((job) => job.pipeline === Number(ctx.params.pipeline) && !job.retried)
        .map((job) => jobOf(ctx.forge, ctx.repo, job))],
    ['GET', `${P}/jobs/:job`, (ctx) => ({ body: jobOf(ctx.forge, ctx.repo, jobIn(ctx)) })],
    ['GET', `${P}/jobs/:job/trace`, (ctx) => ({ raw: jobIn(ctx).log ?? '' })],
    ['POST', `${P}/jobs/:job/retry`, retryJob],
    ['GET', `${P}/repository/commits/:sha/statuses`, listStatuses],
    ['POST', `${P}/statuses/:sha`, putStatus],
    ['GET', `${P}/issues`, listIssues],
    ['POST', `${P}/issues`, createIssue, { anyone: true }],
    ['GET', `${P}/issues/:iid`, (ctx) => ({ body: issueOf(ctx.forge, issueIn(ctx)) })],
    ['PUT', `${P}/issues/:iid`, updateIssue],
    ['GET', `${P}/issues/:iid/resource_label_events`, (ctx) => issueIn(ctx).events
        .map(({ id, label, by, at }) => ({ id, user: person(ctx.forge, by), created_at: at,
            resource_type: 'Issue', resource_id: issueIn(ctx).id, action: 'add',
            label: { ...label, description: null } }))],
    ['GET', `${P}/issues/:iid/links`, (ctx) => issueIn(ctx).blockedBy.map((other) => ({
        ...issueOf(ctx.forge, other), issue_link_id: other.id, link_type: 'is_blocked_by' }))],
];

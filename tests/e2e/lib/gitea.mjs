// gitea.mjs - a Gitea on loopback that keeps state: pull requests, reviews, statuses, issues,
// labels, and git over HTTP. With {forgejo: true} it lacks what Forgejo lacks.
//
// Answers have the members that Gitea's own descriptions of them have, as far as a client may need
// them.  A request with a member that Gitea does not know is refused: Gitea would ignore it.
import { ForgeFront } from './forge_front.mjs';
import { Swagger } from './swagger.mjs';

const SWAGGER = process.env.DROVER_GITEA_SWAGGER;
const DRAFT = /^\s*(wip:|\[wip\])\s*/i;

export function startGitea({ forgejo = false } = {}) {
    return new ForgeFront({
        api: '/api/v1',
        routes: forgejo ? ROUTES.filter(([, , , options]) => !options?.gitea) : ROUTES,
        page: { param: 'limit', max: 50, etags: false },
        tokenOf: (header) => /^(?:token|Bearer) (.+)$/.exec(header)?.[1],
        described: SWAGGER && new Swagger(SWAGGER),
        refusals: (status, message) => ({ message, url: 'https://gitea.example/api/swagger' }),
    }).start();
}

// ---- what is shown ----

const person = (forge, { id, login }) => ({ id, login, login_name: '', source_id: 0,
    full_name: login, email: `${login}@noreply.example`, avatar_url: `${forge.url}/avatars/${id}`,
    html_url: `${forge.url}/${login}`, language: '', is_admin: false, active: false,
    restricted: false, prohibit_login: false, location: '', website: '', description: '',
    visibility: 'public', followers_count: 0, following_count: 0, starred_repos_count: 0 });

const labelOf = (forge, repo, label) => ({ ...label, exclusive: false, is_archived: false,
    description: '', url: `${forge.apiUrl}/repos/${repo.fullName}/labels/${label.id}` });
const labelsOf = (forge, item) => [...item.labels].map((name) => labelOf(forge, item.repo,
    item.repo.label(name)));

const repoOf = (forge, repo) => {
    const [owner, name] = repo.fullName.split('/');
    return { id: repo.id, owner: person(forge, forge.user(owner)), name, full_name: repo.fullName,
        description: '', empty: false, private: true, fork: false, default_branch: 'main',
        html_url: `${forge.url}/${repo.fullName}`, clone_url: forge.gitUrl(repo),
        default_merge_style: 'merge', allow_merge_commits: true, archived: false };
};

const branchInfo = (forge, repo, branch, sha) => ({ label: branch, ref: branch, sha: sha ?? '',
    repo_id: repo.id, repo: repoOf(forge, repo) });

function pullOf(forge, pull) {
    const { repo } = pull;
    const draft = DRAFT.test(pull.title);
    const url = `${forge.url}/${repo.fullName}/pulls/${pull.number}`;
    return { id: pull.id, url, number: pull.number, user: person(forge, pull.by),
        title: pull.title, body: pull.body, labels: labelsOf(forge, pull), milestone: null,
        assignee: null, assignees: [],
        requested_reviewers: pull.reviewers.map((each) => person(forge, each)),
        requested_reviewers_teams: [], state: pull.state, draft, is_locked: false,
        comments: pull.comments.length, html_url: url, diff_url: `${url}.diff`,
        patch_url: `${url}.patch`,
        mergeable: pull.state === 'open' && !draft && pull.fit === 'clean', merged: pull.merged,
        merged_at: pull.merged ? pull.updated : null, merge_commit_sha: pull.mergeCommit,
        merged_by: null, allow_maintainer_edit: false,
        base: branchInfo(forge, repo, pull.base, repo.head(pull.base)),
        head: branchInfo(forge, repo, pull.head, pull.sha),
        merge_base: repo.bare.mergeBase(repo.head(pull.base), pull.sha), due_date: null,
        created_at: pull.created, updated_at: pull.updated,
        closed_at: pull.state === 'closed' ? pull.updated : null, pin_order: 0 };
}

const issueOf = (forge, issue) => ({ id: issue.id,
    url: `${forge.apiUrl}/repos/${issue.repo.fullName}/issues/${issue.number}`,
    html_url: `${forge.url}/${issue.repo.fullName}/issues/${issue.number}`, number: issue.number,
    user: person(forge, issue.by), original_author: '', original_author_id: 0, title: issue.title,
    body: issue.body, ref: '', assets: [], labels: labelsOf(forge, issue), milestone: null,
    assignee: null, assignees: issue.assignees.map((each) => person(forge, each)),
    state: issue.state, is_locked: false, comments: issue.comments.length,
    created_at: issue.created, updated_at: issue.updated, closed_at: null, due_date: null,
    pull_request: issue.head === undefined ? null : { merged: issue.merged,
        draft: DRAFT.test(issue.title), merged_at: null },
    repository: { id: issue.repo.id, name: issue.repo.fullName.split('/')[1],
        owner: issue.repo.fullName.split('/')[0], full_name: issue.repo.fullName } });

const commentOf = (forge, item, comment) => ({ id: comment.id,
    html_url: `${forge.url}/${item.repo.fullName}/issues/${item.number}#issuecomment-${comment.id}`,
    pull_request_url: '', issue_url: '', user: person(forge, comment.by), original_author: '',
    original_author_id: 0, body: comment.body, assets: [], created_at: comment.created,
    updated_at: comment.updated });

const reviewOf = (forge, pull, review) => ({ id: review.id, user: person(forge, review.by),
    team: null, state: review.state, body: review.body, commit_id: review.sha, stale: false,
    official: true, dismissed: false, comments_count: review.comments.length,
    submitted_at: review.at, updated_at: review.at, html_url: '', pull_request_url: '' });

const lineComment = (forge, review, { thread, comment }) => ({ id: comment.id, body: comment.body,
    user: person(forge, comment.by),
    resolver: thread.resolved ? person(forge, thread.resolved) : null,
    pull_request_review_id: review.id, created_at: comment.created, updated_at: comment.updated,
    path: thread.path, commit_id: thread.sha, original_commit_id: '', diff_hunk: '',
    position: thread.line, original_position: 0, html_url: '', pull_request_url: '' });

const statusOf = (forge, status) => ({ id: status.id, status: status.state,
    target_url: status.url, description: status.description, url: '', context: status.name,
    creator: status.by && person(forge, status.by), created_at: status.created,
    updated_at: status.updated });

const jobOf = (forge, repo, job) => ({ id: job.id, url: '', run_id: job.run, run_url: '',
    html_url: `${forge.url}${job.url}`, name: job.name, labels: [], run_attempt: 1,
    head_sha: job.sha, head_branch: '', status: job.status, conclusion: job.conclusion,
    runner_id: 0, runner_name: '', steps: [], created_at: job.created, started_at: job.created,
    completed_at: job.created });

// ---- what is asked ----

function check(ctx, known, needed = []) {
    for (const key of Object.keys(ctx.body))
        if (!known.includes(key)) ctx.refuse(422, `(test) Gitea knows no ${key}`);
    for (const key of needed)
        if (ctx.body[key] === undefined) ctx.refuse(422, `[${key}]: Required`);
}

function checkQuery(ctx, known) {
    for (const key of ctx.query.keys())
        if (!['page', 'limit', ...known].includes(key))
            ctx.refuse(422, `(test) Gitea knows no parameter ${key}`);
}

const missing = (ctx) => ctx.refuse(404, "The target couldn't be found.");
const pullIn = (ctx) => ctx.repo.pull(Number(ctx.params.index)) ?? missing(ctx);
const itemIn = (ctx) => ctx.repo.issue(Number(ctx.params.index)) ?? pullIn(ctx);

function listPulls(ctx) {
    checkQuery(ctx, ['state', 'sort', 'milestone', 'labels', 'poster', 'base_branch']);
    const state = ctx.query.get('state') ?? 'open';
    return ctx.repo.pulls.filter((pull) => state === 'all' || pull.state === state)
        .sort((a, b) => (a.updated < b.updated ? 1 : -1)).map((pull) => pullOf(ctx.forge, pull));
}

function createPull(ctx) {
    check(ctx, ['head', 'base', 'title', 'body', 'labels', 'reviewers', 'team_reviewers',
        'assignees', 'milestone'], ['head', 'base', 'title']);
    const { head, base, title, body } = ctx.body;
    if (!ctx.repo.head(head) || !ctx.repo.head(base)) missing(ctx);
    const open = ctx.repo.pulls.find((pull) => !pull.merged && pull.state === 'open'
        && pull.head === head && pull.base === base);
    if (open) ctx.refuse(409, 'pull request already exists for these targets '
        + `[id: ${open.id}, issue_id: ${open.number}]`);
    const pull = ctx.repo.openPull({ head, base, title, body, by: ctx.user.login });
    return { status: 201, body: pullOf(ctx.forge, pull) };
}

function editPull(ctx) {
    check(ctx, ['title', 'body', 'state', 'base', 'labels', 'assignees', 'milestone']);
    const pull = pullIn(ctx);
    const { title, body, state } = ctx.body;
    if (title !== undefined) pull.title = title;
    if (body !== undefined) pull.body = body;
    if (state !== undefined && !pull.merged) pull.state = state;
    pull.touch();
    return { status: 201, body: pullOf(ctx.forge, pull) };
}

// Of Forgejo the message has other names.
const MERGE_OPTIONS = ['do', 'head_commit_id', 'merge_title_field', 'merge_message_field',
    'MergeTitleField', 'MergeMessageField', 'delete_branch_after_merge', 'force_merge',
    'merge_when_checks_succeed', 'merge_commit_id'];

function mergePull(ctx) {
    check(ctx, MERGE_OPTIONS);
    const pull = pullIn(ctx);
    if (pull.merged) ctx.refuse(405, 'The PR is already merged');
    if (pull.state !== 'open') missing(ctx);
    if (DRAFT.test(pull.title)) ctx.refuse(405, 'Work in progress PRs cannot be merged');
    if (ctx.body.head_commit_id && ctx.body.head_commit_id !== pull.sha)
        ctx.refuse(409, 'head out of date');
    const title = ctx.body.merge_title_field ?? ctx.body.MergeTitleField ?? 'Merge pull request';
    const rest = ctx.body.merge_message_field ?? ctx.body.MergeMessageField;
    if (!pull.merge({ message: rest ? `${title}\n\n${rest}` : title }))
        ctx.refuse(409, 'merge conflict');
    return { status: 200 };
}

function requestReview(ctx) {
    check(ctx, ['reviewers', 'team_reviewers']);
    const pull = pullIn(ctx);
    for (const login of ctx.body.reviewers ?? []) {
        const user = ctx.forge.users.get(login);
        if (!user) ctx.refuse(404, `user does not exist [name: ${login}]`);
        if (user === pull.by) ctx.refuse(422, 'poster of pr can\'t be reviewer');
        if (!pull.reviewers.includes(user)) pull.reviewers.push(user);
    }
    return { status: 201, body: [] };
}

// ---- reviews ----

function createReview(ctx) {
    check(ctx, ['event', 'body', 'commit_id', 'comments']);
    const pull = pullIn(ctx);
    const { event = 'COMMENT', body = '', commit_id: sha = pull.sha, comments = [] } = ctx.body;
    if (event === 'APPROVED' && pull.by === ctx.user)
        ctx.refuse(422, 'approve your own pull is not allowed');
    if (event === 'COMMENT' && !body && comments.length === 0)
        ctx.refuse(422, 'review event COMMENT requires a body or a comment');
    const review = { id: ctx.forge.nextId(), by: ctx.user, state: event, body, sha,
        at: ctx.forge.now(), comments: [] };
    pull.reviews.push(review);
    for (const { path, body: text, new_position: line } of comments) {
        let thread = pull.threads.find((each) => each.path === path && each.line === line);
        if (!thread) pull.threads.push(thread = { path, line, sha, resolved: null, comments: [] });
        review.comments.push({ thread, comment: pull.reply(thread, { by: ctx.user.login,
            body: text }) });
    }
    return { status: 200, body: reviewOf(ctx.forge, pull, review) };
}

const reviewIn = (ctx, pull) => pull.reviews.find(({ id }) => id === Number(ctx.params.review))
    ?? missing(ctx);
const threadWith = (repo, id) => repo.pulls.flatMap(({ threads }) => threads)
    .find(({ comments }) => comments.some((each) => each.id === id));

function replyTo(ctx) {
    check(ctx, ['body'], ['body']);
    const pull = pullIn(ctx);
    const id = Number(ctx.params.comment);
    const thread = threadWith(ctx.repo, id) ?? missing(ctx);
    const review = pull.reviews.find(({ comments }) => comments.some((each) =>
        each.comment.id === id)) ?? missing(ctx);
    const entry = { thread, comment: pull.reply(thread, { by: ctx.user.login,
        body: ctx.body.body }) };
    review.comments.push(entry);
    return { status: 201, body: lineComment(ctx.forge, review, entry) };
}

function resolve(ctx) {
    const thread = threadWith(ctx.repo, Number(ctx.params.comment)) ?? missing(ctx);
    thread.resolved = ctx.user;
    return { status: 204 };
}

// ---- issues ----

function listIssues(ctx) {
    checkQuery(ctx, ['state', 'labels', 'q', 'type', 'milestones', 'since', 'before', 'created_by',
        'assigned_by', 'mentioned_by']);
    const { query } = ctx;
    const state = query.get('state') ?? 'open', type = query.get('type');
    const since = Date.parse(query.get('since') ?? 0), before = query.get('before');
    const all = [...type === 'pulls' ? [] : ctx.repo.issues, ...type === 'issues' ? []
        : ctx.repo.pulls];
    return all.filter((item) => (state === 'all' || item.state === state)
        && Date.parse(item.updated) >= since
        && (!before || Date.parse(item.updated) <= Date.parse(before)))
        .sort((a, b) => b.number - a.number).map((item) => issueOf(ctx.forge, item));
}

function createIssue(ctx) {
    check(ctx, ['title', 'body', 'labels', 'assignees', 'closed', 'milestone'], ['title']);
    const issue = ctx.repo.issue({ ...ctx.body, labels: [], assignees: [], by: ctx.user.login });
    return { status: 201, body: issueOf(ctx.forge, issue) };
}

function editIssue(ctx) {
    check(ctx, ['title', 'body', 'state', 'assignees', 'milestone']);
    const issue = itemIn(ctx);
    if (ctx.body.state) issue.state = ctx.body.state;
    issue.touch();
    return { status: 201, body: issueOf(ctx.forge, issue) };
}

function createComment(ctx) {
    check(ctx, ['body'], ['body']);
    const item = itemIn(ctx);
    return { status: 201, body: commentOf(ctx.forge, item,
        item.comment({ by: ctx.user.login, body: ctx.body.body })) };
}

// Of an issue, of a pull request, or on a line.
function editComment(ctx) {
    check(ctx, ['body'], ['body']);
    const id = Number(ctx.params.comment);
    for (const item of [...ctx.repo.issues, ...ctx.repo.pulls]) {
        const comment = [...item.comments, ...(item.threads ?? []).flatMap(({ comments }) =>
            comments)].find((each) => each.id === id);
        if (!comment) continue;
        if (comment.by !== ctx.user) ctx.refuse(403, 'Forbidden');
        Object.assign(comment, { body: ctx.body.body, updated: ctx.forge.now() });
        return { body: commentOf(ctx.forge, item, comment) };
    }
    return missing(ctx);
}

// Names that are not known are dropped without a word, as Gitea does.
function addLabels(ctx) {
    check(ctx, ['labels'], ['labels']);
    const item = itemIn(ctx);
    for (const name of ctx.body.labels)
        if (ctx.repo.labels.some((each) => each.name === name)) item.label(name, ctx.user.login);
    item.touch();
    return { body: labelsOf(ctx.forge, item) };
}

function createLabel(ctx) {
    check(ctx, ['name', 'color', 'description', 'exclusive', 'is_archived'], ['name', 'color']);
    if (!/^#?[0-9a-fA-F]{6}$/.test(ctx.body.color)) ctx.refuse(422, 'bad color');
    return { status: 201, body: labelOf(ctx.forge, ctx.repo, ctx.repo.label(ctx.body.name)) };
}

// ---- statuses and jobs ----

function putStatus(ctx) {
    check(ctx, ['state', 'context', 'description', 'target_url'], ['state']);
    const { state, context: name, description, target_url: url } = ctx.body;
    if (!['pending', 'success', 'error', 'failure', 'warning', 'skipped'].includes(state))
        ctx.refuse(400, `bad state ${state}`);
    if (!ctx.repo.bare.rev(ctx.params.sha)) missing(ctx);
    return { status: 201, body: statusOf(ctx.forge, ctx.repo.status(ctx.params.sha, { name, state,
        description, url, by: ctx.user })) };
}

function combined(ctx) {
    checkQuery(ctx, []);
    const { sha } = ctx.params;
    return { items: ctx.repo.latestStatuses(sha).map((each) => statusOf(ctx.forge, each)),
        wrap: (statuses, total) => ({ state: 'pending', sha, total_count: total, statuses,
            repository: repoOf(ctx.forge, ctx.repo), commit_url: '', url: '' }) };
}

const jobIn = (ctx) => ctx.repo.jobs.find(({ id }) => id === Number(ctx.params.job))
    ?? missing(ctx);

function rerun(ctx) {
    const job = jobIn(ctx);
    if (job.status !== 'completed') ctx.refuse(409, 'this job is not done');
    Object.assign(job, { status: 'queued', conclusion: null });
    return { status: 201, body: jobOf(ctx.forge, ctx.repo, job) };
}

const R = '/repos/*repo';
const NEW = { gitea: true };
const ROUTES = [
    ['GET', '/user', (ctx) => ({ body: person(ctx.forge, ctx.user) })],
    ['GET', R, (ctx) => ({ body: repoOf(ctx.forge, ctx.repo) })],
    ['GET', `${R}/assignees`, (ctx) => ({ body: Object.keys(ctx.repo.members)
        .filter((login) => ctx.repo.mayWrite({ login }))
        .map((login) => person(ctx.forge, ctx.forge.user(login))) })],
    ['GET', `${R}/branches/:branch`, (ctx) => {
        const sha = ctx.repo.head(ctx.params.branch) ?? missing(ctx);
        return { body: { name: ctx.params.branch, commit: { id: sha }, protected: false,
            required_approvals: 0, enable_status_check: false, status_check_contexts: [],
            user_can_push: true, user_can_merge: true, effective_branch_protection_name: '' } };
    }],
    ['GET', `${R}/pulls`, listPulls],
    ['POST', `${R}/pulls`, createPull],
    ['GET', `${R}/pulls/:index`, (ctx) => ({ body: pullOf(ctx.forge, pullIn(ctx)) })],
    ['PATCH', `${R}/pulls/:index`, editPull],
    ['POST', `${R}/pulls/:index/merge`, mergePull],
    ['POST', `${R}/pulls/:index/requested_reviewers`, requestReview],
    ['GET', `${R}/pulls/:index/reviews`, (ctx) => pullIn(ctx).reviews.map((review) =>
        reviewOf(ctx.forge, pullIn(ctx), review))],
    ['POST', `${R}/pulls/:index/reviews`, createReview, { anyone: true }],
    ['GET', `${R}/pulls/:index/reviews/:review/comments`, (ctx) => {
        const review = reviewIn(ctx, pullIn(ctx));
        return { body: review.comments.map((each) => lineComment(ctx.forge, review, each)) };
    }],
    ['POST', `${R}/pulls/:index/comments/:comment/replies`, replyTo, NEW],
    ['POST', `${R}/pulls/comments/:comment/resolve`, resolve, NEW],
    ['GET', `${R}/issues`, listIssues],
    ['POST', `${R}/issues`, createIssue, { anyone: true }],
    ['PATCH', `${R}/issues/comments/:comment`, editComment, { anyone: true }],
    ['GET', `${R}/issues/:index`, (ctx) => ({ body: issueOf(ctx.forge, itemIn(ctx)) })],
    ['PATCH', `${R}/issues/:index`, editIssue],
    ['GET', `${R}/issues/:index/comments`, (ctx) => ({ body: itemIn(ctx).comments.map((comment) =>
        commentOf(ctx.forge, itemIn(ctx), comment)) })],
    ['POST', `${R}/issues/:index/comments`, createComment, { anyone: true }],
    ['POST', `${R}/issues/:index/labels`, addLabels],
    ['GET', `${R}/issues/:index/dependencies`, (ctx) => itemIn(ctx).blockedBy.map((other) =>
        issueOf(ctx.forge, other))],
    ['GET', `${R}/issues/:index/timeline`, (ctx) => itemIn(ctx).events
        .map(({ id, label, by, at }) => ({ id, type: 'label', body: '1', created_at: at,
            updated_at: at, html_url: '', issue_url: '', user: person(ctx.forge, by),
            label: labelOf(ctx.forge, ctx.repo, label), removed_assignee: false }))],
    ['GET', `${R}/labels`, (ctx) => ctx.repo.labels.map((label) => labelOf(ctx.forge, ctx.repo,
        label))],
    ['POST', `${R}/labels`, createLabel],
    ['GET', `${R}/commits/:sha/status`, combined],
    ['POST', `${R}/statuses/:sha`, putStatus],
    ['GET', `${R}/actions/jobs/:job`, (ctx) => ({ body: jobOf(ctx.forge, ctx.repo, jobIn(ctx)) }),
        NEW],
    ['GET', `${R}/actions/jobs/:job/logs`, (ctx) => ({ raw: jobIn(ctx).log ?? '' }), NEW],
    ['POST', `${R}/actions/runs/:run/jobs/:job/rerun`, rerun, NEW],
];

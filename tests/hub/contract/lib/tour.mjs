// tour.mjs - a walk through everything that the hub offers, by GitHub's own client.
import { generateKeyPairSync, sign } from 'node:crypto';
import { CIS, startHub } from '../../hub.mjs';
import { module } from './packages.mjs';

const WEB = { owner: 'acme', repo: 'billing' };

export async function octokitFor(hub, auth) {
    const { Octokit } = await module('@octokit/rest');
    const quiet = () => {};
    return new Octokit({ auth, baseUrl: hub.apiUrl,
        log: { debug: quiet, info: quiet, warn: quiet, error: quiet } });
}

// A JSON web token of an App.
export function jwt(app, { key = app.privateKey, now = Date.now(), life = 540, back = 60,
    iss = app.id } = {}) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const at = Math.floor(now / 1000);
    const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iat: at - back, exp: at + life,
        iss })}`;
    return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}
export const strangeKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

// Refusals are a part of the tour: their answers are checked as well.
export async function refused(status, promise) {
    const answer = await promise.then(() => null, (error) => error);
    if (answer?.status !== status)
        throw new Error(`expected ${status}, got ${answer?.status ?? 'success'}: ${answer}`);
    return answer;
}

export async function makeTour() {
    const hub = await startHub({ strict: false }); // What is refused is a part of it.
    hub.org('acme', { members: ['ann', 'bot'], teams: { core: ['ann'] } });
    hub.user('mallory');
    const repo = hub.repo('acme/billing', { files: { 'answer.txt': '41\n', 'README.md': 'r\n' },
        collaborators: { bot: 'write', ann: 'admin' },
        ci: CIS.of(({ read }) => (read('answer.txt') === '42' ? null : 'FAIL: 41')) });
    const app = hub.app({ hook: { url: `${hub.url}/sink`, secret: 'app' } });
    const installation = app.install('acme');
    const hook = repo.hook({ url: `${hub.url}/sink`, secret: 's3cret' });
    const bot = await octokitFor(hub, hub.token('bot'));
    const ann = await octokitFor(hub, hub.token('ann'));
    return { hub, repo, app, installation, hook, bot, ann };
}

// CI runs after the request that started it.
export async function untilChecked(repo, sha) {
    for (let i = 0; i < 1000; i++) {
        const runs = repo.checks.latest(sha);
        if (runs.length > 0 && runs.every((run) => run.status === 'completed')) return;
        await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error(`the checks of ${sha} did not end`);
}

export async function walk(tour) {
    await walkRepo(tour);
    await walkIssues(tour);
    await walkPulls(tour);
    await walkChecks(tour);
    await walkApps(tour);
    await walkHooks(tour);
    await tour.hub.settled();
}

async function walkRepo({ hub, repo, bot, ann }) {
    const { rest } = bot;
    await rest.rateLimit.get();
    await rest.users.getAuthenticated();
    await rest.users.getByUsername({ username: 'ann' });
    await rest.repos.get(WEB);
    await refused(404, rest.repos.get({ owner: 'acme', repo: 'none' }));
    await rest.repos.getCollaboratorPermissionLevel({ ...WEB, username: 'ann' });
    await rest.repos.checkCollaborator({ ...WEB, username: 'ann' });
    await rest.teams.getMembershipForUserInOrg({ org: 'acme', team_slug: 'core',
        username: 'ann' });
    await rest.orgs.checkMembershipForUser({ org: 'acme', username: 'ann' });
    repo.protect('release', { checks: ['build'], approvals: 1, strict: true });
    const base = repo.head('main');
    await rest.git.createRef({ ...WEB, ref: 'refs/heads/release', sha: base });
    await refused(422, rest.git.createRef({ ...WEB, ref: 'refs/heads/release', sha: base }));
    await rest.repos.listBranches(WEB);
    await rest.repos.getBranch({ ...WEB, branch: 'release' });
    await refused(404, rest.repos.getBranch({ ...WEB, branch: 'none' }));
    await ann.rest.repos.getStatusChecksProtection({ ...WEB, branch: 'release' });
    await rest.repos.getBranchRules({ ...WEB, branch: 'release' });
    const later = repo.commit('later', { 'b.txt': 'b\n' });
    await rest.git.updateRef({ ...WEB, ref: 'heads/release', sha: later });
    await refused(422, rest.git.updateRef({ ...WEB, ref: 'heads/release', sha: base }));
    await rest.git.getRef({ ...WEB, ref: 'heads/release' });
    await rest.git.listMatchingRefs({ ...WEB, ref: 'heads/' });
    await rest.git.getCommit({ ...WEB, commit_sha: later });
    await rest.repos.listCommits(WEB);
    await rest.repos.getCommit({ ...WEB, ref: 'later' });
    await rest.repos.compareCommitsWithBasehead({ ...WEB, basehead: 'main...later' });
    await rest.repos.getContent({ ...WEB, path: 'answer.txt' });
    await rest.repos.merge({ ...WEB, base: 'release', head: 'main' });
    repo.commit('side', { 'c.txt': 'c\n' });
    await rest.repos.merge({ ...WEB, base: 'release', head: 'side' });
    await rest.git.deleteRef({ ...WEB, ref: 'heads/side' });
    const moved = hub.repo('acme/old', {});
    moved.rename('new');
    await rest.repos.get({ owner: 'acme', repo: 'old' });
}

async function walkIssues({ repo, bot, ann }) {
    const { rest } = bot;
    const { data: issue } = await ann.rest.issues.create({ ...WEB, title: 'Wrong answer',
        body: 'It is 42.', labels: ['bug'] });
    const it = { ...WEB, issue_number: issue.number };
    await refused(422, bot.request('POST /repos/acme/billing/issues'));
    await rest.issues.get(it);
    await refused(404, rest.issues.get({ ...it, issue_number: 999 }));
    await rest.issues.update({ ...it, title: 'The answer is wrong' });
    await rest.issues.addLabels({ ...it, labels: ['drover', 'ready'] });
    await rest.issues.listLabelsOnIssue(it);
    await rest.issues.removeLabel({ ...it, name: 'ready' });
    await rest.issues.setLabels({ ...it, labels: ['drover'] });
    await rest.issues.addAssignees({ ...it, assignees: ['ann'] });
    await rest.issues.removeAssignees({ ...it, assignees: ['ann'] });
    await rest.issues.checkUserCanBeAssigned({ ...WEB, assignee: 'ann' });
    await rest.issues.createLabel({ ...WEB, name: 'risk', color: 'ff0000' });
    await refused(422, rest.issues.createLabel({ ...WEB, name: 'risk' }));
    await rest.issues.getLabel({ ...WEB, name: 'risk' });
    await rest.issues.listLabelsForRepo(WEB);
    const { data: comment } = await rest.issues.createComment({ ...it, body: 'Working on it.' });
    const its = { ...WEB, comment_id: comment.id };
    await rest.issues.updateComment({ ...its, body: 'Done.' });
    await rest.issues.getComment(its);
    await rest.issues.listComments({ ...it, since: '2020-01-01T00:00:00Z' });
    await rest.issues.listCommentsForRepo({ ...WEB, sort: 'updated', direction: 'desc' });
    const { data: gone } = await rest.issues.createComment({ ...it, body: 'Not this.' });
    await rest.issues.deleteComment({ ...WEB, comment_id: gone.id });
    await rest.issues.listEvents(it);
    const other = repo.issue({ title: 'First this', by: 'ann' });
    const path = '/repos/acme/billing/issues/{n}/dependencies/blocked_by';
    await bot.request(`POST ${path}`, { n: issue.number, issue_id: other.id });
    await bot.request(`GET ${path}`, { n: issue.number });
    await bot.request('GET /repos/acme/billing/issues/{n}/dependencies/blocking',
        { n: other.number });
    await bot.request(`DELETE ${path}/{id}`, { n: issue.number, id: other.id });
    await rest.issues.update({ ...it, state: 'closed', state_reason: 'not_planned' });
    await rest.issues.update({ ...it, state: 'open' });
    for (let i = 0; i < 3; i++) repo.issue({ title: `more ${i}`, by: 'ann' });
    await bot.paginate(rest.issues.listForRepo, { ...WEB, state: 'all', sort: 'updated',
        direction: 'asc', per_page: 2, since: '2020-01-01T00:00:00Z' });
    const first = await rest.issues.listForRepo(WEB);
    await refused(304, rest.issues.listForRepo({ ...WEB,
        headers: { 'if-none-match': first.headers.etag } }));
}

async function walkPulls({ repo, bot, ann }) {
    const { rest } = bot;
    repo.commit('drover/one', { 'answer.txt': '42\n' }, { by: 'bot' });
    const { data: pull } = await rest.pulls.create({ ...WEB, head: 'drover/one', base: 'main',
        title: 'Answer', body: 'Closes #1', draft: true });
    const it = { ...WEB, pull_number: pull.number };
    await refused(422, rest.pulls.create({ ...WEB, head: 'drover/one', base: 'main', title: 't' }));
    await rest.pulls.list({ ...WEB, state: 'all', head: 'acme:drover/one' });
    await rest.pulls.get(it);
    await rest.pulls.get(it);
    await rest.pulls.update({ ...it, body: 'Closes #1.' });
    await rest.pulls.listFiles(it);
    await rest.pulls.listCommits(it);
    await rest.pulls.requestReviewers({ ...it, reviewers: ['ann'], team_reviewers: ['core'] });
    await refused(422, rest.pulls.requestReviewers({ ...it, reviewers: ['mallory'] }));
    await rest.pulls.listRequestedReviewers(it);
    await rest.pulls.removeRequestedReviewers({ ...it, reviewers: [], team_reviewers: ['core'] });
    await refused(405, rest.pulls.merge({ ...it, sha: pull.head.sha })); // A draft.
    const { data: review } = await ann.rest.pulls.createReview({ ...it, event: 'REQUEST_CHANGES',
        body: 'Say why.', comments: [{ path: 'answer.txt', line: 1, body: 'Why 42?' }] });
    const { data: [comment] } = await rest.pulls.listReviewComments(it);
    await rest.pulls.createReplyForReviewComment({ ...it, comment_id: comment.id, body: 'So.' });
    await rest.pulls.getReviewComment({ ...WEB, comment_id: comment.id });
    await ann.rest.pulls.updateReviewComment({ ...WEB, comment_id: comment.id, body: 'Why?' });
    await rest.pulls.listReviewCommentsForRepo(WEB);
    await ann.rest.pulls.createReviewComment({ ...it, commit_id: pull.head.sha,
        path: 'answer.txt', line: 1, side: 'RIGHT', body: 'And this?' });
    await rest.pulls.getReview({ ...it, review_id: review.id });
    await ann.rest.pulls.updateReview({ ...it, review_id: review.id, body: 'Say why, please.' });
    await ann.rest.pulls.dismissReview({ ...it, review_id: review.id, message: 'Fine.' });
    const { data: pending } = await ann.rest.pulls.createReview(it);
    await ann.rest.pulls.submitReview({ ...it, review_id: pending.id, event: 'APPROVE' });
    await refused(422, rest.pulls.createReview({ ...it, event: 'APPROVE' })); // Its own.
    await rest.pulls.listReviews(it);
    await walkGraph({ bot, pull, repo });
    repo.commit('main', { 'other.txt': 'o\n' });
    await rest.pulls.updateBranch({ ...it, expected_head_sha: pull.head.sha });
    await refused(409, rest.pulls.merge({ ...it, sha: pull.head.sha })); // Its head has moved.
    await refused(404, rest.pulls.checkIfMerged(it));
    await untilChecked(repo, repo.head('drover/one'));
    const { data: merged } = await rest.pulls.merge({ ...it, sha: repo.head('drover/one'),
        merge_method: 'squash', commit_title: 'Answer' });
    await rest.pulls.checkIfMerged(it);
    await rest.repos.listPullRequestsAssociatedWithCommit({ ...WEB, commit_sha: merged.sha });
    repo.commit('drover/two', { 'two.txt': '2\n' }, { by: 'bot' });
    const { data: two } = await rest.pulls.create({ ...WEB, head: 'drover/two', base: 'main',
        title: 'Two' });
    await rest.pulls.update({ ...WEB, pull_number: two.number, state: 'closed' });
    await rest.pulls.update({ ...WEB, pull_number: two.number, state: 'open' });
}

const VIEW = `query View($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { id databaseId nameWithOwner
    pullRequest(number: $number) { id number state isDraft mergeable mergeStateStatus reviewDecision
      headRefName headRefOid baseRefName baseRefOid author { login __typename }
      autoMergeRequest { enabledAt mergeMethod } isInMergeQueue mergeQueueEntry { position state }
      mergeCommit { oid }
      labels(first: 50) { nodes { name } }
      reviews(first: 50) { nodes { id author { login } authorAssociation state body submittedAt
        commit { oid } } }
      reviewThreads(first: 50) { pageInfo { hasNextPage endCursor } nodes { id isResolved isOutdated
        path line comments(first: 50) { nodes { id databaseId author { login } authorAssociation
          body createdAt } } } }
      commits(last: 1) { nodes { commit { oid statusCheckRollup { state contexts(first: 50) {
        nodes { __typename ... on CheckRun { databaseId name status conclusion detailsUrl startedAt
          completedAt summary isRequired(pullRequestNumber: $number)
          checkSuite { app { slug databaseId } workflowRun { databaseId } } }
        ... on StatusContext { context state description targetUrl createdAt
          isRequired(pullRequestNumber: $number) } } } } } } } } } }`;

async function walkGraph({ bot, pull, repo }) {
    repo.checks.status(pull.head.sha, { state: 'success', context: 'lint', by: 'bot' });
    const { repository } = await bot.graphql(VIEW, { owner: 'acme', name: 'billing',
        number: pull.number });
    const [thread] = repository.pullRequest.reviewThreads.nodes;
    await bot.graphql(`mutation($id: ID!) { markPullRequestReadyForReview(input: {
        pullRequestId: $id}) { pullRequest { isDraft } } }`, { id: pull.node_id });
    await bot.graphql(`mutation($id: ID!, $body: String!) { addPullRequestReviewThreadReply(input: {
        pullRequestReviewThreadId: $id, body: $body}) { comment { id databaseId } } }`,
    { id: thread.id, body: 'Said.' });
    await bot.graphql(`mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) {
        thread { id isResolved } } }`, { id: thread.id });
    await bot.graphql(`mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) {
        thread { id isResolved } } }`, { id: thread.id });
}

async function walkChecks({ repo, bot, installation, hub }) {
    const { rest } = bot;
    const bad = repo.commit('red', { 'answer.txt': '43\n' }, { by: 'bot' });
    await untilChecked(repo, bad);
    await rest.repos.createCommitStatus({ ...WEB, sha: bad, state: 'failure', context: 'lint',
        description: 'no' });
    await refused(422, rest.repos.createCommitStatus({ ...WEB, sha: bad, state: 'bad' }));
    await rest.repos.getCombinedStatusForRef({ ...WEB, ref: bad });
    await rest.repos.listCommitStatusesForRef({ ...WEB, ref: bad });
    const { data: { check_runs: [run] } } = await rest.checks.listForRef({ ...WEB, ref: bad,
        filter: 'latest' });
    await rest.checks.get({ ...WEB, check_run_id: run.id });
    const { data: { check_suites: [suite] } } = await rest.checks.listSuitesForRef({ ...WEB,
        ref: bad });
    await rest.checks.listForSuite({ ...WEB, check_suite_id: suite.id });
    const { data: { workflow_runs: [flow] } } = await rest.actions.listWorkflowRunsForRepo(
        { ...WEB, head_sha: bad });
    await rest.actions.getWorkflowRun({ ...WEB, run_id: flow.id });
    const { data: { jobs: [job] } } = await rest.actions.listJobsForWorkflowRun({ ...WEB,
        run_id: flow.id });
    await rest.actions.getJobForWorkflowRun({ ...WEB, job_id: job.id });
    await rest.actions.downloadJobLogsForWorkflowRun({ ...WEB, job_id: job.id });
    await rest.actions.reRunJobForWorkflowRun({ ...WEB, job_id: job.id });
    await untilChecked(repo, bad);
    await rest.actions.reRunWorkflowFailedJobs({ ...WEB, run_id: flow.id });
    await untilChecked(repo, bad);
    await rest.actions.reRunWorkflow({ ...WEB, run_id: flow.id });
    await untilChecked(repo, bad);
    await refused(403, rest.checks.create({ ...WEB, name: 'drover', head_sha: bad }));
    const { token } = hub.world.installationToken(installation);
    const app = await octokitFor(hub, token);
    const { data: own } = await app.rest.checks.create({ ...WEB, name: 'drover', head_sha: bad,
        status: 'in_progress', external_id: 'run-1' });
    await app.rest.checks.update({ ...WEB, check_run_id: own.id, status: 'completed',
        conclusion: 'success', output: { title: 'Certificate', summary: 'All passed.',
            annotations: [{ path: 'answer.txt', start_line: 1, end_line: 1,
                annotation_level: 'notice', message: 'here' }] } });
    await app.rest.checks.listAnnotations({ ...WEB, check_run_id: own.id });
    await app.rest.checks.rerequestRun({ ...WEB, check_run_id: own.id });
}

async function walkApps({ hub, app, installation }) {
    const asApp = await octokitFor(hub, jwt(app));
    await asApp.rest.apps.getAuthenticated();
    await asApp.rest.apps.listInstallations();
    await asApp.rest.apps.getInstallation({ installation_id: installation.id });
    await asApp.rest.apps.getRepoInstallation(WEB);
    await asApp.rest.apps.getOrgInstallation({ org: 'acme' });
    const { data } = await asApp.rest.apps.createInstallationAccessToken({
        installation_id: installation.id, repositories: ['billing'],
        permissions: { contents: 'read', metadata: 'read' } });
    await refused(422, asApp.rest.apps.createInstallationAccessToken({
        installation_id: installation.id, repositories: ['none'] }));
    const inside = await octokitFor(hub, data.token);
    await inside.rest.apps.listReposAccessibleToInstallation();
    await refused(403, inside.rest.issues.create({ ...WEB, title: 'may not' }));
    await inside.rest.apps.revokeInstallationAccessToken();
    await refused(401, inside.rest.repos.get(WEB));
    await asApp.rest.apps.getWebhookConfigForApp();
    await hub.settled();
    const { data: [last] } = await asApp.rest.apps.listWebhookDeliveries({ per_page: 3 });
    await asApp.rest.apps.getWebhookDelivery({ delivery_id: last.id });
    await asApp.rest.apps.redeliverWebhookDelivery({ delivery_id: last.id });
    for (const bad of [{ key: strangeKey() }, { life: 3600 }, { life: -1, back: 600 },
        { back: -600 }, { iss: 1 }])
        await refused(401, (await octokitFor(hub, jwt(app, bad))).rest.apps.getAuthenticated());
}

async function walkHooks({ hub, ann }) {
    const { rest } = ann;
    const { data: made } = await rest.repos.createWebhook({ ...WEB, events: ['push'],
        config: { url: `${hub.url}/sink/2`, secret: 'x', content_type: 'json' } });
    const it = { ...WEB, hook_id: made.id };
    await refused(422, rest.repos.createWebhook({ ...WEB,
        config: { url: `${hub.url}/sink/2` } }));
    await rest.repos.listWebhooks(WEB);
    await rest.repos.getWebhook(it);
    await rest.repos.updateWebhook({ ...it, events: ['*'] });
    await rest.repos.pingWebhook(it);
    await hub.settled();
    const { data: list } = await rest.repos.listWebhookDeliveries({ ...it, per_page: 1 });
    await rest.repos.getWebhookDelivery({ ...it, delivery_id: list[0].id });
    await rest.repos.redeliverWebhookDelivery({ ...it, delivery_id: list[0].id });
    await hub.settled();
    await rest.repos.deleteWebhook(it);
}

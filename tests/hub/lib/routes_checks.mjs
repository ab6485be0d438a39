// routes_checks.mjs - statuses, check runs and suites, workflow runs and jobs of Actions.
import { R, list, notFound, required } from './routes.mjs';
import { shaOf } from './routes_repo.mjs';
import { Refusal, randomName } from './world.mjs';

const checksSeen = ['checks', 'read'], checksDone = ['checks', 'write'];
const actionsSeen = ['actions', 'read'], actionsDone = ['actions', 'write'];

const wrapped = (name) => (items, total) => ({ total_count: total, [name]: items });
const byId = (items, id) => notFound(items.find((each) => each.id === Number(id)));
const runOf = ({ repo, params }) => byId(repo.checks.runs, params.check_run_id);
const jobOf = ({ repo, params }) => byId(repo.checks.jobs, params.job_id);
const workflowOf = ({ repo, params }) => byId(repo.checks.workflows, params.run_id);

function createStatus({ repo, show, git, actor, params, body }) {
    required(body, 'Status', 'state');
    if (!['error', 'failure', 'pending', 'success'].includes(body.state))
        throw new Refusal(422, 'Validation Failed', { errors: [{ resource: 'Status',
            field: 'state', code: 'custom', message: 'state is not included in the list' }] });
    if (!repo.bare.rev(params.sha)) throw new Refusal(422, `No commit found for SHA: ${
        params.sha}`);
    const status = repo.checks.status(params.sha, { ...body, by: actor.user,
        targetUrl: body.target_url });
    return { status: 201, body: { ...git.status(repo, status), creator: show.user(actor.user) } };
}

// Only Apps have check runs.
function ownApp({ actor }, run) {
    if (actor.kind !== 'installation') throw new Refusal(403,
        'You must authenticate via a GitHub App.');
    if (run && run.app !== actor.app) throw new Refusal(403,
        'Invalid app_id `undefined` - check run can only be modified by the GitHub App that '
        + 'created it.');
    return actor.app;
}

function checkFields(body) {
    if (body.conclusion === undefined && body.status === 'completed')
        throw new Refusal(422, 'Invalid request.\n\nFor \'properties/conclusion\', nil is not a '
            + 'string.');
    if (body.output && (body.output.summary === undefined))
        throw new Refusal(422, 'Invalid request.\n\n"summary" wasn\'t supplied.');
    if ((body.output?.summary?.length ?? 0) > 65_535)
        throw new Refusal(422, 'Invalid request.\n\nOnly 65535 characters are allowed; '
            + `${body.output.summary.length} were supplied.`);
    return body;
}

function createRun(ctx) {
    const app = ownApp(ctx);
    const { repo, git, body } = ctx;
    required(body, 'CheckRun', 'name', 'head_sha');
    if (!repo.bare.rev(body.head_sha)) throw new Refusal(422, 'Validation Failed', { errors: [{
        resource: 'CheckRun', code: 'custom', message: `No commit found for SHA: ${
            body.head_sha}` }] });
    const run = repo.checks.create(checkFields(body), app);
    return { status: 201, body: git.checkRun(repo, run) };
}

function updateRun(ctx) {
    const run = runOf(ctx);
    ownApp(ctx, run);
    ctx.repo.checks.update(run, checkFields(ctx.body));
    return { body: ctx.git.checkRun(ctx.repo, run) };
}

function listRuns({ repo, git, params, query }) {
    const sha = shaOf(repo, params.ref);
    const all = query.get('filter') === 'all' ? repo.checks.runs.filter((run) => run.sha === sha)
        : repo.checks.latest(sha);
    const app = query.get('app_id');
    return list(all.filter((run) => (!query.has('check_name') || run.name
        === query.get('check_name')) && (!query.has('status') || run.status
        === query.get('status')) && (!app || run.app.id === Number(app))),
    (run) => git.checkRun(repo, run), { wrap: wrapped('check_runs') });
}

function rerequest(ctx) {
    const run = runOf(ctx);
    if (run.job) {
        ctx.repo.ci.rerun(run.job.run, [run.job]);
        return { status: 201, body: {} };
    }
    ctx.repo.emit('check_run', 'rerequested', { check: run }, ctx.actor.user);
    return { status: 201, body: {} };
}

function combined({ repo, show, git, params }) {
    const sha = shaOf(repo, params.ref);
    const all = repo.checks.statusesOf(sha);
    return list(all, (status) => git.status(repo, status), { wrap: (statuses, total) => ({
        state: repo.checks.combined(sha), statuses, sha, total_count: total,
        repository: show.minimal(repo), commit_url: git.commitUrl(repo, sha),
        url: `${git.commitUrl(repo, sha)}/status` }) });
}

// ---- Actions ----

// A log stands at an address of its own, for a short time and without a token.
function redirectToLog({ hub }, text) {
    const path = `/logs/${randomName()}`;
    hub.logs.set(path, text);
    return { status: 302, headers: { location: `${hub.logUrl}${path}` } };
}

const mayRerun = (run) => {
    if (run.status !== 'completed') throw new Refusal(403,
        'This workflow run cannot be rerun: it is already running');
};

function listWorkflows({ repo, git, query }) {
    const is = (name, value) => !query.has(name) || query.get(name) === value;
    return list(repo.checks.workflows.filter((run) => is('head_sha', run.sha)
        && is('branch', run.branch) && is('event', run.event)
        && (is('status', run.status) || is('status', run.conclusion))).reverse(),
    (run) => git.workflowRun(repo, run), { wrap: wrapped('workflow_runs') });
}

export const checkRoutes = [
    ['POST', `${R}/statuses/{sha}`, ['statuses', 'write'], createStatus],
    ['GET', `${R}/commits/{+ref}/statuses`, ['statuses', 'read'], ({ repo, show, git, params }) => {
        const sha = shaOf(repo, params.ref);
        return list(repo.checks.statuses.filter((each) => each.sha === sha), (each) => ({
            ...git.status(repo, each), creator: show.user(each.creator) }));
    }],
    ['GET', `${R}/commits/{+ref}/status`, ['statuses', 'read'], combined],
    ['GET', `${R}/commits/{+ref}/check-runs`, checksSeen, listRuns],
    ['GET', `${R}/commits/{+ref}/check-suites`, checksSeen, ({ repo, git, params }) => {
        const sha = shaOf(repo, params.ref);
        return list(repo.checks.suites.filter((suite) => suite.sha === sha), (suite) =>
            git.checkSuite(repo, suite), { wrap: wrapped('check_suites') });
    }],
    ['POST', `${R}/check-runs`, checksDone, createRun],
    ['GET', `${R}/check-runs/{check_run_id}`, checksSeen, (ctx) => ({
        body: ctx.git.checkRun(ctx.repo, runOf(ctx)) })],
    ['PATCH', `${R}/check-runs/{check_run_id}`, checksDone, updateRun],
    ['GET', `${R}/check-runs/{check_run_id}/annotations`, checksSeen, (ctx) => {
        const run = runOf(ctx);
        return list(run.output.annotations, (each) => ({ start_column: null, end_column: null,
            title: null, raw_details: null, ...each,
            blob_href: `${ctx.show.web(ctx.repo)}/blob/${run.sha}/${each.path}` }));
    }],
    ['POST', `${R}/check-runs/{check_run_id}/rerequest`, checksDone, rerequest],
    ['GET', `${R}/check-suites/{check_suite_id}/check-runs`, checksSeen,
        ({ repo, git, params }) => {
            const suite = byId(repo.checks.suites, params.check_suite_id);
            return list(repo.checks.latest(suite.sha).filter((run) => run.suite === suite),
                (run) => git.checkRun(repo, run), { wrap: wrapped('check_runs') });
        }],
    ['GET', `${R}/actions/runs`, actionsSeen, listWorkflows],
    ['GET', `${R}/actions/runs/{run_id}`, actionsSeen, (ctx) => ({
        body: ctx.git.workflowRun(ctx.repo, workflowOf(ctx)) })],
    ['GET', `${R}/actions/runs/{run_id}/jobs`, actionsSeen, (ctx) => {
        const run = workflowOf(ctx);
        const all = ctx.query.get('filter') === 'all'
            ? ctx.repo.checks.jobs.filter((job) => job.run === run) : ctx.repo.checks.jobsOf(run);
        return list(all, (job) => ctx.git.job(ctx.repo, job), { wrap: wrapped('jobs') });
    }],
    ['POST', `${R}/actions/runs/{run_id}/rerun`, actionsDone, (ctx) => {
        mayRerun(workflowOf(ctx));
        ctx.repo.ci.rerun(workflowOf(ctx));
        return { status: 201, body: {} };
    }],
    ['POST', `${R}/actions/runs/{run_id}/rerun-failed-jobs`, actionsDone, (ctx) => {
        const run = workflowOf(ctx);
        mayRerun(run);
        ctx.repo.ci.rerun(run, ctx.repo.checks.jobsOf(run).filter(({ check }) => !check.passed));
        return { status: 201, body: {} };
    }],
    ['GET', `${R}/actions/jobs/{job_id}`, actionsSeen, (ctx) => ({
        body: ctx.git.job(ctx.repo, jobOf(ctx)) })],
    ['GET', `${R}/actions/jobs/{job_id}/logs`, actionsSeen, (ctx) => {
        const job = jobOf(ctx);
        if (job.check.status !== 'completed' || job.log === null)
            throw new Refusal(404, 'Not Found');
        return redirectToLog(ctx, job.log);
    }],
    ['POST', `${R}/actions/jobs/{job_id}/rerun`, actionsDone, (ctx) => {
        const job = jobOf(ctx);
        mayRerun(job.run);
        ctx.repo.ci.rerun(job.run, [job]);
        return { status: 201, body: {} };
    }],
];

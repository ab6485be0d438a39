// hosted.test.mjs - a task becomes a pull request at a GitHub (tests/hub): one branch, one pull
// request, whatever the forge answers; with keys that stay with the server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { onboard, startWithHub } from './lib/github.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { until } from './lib/wait.mjs';

const AUTONOMOUS = { executionMode: 'autonomous_pr', riskLevel: 'low' };

function withHub(name, options, body) {
    it(name, async () => {
        const stage = await startWithHub(options);
        try {
            await body(stage);
        } finally {
            await stage.stop();
        }
    });
}

const done = async ({ server }, name, more = AUTONOMOUS) => {
    const ids = await server.submit(name, more);
    await server.untilTask(ids.taskId, 'completed');
    return { ...ids, prs: await server.pullRequests(name) };
};

const drovers = (repo) => repo.branches().map(({ name }) => name)
    .filter((name) => name.startsWith('drover/'));

const jobOf = async (server, runId, type) =>
    (await server.list(`/v1/jobs?runId=${runId}&type=${type}`))[0];

describe('a pull request at a forge', { concurrency: 2 }, () => {
    withHub('is a draft, has its certificate, and is made ready', {}, async (stage) => {
        const { server, hub } = stage;
        hub.user('ann');
        const { repo } = await onboard(stage, 'acme/whole', fixes,
            { hook: false, pullRequest: { labels: ['drover'], reviewers: ['ann'] } });
        const { runId, taskId, prs } = await done(stage, 'acme/whole',
            { ...AUTONOMOUS, description: 'Make the answer 42\n\nIt is 41.' });
        assert.equal(repo.pulls.length, 1);
        const [pull] = repo.pulls;
        const { branch } = await server.run(runId);
        assert.equal(pull.headRef, branch);
        assert.equal(repo.file(branch, 'answer.txt').trim(), '42');
        assert.equal(pull.headSha, prs[0].headCommit);
        assert.equal(prs[0].number, pull.number);
        assert.equal(pull.draft, false);
        assert.deepEqual(pull.labels.map((label) => label.name ?? label), ['drover']);
        for (const said of [`Drover-Run: ${runId}`, 'What changed', '`answer.txt`', 'Why',
            'It is 41.',
            'How it was verified', 'sh test.sh', 'What it cost', `drover task retry ${taskId}`])
            assert.ok(pull.body.includes(said), `${said} is not in\n${pull.body}`);
        const creations = hub.calls('POST', /\/pulls$/);
        assert.equal(creations.length, 1);
        assert.equal(JSON.parse(creations[0].text).draft, true);
        const log = repo.bare.run(['log', '-1', '--format=%B', branch]).toString();
        assert.match(log, new RegExp(`Drover-Run: ${runId}`));
    });

    withHub('stays a draft where a person is to look at it', {}, async (stage) => {
        const { repo } = await onboard(stage, 'acme/draft', fixes,
            { hook: false, pullRequest: { draft: true } });
        await done(stage, 'acme/draft');
        assert.equal(repo.pulls[0].draft, true);
    });

    withHub('is approved by the second identity', {}, async (stage) => {
        const { hub } = stage;
        const { server } = stage;
        server.env.REVIEWER_TOKEN = hub.token('rob');
        await server.stop();
        await server.startAgain();
        const { repo } = await onboard(stage, 'acme/two', fixes,
            { hook: false, credentials: { forge: 'HUB_TOKEN', reviewer: 'REVIEWER_TOKEN' } });
        await done(stage, 'acme/two');
        const [pull] = repo.pulls;
        assert.deepEqual(pull.reviews.map((review) => review.state), ['APPROVED']);
    });

    for (const fault of [{ reset: true }, { half: true }, { status: 502 }, { status: 504 }]) {
        withHub(`is found when the answer to its creation is ${JSON.stringify(fault)}`, {},
            async (stage) => {
                const { repo } = await onboard(stage, 'acme/lost', fixes, { hook: false });
                stage.hub.fail({ method: 'POST', path: /\/pulls$/, when: 'after', ...fault });
                const { prs } = await done(stage, 'acme/lost');
                assert.equal(repo.pulls.length, 1);
                assert.equal(prs.length, 1);
            });
    }

    withHub('is taken when a person has opened it', {}, async (stage) => {
        const { hub, server } = stage;
        const { repo } = await onboard(stage, 'acme/hand', fixes, { hook: false });
        let opened = null;
        // Between the push and the creation.
        hub.fail({ method: 'POST', path: /\/pulls$/, wait: async () => {
            const [head] = drovers(repo);
            opened ??= repo.openPull({ head, base: 'main', title: 'Mine', body: 'first',
                by: 'ann' });
        } });
        const { prs } = await done(stage, 'acme/hand');
        assert.equal(repo.pulls.length, 1);
        assert.equal(prs[0].number, repo.pulls[0].number);
        assert.equal(repo.pulls[0].body, 'first');
        assert.equal((await server.get('/v1/doctor')).healthy, true);
    });

    withHub('is opened in a repository that was renamed', {}, async (stage) => {
        const { repo } = await onboard(stage, 'acme/old', fixes, { hook: false });
        repo.rename('new');
        const { prs } = await done(stage, 'acme/old');
        assert.equal(repo.pulls.length, 1);
        assert.equal(prs[0].number, repo.pulls[0].number);
    });

    withHub('is withdrawn with its branch when its run fails after all', {}, async (stage) => {
        const { hub, server } = stage;
        const { repo } = await onboard(stage, 'acme/gone', fixes, { hook: false });
        hub.fail({ method: 'POST', path: /\/pulls$/, when: 'after', times: 9, status: 403 });
        const ids = await server.submit('acme/gone', AUTONOMOUS);
        await server.untilTask(ids.taskId, 'failed');
        assert.equal(repo.pulls.length, 1);
        await until('the publish to be undone', async (note) =>
            note(await server.list(`/v1/sagas?runId=${ids.runId}`))
                .some((saga) => saga.status === 'compensated'));
        assert.deepEqual(drovers(repo), []);
        assert.equal(repo.pulls[0].state, 'closed');
    });
});

describe('the rate limit of a forge', { concurrency: 2 }, () => {
    withHub('is waited for: nothing fails, the reserve stays, the job says why', {},
        async (stage) => {
            const { hub, server } = stage;
            const { repo } = await onboard(stage, 'acme/limit', fixes, { hook: false });
            await done(stage, 'acme/limit'); // The limit is known.
            hub.setLimit('drover-bot', { resource: 'core', limit: 5000, remaining: 60,
                resetInMs: 20_000 });
            await done(stage, 'acme/limit'); // With a block that was granted before.
            const ids = await server.submit('acme/limit', AUTONOMOUS);
            const waits = await until('a job to wait', async (note) => {
                const job = note(await jobOf(server, ids.runId, 'publish'));
                return job?.state === 'scheduled' && job;
            });
            assert.equal(waits.attempt ?? 0, 0);
            assert.match(JSON.stringify(waits), /forge_limit/);
            assert.match(JSON.stringify(waits), /kept for people/);
            const { limits } = await server.get('/v1/forge-limits');
            const core = limits.find(({ resource }) => resource === 'core');
            assert.equal(core.limit, 5000);
            assert.ok(core.remaining > 0, JSON.stringify(core));
            await server.untilTask(ids.taskId, 'completed');
            assert.equal(repo.pulls.length, 3);
            const metrics = await fetch(`${server.url}/metrics`,
                { headers: { authorization: `Bearer ${server.token}` } });
            assert.match(await metrics.text(), /drover_forge_calls_remaining\{host="127/);
        });

    withHub('of the second kind stops calls for as long as it asks', {}, async (stage) => {
        const { repo } = await onboard(stage, 'acme/second', fixes, { hook: false });
        const fault = stage.hub.fail({ method: 'POST', path: /\/pulls$/,
            secondary: { retryAfter: 2, status: 403 } });
        const ids = await stage.server.submit('acme/second', AUTONOMOUS);
        await until('it to be put off', async (note) =>
            /forge_limit/.test(note(JSON.stringify(
                await jobOf(stage.server, ids.runId, 'publish') ?? {}))));
        assert.equal(fault.hits, 1);
        const { limits } = await stage.server.get('/v1/forge-limits');
        assert.ok(limits.some(({ blockedUntil }) => blockedUntil), JSON.stringify(limits));
        assert.equal(repo.pulls.length, 0);
        await stage.server.cancel(ids.taskId);
    });
});

describe('keys', { concurrency: 2 }, () => {
    withHub('stay with the server: a worker elsewhere has none', { config: 'workers: 0\n' },
        async (stage) => {
            const { server, token } = stage;
            const { repo } = await onboard(stage, 'acme/far', fixes, { hook: false });
            const worker = await new RemoteWorker(server, { name: 'far' }).start();
            try {
                await done(stage, 'acme/far');
                assert.equal(repo.pulls.length, 1);
                assert.ok(!worker.said().includes(token));
            } finally {
                await worker.stop();
            }
        });

    withHub('of an App become tokens for one repository', {}, async (stage) => {
        const { hub, server } = stage;
        const app = hub.app({ slug: 'drover', permissions: { contents: 'write',
            pull_requests: 'write', checks: 'write', issues: 'write', metadata: 'read' } });
        const keyFile = join(server.dir, 'app.pem');
        writeFileSync(keyFile, app.privateKey, { mode: 0o600 });
        const { repo } = await onboard(stage, 'acme/app', fixes,
            { hook: false, credentials: { app: { id: app.id, keyFile } } });
        app.install('acme', ['acme/app']);
        await done(stage, 'acme/app');
        assert.equal(repo.pulls.length, 1);
        const checks = repo.checks.latest(repo.pulls[0].headSha)
            .filter(({ name }) => name === 'drover');
        assert.deepEqual(checks.map(({ conclusion }) => conclusion), ['success']);
        const pushes = hub.requests.filter(({ kind, path }) =>
            kind === 'git' && /receive-pack/.test(path));
        assert.ok(pushes.length > 0);
        // Tokens that are revoked before they end: of git, and between a push and the creation.
        const revokeAll = () => {
            for (const [text, { kind }] of hub.world.tokens)
                if (kind === 'installation') hub.world.revoke(text);
        };
        const made = () => hub.calls('POST', /\/access_tokens$/).length;
        const first = made();
        revokeAll();
        await done(stage, 'acme/app');
        const second = made();
        assert.ok(second > first, `${second} tokens were made, ${first} before`);
        let refused = 0;
        hub.fail({ method: 'POST', path: /\/pulls$/, wait: async () => {
            if (refused++ === 0) revokeAll();
        } });
        await done(stage, 'acme/app');
        assert.equal(refused, 1);
        assert.ok(made() > second, `${made()} tokens were made, ${second} before`);
        assert.equal(repo.pulls.length, 3);
    });

    const AGENT = `git ls-remote "$REPO_URL" refs/heads/main > ls.txt 2> ls.err
git ls-remote "$OTHER_URL" > other.txt 2>&1 && echo reached >> other.txt
`;
    withHub('are no business of agents: their git may read one repository', {}, async (stage) => {
        const { hub, server } = stage;
        server.env.AGENT_TOKEN = hub.token('reader', { permissions: { contents: 'read' },
            repos: ['acme/agent'] });
        await server.stop();
        await server.startAgain();
        const other = hub.repo('acme/other', { files: { a: 'b\n' } });
        const repo = hub.repo('acme/agent', { files: { 'answer.txt': '41\n',
            'test.sh': 'grep -qx 42 answer.txt\n' },
            collaborators: { reader: 'read', 'drover-bot': 'write' } });
        const agent = AGENT + fixes;
        await onboard(stage, 'acme/agent', agent, { hook: false,
            credentials: { forge: 'HUB_TOKEN', agent: 'AGENT_TOKEN' },
            agent: { command: ['/bin/sh', '-c', agent], adapter: 'ndjson', network: true,
                env: [`REPO_URL=${hub.gitUrl(repo)}`, `OTHER_URL=${hub.gitUrl(other)}`] } });
        const { runId } = await done(stage, 'acme/agent');
        const { branch } = await server.run(runId);
        assert.match(repo.file(branch, 'ls.txt'), /^[0-9a-f]{40}\trefs\/heads\/main/,
            repo.file(branch, 'ls.err'));
        assert.doesNotMatch(repo.file(branch, 'other.txt'), /reached/);
        const body = { protocol: 'http', host: new URL(hub.url).host, path: 'acme/agent.git' };
        const late = await server.call('POST', `/v1/runs/${runId}/credential`, { body });
        assert.equal(late.status, 409); // The run has ended.
    });
});

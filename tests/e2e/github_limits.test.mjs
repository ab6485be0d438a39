// github_limits.test.mjs - GitHub refuses, fails, hangs up and counts: nothing is done twice,
// nothing is lost, and people keep their share of the quota.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { BOT, onboard, startWithHub } from './lib/github.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { until } from './lib/wait.mjs';

const QUIET = { hook: false };

// What there must be of a task: one branch, one pull request at its head, and drover's own check.
function assertOnce(repo) {
    const branches = repo.branches().filter(({ name }) => name.startsWith('drover/'));
    assert.deepEqual(branches.length, 1, JSON.stringify(branches));
    assert.equal(repo.pulls.length, 1);
    const [pull] = repo.pulls;
    assert.equal(pull.headSha, branches[0].sha);
    assert.equal(pull.baseRef, 'main');
    assert.equal(repo.file(pull.headSha, 'answer.txt'), '42');
    const own = [...repo.checks.statusesOf(pull.headSha), ...repo.checks.latest(pull.headSha)];
    assert.equal(own.length, 1, JSON.stringify(own));
    assert.equal(pull.comments.length, new Set(pull.comments.map(({ body }) => body)).size);
}

const PULLS = '/pulls$', CHECK = '/(statuses|check-runs)(/|$)', ANY = '(/|$)';
const PUSH = '/git-receive-pack$';
// What goes wrong, and for which request of a publication.
const FAULTS = {
    'a 502 in place of the pull request': { method: 'POST', at: PULLS, status: 502 },
    'a 502 after the pull request was opened': { method: 'POST', at: PULLS, status: 502,
        when: 'after' },
    'a 504 at the search for it': { method: 'GET', at: PULLS, status: 504, times: 2 },
    'half of an answer about it': { method: 'POST', at: PULLS, half: true, when: 'after' },
    'half of a list': { method: 'GET', at: PULLS, half: true, when: 'after', times: 2 },
    'a connection that is closed before it': { method: 'POST', at: PULLS, reset: true },
    'a connection that is closed after it': { method: 'POST', at: PULLS, reset: true,
        when: 'after' },
    'the secondary limit, with a time': { method: 'POST', at: PULLS,
        secondary: { retryAfter: 1 }, times: 2 },
    'the secondary limit as 429': { method: 'GET', at: ANY,
        secondary: { retryAfter: 1, status: 429 } },
    'a page of HTML with 200': { method: 'GET', at: PULLS, status: 200 },
    'a check that is put and not confirmed': { method: 'POST', at: CHECK, reset: true,
        when: 'after' },
    'a 500 for a check': { method: 'POST', at: CHECK, status: 500 },
    'a push that is done and not confirmed': { git: true, method: 'POST',
        at: PUSH, reset: true, when: 'after' },
    'a push that breaks': { git: true, method: 'POST', at: PUSH, status: 502 },
    'refs that cannot be read': { git: true, method: 'GET', at: '/info/refs$', status: 503,
        times: 2 },
};

describe('a publication over a broken line', { concurrency: 4 }, () => {
    let all, count = 0;
    before(async () => {
        all = await startWithHub({ args: ['--workers', '4'] });
    });
    after(() => all.stop());

    for (const [what, { at, ...rule }] of Object.entries(FAULTS))
        it(`survives ${what}`, async () => {
            const name = `acme/broken-${++count}`;
            const { repo } = await onboard(all, name, fixes, QUIET);
            const path = new RegExp(`^${rule.git ? `/${name}.git` : `/repos/${name}`}${at}`);
            const fault = all.hub.fail({ ...rule, path });
            await all.server.finish(name, 'completed');
            assert.ok(fault.hits > 0, 'nothing went wrong');
            assertOnce(repo);
        });

    it('survives a GitHub that does not answer, and a worker that gives up waiting', async () => {
        const { repo, name } = await onboard(all, 'acme/hangs', fixes, QUIET);
        const fault = all.hub.fail({ method: 'POST', path: '/repos/acme/hangs/pulls', hang: true,
            when: 'after' });
        await all.server.finish(name, 'completed');
        assert.equal(fault.hits, 1);
        assertOnce(repo);
    });
});

// The quota of the bot that is left in the window, by the hub's own count.
function leftOf(hub, resource = 'core') {
    const bucket = hub.world.bucket({ bucket: `user:${hub.user(BOT).id}` }, resource);
    return bucket.limit - bucket.used;
}

describe('a quota that is nearly spent', () => {
    const LIMIT = 30, LEFT = 25, RESERVE = 10, TASKS = 8; // Which would take about 30 calls.

    it('keeps the reserve of people, says what waits, and finishes in the next window', () =>
        withRoom(20_000, async (windowMs) => {
            const all = await startWithHub({ args: ['--workers', '4'] });
            const { hub, server } = all;
            try {
                const names = [];
                for (let i = 0; i < TASKS; i++) {
                    const { name } = await onboard(all, `acme/many-${i}`, fixes, QUIET);
                    names.push(name);
                }
                hub.setLimit(BOT, { limit: LIMIT, remaining: LEFT, resetInMs: windowMs,
                    next: 5000 });
                const begun = Date.now();
                const tasks = await Promise.all(names.map((name) => server.submit(name)));
                const waits = await until('a job that waits for the quota', async (note) => {
                    const jobs = await server.list('/v1/jobs?queue=drover.publish');
                    const found = jobs.filter((job) => /forge_limit/.test(JSON.stringify(job)));
                    if (found.length === 0 && Date.now() > begun + windowMs) throw new TooSlow();
                    note({ left: leftOf(hub), states: jobs.map(({ state }) => state).join() });
                    return found[0];
                });
                assert.match(JSON.stringify(waits), /people|reserve|limit/);
                for (const { taskId } of tasks) await server.untilTask(taskId, 'completed');
                for (const name of names) assertOnce(hub.repo(name));
                const refused = hub.requests.filter(({ kind, status }) => kind === 'api'
                    && status === 403);
                assert.deepEqual(refused, [], 'a call was made without quota');
                const first = hub.requests.filter(({ kind, at, cost }) => kind === 'api' && cost
                    && at >= begun && at < begun + windowMs - 1000);
                assert.ok(first.length <= LEFT - RESERVE,
                    `${first.length} calls were made of ${LEFT}, of which people have ${RESERVE}`);
            } finally {
                await all.stop();
            }
        }));

    it('lets the shepherds of open pull requests wait, and look again later', () =>
        withRoom(20_000, async (windowMs) => {
            const all = await startWithHub({ args: ['--workers', '4'] });
            const { hub, server } = all;
            const opened = async () => (await server.list('/v1/pull-requests'))
                .filter(({ status }) => status === 'open');
            const looks = async () => Promise.all((await opened()).map(async ({ id }) =>
                (await server.get(`/v1/pull-requests/${id}`)).shepherd?.lookedAt ?? ''));
            try {
                const names = [];
                for (let i = 0; i < TASKS; i++) {
                    const { name } = await onboard(all, `acme/open-${i}`, fixes,
                        { ...QUIET, shepherd: { pollMs: 1000 } });
                    names.push(name);
                }
                const begun = Date.now();
                hub.setLimit(BOT, { resource: 'graphql', limit: LIMIT, remaining: LEFT,
                    resetInMs: windowMs, next: 5000 });
                const tasks = await Promise.all(names.map((name) => server.submit(name)));
                await until('a look that waits for the quota', async (note) => {
                    const jobs = await server.list('/v1/jobs?queue=drover.observe');
                    const found = jobs.filter((job) => /forge_limit/.test(JSON.stringify(job)));
                    if (found.length === 0 && Date.now() > begun + windowMs) throw new TooSlow();
                    note({ left: leftOf(hub, 'graphql'), count: jobs.length });
                    return found[0];
                });
                for (const { taskId } of tasks) await server.untilTask(taskId, 'completed');
                assert.equal((await opened()).length, TASKS);
                const then = new Date(begun + windowMs).toISOString();
                await until('all to be looked at in the next window', async (note) =>
                    note(await looks()).every((at) => at > then));
                assert.deepEqual(hub.requests.filter(({ status }) => status === 403), []);
                const spent = hub.requests.filter(({ path, at }) => path === '/graphql'
                    && at >= begun && at < begun + windowMs - 1000);
                assert.ok(spent.length <= LEFT - RESERVE,
                    `${spent.length} calls were made of ${LEFT}, of which people have ${RESERVE}`);
                for (const name of names) assertOnce(hub.repo(name));
            } finally {
                await all.stop();
            }
        }));
});

// strays.test.mjs - branches and pull requests at an origin that the database does not know: the
// doctor names them, the reconciler has taken back what is drover's own, and leaves the rest.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { branches, fixes, git, openPull, pushBranch, refs } from './lib/git.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const UNKNOWN = '01a1e849-a47b-742d-b195-e4051f4be56b';

let server;
const look = async () => {
    const { healthy, checks, strays } = await server.get('/v1/doctor');
    const check = checks.find(({ name }) => name === 'strays');
    assert.equal(check.bad, strays.length);
    assert.equal(check.ok, strays.length === 0);
    assert.equal(healthy, checks.every(({ ok }) => ok));
    return strays;
};
const restart = async () => {
    await server.stop();
    await server.startAgain();
};
const plant = (origin, ref, commit = 'main') => git(origin, 'update-ref', ref, commit);
const uproot = (origin, ref) => git(origin, 'update-ref', '-d', ref);

// The commit that the publish step would have made for the run.
function commitOf(origin, { taskId, runId }, committer = 'drover') {
    const env = { ...process.env, GIT_AUTHOR_NAME: 'drover', GIT_AUTHOR_EMAIL: 'drover@localhost',
        GIT_COMMITTER_NAME: committer, GIT_COMMITTER_EMAIL: `${committer}@localhost` };
    const message = `Work\n\nDrover-Task: ${taskId}\nDrover-Run: ${runId}\n`;
    return execFileSync('git', ['-C', origin, 'commit-tree', 'main^{tree}', '-p', 'main'],
        { input: message, env, encoding: 'utf8' }).trim();
}

// A run that was cancelled while its worker published, and was taken back.
async function cancelledRun(name) {
    const repo = await server.repository(name, fixes, { retries: { prRetries: 0 } });
    plant(repo.origin, 'refs/pull'); // Nothing can be made below it.
    const ids = await server.submit(repo.name);
    await server.untilTask(ids.taskId, 'failed');
    await until('the publish to be undone', async () =>
        (await server.list(`/v1/sagas?runId=${ids.runId}`))
            .some(({ status }) => status === 'compensated'));
    uproot(repo.origin, 'refs/pull');
    const { branch } = await server.run(ids.runId);
    return { ...repo, ...ids, branch };
}

describe('what an origin has and the database does not know', () => {
    before(async () => {
        server = await start({ args: ['--workers', '2'] });
    });
    after(() => server.discard());

    it('is nothing after work that went well, merged, closed or left open', async () => {
        const { name, origin } = await server.repository('acme/well', fixes);
        for (const verb of ['close', null, 'merge']) {
            const { runId } = await server.finish(name, 'completed');
            const pull = (await server.pullRequests(name)).find((pr) => pr.runId === runId);
            if (verb) await server.post(`/v1/pull-requests/${pull.id}/${verb}`);
        }
        assert.equal(branches(origin).length, 3);
        assert.deepEqual(await look(), []);
    });

    it('is named, and left alone, when it is of no run that is known', async () => {
        const { name, origin } = await server.repository('acme/unknown', fixes);
        const planted = [`refs/heads/drover/${UNKNOWN}/1-old`, 'refs/heads/drover/mine',
            `refs/drover/pulls/${UNKNOWN}/7`, 'refs/pull/8/head'].sort();
        for (const ref of planted.slice(0, 3)) plant(origin, ref);
        plant(origin, 'refs/pull/7/head');
        plant(origin, 'refs/pull/8/head', commitOf(origin, { taskId: UNKNOWN, runId: UNKNOWN }));
        openPull(origin, 9, 'main'); // Of somebody else: nothing connects it with drover.
        const strays = await look();
        assert.deepEqual(strays.map(({ ref }) => ref).sort(), planted);
        for (const stray of strays) {
            assert.deepEqual([stray.repository, stray.stale, stray.runId], [name, false, null]);
            assert.match(stray.what, /no run of this database[^]*delete it/);
        }
        const { status, stdout } = spawnSync(BIN, ['doctor', '--data', server.data],
            { encoding: 'utf8', env: plainEnv() });
        assert.equal(status, 1);
        for (const ref of planted) assert.ok(stdout.includes(ref), stdout);
        const before_ = refs(origin);
        await restart();
        await server.untilSaid(/an origin has what the database does not know/);
        assert.deepEqual(refs(origin), before_);
        for (const ref of [...planted, 'refs/pull/7/head']) uproot(origin, ref);
        assert.deepEqual(await look(), []);
    });

    it('is taken back when a run that has ended left it', async () => {
        const run = await cancelledRun('acme/stale');
        assert.deepEqual(await look(), []);
        const commit = commitOf(run.origin, run);
        plant(run.origin, `refs/heads/${run.branch}`, commit);
        plant(run.origin, `refs/drover/pulls/${run.runId}/1`, commit);
        plant(run.origin, 'refs/pull/1/head', commit);
        const strays = await look();
        assert.equal(strays.length, 2);
        for (const stray of strays)
            assert.deepEqual([stray.runId, stray.stale, stray.head], [run.runId, true, commit]);
        await restart();
        await server.untilSaid(/an origin shows work of a run that has ended: it is taken back/);
        await until('the strays to be gone', async () => (await look()).length === 0);
        await until('its saga to be over', async () =>
            (await server.list(`/v1/sagas?runId=${run.runId}`))
                .every(({ status }) => status === 'compensated'));
        assert.deepEqual(branches(run.origin), []);
        assert.deepEqual(Object.keys(refs(run.origin)).filter((ref) => /pull/.test(ref)), []);
        assert.equal(git(run.origin, 'rev-parse', 'refs/drover/closed/1'), commit);
        assert.equal((await server.list(`/v1/sagas?runId=${run.runId}`)).length, 2);
    });

    it('is kept when somebody else has worked on it', async () => {
        const run = await cancelledRun('acme/theirs');
        const base = git(run.origin, 'rev-parse', 'main');
        const commit = pushBranch(run.origin, { branch: run.branch, base });
        assert.deepEqual(await look(), []);
        await restart();
        assert.equal(git(run.origin, 'rev-parse', run.branch), commit);
    });

    it('is kept when somebody has amended it, which keeps the last lines', async () => {
        const run = await cancelledRun('acme/amended');
        const commit = commitOf(run.origin, run, 'person');
        plant(run.origin, `refs/heads/${run.branch}`, commit);
        assert.deepEqual(await look(), []);
        await restart();
        assert.equal(git(run.origin, 'rev-parse', run.branch), commit);
    });

    it('is not asked of an origin that is away', async () => {
        const { name, origin } = await server.repository('acme/away', fixes);
        await server.configure(name, { ...(await server.get(
            `/v1/repositories/${encodeURIComponent(name)}`)).config, url: `${origin}.gone` });
        const { healthy, originsAway } = await server.get('/v1/doctor');
        assert.deepEqual([healthy, originsAway], [true, { count: 1, first: name }]);
    });
});

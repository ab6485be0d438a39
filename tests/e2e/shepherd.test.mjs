// shepherd.test.mjs - pull requests are followed until they are merged, on the local forge: what it
// has not (checks, reviews), the tests against servers have.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { commitTo, fixes, git, openPull, pushBranch } from './lib/git.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;

const drover = (...args) => launch(args,
    { DROVER_URL: server.url, DROVER_TOKEN: server.token }).ended;

const SHEPHERD = { merge: 'auto', pollMs: 200, settleMs: 1 };
const OFF = { use: 'off' };

// In a repair the agent finds its pull request in the prompt, and the conflict in its tree.
const mends = `
if grep -q 'Resolve the conflicts' "$DROVER_PROMPT"; then
    printf 'both\\n' >notes.txt
    printf '42\\n' >answer.txt
    echo '{"type":"result","is_error":false,"result":"kept both"}'
    exit 0
fi
printf 'mine\\n' >notes.txt
${fixes}`;

const prOf = async (runId) => {
    const id = (await server.run(runId)).pullRequest?.id;
    return id ? server.get(`/v1/pull-requests/${id}`) : null;
};

const untilState = (runId, state) => until(`the pull request to be ${state}`, async (note) => {
    const pr = note(await prOf(runId));
    return pr?.shepherd?.state === state ? pr : null;
});

// What a person is asked about the pull request: its run has ended.
const question = (runId) => until('a question', async () =>
    (await server.list(`/v1/approvals?status=pending&runId=${runId}`))[0]);

describe('the shepherd', { concurrency: 2 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    it('merges what is verified, and says how it came there', async () => {
        const repo = await server.repository('acme/auto', fixes,
            { shepherd: SHEPHERD, train: OFF });
        const { runId } = await server.submit(repo.name);
        await server.untilRun(runId, 'completed');
        const pr = await untilState(runId, 'merged');
        assert.equal(pr.status, 'merged');
        assert.equal(pr.shepherd.head, pr.headCommit);
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
        const moves = (await server.events(runId))
            .filter((event) => event.type === 'agent.pr.state.changed')
            .map((event) => event.data.toState);
        assert.deepEqual(moves, ['checks', 'review', 'mergeable', 'merging', 'merged']);
        const shown = await drover('pr', 'show', pr.id);
        assert.equal(shown.code, 0, shown.err);
        assert.match(shown.out, /Shepherd +merged/);
        const listed = await drover('prs', '--repo', repo.name);
        assert.match(listed.out, /SHEPHERD/);
        assert.match(listed.out, /merged/);
    });

    it('asks a person before it merges, where that is configured', async () => {
        const repo = await server.repository('acme/asked', fixes,
            { shepherd: { ...SHEPHERD, merge: 'approved' }, train: OFF });
        const { runId } = await server.submit(repo.name);
        await untilState(runId, 'mergeable');
        const approval = await question(runId);
        assert.equal(approval.kind, 'merge');
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '41');
        const yes = await drover('approve', approval.id);
        assert.equal(yes.code, 0, yes.err);
        await untilState(runId, 'merged');
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
    });

    it('has its train merge what is ready', async () => {
        const repo = await server.repository('acme/train',
            `date +%N >note.txt\n${fixes}`, { shepherd: SHEPHERD });
        const runs = [];
        for (let i = 0; i < 2; i++) {
            const { runId } = await server.submit(repo.name,
                { description: `Make the answer right, and note ${i}.` });
            runs.push(runId);
            await untilState(runId, 'merged');
        }
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
        const types = (await server.events(runs[0])).map(({ type }) => type);
        assert.ok(types.includes('agent.pr.merged'), types.join(' '));
    });

    it('leaves a pull request alone that a person takes over', async () => {
        const repo = await server.repository('acme/taken', fixes,
            { shepherd: { ...SHEPHERD, merge: 'approved' }, train: OFF });
        const { runId } = await server.submit(repo.name);
        await untilState(runId, 'mergeable');
        const approval = await question(runId);
        const no = await drover('reject', approval.id, '--reason', 'not now');
        assert.equal(no.code, 0, no.err);
        const pr = await untilState(runId, 'blocked');
        assert.ok(pr.shepherd.stopped);
        const merged = await drover('pr', 'merge', pr.id);
        assert.equal(merged.code, 0, merged.err);
        await untilState(runId, 'merged');
    });

    it('goes on with a pull request that a person hands back', async () => {
        const repo = await server.repository('acme/handed', fixes,
            { shepherd: { ...SHEPHERD, merge: 'approved' }, train: OFF });
        const { runId } = await server.submit(repo.name);
        const { id, branch, headCommit } = await untilState(runId, 'mergeable');
        await question(runId);
        const left = await drover('pr', 'leave', id, '--reason', 'mine for now');
        assert.equal(left.code, 0, left.err);
        assert.match(left.out, /left to people/);
        assert.ok((await untilState(runId, 'blocked')).shepherd.stopped);
        assert.deepEqual(await server.list(`/v1/approvals?status=pending&runId=${runId}`), []);
        assert.match((await drover('pr', 'show', id)).out, /Left alone +until: drover pr follow/);
        // What the person does to it meanwhile is verified before it goes on.
        const mine = pushBranch(repo.origin,
            { branch, base: headCommit, path: 'more.txt', text: 'by hand\n' });
        openPull(repo.origin, (await prOf(runId)).number, mine);
        const followed = await drover('pr', 'follow', id);
        assert.equal(followed.code, 0, followed.err);
        await until('the new head to be ready', async (note) => {
            const { shepherd } = note(await prOf(runId));
            return shepherd.state === 'mergeable' && shepherd.head === mine && shepherd.verified;
        });
        assert.equal((await drover('approve', (await question(runId)).id)).code, 0);
        await untilState(runId, 'merged');
        assert.equal(git(repo.origin, 'show', 'main:more.txt'), 'by hand');
        const again = await drover('pr', 'follow', id);
        assert.notEqual(again.code, 0);
        assert.match(again.err, /is merged/);
        const types = (await server.events(runId)).map(({ type }) => type);
        for (const type of ['agent.pr.left_alone', 'agent.pr.followed', 'agent.pr.head.changed'])
            assert.ok(types.includes(type), `${type} in ${types}`);
    });

    it('has an agent resolve what git cannot rebase, and merges both sides', async () => {
        const repo = await server.repository('acme/conflict', mends,
            { shepherd: { ...SHEPHERD, merge: 'approved' }, train: OFF });
        const { runId } = await server.submit(repo.name);
        const before = await untilState(runId, 'mergeable');
        commitTo(repo.origin, 'notes.txt', 'theirs\n');
        const repaired = await until('a repaired head', async (note) => {
            const pr = note(await prOf(runId));
            return pr.headCommit !== before.headCommit && pr.shepherd.state === 'mergeable' ?
                pr : null;
        });
        assert.equal(repaired.shepherd.attempts.repairs, 1);
        assert.equal(repaired.shepherd.attempts.rebases, 1);
        assert.ok(repaired.shepherd.verified);
        assert.equal(git(repo.origin, 'show', `${repaired.headCommit}:notes.txt`), 'both');
        const parents = git(repo.origin, 'log', '-1', '--format=%P', repaired.headCommit);
        assert.equal(parents, `${before.headCommit} ${git(repo.origin, 'rev-parse', 'main')}`);
        const approval = await question(runId);
        assert.equal((await drover('approve', approval.id)).code, 0);
        await untilState(runId, 'merged');
        assert.equal(git(repo.origin, 'show', 'main:notes.txt'), 'both');
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
        assert.equal((await server.pullRequests(repo.name)).length, 1);
    });

});

describe('a restart', () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    it('changes nothing for a pull request that is followed', async () => {
        const repo = await server.repository('acme/restart', fixes,
            { shepherd: { ...SHEPHERD, merge: 'approved' }, train: OFF });
        const { runId } = await server.submit(repo.name);
        await untilState(runId, 'mergeable');
        const approval = await question(runId);
        await server.crash();
        await server.start();
        assert.equal((await question(runId)).id, approval.id);
        assert.equal((await drover('approve', approval.id)).code, 0);
        const pr = await untilState(runId, 'merged');
        assert.equal(git(repo.origin, 'rev-list', '--count', '--merges', 'main'), '1');
        assert.equal(pr.status, 'merged');
    });
});

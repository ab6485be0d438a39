// shepherd_github.test.mjs - pull requests at a GitHub that keeps state (tests/hub): red checks,
// reviews, a target that moves, pushes by people, until they are merged.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { done, FILES, git } from './lib/git.mjs';
import { BOT, onboard, startWithHub } from './lib/github.mjs';
import { until } from './lib/wait.mjs';
import { CIS } from '../hub/hub.mjs';

const SHEPHERD = { merge: 'approved', pollMs: 300, settleMs: 1, quietMs: 1000 };

// The agent of these tests: the first time the answer, and a mistake that only CI notices; then
// what its prompt asks for.
const agent = `
printf '42\\n' >answer.txt
if grep -q 'Do what reviewers ask for' "$DROVER_PROMPT"; then
    printf 'constant\\n' >named.txt
    ${done('Done.\\\\nThread 1: it has a name now')}    exit 0
fi
if grep -q 'Make the checks pass' "$DROVER_PROMPT"; then
    grep -q 'style.txt must say good' "$DROVER_PROMPT" || exit 9
    printf 'good\\n' >style.txt
    ${done('Mended the style.')}    exit 0
fi
printf 'bad\\n' >style.txt
${done('the answer is 42')}`;

// Red while style.txt is not good; its log shows what no one is to see.
const LEAKED = `ghp_${'a1B2c3D4e'.repeat(4)}`;
const styleCi = CIS.of(({ read }) => (/bad/.test(read('style.txt') ?? '') ?
    `src/style.js:3:1: error: style.txt must say good, not ${LEAKED}` : null));

let world;

const prOf = async (runId) => {
    const id = (await world.server.run(runId)).pullRequest?.id;
    return id ? world.server.get(`/v1/pull-requests/${id}`) : null;
};

const untilPr = (what, runId, wanted) => until(what, async (note) => {
    const pr = note(await prOf(runId));
    return pr?.shepherd && wanted(pr.shepherd, pr) ? pr : null;
});
const untilState = (runId, state) => untilPr(`the pull request to be ${state}`, runId,
    (shepherd) => shepherd.state === state);

const types = async (runId) => (await world.server.events(runId)).map((event) => event.type);

// What the log of the check shows stands in no event, question, prompt or artifact of the runs of
// the repository.  The payloads of webhooks are kept as they were signed.
async function assertHidden(repository) {
    const { server } = world;
    const runs = (await server.list('/v1/runs?limit=200'))
        .filter((run) => run.repository === repository);
    assert.ok(runs.length > 1, 'no repair');
    const seen = [JSON.stringify(await server.list('/v1/events?limit=200')),
        JSON.stringify(await server.list('/v1/approvals?limit=200'))];
    for (const { id } of runs) {
        for (const { sha256 } of await server.list(`/v1/runs/${id}/artifacts`))
            seen.push((await server.call('GET', `/v1/artifacts/${sha256}`)).text);
    }
    assert.ok(seen.some((text) => text.includes('style.txt must say good')));
    assert.ok(!seen.some((text) => text.includes(LEAKED)), 'a secret of a log is shown');
}

// CI red, repaired; a review, answered; the target moves, rebased; approved, merged.  between() is
// called between any two of these.
async function lead(name, between = async () => {}) {
    const { server } = world;
    const { repo } = await onboard(world, name, agent,
        { shepherd: SHEPHERD, train: { use: 'off' }, ci: styleCi,
            files: { ...FILES, 'other.txt': '1\n' } });
    const { runId } = await server.submit(name);
    const first = await untilPr('a first look', runId, (shepherd) => shepherd.head);
    const pull = repo.pull(first.number);

    // CI is red: classified, repaired on the same branch, verified, green.
    const green = await untilPr('green checks', runId, (shepherd, pr) =>
        shepherd.state === 'review' && pr.headCommit !== first.headCommit);
    assert.equal(green.shepherd.attempts.repairs, 1);
    assert.ok(green.shepherd.verified);
    assert.equal(pull.headSha, green.headCommit);
    await until('it to be no draft', () => !pull.draft);
    const failed = (await server.events(runId))
        .find((event) => event.type === 'agent.pr.check.failed').data;
    assert.equal(failed.cause, 'patch');
    assert.match(failed.line, /style.txt must say good/);
    assert.equal(git(repo.bare.dir, 'log', '-1', '--format=%P', pull.headSha),
        first.headCommit);

    await between();
    // An approval of the old head would not count; a review asks for something.
    pull.review({ by: 'ann', state: 'CHANGES_REQUESTED', body: '',
        comments: [{ path: 'answer.txt', line: 1, body: 'Give it a name.' }] });
    const fixed = await untilPr('what was asked for', runId, (shepherd, pr) =>
        shepherd.attempts.repairs === 2 && pr.headCommit !== green.headCommit);
    await until('an answer', () => pull.threads[0].resolved);
    const said = pull.threads[0].comments.at(-1);
    assert.equal(said.user.login, BOT);
    assert.match(said.body, /it has a name now/);
    assert.equal(repo.file(pull.headSha, 'named.txt').trim(), 'constant');

    await between();
    // The target moves, and the repository wants pull requests up to date.
    repo.protect('main', { checks: ['build'], strict: true });
    repo.commit('main', { 'other.txt': '2\n' }, { by: 'rob' });
    const rebased = await untilPr('a rebase', runId, (shepherd, pr) =>
        shepherd.attempts.rebases === 1 && pr.headCommit !== fixed.headCommit &&
        shepherd.state === 'review');
    assert.ok(rebased.shepherd.verified);
    assert.equal(repo.file(pull.headSha, 'other.txt').trim(), '2');
    assert.equal(git(repo.bare.dir, 'merge-base', 'main', pull.headSha),
        repo.head('main'));

    await between();
    // An approval of this very head: merged.
    pull.review({ by: 'ann', state: 'APPROVED' });
    const merged = await untilState(runId, 'merged');
    assert.ok(pull.merged);
    assert.equal(merged.status, 'merged');
    assert.equal(repo.pulls.length, 1);
    assert.equal(repo.file('main', 'answer.txt').trim(), '42');
    const log = await types(runId);
    for (const type of ['agent.pr.repair.started', 'agent.pr.repair.ended',
        'agent.pr.rebased', 'agent.pr.head.changed', 'agent.pr.merged'])
        assert.ok(log.includes(type), type);
    await assertHidden(name);

    await between();
    // What was corrected is proposed as a rule, and used when a person agrees.
    const rule = (await server.list(`/v1/approvals?status=pending&runId=${runId}`))
        .find(({ kind }) => kind === 'rule');
    assert.match(rule.summary, /Give it a name/);
    await callDrover(server, ['approve', rule.id]);
    const memories = await server.list(
        `/v1/memories?repository=${encodeURIComponent(name)}`);
    assert.ok(memories.some(({ outcome, summary }) =>
        outcome === 'rule' && /Give it a name/.test(summary)));
}

describe('the shepherd at GitHub', { concurrency: 2 }, () => {
    before(async () => {
        world = await startWithHub({ args: ['--workers', '4'], hub: { lazyMergeable: false } });
    });
    after(() => world.stop());

    it('leads a pull request through red checks, a review and a moved base to its merge',
        () => lead('acme/whole'));

    it('runs a flaky check again, and repairs nothing', async () => {
        const { name, repo } = await onboard(world, 'acme/flaky', agent.replace('bad', 'good'),
            { shepherd: { ...SHEPHERD, merge: 'auto' }, train: { use: 'off' },
                ci: CIS.flaky(() => null) });
        repo.ci.set(({ attempt, branch }) => [{ name: 'test',
            conclusion: attempt > 1 || branch === 'main' ? 'success' : 'failure',
            log: 'Error: Timeout of 5000ms exceeded.\n' }]);
        const { runId } = await world.server.submit(name);
        const pr = await untilState(runId, 'merged');
        assert.equal(pr.shepherd.attempts.repairs, 0);
        assert.equal(repo.pulls.length, 1);
    });

    it('adopts what a person pushes, and verifies it before it goes on', async () => {
        const { name, repo } = await onboard(world, 'acme/pushed', agent.replace('bad', 'good'),
            { shepherd: SHEPHERD, train: { use: 'off' }, ci: CIS.green() });
        const { runId } = await world.server.submit(name);
        const before = await untilState(runId, 'review');
        const pull = repo.pull(before.number);
        pull.review({ by: 'ann', state: 'APPROVED' }); // Of a head that is soon an old one.
        repo.ci.hold();
        repo.commit(pull.headRef, { 'person.txt': 'x\n' }, { by: 'rob' });
        const adopted = await untilPr('the new head', runId, (shepherd, pr) =>
            pr.headCommit === repo.head(pull.headRef) && shepherd.verified);
        assert.equal(adopted.shepherd.attempts.repairs, 0);
        repo.ci.release();
        const after = await untilState(runId, 'review');
        assert.ok(!pull.merged);
        assert.equal(after.headCommit, repo.head(pull.headRef));
        pull.review({ by: 'ann', state: 'APPROVED' });
        await untilState(runId, 'merged');
        assert.equal(repo.file('main', 'person.txt').trim(), 'x');
    });

    it('waits while the target itself is red, and asks for what no patch can mend', async () => {
        const { server } = world;
        const { name, repo } = await onboard(world, 'acme/red', agent.replace('bad', 'good'),
            { shepherd: SHEPHERD, train: { use: 'off' }, ci: CIS.of(() => 'FAIL: all is lost') });
        repo.commit('main', { 'x.txt': '1\n' }, { by: 'rob' }); // CI runs on the target as well.
        const { runId } = await server.submit(name);
        const red = await untilState(runId, 'blocked');
        assert.match(red.shepherd.reason, /target branch as well/);
        assert.equal(red.shepherd.attempts.repairs, 0);
        repo.ci.set(() => [{ name: 'DCO', conclusion: 'failure', log: 'Missing Signed-off-by\n' }]);
        repo.commit(repo.pull(red.number).headRef, { 'y.txt': '1\n' }, { by: 'rob' });
        const asked = await until('a question', async () =>
            (await server.list(`/v1/approvals?status=pending&runId=${runId}`))[0]);
        assert.equal(asked.kind, 'shepherd');
        assert.match(asked.question, /no patch can mend/);
    });
});

describe('the shepherd at GitHub, with a server that is killed', () => {
    before(async () => {
        world = await startWithHub({ args: ['--workers', '4'], hub: { lazyMergeable: false } });
    });
    after(() => world.stop());

    it('does everything once', async () => {
        await lead('acme/killed', async () => {
            await world.server.crash();
            await world.server.start();
        });
        const repo = world.hub.repo('acme/killed');
        const answers = repo.pulls[0].threads[0].comments
            .filter(({ user }) => user.login === BOT);
        assert.equal(answers.length, 1);
        assert.equal(repo.branches().filter(({ name }) => name.startsWith('drover/')).length, 1);
    });
});

// github_journey.test.mjs - from an issue on GitHub to a merged pull request: labelled, worked on,
// opened as a draft, red, classified, repaired, green, reviewed, mended, overtaken, rebased, merged
// by the train, closed.  Also with a kill -9 of everything between any two of these.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CIS } from '../hub/hub.mjs';
import { FILES } from './lib/git.mjs';
import { BOT, onboard, startWithHub } from './lib/github.mjs';
import { until } from './lib/wait.mjs';

// Does what it is asked for, and no more: CI wants a note, and the reviewer a reason in it.
const AGENT = `echo 42 >answer.txt
if grep -q 'note.txt is missing' "$DROVER_PROMPT"; then echo 'It is 42.' >note.txt; fi
if grep -q 'Say why' "$DROVER_PROMPT"; then echo 'It is 42, because of the question.' >note.txt; fi
printf '{"status":"success","summary":"the answer is 42"}' >"$DROVER_RESULT"
`;

const CI = CIS.of(({ read }) => {
    if (read('answer.txt') !== '42') return 'FAIL: answer.txt does not say 42';
    return read('note.txt') === null ? 'FAIL: note.txt is missing' : null;
});

const CONFIG = {
    intake: { labels: ['drover'], rules: [{ label: 'drover', riskLevel: 'low',
        executionMode: 'autonomous_pr' }] },
    shepherd: { merge: 'auto', quietMs: 1000, settleMs: 1000, pollMs: 2000 },
    sync: { everyMs: 2000, recoverMs: 2000 },
};

// Walks the whole way; between(name) is called after each step.
async function journey(all, between = async () => {}) {
    const { hub } = all;
    const { repo } = await onboard(all, 'acme/billing', AGENT, { ...CONFIG, ci: CI,
        files: { ...FILES, 'answer.txt': '42\n' } });
    repo.ci.hold(); // The base is green, and stays so.
    const first = repo.head('main');
    repo.ci.set(CI);
    repo.commit('main', { 'answer.txt': '41\n' }, { by: 'ann' });
    repo.protect('main', { checks: ['build'], strict: true, approvals: 1 });
    assert.notEqual(first, repo.head('main'));
    repo.ci.release();
    const step = async (name, look) => {
        const found = await until(name, async (note) => {
            const pull = repo.pulls[0];
            note({ pull: pull && { draft: pull.draft, head: pull.headSha, state: pull.state,
                checks: repo.checks.latest(pull.headSha).map((run) => [run.name, run.conclusion]) },
            shepherd: await shepherdOf(all).catch(() => null), comments: repo.issue(1)?.comments
                .map(({ body }) => body.slice(-200)) });
            return look(repo.pulls[0]);
        });
        await between(name);
        return found;
    };
    const verdict = (pull) => repo.checks.latest(pull.headSha)
        .find(({ name }) => name === 'build')?.conclusion;

    const issue = repo.issue({ title: 'The answer is wrong', by: 'ann', body: 'It should be 42.' });
    issue.label('drover', 'ann');
    await step('a pull request', (pull) => pull);
    await step('CI to be red', (pull) => verdict(pull) === 'failure' || pull.reviews.length >= 0
        && repo.file(pull.headSha, 'note.txt') !== null);
    await step('a repair that turns it green', (pull) => repo.file(pull.headSha, 'note.txt')
        !== null && verdict(pull) === 'success');
    await step('the pull request to be ready', (pull) => !pull.draft);
    const [pull] = repo.pulls;
    const reviewed = pull.headSha;
    pull.review({ by: 'ann', state: 'CHANGES_REQUESTED', body: 'One thing.',
        comments: [{ path: 'note.txt', line: 1, body: 'Say why it is 42.' }] });
    await between('a review');
    await step('the review to be dealt with', () => pull.headSha !== reviewed
        && /because/.test(repo.file(pull.headSha, 'note.txt')));
    await step('the thread to be answered and resolved', () => pull.threads[0].resolved
        && pull.threads[0].comments.length > 1);
    const mended = pull.headSha;
    repo.commit('main', { 'other.txt': 'by a person\n', 'answer.txt': '41\n' }, { by: 'rob' });
    await between('a base that moved');
    await step('a rebase onto the new base', () => pull.headSha !== mended
        && repo.bare.isAncestor(repo.head('main'), pull.headSha) && verdict(pull) === 'success');
    pull.review({ by: 'ann', state: 'APPROVED' });
    await between('an approval');
    await step('the merge', () => pull.merged);
    await step('the issue to be closed', () => issue.state === 'closed');
    return { repo, issue, pull, hub };
}

async function shepherdOf({ server }) {
    const [found] = await server.pullRequests('acme/billing');
    return found && (await server.get(`/v1/pull-requests/${found.id}`)).shepherd;
}

// One of each, whatever happened on the way.
function assertOnce({ repo, issue, pull }) {
    assert.equal(repo.pulls.length, 1, 'one pull request');
    const own = repo.branches().filter(({ name }) => name.startsWith('drover/'));
    assert.ok(own.length <= 1, `one branch: ${own.map(({ name }) => name)}`);
    const comments = issue.comments.filter(({ user }) => user.login === BOT);
    assert.equal(comments.length, 1, 'one comment on the issue');
    const [thread] = pull.threads;
    assert.equal(thread.comments.filter(({ user }) => user.login === BOT).length, 1, 'one answer');
    assert.equal(repo.file('main', 'answer.txt'), '42');
    assert.equal(repo.file('main', 'other.txt'), 'by a person');
    assert.match(repo.file('main', 'note.txt'), /because/);
    const log = repo.bare.run(['log', '--format=%s', '--first-parent', 'main']).split('\n');
    assert.equal(repo.bare.run(['log', '--merges', '--format=%h', 'main']).split('\n')
        .filter(Boolean).length <= 1, true, `one merge: ${log}`);
}

describe('from an issue on GitHub to a merged pull request', { concurrency: 1 }, () => {
    it('goes all the way', async () => {
        const all = await startWithHub();
        try {
            const end = await journey(all);
            assertOnce(end);
            const told = end.issue.comments.find(({ user }) => user.login === BOT);
            assert.match(told.body, /merged/i);
            const shepherd = await shepherdOf(all);
            assert.equal(shepherd.state, 'merged');
        } finally {
            await all.stop();
        }
    });

    it('goes all the way with a kill -9 between any two steps', async () => {
        const all = await startWithHub({ config: 'lease: {leaseMs: 5000, heartbeatMs: 1000}\n' });
        try {
            const end = await journey(all, async () => {
                await all.server.crash();
                await all.server.startAgain();
            });
            assertOnce(end);
        } finally {
            await all.stop();
        }
    });
});

// journey.mjs - the whole way of an issue on GitHub, as a test walks it: labelled, worked on,
// opened as a draft, red, classified, repaired, green, reviewed, mended, overtaken by a base that
// conflicts, resolved by an agent, merged by the train, closed.
import assert from 'node:assert/strict';
import { CIS } from '../../hub/hub.mjs';
import { FILES } from './git.mjs';
import { BOT, onboard } from './github.mjs';
import { until } from './wait.mjs';

// Does what it is asked for, and no more: CI wants a note, and the reviewer a reason in it.  It
// says whether it found the marks of a conflict.
const AGENT = `if grep -q '^<<<<<<<' answer.txt; then resolved=', a conflict is resolved'; fi
echo 42 >answer.txt
if grep -q 'note.txt is missing' "$DROVER_PROMPT"; then echo 'It is 42.' >note.txt; fi
if grep -q 'Say why' "$DROVER_PROMPT"; then echo 'It is 42, because of the question.' >note.txt; fi
printf '{"status":"success","summary":"the answer is 42%s"}' "$resolved" >"$DROVER_RESULT"
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
    pullRequest: { labels: ['drover'], reviewers: ['ann'] },
};

// Walks the whole way; between(name) is called after each step.
export async function journey(all, between = async () => {}) {
    const { hub } = all;
    const { repo } = await onboard(all, 'acme/billing', AGENT, { ...CONFIG, ci: CI,
        files: { ...FILES, 'answer.txt': '42\n' } });
    repo.commit('main', { 'answer.txt': '41\n' }, { by: 'ann' });
    repo.protect('main', { checks: ['build'], strict: true, approvals: 1 });
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
    await step('CI to be red', () => repo.checks.jobs.some(({ run, check }) =>
        run.branch.startsWith('drover/') && check.conclusion === 'failure'));
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
    // In the train it would be merged onto that as it is, were it not for the conflict.
    repo.commit('main', { 'other.txt': 'by a person\n', 'answer.txt': '41, says rob\n' },
        { by: 'rob' });
    await between('a base that moved');
    await step('a head on top of the new base', () => pull.headSha !== mended
        && repo.bare.isAncestor(repo.head('main'), pull.headSha) && verdict(pull) === 'success');
    pull.review({ by: 'ann', state: 'APPROVED' });
    await between('an approval');
    await step('the merge', () => pull.merged);
    await step('the issue to be closed', () => issue.state === 'closed');
    await step('the comment to say so', () => issue.comments.some(({ user, body }) =>
        user.login === BOT && /merged/.test(body)));
    return { repo, issue, pull, hub };
}

export async function shepherdOf({ server }) {
    const [found] = await server.pullRequests('acme/billing');
    return found && (await server.get(`/v1/pull-requests/${found.id}`)).shepherd;
}

// What drover has noted: why CI was red, what each repair was for, and that the rebase onto the
// base that had moved met a conflict, which an agent resolved in the tree with its marks.
export async function assertStory({ server }) {
    const [{ runId }] = await server.pullRequests('acme/billing');
    const of = (type) => server.dataOf(runId, type);
    const reds = (await of('agent.pr.check.failed')).filter(({ check }) => check === 'build');
    assert.ok(reds.length >= 1);
    for (const { cause, line } of reds) {
        assert.equal(cause, 'patch');
        assert.match(line, /note.txt is missing/);
    }
    assert.equal(new Set(reds.map(({ fingerprint }) => fingerprint)).size, 1);
    const repairs = await of('agent.pr.repair.started');
    assert.deepEqual(repairs.map(({ cause }) => cause), ['checks', 'review', 'conflict']);
    const rebases = (await of('agent.pr.rebased')).filter(({ mode }) => mode === 'rebase');
    assert.ok(rebases.some(({ outcome }) => outcome === 'conflict'), JSON.stringify(rebases));
    const [patch] = await server.dataOf(repairs[2].repairRunId, 'agent.patch.created');
    assert.match(patch.summary, /a conflict is resolved/);
    const states = (await of('agent.pr.state.changed')).map(({ toState }) => toState);
    for (const state of ['failing', 'changes_requested', 'conflicting', 'merging'])
        assert.ok(states.includes(state), `${state} in ${states}`);
}

// One of each, whatever happened on the way.
export function assertOnce({ repo, issue, pull }) {
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
    assert.equal(log.filter((line) => line.includes(`#${pull.number}`)).length, 1,
        `one merge: ${log}`);
    assert.equal(log.length, 4, `nothing but first, change, change and the merge: ${log}`);
}

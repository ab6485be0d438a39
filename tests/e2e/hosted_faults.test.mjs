// hosted_faults.test.mjs - the server dies, or a call fails, at every outside effect of a publish
// at a forge that is a server (tests/hub): one branch, one pull request.
//
// DROVER_FAULTS_BIN is a build with fault points (src/base/fault.h).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { onboard, startWithHub } from './lib/github.mjs';
import { PATIENCE_MS, until, within } from './lib/wait.mjs';

const BIN = process.env.DROVER_FAULTS_BIN;
const LONG = Boolean(process.env.DROVER_LONG);
const POINTS = ['publish.commit', 'publish.push', 'publish.pushed', 'publish.number',
    'publish.create', 'publish.created', 'publish.label', 'publish.reviewers', 'publish.numbered',
    'publish.check', 'publish.ready', 'publish.approve'];
const REPORTS = ['step.report', 'step.reported'];
const NEVER_FAILS = ['step.reported'];
// One task dies at several points, one after the other and each far from the last; in long runs
// there is a task for each.
const CHAINS = LONG ? POINTS.map((point) => [point])
    : [0, 1, 2].map((from) => POINTS.filter((_, i) => i % 3 === from));

// Every step reports, and the first may be that of a sync: the fifth is one of the task.
const faultOf = (point, action) =>
    `${point}:${action}:${point.startsWith('step.') ? 5 : 1}`;

// One task, with these faults in one life of the server after the other; all but the last end it.
async function walk(...faults) {
    const stage = await startWithHub({ bin: BIN, env: (hub) => ({ REVIEWER_TOKEN: hub.token('rob'),
        DROVER_FAULT: faults[0] }) });
    const { server } = stage;
    try {
        const { repo } = await onboard(stage, 'acme/faults', fixes, { hook: false,
            sync: { everyMs: 3600000 },
            credentials: { forge: 'HUB_TOKEN', reviewer: 'REVIEWER_TOKEN' },
            pullRequest: { labels: ['drover'], reviewers: ['ann'] } });
        const ids = await server.submit('acme/faults',
            { executionMode: 'autonomous_pr', riskLevel: 'low' });
        for (const next of faults.slice(1)) {
            const how = await within(PATIENCE_MS, 'its end', server.exit);
            assert.equal(how.signal, 'SIGKILL');
            server.env.DROVER_FAULT = next;
            await server.start();
        }
        await until('the task to complete', async (note) => {
            const task = note(await server.task(ids.taskId));
            assert.ok(task.status !== 'failed', JSON.stringify(task));
            return task.status === 'completed';
        });
        const names = repo.branches().map(({ name }) => name)
            .filter((name) => name.startsWith('drover/'));
        assert.equal(names.length, 1);
        assert.equal(repo.pulls.length, 1);
        const [pull] = repo.pulls;
        assert.equal(pull.draft, false);
        assert.deepEqual(pull.labels.map((label) => label.name ?? label), ['drover']);
        assert.equal(pull.reviews.filter(({ state }) => state === 'APPROVED').length, 1);
        assert.equal((await server.pullRequests('acme/faults')).length, 1);
    } finally {
        server.env.DROVER_FAULT = '';
        if (!server.isRunning()) await server.start();
        await stage.stop();
    }
}

describe('at a forge that is a server', { concurrency: 2,
    skip: BIN ? false : 'no build with fault points' }, () => {
    for (const points of [...CHAINS, ...REPORTS.map((point) => [point])])
        it(`a server that dies at ${points.join(', then at ')} publishes once`, () =>
            walk(...points.map((point) => faultOf(point, 'die')), ''));
    for (const point of [...POINTS, ...REPORTS])
        if (!NEVER_FAILS.includes(point))
            it(`a call that fails at ${point} is made again`, () => walk(faultOf(point, 'fail')));
});

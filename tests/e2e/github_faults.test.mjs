// github_faults.test.mjs - the whole way of an issue on GitHub, with a kill -9 at every fault point
// of an outside effect (src/base/fault.c): one branch, one pull request, one comment, one merge.
//
// DROVER_FAULTS_BIN is a build with the points in it; without one there is nothing to walk.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startWithHub } from './lib/github.mjs';
import { assertOnce, journey } from './lib/journey.mjs';

const BIN = process.env.DROVER_FAULTS_BIN;
// Each is passed more than once on the way: it is struck the first time, and in long runs also
// later, when a repair is published and when the comment is edited.
// Those of a publish are walked by hosted_faults.test.mjs as well: here in long runs only.
const LONG = !!process.env.DROVER_LONG;
const PUBLISH = ['publish.commit', 'publish.push', 'publish.pushed', 'publish.create',
    'publish.created', 'publish.label', 'publish.reviewers', 'publish.check', 'publish.ready'];
const POINTS = [...(LONG ? PUBLISH : []), 'observe.read', 'attend.act', 'attend.acted',
    'comment.write', 'comment.written', 'train.push', 'train.pushed', 'step.report',
    'step.reported'];
const TIMES = LONG ? [1, 2, 3, 5, 8] : [1];
// The others are passed once.
const AGAIN = /^(publish\.(commit|push|pushed)|observe|attend|comment|step)/;

// Starts it again, without the fault, when it has died of it.  {died, end()}
function revive(server) {
    const state = { died: false, over: false };
    const watch = async () => {
        const how = await server.exit;
        if (state.over) return;
        assert.equal(how.signal, 'SIGKILL', server.logTail());
        state.died = true;
        delete server.env.DROVER_FAULT;
        await server.startAgain();
    };
    const watching = watch();
    state.failed = watching.then(() => new Promise(() => {})); // Never, unless it fails.
    state.end = async () => {
        state.over = true;
        if (state.died) await watching;
    };
    return state;
}

describe('the whole way of an issue, killed at', { concurrency: 2,
    skip: BIN ? false : 'there is no build with fault points' }, () => {
    for (const time of TIMES)
        for (const point of POINTS.filter((each) => time === 1 || AGAIN.test(each)))
            it(`${point}, time ${time}`, { timeout: 600_000 }, async () => {
                const all = await startWithHub({ bin: BIN,
                    env: { DROVER_FAULT: `${point}:die:${time}` },
                    config: 'lease: {leaseMs: 3000, heartbeatMs: 1000}\n' });
                const life = revive(all.server);
                try {
                    const end = await Promise.race([journey(all), life.failed]);
                    assert.ok(life.died, 'it was never there');
                    assertOnce(end);
                } finally {
                    await life.end();
                    await all.stop();
                }
            });
});

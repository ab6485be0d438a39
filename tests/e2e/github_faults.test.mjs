// github_faults.test.mjs - the whole way of an issue on GitHub, with a kill -9 at every fault point
// of an outside effect (src/base/fault.c): one branch, one pull request, one comment, one merge.
//
// DROVER_FAULTS_BIN is a build with the points in it; without one there is nothing to walk.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startWithHub } from './lib/github.mjs';
import { assertOnce, journey } from './lib/journey.mjs';

const BIN = process.env.DROVER_FAULTS_BIN;
// Each is passed more than once on the way.  In long runs one is struck in each walk, also later,
// when a repair is published and when the comment is edited.  Else one walk is struck at several,
// in one life of the server after the other.
// Those of a publish are walked by hosted_faults.test.mjs as well: here in long runs only.
const LONG = !!process.env.DROVER_LONG;
const PUBLISH = ['publish.commit', 'publish.push', 'publish.pushed', 'publish.create',
    'publish.created', 'publish.label', 'publish.reviewers', 'publish.check', 'publish.ready'];
const OTHERS = ['observe.read', 'attend.act', 'attend.acted', 'comment.write', 'comment.written',
    'train.push', 'train.pushed', 'step.report', 'step.reported'];
// The others are passed once.
const AGAIN = /^(publish\.(commit|push|pushed)|observe|attend|comment|step)/;
const alone = (time) => [...PUBLISH, ...OTHERS].filter((each) => time === 1 || AGAIN.test(each))
    .map((point) => [[point, time]]);
const WALKS = LONG ? [1, 2, 3, 5, 8].flatMap(alone) : [
    ['step.report', 'comment.written', 'attend.acted', 'train.push'],
    ['step.reported', 'comment.write', 'observe.read', 'attend.act', 'train.pushed'],
].map((points) => points.map((point) => [point, 1]));

const faultOf = ([point, time]) => `${point}:die:${time}`;

// Starts it again whenever it has died of a fault, with the next one, and at last without.
// {left: faults that were not reached, failed, end()}
function revive(server, faults) {
    const state = { left: [...faults], over: false, starting: null };
    const watch = async () => {
        for (;;) {
            const how = await server.exit;
            if (state.over) return;
            assert.equal(how.signal, 'SIGKILL', server.logTail());
            state.left.shift();
            server.env.DROVER_FAULT = state.left.length > 0 ? faultOf(state.left[0]) : '';
            state.starting = server.startAgain();
            await state.starting;
        }
    };
    state.failed = watch().then(() => new Promise(() => {})); // Never, unless it fails.
    state.end = async () => {
        state.over = true;
        await state.starting;
    };
    return state;
}

describe('the whole way of an issue, killed at', { concurrency: 2,
    skip: BIN ? false : 'there is no build with fault points' }, () => {
    for (const faults of WALKS)
        it(faults.map(([point, time]) => `${point}, time ${time}`).join('; '),
            { timeout: 600_000 }, async () => {
                const all = await startWithHub({ bin: BIN,
                    env: { DROVER_FAULT: faultOf(faults[0]) },
                    config: 'lease: {leaseMs: 3000, heartbeatMs: 1000}\n' });
                const life = revive(all.server, faults);
                try {
                    const end = await Promise.race([journey(all), life.failed]);
                    assert.deepEqual(life.left, [], 'it never came there');
                    assertOnce(end);
                } finally {
                    await life.end();
                    await all.stop();
                }
            });
});

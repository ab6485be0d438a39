// shepherd_faults.test.mjs - the server dies at every point at which the shepherd reaches outside
// (src/base/fault.c): one pull request, one branch, one merge, whatever was half done.
//
// DROVER_FAULTS_BIN is a build with the points in it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commitTo, fixes, git, refs } from './lib/git.mjs';
import { onboard, startWithHub } from './lib/github.mjs';
import { Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';
import { CIS } from '../hub/hub.mjs';

const BIN = process.env.DROVER_FAULTS_BIN;
const SHEPHERD = { merge: 'approved', pollMs: 200, settleMs: 1 };

// Writes what the target will conflict with, and resolves that later.
const mends = `
if grep -q 'Resolve the conflicts' "$DROVER_PROMPT"; then
    printf 'both\\n' >notes.txt
else
    printf 'mine\\n' >notes.txt
fi
${fixes}`;

// [point, time]: what is walked by a conflict that an agent resolves, and a merge.
const POINTS = [['observe.read', 1], ['observe.read', 2], ['observe.read', 3],
    ['move.push', 1], ['move.pushed', 1], ['attend.act', 1], ['attend.acted', 1]];

class Walk {
    constructor([point, time], server) {
        this.server = server ?? new Server({ bin: BIN, args: ['--workers', '2'],
            env: { DROVER_FAULT: `${point}:die:${time}` } });
        this.died = 0;
    }

    // Does it, again on a server without the fault when this one has died.
    async survive(act) {
        for (;;) {
            try {
                return await act();
            } catch (error) {
                if (this.server.isRunning() || this.died > 0) throw error;
                await this.server.exit;
                this.died++;
                delete this.server.env.DROVER_FAULT;
                await this.server.start();
            }
        }
    }

    pr(runId) {
        return this.survive(async () => {
            const id = (await this.server.run(runId)).pullRequest?.id;
            return id ? this.server.get(`/v1/pull-requests/${id}`) : null;
        });
    }

    untilPr(what, runId, wanted) {
        return until(what, async (note) => {
            const pr = note(await this.pr(runId));
            return pr && wanted(pr) ? pr : null;
        });
    }

    // The target conflicts with a pull request that waits for a person; then it is merged.
    async run() {
        const { server } = this;
        await server.start();
        const repo = await server.repository('acme/faults', mends,
            { shepherd: SHEPHERD, train: { use: 'off' } });
        const { runId } = await this.survive(() => server.submit(repo.name, {},
            { 'idempotency-key': 'once' }));
        const ready = (pr) => pr.shepherd?.state === 'mergeable' && pr.shepherd.approvalId;
        const first = await this.untilPr('a question', runId, ready);
        commitTo(repo.origin, 'notes.txt', 'theirs\n');
        const second = await this.untilPr('another head', runId,
            (pr) => pr.headCommit !== first.headCommit && ready(pr));
        await this.survive(async () => {
            const { status } = await server.decide(second.shepherd.approvalId, 'approve');
            assert.ok(status === 200 || status === 409, `${status}`);
        });
        await this.untilPr('its merge', runId, (pr) => pr.status === 'merged');
        assert.equal((await this.survive(() => server.pullRequests(repo.name))).length, 1);
        assert.equal(Object.keys(refs(repo.origin))
            .filter((ref) => ref.startsWith('refs/heads/drover/')).length, 1);
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
        assert.equal(git(repo.origin, 'show', 'main:notes.txt'), 'both');
        assert.equal(git(repo.origin, 'rev-list', '--count', '--first-parent', 'main'), '3');
    }

    async close() {
        if (!this.server.isRunning()) {
            this.server.env = {};
            await this.server.start();
        }
        await this.server.discard();
    }
}

describe('the server dies', { concurrency: 2, skip: BIN ? false : 'no build with fault points' },
    () => {
        for (const point of POINTS) {
            it(`at ${point.join(', time ')}, and a conflict is resolved once`, async () => {
                const walk = new Walk(point);
                try {
                    await walk.run();
                    assert.ok(walk.died > 0, 'the point was never reached');
                } finally {
                    await walk.close();
                }
            });
        }

        it('while a head is verified that a person has pushed at GitHub, which is then merged',
            async () => {
                const world = await startWithHub({ bin: BIN, args: ['--workers', '2'],
                    hub: { lazyMergeable: false }, env: { DROVER_FAULT: 'rebase.verify:die:1' } });
                const { server } = world;
                const walk = new Walk(['rebase.verify', 1], server);
                try {
                    const { name, repo } = await onboard(world, 'acme/pushed', fixes,
                        { shepherd: SHEPHERD, train: { use: 'off' }, ci: CIS.green() });
                    const { runId } = await server.submit(name);
                    const first = await walk.untilPr('a review', runId,
                        (pr) => pr.shepherd?.state === 'review' && !pr.draft);
                    const pull = repo.pull(first.number);
                    repo.commit(pull.headRef, { 'person.txt': 'x\n' }, { by: 'rob' });
                    await walk.untilPr('its certificate', runId,
                        (pr) => pr.headCommit === pull.headSha && pr.shepherd.verified);
                    assert.equal(walk.died, 1);
                    pull.review({ by: 'ann', state: 'APPROVED' });
                    await walk.untilPr('its merge', runId, (pr) => pr.status === 'merged');
                    assert.ok(pull.merged);
                } finally {
                    await world.stop();
                }
            });
    });

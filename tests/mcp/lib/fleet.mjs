// fleet.mjs - agents that come for work over MCP and go on whatever falls: the server, their
// connection, or they themselves.
import { setTimeout as sleep } from 'node:timers/promises';
import { patchTo } from '../../e2e/lib/git.mjs';
import { ProtocolError, WAYS, openClient } from '../../e2e/lib/mcp_ways.mjs';

// The server was away, or its answer was lost; everything else is a failure of the test.
const passes = (error) => !(error instanceof ProtocolError) || error.code >= 500;

export class Agent {
    // number: decides the way that it takes.  roll(): chance.  fleet: {server, queue, over(), died,
    // done: Map of task to the claims that were acknowledged as complete, claims: Map of task to
    // how often it was claimed}.
    constructor(number, roll, fleet) {
        Object.assign(this, { number, roll, fleet, name: `agent-${number}` });
        this.way = WAYS[number % WAYS.length];
    }

    async insist(name, args) {
        for (;;) {
            try {
                this.client ??= await openClient(this.way, this.fleet.server);
                return await this.client.tool(name, args);
            } catch (error) {
                if (!passes(error)) throw error;
                if (this.fleet.over()) return {};
                await sleep(50);
            }
        }
    }

    // Forgets all that it knows; the process that it has goes without a word.
    die() {
        this.fleet.died++;
        this.client?.kill();
        this.client = undefined;
    }

    async run() {
        while (!this.fleet.over()) {
            const { claim } = await this.insist('get_next_task',
                { agent: this.name, queue: this.fleet.queue, waitMs: 2000, leaseMs: 5000 });
            if (claim) await this.work(claim);
        }
        this.client?.kill();
    }

    async work({ id: claimId, epoch, taskId }) {
        const { claims, done } = this.fleet;
        claims.set(taskId, (claims.get(taskId) ?? 0) + 1);
        const held = { claimId, epoch, agent: this.name };
        const fate = this.roll();
        if (fate < 0.04) return this.die();
        if (fate < 0.5) await this.insist('heartbeat', { ...held, extendMs: 5000 });
        const report = this.insist('report_task_completion', { ...held, patch: patchTo(42) });
        if (fate > 0.97) { // It may have arrived, or not.
            report.catch(() => {});
            await sleep(this.roll() * 20);
            this.die();
            await report.catch(() => {}); // Repeated under the next life: the same claim.
            return;
        }
        const { ok } = await report;
        if (ok) done.set(taskId, (done.get(taskId) ?? new Set()).add(`${claimId} ${epoch}`));
    }
}

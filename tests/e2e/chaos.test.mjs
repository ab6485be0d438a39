// chaos.test.mjs - nodes, workers and PostgreSQL are killed or restarted, one after the other, also
// while another is still down.
import { describe, it } from 'node:test';
import { assertAlive, Chaos, SEED, survive, Tumbler } from './lib/chaos.mjs';
import { until } from './lib/wait.mjs';

const CONFIG = 'workers: 1\nlimits: {maxActiveRuns: 8}\n' +
    'lease: {leaseMs: 3000, heartbeatMs: 700}\n';

class Kills extends Chaos {
    makeTumblers() {
        // As an init system does: again until it stays.
        const rise = (node) => until('the node to start', () =>
            node.startAgain().then(() => true, (error) => {
                if (!/STORE_UNREACHABLE|PostgreSQL/.test(error.message)) throw error;
                return false;
            }));
        const nodes = this.nodes.map((node, i) =>
            new Tumbler(`node ${i}`, async () => {
                assertAlive(node);
                await node.crash();
            }, () => rise(node)));
        const workers = this.workers.map((worker) =>
            new Tumbler(worker.name, () => worker.stop('SIGKILL'), () => worker.spawn()));
        const { cluster } = this;
        const postgres = ['fast', 'immediate'].map((mode) =>
            new Tumbler(`PostgreSQL (${mode})`, async () => {
                await Promise.all(postgres.map((each) => each.risen));
                await cluster.stop(mode);
            }, () => cluster.start()));
        return { nodes, workers, postgres };
    }

    // Two nodes, two workers and PostgreSQL in both ways, in any order.
    hand() {
        const { nodes, workers, postgres } = this.tumblers;
        const cards = [this.pick(nodes), this.pick(nodes), this.pick(workers), this.pick(workers),
            ...postgres];
        return this.shuffled(cards);
    }
}

describe(`chaos (seed ${SEED})`, () => {
    it('all tasks complete once, whatever falls',
        (t) => survive(t, new Kills({ config: CONFIG })));
});

// chaos_frozen.test.mjs - nodes and workers stand still for longer than a lease, and the lines
// between them, and to PostgreSQL, carry nothing or have one end.  The clocks of the nodes are a
// minute apart, those of the workers too.  Nothing dies: everything wakes up and believes that no
// time has passed.
import { describe, it } from 'node:test';
import { Chaos, SEED, survive, Tumbler } from './lib/chaos.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { Server } from './lib/server.mjs';
import { skewedBy } from './lib/skew.mjs';
import { wireToDatabase, wireToServer } from './lib/wire.mjs';

const LEASE_MS = 3000;
const SKEW_S = 30;
const CONFIG = 'workers: 1\nlimits: {maxActiveRuns: 6}\n' +
    `lease: {leaseMs: ${LEASE_MS}, heartbeatMs: 700}\n`;

class Freezes extends Chaos {
    async makeNodes() {
        this.toDatabase = await Promise.all([wireToDatabase(this.db), wireToDatabase(this.db)]);
        return this.toDatabase.map((wire, i) => new Server({ config: this.config, db: wire.url,
            env: skewedBy(i === 0 ? SKEW_S : -SKEW_S) }));
    }

    async makeWorkers() {
        this.toNode = await Promise.all(this.nodes.map((node) => wireToServer(node.url)));
        return this.toNode.map((wire, i) => new RemoteWorker(this.nodes[i], { name: `w${i}`,
            url: wire.url, env: skewedBy(i === 0 ? -SKEW_S : SKEW_S) }));
    }

    // Of both nodes one at a time is out of reach of the database or of its workers' heartbeats
    // for longer than a lease; the other one may be frozen meanwhile.
    makeTumblers() {
        const frozen = (name, signal) =>
            new Tumbler(`${name} stands still`, () => signal('SIGSTOP'), () => signal('SIGCONT'));
        const parted = (name, wire) => new Tumbler(`${name} is cut`,
            () => wire.partition(), () => wire.heal());
        const halved = (name, wire) => new Tumbler(`${name} has one end`,
            () => wire.halfClose(this.roll() < 0.5 ? 'near' : 'far'), () => wire.reset());
        const database = (i) => `the line from node ${i} to PostgreSQL`;
        const node = (i) => `the line from w${i} to node ${i}`;
        return {
            nodes: this.nodes.map((each, i) =>
                frozen(`node ${i}`, (name) => each.child.kill(name))),
            workers: this.workers.map((each) =>
                frozen(each.name, (name) => each.signal(name))),
            cuts: this.toDatabase.map((wire, i) => parted(database(i), wire)),
            ends: this.toDatabase.map((wire, i) => halved(database(i), wire)),
            nodeCuts: this.toNode.map((wire, i) => parted(node(i), wire)),
            nodeEnds: this.toNode.map((wire, i) => halved(node(i), wire)),
        };
    }

    hand() {
        return this.shuffled(Object.values(this.tumblers).map((kind) => this.pick(kind)));
    }

    kill() {
        for (const each of [...(this.nodes ?? []), ...(this.workers ?? [])])
            each.child?.kill('SIGCONT');
        super.kill();
        for (const wire of [...(this.toDatabase ?? []), ...(this.toNode ?? [])]) wire.close();
    }
}

describe(`chaos of what stands still (seed ${SEED})`, () => {
    it('all tasks complete once, whatever sleeps', (t) => survive(t,
        new Freezes({ config: CONFIG, repositories: 2, openTasks: 4,
            downMs: [1.2 * LEASE_MS, 2.5 * LEASE_MS] })));
});

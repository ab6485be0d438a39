// scratch.test.mjs - ports and databases that are a run's own: no two runs have the same at a time,
// and a killed worker leaves none.  A database is a file of a directory that sandboxes see.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync,
    writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FILES, answers, done, waits } from './lib/git.mjs';
import { newMark } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server, worker, shared, repo;
const mark = newMark();
const names = (prefix) => readdirSync(shared).filter((name) => name.startsWith(prefix));
// What the agent of a run has noted: {ports, database}.
function noted(runId) {
    const [one, two, database] = readFileSync(join(shared, `agent-${runId}`), 'utf8').split(/\s+/);
    return { ports: [one, two], database };
}

describe('scratch', () => {
    before(async () => {
        server = await start({ config: 'workers: 0\nlease: {leaseMs: 3000, heartbeatMs: 300}\n' });
        shared = join(server.dir, 'shared');
        mkdirSync(shared);
        chmodSync(shared, 0o777);
        worker = await new RemoteWorker(server,
            { name: 'a', slots: 4, args: ['--ports', '27310-27330'] }).start();
        const notes = 'echo $DROVER_PORT_1 $DROVER_PORT_2 $DATABASE_URL';
        const agent = `${notes} >${shared}/agent-$DROVER_RUN_ID
            ${waits(mark)}${answers(42)}${done('answered')}`;
        repo = await server.repository('acme/scratch', '', {
            files: FILES,
            agent: { command: ['/bin/sh', '-c', agent], adapter: 'ndjson',
                mounts: [{ path: shared, writable: true }] },
            limits: { maxActiveRuns: 4 },
            scratch: {
                ports: 2,
                databases: [{
                    name: 'test',
                    create: `set -C; : >"${shared}/$DROVER_DATABASE"`,
                    drop: `mktemp "${shared}/dropped-$DROVER_DATABASE.XXXXXX"
                           rm -f "${shared}/$DROVER_DATABASE"`,
                    url: `${shared}/{database}`,
                    variable: 'DATABASE_URL',
                }],
            },
            verify: [{ name: 'unit', command: `test ! -s "$DATABASE_URL" && . ./test.sh &&
                ${notes} >${shared}/verify-$DROVER_RUN_ID` }],
        });
    });
    after(async () => {
        await worker.stop();
        await server.discard();
    });

    it('is a run\'s own, survives no kill -9, and is gone when the run is cleaned', async () => {
        const tasks = [await server.submit(repo.name), await server.submit(repo.name)];
        const runs = tasks.map((task) => task.runId);
        await until('both agents to be at work', () => names('agent-').length === 2);
        const before = runs.map(noted);
        const all = before.flatMap((one) => one.ports);
        assert.equal(new Set(all).size, 4, 'four ports, none of them twice');
        for (const port of all) assert.ok(port >= 27310 && port <= 27330, port);
        assert.equal(names('drover_').length, 2);
        const listed = await until('the leases to be listed', async (note) => {
            const { leasedPorts, leasedDatabases } = note(await worker.listed());
            return leasedPorts === 4 && [leasedPorts, leasedDatabases];
        });
        assert.deepEqual(listed, [4, 2]);

        await worker.stop('SIGKILL');
        assert.equal(names('drover_').length, 2, 'a killed worker drops nothing');
        worker = await worker.start();
        await until('new databases in place of the old ones', (note) => {
            const now = note(runs.map(noted).map((one) => one.database));
            return now.every((database) => before.every((old) => old.database !== database))
                && names('drover_').length === 2;
        });
        for (const runId of runs) await openGate(runId);
        for (const [no, { taskId, runId }] of tasks.entries()) {
            await server.untilTask(taskId, 'completed');
            const agent = noted(runId);
            const [one, , database] = readFileSync(join(shared, `verify-${runId}`), 'utf8')
                .split(/\s+/);
            assert.notEqual(database, agent.database, 'what was verified had its own');
            assert.ok(!agent.ports.includes(one));
            assert.notEqual(agent.database, before[no].database);
        }
        await until('all databases to be dropped', (note) => note(names('drover_')).length === 0);
        const dropped = names('dropped-').map((name) => name.replace(/\..*/, ''));
        assert.equal(new Set(dropped).size, dropped.length, 'each once');
        assert.equal(dropped.length, 6, 'two of a killed worker, two of agents, two of checks');
        await until('the leases to end', () =>
            readdirSync(join(worker.data, 'work/scratch')).length === 0);
    });
});

async function openGate(runId) {
    const gate = join(worker.data, 'work/runs', runId, 'tree', `gate-${mark}`);
    await until(`the agent of ${runId} at its gate`, () => existsSync(gate));
    writeFileSync(join(gate, 'open'), '');
}

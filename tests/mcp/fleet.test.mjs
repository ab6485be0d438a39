// fleet.test.mjs - 50 agents on get_next_task and 1,000 tasks, while agents and server are killed
// at random: each task is done, and done once.
//
// DROVER_SEED replays the dice; DROVER_FLEET=AGENTS,TASKS,KILLS makes it smaller or larger.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dice } from '../e2e/lib/dice.mjs';
import { pullRepository, queueOf } from '../e2e/lib/mcp_work.mjs';
import { TERMINAL, start } from '../e2e/lib/server.mjs';
import { until } from '../e2e/lib/wait.mjs';
import { Agent } from './lib/fleet.mjs';

const [AGENTS, TASKS, KILLS] = (process.env.DROVER_FLEET ?? '50,1000,12').split(',').map(Number);
const SEED = Number(process.env.DROVER_SEED ?? Date.now() % 1_000_000);
const HOURS_MS = 3 * 3600 * 1000; // A machine may be slow; what counts is that it gets there.
const AT_ONCE = 100; // Calls of the test itself.

let server, repo;

async function inBatches(items, work) {
    const results = [];
    for (let at = 0; at < items.length; at += AT_ONCE)
        results.push(...await Promise.all(items.slice(at, at + AT_ONCE).map(work)));
    return results;
}

// Kills it each time that another share of the tasks is done.
async function strike(fleet) {
    for (let kill = 1; kill <= KILLS; kill++) {
        const share = Math.floor((TASKS * kill) / (KILLS + 1));
        await until(`${share} tasks are done`, () => fleet.done.size >= share || fleet.over(),
            HOURS_MS);
        await server.crash();
        await server.start();
        fleet.killed++;
    }
}

describe('a fleet of agents over MCP', () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        server.listen = new URL(server.url).host;
        repo = await pullRepository(server, 'acme/fleet', { verify: [] });
    });
    after(() => server.discard());

    it(`does each of ${TASKS} tasks once, whichever process is killed`, async (t) => {
        t.diagnostic(`seed ${SEED}`);
        const roll = dice(SEED);
        let ended = false;
        const fleet = { server, queue: queueOf(repo.name), over: () => ended, died: 0, killed: 0,
            done: new Map(), claims: new Map() };
        const names = Array.from({ length: TASKS }, (_, i) => `Make the answer right: ${i}.`);
        const tasks = await inBatches(names, async (description) =>
            (await server.submit(repo.name, { description, executionMode: 'patch_only' })).taskId);
        const begun = Date.now();
        const agents = Array.from({ length: AGENTS }, (_, i) =>
            new Agent(i, dice(SEED + 1 + Math.floor(roll() * 1e9)), fleet).run());
        const work = Promise.all([...agents, strike(fleet)]);
        work.catch(() => {});
        await Promise.race([work, until('all tasks have ended', allEnded, HOURS_MS, 2000)]);
        ended = true;
        await work;
        t.diagnostic(`${TASKS} tasks in ${Math.round((Date.now() - begun) / 1000)} s; agents ` +
            `died ${fleet.died} times, the server was killed ${fleet.killed} times, ` +
            `${sum(fleet.claims) - fleet.claims.size} tasks were claimed again`);
        assert.equal(fleet.killed, KILLS);
        await assertOnce(tasks, fleet);
    });
});

const sum = (map) => [...map.values()].reduce((all, each) => all + each, 0);

async function allEnded() {
    try {
        const all = await server.list('/v1/tasks?limit=200');
        return all.length === TASKS && all.every(({ status }) => TERMINAL.includes(status));
    } catch {
        await sleep(100); // It is being killed.
        return false;
    }
}

async function assertOnce(tasks, fleet) {
    for (const [taskId, claims] of fleet.done)
        assert.equal(claims.size, 1, `${taskId} was completed by ${[...claims]}`);
    await inBatches(tasks, async (id) => {
        const task = await server.task(id);
        assert.equal(task.status, 'completed', JSON.stringify(task));
        assert.equal(task.runs.length, 1);
        const types = (await server.events(task.runs[0].id)).map(({ type }) => type);
        for (const once of ['agent.task.submitted', 'agent.patch.created', 'agent.run.completed'])
            assert.equal(types.filter((type) => type === once).length, 1, `${id} ${once}`);
    });
}

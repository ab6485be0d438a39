// account_pool.test.mjs - runs share accounts: one run in a home, the next account when one is used
// up, another agent when all are; and nothing of it is lost by kill -9.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertHistory } from './lib/cloudevents.mjs';
import { callDrover } from './lib/cli.mjs';
import { on } from './lib/database.mjs';
import { done, fixes, says, waits } from './lib/git.mjs';
import { assertNowhere } from './lib/nowhere.mjs';
import { newMark } from './lib/procs.mjs';
import { Server, makeDirectory } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const FIRST_SECRET = 'first-secret-of-account-one', SECOND_SECRET = 'second-secret-of-account-two';
const RESET_SECONDS = 6;
const base = makeDirectory();
const shared = join(base, 'shared'); // What agents of all runs write to: who is in which home.
let server, config;

function makeAccounts() {
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    for (const name of ['one', 'two']) {
        mkdirSync(join(base, name));
        writeFileSync(join(base, name, 'login'), name);
    }
    mkdirSync(join(base, 'own/.codex'), { recursive: true }); // Of the server's own user.
    writeFileSync(join(base, 'own/.codex/auth.json'), '{}');
    writeFileSync(join(base, 'token'), `${SECOND_SECRET}\nand more\n`);
    return `workers: 6
accounts:
  - name: one
    provider: claude
    home: ${base}/one
    env: [ACCOUNT=one, CLAUDE_CODE_OAUTH_TOKEN=$TOKEN_ONE]
  - name: two
    provider: claude
    home: ${base}/two
    env: [ACCOUNT=two, 'CLAUDE_CODE_OAUTH_TOKEN=@${base}/token']
  - {name: broken, provider: claude, env: [ANTHROPIC_API_KEY=$NOT_THERE]}
  - {name: spare, provider: codex, env: [ACCOUNT=spare], model: spare-1, maxRuns: 1}
`;
}

// An agent that looks where it is, alone in its home, and meets a limit where one lies in wait.
const agent = (mark, secret) => `
[ "$(cat "$HOME/login")" = "$ACCOUNT" ] || exit 9
[ -z "$ANTHROPIC_API_KEY" ] || exit 8
case "$CLAUDE_CODE_OAUTH_TOKEN" in ${secret}) ;; *) exit 7 ;; esac
[ -e "$HOME/mine" ] && echo "again $DROVER_RUN_ID" >>${shared}/kept
touch "$HOME/mine"
mkdir ${shared}/in-$ACCOUNT || echo "$ACCOUNT $DROVER_RUN_ID" >>${shared}/clashes
if mv ${shared}/limit-$ACCOUNT ${shared}/met-$ACCOUNT 2>/dev/null; then
    at=$(cat ${shared}/met-$ACCOUNT)
    rmdir ${shared}/in-$ACCOUNT
    info='"rate_limit_info":{"status":"rejected","resetsAt":'$at'}'
    printf '{"type":"rate_limit_event",%s}\\n' "$info"
    ${says({ type: 'result', subtype: 'success', is_error: true, api_error_status: 429,
        result: 'API Error: 429', num_turns: 1, total_cost_usd: 0.25 })}exit 1
fi
if [ -e ${shared}/warn-$ACCOUNT ]; then
    info='"status":"allowed_warning","rateLimitType":"five_hour","utilization":0.91'
    info="$info,\\"resetsAt\\":$(($(date +%s) + 3600))"
    printf '{"type":"rate_limit_event","rate_limit_info":{%s}}\\n' "$info"
fi
echo "$CLAUDE_CODE_OAUTH_TOKEN"
${waits(mark)}rmdir ${shared}/in-$ACCOUNT
${fixes}`;

const repository = (name, mark, more = {}) => server.repository(name, '', {
    agent: { command: ['/bin/sh', '-c', agent(mark, '*-secret-of-account-*')], adapter: 'claude',
        mounts: [{ path: shared, writable: true }], accounts: ['one', 'two'], ...more } });

const account = async (wanted) =>
    (await server.list('/v1/accounts')).find(({ name }) => name === wanted);
const chosen = (runId) => server.dataOf(runId, 'agent.account.chosen');

// The next run in this home meets a limit that ends on that second.
function layLimit(name) {
    const at = Math.floor(Date.now() / 1000) + RESET_SECONDS;
    writeFileSync(join(shared, `limit-${name}`), `${at}`);
    chmodSync(join(shared, `limit-${name}`), 0o666);
    return new Date(at * 1000).toISOString();
}

const leaveHomes = () => {
    for (const entry of readdirSync(shared))
        if (entry.startsWith('in-')) rmSync(join(shared, entry), { recursive: true });
};

describe('a pool of accounts', { concurrency: 1 }, () => {
    before(async () => {
        config = makeAccounts();
        server = new Server({ config,
            env: { TOKEN_ONE: FIRST_SECRET, HOME: join(base, 'own'),
                ANTHROPIC_API_KEY: 'of-the-server-itself', OPENAI_API_KEY: 'of-it-too' } });
        await server.start();
    });
    after(() => server.discard());

    it('has one run in a home, moves one that met a limit, and resumes after kill -9', async () => {
        const mark = newMark();
        const repo = await repository('acme/pool', mark);
        const reset = layLimit('one');
        const first = await server.submit(repo.name);
        await server.untilEvent(first.runId, 'agent.account.chosen',
            ({ data }) => data.account === 'two');
        const others = [await server.submit(repo.name), await server.submit(repo.name)];
        const [{ data }] = (await server.list('/v1/events?type=agent.account.parked'))
            .filter((event) => event.data.account === 'one');
        assert.equal(Date.parse(data.parkedUntil), Date.parse(reset), 'to the second');
        await server.untilGate(mark);
        await server.crash();
        leaveHomes(); // What the killed agents could not.
        await server.start();
        // The first keeps the other home, so the next one waits for the reset and starts by itself.
        await server.untilEvent(others[0].runId, 'agent.account.chosen',
            (event) => event.data.account === 'one');
        for (const { taskId } of [first, ...others]) await server.letThrough(mark, taskId);
        assert.deepEqual((await chosen(first.runId)).map((choice) => choice.account),
            ['one', 'two']);
        assert.equal((await server.run(first.runId)).attempt, 1, 'a limit costs no attempt');
        for (const { runId } of [first, ...others]) assertHistory(await server.events(runId));
        // Nobody used the account between its limit and its reset.
        const all = await server.list('/v1/events?type=agent.account.chosen&limit=200');
        const early = all.filter((event) => event.data.account === 'one' &&
            event.data.runId !== first.runId && Date.parse(event.time) < Date.parse(reset));
        assert.deepEqual(early, []);
        assert.ok(!existsSync(join(shared, 'clashes')), 'two runs in one home');
        const [one, two] = [await account('one'), await account('two')];
        assert.deepEqual([one.status, one.activeRuns, two.activeRuns], ['in_use', 0, 0]);
        assert.equal(one.hits, 1);
        assert.equal(one.costUsd, 0.25);
        assert.equal(one.costTodayUsd, 0.25);
        await assertNowhere(server, [first.runId], FIRST_SECRET, SECOND_SECRET);
    });

    it('gives many runs one home each, at any time', async () => {
        const mark = newMark();
        const repo = await repository('acme/many', mark);
        rmSync(join(shared, 'kept'), { force: true });
        const tasks = [];
        for (let i = 0; i < 6; i++) tasks.push(await server.submit(repo.name));
        const waiting = await until('four of them to wait', async (note) => {
            const runs = await Promise.all(tasks.map(({ runId }) => server.run(runId)));
            const left = runs.filter((run) => run.status === 'queued');
            return note(left).length === 4 && left.every((run) => run.deferredReason) && left;
        });
        assert.deepEqual(new Set(waiting.map((run) => run.deferredReason)),
            new Set(['no_account_free']));
        await Promise.all(tasks.map(({ taskId }) => server.letThrough(mark, taskId)));
        assert.ok(!existsSync(join(shared, 'clashes')), 'two runs in one home');
        const used = await Promise.all(tasks.map(async ({ runId }) =>
            (await server.run(runId)).account));
        assert.deepEqual(new Set(used), new Set(['one', 'two']));
        assert.ok(!existsSync(join(shared, 'kept')), 'a home of another run');
    });

    on('postgres', it)('gives them one home each across two nodes, in every attempt', async () => {
        const other = new Server({ config, env: server.env, db: server.db });
        await other.start();
        const repairs = `mkdir ${shared}/in-$ACCOUNT || echo "$ACCOUNT" >>${shared}/clashes
            if [ $DROVER_ATTEMPT = 1 ]; then echo 40 >answer.txt; else echo 42 >answer.txt; fi
            rmdir ${shared}/in-$ACCOUNT\n`;
        const repo = await repository('acme/nodes', newMark(),
            { command: ['/bin/sh', '-c', repairs + done()] });
        const tasks = [];
        for (let i = 0; i < 12; i++)
            tasks.push(await (i % 2 ? server : other).submit(repo.name));
        for (const { taskId, runId } of tasks) {
            await server.untilTask(taskId, 'completed');
            assert.equal((await server.run(runId)).attempt, 2);
        }
        assert.ok(!existsSync(join(shared, 'clashes')), 'two runs in one home');
        await other.discard();
    });

    it('goes elsewhere before a limit is met, where the program says so', async () => {
        const mark = newMark();
        const repo = await repository('acme/warned', mark);
        for (const name of ['one', 'two']) writeFileSync(join(shared, `warn-${name}`), '');
        const first = await server.submit(repo.name);
        await server.letThrough(mark, first.taskId);
        const { account: near } = await server.run(first.runId);
        const far = near === 'one' ? 'two' : 'one';
        const row = await account(near);
        assert.deepEqual([row.status, row.used, row.windows[0].window, row.windows[0].status],
            ['in_use', 0.91, 'five_hour', 'allowed_warning']);
        assert.equal(row.resetsAt, row.windows[0].resetsAt);
        assert.match((await callDrover(server, ['accounts'])).stdout,
            new RegExp(`^${near} .* five_hour 91% +9% `, 'm'));
        // Then the other one as well: where none is better, runs go on.
        for (const wanted of [far, null]) {
            const next = await server.submit(repo.name);
            await server.letThrough(mark, next.taskId);
            const [choice] = await chosen(next.runId);
            if (wanted) assert.deepEqual([choice.account, choice.standing], [wanted, 'free']);
            else assert.equal(choice.standing, 'near_limit');
        }
        for (const name of ['one', 'two']) rmSync(join(shared, `warn-${name}`));
    });

    it('falls back on another agent and says so', async () => {
        await server.post('/v1/accounts/one/park',
            { until: new Date(Date.now() + 3600e3).toISOString(), reason: 'for people' });
        // Nor does it get the login or the key of the server's own user.
        const spare = `[ "$ACCOUNT" = spare ] && [ "$DROVER_MODEL" = spare-1 ] || exit 9
            [ ! -e "$HOME/.codex/auth.json" ] && [ -z "$OPENAI_API_KEY" ] || exit 8\n`;
        const repo = await repository('acme/falls', newMark(), { accounts: ['one'], fallback: [
            { use: 'codex', command: ['/bin/sh', '-c', spare + fixes], account: 'spare' }] });
        const { run } = await server.finish(repo.name, 'completed');
        assert.deepEqual([run.account, run.agent, run.fallback], ['spare', 'codex', 1]);
        assert.deepEqual((await chosen(run.id)).map((choice) => [choice.account, choice.fallback]),
            [['spare', 1]]);
        const row = await account('one');
        assert.deepEqual([row.status, row.reason], ['parked', 'for people']);
        await server.post('/v1/accounts/one/resume');
    });

    it('refuses an account that lacks its login, by the name of what is missing', async () => {
        const repo = await repository('acme/broken', newMark(), { accounts: ['broken'] });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'account_incomplete');
        assert.match(task.errorMessage, /NOT_THERE is not set/);
    });

    it('is refused to a repository by a name that nobody configured', async () => {
        const agent = { command: ['x'], accounts: ['one', 'tow'], fallback: [
            { use: 'codex', accounts: ['spaer'] }] };
        const res = await server.call('PUT', '/v1/repositories/acme%2Ftypo',
            { body: { url: '/srv/git/x.git', agent } });
        assert.equal(res.status, 422);
        assert.deepEqual(res.json.errors.map(({ path }) => path),
            ['agent.accounts[1]', 'agent.fallback[0].accounts[0]']);
        assert.match(res.json.detail, /account tow is not in the server's configuration/);
    });

    it('is shown, parked and resumed on the command line', async () => {
        const park = await callDrover(server,
            ['accounts', 'park', 'two', '--until', '2h', '--json']);
        assert.equal(JSON.parse(park.stdout).status, 'parked');
        const { stdout } = await callDrover(server, ['accounts']);
        assert.match(stdout, /^ACCOUNT +PROVIDER +STATUS +RUNS +USED +LEFT +RESET +TODAY +TOTAL/);
        assert.match(stdout, /^two +claude +parked +0\/1/m);
        assert.match(stdout, /^spare +codex +in_use +0\/1/m);
        const resumed = await callDrover(server, ['accounts', 'resume', 'two']);
        assert.match(resumed.stdout, /in_use/);
        const unknown = await callDrover(server, ['accounts', 'park', 'nobody', '--until', '2h']);
        assert.equal(unknown.status, 3);
        const endless = await callDrover(server, ['accounts', 'park', 'two', '--until', 'soon']);
        assert.equal(endless.status, 2);
    });
});

// hostile_agents.test.mjs - every command that drover runs for a repository hunts for secrets: the
// agent, its plan, a check, a step of the repository's own and a judge.  As root and as an ordinary
// user, in the server and in a remote worker.  And without a sandbox none of them runs.
import assert from 'node:assert/strict';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, readdirSync, statSync,
    symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { callDrover } from './lib/cli.mjs';
import { FILES, fixes, waits } from './lib/git.mjs';
import { newMark } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { BIN, makeDirectory, start } from './lib/server.mjs';

const ROOT = process.getuid() === 0;
const ORDINARY = 65534;
const HUNT = readFileSync(fileURLToPath(new URL('lib/hunt.mjs', import.meta.url)), 'utf8');
const reversed = (text) => [...text].reverse().join('');

// Not below /tmp, which every sandbox has fresh: data is usually kept elsewhere.
function placeForData() {
    try {
        accessSync('/var/lib', constants.W_OK);
        return '/var/lib';
    } catch {
        return tmpdir();
    }
}

// Can that user start the program under test?
function reachable(uid) {
    for (let dir = dirname(BIN); ROOT && uid !== undefined && dir !== '/'; dir = dirname(dir))
        if (!(statSync(dir).mode & 0o001)) return false;
    return true;
}

// A server with something to find everywhere, and the configuration of a repository that hunts.
async function makeVictim({ uid, remote }) {
    const mark = newMark();
    const canary = (name) => `canary-${name}-${mark}`;
    const env = { CANARY_CREDENTIAL: canary('credential') };
    const server = await start({
        uid,
        base: placeForData(),
        args: ['--workers', remote ? '0' : '4'],
        config: `# ${canary('configuration')}\nlog: {level: info}\n`,
        env,
    });
    const home = join(server.dir, 'home');
    const tokenFile = join(server.dir, 'worker.token');
    mkdirSync(home);
    writeFileSync(join(home, 'notes.txt'), canary('home'));
    const token = await server.post('/v1/tokens', { name: canary('database'), role: 'worker' });
    writeFileSync(tokenFile, `${token.token}\n`);
    server.own(home);
    const victim = {
        server, mark,
        canaries: {
            credential: env.CANARY_CREDENTIAL, configuration: canary('configuration'),
            home: canary('home'), database: canary('database'), 'other run': canary('other'),
            'admin token': server.token, 'worker token': token.token,
        },
        paths: {
            data: join(server.data, 'admin.token'), database: join(server.data, 'drover.db'),
            home: join(home, 'notes.txt'), 'token file': tokenFile,
            log: join(server.dir, 'server.log'),
        },
    };
    if (remote) // Where `drover worker` keeps its data when the server's user starts it.
        victim.worker = await new RemoteWorker(server, {
            name: 'far', slots: 4, token: null, args: ['--token-file', tokenFile],
            data: join(server.data, 'worker'), env: { ...env, HOME: home },
        }).start();
    return victim;
}

const hunter = 'node hunt.mjs';
const judges = `${hunter} && printf '{"verdict":"pass"}' >"$DROVER_RESULT"`;
const planner = `${hunter} >hunted.txt || true
    if [ "$DROVER_PHASE" = plan ]; then cat hunted.txt >"$DROVER_PLAN"; exit 0; fi\n${fixes}`;

async function hunt(victim) {
    const { server, mark } = victim;
    const other = await server.repository('acme/other',
        `echo canary-other-${mark} >secret.txt\n${waits(mark)}rm secret.txt\n${fixes}`);
    const { taskId: otherTask } = await server.submit(other.name);
    const gates = victim.worker ?? server;
    await gates.untilGate(mark); // Its tree is there while the others hunt.
    const canaries = Object.fromEntries(Object.entries(victim.canaries)
        .map(([name, text]) => [name, reversed(text)]));
    const repo = await server.repository('acme/hunt', planner, {
        files: { ...FILES, 'hunt.mjs': HUNT,
            'hunt.json': JSON.stringify({ canaries, paths: victim.paths }) },
        plan: {},
        steps: [{ name: 'hunting', phase: 'post-agent', command: hunter }],
        verify: [{ name: 'unit', command: `${hunter} && sh test.sh` }],
        judge: [{ name: 'reviewer', command: judges }],
        retries: { agentAttempts: 1 },
    });
    const { taskId, runId } = await server.submit(repo.name);
    const task = await server.untilTask(taskId, 'completed', 'failed');
    const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
    const texts = {};
    for (const { name, sha256 } of items)
        texts[name] = (await server.call('GET', `/v1/artifacts/${sha256}`)).text;
    await gates.openGate(mark);
    await server.untilTask(otherTask, 'completed');
    return { task, texts };
}

function assertNothingFound({ task, texts }) {
    const all = Object.entries(texts).map(([name, text]) => `${name}: ${text}`).join('\n');
    const finds = all.split('\n').filter((line) => /\bFOUND /.test(line));
    assert.deepEqual([...new Set(finds)], []);
    assert.equal(task.status, 'completed', `${JSON.stringify(task)}\n${all}`);
    const hunted = Object.keys(texts).filter((name) => /\bhunted \d{2,} files/.test(texts[name]));
    for (const name of [/plan/, /diff/, /hunting/, /unit/, /reviewer/])
        assert.ok(hunted.some((each) => name.test(each)), `${name}: ${hunted}\n${all}`);
}

// The socket of agents, asked with a token: its status and code.
function askSocket(socketPath, token, path = '/v1/tokens') {
    const headers = { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
        const req = http.get({ socketPath, path, headers }, (res) => {
            let text = '';
            res.on('data', (part) => (text += part));
            res.on('end', () => resolve({ status: res.statusCode, code: JSON.parse(text).code }));
        });
        req.on('error', reject);
    });
}

describe('the socket of agents', { concurrency: 2 }, () => {
    for (const remote of [false, true]) {
        const of = remote ? 'a remote worker' : 'the server';
        it(`takes run tokens only, of ${of}`, async () => {
            const victim = await makeVictim({ remote });
            const { server, mark } = victim;
            try {
                const repo = await server.repository('acme/waits',
                    `printf %s "$DROVER_TOKEN" >token.txt\n${waits(mark)}rm token.txt\n${fixes}`);
                const { taskId, runId } = await server.submit(repo.name);
                const gates = victim.worker ?? server;
                const run = readFileSync(join(await gates.untilGate(mark), '../token.txt'), 'utf8');
                const socket = join(gates.data, 'drover.sock');
                const refused = { status: 403, code: 'SOCKET_FOR_RUNS' };
                for (const name of ['admin token', 'worker token'])
                    assert.deepEqual(await askSocket(socket, victim.canaries[name]), refused);
                const own = await askSocket(socket, run, `/v1/runs/${runId}`);
                assert.equal(own.status, 200);
                assert.equal((await askSocket(socket, run)).code, 'ROLE_NOT_ALLOWED');
                assert.equal((await askSocket(socket, `drun_${'0'.repeat(90)}`)).status, 401);
                await gates.openGate(mark);
                await server.untilTask(taskId, 'completed');
            } finally {
                await victim.worker?.stop();
                await server.discard();
            }
        });
    }
});

// A PATH with all programs of the machine but bubblewrap.
function pathWithoutSandbox(dir) {
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    for (const name of readdirSync('/usr/bin').filter((each) => each !== 'bwrap'))
        symlinkSync(join('/usr/bin', name), join(bin, name));
    return bin;
}

describe('without bubblewrap', { concurrency: 2 }, () => {
    const dir = makeDirectory();
    const PATH = pathWithoutSandbox(dir);

    it('no agent and no step of a repository runs, and the error says what to do', async () => {
        const server = await start({ env: { PATH } });
        try {
            const mark = join(server.dir, 'it-ran');
            const touch = `touch '${mark}'\n`;
            const repos = [
                await server.repository('acme/agent', touch + fixes),
                await server.repository('acme/plan', touch + fixes, { plan: {} }),
                await server.repository('acme/step', fixes,
                    { steps: [{ name: 'first', phase: 'pre-agent', command: touch }] }),
            ];
            for (const repo of repos) {
                const { task, runId } = await server.finish(repo.name, 'failed');
                assert.equal(task.errorCode, 'sandbox_unavailable', JSON.stringify(task));
                assert.match(task.errorMessage, /apt-get install bubblewrap.*sandbox: none/);
                const tries = (await server.events(runId))
                    .filter((event) => event.type === 'agent.step.failed');
                assert.equal(tries.length, 1);
            }
            assert.ok(!existsSync(mark));
            assert.match(server.said(), /there is no sandbox: every agent/);
        } finally {
            await server.discard();
        }
    });

    it('a remote worker does not start', async () => {
        const server = await start({ args: ['--workers', '0'] });
        try {
            const worker = new RemoteWorker(server, { name: 'bare', env: { PATH } }).spawn();
            assert.notEqual((await worker.exit).code, 0);
            assert.match(worker.said(), /SANDBOX_UNAVAILABLE/);
            assert.match(worker.said(), /apt-get install bubblewrap/);
        } finally {
            await server.discard();
        }
    });

    for (const way of [{ config: 'sandbox: none\n' }, { args: ['--sandbox', 'none'] }]) {
        it(`${JSON.stringify(way)} runs them unconfined, and says so`, async () => {
            const server = await start({ env: { PATH }, ...way });
            try {
                const repo = await server.repository('acme/open', fixes);
                const { runId } = await server.finish(repo.name, 'completed');
                assert.match(server.said(), /WITHOUT a sandbox/);
                const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
                const { sha256 } = items.find((item) => item.name === 'certificate.json');
                const certificate = await server.call('GET', `/v1/artifacts/${sha256}`);
                assert.equal(JSON.parse(certificate.text).sandbox, 'none');
            } finally {
                await server.discard();
            }
        });
    }
});

it('a new token goes to a file that only its owner can read, and never over another', async () => {
    const server = await start({ args: ['--workers', '0'] });
    try {
        const file = join(server.dir, 'new.token');
        const words = ['token', 'create', '--name', 'w', '--role', 'worker', '--out', file];
        const made = await callDrover(server, words);
        assert.equal(made.status, 0, made.stderr);
        assert.equal(statSync(file).mode & 0o777, 0o600);
        const token = readFileSync(file, 'utf8').trim();
        assert.match(token, /^drv_/);
        assert.ok(made.stderr.includes(`The token is in ${file}, readable by its owner only. ` +
            `Revoke it with: drover token revoke ${made.stdout.trim()}`), made.stderr);
        assert.ok(!`${made.stdout}${made.stderr}`.includes(token));
        assert.equal((await server.call('GET', '/v1/version', { token })).status, 200);
        const again = await callDrover(server, words);
        assert.notEqual(again.status, 0);
        assert.match(again.stderr, /FILE_EXISTS/);
        assert.equal(readFileSync(file, 'utf8').trim(), token);
        assert.equal((await server.list('/v1/tokens')).length, 1); // Refused before it was made.
        const nowhere = [...words.slice(0, -1), join(server.dir, 'no/such/dir/x')];
        assert.match((await callDrover(server, nowhere)).stderr, /cannot make/);
    } finally {
        await server.discard();
    }
});

describe('no command finds a secret', { concurrency: 2 }, () => {
    const users = ROOT ? { root: undefined, 'an ordinary user': ORDINARY }
        : { 'an ordinary user': undefined };
    for (const [name, uid] of Object.entries(users)) {
        for (const remote of [false, true]) {
            it(`of drover as ${name}, ${remote ? 'in a remote worker' : 'in the server'}`,
                async (t) => {
                    if (!reachable(uid)) return t.skip('another user cannot reach the program');
                    const victim = await makeVictim({ uid, remote });
                    try {
                        if (!victim.server.needsWalls(t)) return;
                        assertNothingFound(await hunt(victim));
                    } finally {
                        await victim.worker?.stop();
                        await victim.server.discard();
                    }
                });
        }
    }
});

// hostile.test.mjs - agents that mean harm: each is contained, ended, reported with its own code,
// and nothing of it is left.  And what an agent that means well is given: hosts, mounts, a home.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync,
    writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fixes, git, tries, waits } from './lib/git.mjs';
import { newMark, processesWith, untilGone } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { openService } from './lib/service.mjs';

const NODE = process.execPath;
const MB = 1024 * 1024;
const ROOT = process.getuid() === 0;
const once = { retries: { agentAttempts: 1 } };
let server;

// Runs one agent to its end; agent and more go into the configuration.
async function run(name, script, agent = {}, more = {}) {
    const repo = await server.repository(`evil/${name}`, script, { ...once, ...more });
    Object.assign(repo.document.agent, agent);
    await server.configure(repo.name, repo.document);
    const { taskId, runId } = await server.submit(repo.name);
    const task = await server.untilTask(taskId, 'completed', 'failed', 'timed_out');
    return { repo, task, runId, run: await server.run(runId) };
}

async function fails(code, name, script, agent, more) {
    const ended = await run(name, script, agent, more);
    assert.equal(ended.task.errorCode, code, JSON.stringify(ended.task));
    return ended;
}

// What stands in report.txt of the pull request.
async function reports(name, script, agent, more) {
    const { repo, task, run: ended, runId } = await run(name, `${script}\n${fixes}`, agent, more);
    assert.equal(task.status, 'completed', JSON.stringify(task));
    return { lines: git(repo.origin, 'show', `${ended.branch}:report.txt`).split('\n'), runId };
}

const untilCleaned = async (runId) => {
    await server.untilCleaned(runId);
    assert.ok(!existsSync(join(server.data, 'work/runs', runId)), 'its directory is gone');
};

describe('a hostile agent', { concurrency: 3 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('that starts more processes than it may is killed', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const { runId } = await fails('agent_process_limit', 'many',
            `for i in 1 2 3 4 5 6; do for j in 1 2 3 4 5 6 7 8 9; do
                sleep 3000.${mark} &
            done; done; wait`, { resources: { processes: 40 } });
        assert.deepEqual(processesWith(mark), []);
        await untilCleaned(runId);
    });

    it('that forks without end gets no further than its limit', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const { task } = await run('forks', `b() { b | b & }; b & exec sleep 3000.${mark}`,
            { resources: { processes: 40 } }, { timeouts: { agentMs: 1500 } });
        // A bomb may burn out at the limit of the kernel before anybody looks.
        assert.match(task.errorCode, /^agent_(process_limit|timed_out)$/);
        assert.deepEqual(processesWith(mark), []);
    });

    it('leaves no daemon behind', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const { task } = await run('daemons', `
            (setsid sh -c 'trap "" TERM HUP; sleep 3000.${mark}' >/dev/null 2>&1 &)
            ${fixes}`);
        assert.equal(task.status, 'completed');
        await untilGone(mark);
    });

    it('that ignores TERM is killed', async () => {
        const mark = newMark();
        await fails('agent_timed_out', 'stubborn',
            `trap '' TERM; while :; do sleep 3000.${mark}; done`, {},
            { timeouts: { agentMs: 700 } });
        assert.deepEqual(processesWith(mark), []);
    });

    it('that fills the disk is killed at its limit, and its files go', async () => {
        const { runId } = await fails('agent_disk_limit', 'disk', `
            i=0; while :; do head -c 1000000 /dev/zero >"junk-$i"; i=$((i + 1)); done`,
        { resources: { diskBytes: 20 * MB } });
        await untilCleaned(runId);
    });

    it('cannot fill memory through /tmp', async (t) => {
        if (!server.needsWalls(t)) return;
        const fills = (path) => `dd if=/dev/zero of=${path} bs=1000000 count=90`;
        const { lines } = await reports('tmp', tries('tmp', fills('/tmp/x')) +
            tries('shm', fills('/dev/shm/x')) + 'rm -f /tmp/x /dev/shm/x',
        { resources: { memoryBytes: 64 * MB } });
        assert.deepEqual(lines, ['tmp no', 'shm no']);
    });

    it('that eats memory is killed at its limit', async () => {
        await fails('agent_memory_limit', 'memory', `exec ${NODE} -e '
            const all = [];
            setInterval(() => { all.push(Buffer.alloc(16 << 20, 1)); }, 10);'`,
        { resources: { memoryBytes: 200 * MB } });
    });

    it('that burns time is killed at its limit', async () => {
        await fails('agent_cpu_limit', 'cpu', 'while :; do :; done',
            { resources: { cpuSeconds: 1 } });
    });

    it('opens no socket to anybody', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const listeners = [join(server.dir, 'other.sock'), `\0${mark}`].map((path) =>
            net.createServer((socket) => socket.end()).listen(path));
        const connects = (where) => `${NODE} -e '
            require("node:net").connect(${where}).on("connect", () => process.exit(0))
                .on("error", () => process.exit(1))'`;
        const { lines } = await reports('sockets',
            tries('loopback', connects(`${new URL(server.url).port}, "127.0.0.1"`)) +
            tries('far', connects('80, "192.0.2.1"')) +
            tries('file', connects(`"${server.dir}/other.sock"`)) +
            tries('abstract', connects(`"\\0${mark}"`)) +
            tries('given', connects('process.env.DROVER_SOCKET')));
        for (const listener of listeners) listener.close();
        assert.deepEqual(lines, ['loopback no', 'far no', 'file no', 'abstract no', 'given ok']);
    });

    it('reads nothing that is not its own', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const other = await server.repository('evil/victim', waits(mark) + fixes);
        const { taskId } = await server.submit(other.name);
        const tree = join(await server.untilGate(mark), '..');
        const { lines } = await reports('reads',
            tries('token', `cat '${server.data}/admin.token'`) +
            tries('database', `ls '${server.data}'/drover.db`) +
            tries('tree', `cat '${tree}/answer.txt'`) +
            tries('runs', `ls '${server.data}'/work/runs | grep -v "$DROVER_RUN_ID"`) +
            tries('shadow', 'cat /etc/shadow') +
            tries('root', 'ls /root') +
            tries('own', 'cat answer.txt'));
        await server.openGate(mark);
        await server.untilTask(taskId, 'completed');
        assert.deepEqual(lines.filter((line) => ROOT || !/^root/.test(line)),
            ['token no', 'database no', 'tree no', 'runs no', 'shadow no']
                .concat(ROOT ? ['root no'] : [], 'own ok'));
    });

    it('cannot rebuild its sandbox from inside', async (t) => {
        if (!server.needsWalls(t)) return;
        const { lines } = await reports('escape',
            tries('userns', 'unshare --user true') +
            tries('mountns', 'unshare --mount true') +
            tries('mount', 'mount -t tmpfs none /mnt') +
            tries('root', '[ "$(id -u)" = 0 ]') +
            (ROOT ? tries('whoami', 'id -un') : '') +
            tries('stdout', 'sh -c "echo x >/dev/stdout"') +
            tries('git', 'git commit --quiet --allow-empty --message=x'));
        assert.deepEqual(lines, ['userns no', 'mountns no', 'mount no', 'root no',
            ...(ROOT ? ['whoami ok'] : []), 'stdout ok', 'git ok']);
    });

    it('cannot have what must stay closed mounted for it', async (t) => {
        if (!server.needsWalls(t)) return;
        for (const path of [server.data, server.dir, '/proc/self', '/dev', '/nowhere/at/all']) {
            const { task } = await run(`mount${path.replaceAll('/', '-')}`, fixes,
                { mounts: [{ path }] });
            assert.equal(task.errorCode, 'agent_mount_refused', path);
        }
        const { task } = await run('home', fixes, { home: server.data });
        assert.equal(task.errorCode, 'agent_home_refused');
    });
});

describe('an agent without a network', () => {
    let origin, asked;
    before(async () => {
        server = await start({ args: ['--workers', '2'] });
        asked = [];
        origin = await openService(({ url, headers }) => {
            asked.push(`${url} ${headers.connection}`);
            return { body: 'hello from outside' };
        });
    });
    after(async () => {
        origin.close();
        await server.discard();
    });

    it('reaches the hosts that are listed, and is told of those that are not', async (t) => {
        if (!server.needsWalls(t)) return;
        const listed = origin.host;
        const { lines, runId } = await reports('egress', `cat >proxy.mjs <<'END'
            import http from 'node:http';
            import { appendFileSync } from 'node:fs';
            const { hostname, port } = new URL(process.env.HTTP_PROXY);
            const say = (text) => appendFileSync('report.txt', text + '\\n');
            const plain = (path) => new Promise((done) => http.get({ hostname, port, path },
                (res) => res.setEncoding('utf8').on('data', (text) =>
                    say('plain ' + res.statusCode + ' ' + text.trim())).on('end', done)));
            const tunnel = (path) => new Promise((done) => http.request(
                { hostname, port, path, method: 'CONNECT' }).on('connect', (res, socket) => {
                say('tunnel ' + res.statusCode);
                if (res.statusCode !== 200) return done(socket.destroy());
                socket.end('GET /inner HTTP/1.0\\r\\n\\r\\n');
                let text = '';
                socket.on('data', (bytes) => { text += bytes; }).on('end', () => {
                    say(text.split('\\r\\n\\r\\n')[1]);
                    done();
                });
            }).end());
            await plain('http://${listed}/plain');
            await tunnel('${listed}');
            await plain('http://other.example/');
            await tunnel('127.0.0.1:1');
            await tunnel('127.0.0.1:1');
            process.exit(0);
END
            ${NODE} proxy.mjs; rm proxy.mjs`, { egress: [listed] });
        assert.deepEqual(lines, ['plain 200 hello from outside', 'tunnel 200',
            'hello from outside', 'plain 403 drover: this host is not in agent.egress',
            'tunnel 403', 'tunnel 403']);
        assert.deepEqual(asked, ['/plain close', '/inner undefined']);
        const told = (await server.events(runId)).map((event) => event.data.text)
            .filter((text) => /^refused/.test(text ?? ''));
        assert.deepEqual(told, ['refused: other.example:80: not in agent.egress',
            'refused: 127.0.0.1:1: not in agent.egress']);
    });

    it('has the mounts, the home and the model that its repository names', async (t) => {
        if (!server.needsWalls(t)) return;
        const seed = join(server.dir, 'seed');
        const tools = join(server.dir, 'tools');
        mkdirSync(join(seed, '.agent'), { recursive: true });
        mkdirSync(tools);
        writeFileSync(join(seed, '.agent/key'), 'the key\n', { mode: 0o600 });
        symlinkSync('.agent/key', join(seed, 'key'));
        writeFileSync(join(tools, 'tool'), '#!/bin/sh\necho tool\n', { mode: 0o755 });
        const { lines } = await reports('kit', `
            { cat ~/key; readlink ~/key; echo x >>~/.agent/key && echo writable; ${tools}/tool
              echo "$DROVER_MODEL"; } >report.txt
            ${tries('mount', `touch ${tools}/new`)}`,
        { home: seed, mounts: [{ path: tools }], model: 'large-1' });
        assert.deepEqual(lines, ['the key', '.agent/key', 'writable', 'tool', 'large-1',
            'mount no']);
        assert.equal(readFileSync(join(seed, '.agent/key'), 'utf8'), 'the key\n');
        assert.deepEqual(readdirSync(tools), ['tool']);
    });
});

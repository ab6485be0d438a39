// unpublished.test.mjs - what an agent has done is saved before anything of it is deleted.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync,
    writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { assertHistory } from './lib/cloudevents.mjs';
import { answers, done, fixes, gaveUp, git, refs, says, stays, waits } from './lib/git.mjs';
import { withServer as onServer } from './lib/own.mjs';
import { newMark, untilAsleep, untilGone } from './lib/procs.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
const OFTEN = { timeouts: { snapshotMs: 100 } };
const NEVER = { timeouts: { snapshotMs: 0 } };
const turn = says({ type: 'turn', turns: 1 });
const half = (text) => `${answers(text)}mkdir -p new; echo half >new/file.txt\n`;

const snapshots = async (runId) => (await server.get(`/v1/runs/${runId}/snapshots`)).items;
const mirrors = () => join(server.data, 'work/mirrors');
const runDir = (runId) => join(server.data, 'work/runs', runId);
const keptDir = () => join(server.data, 'work/kept');

const untilCleaned = async (runId) => {
    await server.untilCleaned(runId);
    assert.ok(!existsSync(runDir(runId)), 'its directory is gone');
};
const cancel = (taskId) => server.cancel(taskId, 'enough');

// The last snapshot's file, fetched as the answer says.
function fetched(origin, { fetch, commit }, path) {
    assert.match(fetch, /^git fetch \S+ \S+$/);
    const [, , from, ref] = fetch.split(' ');
    const clone = join(server.dir, `clone-${newMark()}`);
    git(server.dir, 'clone', '--quiet', origin, clone);
    git(clone, 'fetch', '--quiet', from, ref);
    assert.equal(git(clone, 'rev-parse', 'FETCH_HEAD'), commit);
    return git(clone, 'show', `FETCH_HEAD:${path}`);
}

describe('unpublished work of an agent', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('takes snapshots while the agent works, and only of what is new', async () => {
        const [first, second] = [newMark(), newMark()];
        const agent = `${half(1)}${waits(first)}${answers(2)}${waits(second)}${fixes}`;
        const repo = await server.repository('acme/often', agent, OFTEN);
        const { taskId, runId } = await server.submit(repo.name);
        const shows = (text) => until(`a snapshot of ${text}`, async () => {
            const last = (await snapshots(runId)).at(-1);
            return last && git(last.mirror, 'show', `${last.commit}:answer.txt`) === text && last;
        });
        const one = await shows('1');
        assert.equal(one.reason, 'interval');
        assert.equal(git(one.mirror, 'show', `${one.commit}:new/file.txt`), 'half');
        assert.match(one.ref, new RegExp(`^refs/drover/snapshots/${runId}/1-\\d+$`));
        assert.ok(one.files >= 2);
        await server.openGate(first);
        const two = await shows('2');
        assert.equal(git(two.mirror, 'merge-base', one.commit, two.commit), one.commit,
            'the later one leads to the earlier');
        await server.openGate(second);
        await server.untilTask(taskId, 'completed');
        await untilCleaned(runId);
        const left = Object.keys(refs(two.mirror)).filter((ref) => ref.includes(runId));
        assert.deepEqual(left, [], 'what is published needs no snapshot');
        const all = await snapshots(runId);
        assert.ok(all.every((each) => each.superseded && !each.fetch));
        assert.equal(new Set(all.map((each) => each.commit)).size, all.length);
        assertHistory(await server.events(runId));
    });

    it('takes none of a tree that nobody changed, and none when they are off', async () => {
        for (const [name, agent, more] of [
            ['idle', `sleep 0.5\n${fixes}`, OFTEN], ['off', `${half(1)}sleep 0.5\n${fixes}`, NEVER],
        ]) {
            const repo = await server.repository(`acme/${name}`, agent, more);
            const { runId } = await server.finish(repo.name, 'completed');
            const all = await snapshots(runId);
            assert.ok(all.length <= (name === 'off' ? 0 : 1), JSON.stringify(all));
        }
    });

    const ends = [
        { what: 'is cancelled', status: 'cancelled', reason: 'cancelled',
          agent: (mark) => half(7) + stays(mark), act: cancel },
        { what: 'passes its time', status: 'timed_out', reason: 'timed_out',
          agent: (mark) => half(7) + stays(mark), agentMs: 2000 },
        { what: 'is cut off', status: 'failed', reason: 'cut_off', task: { maxTurns: 1 },
          agent: (mark) => half(7) + turn + turn + stays(mark) },
        { what: 'gives up', status: 'failed', reason: 'ended',
          agent: () => half(7) + gaveUp('too hard') },
        { what: 'never passes verification', status: 'failed', reason: 'ended',
          agent: () => half(7) + done(), retries: { agentAttempts: 1 } },
        { what: 'makes too large a patch', status: 'failed', reason: 'failed',
          agent: () => `${half(7)}seq 1 999 >many.txt\n${done()}`,
          limits: { maxPatchBytes: 1024 } },
    ];
    for (const { what, status, reason, agent, act, task = {}, agentMs = 0, ...more } of ends) {
        const name = `has the last state of an agent that ${what}, for people to fetch`;
        it(name, () => withRoom(agentMs, async (limitMs) => {
            const mark = newMark();
            const timeouts = { ...NEVER.timeouts, ...(limitMs ? { agentMs: limitMs } : {}) };
            const config = { ...more, timeouts };
            const repo = await server.repository(`acme/${mark}`, agent(mark), config);
            const { taskId, runId } = await server.submit(repo.name, task);
            if (act) {
                await untilAsleep(mark);
                await act(taskId);
            }
            await server.untilTask(taskId, status);
            await untilGone(mark);
            await untilCleaned(runId);
            const [last, ...others] = await snapshots(runId);
            if (limitMs && !last) throw new TooSlow('the agent had written nothing');
            assert.deepEqual(others, []);
            assert.equal(last.reason, reason);
            assert.equal(last.published, true);
            assert.ok(last.ref in refs(repo.origin));
            assert.equal(fetched(repo.origin, last, 'answer.txt'), '7');
            assert.equal(fetched(repo.origin, last, 'new/file.txt'), 'half');
            assertHistory(await server.events(runId));
        }));
    }

    it('leaves no snapshot of a run whose agent did nothing', async () => {
        const repo = await server.repository('acme/nothing', gaveUp('no'), OFTEN);
        const { runId } = await server.finish(repo.name, 'failed');
        await untilCleaned(runId);
        assert.deepEqual(await snapshots(runId), []);
    });

    it('tells people the command that gets it back', async () => {
        const repo = await server.repository('acme/people', half(9) + gaveUp('no'), NEVER);
        const { runId } = await server.finish(repo.name, 'failed');
        await untilCleaned(runId);
        const [{ fetch, ref }] = await snapshots(runId);
        const { code, out } = await launch(['snapshots', runId, '--data', server.data], {}).ended;
        assert.equal(code, 0);
        assert.ok(out.includes(fetch) && out.includes(ref), out);
    });

    it('keeps the tree when there is no place for a snapshot', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/kept', half(5) + stays(mark), NEVER);
        const { taskId, runId } = await server.submit(repo.name);
        await untilAsleep(mark);
        // Its mirror is away: root may write where others may not.
        const [mine] = readdirSync(mirrors()).filter((name) => name.endsWith('.git') &&
            readFileSync(join(runDir(runId), 'tree.work'), 'utf8').includes(name));
        const mirror = join(mirrors(), mine);
        renameSync(mirror, `${mirror}.away`);
        writeFileSync(mirror, 'not a repository');
        await cancel(taskId);
        await server.untilTask(taskId, 'cancelled');
        await untilCleaned(runId);
        const tree = join(keptDir(), runId);
        assert.equal(readFileSync(join(tree, 'answer.txt'), 'utf8'), '5\n');
        assert.equal(readFileSync(join(tree, 'new/file.txt'), 'utf8'), 'half\n');
        const [kept] = await snapshots(runId);
        assert.deepEqual([kept.ref, kept.keptAt], [null, tree]);
        assert.ok(kept.error);
        assert.ok(server.said().includes(tree), 'the log says where it is');
        const { keptTrees } = await server.get('/v1/doctor');
        assert.deepEqual(keptTrees, { count: 1, path: keptDir() });
        const { out } = await launch(['doctor', '--data', server.data], {}).ended;
        assert.match(out, /1 tree with unpublished work/);
        rmSync(mirror);
        renameSync(`${mirror}.away`, mirror);
    });
});

const prune = async (...args) => {
    const { code, out, err } = await launch(['prune', '--data', server.data, ...args], {}).ended;
    assert.equal(code, 0, err);
    return args.includes('--json') ? JSON.parse(out) : out;
};

describe('unpublished work', () => {
    // What three runs leave: pushed to the origin; an origin that does not take it; a secret.
    const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'.slice(0, 36)}`;
    let pushed, refused, held;

    before(async () => {
        server = await start({ args: ['--workers', '3'], config: 'limits: {keepDays: 1}\n' });
        const run = async (name, agent) => {
            const repo = await server.repository(`acme/${name}`, agent, NEVER);
            if (name === 'refused')
                git(repo.origin, 'config', 'receive.hideRefs', 'refs/drover/snapshots');
            const { runId } = await server.finish(repo.name, 'failed');
            await untilCleaned(runId);
            return { ...repo, runId };
        };
        [pushed, refused, held] = await Promise.all([
            run('pushed', half(1) + gaveUp('no')), run('refused', half(2) + gaveUp('no')),
            run('held', `echo 'token = "${secret}"' >new.txt\n${done()}`)]);
    });
    after(() => server.discard());

    const kinds = (items) => items.map(({ kind, repository, published }) =>
        `${kind} ${repository} ${published}`).sort();

    it('is listed with what is published, and counted by the doctor', async () => {
        const { items, deleted } = await prune('--json');
        assert.equal(deleted, 0);
        assert.deepEqual(kinds(items), ['held_patch acme/held false',
            'snapshots acme/held false', 'snapshots acme/pushed true',
            'snapshots acme/refused false']);
        const { node } = await server.get('/v1/version');
        assert.ok(items.every((item) => item.bytes > 0 && item.worker === node));
        const bytes = items.filter((item) => !item.published)
            .reduce((sum, item) => sum + item.bytes, 0);
        await until('the doctor knows it', async () => {
            const { unpublished, healthy } = await server.get('/v1/doctor');
            const [{ worker, count, bytes: seen } = {}] = unpublished;
            return healthy && worker === node && count === 3 && seen === bytes;
        });
        const { out } = await launch(['doctor', '--data', server.data], {}).ended;
        assert.match(out, /unpublished work on .*: 3 items/);
    });

    it('is deleted by no one but prune --yes, and only what was chosen', async () => {
        assert.match(await prune('--repo', refused.name), /Nothing was deleted/);
        assert.equal((await prune('--json', '--older-than', '1', '--yes')).deleted, 0);
        assert.equal((await prune('--json')).items.length, 4);
        const one = await prune('--json', '--repo', refused.name, '--yes');
        assert.deepEqual([one.deleted, one.items[0].runId], [1, refused.runId]);
        const two = await prune('--json', held.runId, '--yes');
        assert.equal(two.deleted, 2);
        assert.deepEqual(kinds((await prune('--json')).items), ['snapshots acme/pushed true']);
        assert.ok(Object.keys(refs(pushed.origin)).some((ref) => ref.includes(pushed.runId)),
            'what the origin has stays there');
    });

    it('says what is wrong with what it was given', async () => {
        const table = [[['--data', join(server.dir, 'none')], 3, /no work directory/],
            [['--data', server.data, 'latest'], 2, /not the id of a run/]];
        for (const [args, status, text] of table) {
            const { code, err } = await launch(['prune', ...args], {}).ended;
            assert.equal(code, status);
            assert.match(err, text);
        }
    });
});

const withServer = (name, body) => onServer(name, { args: ['--workers', '2'] }, (own, t) => {
    server = own;
    return body(t);
});

describe('unpublished work over the end of a server', () => {
    const table = [
        { how: 'kill -9', end: () => server.crash(), reason: 'recovered' },
        { how: 'SIGTERM', end: () => server.stop(), reason: 'shutdown' },
    ];
    for (const { how, end, reason } of table) {
        withServer(`${how}: the half-done work is in a ref, and the run goes on`, async (t) => {
            if (!server.needsWalls(t)) return;
            const mark = newMark();
            const repo = await server.repository('acme/crash', half(3) + waits(mark) + fixes,
                NEVER);
            const { taskId, runId } = await server.submit(repo.name);
            await server.untilGate(mark);
            await end();
            await untilGone(mark);
            await server.start();
            const { data } = await server.untilEvent(runId, 'agent.snapshot.taken');
            assert.equal(data.reason, reason);
            assert.equal(refs(data.mirror)[data.ref], data.commit);
            assert.equal(git(data.mirror, 'show', `${data.commit}:new/file.txt`), 'half');
            await server.letThrough(mark, taskId);
            assertHistory(await server.events(runId));
        });
    }

    withServer('a tree that cannot be saved is kept, and the run goes on anew', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/full', half(3) + waits(mark) + fixes, NEVER);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate(mark);
        await server.crash();
        writeFileSync(join(runDir(runId), 'tree.work'), 'nonsense\n');
        await server.start();
        const { data } = await server.untilEvent(runId, 'agent.snapshot.failed');
        assert.equal(data.keptAt, join(keptDir(), runId));
        assert.equal(readFileSync(join(data.keptAt, 'new/file.txt'), 'utf8'), 'half\n');
        rmSync(data.keptAt, { recursive: true }); // There is a gate in it.
        await server.letThrough(mark, taskId);
    });
});

// Looks for the pattern in all objects of all repositories that the tree leads to, and of those
// beside them; says how many objects there were, and what has the pattern.
const searches = (pattern, into) => `{
todo=$(git rev-parse --path-format=absolute --git-path objects) seen=
while [ -n "$todo" ]; do
    at=$(cd "$(echo "$todo" | head -n 1)" && pwd -P); todo=$(echo "$todo" | tail -n +2)
    case " $seen " in *" $at "*) continue;; esac
    seen="$seen $at"
    todo=$(echo "$todo"; cat "$at/info/alternates"; ls -d "$at"/../../*.git/objects)
    todo=$(echo "$todo" | sed '/^$/d')
    g="git -c safe.directory=* --git-dir=$at/.."
    $g for-each-ref refs/drover
    $g cat-file --batch-all-objects --batch-check='%(objectname) %(objecttype)' >/tmp/objects
    echo "objects $(wc -l </tmp/objects)"
    while read -r hash type; do
        [ $type = tree ] || ! $g cat-file $type $hash | grep -aq '${pattern}' || echo "found $hash"
    done </tmp/objects
done; } 2>/dev/null ${into}
`;

describe('the work of another run', () => {
    withServer('is in no repository that an agent or a check can read', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const pattern = `canary[-]${mark}`;
        const repo = await server.repository('acme/shared',
            `if grep -q reader "$DROVER_PROMPT"; then\n${searches(pattern, '>report.txt')}${fixes}
else printf 'canary%s\\n' '-${mark}' >note.txt\n${gaveUp('no')}fi\n`,
            { ...NEVER, retries: { agentAttempts: 1 },
              verify: [{ name: 'unit', command: `${searches(pattern, '')}sh test.sh` }] });
        const writer = await server.submit(repo.name, { description: 'writer' });
        await server.untilTask(writer.taskId, 'failed');
        await untilCleaned(writer.runId);
        const [taken] = await snapshots(writer.runId);
        assert.equal(git(taken.mirror, 'show', `${taken.ref}:note.txt`), `canary-${mark}`);
        const reader = await server.submit(repo.name, { description: 'reader' });
        await server.untilTask(reader.taskId, 'completed');
        const { items } = await server.get(`/v1/runs/${reader.runId}/artifacts`);
        const reports = [];
        for (const { name, sha256 } of items.filter((item) => /\.diff$|unit/.test(item.name)))
            reports.push(`${name}\n${(await server.call('GET', `/v1/artifacts/${sha256}`)).text}`);
        assert.equal(reports.length, 2, JSON.stringify(items));
        for (const report of reports) {
            assert.match(report, /objects [1-9]/);
            assert.doesNotMatch(report, /found|refs\/drover/);
        }
    });
});

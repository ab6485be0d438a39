// github_forge.test.mjs - the acts of the GitHub forge at a GitHub that keeps state: each once,
// whatever happens to the answer.  tests/unit/forge/github/test_github_hub.c performs them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { CIS, startHub } from '../hub/hub.mjs';
import { until } from './lib/wait.mjs';

const run = promisify(execFile);
const TESTS = join(dirname(process.env.DROVER ?? 'build/drover'), 'tests');

describe('the GitHub forge', { concurrency: 1 }, () => {
    let hub, token, room, count = 0;
    before(async () => {
        room = mkdtempSync(join(tmpdir(), 'drover-github-'));
        hub = await startHub({ lazyMergeable: false });
        hub.org('acme', { members: ['ann'], teams: { core: ['ann'] } });
        token = hub.token('bot');
    });
    after(async () => {
        rmSync(room, { recursive: true });
        await hub.stop();
    });

    // A repository with one pull request by the bot.
    function scene(more = {}, pull = {}) {
        const repo = hub.repo(`acme/scene-${++count}`, { files: { 'answer.txt': '41\n' },
            collaborators: { bot: 'write', mallory: 'read' }, ...more });
        repo.commit('drover/fix', { 'answer.txt': '42\n' }, { by: 'bot', from: 'main' });
        return { repo, pull: repo.openPull({ head: 'drover/fix', base: 'main', title: 'Fix',
            body: 'Body', by: 'bot', ...pull }) };
    }

    // {rc, code, text, answer}
    async function act(repo, words, { as = token, app } = {}) {
        const out = join(room, 'out.json');
        const env = { ...process.env, HUB_URL: repo.url ?? hub.gitUrl(repo), HUB_API: hub.apiUrl,
            HUB_ACT: words.join('\n'), HUB_OUT: out };
        if (app) Object.assign(env, { HUB_APP: String(app.id), HUB_KEY: app.keyFile });
        else env.HUB_TOKEN = as;
        await run(TESTS, ['github_hub'], { env });
        return JSON.parse(readFileSync(out, 'utf8'));
    }
    async function ok(repo, words, options) {
        const got = await act(repo, words, options);
        assert.equal(got.rc, 'ok', `${words.join(' ')}: ${got.code}: ${got.text}`);
        return got.answer;
    }

    it('shows a pull request with its checks, reviews and threads', async () => {
        const { repo, pull } = scene({ ci: CIS.of(() => 'FAIL: answer') }, { draft: true });
        repo.protect('main', { checks: ['test'] });
        pull.label('bug', 'ann');
        pull.review({ by: 'ann', state: 'CHANGES_REQUESTED', body: 'Not like this',
            comments: [{ path: 'answer.txt', line: 1, body: 'Why 42?' }] });
        await until('CI', () => repo.checks.latest(pull.headSha)
            .some((each) => each.status === 'completed'));
        const view = await ok(repo, ['view', '1']);
        assert.deepEqual([view.number, view.state, view.draft, view.head, view.headBranch,
            view.targetBranch], [1, 'open', true, pull.headSha, 'drover/fix', 'main']);
        assert.deepEqual(view.labels, ['bug']);
        assert.equal(view.reviews[0].verdict, 'changes_requested');
        assert.equal(view.reviews[0].commit, pull.headSha);
        assert.equal(view.reviews[0].association, 'MEMBER');
        assert.equal(view.threads[0].path, 'answer.txt');
        assert.equal(view.threads[0].comments[0].body, 'Why 42?');
        const check = view.checks[0];
        assert.deepEqual([check.state, check.job, check.own], ['failed', true, false]);
        assert.match(await ok(repo, ['log', pull.headSha, check.name]), /FAIL: answer/);
        assert.equal(hub.requests.some((each) => each.leaked), false);
    });

    it('runs a job again', async () => {
        const { repo, pull } = scene({ ci: CIS.flaky(() => null) });
        const failed = () => repo.checks.latest(pull.headSha)[0];
        await until('a failure', () => failed()?.conclusion === 'failure');
        await ok(repo, ['rerun', pull.headSha, failed().name]);
        await until('a success', () => failed().conclusion === 'success');
        const view = await ok(repo, ['view', '1']);
        assert.equal(view.checks.length, 1);
        assert.equal(view.checks[0].state, 'passed');
    });

    it('writes one comment and edits it, also when the answer is lost', async () => {
        const { repo, pull } = scene();
        pull.comment({ by: 'mallory', body: 'Mine now\n<!-- drover:progress -->' });
        hub.fail({ method: 'POST', path: /\/comments$/, when: 'after', reset: true });
        assert.equal((await act(repo, ['comment', '1', 'progress', 'one'])).rc, 'unreachable');
        await ok(repo, ['comment', '1', 'progress', 'one']);
        await ok(repo, ['comment', '1', 'progress', 'two']);
        assert.deepEqual(pull.comments.map((each) => [each.user.login, each.body]), [
            ['mallory', 'Mine now\n<!-- drover:progress -->'],
            ['bot', 'two\n\n<!-- drover:progress -->']]);
    });

    it('labels, asks for a review, changes the body, makes it ready', async () => {
        const { repo, pull } = scene({}, { draft: true });
        await ok(repo, ['label', '1', 'bug', 'drover']);
        await ok(repo, ['reviewers', '1', 'ann', 'team/core']);
        await ok(repo, ['body', '1', 'New body']);
        hub.fail({ path: '/graphql', body: 'markPullRequestReadyForReview', when: 'after',
            status: 502 });
        assert.equal((await act(repo, ['ready', '1'])).rc, 'unreachable');
        await ok(repo, ['ready', '1']);
        assert.equal(pull.draft, false);
        assert.equal(pull.body, 'New body');
        assert.deepEqual(pull.labels.map(({ name }) => name).sort(), ['bug', 'drover']);
    });

    it('approves a head once, as another identity', async () => {
        const { repo, pull } = scene({ collaborators: { bot: 'write', judge: 'write' } });
        const judge = hub.token('judge');
        await ok(repo, ['review', '1', 'cert', pull.headSha], { as: judge });
        await ok(repo, ['review', '1', 'cert', pull.headSha], { as: judge });
        assert.deepEqual(pull.reviews.map((each) => [each.user.login, each.state]),
            [['judge', 'APPROVED']]);
        const own = await act(repo, ['review', '1', 'cert', pull.headSha]);
        assert.equal(own.rc, 'conflict', own.text);
    });

    it('answers and resolves a thread once', async () => {
        const { repo, pull } = scene();
        pull.thread({ by: 'ann', path: 'answer.txt', line: 1, body: 'Why?' });
        const { id } = (await ok(repo, ['view', '1'])).threads[0];
        for (let i = 0; i < 2; i++) {
            await ok(repo, ['reply', '1', id, 't1', 'Because.']);
            await ok(repo, ['resolve', '1', id]);
        }
        const [thread] = (await ok(repo, ['view', '1'])).threads;
        assert.equal(thread.resolved, true);
        assert.deepEqual(thread.comments.map(({ author }) => author), ['ann', 'bot']);
    });

    it('puts a check run as an App, and a status as a person', async () => {
        const { repo, pull } = scene();
        const made = hub.app({ slug: 'drover', permissions: { metadata: 'read', contents: 'write',
            pull_requests: 'write', issues: 'write', checks: 'write', statuses: 'write' } });
        made.install('acme');
        const app = { id: made.id, keyFile: join(room, 'app.pem') };
        writeFileSync(app.keyFile, made.privateKey, { mode: 0o600 });
        await ok(repo, ['put', pull.headSha, 'run-1', 'pending'], { app });
        await ok(repo, ['put', pull.headSha, 'run-1', 'passed'], { app });
        const runs = repo.checks.latest(pull.headSha);
        assert.deepEqual(runs.map(({ name, conclusion }) => [name, conclusion]),
            [['drover', 'success']]);
        const check = await ok(repo, ['check', pull.headSha, 'drover'], { app });
        assert.deepEqual([check.state, check.own, check.job], ['passed', true, false]);
        await ok(repo, ['comment', '1', 'k', 'by the App'], { app });
        await ok(repo, ['comment', '1', 'k', 'edited by the App'], { app });
        assert.deepEqual(pull.comments.map(({ body }) => body),
            ['edited by the App\n\n<!-- drover:k -->']);

        const other = scene();
        await ok(other.repo, ['put', other.pull.headSha, 'run-1', 'passed']);
        await ok(other.repo, ['put', other.pull.headSha, 'run-1', 'passed']);
        const status = await ok(other.repo, ['check', other.pull.headSha, 'drover']);
        assert.deepEqual([status.id, status.state, status.own], ['status:drover', 'passed', true]);
        assert.equal(hub.calls('POST', /\/statuses\//).length, 1);
    });

    it('merges by itself, or by its queue, at one head only', async () => {
        const { repo, pull } = scene();
        repo.protect('main', { approvals: 1 });
        assert.equal((await act(repo, ['auto_merge', '1', '0'.repeat(40)])).rc, 'conflict');
        await ok(repo, ['auto_merge', '1', pull.headSha]);
        await ok(repo, ['auto_merge', '1', pull.headSha]);
        assert.equal((await ok(repo, ['view', '1'])).autoMerge, true);

        const queued = scene();
        queued.repo.protect('main', { queue: true });
        await ok(queued.repo, ['enqueue', '1', queued.pull.headSha]);
        const view = await ok(queued.repo, ['view', '1']);
        assert.ok(view.queued || view.state === 'merged', JSON.stringify(view));
    });

    it('reads an issue with comments and what it waits for', async () => {
        const { repo } = scene();
        const first = repo.issue({ title: 'First', body: 'B', by: 'ann' });
        const issue = repo.issue({ title: 'Second', body: 'B', by: 'eve', labels: ['drover'],
            assignees: ['bot'] });
        issue.comment({ by: 'ann', body: '/drover go' });
        first.blocks(issue);
        const number = String(issue.number);
        assert.deepEqual(await ok(repo, ['issue', number]), { title: 'Second', state: 'open',
            association: 'NONE', labels: ['drover'], assignees: ['bot'],
            comments: ['/drover go'], blockedBy: [first.number] });
        await ok(repo, ['close_issue', number]);
        assert.equal((await act(repo, ['close_issue', number])).code, 'ISSUE_CLOSED');
        const pull = await act(repo, ['issue', '1']);
        assert.equal(pull.code, 'ISSUE_NOT_FOUND');
        const { etag, numbers } = await ok(repo, ['changed', '2020-01-01T00:00:00Z']);
        assert.deepEqual([...numbers].sort((a, b) => a - b), [-1, first.number, issue.number]);
        assert.equal((await ok(repo, ['changed', '2020-01-01T00:00:00Z', etag])).same, true);
    });

    it('knows who has labelled an issue, and who may', async () => {
        const { repo } = scene({ collaborators: { bot: 'write', rita: 'read', ada: 'admin' } });
        const issue = repo.issue({ title: 'T', by: 'eve' });
        issue.label('drover', 'ann');
        issue.assign('bot', 'ada');
        assert.deepEqual(await ok(repo, ['acts', String(issue.number)]),
            [['labeled', 'drover', 'ann'], ['assigned', 'bot', 'ada']]);
        const wanted = { ann: 'COLLABORATOR', ada: 'OWNER', rita: 'NONE', eve: 'NONE' };
        for (const [login, association] of Object.entries(wanted))
            assert.deepEqual(await ok(repo, ['person', login, 'core']), { association,
                inTeam: login === 'ann' }, login);
    });

    it('lists what was delivered', async () => {
        const { repo } = scene({ collaborators: { bot: 'admin' } });
        hub.deliver('outage');
        repo.hook({ url: 'http://127.0.0.1:9/v1/webhooks/github', secret: 's' });
        repo.issue({ title: 'Lost', by: 'ann' });
        await hub.settled();
        hub.deliver('now');
        const { items, newest } = await ok(repo, ['deliveries']);
        const lost = items.filter(({ event }) => event === 'issues');
        assert.equal(lost.length, 1, JSON.stringify(items));
        assert.equal(lost[0].answered, false);
        assert.equal(newest.issue.title, 'Lost');
    });

    it('survives half answers, lost answers and limits', async () => {
        const { repo } = scene();
        for (const spoilt of [{ half: true }, { reset: true }, { status: 502 }, { status: 504 }]) {
            const rule = hub.fail({ path: '/graphql', ...spoilt });
            assert.equal((await ok(repo, ['view', '1'])).number, 1, JSON.stringify(spoilt));
            assert.equal(rule.hits, 1);
        }
        hub.fail({ path: '/graphql', secondary: { retryAfter: 7, status: 403 } });
        const second = await act(repo, ['view', '1']);
        assert.deepEqual([second.rc, second.code, second.retryMs], ['limit', 'FORGE_LIMIT', 7000]);
        hub.setLimit('bot', { resource: 'core', limit: 50, remaining: 0, resetInMs: 60000 });
        const first = await act(repo, ['label', '1', 'x']);
        assert.deepEqual([first.rc, first.code], ['limit', 'FORGE_LIMIT']);
        assert.ok(first.retryMs > 0 && first.retryMs <= 61000, String(first.retryMs));
        hub.setLimit('bot', { resource: 'core', limit: 5000, remaining: 5000, resetInMs: 60000 });
    });

    it('follows a repository that was renamed', async () => {
        const { repo, pull } = scene();
        const old = { url: hub.gitUrl(repo) };
        repo.rename(`renamed-${count}`);
        await ok(old, ['comment', '1', 'k', 'after the renaming']);
        await ok(old, ['comment', '1', 'k', 'edited']);
        assert.equal(pull.comments.length, 1);
        assert.equal((await ok(old, ['view', '1'])).number, 1);
    });
});

// hub.test.mjs - the GitHub of the tests does what GitHub does where drover depends on it: what is
// compared, what is found again, what quota a request takes, and how answers get lost.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { CIS, startHub } from '../hub/hub.mjs';
import { until } from './lib/wait.mjs';

const run = promisify(execFile);
const ENV = { ...process.env, GIT_TERMINAL_PROMPT: '0', HOME: '/nonexistent',
    GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.org' };
const git = (dir, ...args) => run('git', ['-C', dir, ...args], { env: ENV });

describe('the hub', { concurrency: 1 }, () => {
    let hub, token, person;
    before(async () => {
        hub = await startHub({ strict: false });
        hub.org('acme', { members: ['ann'] });
        token = hub.token('bot');
        person = hub.token('ann');
    });
    after(() => hub.stop());

    const make = (name, more = {}) => hub.repo(`acme/${name}`, { collaborators: { bot: 'write' },
        files: { 'answer.txt': '41\n' }, ...more });

    async function call(method, path, body, { as = token, headers = {} } = {}) {
        const res = await fetch(hub.apiUrl + path, { method, redirect: 'manual',
            headers: { authorization: `Bearer ${as}`, ...headers },
            body: body && JSON.stringify(body) });
        const text = await res.text();
        return { status: res.status, headers: res.headers, json: text ? JSON.parse(text) : null };
    }
    const pullFor = (repo, branch, more = {}) => call('POST', `/repos/${repo.fullName}/pulls`,
        { head: branch, base: 'main', title: branch, ...more });

    it('has one open pull request for a branch', async () => {
        const repo = make('one');
        repo.commit('x', { 'answer.txt': '42\n' });
        assert.equal((await pullFor(repo, 'x', { draft: true })).status, 201);
        const again = await pullFor(repo, 'x');
        assert.equal(again.status, 422);
        assert.match(again.json.errors[0].message, /already exists for acme:x/);
        const found = await call('GET', '/repos/acme/one/pulls?state=all&head=acme:x');
        assert.equal(found.json.length, 1);
    });

    it('merges at the head that was named, and at no other', async () => {
        const repo = make('merge');
        const sha = repo.commit('x', { 'answer.txt': '42\n' });
        const { json: { number } } = await pullFor(repo, 'x', { body: 'Fixes #2' });
        const issue = repo.issue({ title: 'wrong' });
        assert.equal(issue.number, 2);
        repo.commit('x', { 'b.txt': 'b\n' });
        const path = `/repos/acme/merge/pulls/${number}/merge`;
        assert.equal((await call('PUT', path, { sha })).status, 409);
        const { json } = await call('PUT', path, { sha: repo.head('x') });
        assert.equal(repo.head('main'), json.sha);
        assert.equal(issue.state, 'closed');
        assert.equal((await call('PUT', path, { sha: repo.head('x') })).status, 405);
    });

    it('marks a pull request merged when its target was pushed with it', () => {
        const repo = make('pushed');
        const sha = repo.commit('x', { 'answer.txt': '42\n' });
        const pull = repo.openPull({ head: 'x', base: 'main', title: 't', body: 'closes #2' });
        const issue = repo.issue({ title: 'wrong' });
        repo.bare.move('refs/heads/main', sha);
        repo.refsMoved(hub.user('bot'));
        assert.ok(pull.merged);
        assert.equal(issue.state, 'closed');
    });

    it('closes a pull request whose branch was deleted', () => {
        const repo = make('deleted');
        repo.commit('x', { 'answer.txt': '42\n' });
        const pull = repo.openPull({ head: 'x', base: 'main', title: 't' });
        repo.bare.move('refs/heads/x', null);
        repo.refsMoved(hub.user('bot'));
        assert.deepEqual([pull.state, pull.merged], ['closed', false]);
    });

    it('does not know at once whether a pull request can be merged', async () => {
        const repo = make('lazy');
        repo.commit('x', { 'answer.txt': '42\n' });
        const pull = repo.openPull({ head: 'x', base: 'main', title: 't' });
        const path = `/repos/acme/lazy/pulls/${pull.number}`;
        assert.equal((await call('GET', path)).json.mergeable, null);
        assert.equal((await call('GET', path)).json.mergeable, true);
        repo.commit('main', { 'answer.txt': '43\n' });
        assert.equal((await call('GET', path)).json.mergeable, null);
        const { json } = await call('GET', path);
        assert.deepEqual([json.mergeable, json.mergeable_state], [false, 'dirty']);
    });

    it('serves git to tokens, and lets none of them push what it may only read', async (t) => {
        const repo = make('git');
        const url = (user, password) => hub.gitUrl(repo).replace('//', `//${user}:${password}@`);
        const dir = `${hub.dir}/clone`;
        await run('git', ['clone', '-q', url('x-access-token', token), dir], { env: ENV });
        await git(dir, 'commit', '-q', '--allow-empty', '-m', 'more');
        await git(dir, 'push', '-q', 'origin', 'HEAD:refs/heads/y');
        assert.ok(repo.head('y'));
        await assert.rejects(git(dir, 'push', '-q', 'origin', 'HEAD:refs/pull/9/head'));
        const app = hub.app();
        const scoped = hub.world.installationToken(app.install('acme'),
            { repositories: ['git'], permissions: { contents: 'read' } });
        const reads = url('x-access-token', scoped.token);
        await git(dir, 'ls-remote', reads);
        await assert.rejects(git(dir, 'push', '-q', reads, 'HEAD:refs/heads/z'), /403|denied/);
        await assert.rejects(git(dir, 'ls-remote', url('git', scoped.token)), /Authentication/);
        await assert.rejects(git(dir, 'ls-remote', url('x', 'wrong')), /Authentication/);
        hub.advance(3700_000);
        await assert.rejects(git(dir, 'ls-remote', reads), /Authentication/);
        t.diagnostic('expired after an hour');
    });

    it('leads to a renamed repository, by the API and by git', async () => {
        const repo = make('before');
        const old = hub.gitUrl(repo).replace('//', `//x:${token}@`);
        repo.rename('after');
        const moved = await call('GET', '/repos/acme/before/pulls?state=all');
        assert.equal(moved.status, 301);
        assert.equal(moved.headers.get('location'),
            `${hub.apiUrl}/repositories/${repo.id}/pulls?state=all`);
        const { stdout } = await run('git', ['ls-remote', old], { env: ENV });
        assert.match(stdout, /refs\/heads\/main/);
    });

    it('counts what is asked, but not what has not changed', async () => {
        make('quota');
        const first = await call('GET', '/repos/acme/quota/issues', null, { as: person });
        const left = () => call('GET', '/rate_limit', null, { as: person })
            .then(({ json }) => json.rate.remaining);
        const before_ = await left();
        const headers = { 'if-none-match': first.headers.get('etag') };
        const same = await call('GET', '/repos/acme/quota/issues', null, { as: person, headers });
        assert.equal(same.status, 304);
        assert.equal(await left(), before_);
        hub.setLimit('ann', { remaining: 1 });
        assert.equal((await call('GET', '/user', null, { as: person })).status, 200);
        const over = await call('GET', '/user', null, { as: person });
        assert.equal(over.status, 403);
        assert.equal(over.headers.get('x-ratelimit-remaining'), '0');
        hub.advance(3700_000);
        assert.equal((await call('GET', '/user', null, { as: person })).status, 200);
    });

    it('pages by links that name the repository by its id', async () => {
        const repo = make('pages');
        for (let i = 0; i < 5; i++) repo.issue({ title: `i${i}` });
        const seen = [];
        let path = '/repos/acme/pages/issues?per_page=2&direction=asc';
        while (path) {
            const { json, headers } = await call('GET', path);
            seen.push(...json.map(({ number }) => number));
            const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '');
            path = next?.[1].slice(hub.apiUrl.length);
            if (path) assert.match(path, new RegExp(`^/repositories/${repo.id}/issues`));
        }
        assert.deepEqual(seen, [1, 2, 3, 4, 5]);
    });

    it('loses answers before or after the effect', async () => {
        const repo = make('lost');
        repo.issue({ title: 'i' });
        const path = '/repos/acme/lost/issues/1/comments';
        const comment = () => call('POST', path, { body: 'c' });
        hub.fail({ method: 'POST', path, status: 502 });
        await assert.rejects(comment().then(({ status }) => assert.equal(status, 201)));
        hub.fail({ method: 'POST', path, reset: true, when: 'after' });
        await assert.rejects(comment());
        hub.fail({ method: 'POST', path, half: true, when: 'after' });
        await assert.rejects(comment());
        const rule = hub.fail({ method: 'POST', path, secondary: { retryAfter: 3 } });
        const limited = await comment();
        assert.deepEqual([limited.status, limited.headers.get('retry-after')], [403, '3']);
        assert.equal(rule.hits, 1);
        assert.equal(repo.issue(1).comments.length, 2);
    });

    it('runs CI on what was pushed, and again when asked', async () => {
        const repo = make('ci', { ci: CIS.flaky(({ read }) => (read('answer.txt') === '42' ? null
            : 'FAIL')) });
        const done = (sha) => until('CI to end', () => {
            const [check] = repo.checks.latest(sha);
            return check?.status === 'completed' && check;
        });
        const sha = repo.commit('x', { 'answer.txt': '42\n' });
        const red = await done(sha);
        assert.equal(red.conclusion, 'failure');
        const log = await call('GET', `/repos/acme/ci/actions/jobs/${red.id}/logs`);
        assert.equal(log.status, 302);
        assert.match(await (await fetch(log.headers.get('location'))).text(), /ETIMEDOUT/);
        assert.equal((await call('POST', `/repos/acme/ci/actions/jobs/${red.id}/rerun`)).status,
            201);
        const green = await until('the second attempt', async () => {
            const check = await done(sha);
            return check.id !== red.id && check;
        });
        assert.equal(green.conclusion, 'success');
    });

    it('keeps, doubles, reorders and loses deliveries', async (t) => {
        const got = [];
        const sink = http.createServer((req, res) => {
            got.push([req.headers['x-github-event'], req.headers['x-github-delivery']]);
            req.resume();
            res.end();
        }).listen(0, '127.0.0.1');
        t.after(() => sink.close());
        await once(sink, 'listening');
        const repo = make('hooks');
        const hook = repo.hook({ url: `http://127.0.0.1:${sink.address().port}/`, secret: 's',
            events: ['issues', 'issue_comment'] });
        await hub.settled();
        assert.deepEqual(got.splice(0).map(([event]) => event), ['ping']);
        hub.deliver('hold');
        const issue = repo.issue({ title: 'i' });
        issue.comment({ body: 'c' });
        await hub.release({ order: 'reverse', times: 2 });
        assert.deepEqual(got.map(([event]) => event), ['issue_comment', 'issues', 'issue_comment',
            'issues']);
        assert.equal(new Set(got.splice(0).map(([, id]) => id)).size, 2);
        hub.deliver('outage');
        issue.comment({ body: 'd' });
        hub.deliver('lost');
        issue.comment({ body: 'e' });
        hub.deliver('now');
        await hub.settled();
        assert.equal(got.length, 0);
        const failed = hook.deliveries.filter(({ statusCode }) => statusCode === 502);
        assert.equal(failed.length, 1);
        await hub.webhooks.redeliver(failed[0]);
        assert.deepEqual(got.splice(0), [['issue_comment', failed[0].guid]]);
    });

    it('tells requests that GitHub does not describe', async () => {
        const own = await startHub();
        own.repo('acme/x', {});
        await fetch(`${own.apiUrl}/repos/acme/x/pulls?heads=1`,
            { headers: { authorization: `Bearer ${own.token('acme')}` } });
        await assert.rejects(own.stop(), /there is no query parameter heads/);
    });
});

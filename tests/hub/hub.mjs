// hub.mjs - a GitHub on loopback, for tests.  README.md describes what it offers.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Facts } from './lib/facts.mjs';
import { Faults } from './lib/faults.mjs';
import { Front } from './lib/http.mjs';
import { Routes } from './lib/routes.mjs';
import { appRoutes } from './lib/routes_apps.mjs';
import { checkRoutes } from './lib/routes_checks.mjs';
import { issueRoutes } from './lib/routes_issues.mjs';
import { pullRoutes } from './lib/routes_pulls.mjs';
import { commitRoute, repoRoutes } from './lib/routes_repo.mjs';
import { Show } from './lib/show.mjs';
import { ShowGit } from './lib/show_git.mjs';
import { Webhooks } from './lib/webhooks.mjs';
import { World } from './lib/world.mjs';

export { CIS } from './lib/ci.mjs';

const directories = new Set();
process.on('exit', () => {
    for (const dir of directories) rmSync(dir, { recursive: true, force: true });
});

// strict: a request that GitHub's description does not allow fails stop().
export async function startHub({ port = 0, now, lazyMergeable, strict = true,
    base = tmpdir() } = {}) {
    const dir = mkdtempSync(join(base, 'hub-'));
    directories.add(dir);
    const server = http.createServer({ keepAliveTimeout: 60_000 });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new Hub(server, dir, { now, lazyMergeable, strict });
}

class Hub {
    constructor(server, dir, options) {
        this.server = server;
        this.dir = dir;
        this.url = `http://127.0.0.1:${server.address().port}`;
        this.apiUrl = `${this.url}/api/v3`;
        this.graphqlUrl = `${this.url}/api/graphql`;
        // Another origin than the API, where no token may be sent.
        this.logUrl = this.url.replace('127.0.0.1', 'localhost');
        this.world = this.state = new World({ dir, ...options });
        this.show = this.world.show = new Show(this.world, this);
        this.showGit = new ShowGit(this.show);
        this.webhooks = new Webhooks(this.world, this.show, this.showGit);
        this.faults = new Faults();
        this.facts = new Facts();
        this.strict = options.strict;
        this.problems = []; // Requests that GitHub's description does not allow.
        this.logs = new Map();
        this.errors = []; // Of the hub itself: a test that finds one has found a bug here.
        this.world.actions = this.world.app({ slug: 'github-actions' });
        this.front = new Front(this, new Routes([repoRoutes, issueRoutes, pullRoutes, checkRoutes,
            appRoutes, commitRoute]));
        server.on('request', (req, res) => this.front.handle(req, res));
    }

    // ---- what there is ----

    // With options: made if it is not there.
    repo(name, options) {
        return this.world.repo(name, options);
    }
    user(login, more) {
        return this.world.user(login, more);
    }
    org(login, more) {
        return this.world.org(login, more);
    }
    token(login, options) {
        return this.world.token(login, options);
    }
    app(options) {
        const app = this.world.app(options);
        if (options?.hook) this.appHook(app, options.hook);
        return app;
    }

    appHook(app, { url, secret, events = ['*'] }) {
        const now = this.world.now();
        app.hook = { id: this.world.small++, app, url, secret, events, active: true,
            contentType: 'json', deliveries: [], created: now, updated: now };
        return app.hook;
    }

    gitUrl(repo) {
        return `${this.url}/${repo.fullName ?? repo}.git`;
    }

    // ---- what was asked ----

    get requests() {
        return this.front.requests;
    }

    // Requests to the API of this method and path (text or RegExp), that were not spoilt before.
    calls(method, path) {
        return this.requests.filter((each) => each.kind === 'api' && each.method === method
            && (path instanceof RegExp ? path.test(each.path) : each.path === path));
    }

    // ---- what goes wrong ----

    fail(rule) {
        return this.faults.add(rule);
    }
    setLimit(who, limit) {
        this.world.setLimit(who, limit);
    }
    deliver(mode) {
        this.webhooks.mode(mode);
    }
    release(options) {
        return this.webhooks.release(options);
    }
    settled() {
        return this.webhooks.settled();
    }
    advance(ms) {
        this.world.aheadMs += ms;
    }

    // HUB_RECORD: a directory for all requests, to be checked against the whole description.
    #recordAll() {
        if (!process.env.HUB_RECORD) return;
        const lines = this.requests.filter(({ kind }) => kind === 'api').map((each) =>
            `${JSON.stringify({ ...each, headers: undefined })}\n`);
        writeFileSync(join(process.env.HUB_RECORD, `${process.pid}-${performance.now()}.jsonl`),
            lines.join(''));
    }

    // Ends it.  Fails when something went wrong in the hub itself.
    async stop() {
        this.faults.stop();
        this.server.closeAllConnections();
        this.server.close();
        await this.settled();
        rmSync(this.dir, { recursive: true, force: true });
        directories.delete(this.dir);
        this.#recordAll();
        if (this.strict && this.problems.length > 0)
            throw new Error(`GitHub describes no such requests: ${this.problems.join('; ')}`);
        if (this.errors.length > 0) throw new AggregateError(this.errors, 'the hub has failed: '
            + this.errors[0].stack);
    }
}

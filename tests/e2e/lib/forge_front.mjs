// forge_front.mjs - the front of the forges of the tests: tokens, routes, pages, ETags, rate
// limits, faults, git over HTTP, and a record of what was asked. gitlab.mjs and gitea.mjs bring the
// routes.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Faults } from '../../hub/lib/faults.mjs';
import { serveGit } from '../../hub/lib/git.mjs';
import { Repo } from './forge_state.mjs';

const BODY_MAX = 8 * 1024 * 1024;
const GIT_PATH = /^\/(.+?)(?:\.git)?\/(info\/refs|git-(?:upload|receive)-pack)$/;

const directories = new Set();
process.on('exit', () => {
    for (const dir of directories) rmSync(dir, { recursive: true, force: true });
});

// An answer that is not 2xx.
export class Refusal extends Error {
    constructor(status, body) {
        super(`${status}`);
        Object.assign(this, { status, body });
    }
}

export class ForgeFront {
    // api: "/api/v4"; page: {param, max}; tokenOf(authorization header) gives the token.
    // described: a description of the API (swagger.mjs) that all requests are compared with.
    constructor({ api, routes, page, tokenOf, separateNumbers = false, refusals, described }) {
        Object.assign(this, { api, page, described, tokenOf, separateNumbers, refusals,
            requests: [], faults: new Faults(), errors: [], users: new Map(), tokens: new Map(),
            repos: [], limit: null, ids: 1000 });
        this.routes = routes.map(([method, template, handle, options]) => ({ method, template,
            handle, options, pattern: patternOf(template) }));
        this.dir = mkdtempSync(join(tmpdir(), 'forge-'));
        directories.add(this.dir);
    }

    async start() {
        this.server = http.createServer({ keepAliveTimeout: 60_000 },
            (req, res) => this.#handle(req, res));
        this.server.listen(0, '127.0.0.1');
        await once(this.server, 'listening');
        this.url = `http://127.0.0.1:${this.server.address().port}`;
        this.apiUrl = this.url + this.api;
        return this;
    }

    // Fails when something went wrong in the forge itself.
    async stop() {
        this.faults.stop();
        this.server.closeAllConnections();
        this.server.close();
        rmSync(this.dir, { recursive: true, force: true });
        directories.delete(this.dir);
        if (this.errors.length > 0) throw new AggregateError(this.errors,
            ['the forge has failed:', ...new Set(this.errors.map(String))].slice(0, 20).join('\n'));
    }

    nextId() {
        return ++this.ids;
    }

    now() {
        return new Date().toISOString();
    }

    // ---- what there is ----

    user(login) {
        if (!this.users.has(login)) this.users.set(login, { id: this.nextId(), login });
        return this.users.get(login);
    }

    token(login, { text = randomBytes(20).toString('hex') } = {}) {
        this.tokens.set(text, this.user(login));
        return text;
    }

    // Made with options, else found.  members: {login: 'write'}.
    repo(name, options) {
        const found = this.repos.find((each) => each.fullName.toLowerCase() === name.toLowerCase());
        if (found || !options) return found;
        const repo = new Repo(this, name, options);
        this.repos.push(repo);
        return repo;
    }

    gitUrl(repo) {
        return `${this.url}/${repo.fullName}.git`;
    }

    // Requests to the API that took effect.
    calls(method, path) {
        return this.requests.filter((each) => each.kind === 'api' && each.method === method
            && (path instanceof RegExp ? path.test(each.path) : each.path === path)
            && each.status >= 200 && each.status < 300);
    }

    fail(rule) {
        return this.faults.add(rule);
    }

    // So many requests are left, until then.
    setLimit({ limit, remaining, resetInMs }) {
        this.limit = { limit, remaining, reset: Date.now() + resetInMs };
    }

    // ---- requests ----

    async #handle(req, res) {
        const url = new URL(req.url, this.url);
        req.on('error', () => {});
        res.on('error', () => {});
        try {
            if (GIT_PATH.test(url.pathname) && !url.pathname.startsWith(this.api))
                return await this.#git(req, res, url);
            return await this.#call(req, res, url);
        } catch (error) {
            this.errors.push(error);
            if (!res.headersSent) res.writeHead(500);
            return res.end(String(error.stack));
        }
    }

    // The token is the password; any user will do.
    #gitUser(req) {
        const [kind, text = ''] = (req.headers.authorization ?? '').split(' ');
        const password = kind === 'Basic' ? Buffer.from(text, 'base64').toString().split(':')[1]
            : '';
        return this.tokens.get(password);
    }

    async #git(req, res, url) {
        const [, name, rest] = GIT_PATH.exec(url.pathname);
        const push = rest === 'git-receive-pack'
            || url.searchParams.get('service') === 'git-receive-pack';
        const record = { kind: 'git', method: req.method, path: url.pathname, push, status: null };
        this.requests.push(record);
        const fault = this.faults.find({ ...record, git: true });
        if (fault && !await fault.before(req, res, record)) return undefined;
        const user = this.#gitUser(req);
        const repo = this.repo(name);
        const deny = (status, headers = {}) => {
            record.status = status;
            req.resume();
            return res.writeHead(status, headers).end();
        };
        if (!user) return deny(401, { 'www-authenticate': 'Basic realm="forge"' });
        if (!repo) return deny(404);
        if (push && !repo.mayWrite(user)) return deny(403);
        await serveGit(repo.bare, { req, res, url, rest, login: user.login });
        if (rest === 'git-receive-pack') repo.refsMoved();
        record.status = res.statusCode;
        return res.end();
    }

    async #call(req, res, url) {
        const text = await read(req);
        const path = url.pathname.startsWith(this.api) ? url.pathname.slice(this.api.length)
            : url.pathname;
        const record = { kind: 'api', method: req.method, path, query: url.search.slice(1),
            headers: req.headers, text, status: null };
        this.requests.push(record);
        const fault = this.faults.find(record);
        if (fault && !await fault.before(req, res, record)) return undefined;
        const answer = this.#answer(req, url, path, text, record);
        Object.assign(record, { status: answer.status, answer: answer.body });
        const body = answer.raw ?? (answer.body === undefined ? '' : JSON.stringify(answer.body));
        const headers = { ...(answer.raw === undefined ? body && { 'content-type':
            'application/json' } : { 'content-type': 'text/plain' }), ...answer.headers };
        for (const wrong of this.described?.check(record) ?? []) this.errors.push(new Error(wrong));
        if (fault?.after) return fault.spoil(res, { status: answer.status, headers }, body);
        res.writeHead(answer.status, { ...headers, 'content-length': Buffer.byteLength(body) });
        return res.end(body);
    }

    #answer(req, url, path, text, record) {
        const limit = this.#spend();
        try {
            if (limit.refused) throw new Refusal(429, this.refusals(429, 'Retry later'));
            const user = this.tokens.get(this.tokenOf(req.headers.authorization ?? ''));
            if (!user) throw new Refusal(401, this.refusals(401, 'Unauthorized'));
            const given = this.#route(req, url, path, text, user, record);
            return { ...given, headers: { ...limit.headers, ...given.headers } };
        } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            return { status: error.status, headers: limit.headers,
                body: error.body ?? this.refusals(error.status, 'Refused') };
        }
    }

    #spend() {
        if (!this.limit) return { headers: {} };
        if (Date.now() >= this.limit.reset) {
            this.limit = null;
            return { headers: {} };
        }
        const refused = this.limit.remaining <= 0;
        if (!refused) this.limit.remaining--;
        return { refused, headers: { 'ratelimit-limit': String(this.limit.limit),
            'ratelimit-remaining': String(this.limit.remaining),
            'ratelimit-reset': String(Math.ceil(this.limit.reset / 1000)),
            ...(refused && { 'retry-after': String(Math.max(1,
                Math.ceil((this.limit.reset - Date.now()) / 1000))) }) } };
    }

    #route(req, url, path, text, user, record) {
        for (const { method, template, handle, pattern, options } of this.routes) {
            const found = method === req.method ? pattern.exec(path) : null;
            if (!found) continue;
            record.route = template;
            const params = Object.fromEntries(Object.entries(found.groups ?? {})
                .map(([key, value]) => [key, decodeURIComponent(value)]));
            const ctx = { forge: this, user, params, query: url.searchParams, body: parse(text),
                refuse: (status, message) => {
                    throw new Refusal(status, this.refusals(status, message));
                } };
            if (params.repo !== undefined) this.#openRepo(ctx, req.method, options);
            const given = handle(ctx);
            return this.#finish(req, url, Array.isArray(given) ? { items: given }
                : { status: 200, ...given });
        }
        throw new Refusal(404, this.refusals(404, 'Not Found'));
    }

    #openRepo(ctx, method, options = {}) {
        ctx.repo = this.repo(ctx.params.repo);
        if (!ctx.repo) ctx.refuse(404, 'Project Not Found');
        const writes = method !== 'GET' && !options.anyone;
        if (writes && !ctx.repo.mayWrite(ctx.user)) ctx.refuse(403, 'Forbidden');
    }

    // Pages and ETags.  items: an array; wrap(items, total): around a page of them.
    #finish(req, url, given) {
        let { status = 200, body, headers = {}, raw } = given;
        if (given.items) {
            const size = Math.min(Number(url.searchParams.get(this.page.param)) || 20,
                this.page.max);
            const page = Math.max(Number(url.searchParams.get('page')) || 1, 1);
            const shown = given.items.slice((page - 1) * size, page * size);
            body = given.wrap ? given.wrap(shown, given.items.length) : shown;
            if (page * size < given.items.length) {
                const next = new URL(url);
                next.searchParams.set('page', page + 1);
                headers = { ...headers, link: `<${next}>; rel="next"` };
            }
        }
        if (req.method !== 'GET' || raw !== undefined || !this.page.etags)
            return { status, body, headers, raw };
        const etag = `W/"${createHash('sha256').update(JSON.stringify(body)).digest('hex')
            .slice(0, 32)}"`;
        if (req.headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
        return { status, body, headers: { ...headers, etag } };
    }
}

// "/projects/:repo/issues/:iid": a part is anything without a slash; "*repo" may have one slash.
function patternOf(template) {
    const text = template.replace(/\*(\w+)/g, '(?<$1>[^/]+/[^/]+)')
        .replace(/:(\w+)/g, '(?<$1>[^/]+)');
    return new RegExp(`^${text}$`);
}

function parse(text) {
    return text === '' ? {} : JSON.parse(text);
}

async function read(req) {
    const parts = [];
    let size = 0;
    for await (const part of req) {
        size += part.length;
        if (size > BODY_MAX) throw new Error('a body is too large');
        parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
}

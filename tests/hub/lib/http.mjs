// http.mjs - the front of the hub: who calls, the quota, faults, ETags, pages, and the record of it
// all.
import { serveGit } from './git.mjs';
import { answerGraphql } from './graphql.mjs';
import { Refusal, digest } from './world.mjs';

const BODY_MAX = 32 * 1024 * 1024;
const RECORDED_MAX = 100_000;
const PER_PAGE = 30, PER_PAGE_MAX = 100;
// What stands at the root beside the repositories of git: as on api.github.com.
const API_ROOTS = /^\/(repos|repositories|app|apps|installation|rate_limit|user|users|orgs|meta)\b/;
const GIT_PATH = /^\/([\w.-]+)\/([\w.-]+?)(?:\.git)?\/(info\/refs|git-(?:upload|receive)-pack)$/;

export class Front {
    constructor(hub, routes) {
        Object.assign(this, { hub, routes, requests: [], numbered: 0 });
    }

    async handle(req, res) {
        const url = new URL(req.url, this.hub.url);
        res.on('error', () => {});
        req.on('error', () => {});
        try {
            if (GIT_PATH.test(url.pathname)) return await this.#git(req, res, url);
            const path = apiPath(url.pathname);
            if (path === null) return this.#page(req, res, url);
            return await this.#api(req, res, url, path);
        } catch (error) {
            this.hub.errors.push(error);
            if (!res.headersSent) res.writeHead(500);
            return res.end(String(error.stack));
        }
    }

    // ---- git ----

    async #git(req, res, url) {
        const [, owner, name, rest] = GIT_PATH.exec(url.pathname);
        const push = rest === 'git-receive-pack' || url.searchParams.get('service')
            === 'git-receive-pack';
        const record = this.#record({ kind: 'git', method: req.method, path: url.pathname,
            query: url.search, push });
        const deny = (status, text, headers = {}) => {
            record.status = status;
            res.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(text);
            req.resume();
        };
        const fault = this.hub.faults.find({ ...record, git: true });
        if (fault && !await fault.before(req, res, record)) return undefined;
        let actor;
        try {
            actor = this.hub.world.actor(req.headers.authorization, { git: true });
        } catch {
            return deny(401, 'Invalid username or token.\n', ASK_FOR_LOGIN);
        }
        const full = `${owner}/${name}`;
        const moved = this.hub.world.redirects.get(full.toLowerCase());
        const repo = this.hub.world.find(full) ?? moved;
        const may = repo?.may(actor, 'contents', 'read');
        record.by = actor.user?.login ?? null;
        if (!may) return actor.kind === 'anonymous' ? deny(401, '', ASK_FOR_LOGIN)
            : deny(404, 'Repository not found.\n');
        if (push && actor.kind === 'anonymous') return deny(401, '', ASK_FOR_LOGIN);
        if (push && !repo.may(actor, 'contents', 'write'))
            return deny(403, `Permission to ${repo.fullName}.git denied to ${actor.user.login}.\n`);
        if (repo === moved && !this.hub.world.find(full))
            return deny(301, '', { location: `${this.hub.url}/${repo.fullName}.git/${rest}`
                + url.search });
        record.repo = repo.fullName;
        const lost = fault?.after && rest === 'git-receive-pack';
        await serveGit(repo.bare, { req, res: lost ? sink() : res, url, rest,
            login: actor.user?.login });
        if (rest === 'git-receive-pack') repo.refsMoved(actor.user);
        record.status = lost ? 0 : res.statusCode;
        return lost ? fault.spoil(res, {}, '') : res.end();
    }

    // ---- the API ----

    async #api(req, res, url, path) {
        const text = await read(req);
        const record = this.#record({ kind: 'api', method: req.method, path,
            query: url.search.slice(1), headers: req.headers, text });
        const fault = this.hub.faults.find(record);
        if (fault && !await fault.before(req, res, record)) return undefined;
        if (path !== '/graphql') this.hub.problems.push(...this.hub.facts.wrong(record));
        const answer = await this.#answer(req, url, path, text, record);
        Object.assign(record, { status: answer.status, answer: answer.body });
        const body = answer.raw ?? (answer.body === undefined ? ''
            : JSON.stringify(answer.body));
        const headers = { ...STANDING, 'x-github-request-id': `HUB:${record.n}`,
            ...(answer.raw === undefined && body && { 'content-type':
                'application/json; charset=utf-8' }), ...answer.headers };
        if (fault?.after) return fault.spoil(res, { status: answer.status, headers }, body);
        res.writeHead(answer.status, { ...headers, 'content-length': Buffer.byteLength(body) });
        return res.end(req.method === 'HEAD' ? undefined : body);
    }

    async #answer(req, url, path, text, record) {
        let limit = {};
        try {
            if (!req.headers['user-agent']) throw new Refusal(403, 'Request forbidden by '
                + 'administrative rules. Please make sure your request has a User-Agent header.');
            const actor = this.hub.world.actor(req.headers.authorization);
            record.by = actor.user?.login ?? null;
            record.actor = actor.kind;
            const graphql = path === '/graphql';
            const bucket = this.hub.world.bucket(actor, graphql ? 'graphql' : 'core');
            const free = path === '/rate_limit';
            limit = () => limitHeaders(bucket, graphql ? 'graphql' : 'core');
            if (!free && bucket.used >= bucket.limit) throw new Refusal(403,
                `API rate limit exceeded for ${actor.user ? `user ID ${actor.user.id}`
                    : '127.0.0.1'}.`);
            const given = graphql ? answerGraphql(this.hub, actor, parse(text), record)
                : this.#route(req, url, path, text, actor, record);
            const answer = this.#finish(req, url, given);
            record.cost = free || answer.status === 304 ? 0 : 1;
            bucket.used += record.cost;
            return { ...answer, headers: { ...limit(), ...answer.headers } };
        } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            const { status, message, errors } = error;
            return { status, headers: { ...(typeof limit === 'function' && limit()),
                ...error.headers }, body: { message, ...(errors && { errors }),
                documentation_url: `${this.hub.url}/docs/rest`, status: String(status) } };
        }
    }

    #route(req, url, path, text, actor, record) {
        const { world } = this.hub;
        const found = this.routes.find(req.method === 'HEAD' ? 'GET' : req.method, path);
        record.route = found?.route.template;
        if (!found) throw new Refusal(404, 'Not Found');
        const { route, params } = found;
        const ctx = { hub: this.hub, world, show: this.hub.show, git: this.hub.showGit, actor,
            params, query: url.searchParams, headers: req.headers, body: parse(text) };
        if (params.repo !== undefined || params.repository_id !== undefined) {
            ctx.repo = this.#repo(params, url, path, actor);
            this.#allow(route, ctx);
        } else if (route.need === 'user' && actor.kind === 'anonymous') {
            throw new Refusal(401, 'Requires authentication');
        } else if (route.need === 'app' && actor.kind !== 'app') {
            throw new Refusal(401, 'A JSON web token could not be decoded');
        }
        const given = route.handle(ctx);
        if (given.items) given.base = pageBase(this.hub, ctx, path);
        return given;
    }

    #repo({ owner, repo: name, repository_id: id }, url, path, actor) {
        const { world } = this.hub;
        const found = id ? world.repos.find((each) => each.id === Number(id))
            : world.find(`${owner}/${name}`);
        if (found) return found;
        const moved = world.redirects.get(`${owner}/${name}`.toLowerCase());
        if (!moved || !moved.may(actor, 'metadata', 'read')) throw new Refusal(404, 'Not Found');
        const rest = path.split('/').slice(4).join('/');
        throw new Refusal(301, 'Moved Permanently', { headers: { location:
            `${this.hub.apiUrl}/repositories/${moved.id}${rest && `/${rest}`}${url.search}` } });
    }

    // 404 to those who may not see it, 403 to those who may not do it.
    #allow({ need, method }, { repo, actor }) {
        const [scopes, level] = need ?? [['metadata'], method === 'GET' ? 'read' : 'write'];
        if (!repo.may(actor, 'metadata', 'read')) throw new Refusal(404, 'Not Found');
        if ([scopes].flat().some((scope) => repo.may(actor, scope, level))) return;
        if (actor.kind === 'anonymous') throw new Refusal(401, 'Requires authentication');
        throw new Refusal(403, actor.kind === 'installation'
            ? 'Resource not accessible by integration'
            : 'Resource not accessible by personal access token');
    }

    // Pages, ETags.
    #finish(req, url, given) {
        let { status = 200, body, headers = {}, raw } = given;
        if (given.items) ({ body, headers } = this.#page_of(url, given, headers));
        if (req.method !== 'GET' || status !== 200 || raw !== undefined || body?.errors)
            return { status, body, headers, raw };
        const etag = `W/"${digest(JSON.stringify(body) + (req.headers.authorization ?? ''))}"`;
        const same = (req.headers['if-none-match'] ?? '').split(/\s*,\s*/).some((each) =>
            each.replace(/^W\//, '') === etag.replace(/^W\//, ''));
        headers = { ...headers, etag, 'cache-control': 'private, max-age=60, s-maxage=60' };
        return same ? { status: 304, headers } : { status, body, headers };
    }

    #page_of(url, { items, wrap, base, cursor }, headers) {
        const query = url.searchParams;
        const size = Math.min(Math.max(Number(query.get('per_page')) || PER_PAGE, 1), PER_PAGE_MAX);
        const page = Math.max(Number(query.get('page')) || 1, 1);
        const links = [];
        const link = (rel, changes) => {
            const next = new URLSearchParams(query);
            for (const [key, value] of Object.entries(changes)) next.set(key, value);
            links.push(`<${base}?${next}>; rel="${rel}"`);
        };
        let shown;
        if (cursor) { // Deliveries: by a cursor, not by numbers.
            const at = query.has('cursor') ? items.findIndex((each) =>
                cursor(each) === query.get('cursor')) : 0;
            shown = items.slice(at, at + size);
            if (at + size < items.length) link('next', { cursor: cursor(items[at + size]) });
        } else {
            const last = Math.max(Math.ceil(items.length / size), 1);
            shown = items.slice((page - 1) * size, page * size);
            if (page > 1) link('prev', { page: page - 1 });
            if (page < last) link('next', { page: page + 1 });
            if (page < last) link('last', { page: last });
            if (page > 1) link('first', { page: 1 });
        }
        const list = shown.map((each) => each.show());
        return { headers: { ...headers, ...(links.length && { link: links.join(', ') }) },
            body: wrap ? wrap(list, items.length) : list };
    }

    // Logs that a redirect has led to, and pages for people.
    #page(req, res, url) {
        const log = this.hub.logs.get(url.pathname);
        const record = this.#record({ kind: 'page', method: req.method, path: url.pathname,
            headers: req.headers });
        if (log !== undefined && req.headers.authorization) record.leaked = true;
        record.status = log === undefined ? 404 : 200;
        res.writeHead(record.status, { 'content-type': 'text/plain; charset=utf-8' })
            .end(log ?? 'Not Found\n');
    }

    #record(entry) {
        const record = { n: ++this.numbered, at: this.hub.world.now(), status: null, ...entry };
        if (this.requests.length < RECORDED_MAX) this.requests.push(record);
        return record;
    }
}

const ASK_FOR_LOGIN = { 'www-authenticate': 'Basic realm="GitHub"' };
const STANDING = { server: 'hub', 'x-github-media-type': 'github.v3; format=json',
    'x-github-api-version-selected': '2022-11-28' };

function apiPath(path) {
    if (path === '/api/graphql' || path === '/graphql') return '/graphql';
    if (path.startsWith('/api/v3/')) return path.slice('/api/v3'.length);
    return API_ROOTS.test(path) ? path : null;
}

// GitHub's links name a repository by its id.
function pageBase(hub, { repo }, path) {
    if (!repo) return hub.apiUrl + path;
    const rest = path.startsWith('/repositories/') ? path.split('/').slice(3)
        : path.split('/').slice(4);
    return `${hub.apiUrl}/repositories/${repo.id}/${rest.join('/')}`;
}

function limitHeaders(bucket, resource) {
    return { 'x-ratelimit-limit': String(bucket.limit),
        'x-ratelimit-remaining': String(Math.max(bucket.limit - bucket.used, 0)),
        'x-ratelimit-reset': String(Math.floor(bucket.reset / 1000)),
        'x-ratelimit-used': String(bucket.used), 'x-ratelimit-resource': resource };
}

function parse(text) {
    if (text === '') return {};
    try {
        const body = JSON.parse(text);
        if (body && typeof body === 'object') return body;
    } catch {
        // Answered below.
    }
    throw new Refusal(400, 'Problems parsing JSON');
}

async function read(req) {
    const parts = [];
    let size = 0;
    for await (const part of req) {
        size += part.length;
        if (size > BODY_MAX) throw new Error('a body is too large for the hub');
        parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
}

// Takes what nobody will see.
const sink = () => ({ setHeader() {}, writeHead() {}, write: () => true, statusCode: 200 });

// world.mjs - who and what is on the hub: people, organizations, tokens, Apps, repositories.
import { createHash, generateKeyPairSync, randomBytes, verify } from 'node:crypto';
import { Repo } from './repo.mjs';

const TOKEN_LIFE_MS = 3600_000;
const JWT_LIFE_S = 600;
export const LIMITS = { core: 5000, graphql: 5000, search: 30 };
const WINDOW_MS = 3600_000;

// Raised by what a caller may not do; becomes the answer.
export class Refusal extends Error {
    constructor(status, message, { errors, headers = {} } = {}) {
        super(message);
        this.status = status;
        this.errors = errors;
        this.headers = headers;
    }
}

export const iso = (ms) => (ms === null || ms === undefined ? null
    : `${new Date(ms).toISOString().slice(0, 19)}Z`);

export class World {
    constructor({ dir, now = Date.now, lazyMergeable = true }) {
        this.dir = dir;
        this.clock = now;
        this.aheadMs = 0;
        this.lazyMergeable = lazyMergeable;
        this.ids = 5_000_000_000; // Larger than 32 bits, as many of GitHub's are.
        this.small = 1000;
        this.users = new Map();
        this.tokens = new Map();
        this.apps = new Map();
        this.repos = [];
        this.redirects = new Map();
        this.buckets = new Map();
        this.emit = () => {}; // (repo, event, payload): set by webhooks.mjs
    }

    now() {
        return this.clock() + this.aheadMs;
    }

    id() {
        return this.ids++;
    }

    // ---- people ----

    user(login, more = {}) {
        if (login && typeof login === 'object') return login;
        const key = login.toLowerCase();
        if (!this.users.has(key)) {
            const type = login.endsWith('[bot]') ? 'Bot' : 'User';
            this.users.set(key, { login, id: this.small++, type, name: login,
                members: new Set(), teams: new Map(), created: this.now(), ...more });
        }
        return Object.assign(this.users.get(key), more);
    }

    org(login, { members = [], teams = {} } = {}) {
        const org = this.user(login, { type: 'Organization' });
        for (const each of members) org.members.add(this.user(each).login);
        for (const [slug, people] of Object.entries(teams)) {
            org.teams.set(slug, { slug, id: this.small++, members: new Set(people) });
            for (const each of people) org.members.add(this.user(each).login);
        }
        return org;
    }

    // A personal access token.  permissions: of a fine-grained one; null: all that the person may.
    token(login, { permissions = null, repos = null, limit,
        text = `${permissions ? 'github_pat_' : 'ghp_'}${randomBytes(18).toString('hex')}` } = {}) {
        const user = this.user(login);
        this.tokens.set(text, { kind: 'pat', user, permissions, repos, app: null,
            bucket: `user:${user.id}`, expires: null });
        if (limit) this.setLimit(`user:${user.id}`, limit);
        return text;
    }

    revoke(token) {
        this.tokens.delete(token);
    }

    // ---- Apps ----

    // {id, slug, privateKey (PEM), install()}
    app({ slug = 'drover', permissions = APP_PERMISSIONS, events = ['*'] } = {}) {
        let keys; // Made when they are needed: that takes a while.
        const pair = () => (keys ??= generateKeyPairSync('rsa', { modulusLength: 2048 }));
        const app = {
            id: this.small++, slug, permissions, events,
            clientId: `Iv23${randomBytes(8).toString('hex')}`,
            get publicKey() {
                return pair().publicKey;
            },
            get privateKey() {
                return pair().privateKey.export({ type: 'pkcs1', format: 'pem' });
            },
            user: this.user(`${slug}[bot]`, { type: 'Bot' }),
            owner: this.user('hub-apps', { type: 'Organization' }),
            installations: [], hook: null, created: this.now(), world: this,
        };
        app.install = (account, repos = 'all') => this.#install(app, account, repos);
        this.apps.set(app.id, app);
        return app;
    }

    #install(app, account, repos) {
        const installation = {
            id: this.small++, app, account: this.user(account), created: this.now(),
            repos: repos === 'all' ? null : repos.map((name) => this.repo(name).id),
            permissions: app.permissions, suspended: null,
        };
        app.installations.push(installation);
        return installation;
    }

    installationOf(app, repo) {
        return app.installations.find(({ account, repos }) =>
            account === repo.owner && (repos === null || repos.includes(repo.id)));
    }

    // {token, expires, repos, permissions}; asked: the body of the request.
    installationToken(installation, asked = {}) {
        const repos = this.#scope(installation, asked);
        for (const [name, level] of Object.entries(asked.permissions ?? {}))
            if (!covers(installation.permissions[name], level))
                throw new Refusal(422, 'The permissions requested are not granted to this '
                    + 'installation.');
        const token = `ghs_${randomBytes(18).toString('hex')}`;
        const grant = {
            kind: 'installation', user: installation.app.user, app: installation.app,
            permissions: { metadata: 'read', ...(asked.permissions ?? installation.permissions) },
            repos: repos ?? (installation.repos && [...installation.repos]),
            account: installation.account, installation,
            bucket: `installation:${installation.id}`, expires: this.now() + TOKEN_LIFE_MS,
        };
        this.tokens.set(token, grant);
        return { token, ...grant };
    }

    #scope(installation, { repositories, repository_ids: ids }) {
        if (!repositories && !ids) return null;
        const all = [...(repositories ?? []).map((name) =>
            this.find(`${installation.account.login}/${name}`)), ...(ids ?? []).map((id) =>
            this.repos.find((repo) => repo.id === id))];
        if (all.some((repo) => !repo || this.installationOf(installation.app, repo)
            !== installation))
            throw new Refusal(422, 'There is at least one repository that does not exist or is '
                + 'not accessible to the parent installation.');
        return all.map((repo) => repo.id);
    }

    // The App of a JSON web token; GitHub's own rules: RS256, iat in the past, at most 10 minutes.
    appOfJwt(text) {
        const bad = (why) => new Refusal(401, why);
        const [head, body, signature, more] = text.split('.');
        const unpack = (part) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
        let header, claims;
        try {
            [header, claims] = [unpack(head), unpack(body)];
        } catch {
            throw bad('A JSON web token could not be decoded');
        }
        const app = [...this.apps.values()].find((each) => String(each.id) === String(claims.iss)
            || each.clientId === claims.iss);
        if (more !== undefined || header.alg !== 'RS256' || !app
            || !verify('RSA-SHA256', Buffer.from(`${head}.${body}`), app.publicKey,
                Buffer.from(signature ?? '', 'base64url')))
            throw bad('A JSON web token could not be decoded');
        const now = this.now() / 1000;
        if (!Number.isInteger(claims.iat) || claims.iat > now + 60)
            throw bad("'Issued at' claim ('iat') must be an Integer representing the time that the "
                + 'assertion was issued');
        if (!Number.isInteger(claims.exp) || claims.exp <= now)
            throw bad("'Expiration time' claim ('exp') must be a numeric value representing the "
                + 'future time at which the assertion expires');
        if (claims.exp > now + JWT_LIFE_S + 60 || claims.exp - claims.iat > JWT_LIFE_S + 60)
            throw bad("'Expiration time' claim ('exp') is too far in the future");
        return app;
    }

    // ---- who calls ----

    // The value of an Authorization header; git: that of git over HTTP.
    actor(header, { git = false } = {}) {
        if (!header) return { kind: 'anonymous', user: null, permissions: { metadata: 'read' },
            repos: null, bucket: 'anonymous' };
        const [, scheme, value] = /^(\S+)\s+(.*)$/.exec(header) ?? [];
        let token = value, name = null;
        if (/^basic$/i.test(scheme ?? '')) {
            const text = Buffer.from(value, 'base64').toString();
            [name, token] = [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 1)];
        } else if (git || !/^(bearer|token)$/i.test(scheme ?? '')) {
            throw new Refusal(401, 'Bad credentials');
        }
        if (!git && token?.split('.').length === 3 && !token.startsWith('gh')) {
            const app = this.appOfJwt(token);
            return { kind: 'app', user: app.user, app, bucket: `app:${app.id}`, permissions: {},
                repos: [] };
        }
        const grant = this.tokens.get(token);
        if (!grant || (grant.expires !== null && grant.expires <= this.now())
            || grant.installation?.suspended
            || (git && grant.kind === 'installation' && name !== 'x-access-token'))
            throw new Refusal(401, 'Bad credentials');
        return { ...grant, token };
    }

    // ---- repositories ----

    repo(name, options) {
        const found = this.find(name);
        if (found) return found;
        if (options === undefined) throw new Error(`the hub has no repository ${name}`);
        const repo = new Repo(this, name, options);
        this.repos.push(repo);
        return repo;
    }

    find(name) {
        const key = name.toLowerCase();
        return this.repos.find((repo) => repo.fullName.toLowerCase() === key);
    }

    // ---- limits ----

    bucket(actor, resource) {
        const now = this.now();
        const all = this.buckets.get(actor.bucket) ?? {};
        this.buckets.set(actor.bucket, all);
        const limit = actor.kind === 'anonymous' && resource === 'core' ? 60 : LIMITS[resource];
        const made = () => ({ limit, used: 0, reset: wholeSecond(now + WINDOW_MS) });
        if (!all[resource] || all[resource].reset <= now)
            all[resource] = { ...made(), ...(all[resource] && { limit: all[resource].next
                ?? all[resource].limit }) };
        return all[resource];
    }

    // who: a bucket's name, or a login; {resource: 'core', limit, remaining, resetInMs, next}
    setLimit(who, { resource = 'core', limit, remaining, resetInMs = WINDOW_MS, next }) {
        const name = who.includes(':') ? who : `user:${this.user(who).id}`;
        const bucket = this.bucket({ bucket: name }, resource);
        bucket.limit = limit ?? bucket.limit;
        bucket.next = next;
        bucket.used = remaining === undefined ? bucket.used : bucket.limit - remaining;
        bucket.reset = wholeSecond(this.now() + resetInMs);
    }
}

// A window ends when its header says so, which has no fractions.
const wholeSecond = (ms) => Math.ceil(ms / 1000) * 1000;

export const covers = (have, want) => LEVELS.indexOf(have ?? 'none') >= LEVELS.indexOf(want);
const LEVELS = ['none', 'read', 'write', 'admin'];

const APP_PERMISSIONS = {
    actions: 'write', administration: 'read', checks: 'write', contents: 'write', issues: 'write',
    members: 'read', merge_queues: 'write', metadata: 'read', pull_requests: 'write',
    repository_hooks: 'write', statuses: 'write', workflows: 'write',
};

// GitHub's node ids are opaque: a prefix of the kind and something behind it.
export const nodeId = (kind, id) => `${kind}_${Buffer.from(String(id)).toString('base64url')}`;
export const digest = (text) => createHash('sha256').update(text).digest('hex');
export const randomName = () => randomBytes(16).toString('hex');

// routes.mjs - the table of the REST API: method, template as GitHub's description writes it, what
// the caller's token needs, and what is done.
import { Refusal } from './world.mjs';

export class Routes {
    constructor(tables) {
        this.all = tables.flat().map(([method, template, need, handle]) => {
            const names = [];
            const source = template.split('/').map((part) => {
                const name = /^\{(\+?)(\w+)\}$/.exec(part);
                if (!name) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
                names.push(name[2]);
                return name[1] ? '(.+)' : '([^/]+)';
            }).join('/');
            return { method, template: template.replace('{+', '{'), need, handle, names,
                pattern: new RegExp(`^${source}$`) };
        });
    }

    find(method, path) {
        const byId = /^\/repositories\/(\d+)(\/.*)?$/.exec(path);
        const named = byId ? `/repos/-/-${byId[2] ?? ''}` : path;
        for (const route of this.all) {
            const match = route.method === method && route.pattern.exec(named);
            if (!match) continue;
            const params = Object.fromEntries(route.names.map((name, i) =>
                [name, decodeURIComponent(match[i + 1])]));
            if (byId) Object.assign(params, { owner: undefined, repo: undefined,
                repository_id: byId[1] });
            return { route, params };
        }
        return null;
    }
}

export const R = '/repos/{owner}/{repo}';

export function notFound(value, message = 'Not Found') {
    if (value === undefined || value === null) throw new Refusal(404, message);
    return value;
}

// The body lacks what it must have.
export function required(body, resource, ...fields) {
    const missing = fields.filter((field) => body[field] === undefined || body[field] === null);
    if (missing.length > 0) throw new Refusal(422, 'Validation Failed',
        { errors: missing.map((field) => ({ resource, field, code: 'missing_field' })) });
}

// For pages: each item is shown only if it is on the page.
export const list = (items, show, more = {}) => ({
    items: items.map((item) => ({ item, show: () => show(item) })), ...more });

// Sorts by the query's sort and direction; keys: {name: item => number}.
export function sorted(items, query, keys, fallback, direction = 'desc') {
    const key = keys[query.get('sort') ?? fallback] ?? keys[fallback];
    const sign = (query.get('direction') ?? direction) === 'asc' ? 1 : -1;
    return [...items].sort((a, b) => sign * (key(a) - key(b)));
}

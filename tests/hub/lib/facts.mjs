// facts.mjs - checks a request by facts.jsonl: operations, query parameters and members of bodies
// as GitHub's description has them.  contract/facts.test.mjs keeps it true.
import { readFileSync } from 'node:fs';

const FILE = new URL('../facts.jsonl', import.meta.url);

export class Facts {
    constructor() {
        this.all = readFileSync(FILE, 'utf8').split('\n').filter(Boolean).map((line) => {
            const fact = JSON.parse(line);
            const source = fact.path.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
                .replace(/\{(path|ref|branch|basehead)\}/g, '.+').replace(/\{\w+\}/g, '[^/]+');
            return { ...fact, pattern: new RegExp(`^${source}$`) };
        }).sort((a, b) => count(a.path) - count(b.path) || b.path.length - a.path.length);
    }

    // What is wrong with a request; [] for nothing.
    wrong({ method, path, query, text }) {
        const named = path.replace(/^\/repositories\/\d+/, '/repos/-/-');
        const fact = this.all.find((each) => each.method === method && each.pattern.test(named));
        if (!fact) return [`${method} ${path}: the hub has no such operation`];
        const found = [...new URLSearchParams(query).keys()]
            .filter((name) => !fact.query.includes(name))
            .map((name) => `there is no query parameter ${name}`);
        found.push(...bodyWrong(fact, text));
        return found.map((each) => `${method} ${fact.path}: ${each}`);
    }
}

const count = (path) => path.split('{').length;

function bodyWrong({ body, required }, text) {
    if (!body) return text === '' ? [] : ['a body is not expected'];
    let given = {};
    try {
        if (text !== '') given = JSON.parse(text);
    } catch {
        return ['the body is not JSON'];
    }
    if (Array.isArray(given)) return [];
    const found = required.filter((name) => !(name in given))
        .map((name) => `the body lacks ${name}`);
    for (const [name, value] of Object.entries(given)) {
        const type = body[name];
        if (type === undefined && Object.keys(body).length > 0)
            found.push(`the body has no member ${name}`);
        else if (type && value !== null && typeOf(value) !== type)
            found.push(`the member ${name} is no ${type}`);
    }
    return found;
}

const typeOf = (value) => (Array.isArray(value) ? 'array' : typeof value);

// faults.mjs - what goes wrong on the way: the test says for which requests, how, and how often.
import { setTimeout as sleep } from 'node:timers/promises';

const HTML = '<!DOCTYPE html>\n<html><body><h1>Whoa there!</h1>Unicorn!</body></html>\n';

export class Faults {
    constructor() {
        this.rules = [];
        this.hanging = new Set();
    }

    // See README.md; gives back {hits, remove()}.
    add(rule) {
        const fault = new Fault(this, rule);
        this.rules.push(fault);
        return fault;
    }

    find(record) {
        const fault = this.rules.find((each) => each.matches(record));
        if (!fault) return null;
        if (fault.skip > 0) {
            fault.skip--;
            return null;
        }
        fault.hits++;
        record.fault = fault.kind;
        if (fault.hits >= fault.times) this.rules.splice(this.rules.indexOf(fault), 1);
        return fault;
    }

    stop() {
        for (const res of this.hanging) res.destroy();
    }
}

class Fault {
    constructor(all, { method, path, body, by, git = false, times = 1, skip = 0, when = 'before',
        ...how }) {
        Object.assign(this, { all, method, path, body, by, git, times, skip, when, how, hits: 0 });
        [this.kind] = Object.keys(how);
        if (!KINDS.includes(this.kind))
            throw new Error(`fail: one of ${KINDS.join(', ')} is missing`);
    }

    remove() {
        const at = this.all.rules.indexOf(this);
        if (at >= 0) this.all.rules.splice(at, 1);
    }

    matches({ method, path, text = '', git = false }) {
        return this.git === git && (!this.method || this.method === method)
            && (!this.path || (this.path instanceof RegExp ? this.path.test(path)
                : path === this.path))
            && (!this.body || (this.body instanceof RegExp ? this.body.test(text)
                : text.includes(this.body)));
    }

    // What is done takes effect, and its answer is spoilt.
    get after() {
        return this.when === 'after';
    }

    // False: the request has been answered, or never will be.
    async before(req, res, record) {
        const { how } = this;
        if (how.wait) await how.wait(record);
        if (how.delayMs) await sleep(how.delayMs);
        if (how.wait || how.delayMs) return true;
        if (this.after) return true;
        record.status = how.status ?? (how.secondary ? 403 : 0);
        req.resume();
        this.spoil(res, {}, '');
        return false;
    }

    spoil(res, { status = 200, headers = {} }, body) {
        const { how } = this;
        if (how.reset) return res.destroy();
        if (how.hang) return this.all.hanging.add(res);
        if (how.half) {
            const text = body || '{"half": "of an answer that never comes to its end"}';
            res.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) });
            return res.write(text.slice(0, Math.floor(text.length / 2)), () => res.destroy());
        }
        if (how.secondary !== undefined) {
            const { status: given = 403, retryAfter = 1 } = how.secondary === true ? {}
                : how.secondary;
            res.writeHead(given, { ...(retryAfter !== null && { 'retry-after':
                String(retryAfter) }), 'content-type': 'application/json; charset=utf-8' });
            return res.end(JSON.stringify({ message: 'You have exceeded a secondary rate limit. '
                + 'Please wait a few minutes before you try again.',
            documentation_url: 'docs/rest/rate-limits', status: String(given) }));
        }
        res.writeHead(how.status, { 'content-type': 'text/html; charset=utf-8',
            ...how.headers });
        return res.end(how.text ?? HTML);
    }
}

const KINDS = ['status', 'reset', 'hang', 'half', 'secondary', 'delayMs', 'wait'];

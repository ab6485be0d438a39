// conformance.test.mjs - the official conformance suite against `drover serve --mcp-fixtures`:
// every scenario for servers, in every version of the protocol that drover serves.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeDirectory, start } from '../e2e/lib/server.mjs';
import { openFront } from './lib/front.mjs';
import { fileOf } from './lib/packages.mjs';

const HOOK = new URL('lib/older_node.mjs', import.meta.url).href;
const SUITE = fileOf('conformance', 'dist/index.js');

// {code, text}, whatever the exit status.
const suite = (args) => new Promise((resolve) => {
    execFile(process.execPath, ['--import', HOOK, SUITE, ...args], { maxBuffer: 64 * 1024 * 1024 },
        (error, out, err) => resolve({ code: error?.code ?? 0, text: out + err }));
});

// "  - ping [2025-06-18,2025-11-25]"; those of extensions have no version.
async function scenarios() {
    const { text } = await suite(['list', '--server']);
    const found = [...text.matchAll(/^ +- (\S+) \[([^\]]+)\]$/gm)]
        .map(([, name, versions]) => ({ name, versions: versions.split(',') }));
    assert.ok(found.length > 50, text);
    return found;
}

const VERSIONS = ['2025-06-18', '2025-11-25', '2026-07-28'];
// Skills (SEP-2640) are an extension that drover does not offer.
const NOT_OFFERED = /^sep-2640-/;

// What the suite itself leaves out: the stream of a request is not resumed by GET in drover, and
// the suite has no way yet to see notifications of tasks.
const LEFT_OUT = ['server-sse-polling', 'tasks-status-notifications'];

const all = (await scenarios()).filter(({ name }) => !NOT_OFFERED.test(name));

describe('the conformance suite', { concurrency: false }, () => {
    let server, front;
    before(async () => {
        server = await start({ args: ['--mcp-fixtures', '--workers', '0'] });
        front = await openFront(server.url, server.token);
    });
    after(async () => {
        front.close();
        await server.discard();
    });

    const ask = (dir, args) => suite(['server', '--url', `${front.url}/mcp`, '--output-dir', dir,
        '--timeout', '120000', ...args]);

    for (const version of VERSIONS) {
        describe(version, { concurrency: false }, () => {
            const dir = makeDirectory();
            let said;
            before(async () => { // One process for all: each needs a second to load.
                said = await ask(dir, ['--suite', 'all', '--spec-version', version]);
            });
            for (const { name } of all.filter(({ versions }) => versions.includes(version)))
                it(name, () => assertPassed(dir, name, said.text));
        });
    }

    describe('extensions', { concurrency: false }, () => {
        for (const { name } of all.filter(({ versions }) => versions[0] === 'extension')) {
            it(name, async () => {
                const dir = makeDirectory();
                const { text } = await ask(dir, ['--scenario', name]);
                assertPassed(dir, name, text);
            });
        }
    });
});

// Results are in DIR/server-SCENARIO-TIME/checks.json.
function assertPassed(dir, name, text) {
    const own = new RegExp(`^server-${name}-\\d{4}-`);
    const found = readdirSync(dir).filter((each) => own.test(each));
    assert.equal(found.length, 1, `${name} has no results: ${text}`);
    const checks = JSON.parse(readFileSync(join(dir, found[0], 'checks.json'), 'utf8'));
    const left = LEFT_OUT.includes(name);
    const fine = ['SUCCESS', 'INFO', ...(left ? ['SKIPPED'] : [])];
    const bad = checks.filter(({ status }) => !fine.includes(status));
    assert.deepEqual(bad.map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage}`),
        []);
    assert.equal(checks.some(({ status }) => status === 'SUCCESS'), !left, JSON.stringify(checks));
}

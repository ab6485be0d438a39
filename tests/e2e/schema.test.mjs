// schema.test.mjs - JSON Schemas on the command line: documents, and versions.  Without a server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BIN, makeDirectory, plainEnv } from './lib/server.mjs';

const dir = makeDirectory();
const drover = (...args) => spawnSync(BIN, ['schema', ...args],
    { cwd: dir, env: plainEnv(), encoding: 'utf8' });
const put = (name, text) => writeFileSync(join(dir, name),
    typeof text === 'string' ? text : JSON.stringify(text));

describe('drover schema', () => {
    after(() => rmSync(dir, { recursive: true }));

    it('lists schemas and prints one', () => {
        const { status, stdout } = drover('list');
        assert.equal(status, 0);
        assert.equal(drover().stdout, stdout);
        const names = stdout.trim().split('\n');
        // Those of events are many; one stands for them.
        for (const name of names.filter((each) => !/^agent\..*(?<!run\.started)\.v1$/.test(each))) {
            const text = drover('get', name).stdout;
            assert.equal(typeof JSON.parse(text), 'object', name);
            assert.equal(drover(name).stdout, text);
        }
        const { stdout: started } = drover('get', 'agent.run.started.v1');
        assert.equal(JSON.parse(started).title, 'agent.run.started');
        for (const name of ['agent.run.started', 'agent.run.started:1',
            'urn:drover:schema:agent.run.started:1'])
            assert.equal(drover('get', name).stdout, started, name);
        assert.equal(drover('get', 'agent.run.started:2').status, 3);
        const none = drover('get', 'none');
        assert.equal(none.status, 3);
        assert.match(none.stderr, /there is no schema none/);
    });

    it('validates: 0, 1 or 2', () => {
        put('s.json', { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } });
        put('unknown.json', { containz: {} });
        put('torn.json', '{');
        for (const [schema, document, expected, words] of [
            ['s.json', '{"a": 1}', 0, /^good is valid/],
            ['s.json', 'a: 1\n', 0, /^good is valid/],
            ['s.json', '{"a": "x"}', 1, /^good:1:\d+: a: must be an integer, not a string/],
            ['s.json', 'b: 1\n', 1, /^good:1:1: a: is required/],
            ['s.json', '3', 1, /must be an object, not an integer/],
            ['s.json', '{', 2, /good/],
            ['unknown.json', '{}', 2, /#\/containz is no keyword that is checked/],
            ['torn.json', '{}', 2, /torn\.json/],
            ['missing.json', '{}', 2, /missing\.json is neither a file nor a schema/],
            ['batch', 'name: x\nrepositories: ["a/*"]\ntask: {description: y}\n', 0, /is valid/],
            ['batch', 'name: x\nrepositorys: ["a/*"]\n', 1, /repositorys: is not known here;/],
        ]) {
            put('good', document);
            const { status, stdout, stderr } = drover('validate', schema, 'good');
            assert.equal(status, expected, `${schema} ${document}: ${stdout}${stderr}`);
            assert.match(status === 0 ? stdout : stderr, words);
        }
        assert.equal(drover('validate', 's.json', 'absent').status, 2);
    });

    it('compares versions: 0, 1 or 2', () => {
        const member = (schema) => ({ properties: { a: schema } });
        put('v1.json', member({ type: 'string', description: 'in seconds' }));
        put('wider.json', { properties: { ...member({ type: 'string',
            description: 'in seconds' }).properties, b: {} } });
        put('other.json', member({ type: 'integer', description: 'in seconds' }));
        put('words.json', member({ type: 'string', description: 'seconds' }));
        const check = (...args) => drover('check', ...args);
        assert.match(check('v1.json', 'v1.json').stdout, /^The new version is compatible\.\n$/);
        const wider = check('v1.json', 'wider.json');
        assert.deepEqual([wider.status, wider.stdout.split('\n')[0]],
            [0, 'compatible  b: is new and optional']);
        const other = check('v1.json', 'other.json');
        assert.deepEqual([other.status, other.stdout.split('\n')[0]],
            [1, 'breaking    a: type changes from "string" to "integer"']);
        assert.equal(check('v1.json', 'words.json').status, 1);
        assert.equal(check('v1.json', 'words.json', '--same-meaning').status, 0);
        assert.equal(check('v1.json', 'absent.json').status, 2);
        assert.deepEqual(JSON.parse(check('v1.json', 'other.json', '--json').stdout), {
            compatible: false, leftOut: 0, findings: [{ path: 'a', rule: 'type-changed',
                breaking: true, message: 'type changes from "string" to "integer"' }] });
    });

    // What a type of event may become without a new version, and what it may not.
    it('gives each of the twelve rules of evolution its verdict', () => {
        const before = { type: 'object', required: ['runId'], properties: {
            runId: { type: 'string' },
            waitMs: { type: 'integer', description: 'since it was queued' },
            verdict: { enum: ['pass', 'fail'] } } };
        const change = (edit) => {
            const after = structuredClone(before);
            edit(after.properties, after);
            return { 'agent.run.started.v1.json': after };
        };
        const rename = (p) => { p.waitedMs = p.waitMs; delete p.waitMs; };
        const remove = (p) => { delete p.waitMs; };
        for (const [rule, verdict, after] of [
            ['add an optional field', 0, change((p) => { p.model = { type: 'string' }; })],
            ['remove a field', 1, change(remove)],
            ['rename a field', 1, change(rename)],
            ['change the meaning of a field', 1,
                change((p) => { p.waitMs.description = 'since it was submitted'; })],
            ['change the values of an enum', 1, change((p) => { p.verdict.enum.push('maybe'); })],
            ['adding optional fields', 0,
                change((p) => { p.model = { type: 'string' }; p.agent = { type: 'string' }; })],
            ['adding new event types', 0,
                { ...change(() => {}), 'agent.run.invented.v1.json': before }],
            ['deprecating fields', 0, change((p) => { p.waitMs.deprecated = true; })],
            ['removing fields', 1, change((p) => { remove(p); delete p.verdict; })],
            ['changing field types', 1, change((p) => { p.waitMs.type = 'string'; })],
            ['making optional fields required', 1,
                change((p, schema) => { schema.required.push('waitMs'); })],
            ['renaming fields', 1, change((p) => { rename(p); p.word = p.verdict;
                delete p.verdict; })],
        ]) {
            for (const [name, files] of [['rules-old', { 'agent.run.started.v1.json': before }],
                ['rules-new', after]]) {
                rmSync(join(dir, name), { recursive: true, force: true });
                mkdirSync(join(dir, name));
                for (const file of Object.keys(files)) put(join(name, file), files[file]);
            }
            const { status, stdout } = drover('check', 'rules-old', 'rules-new');
            assert.equal(status, verdict, `${rule}: ${stdout}`);
            assert.match(stdout, verdict === 1 ? /^breaking {4}/m : /^compatible {2}/m, rule);
        }
    });

    it('compares directories', () => {
        for (const name of ['old', 'new']) mkdirSync(join(dir, name));
        put('old/gone.json', {});
        put('old/same.json', { type: 'string' });
        put('new/same.json', { type: 'null' });
        put('new/added.json', {});
        put('new/README.md', 'no schema');
        const { status, stdout } = drover('check', 'old', 'new');
        assert.equal(status, 1);
        assert.deepEqual(stdout.split('\n').slice(0, 3), ['compatible  added.json: is new',
            'breaking    gone.json: is gone: consumers may rely on it',
            'breaking    same.json: type changes from "string" to "null"']);
    });
});

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
        for (const name of stdout.trim().split('\n')) {
            const text = drover('get', name).stdout;
            assert.equal(typeof JSON.parse(text), 'object', name);
            assert.equal(drover(name).stdout, text);
        }
        const none = drover('get', 'none');
        assert.equal(none.status, 3);
        assert.match(none.stderr, /there is no schema none/);
    });

    it('validates: 0, 1 or 2', () => {
        put('s.json', { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } });
        put('unknown.json', { contains: {} });
        put('torn.json', '{');
        for (const [schema, document, expected, words] of [
            ['s.json', '{"a": 1}', 0, /^good is valid/],
            ['s.json', 'a: 1\n', 0, /^good is valid/],
            ['s.json', '{"a": "x"}', 1, /^good:1:\d+: a: must be an integer, not a string/],
            ['s.json', 'b: 1\n', 1, /^good:1:1: a: is required/],
            ['s.json', '3', 1, /must be an object, not an integer/],
            ['s.json', '{', 2, /good/],
            ['unknown.json', '{}', 2, /#\/contains is a keyword that would not be checked/],
            ['torn.json', '{}', 2, /torn\.json/],
            ['missing.json', '{}', 2, /there is no file missing\.json/],
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
        const { compatible, changes } = JSON.parse(check('v1.json', 'other.json', '--json').stdout);
        assert.deepEqual([compatible, changes], [false, [{ breaking: true, path: 'a',
            why: 'type changes from "string" to "integer"' }]]);
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

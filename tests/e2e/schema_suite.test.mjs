// schema_suite.test.mjs - the official JSON-Schema-Test-Suite (draft 2020-12) by the program.
//
// The suite is that of Debian's libtest-json-schema-acceptance-perl, or another one: a directory of
// the suite's tests/draft2020-12 in DROVER_JSON_SCHEMA_SUITE.  Its files are of one keyword each.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BIN, makeDirectory, plainEnv } from './lib/server.mjs';

const PACKAGE = '/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests/draft2020-12';
const given = process.env.DROVER_JSON_SCHEMA_SUITE;
const suite = given ?? PACKAGE;
const wanted = given !== undefined || (process.env.DROVER_LONG && existsSync(suite));

// Not supported, and refused: documents from elsewhere, vocabularies, keywords that are not known.
const UNSUPPORTED = ['refRemote', 'vocabulary', 'unknownKeyword'];
const REMOTE = /there is no schema http:\/\/localhost:1234\//;

const dir = makeDirectory();
const validate = (schema, instance) => new Promise((resolve) => {
    const child = spawn(BIN, ['schema', 'validate', schema, instance], { env: plainEnv() });
    let text = '';
    child.stdout.on('data', (part) => { text += part; });
    child.stderr.on('data', (part) => { text += part; });
    child.on('close', (status) => resolve({ status, text }));
});

async function judge(file) {
    const wrong = [];
    let right = 0, remote = 0;
    for (const { description, schema, tests } of JSON.parse(readFileSync(join(suite, file)))) {
        const path = join(dir, `schema-${file}`);
        writeFileSync(path, JSON.stringify(schema));
        for (const test of tests) {
            const instance = join(dir, `instance-${file}`);
            writeFileSync(instance, JSON.stringify(test.data));
            const { status, text } = await validate(path, instance);
            if (status === (test.valid ? 0 : 1)) right++;
            else if (status === 2 && REMOTE.test(text)) remote++;
            else wrong.push(`${description}: ${test.description}: ${status} ${text}`);
        }
    }
    return { right, remote, wrong };
}

describe('the official suite of JSON Schema', { skip: !wanted && 'only in the long run' }, () => {
    after(() => rmSync(dir, { recursive: true }));
    const files = wanted ? readdirSync(suite).filter((name) => name.endsWith('.json')) : [];

    it('is there', () => assert.ok(files.length >= 40, suite));

    for (const file of files)
        it(`has ${file}`, async () => {
            const { right, remote, wrong } = await judge(file);
            if (UNSUPPORTED.includes(file.replace('.json', ''))) {
                for (const each of wrong) assert.match(each, /: 2 /);
                return;
            }
            assert.deepEqual(wrong, []);
            assert.ok(right > 0);
            if (file !== 'dynamicRef.json') assert.equal(remote, 0);
        });
});

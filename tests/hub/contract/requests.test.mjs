// requests.test.mjs - every request that drover makes in the end-to-end tests is one that GitHub
// describes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Description } from './lib/description.mjs';
import { module } from './lib/packages.mjs';

const E2E = fileURLToPath(new URL('../../e2e', import.meta.url));
// The end-to-end tests in which drover works at a hub.
const FILES = readdirSync(E2E).filter((name) => name.endsWith('.test.mjs')
    && name !== 'hub.test.mjs' && /\/github\.mjs'|hub\/hub\.mjs'/.test(readFileSync(
        join(E2E, name), 'utf8')));

describe('the requests of drover', () => {
    let dir, requests = [];
    before(async () => {
        dir = mkdtempSync(join(tmpdir(), 'hub-record-'));
        for (const name of FILES) {
            const child = spawn(process.execPath, [join(E2E, name)], { stdio: 'ignore',
                env: { ...process.env, HUB_RECORD: dir, NODE_TEST_CONTEXT: undefined } });
            await once(child, 'exit'); // Whether it passed is told by make test.
        }
        requests = readdirSync(dir).flatMap((name) => readFileSync(join(dir, name), 'utf8')
            .split('\n').filter(Boolean).map((line) => JSON.parse(line)));
    });
    after(() => rmSync(dir, { recursive: true }));

    it('are there to be checked', () => {
        assert.ok(FILES.includes('github_journey.test.mjs'), FILES.join());
        assert.ok(requests.length > 500, `${requests.length} requests of ${FILES}`);
        const routes = new Set(requests.map(({ method, route }) => `${method} ${route}`));
        assert.ok(routes.size > 10, [...routes].join('\n'));
    });

    it('are those that GitHub describes', () => {
        const description = new Description();
        const wrong = new Set(requests.filter(({ path }) => path !== '/graphql')
            .flatMap((each) => description.request(each)));
        assert.deepEqual([...wrong], []);
    });

    it('got answers that GitHub describes', () => {
        const description = new Description();
        const wrong = new Set(requests.filter(({ path, status, fault }) => path !== '/graphql'
            && !fault && status !== 301).flatMap((each) => description.answer(each)));
        assert.deepEqual([...wrong], []);
    });

    it('are valid GraphQL where they are GraphQL', async () => {
        const { validate } = await module('@octokit/graphql-schema');
        const asked = new Set(requests.filter(({ path }) => path === '/graphql')
            .map(({ text }) => JSON.parse(text).query));
        assert.ok(asked.size > 0);
        for (const query of asked)
            assert.deepEqual(validate(query).map(({ message }) => message), [], query);
    });
});

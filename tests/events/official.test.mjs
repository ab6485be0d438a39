// official.test.mjs - what the projects behind the standards say of drover's events: the parser of
// AsyncAPI of the document, the SDK of CloudEvents of every event of a run and of the examples.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertStrict } from '../e2e/lib/cloudevents.mjs';
import { fixes, says } from '../e2e/lib/git.mjs';
import { start } from '../e2e/lib/server.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIR = resolve(process.env.NPM_DIR ?? join(ROOT, 'build/events'));
const require = createRequire(join(DIR, '/'));
const { Parser } = require('@asyncapi/parser');
const { CloudEvent, HTTP } = require('cloudevents');
const EXAMPLES = join(ROOT, 'tests/fixtures/events');

const NOTES = ['asyncapi-latest-version']; // That there is a 3.1 by now.

describe('the official programs', () => {
    let server, events;

    before(async () => {
        server = await start();
        const repo = await server.repository('acme/official',
            says({ type: 'tool', name: 'edit', status: 'completed', summary: 'x' }) + fixes);
        const { runId } = await server.finish(repo.name, 'completed');
        events = await server.events(runId);
    });
    after(() => server.discard());

    it('AsyncAPI: its parser finds nothing wrong, and every message with its payload', async () => {
        const { text } = await server.call('GET', '/asyncapi.json', { token: null });
        const { document, diagnostics } = await new Parser().parse(text);
        assert.deepEqual(diagnostics.filter(({ code }) => !NOTES.includes(code)), []);
        assert.equal(document.version(), '3.0.0');
        const messages = document.channels().all().flatMap((each) => each.messages().all());
        assert.equal(new Set(messages.map((each) => each.id())).size, messages.length);
        assert.ok(messages.length > 150);
        for (const message of messages) {
            assert.equal(message.payload().allOf().length, 2, message.name());
            assert.ok(message.bindings().get('kafka').value().key, message.name());
        }
    });

    it('CloudEvents: its SDK takes every event of a run, and the examples', () => {
        const examples = readdirSync(EXAMPLES).map((file) =>
            JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')));
        for (const event of [...events, ...examples]) {
            const taken = new CloudEvent(event, true); // Strict: throws.
            assert.ok(taken.validate());
            assert.equal(taken.id, event.id);
            assert.deepEqual(taken.data, event.data);
        }
    });

    it('CloudEvents: its SDK reads an event from the body of a request', () => {
        const headers = { 'content-type': 'application/cloudevents+json' };
        for (const event of events) {
            const read = HTTP.toEvent({ headers, body: JSON.stringify(event) });
            assert.equal(read.type, event.type);
            assert.equal(read.sequence, event.sequence);
        }
    });

    for (const [mode, write] of [['binary', (event) => HTTP.binary(event)],
        ['structured', (event) => HTTP.structured(event)]])
        it(`CloudEvents: what its SDK sends in ${mode} mode is taken as it is`, async () => {
            for (const more of [{ data: { a: [1, 'ü'] } },
                { data: 'Grüße', datacontenttype: 'text/plain', subject: 'a b' },
                { data: new Uint8Array([0, 255]), datacontenttype: 'application/octet-stream' }]) {
                const sent = new CloudEvent({ source: '/sdk', type: 'com.example.sdk', ext: 'x',
                    ...more });
                const { headers, body } = write(sent);
                const res = await server.call('POST', '/v1/events', { headers,
                    body: typeof body === 'string' ? body : Buffer.from(body) });
                assert.equal(res.status, 202, res.text);
                const got = (await server.list('/v1/events?type=com.example.sdk&limit=200'))
                    .find(({ id }) => id === sent.id);
                const bytes = Buffer.from(got.data_base64 ?? '', 'base64');
                if (sent.data instanceof Uint8Array) assert.deepEqual([...bytes], [0, 255]);
                else assert.deepEqual(got.data, sent.data);
                assert.deepEqual([got.ext, got.subject], ['x', sent.subject]);
            }
        });

    // The other way: what the SDK makes is what our own checker takes.
    it('CloudEvents: an event of its SDK is one for the checker of these tests', () => {
        const made = new CloudEvent({ source: '/x', type: 'com.example.made', data: { a: 1 } });
        assertStrict(JSON.parse(made.toString()));
    });
});

// contracts.test.mjs - what consumers can rely on: AsyncAPI, the schemas of events, CloudEvents.
// That every event of every test keeps its contract is checked by lib/server.mjs.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from './lib/cli.mjs';
import { assertHistory, assertStrict } from './lib/cloudevents.mjs';
import { fixes, says } from './lib/git.mjs';
import { start } from './lib/server.mjs';

const EXAMPLES = fileURLToPath(new URL('../fixtures/events', import.meta.url));
// The channels that consumers of such platforms know; drover has more.
const CHANNELS = ['task', 'run', 'step', 'tool', 'patch', 'verification', 'judge', 'approval',
    'pr', 'policy', 'cost', 'audit'].map((context) => `agent.${context}.events.v1`);

// The value that a reference inside of the document leads to.
function follow(document, ref) {
    assert.match(ref, /^#\//);
    return ref.slice(2).split('/').reduce((at, key) => {
        assert.ok(at && Object.hasOwn(at, key), `${ref} leads nowhere`);
        return at[key];
    }, document);
}

function refsIn(value, found = []) {
    if (value === null || typeof value !== 'object') return found;
    if (typeof value.$ref === 'string') found.push(value.$ref);
    Object.values(value).forEach((each) => refsIn(each, found));
    return found;
}

describe('the contracts of events', { concurrency: 4 }, () => {
    let server, document, types, finished;

    before(async () => {
        server = await start();
        const repo = await server.repository('acme/contract',
            says({ type: 'tool', name: 'edit', status: 'completed', summary: 'x' }) + fixes);
        finished = await server.finish(repo.name, 'completed');
        const answer = await server.call('GET', '/asyncapi.json', { token: null });
        assert.equal(answer.status, 200);
        document = answer.json;
        types = (await server.get('/v1/events/types')).items;
    });
    after(() => server.discard());

    it('are an AsyncAPI 3.0 document in which every reference leads somewhere', () => {
        assert.equal(document.asyncapi, '3.0.0');
        assert.ok(document.info.title && document.info.version);
        const refs = refsIn(document);
        assert.ok(refs.length > 500);
        for (const ref of new Set(refs)) follow(document, ref);
    });

    it('have a channel for each context, and its operation sends to it', () => {
        const names = Object.keys(document.channels);
        for (const name of CHANNELS) assert.ok(names.includes(name), name);
        for (const [name, channel] of Object.entries(document.channels)) {
            assert.equal(channel.address, name);
            assert.ok(Object.keys(channel.messages).length > 0, name);
            const sends = Object.values(document.operations).filter((operation) =>
                operation.action === 'send' && operation.channel.$ref === `#/channels/${name}`);
            assert.equal(sends.length, 1, name);
        }
    });

    it('have a message for each type, with its schema and its partition key', () => {
        const placed = Object.values(document.channels).flatMap((channel) =>
            Object.keys(channel.messages));
        assert.equal(new Set(placed).size, placed.length, 'no message stands in two channels');
        const missing = types.filter(({ type, version, context }) => {
            const channel = document.channels[`agent.${context}.events.v1`];
            return !channel?.messages[`${type}.v${version}`];
        });
        assert.deepEqual(missing.map(({ type }) => type),
            ['agent.notification.test', 'agent.run.heartbeat', 'conductor.heartbeat',
                'drover.log.written'],
            'those that are never logged');
        for (const [name, message] of Object.entries(document.components.messages)) {
            assert.equal(`${message.name}.v1`, name);
            assert.equal(message.payload.allOf[1].properties.type.const, message.name);
            assert.equal(message.bindings.kafka.key.type, 'string');
            assert.match(message.bindings.kafka.key.description, /runid|taskid|repository|subject/);
        }
    });

    it('are kept by a run: CloudEvents, strictly, whose dataschema leads to a schema', async () => {
        const events = await server.events(finished.runId);
        assertHistory(events);
        assert.match(events.find(({ runid }) => runid).sequence, /^0{9}1$/);
        const schemas = new Set(events.map(({ dataschema }) => dataschema));
        for (const urn of schemas) {
            const schema = await server.get(`/v1/schemas/${encodeURIComponent(urn)}`);
            assert.equal(schema.$id, urn);
        }
        assert.ok(schemas.size > 10);
    });

    it('are those that the command line validates with', async () => {
        const event = (await server.events(finished.runId))
            .find(({ type }) => type === 'agent.run.started');
        const validate = async (schema, value) => {
            const file = join(server.dir, `${schema.replaceAll(':', '-')}.json`);
            writeFileSync(file, JSON.stringify(value));
            return launch(['schema', 'validate', schema, file]).ended;
        };
        assert.equal((await validate('event', event)).code, 0);
        assert.equal((await validate(event.dataschema, event.data)).code, 0);
        const { code, err } = await validate('agent.run.started.v1', { ...event.data, runNo: 'x' });
        assert.equal(code, 1);
        assert.match(err, /runNo: must be an integer, not a string/);
    });

    it('have examples that are CloudEvents, strictly', () => {
        const files = readdirSync(EXAMPLES);
        assert.ok(files.length > 150);
        for (const file of files)
            assertStrict(JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')));
    });
});

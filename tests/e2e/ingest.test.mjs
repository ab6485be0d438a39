// ingest.test.mjs - CloudEvents over HTTP in all modes of the standard, and the registry.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { on } from './lib/database.mjs';
import { assertProblem, rawExchange, rawStatus } from './lib/http.mjs';
import { start } from './lib/server.mjs';

const BATCH = { 'content-type': 'application/cloudevents-batch+json; charset=utf-8' };
let server, count = 0;
const event = (more = {}) => ({ specversion: '1.0', id: `i${++count}`, source: '/ci',
    type: 'com.example.in', data: { ok: true }, ...more });
const headersOf = (more = {}) => ({ 'ce-specversion': '1.0', 'ce-id': `i${++count}`,
    'ce-source': '/ci', 'ce-type': 'com.example.in', ...more });
const append = (body, headers) => server.call('POST', '/v1/events', { body, headers });
const find = async (id, type = 'com.example.in') =>
    (await server.list(`/v1/events?type=${type}&limit=200`)).find((each) => each.id === id);

async function accepted(body, headers, answer = { accepted: 1, duplicates: 0 }) {
    const res = await append(body, headers);
    assert.deepEqual([res.status, res.json], [202, answer], res.text);
}

before(async () => {
    server = await start({ config: 'workers: 0\n' });
});
after(() => server.discard());

describe('an event in binary mode', () => {
    it('has its attributes as headers', async () => {
        const headers = headersOf({ 'ce-time': '2020-02-02T02:02:02Z', 'ce-number': '5',
            'CE-Subject': 'Euro%20%E2%82%AC', 'ce-quoted': '"a \\"b\\" c"',
            'ce-dataschema': 'https://example.com/s',
            'content-type': 'application/json; charset=utf-8' });
        await accepted('{"a": [1, null]}', headers);
        const got = await find(headers['ce-id']);
        assert.deepEqual([got.data, got.subject, got.quoted, got.number, got.time],
            [{ a: [1, null] }, 'Euro €', 'a "b" c', '5', '2020-02-02T02:02:02Z']);
        assert.deepEqual([got.datacontenttype, got.dataschema],
            ['application/json; charset=utf-8', 'https://example.com/s']);
    });

    for (const [what, type, body, wanted] of [
        ['JSON that is a string', 'application/json', '"x"', { data: 'x' }],
        ['a format over JSON', 'application/vnd.acme+json', '[1]', { data: [1] }],
        ['text', 'text/plain', 'Grüße', { data: 'Grüße' }],
        ['XML', 'application/xml', '<a/>', { data: '<a/>' }],
        ['bytes', 'application/octet-stream', Buffer.from([0, 255, 1]), { data_base64: 'AP8B' }],
        ['text that is none', 'text/plain', Buffer.from([0xff]), { data_base64: '/w==' }],
        ['nothing', 'text/plain', '', {}],
    ])
        it(`has data that is ${what}`, async () => {
            const headers = headersOf({ 'content-type': type });
            await accepted(body, headers);
            const { data, data_base64: bytes, datacontenttype } = await find(headers['ce-id']);
            assert.deepEqual([data, bytes], [wanted.data, wanted.data_base64]);
            assert.equal(datacontenttype, type);
        });

    for (const [what, more, field, status = 422] of [
        ['no id', { 'ce-id': null }, 'id'],
        ['bad UTF-8', { 'ce-subject': '%C0%A0' }, 'subject'],
        ['a broken escape', { 'ce-subject': '100%' }, 'subject'],
        ['its type of data twice', { 'ce-datacontenttype': 'text/plain' }, 'datacontenttype'],
        ['a header twice', { 'ce-ext': ['1', '2'] }, 'ext'],
        ['a name with a dash', { 'ce-my-ext': '1' }, 'my-ext'],
        ['a version that is none', { 'ce-specversion': '0.3' }, 'specversion'],
        ['data that is no JSON', { 'content-type': 'application/json' }, '', 400],
    ])
        it(`is refused: ${what}`, async () => {
            const res = await append('{', headersOf({ 'content-type': 'text/plain', ...more }));
            assertProblem(res, status, field === '' ? {} : { field });
        });

    it('is refused when its data is too large', async () => {
        const headers = headersOf({ 'content-type': 'text/plain' });
        assertProblem(await append('x'.repeat(65_537), headers), 422, { field: 'data' });
        assertProblem(await append(Buffer.alloc(60_000, 255), headers), 422,
            { field: 'data_base64' });
    });
});

describe('an event in structured mode', () => {
    it('may have bytes as data', async () => {
        const sent = event({ data: undefined, data_base64: 'AP8=', datacontenttype: 'image/png' });
        await accepted(sent, { 'content-type': 'application/cloudevents+json' });
        const got = await find(sent.id);
        assert.deepEqual([got.data_base64, got.datacontenttype, got.data],
            ['AP8=', 'image/png', undefined]);
        assertProblem(await append(event({ data_base64: 'AP8=' })), 422);
        assertProblem(await append(event({ data: undefined, data_base64: '*' })), 422,
            { field: 'data_base64' });
    });
});

describe('a batch of events', () => {
    it('is appended in order; what is there twice counts once', async () => {
        const [a, b, c] = ['b1', 'b2', 'b3'].map((id) => event({ id, type: 'com.example.batch' }));
        await accepted([a, b, a], BATCH, { accepted: 2, duplicates: 1 });
        await accepted([c, b], BATCH, { accepted: 1, duplicates: 1 });
        await accepted([], BATCH, { accepted: 0, duplicates: 0 });
        const stored = await server.list('/v1/events?type=com.example.batch');
        assert.deepEqual(stored.map(({ id }) => id), ['b1', 'b2', 'b3']);
    });

    it('is appended whole or not, and the one that is wrong is named', async () => {
        const type = 'com.example.whole';
        for (const [more, field, status] of [
            [{ id: undefined }, '[1].id', 422],
            [{ type: 'agent.run.started' }, '[1].type', 403],
            [{ runid: '01a1e111-4280-788b-8f9d-658fd086a1f4' }, '[1].runid', 422],
            [{ data: 'x'.repeat(65_536) }, '[1].data', 422],
        ]) {
            const res = await append([event({ type }), event({ type, ...more }), event({ type })],
                BATCH);
            assertProblem(res, status, { field });
            assert.match(res.json.detail, /^event \[1\] of the batch: /);
        }
        assertProblem(await append([event(), 7], BATCH), 422, { field: '[1]' });
        assert.deepEqual(await server.list(`/v1/events?type=${type}`), []);
    });

    it('has a limit, and is an array', async () => {
        const many = Array.from({ length: 501 }, () => event({ type: 'com.example.many' }));
        assertProblem(await append(many, BATCH), 413, { code: 'TOO_MANY_EVENTS' });
        await accepted(many.slice(1), BATCH, { accepted: 500, duplicates: 0 });
        assertProblem(await append(event(), BATCH), 422);
        assertProblem(await append('x'.repeat(2_000_000), BATCH), 413);
    });

    it('counts for the bytes that a token may send', async () => {
        const node = await start({ config: 'workers: 0\nlimits:\n'
            + '  eventBytesPerSecond: 1024\n  eventBytesBurst: 1048576\n' });
        const { token } = await node.post('/v1/tokens', { name: 'ci', role: 'operator' });
        const send = () => node.call('POST', '/v1/events', { token, headers: BATCH,
            body: Array.from({ length: 100 }, () => event({ data: 'x'.repeat(2000) })) });
        const answers = [];
        for (let i = 0; i < 20 && answers.at(-1)?.status !== 429; i++) answers.push(await send());
        assertProblem(answers.at(-1), 429, { code: 'EVENT_QUOTA' });
        await node.discard();
    });

    it('is known after a restart', async () => {
        const events = [event({ type: 'com.example.again' }), event({ type: 'com.example.again' })];
        await accepted(events, BATCH, { accepted: 2, duplicates: 0 });
        await server.crash();
        await server.start();
        await accepted([...events, event({ type: 'com.example.again' })], BATCH,
            { accepted: 1, duplicates: 2 });
        assert.equal((await server.list('/v1/events?type=com.example.again')).length, 3);
    });

    on('postgres', it)('is appended once by two nodes', async () => {
        const node = await start({ config: 'workers: 0\n', db: server.db });
        for (let round = 0; round < 10; round++) {
            const events = Array.from({ length: 20 }, () => event({ type: 'com.example.twice' }));
            const answers = await Promise.all([server, node, server, node].map((each, i) =>
                each.call('POST', '/v1/events', { headers: BATCH,
                    body: i % 2 ? events : [...events].reverse() })));
            assert.deepEqual(answers.map(({ status }) => status), [202, 202, 202, 202]);
            const sum = answers.reduce((total, { json }) => total + json.accepted, 0);
            assert.equal(sum, 20);
        }
        const all = await server.list('/v1/events?type=com.example.twice&limit=200');
        assert.equal(all.length, 200);
        await node.discard();
    });
});

describe('the registry', () => {
    const NAME = 'com.example.deployed';
    const v1 = { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean' } } };
    const v2 = { ...v1, properties: { ...v1.properties, by: { type: 'string' } } };
    const v3 = { ...v1, properties: { ok: { type: 'string' } } };
    const put = (body, query = '', name = NAME) =>
        server.call('PUT', `/v1/schemas/${encodeURIComponent(name)}${query}`, { body });

    it('lists and shows the schemas of drover', async () => {
        const items = await server.list('/v1/schemas');
        assert.ok(items.some(({ name }) => name === 'repository'));
        for (const { name, url, origin } of items) {
            assert.equal(origin, 'drover', name);
            const res = await server.call('GET', url);
            assert.equal(res.headers['content-type'], 'application/schema+json');
            assert.equal(typeof res.json, 'object', name);
        }
        assertProblem(await server.call('GET', '/v1/schemas/none'), 404);
    });

    it('validates', async () => {
        const validate = (body) => server.call('POST', '/v1/schemas/validate', { body });
        assert.deepEqual((await validate({ schema: v1, instance: { ok: true } })).json,
            { valid: true, errors: [], leftOut: 0 });
        const { json } = await validate({ schema: v1, instance: { ok: 1 } });
        assert.deepEqual([json.valid, json.errors],
            [false, [{ path: 'ok', message: 'must be a boolean, not an integer' }]]);
        assert.equal((await validate({ schema: false, instance: null })).json.valid, false);
        const batch = { name: 'x', repositories: ['a/*'], task: { description: 'y' } };
        assert.equal((await validate({ name: 'batch', instance: batch })).json.valid, true);
        assert.equal((await validate({ name: 'batch', instance: {} })).json.valid, false);
        for (const [body, field] of [
            [{ schema: { typ: 1 }, instance: 1 }, 'schema'],
            [{ name: 'none', instance: 1 }, 'name'], [{ instance: 1 }, 'schema'],
            [{ schema: true }, 'instance'],
            [{ schema: true, name: 'batch', instance: 1 }, 'schema'],
            [{ schema: true, instance: 1, more: 1 }, 'more'],
        ])
            assertProblem(await validate(body), 422, { field });
        assertProblem(await validate('{'), 400);
    });

    it('compares versions, and names the rule', async () => {
        const check = async (body) =>
            (await server.ok('POST', '/v1/schemas/check', body)).findings
                .map(({ path, rule, breaking }) => [path, rule, breaking]);
        assert.deepEqual(await check({ old: v1, new: v2 }), [['by', 'optional-added', false]]);
        assert.deepEqual(await check({ old: v1, new: v3 }), [['ok', 'type-changed', true]]);
        assert.deepEqual(await check({ old: null, new: v1 }), [['', 'schema-added', false]]);
        assert.deepEqual(await check({ old: v1, new: null }), [['', 'schema-removed', true]]);
        assert.deepEqual(await check({ old: 'batch', new: 'batch' }), []);
        const words = (description) => ({ properties: { a: { description } } });
        assert.deepEqual(await check({ old: words('s'), new: words('ms') }),
            [['a', 'meaning-changed', true]]);
        assert.deepEqual(await check({ old: words('s'), new: words('ms'), sameMeaning: true }), []);
        assertProblem(await server.call('POST', '/v1/schemas/check', { body: { old: 7, new: v1 } }),
            422, { field: 'old' });
    });

    it('keeps versions, and refuses breaking ones unless forced', async () => {
        const first = await put(v1);
        assert.deepEqual([first.status, first.json.version, first.json.dataschema],
            [201, 1, `urn:drover:schema:${NAME}:1`]);
        assert.equal((await put(v1)).status, 200);
        const second = await put(v2);
        assert.deepEqual([second.status, second.json.version,
            second.json.changes.findings.map(({ rule }) => rule)], [201, 2, ['optional-added']]);
        const third = await put(v3);
        assertProblem(third, 409, { code: 'SCHEMA_BREAKING' });
        assert.match(third.json.detail, /ok: type changes/);
        assert.equal((await put(v3, '?force=true')).json.version, 3);
        for (const [name, wanted] of [[NAME, v3], [`${NAME}:1`, v1],
            [`urn:drover:schema:${NAME}:2`, v2]])
            assert.deepEqual((await server.call('GET',
                `/v1/schemas/${encodeURIComponent(name)}`)).json, wanted);
        assertProblem(await server.call('GET', `/v1/schemas/${NAME}:4`), 404);
        const versions = await server.list(`/v1/schemas/${NAME}/versions`);
        assert.deepEqual(versions.map(({ version }) => version), [3, 2, 1]);
        const [listed] = (await server.list('/v1/schemas')).filter(({ name }) => name === NAME);
        assert.deepEqual([listed.origin, listed.version, listed.createdBy], ['client', 3, 'admin']);
    });

    it('refuses what is no schema, and names that are not for clients', async () => {
        assertProblem(await put({ typ: 'object' }, '', 'com.example.bad'), 422,
            { code: 'INVALID_SCHEMA' });
        assertProblem(await put('{', '', 'com.example.bad'), 400);
        assertProblem(await put({}, '?x=1', 'com.example.bad'), 400);
        for (const name of ['agent.run.started', 'conductor.x', 'repository'])
            assertProblem(await put({}, '', name), 403, { code: 'SCHEMA_RESERVED' });
        for (const name of ['a b', 'a:1', '.a', 'x'.repeat(201)])
            assertProblem(await put({}, '', name), 400, { code: 'INVALID_NAME' });
        const { token } = await server.post('/v1/tokens', { name: 'eye', role: 'viewer' });
        assertProblem(await server.call('PUT', '/v1/schemas/com.example.bad', { body: {}, token }),
            403);
    });

    it('holds events to their schema', async () => {
        const of = (data, more) => event({ type: NAME, data, ...more });
        await accepted(of({ ok: 'yes' }));
        const res = await append(of({ ok: true }));
        assertProblem(res, 422, { code: 'SCHEMA_MISMATCH', field: 'data.ok' });
        await accepted(of({ ok: true }, { dataschema: `urn:drover:schema:${NAME}:1` }));
        assertProblem(await append(of({}, { dataschema: `urn:drover:schema:${NAME}:7` })), 422,
            { code: 'SCHEMA_NOT_FOUND', field: 'dataschema' });
        const batch = await append([of({ ok: 'a' }), of({ ok: 'b' }), of({})], BATCH);
        assertProblem(batch, 422, { code: 'SCHEMA_MISMATCH', field: '[2].data.ok' });
        assertProblem(await append('bytes', headersOf({ 'ce-type': NAME,
            'content-type': 'application/octet-stream' })), 422, { code: 'SCHEMA_MISMATCH' });
        await accepted('{"ok": "yes"}', headersOf({ 'ce-type': NAME,
            'content-type': 'application/json' }));
        assert.equal((await server.list(`/v1/events?type=${NAME}`)).length, 3);
    });

    it('is known after a restart, and forgets what is removed', async () => {
        await server.stop();
        await server.start();
        assertProblem(await append(event({ type: NAME, data: { ok: 1 } })), 422);
        assert.equal((await server.call('DELETE', `/v1/schemas/${NAME}`)).status, 204);
        assertProblem(await server.call('DELETE', `/v1/schemas/${NAME}`), 404);
        assertProblem(await server.call('GET', `/v1/schemas/${NAME}`), 404);
        await accepted(event({ type: NAME, data: { ok: 1 } }));
        assert.equal((await put(v1)).json.version, 4);
    });
});

describe('the registry on the command line', () => {
    const drover = (args, input) => callDrover(server, ['schema', ...args], input);
    const schema = (type) => JSON.stringify({ properties: { a: { type } } });

    it('puts, shows and removes', async () => {
        let ended = await drover(['put', 'com.example.cli', '-'], schema('string'));
        assert.equal(ended.status, 0, ended.stderr);
        assert.match(ended.stdout, /is version 1: urn:drover:schema:com\.example\.cli:1/);
        ended = await drover(['put', 'com.example.cli', '-'], schema('null'));
        assert.equal(ended.status, 4);
        assert.match(ended.stderr, /a: type changes.*\(SCHEMA_BREAKING\)/s);
        ended = await drover(['put', 'com.example.cli', '-', '--force'], schema('null'));
        assert.match(ended.stdout, /is version 2.*\nbreaking    a: type changes/);
        ended = await drover(['registered']);
        assert.match(ended.stdout, /^com\.example\.cli +2 +admin/m);
        ended = await drover(['registered', 'com.example.cli:1']);
        assert.deepEqual(JSON.parse(ended.stdout), JSON.parse(schema('string')));
        assert.equal((await drover(['remove', 'com.example.cli'])).status, 0);
        assert.equal((await drover(['remove', 'com.example.cli'])).status, 3);
    });
});

describe('headers as they are on the wire', () => {
    const send = (lines, body) => rawExchange(server.url, [['POST /v1/events HTTP/1.1', 'Host: x',
        `Authorization: Bearer ${server.token}`, 'CE-SpecVersion: 1.0', 'Ce-Type: com.example.raw',
        'ce-source: /x', ...lines, `Content-Length: ${body.length}`].join('\r\n'), body]
        .join('\r\n\r\n'));

    it('have names in any case', async () => {
        const text = await send(['ce-id:  raw1 ', 'Content-Type: application/json'], '{"a":1}');
        assert.equal(rawStatus(text), 202, text);
        assert.deepEqual((await find('raw1', 'com.example.raw')).data, { a: 1 });
    });

    it('may leave out the type: then the data is bytes', async () => {
        assert.equal(rawStatus(await send(['ce-id: raw2'], '{"a":1}')), 202);
        const got = await find('raw2', 'com.example.raw');
        assert.deepEqual([got.data, got.data_base64, got.datacontenttype],
            [undefined, 'eyJhIjoxfQ==', undefined]);
        assert.equal(rawStatus(await send(['ce-id: raw3'], '')), 202);
        assert.equal('data' in await find('raw3', 'com.example.raw'), false);
    });
});

// nowhere.mjs - what must not be told stands nowhere: in no answer, no event, no artifact, no file.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

// Every file that holds the text, but for what stands in the worker's own directory, which only the
// machine's own people see.
function filesWith(dir, text) {
    const found = [];
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
        const path = join(dir, entry.name);
        if (entry.isDirectory() && entry.name !== 'work') found.push(...filesWith(path, text));
        if (entry.isFile() && readFileSync(path).includes(text)) found.push(path);
    }
    return found;
}

// Looks at these runs, at all that is listed, at the server's files and at its log.  Resolves with
// the artifacts of the runs.
export async function assertNowhere(server, runIds, ...texts) {
    const seen = [['the log', Buffer.from(server.said())]];
    for (const path of ['/v1/events?limit=200', '/v1/dead-letters?limit=200',
        '/v1/pull-requests?limit=200', '/v1/approvals?limit=200'])
        seen.push([path, Buffer.from(JSON.stringify(await server.list(path)))]);
    const artifacts = [];
    for (const runId of runIds) {
        const items = await server.list(`/v1/runs/${runId}/artifacts`);
        artifacts.push(...items);
        for (const path of [`/v1/runs/${runId}`, `/v1/runs/${runId}/timeline`,
            ...items.map(({ sha256 }) => `/v1/artifacts/${sha256}`)]) {
            const res = await server.call('GET', path);
            assert.equal(res.status, 200, `${path}: ${res.text}`);
            seen.push([path, res.bytes]);
        }
    }
    for (const text of texts) {
        for (const [path, bytes] of seen) assert.ok(!bytes.includes(text), `${path} holds ${text}`);
        assert.deepEqual(filesWith(server.data, text), []);
    }
    return artifacts;
}

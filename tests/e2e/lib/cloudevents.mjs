// cloudevents.mjs - what every event must look like, and what a run's history must add up to.
import assert from 'node:assert/strict';

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const KNOWN = new Set(['specversion', 'id', 'source', 'type', 'subject', 'time',
    'datacontenttype', 'dataschema', 'data']);

export function assertCloudEvent(event) {
    const where = JSON.stringify(event).slice(0, 300);
    assert.equal(event.specversion, '1.0', where);
    assert.match(event.id, UUID, where);
    assert.match(event.type, /^agent\.([a-z_]+(\.[a-z_]+)+|launched|exited|killed)$/, where);
    assert.match(event.time, RFC3339, where);
    assert.ok(!Number.isNaN(Date.parse(event.time)), where);
    assert.ok(typeof event.source === 'string' && event.source !== '', where);
    assert.ok(typeof event.subject === 'string' && event.subject !== '', where);
    assert.equal(event.datacontenttype, 'application/json', where);
    assert.ok(event.data !== null && typeof event.data === 'object', where);
    for (const [name, value] of Object.entries(event)) {
        if (KNOWN.has(name)) continue;
        assert.match(name, /^[a-z0-9]{1,20}$/, `extension ${name}: ${where}`);
        assert.ok(['string', 'number', 'boolean'].includes(typeof value), `${name}: ${where}`);
    }
    for (const name of ['correlationid', 'taskid', 'runid', 'causationid', 'workspaceid'])
        if (name in event) assert.match(event[name], UUID, `${name}: ${where}`);
    assert.match(event.correlationid ?? '', UUID, `correlationid: ${where}`);
    assert.ok(event.actortype && event.actorid, `actor: ${where}`);
}

// The events of one task in order: ids are unique, each cause stands before its effect, each run
// counts its own from 1 without a gap, all share one correlation id, time does not run backwards.
export function assertHistory(events) {
    events.forEach(assertCloudEvent);
    const ids = new Set();
    const counts = new Map();
    let time = '';
    for (const event of events) {
        assert.ok(!ids.has(event.id), `twice: ${event.id}`);
        if (event.causationid)
            assert.ok(ids.has(event.causationid), `${event.type}: its cause is not before it`);
        ids.add(event.id);
        assert.ok(event.time >= time, `${event.type} is older than the event before it`);
        time = event.time;
        if (!event.runid) continue;
        const count = (counts.get(event.runid) ?? 0) + 1;
        assert.equal(Number(event.sequence), count, `sequence of ${event.type}`);
        counts.set(event.runid, count);
    }
    assert.equal(new Set(events.map((e) => e.correlationid)).size, 1, 'one correlation id');
}

export function typesOf(events) {
    return events.map((event) => event.type);
}

// The types stand in the list in this order, with others between them.
export function assertInOrder(list, wanted) {
    let from = 0;
    for (const type of wanted) {
        const at = list.indexOf(type, from);
        assert.ok(at >= 0, `${type} is missing after ${list[from - 1] ?? 'the start'} in ${list}`);
        from = at + 1;
    }
}

export const dataOf = (events, type) =>
    events.filter((event) => event.type === type).map(({ data }) => data);

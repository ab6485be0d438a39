// cloudevents.mjs - what every event must look like, and what a run's history must add up to.
import assert from 'node:assert/strict';

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const URI = /^[a-z][a-z0-9+.-]*:[^\s<>"{}|\\^`]+$/i;
const URI_REFERENCE = /^[^\s<>"{}|\\^`]+$/;
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+/;
export const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const INT32_MAX = 2 ** 31 - 1;

// What CloudEvents 1.0 and its documented extensions ask of each attribute, by name.
const CORE = {
    specversion: (value) => value === '1.0',
    id: isText,
    source: (value) => isText(value) && URI_REFERENCE.test(value),
    type: isText,
    subject: isText,
    time: (value) => RFC3339.test(value) && !Number.isNaN(Date.parse(value)),
    datacontenttype: (value) => MEDIA_TYPE.test(value),
    dataschema: (value) => isText(value) && URI.test(value),
    data: () => true,
    data_base64: (value) => typeof value === 'string',
};
const EXTENSIONS = {
    traceparent: (value) => TRACEPARENT.test(value),
    sequence: isText, // And in the order of text: see assertHistory.
};

// A String of CloudEvents that is not empty: no control characters, no lone surrogates.
function isText(value) {
    return typeof value === 'string' && value !== '' && value.isWellFormed()
        && !/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/.test(value);
}

// The types of CloudEvents that JSON has: String, Boolean, and Integer with 32 bits.
function isValue(value) {
    return typeof value === 'boolean' || isText(value)
        || (Number.isInteger(value) && Math.abs(value) <= INT32_MAX);
}

// Of any source: by the rules of CloudEvents 1.0 in structured JSON.
export function assertStrict(event) {
    const where = JSON.stringify(event).slice(0, 300);
    for (const name of ['specversion', 'id', 'source', 'type'])
        assert.ok(name in event, `no ${name}: ${where}`);
    assert.ok(!('data' in event && 'data_base64' in event), where);
    for (const [name, value] of Object.entries(event)) {
        const rule = CORE[name] ?? EXTENSIONS[name];
        if (!CORE[name]) {
            assert.match(name, /^[a-z0-9]{1,20}$/, `extension ${name}: ${where}`);
            assert.ok(isValue(value), `${name} is ${JSON.stringify(value)}: ${where}`);
        }
        if (rule) assert.ok(rule(value), `${name} is ${JSON.stringify(value)}: ${where}`);
    }
}

// Of drover itself.
export function assertCloudEvent(event) {
    assertStrict(event);
    const where = JSON.stringify(event).slice(0, 300);
    assert.match(event.id, UUID, where);
    assert.match(event.type, /^agent\.([a-z_]+(\.[a-z_]+)+|launched|exited|killed)$/, where);
    assert.equal(event.source, 'drover', where);
    assert.ok(event.subject, where);
    assert.equal(event.datacontenttype, 'application/json', where);
    assert.equal(event.dataschema, `urn:drover:schema:${event.type}:${event.eventversion}`);
    assert.ok(event.data !== null && typeof event.data === 'object', where);
    for (const name of ['correlationid', 'taskid', 'runid', 'attemptid', 'causationid',
        'workspaceid'])
        if (name in event) assert.match(event[name], UUID, `${name}: ${where}`);
    assert.match(event.correlationid ?? '', UUID, `correlationid: ${where}`);
    assert.match(event.traceparent ?? '', TRACEPARENT, `traceparent: ${where}`);
    assert.ok(event.actortype && event.actorid, `actor: ${where}`);
}

// The events of one task in order: ids are unique, each cause stands before its effect, each run
// counts its own from 1 without a gap and in the order of text, all share one correlation id and
// one trace, what happens in a step names the attempt, time does not run backwards.
export function assertHistory(events) {
    events.forEach(assertCloudEvent);
    const ids = new Set();
    const counts = new Map();
    const sequences = new Map();
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
        assert.ok(event.sequence > (sequences.get(event.runid) ?? ''), 'in the order of text');
        sequences.set(event.runid, event.sequence);
    }
    assert.equal(new Set(events.map((e) => e.correlationid)).size, 1, 'one correlation id');
    assert.equal(new Set(events.map((e) => e.traceparent.split('-')[1])).size, 1, 'one trace');
    for (const { type, attemptid } of events)
        if (/^agent\.(step|tool|context|verification|judge)\./.test(type))
            assert.ok(attemptid, `${type} has no attemptid`);
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

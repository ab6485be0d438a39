// facts.test.mjs - facts.jsonl, by which the hub checks every request in `make test`, is what
// GitHub's description says.  RECORD=1 writes it.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { startHub } from '../hub.mjs';
import { Description } from './lib/description.mjs';
import { factsOf } from './lib/facts.mjs';

const FILE = new URL('../facts.jsonl', import.meta.url);

it('knows the operations of the hub as GitHub describes them', async () => {
    const hub = await startHub();
    const facts = factsOf(new Description(), hub.front.routes.all);
    await hub.stop();
    const text = facts.map((fact) => `${JSON.stringify(fact)}\n`).join('');
    if (process.env.RECORD) writeFileSync(FILE, text);
    assert.equal(readFileSync(FILE, 'utf8'), text);
});

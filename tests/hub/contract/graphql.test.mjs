// graphql.test.mjs - the GraphQL API of the hub has no field that GitHub's has not, and the queries
// of the tour and of drover are valid there.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Graph } from '../lib/graph.mjs';
import { json, module } from './lib/packages.mjs';
import { makeTour, walk } from './lib/tour.mjs';

const OBJECTS_MAX = 2000;

describe('the GraphQL API of the hub', () => {
    let tour, types;
    before(async () => {
        const { __schema: schema } = json('@octokit/graphql-schema/schema.json');
        types = new Map(schema.types.map((type) => [type.name, type]));
        tour = await makeTour();
        await walk(tour);
    });
    after(() => tour.hub.stop());

    // Every object that can be reached from the roots, once for each type.
    function objects() {
        const actor = tour.hub.world.actor(`Bearer ${tour.hub.token('ann')}`);
        const graph = new Graph(tour.hub, actor);
        const found = new Map();
        const args = { first: 5, owner: 'acme', name: 'billing', qualifiedName: 'main',
            number: tour.repo.pulls[0].number, pullRequestNumber: tour.repo.pulls[0].number };
        const all = [graph.query()];
        for (let i = 0; i < all.length && i < OBJECTS_MAX; i++) {
            const object = all[i];
            if (found.has(object.__typename)) continue;
            found.set(object.__typename, object);
            for (const [name, value] of Object.entries(object)) {
                if (name === 'node' || name === 'nodes' && object.__typename === 'Query') continue;
                const given = typeof value === 'function' && !(name === 'issue')
                    ? value(args) : value;
                all.push(...[given].flat().filter((each) => each?.__typename));
            }
        }
        all.push(graph.issue(tour.repo.issue(1)));
        found.set('Issue', graph.issue(tour.repo.issue(1)));
        return found;
    }

    it('has only fields that GitHub has', () => {
        const wrong = [];
        for (const [name, object] of objects()) {
            const fields = types.get(name)?.fields?.map((field) => field.name);
            if (!fields) wrong.push(`there is no type ${name}`);
            for (const field of Object.keys(object))
                if (!field.startsWith('__') && fields && !fields.includes(field))
                    wrong.push(`${name} has no field ${field}`);
        }
        assert.deepEqual(wrong, []);
        assert.ok(objects().size > 20, [...objects().keys()].join());
    });

    it('has only mutations that GitHub has', () => {
        const graph = new Graph(tour.hub, tour.hub.world.actor(`Bearer ${tour.hub.token('ann')}`));
        const known = types.get('Mutation').fields.map(({ name }) => name);
        for (const name of Object.keys(graph.mutation()))
            assert.ok(name === '__typename' || known.includes(name), name);
    });

    it('is asked valid queries', async () => {
        const { validate } = await module('@octokit/graphql-schema');
        const asked = tour.hub.requests.filter(({ path }) => path === '/graphql')
            .map(({ text }) => JSON.parse(text).query);
        assert.ok(asked.length > 4);
        for (const query of asked)
            assert.deepEqual(validate(query).map(({ message }) => message), [], query);
    });
});

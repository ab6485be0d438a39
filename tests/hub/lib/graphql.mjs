// graphql.mjs - answers a GraphQL request from a graph of objects whose fields are values or
// functions of their arguments.  A field that is not there is an error, as on GitHub.
import { Graph } from './graph.mjs';
import { GraphqlError, parseGraphql } from './graphql_parse.mjs';
import { Refusal } from './world.mjs';

const PAGE_MAX = 100;

export function answerGraphql(hub, actor, body, record) {
    if (actor.kind === 'anonymous') throw new Refusal(401,
        'This endpoint requires you to be authenticated.');
    const errors = [];
    try {
        if (typeof body.query !== 'string')
            throw new GraphqlError('A query attribute must be specified and must be a string.');
        const { operations, fragments } = parseGraphql(body.query);
        const operation = body.operationName ? operations.find(({ name }) => name
            === body.operationName) : operations[0];
        const variables = bind(operation.variables, body.variables ?? {});
        record.graphql = operation.fields.map(({ name }) => name);
        const graph = new Graph(hub, actor);
        const run = new Run({ fragments, variables, errors });
        const root = operation.kind === 'mutation' ? graph.mutation() : graph.query();
        const data = run.select(root, operation.fields, []);
        return { body: { data, ...(errors.length && { errors }) } };
    } catch (error) {
        if (!(error instanceof GraphqlError)) throw error;
        return { body: { errors: [{ message: error.message, ...error.more }] } };
    }
}

function bind(declared, given) {
    const all = {};
    for (const { name, type, value } of declared) {
        all[name] = given[name] === undefined ? value : given[name];
        if (type.endsWith('!') && (all[name] === undefined || all[name] === null))
            throw new GraphqlError(`Variable $${name} of type ${type} was provided invalid value`);
    }
    return all;
}

class Run {
    constructor(options) {
        Object.assign(this, options);
    }

    select(object, fields, path) {
        const shown = {};
        for (const field of fields) {
            const part = field.spread ? this.fragments[field.spread] : field;
            if (field.spread && !part) throw new GraphqlError(`Fragment ${field.spread} was used, `
                + 'but not defined');
            if (!part.name) {
                if (!part.on || part.on === object.__typename || object.__is?.includes(part.on))
                    Object.assign(shown, merge(shown, this.select(object, part.fields, path)));
                continue;
            }
            shown[field.alias] = this.value(object, field, [...path, field.alias]);
        }
        return shown;
    }

    value(object, field, path) {
        if (!(field.name in object)) throw new GraphqlError(`Field '${field.name}' doesn't exist `
            + `on type '${object.__typename}'`, { path: ['query', ...path], extensions: {
            code: 'undefinedField', typeName: object.__typename, fieldName: field.name } });
        const args = Object.fromEntries(field.args.map(([name, value]) =>
            [name, value(this.variables)]));
        try {
            const value = object[field.name];
            return this.show(typeof value === 'function' ? value(args) : value, field, path);
        } catch (error) {
            if (error instanceof Refusal) {
                this.errors.push({ type: error.status === 404 ? 'NOT_FOUND'
                    : error.status === 403 ? 'FORBIDDEN' : 'UNPROCESSABLE', path,
                message: error.errors?.[0]?.message ?? error.message });
                return null;
            }
            throw error;
        }
    }

    show(value, field, path) {
        if (value === null || value === undefined) return null;
        if (Array.isArray(value)) return value.map((item, i) => this.show(item, field,
            [...path, i]));
        if (typeof value !== 'object') return value;
        if (!field.fields) throw new GraphqlError(`Field must have selections (field '${
            field.name}' returns ${value.__typename} but has no selections.`);
        return this.select(value, field.fields, path);
    }
}

// Two selections of the same object.
function merge(a, b) {
    for (const [key, value] of Object.entries(b))
        if (a[key] && value && typeof value === 'object' && !Array.isArray(value))
            b[key] = merge({ ...a[key] }, value);
    return { ...a, ...b };
}

// A list with pages.  name: of the connection, for errors.
export function connection(name, items, args, node) {
    const { first, last, after, before } = args;
    if (first === undefined && last === undefined) throw new GraphqlError('You must provide a '
        + `\`first\` or \`last\` value to properly paginate the \`${name}\` connection.`,
    { type: 'MISSING_PAGINATION_BOUNDARIES' });
    if ((first ?? last) > PAGE_MAX) throw new GraphqlError(`Requesting ${first ?? last} records on `
        + `the \`${name}\` connection exceeds the \`${first ? 'first' : 'last'}\` limit of ${
            PAGE_MAX} records.`, { type: 'EXCESSIVE_PAGINATION' });
    const place = (cursor) => Number(Buffer.from(cursor, 'base64').toString().slice(7));
    let from = after ? place(after) + 1 : 0;
    let to = before ? place(before) : items.length;
    if (first !== undefined) to = Math.min(to, from + first);
    else from = Math.max(from, to - last);
    const cursor = (i) => Buffer.from(`cursor:${i}`).toString('base64');
    const nodes = items.slice(from, to);
    return {
        __typename: `${name}Connection`, totalCount: items.length,
        nodes: () => nodes.map(node),
        edges: () => nodes.map((item, i) => ({ __typename: `${name}Edge`, cursor: cursor(from + i),
            node: () => node(item) })),
        pageInfo: { __typename: 'PageInfo', hasNextPage: to < items.length,
            hasPreviousPage: from > 0, startCursor: nodes.length ? cursor(from) : null,
            endCursor: nodes.length ? cursor(to - 1) : null },
    };
}

// description.mjs - GitHub's description of its REST API and webhooks: what a request may say, what
// an answer must look like.
import { commonjs, json } from './packages.mjs';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

export class Description {
    constructor(file = '@octokit/openapi/generated/api.github.com.json') {
        this.all = json(file);
        const Ajv = commonjs('ajv').default;
        this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true });
        commonjs('ajv-formats').default(this.ajv);
        this.ajv.addFormat('repo.nwo', true);
        nullify(this.all);
        this.ajv.addSchema({ $id: 'github', components: this.all.components });
        this.compiled = new Map();
        this.operations = this.#operations();
    }

    #operations() {
        const found = [];
        for (const [template, item] of Object.entries(this.all.paths))
            for (const method of METHODS.filter((each) => item[each])) {
                const source = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
                    .replace(/\{(path|ref|branch|basehead)\}/g, '(.+)')
                    .replace(/\{\w+\}/g, '([^/]+)');
                found.push({ method: method.toUpperCase(), template, own: item[method],
                    params: [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
                    pattern: new RegExp(`^${source}$`) });
            }
        // The more particular ones first: fewer parameters, then longer.
        return found.sort((a, b) => a.params.length - b.params.length
            || b.template.length - a.template.length);
    }

    operation(method, path) {
        const named = path.replace(/^\/repositories\/\d+/, '/repos/-/-');
        return this.operations.find((each) => each.method === method && each.pattern.test(named));
    }

    parameters(operation) {
        return (operation.own.parameters ?? []).map((each) => this.deref(each));
    }

    deref(value) {
        if (!value?.$ref) return value;
        return value.$ref.slice(2).split('/').reduce((at, part) =>
            at[part.replaceAll('~1', '/')], this.all);
    }

    bodySchema(operation) {
        return this.deref(operation.own.requestBody)?.content?.['application/json']?.schema;
    }

    // What is wrong with a request; [] for nothing.
    request({ method, path, query = '', text = '' }) {
        const operation = this.operation(method, path);
        if (!operation) return [`${method} ${path}: there is no such operation`];
        const known = new Map(this.parameters(operation).filter((each) => each.in === 'query')
            .map((each) => [each.name, each]));
        const wrong = [];
        for (const [name, value] of new URLSearchParams(query)) {
            const parameter = known.get(name);
            if (!parameter) wrong.push(`there is no query parameter ${name}`);
            else wrong.push(...this.#check(`${operation.template} ${name}`, parameter.schema,
                fromText(value, parameter.schema)));
        }
        for (const [name, { required }] of known)
            if (required && !new URLSearchParams(query).has(name))
                wrong.push(`the query parameter ${name} is missing`);
        wrong.push(...this.#body(operation, text));
        return wrong.map((each) => `${method} ${operation.template}: ${each}`);
    }

    #body(operation, text) {
        const schema = this.bodySchema(operation);
        if (!schema) return text === '' ? [] : ['a body is not expected'];
        const needed = this.deref(operation.own.requestBody).required;
        if (text === '') return needed ? ['a body is missing'] : [];
        const body = JSON.parse(text);
        const wrong = this.#check(`body ${operation.method} ${operation.template}`, schema, body);
        // The description leaves most bodies open; a member that it does not name is a mistake.
        const named = new Set(memberNames(schema, (each) => this.deref(each)));
        if (named.size > 0 && !Array.isArray(body))
            for (const name of Object.keys(body))
                if (!named.has(name)) wrong.push(`the body has no member ${name}`);
        return wrong;
    }

    // What is wrong with an answer.
    answer({ method, path, status, answer }) {
        const operation = this.operation(method, path);
        if (!operation) return [`${method} ${path}: there is no such operation`];
        const where = `${method} ${operation.template} ${status}`;
        const described = this.deref(operation.own.responses[status]);
        if (!described) return COMMON.has(status) ? [] : [`${where}: not described`];
        const schema = described.content?.['application/json']?.schema
            ?? described.content?.['application/scim+json']?.schema;
        if (!schema) return answer === undefined || status >= 400 ? []
            : [`${where}: has a body`];
        return this.#check(where, schema, answer).map((each) => `${where}: ${each}`);
    }

    // What is wrong with the payload of a webhook.
    payload(event, payload) {
        const name = event.replaceAll('_', '-');
        const action = payload.action?.replaceAll('_', '-');
        const hooks = this.all['x-webhooks'];
        const own = hooks[`${name}-${action}`] ?? hooks[name];
        if (!own) return [`${event} ${payload.action}: there is no such event`];
        const schema = own.post.requestBody.content['application/json'].schema;
        return this.#check(`webhook ${event} ${payload.action}`, schema, payload)
            .map((each) => `webhook ${event} ${payload.action}: ${each}`);
    }

    #check(key, schema, value) {
        if (!this.compiled.has(key)) this.compiled.set(key, this.ajv.compile(relative(schema)));
        const validate = this.compiled.get(key);
        if (validate(value)) return [];
        return validate.errors.slice(0, 8).map(({ instancePath, message, params }) =>
            `${instancePath || '/'} ${message} ${JSON.stringify(params)}`);
    }
}

// Not described everywhere, answered by every operation.
const COMMON = new Set([304, 400, 401, 403, 404, 422, 429, 500, 502, 503]);

// References lead into the schema that is registered as "github".
function relative(schema) {
    return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"github#/'));
}

// OpenAPI 3.0 has nullable where JSON Schema has a type.
function nullify(node) {
    if (Array.isArray(node)) return node.forEach(nullify);
    if (!node || typeof node !== 'object') return undefined;
    if (node.nullable === true && !node.properties?.nullable) {
        delete node.nullable;
        const { type } = node;
        if (typeof type === 'string') {
            node.type = [type, 'null'];
            if (node.enum && !node.enum.includes(null)) node.enum.push(null);
        } else {
            const copy = { ...node };
            for (const key of Object.keys(node)) delete node[key];
            node.anyOf = [copy, { type: 'null' }];
        }
    }
    return Object.values(node).forEach(nullify);
}

function fromText(value, schema) {
    if (schema.type === 'integer' || schema.type === 'number') return Number(value);
    if (schema.type === 'boolean') return value === 'true' ? true : value === 'false' ? false
        : value;
    return schema.type === 'array' ? value.split(',') : value;
}

// The members that a schema names, in all of its variants.
export function memberNames(schema, deref) {
    const own = deref(schema) ?? {};
    return [...Object.keys(own.properties ?? {}),
        ...['oneOf', 'anyOf', 'allOf'].flatMap((key) => (own[key] ?? [])
            .flatMap((each) => memberNames(each, deref)))];
}

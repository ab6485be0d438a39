// swagger.mjs - requests and answers, compared with a description of an API in Swagger 2.
//
// DROVER_GITEA_SWAGGER=FILE makes gitea.mjs check all that passes through it: FILE is what a Gitea
// serves at /swagger.v1.json, or templates/swagger/v1-swagger.generated.json of its sources.
import { readFileSync } from 'node:fs';

export class Swagger {
    constructor(file) {
        this.doc = JSON.parse(readFileSync(file, 'utf8'));
        this.paths = Object.entries(this.doc.paths).map(([template, methods]) => ({ template,
            methods, pattern: new RegExp(`^${template.replace(/[.]/g, '\\.')
                .replace(/\{\w+\}/g, '[^/]+')}$`) }))
            // "/pulls/comments/{id}" before "/pulls/{base}/{head}"
            .sort((a, b) => variables(a.template) - variables(b.template));
    }

    // A list of what is wrong.
    check({ method, path, query, text, status, answer }) {
        const wrong = [];
        const operation = this.paths.find(({ pattern, methods }) => pattern.test(path)
            && methods[method.toLowerCase()])?.methods[method.toLowerCase()];
        if (!operation) return [`${method} ${path} is not described`];
        const known = (operation.parameters ?? []).filter((each) => each.in === 'query')
            .map(({ name }) => name);
        for (const key of new URLSearchParams(query ?? '').keys())
            if (!known.includes(key)) wrong.push(`the parameter ${key} is not described`);
        const body = (operation.parameters ?? []).find((each) => each.in === 'body');
        if (text && !body) wrong.push('it takes no body');
        else if (text) this.#value(JSON.parse(text), body.schema, 'request', wrong, true);
        const response = this.#resolve(operation.responses[status]);
        if (!response && status !== 401 && status !== 429)
            wrong.push(`the status ${status} is not described`);
        if (response?.schema && answer !== undefined)
            this.#value(answer, response.schema, 'answer', wrong, false);
        return wrong.map((each) => `${method} ${path}: ${each}`);
    }

    #resolve(value) {
        if (!value?.$ref) return value;
        return this.#resolve(value.$ref.slice(2).split('/').reduce((at, key) => at[key],
            this.doc));
    }

    #value(value, described, where, wrong, request) {
        const schema = this.#resolve(described);
        if (value === null || schema === undefined) return;
        const type = schema.type ?? (schema.properties ? 'object' : undefined);
        const given = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer'
            : typeof value;
        if (type && type !== given && !(type === 'number' && given === 'integer')) {
            wrong.push(`${where} is of type ${given}, not ${type}`);
            return;
        }
        if (schema.enum && !schema.enum.includes(value)) wrong.push(`${where} is ${value}`);
        if (type === 'array')
            value.forEach((each, i) => this.#value(each, schema.items, `${where}[${i}]`, wrong,
                request));
        if (type !== 'object' || !schema.properties) return;
        for (const key of schema.required ?? [])
            if (request && value[key] === undefined) wrong.push(`${where} lacks ${key}`);
        for (const [key, each] of Object.entries(value)) {
            if (!schema.properties[key]) wrong.push(`${where}.${key} is not described`);
            else this.#value(each, schema.properties[key], `${where}.${key}`, wrong, request);
        }
    }
}

const variables = (template) => (template.match(/\{/g) ?? []).length;

// facts.mjs - what of the description tests without it need: for each operation that the hub has,
// the names of its query parameters, the names and types of the members of its body.
import { memberNames } from './description.mjs';

export function factsOf(description, routes) {
    const facts = [];
    for (const { method, template } of routes) {
        const path = template.replace(/\{\w+\}/g, '1');
        const operation = description.operation(method, path);
        if (!operation) throw new Error(`${method} ${template} is not described`);
        const query = description.parameters(operation).filter((each) => each.in === 'query')
            .map(({ name }) => name).sort();
        facts.push({ method, path: operation.template, query,
            ...bodyFacts(description, operation) });
    }
    const key = ({ method, path }) => `${path} ${method}`;
    return facts.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function bodyFacts(description, operation) {
    const schema = description.bodySchema(operation);
    if (!schema) return {};
    const deref = (each) => description.deref(each);
    const own = deref(schema);
    const types = {};
    for (const name of memberNames(schema, deref).sort())
        types[name] = typeOf(own.properties?.[name], deref);
    return { body: types, required: [...own.required ?? []].sort() };
}

// As JSON.parse has it; null for more than one.
function typeOf(schema, deref) {
    const type = [deref(schema)?.type ?? []].flat().filter((each) => each !== 'null');
    return type.length === 1 ? type[0].replace('integer', 'number') : null;
}

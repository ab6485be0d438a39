// graphql_parse.mjs - reads a GraphQL document: operations, fragments, fields, arguments.
const TOKEN = new RegExp([
    String.raw`\s+|,|#[^\n]*|(\.\.\.)|([_A-Za-z]\w*)|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`("{3}(?:[^"]|"(?!""))*"{3}|"(?:[^"\\\n]|\\.)*")`,
    String.raw`([!$()&:=@[\]{|}])`,
].join('|'), 'y');

export class GraphqlError extends Error {
    constructor(message, more = {}) {
        super(message);
        this.more = more;
    }
}

function tokens(text) {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
        const at = TOKEN.lastIndex;
        const match = TOKEN.exec(text);
        if (!match) throw new GraphqlError(`Parse error on ${JSON.stringify(text[at])}`);
        const [, spread, name, number, string, mark] = match;
        if (spread) found.push({ kind: '...', text: spread });
        else if (name) found.push({ kind: 'name', text: name });
        else if (number) found.push({ kind: 'value', text: number, value: Number(number) });
        else if (string) found.push({ kind: 'value', text: string, value: unquote(string) });
        else if (mark) found.push({ kind: mark, text: mark });
    }
    return found;
}

const unquote = (text) => (text.startsWith('"""') ? text.slice(3, -3).trim() : JSON.parse(text));

class Parser {
    constructor(text) {
        this.all = tokens(text);
        this.at = 0;
    }

    get next() {
        return this.all[this.at] ?? { kind: 'end', text: 'end of the document' };
    }

    is(kind, text) {
        return this.next.kind === kind && (text === undefined || this.next.text === text);
    }

    take(kind, text) {
        if (!this.is(kind, text)) throw new GraphqlError(
            `Parse error on "${this.next.text}", expected ${text ?? kind}`);
        return this.all[this.at++];
    }

    skip(kind, text) {
        if (!this.is(kind, text)) return false;
        this.at++;
        return true;
    }

    document() {
        const operations = [], fragments = {};
        while (!this.is('end')) {
            if (this.skip('name', 'fragment')) {
                const name = this.take('name').text;
                this.take('name', 'on');
                const on = this.take('name').text;
                fragments[name] = { on, fields: this.selection() };
            } else {
                operations.push(this.operation());
            }
        }
        if (operations.length === 0) throw new GraphqlError('A query attribute must be specified');
        return { operations, fragments };
    }

    operation() {
        if (this.is('{')) return { kind: 'query', name: null, variables: [],
            fields: this.selection() };
        const kind = this.take('name').text;
        const name = this.is('name') ? this.take('name').text : null;
        const variables = [];
        if (this.skip('('))
            while (!this.skip(')')) {
                this.take('$');
                const variable = { name: this.take('name').text };
                this.take(':');
                variable.type = this.type();
                if (this.skip('=')) variable.value = this.value({});
                variables.push(variable);
            }
        return { kind, name, variables, fields: this.selection() };
    }

    type() {
        let text;
        if (this.skip('[')) {
            text = `[${this.type()}]`;
            this.take(']');
        } else {
            text = this.take('name').text;
        }
        return this.skip('!') ? `${text}!` : text;
    }

    selection() {
        const fields = [];
        this.take('{');
        while (!this.skip('}')) fields.push(this.field());
        return fields;
    }

    field() {
        if (this.skip('...')) {
            if (this.is('name') && !this.is('name', 'on'))
                return { spread: this.take('name').text };
            const on = this.skip('name', 'on') ? this.take('name').text : null;
            return { on, fields: this.selection() };
        }
        const first = this.take('name').text;
        const name = this.skip(':') ? this.take('name').text : first;
        const args = [];
        if (this.skip('('))
            while (!this.skip(')')) {
                const arg = this.take('name').text;
                this.take(':');
                args.push([arg, this.raw()]);
            }
        return { alias: first, name, args, fields: this.is('{') ? this.selection() : null };
    }

    // A value with variables still in it: a function of them.
    raw() {
        if (this.skip('$')) {
            const { text } = this.take('name');
            return (variables) => variables[text];
        }
        if (this.skip('[')) {
            const items = [];
            while (!this.skip(']')) items.push(this.raw());
            return (variables) => items.map((item) => item(variables));
        }
        if (this.skip('{')) {
            const members = [];
            while (!this.skip('}')) {
                const name = this.take('name').text;
                this.take(':');
                members.push([name, this.raw()]);
            }
            return (variables) => Object.fromEntries(members.map(([name, value]) =>
                [name, value(variables)]));
        }
        if (this.is('name')) {
            const word = this.take('name').text;
            const value = { true: true, false: false, null: null }[word];
            return () => (value === undefined ? word : value); // An enum is its name.
        }
        const { value } = this.take('value');
        return () => value;
    }

    value(variables) {
        return this.raw()(variables);
    }
}

export const parseGraphql = (text) => new Parser(text).document();

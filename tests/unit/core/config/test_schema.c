/*
 * test_schema.c - JSON Schema by a table: what fits, what does not, and how that is told.
 */
#include "base/jw.h"
#include "base/str.h"
#include "core/config/schema.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

struct example {
    const char *schema, *value;
    const char *fault; /* "path: message" of the first; NULL: it fits. */
};

static const struct example values[] = {
    {"true", "1", NULL},
    {"{}", "[1,{}]", NULL},
    {"false", "1", ": is not allowed here"},
    /* type */
    {"{'type':'integer'}", "1", NULL},
    {"{'type':'integer'}", "1.0", NULL},
    {"{'type':'integer'}", "1.5", ": must be an integer, not a number"},
    {"{'type':'integer'}", "'1'", ": must be an integer, not a string"},
    {"{'type':'number'}", "1", NULL},
    {"{'type':'number'}", "1.5", NULL},
    {"{'type':'number'}", "true", ": must be a number, not a boolean"},
    {"{'type':'string'}", "''", NULL},
    {"{'type':'string'}", "null", ": must be a string, not null"},
    {"{'type':'object'}", "{}", NULL},
    {"{'type':'object'}", "[]", ": must be an object, not an array"},
    {"{'type':'array'}", "[]", NULL},
    {"{'type':'boolean'}", "0", ": must be a boolean, not an integer"},
    {"{'type':'null'}", "null", NULL},
    {"{'type':'null'}", "false", ": must be null, not a boolean"},
    {"{'type':['string','array']}", "[]", NULL},
    {"{'type':['string','array']}", "1", ": must be a string or an array, not an integer"},
    /* enum and const */
    {"{'enum':['process','remote','pull']}", "'remote'", NULL},
    {"{'enum':['process','remote','pull']}", "'remot'",
     ": \"remot\" is not known; allowed: process, remote, pull (did you mean remote?)"},
    {"{'enum':['process','remote']}", "'x'", ": \"x\" is not known; allowed: process, remote"},
    {"{'enum':[1,[2],{'a':null}]}", "1.0", NULL},
    {"{'enum':[1,[2],{'a':null}]}", "[2.0]", NULL},
    {"{'enum':[1,[2],{'a':null}]}", "{'a':null}", NULL},
    {"{'enum':[1,[2],{'a':null}]}", "{'a':0}",
     ": {\"a\":0} is not known; allowed: 1, [2], {\"a\":null}"},
    {"{'enum':[false]}", "0", ": 0 is not known; allowed: false"},
    {"{'const':{'a':1,'b':2}}", "{'b':2,'a':1}", NULL},
    {"{'const':{'a':1,'b':2}}", "{'a':1}", ": must be {\"a\":1,\"b\":2}"},
    {"{'const':null}", "null", NULL},
    {"{'const':null}", "0", ": must be null"},
    {"{'const':[1,2]}", "[2,1]", ": must be [1,2]"},
    {"{'const':9007199254740993}", "9007199254740992", ": must be 9007199254740993"},
    /* numbers */
    {"{'minimum':1}", "1", NULL},
    {"{'minimum':1}", "0.5", ": must be at least 1, not 0.5"},
    {"{'minimum':1}", "'a'", NULL},
    {"{'multipleOf':1e-8}", "12391239123", NULL},
    {"{'multipleOf':0.5}", "4503599627370497", NULL},
    {"{'maxLength':2.0}", "'ab'", NULL},
    {"{'maxLength':2.0}", "'abc'", ": must have at most 2 characters, not 3"},
    {"{'maximum':3.5}", "3.5", NULL},
    {"{'maximum':3}", "4", ": must be at most 3, not 4"},
    {"{'minimum':1,'maximum':3}", "4", ": must be between 1 and 3, not 4"},
    {"{'minimum':-2}", "-9223372036854775808", ": must be at least -2, not -9223372036854775808"},
    {"{'exclusiveMinimum':1}", "1.1", NULL},
    {"{'exclusiveMinimum':1}", "1", ": must be more than 1, not 1"},
    {"{'exclusiveMaximum':1}", "0", NULL},
    {"{'exclusiveMaximum':1}", "1", ": must be less than 1, not 1"},
    {"{'multipleOf':2}", "10", NULL},
    {"{'multipleOf':2}", "7", ": must be a multiple of 2, not 7"},
    {"{'multipleOf':1.5}", "4.5", NULL},
    {"{'multipleOf':0.0001}", "0.0075", NULL},
    {"{'multipleOf':0.0001}", "0.00751", ": must be a multiple of 0.0001, not 0.00751"},
    {"{'multipleOf':0.5}", "1e308", NULL},
    /* strings: characters, not bytes */
    {"{'minLength':2}", "'ab'", NULL},
    {"{'minLength':2}", "'\xc3\xa4'", ": must have at least 2 characters, not 1"},
    {"{'minLength':1}", "''", ": must not be empty"},
    {"{'maxLength':2}", "'\xf0\x9f\x90\x91\xc3\xa4'", NULL},
    {"{'maxLength':1}", "'abc'", ": must have at most 1 character, not 3"},
    {"{'maxLength':1}", "100", NULL},
    {"{'pattern':'^[a-z]+$'}", "'abc'", NULL},
    {"{'pattern':'^[a-z]+$'}", "'aBc'", ": \"aBc\" does not fit ^[a-z]+$"},
    {"{'pattern':'^[a-z]+$'}", "7", NULL},
    /* arrays */
    {"{'minItems':1}", "[]", ": must not be empty"},
    {"{'minItems':2}", "[1]", ": must have at least 2 elements, not 1"},
    {"{'maxItems':1}", "[1]", NULL},
    {"{'maxItems':1}", "[1,2]", ": must have at most 1 element, not 2"},
    {"{'maxItems':0}", "[1]", ": must be empty"},
    {"{'uniqueItems':true}", "[1,'1',true,null]", NULL},
    {"{'uniqueItems':true}", "[1,2,1.0]", "[2]: is there twice, first at [0]"},
    {"{'uniqueItems':true}", "[{'a':1,'b':2},{'b':2,'a':1}]", "[1]: is there twice, first at [0]"},
    {"{'uniqueItems':false}", "[1,1]", NULL},
    {"{'items':{'type':'integer'}}", "[1,'x']", "[1]: must be an integer, not a string"},
    {"{'items':{'type':'integer'}}", "{}", NULL},
    {"{'items':{'items':{'minimum':0}}}", "[[1],[2,-1]]", "[1][1]: must be at least 0, not -1"},
    {"{'items':{'type':'integer'},'maxItems':2}", "[1,2,'x']",
     ": must have at most 2 elements, not 3"},
    {"{'prefixItems':[{'type':'integer'},{'type':'string'}]}", "[1]", NULL},
    {"{'prefixItems':[{'type':'integer'},{'type':'string'}]}", "[1,2,3]",
     "[1]: must be a string, not an integer"},
    {"{'prefixItems':[true],'items':false}", "[1]", NULL},
    {"{'prefixItems':[true],'items':false}", "[1,2]", "[1]: is not allowed here"},
    /* objects */
    {"{'minProperties':1}", "{}", ": must not be empty"},
    {"{'maxProperties':1}", "{'a':1,'b':2}", ": must have at most 1 member, not 2"},
    {"{'required':['a']}", "{'a':null}", NULL},
    {"{'required':['a']}", "{}", "a: is required"},
    {"{'required':['a']}", "[]", NULL},
    {"{'properties':{'a':{'type':'string'}}}", "{'a':'','b':1}", NULL},
    {"{'properties':{'a':{'properties':{'b':{'type':'string'}}}}}", "{'a':{'b':1}}",
     "a.b: must be a string, not an integer"},
    {"{'properties':{'a':false}}", "{'a':1}", "a: is not allowed here"},
    {"{'patternProperties':{'^x-':{'type':'string'}}}", "{'x-a':1}",
     "x-a: must be a string, not an integer"},
    {"{'additionalProperties':{'type':'string'},'properties':{'a':{}}}", "{'a':1,'b':2}",
     "b: must be a string, not an integer"},
    {"{'additionalProperties':false,'properties':{'a':{}},'patternProperties':{'^x':{}}}",
     "{'a':1,'xyz':1}", NULL},
    {"{'additionalProperties':false,'properties':{'timeoutMs':{},'name':{}}}", "{'timoutMs':1}",
     "timoutMs: is not known here; did you mean timeoutMs? allowed: timeoutMs, name"},
    {"{'additionalProperties':false,'properties':{'name':{}}}", "{'verify':1}",
     "verify: is not known here; allowed: name"},
    {"{'additionalProperties':false}", "{'a':1}", "a: is not known here; nothing is allowed"},
    {"{'propertyNames':{'pattern':'^[a-z]+$'}}", "{'ab':1}", NULL},
    {"{'propertyNames':{'pattern':'^[a-z]+$'}}", "{'A':1}",
     "A: is not a name that propertyNames allows"},
    {"{'propertyNames':{'maxLength':1}}", "[1]", NULL},
    {"{'dependentRequired':{'a':['b']}}", "{'a':1,'b':2}", NULL},
    {"{'dependentRequired':{'a':['b']}}", "{'b':2}", NULL},
    {"{'dependentRequired':{'a':['b']}}", "{'a':1}", "b: is required beside a"},
    {"{'dependentSchemas':{'a':{'required':['b']}}}", "{'a':1}", "b: is required"},
    {"{'dependentSchemas':{'a':{'required':['b']}}}", "{'c':1}", NULL},
    {"{'dependentSchemas':{'a':false}}", "{'a':1}", ": is not allowed here"},
    {"{'dependentSchemas':{'a':false}}", "['a']", NULL},
    /* contains */
    {"{'contains':{'minimum':5}}", "[1,6]", NULL},
    {"{'contains':{'minimum':5}}", "[1]",
     ": must have at least 1 element that fit contains, not 0"},
    {"{'contains':{'minimum':5}}", "{}", NULL},
    {"{'contains':{'minimum':5},'minContains':2}", "[5,6]", NULL},
    {"{'contains':{'minimum':5},'minContains':2}", "[5,1]",
     ": must have at least 2 elements that fit contains, not 1"},
    {"{'contains':{'minimum':5},'minContains':0}", "[]", NULL},
    {"{'contains':{'minimum':5},'maxContains':1}", "[5,6]",
     ": must have at most 1 elements that fit contains, not 2"},
    {"{'minContains':2}", "[]", NULL},
    /* what other keywords have not seen */
    {"{'allOf':[{'properties':{'a':{}}}],'unevaluatedProperties':false}", "{'a':1}", NULL},
    {"{'allOf':[{'properties':{'a':{}}}],'unevaluatedProperties':false}", "{'a':1,'b':2}",
     "b: is not allowed here"},
    {"{'unevaluatedProperties':{'type':'string'},'properties':{'a':{}}}", "{'a':1,'b':2}",
     "b: must be a string, not an integer"},
    {"{'anyOf':[{'properties':{'a':{'const':1}}},{'properties':{'b':{}}}],"
     "'unevaluatedProperties':false}",
     "{'a':2,'b':2}", "a: is not allowed here"},
    {"{'if':{'required':['k'],'properties':{'k':{}}},'then':{'properties':{'a':{}}},"
     "'unevaluatedProperties':false}",
     "{'k':1,'a':2}", NULL},
    {"{'not':{'properties':{'a':{'const':1}}},'unevaluatedProperties':false}", "{'a':2}",
     "a: is not allowed here"},
    {"{'$ref':'#/$defs/x','unevaluatedProperties':false,"
     "'$defs':{'x':{'patternProperties':{'^a':{}}}}}",
     "{'ab':1}", NULL},
    {"{'dependentSchemas':{'a':{'properties':{'a':{},'b':{}}}},'unevaluatedProperties':false}",
     "{'a':1,'b':2}", NULL},
    {"{'allOf':[{'additionalProperties':{}}],'unevaluatedProperties':false}", "{'z':1}", NULL},
    {"{'prefixItems':[{}],'unevaluatedItems':false}", "[1]", NULL},
    {"{'prefixItems':[{}],'unevaluatedItems':false}", "[1,2]", "[1]: is not allowed here"},
    {"{'contains':{'const':1},'unevaluatedItems':false}", "[1,1]", NULL},
    {"{'contains':{'const':1},'unevaluatedItems':false}", "[1,2]", "[1]: is not allowed here"},
    {"{'allOf':[{'items':{}}],'unevaluatedItems':false}", "[1,2]", NULL},
    /* combinations */
    {"{'allOf':[{'minimum':1},{'maximum':3}]}", "2", NULL},
    {"{'allOf':[{'minimum':1},{'maximum':3}]}", "4", ": must be at most 3, not 4"},
    {"{'anyOf':[{'type':'string'},{'minimum':2}]}", "2", NULL},
    {"{'anyOf':[{'type':'string','minLength':1},{'type':'integer','minimum':2}]}", "1",
     ": must be a string, not an integer"},
    {"{'anyOf':[{'required':['a']},{'required':['b']}]}", "{}", ": needs one of a, b"},
    {"{'oneOf':[{'required':['a']},{'required':['b']}]}", "{'a':1}", NULL},
    {"{'oneOf':[{'required':['a']},{'required':['b']}]}", "{'a':1,'b':1}",
     ": may have only one of a, b"},
    {"{'oneOf':[{'minimum':1},{'maximum':3}]}", "2",
     ": fits 2 alternatives, of which one is allowed"},
    {"{'oneOf':[{'minimum':1},{'maximum':3}]}", "4", NULL},
    {"{'not':{'type':'string'}}", "1", NULL},
    {"{'not':{'type':'string'}}", "''", ": is not allowed"},
    {"{'not':{'required':['a','b'],'description':'takes a or b, not both'}}", "{'a':1,'b':1}",
     ": takes a or b, not both"},
    {"{'not':{'not':{'type':'string'}}}", "''", NULL},
    {"{'if':{'properties':{'k':{'const':1}}},'then':{'required':['a']},'else':{'required':['b']}}",
     "{'k':1}", "a: is required"},
    {"{'if':{'properties':{'k':{'const':1}}},'then':{'required':['a']},'else':{'required':['b']}}",
     "{'k':2}", "b: is required"},
    {"{'if':{'minimum':5}}", "6", NULL},
    {"{'then':{'minimum':5}}", "1", NULL},
    /* references */
    {"{'$ref':'#/$defs/n','$defs':{'n':{'minimum':1}}}", "0", ": must be at least 1, not 0"},
    {"{'$ref':'#/$defs/n','maximum':3,'$defs':{'n':{'minimum':1}}}", "4",
     ": must be at most 3, not 4"},
    {"{'properties':{'next':{'$ref':'#'}},'additionalProperties':false}", "{'next':{'next':{}}}",
     NULL},
    {"{'properties':{'next':{'$ref':'#'}},'additionalProperties':false}",
     "{'next':{'next':{'nex':1}}}",
     "next.next.nex: is not known here; did you mean next? allowed: next"},
    {"{'$ref':'#'}", "1", ": is too deep or too large to be checked"},
    {"{'not':{'$ref':'#'}}", "1", ": is too deep or too large to be checked"},
    {"{'allOf':[{'$ref':'#'},{'$ref':'#'}]}", "1", ": is too deep or too large to be checked"},
    {"{'$ref':'#/properties/a','properties':{'a':{'type':'object'}}}", "1",
     ": must be an object, not an integer"},
    {"{'$ref':'#/allOf/0','allOf':[{'minimum':1}]}", "0", ": must be at least 1, not 0"},
    {"{'$ref':'#/$defs/a~1b%25','$defs':{'a/b%':{'minimum':1}}}", "0",
     ": must be at least 1, not 0"},
    {"{'$ref':'#n','$defs':{'x':{'$anchor':'n','minimum':1}}}", "0", ": must be at least 1, not 0"},
    {"{'$id':'https://example.com/a/b.json','$ref':'c.json',"
     "'$defs':{'x':{'$id':'https://example.com/a/c.json','minimum':1}}}",
     "0", ": must be at least 1, not 0"},
    {"{'$id':'urn:example:a','$ref':'urn:example:a#/$defs/x','$defs':{'x':{'minimum':1}}}", "0",
     ": must be at least 1, not 0"},
    {"{'$ref':'t','$defs':{'t':{'$id':'t','$ref':'#/$defs/n','$defs':{'n':{'minimum':1}}},"
     "'n':{'maximum':0}}}",
     "0", ": must be at least 1, not 0"},
    {"{'$ref':'https://json-schema.org/draft/2020-12/schema'}", "{'minLength':1}", NULL},
    {"{'$ref':'https://json-schema.org/draft/2020-12/schema'}", "{'minLength':-1}",
     "minLength: must be at least 0, not -1"},
    {"{'$ref':'#/$defs/yes','$defs':{'yes':true}}", "1", NULL},
    {"{'$id':'r','$ref':'list','$defs':{'e':{'$dynamicAnchor':'e','type':'string'},"
     "'l':{'$id':'list','items':{'$dynamicRef':'#e'},'$defs':{'e':{'$dynamicAnchor':'e'}}}}}",
     "[1]", "[0]: must be a string, not an integer"},
    /* Notes change nothing. */
    {"{'title':'t','description':'d','default':1,'examples':[1],'$comment':'c','deprecated':true}",
     "'x'", NULL},
    {"{'format':'uri','contentEncoding':'base64','contentMediaType':'a/b','contentSchema':false,"
     "'readOnly':true,'writeOnly':true,'x-owner':1}",
     "'x'", NULL},
    {"{'enum':[]}", "1", ": 1 is not known; allowed: "},
};

/* Tables are easier to read with ' for ". */
static void parse(const char *text, struct js **ret_tree)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *json = arena_strdup(&arena, text);
    struct err err = {0};
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    ck_assert_msg(js_parse(json, strlen(json), ret_tree, &err) == RC_OK, "%s: %s", text, err.text);
}

static enum rc open_quoted(struct schema *schema, const char *text, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    parse(text, &tree);
    return schema_open(schema, str_of(js_text(tree, &arena)), err);
}

static void expect(const struct example *example, const struct schema_options *options)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(schema_release) struct schema schema = {0};
    CLEANUP(js_freep) struct js *value = NULL;
    struct err err = {0};
    struct faults faults = {0};
    ck_assert_msg(open_quoted(&schema, example->schema, &err) == RC_OK, "%s: %s", example->schema,
                  err.text);
    parse(example->value, &value);
    bool good = schema_check(&schema, value, options, &arena, &faults);
    ck_assert_msg(good == (example->fault == NULL), "%s %s", example->schema, example->value);
    ck_assert_int_eq(good, faults.count == 0);
    if (good)
        return;
    const struct fault *first = &faults.items[0];
    ck_assert_str_eq(arena_printf(&arena, "%s: %s", first->path, first->message), example->fault);
}

START_TEST(values_fit_or_are_told_what_is_wrong)
{
    expect(&values[_i], &(struct schema_options){0});
}
END_TEST

static const char layered[] =
    "{'properties':{'a':{'type':'string'},'o':{'required':['x'],'properties':{'x':{}}},"
    "'l':{'items':{'required':['y']}}},'required':['a'],'additionalProperties':false,"
    "'if':{'properties':{'a':{'const':'z'}},'required':['a']},'then':{'required':['o']},"
    "'not':{'required':['o','l'],'description':'o or l'}}";

START_TEST(null_may_count_as_absent)
{
    static const struct example examples[] = {
        {layered, "{'a':'','o':null}", NULL},
        {layered, "{'a':null}", "a: is required"},
        {layered, "{'a':'','b':null}", "b: is not known here; did you mean a? allowed: a, o, l"},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        expect(&examples[i], &(struct schema_options){.null_is_absent = true});
    expect(&(struct example){layered, "{'a':null}", "a: must be a string, not null"},
           &(struct schema_options){0});
}
END_TEST

START_TEST(a_partial_document_may_leave_out_members_but_not_of_elements)
{
    static const struct example examples[] = {
        {layered, "{}", NULL},
        {layered, "{'o':{}}", NULL},
        {layered, "{'a':'z'}", NULL},
        {layered, "{'a':1}", "a: must be a string, not an integer"},
        {layered, "{'l':[{}]}", "l[0].y: is required"},
        {layered, "{'o':{},'l':[]}", ": o or l"},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        expect(&examples[i], &(struct schema_options){.partial = true});
}
END_TEST

START_TEST(all_faults_are_told_up_to_a_limit)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(schema_release) struct schema schema = {0};
    CLEANUP(js_freep) struct js *value = NULL;
    struct err err = {0};
    struct faults faults = {0};
    ck_assert_int_eq(open_quoted(&schema, "{'items':{'type':'string'}}", &err), RC_OK);
    parse("[1,'a',2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]", &value);
    ck_assert(!schema_check(&schema, value, &(struct schema_options){0}, &arena, &faults));
    ck_assert_uint_eq(faults.count, FAULTS_MAX);
    ck_assert_uint_eq(faults.left_out, 3);
    ck_assert_str_eq(faults.items[1].path, "[2]");
    ck_assert_int_eq(faults_err(&faults, "INVALID_CONFIGURATION", &err), RC_INVALID);
    ck_assert_str_eq(err.text, "[0]: must be a string, not an integer (and 22 more)");
    ck_assert_str_eq(err.field, "[0]");
}
END_TEST

static const struct {
    const char *schema, *why;
} refused[] = {
    {"1", "# must be a schema: an object or a boolean"},
    {"{'minimun':1}",
     "#/minimun is no keyword that is checked: correct it, or begin its name with x-"},
    {"{'properties':{'a':{'formats':'uri'}}}",
     "#/properties/a/formats is no keyword that is checked: correct it, or begin its name with x-"},
    {"{'type':'text'}", "#/type must name types"},
    {"{'type':[]}", "#/type must name types"},
    {"{'minimum':'1'}", "#/minimum must be a number"},
    {"{'minLength':-1}", "#/minLength must be an integer from 0"},
    {"{'multipleOf':0}", "#/multipleOf must be a number above 0"},
    {"{'required':['a',1]}", "#/required must be an array of strings"},
    {"{'enum':1}", "#/enum must be an array of values"},
    {"{'dependentRequired':{'a':'b'}}",
     "#/dependentRequired must be an object of arrays of strings"},
    {"{'$schema':'http://json-schema.org/draft-07/schema#'}",
     "#/$schema is of another draft; only https://json-schema.org/draft/2020-12/schema is "
     "supported"},
    {"{'$id':'a#b'}", "#/$id must be a URI without a fragment"},
    {"{'$anchor':'1'}", "#/$anchor must be a name of letters, digits, -, _ and ."},
    {"{'$defs':{'a':{'$anchor':'x'},'b':{'$anchor':'x'}}}", "the anchor x is there twice"},
    {"{'items':[{}]}", "#/items must be a schema: an object or a boolean"},
    {"{'allOf':[]}", "#/allOf must be an array of schemas"},
    {"{'oneOf':[{'x':1}]}",
     "#/oneOf/x is no keyword that is checked: correct it, or begin its name with x-"},
    {"{'properties':[]}", "#/properties must be an object of schemas"},
    {"{'$ref':1}", "#/$ref must be a string"},
    {"{'$ref':'#/$defs/none'}", "$ref #/$defs/none leads nowhere"},
    {"{'$ref':'#none'}", "$ref #none leads nowhere"},
    {"{'$ref':'#/%zz'}", "$ref #/%zz is not percent-encoded"},
    {"{'$ref':'#/const','const':{'type':'string'}}", "$ref #/const does not lead to a schema"},
    {"{'$ref':'https://example.org/x'}",
     "there is no schema https://example.org/x here: a $ref leads to a place in the same document, "
     "to https://json-schema.org/draft/2020-12/schema or to a schema of drover"},
    {"{'pattern':'(?=a)'}", "#/pattern looking ahead or behind is not supported at \"=a)\""},
    {"{'uniqueItems':1}", "#/uniqueItems must be a boolean"},
    {"{'title':1}", "#/title must be a string"},
};

START_TEST(a_schema_that_would_not_be_checked_is_refused)
{
    CLEANUP(schema_release) struct schema schema = {0};
    struct err err = {0};
    ck_assert_int_eq(open_quoted(&schema, refused[_i].schema, &err), RC_INVALID);
    ck_assert_str_eq(err.code, "INVALID_SCHEMA");
    ck_assert_str_eq(err.text, refused[_i].why);
}
END_TEST

START_TEST(work_on_large_and_deep_values_is_bounded)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(schema_release) struct schema schema = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *large = NULL;
    CLEANUP(js_freep) struct js *deep = NULL;
    struct err err = {0};
    struct faults faults = {0};
    ck_assert_int_eq(
        open_quoted(&schema, "{'anyOf':[{'items':{'$ref':'#'}}],'uniqueItems':true}", &err), RC_OK);
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 5000; i++)
        buf_addf(&text, "%c%d", i == 0 ? '[' : ',', i);
    buf_addc(&text, ']');
    ck_assert_int_eq(js_parse(text.data, text.len, &large, &err), RC_OK);
    ck_assert(!schema_check(&schema, large, &(struct schema_options){0}, &arena, &faults));
    ck_assert_str_eq(faults.items[0].message, "is too deep or too large to be checked");
    buf_clear(&text);
    for (int i = 0; i < JS_DEPTH_MAX; i++)
        buf_addc(&text, '[');
    for (int i = 0; i < JS_DEPTH_MAX; i++)
        buf_addc(&text, ']');
    ck_assert_int_eq(js_parse(text.data, text.len, &deep, &err), RC_OK);
    ck_assert(schema_check(&schema, deep, &(struct schema_options){0}, &arena, &faults));
}
END_TEST

/* What one step may look at is bounded, too: lists of a schema that are long, and texts. */
static const struct {
    const char *schema, *member; /* In the place of @: members of these names and a number, */
    const char *entry;           /* or entries. */
    const char *value;           /* Of each element. */
} costly[] = {
    {"{'items':{'required':[@'a']}}", NULL, "'a'", "{'a':1}"},
    {"{'items':{'properties':{@'z':true}}}", "p", NULL, "{}"},
    {"{'items':{'enum':[@0]}}", NULL, "1", "0"},
    {"{'items':{'type':[@'null']}}", NULL, "'string'", "null"},
    {"{'items':{@'x-z':true}}", "x-", NULL, "0"},
    {"{'items':{'dependentRequired':{'a':[@'a']}}}", NULL, "'a'", "{'a':1}"},
    {"{'items':{'dependentSchemas':{@'z':true}}}", "p", NULL, "{}"},
};

START_TEST(work_on_long_lists_of_a_schema_is_bounded)
{
    enum { ENTRIES = 20000, ELEMENTS = 10000 };
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(schema_release) struct schema schema = {0};
    CLEANUP(js_freep) struct js *value = NULL;
    CLEANUP(buf_release) struct buf text;
    struct err err = {0};
    struct faults faults = {0};
    const char *at = strchr(costly[_i].schema, '@');
    buf_init(&text, 1 << 20);
    buf_add(&text, costly[_i].schema, (size_t)(at - costly[_i].schema));
    for (int i = 0; i < ENTRIES; i++) {
        if (costly[_i].member != NULL)
            buf_addf(&text, "'%s%d':true,", costly[_i].member, i);
        else
            buf_addf(&text, "%s,", costly[_i].entry);
    }
    buf_adds(&text, at + 1);
    ck_assert_msg(open_quoted(&schema, buf_text(&text), &err) == RC_OK, "%s", err.text);
    buf_clear(&text);
    for (int i = 0; i < ELEMENTS; i++)
        buf_addf(&text, "%s%s", i > 0 ? "," : "[", costly[_i].value);
    buf_addc(&text, ']');
    parse(buf_text(&text), &value);
    ck_assert(!schema_check(&schema, value, &(struct schema_options){.steps_max = 20000}, &arena,
                            &faults));
    ck_assert_str_eq(faults.items[0].message, "is too deep or too large to be checked");
}
END_TEST

/* A pattern that others match by trying all ways, and one whose text is too long for it. */
START_TEST(patterns_take_no_more_than_their_moves)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(schema_release) struct schema schema = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *value = NULL;
    struct err err = {0};
    struct faults faults = {0};
    ck_assert_int_eq(open_quoted(&schema, "{'pattern':'^(a+)+$'}", &err), RC_OK);
    buf_init(&text, 4 << 20);
    buf_addc(&text, '"');
    for (int i = 0; i < 100000; i++)
        buf_addc(&text, 'a');
    buf_adds(&text, "!\"");
    ck_assert_int_eq(js_parse(text.data, text.len, &value, &err), RC_OK);
    ck_assert(!schema_check(&schema, value, &(struct schema_options){0}, &arena, &faults));
    ck_assert_ptr_nonnull(strstr(faults.items[0].message, "does not fit"));
    faults = (struct faults){0};
    ck_assert(!schema_check(&schema, value, &(struct schema_options){.steps_max = 1000}, &arena,
                            &faults));
    ck_assert_str_eq(faults.items[0].message, "is too deep or too large to be checked");
}
END_TEST

static const struct {
    const char *document, *want;
} filled[] = {
    {"{}", "{'a':1,'s':{'x':2}}"},
    {"{'a':5,'s':{'x':3}}", "{'a':5,'s':{'x':3}}"},
    {"{'a':null,'s':{}}", "{'a':1,'s':{'x':2}}"},
    {"{'p':{},'l':[{}]}", "{'a':1,'s':{'x':2},'p':{'y':3},'l':[{}]}"},
    {"{'s':7,'other':{'z':1}}", "{'a':1,'s':7,'other':{'z':1}}"},
};

START_TEST(defaults_fill_what_is_missing)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(schema_release) struct schema schema = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *document = NULL;
    CLEANUP(js_freep) struct js *want = NULL;
    struct err err = {0};
    ck_assert_int_eq(open_quoted(&schema,
                                 "{'properties':{'a':{'default':1},"
                                 "'s':{'default':{},'properties':{'x':{'$ref':'#/$defs/two'}}},"
                                 "'p':{'properties':{'y':{'default':3}}},"
                                 "'l':{'items':{'properties':{'y':{'default':3}}}}},"
                                 "'$defs':{'two':{'default':2}}}",
                                 &err),
                     RC_OK);
    parse(filled[_i].document, &document);
    parse(filled[_i].want, &want);
    buf_init(&text, 4096);
    struct jw jw = jw_to(&text);
    schema_fill(&schema, document, &jw);
    ck_assert_str_eq(buf_text(&text), js_text(want, &arena));
}
END_TEST

Suite *schema_suite(void)
{
    Suite *suite = suite_create("schema");
    TCase *tcase = tcase_create("schema");
    tcase_add_loop_test(tcase, values_fit_or_are_told_what_is_wrong, 0, COUNT_OF(values));
    tcase_add_test(tcase, null_may_count_as_absent);
    tcase_add_test(tcase, a_partial_document_may_leave_out_members_but_not_of_elements);
    tcase_add_test(tcase, all_faults_are_told_up_to_a_limit);
    tcase_add_loop_test(tcase, a_schema_that_would_not_be_checked_is_refused, 0, COUNT_OF(refused));
    tcase_add_test(tcase, work_on_large_and_deep_values_is_bounded);
    tcase_add_loop_test(tcase, work_on_long_lists_of_a_schema_is_bounded, 0, COUNT_OF(costly));
    tcase_add_test(tcase, patterns_take_no_more_than_their_moves);
    tcase_add_loop_test(tcase, defaults_fill_what_is_missing, 0, COUNT_OF(filled));
    suite_add_tcase(suite, tcase);
    return suite;
}

/*
 * secrets.c - the scan.
 *
 * Shapes are matched at the start of a word only; a value that was handed out is found anywhere.
 * What stands behind an owner ("password = ...") must look random: long enough, of
 * many different characters, digits and letters mixed, and none of the words that stand in
 * examples.
 */
#include "core/text/secrets.h"
#include "base/buf.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OWNED_MIN = 10, /* In quotes. */
    BARE_MIN = 16,  /* Without. */
    URL_PASSWORD_MIN = 8,
    OWNED_MAX = 512,
    SWITCHES_MIN = 3, /* Between digits and letters. */
    KEY_FIRST_MIN = 40,
    KEY_NEXT_MIN = 16,
    KEY_LAST_MIN = 4,
    KEY_HEAD_MAX = 60,
};
static const double entropy_min = 3.0; /* Bits a character. */

/* What a byte may be the beginning of. */
enum {
    BEGINS_VALUE = 1,
    BEGINS_WORD = 2,
    BEGINS_OWNER = 4,
    BEGINS_OTHER = 8,
    BEGINS_ENCODED = 16, /* Base64. */
    BEGINS_ESCAPE = 32,  /* Of a value's first character. */
};

/* ---- shapes ---- */

/* Characters that a token continues with. */
enum letters { ALNUM, UPPER, HEX, WORD, URL64, DOTTED };

static const struct shape {
    const char *rule, *prefix;
    enum letters letters;
    size_t min, max; /* Of what follows the prefix. */
} shapes[] = {
    {"aws-access-key", "AKIA", UPPER, 16, 16},      {"aws-access-key", "ASIA", UPPER, 16, 16},
    {"github-token", "ghp_", ALNUM, 36, 255},       {"github-token", "gho_", ALNUM, 36, 255},
    {"github-token", "ghu_", ALNUM, 36, 255},       {"github-token", "ghs_", ALNUM, 36, 255},
    {"github-token", "ghr_", ALNUM, 36, 255},       {"github-token", "github_pat_", WORD, 36, 255},
    {"gitlab-token", "glpat-", URL64, 20, 255},     {"gitlab-token", "gldt-", URL64, 20, 255},
    {"gitlab-token", "glrt-", URL64, 20, 255},      {"gitlab-token", "glptt-", URL64, 20, 255},
    {"slack-token", "xoxb-", URL64, 20, 255},       {"slack-token", "xoxp-", URL64, 20, 255},
    {"slack-token", "xoxa-", URL64, 20, 255},       {"slack-token", "xoxr-", URL64, 20, 255},
    {"slack-token", "xoxs-", URL64, 20, 255},       {"slack-token", "xapp-", URL64, 20, 255},
    {"stripe-key", "sk_live_", ALNUM, 16, 255},     {"stripe-key", "rk_live_", ALNUM, 16, 255},
    {"stripe-key", "whsec_", ALNUM, 24, 255},       {"google-key", "AIza", URL64, 35, 35},
    {"google-key", "GOCSPX-", URL64, 24, 64},       {"google-token", "ya29.", URL64, 20, 1024},
    {"anthropic-key", "sk-ant-", URL64, 20, 255},   {"openai-key", "sk-proj-", URL64, 20, 255},
    {"openai-key", "sk-svcacct-", URL64, 20, 255},  {"openai-key", "sk-admin-", URL64, 20, 255},
    {"openai-key", "sk-", ALNUM, 40, 255},          {"npm-token", "npm_", ALNUM, 36, 255},
    {"pypi-token", "pypi-AgE", URL64, 50, 1024},    {"docker-token", "dckr_pat_", URL64, 20, 255},
    {"huggingface-token", "hf_", ALNUM, 34, 64},    {"sendgrid-key", "SG.", DOTTED, 60, 80},
    {"digitalocean-token", "dop_v1_", HEX, 64, 64}, {"drover-token", "drv_", HEX, 64, 64},
    {"drover-token", "dagt_", HEX, 64, 64},         {"bearer-token", "Bearer ", DOTTED, 24, 4096},
};

static bool is_letter(char c, enum letters letters)
{
    unsigned char u = (unsigned char)c;
    switch (letters) {
    case ALNUM:
        return isalnum(u);
    case UPPER:
        return isupper(u) || isdigit(u);
    case HEX:
        return isdigit(u) || (c >= 'a' && c <= 'f');
    case WORD:
        return isalnum(u) || c == '_';
    case URL64:
        return isalnum(u) || c == '_' || c == '-';
    case DOTTED:
        return isalnum(u) || (c != '\0' && strchr("_-.~+/=", c) != NULL);
    }
    return false;
}

static size_t run_of(struct str text, enum letters letters, size_t max)
{
    size_t len = 0;
    while (len < text.len && len < max && is_letter(text.at[len], letters))
        len++;
    return len;
}

static struct str from(struct str text, size_t at)
{
    return (struct str){text.at + at, text.len - at};
}

static bool starts(struct str text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.at, prefix, len) == 0;
}

static bool holds(struct str text, const char *word)
{
    return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

static size_t match_shape(struct str text, const struct shape *shape)
{
    if (text.at[0] != shape->prefix[0] || !starts(text, shape->prefix))
        return 0;
    size_t prefix = strlen(shape->prefix);
    size_t len = run_of(from(text, prefix), shape->letters, shape->max + 1);
    return len >= shape->min && len <= shape->max ? prefix + len : 0;
}

/* Three parts of base64url with dots between; the first two are JSON objects: eyJ is {". */
static size_t match_jwt(struct str text)
{
    enum { PART_MIN = 10, PART_MAX = 8192 };
    size_t at = 0;
    for (int part = 0; part < 3; part++) {
        struct str rest = from(text, at);
        if (part < 2 && !starts(rest, "eyJ"))
            return 0;
        size_t len = run_of(rest, URL64, PART_MAX);
        if (len < PART_MIN || (part < 2 && (len == rest.len || rest.at[len] != '.')))
            return 0;
        at += len + (part < 2);
    }
    return at;
}

static size_t match_slack_hook(struct str text)
{
    static const char prefix[] = "https://hooks.slack.com/services/";
    enum { MIN = 30, MAX = 200 };
    if (!starts(text, prefix))
        return 0;
    size_t len = run_of(from(text, sizeof prefix - 1), DOTTED, MAX);
    return len >= MIN ? sizeof prefix - 1 + len : 0;
}

/* ---- values that look random ---- */

/* Parts of placeholders and expressions that stand in place of a secret. */
static const char *const examples[] = {
    "example", "changeme", "change-me", "placeholder", "redacted",   "dummy",  "your",
    "sample",  "fake",     "xxxx",      "****",        "test",       "${",     "{{",
    "<",       "$(",       "1234567",   "process.",    "os.environ", "getenv", "abcdef",
};

static bool holds_example(struct str value)
{
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        size_t len = strlen(examples[i]);
        for (size_t at = 0; at + len <= value.len; at++) {
            if (strncasecmp(value.at + at, examples[i], len) == 0)
                return true;
        }
    }
    return false;
}

static double entropy_of(struct str value)
{
    size_t counts[256] = {0};
    double bits = 0;
    for (size_t i = 0; i < value.len; i++)
        counts[(unsigned char)value.at[i]]++;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        double share = (double)counts[i] / (double)value.len;
        bits -= counts[i] > 0 ? share * log2(share) : 0;
    }
    return bits;
}

static size_t switches_in(struct str value)
{
    size_t count = 0;
    for (size_t i = 1; i < value.len; i++) {
        bool was_digit = isdigit((unsigned char)value.at[i - 1]);
        bool is_digit = isdigit((unsigned char)value.at[i]);
        bool was_alpha = isalpha((unsigned char)value.at[i - 1]);
        bool is_alpha = isalpha((unsigned char)value.at[i]);
        count += (was_digit && is_alpha) || (was_alpha && is_digit);
    }
    return count;
}

static bool looks_random(struct str value, size_t min)
{
    return value.len >= min && value.len <= OWNED_MAX && switches_in(value) >= SWITCHES_MIN &&
           entropy_of(value) >= entropy_min && !holds_example(value);
}

/* ---- owners ---- */

static const char *const owners[] = {
    "password",   "passwd",    "passphrase",  "secret",     "token",       "api_key",
    "api-key",    "apikey",    "access_key",  "access-key", "accesskey",   "secret_key",
    "secret-key", "secretkey", "private_key", "credential", "credentials", "auth_key",
};

static size_t skip_blanks(struct str text, size_t at)
{
    while (at < text.len && (text.at[at] == ' ' || text.at[at] == '\t'))
        at++;
    return at;
}

static size_t skip_escape(struct str text, size_t at)
{
    return at < text.len && text.at[at] == '\\' ? at + 1 : at;
}

static bool is_quote(struct str text, size_t at)
{
    return at < text.len && text.at[at] != '\0' && strchr("\"'`", text.at[at]) != NULL;
}

/* After the owner's name: its closing quote, and = : := => or the > of a tag; 0 when none is
   there. */
static size_t skip_operator(struct str text, size_t at)
{
    size_t begin = at;
    if (is_quote(text, skip_escape(text, at)))
        begin = skip_escape(text, at) + 1;
    begin = skip_blanks(text, begin);
    size_t end = begin;
    while (end < text.len && end < begin + 2 && text.at[end] != '\0' &&
           strchr(":=>", text.at[end]) != NULL)
        end++;
    struct str sign = {text.at + begin, end - begin};
    bool known = str_is(sign, "=") || str_is(sign, ":") || str_is(sign, ":=") ||
                 str_is(sign, "=>") || str_is(sign, ">");
    return known ? skip_blanks(text, end) : 0;
}

/* The value at the start of the text: in quotes, or a bare word. */
static bool owned_value(struct str text, size_t at, struct secret *ret)
{
    size_t quote = skip_escape(text, at);
    bool quoted = is_quote(text, quote);
    size_t begin = quoted ? quote + 1 : at;
    size_t end = begin;
    while (end < text.len && end - begin <= OWNED_MAX) {
        char c = text.at[end];
        if (quoted ? c == text.at[quote] || c == '\\' || isspace((unsigned char)c)
                   : !is_letter(c, DOTTED))
            break;
        end++;
    }
    bool called = !quoted && end < text.len && (text.at[end] == '(' || text.at[end] == '[');
    struct str value = {text.at + begin, end - begin};
    if (called || !looks_random(value, quoted ? OWNED_MIN : BARE_MIN))
        return false;
    *ret = (struct secret){.rule = "password", .at = begin, .len = value.len};
    return true;
}

/* Most words differ in their first two letters: that is cheap to see. */
static bool may_be(struct str text, const char *owner)
{
    return text.len > 2 && (text.at[0] | 0x20) == owner[0] && (text.at[1] | 0x20) == owner[1];
}

/* An owner's name begins at `at`; maybe other letters of its name stand before it. */
static bool match_owner(struct str line, size_t at, struct secret *ret)
{
    struct str text = from(line, at);
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        if (!may_be(text, owners[i]))
            continue;
        size_t len = strlen(owners[i]);
        if (text.len <= len || strncasecmp(text.at, owners[i], len) != 0 ||
            is_letter(text.at[len], WORD))
            continue;
        size_t value = skip_operator(line, at + len);
        if (value > 0 && owned_value(line, value, ret))
            return true;
    }
    return false;
}

/* The password in scheme://user:password@host; `at` is where "://" stands. */
static bool match_url(struct str line, size_t at, struct secret *ret)
{
    if (!starts(from(line, at), "://"))
        return false;
    size_t begin = 0;
    for (size_t i = at + 3; i < line.len && i < at + OWNED_MAX; i++) {
        char c = line.at[i];
        if (isspace((unsigned char)c) || c == '\0' || strchr("/\"'`<>?#", c) != NULL)
            return false;
        if (c == ':' && begin == 0)
            begin = i + 1;
        if (c != '@')
            continue;
        struct str password = {line.at + begin, i - begin};
        if (begin == 0 || !looks_random(password, URL_PASSWORD_MIN))
            return false;
        *ret = (struct secret){.rule = "url-password", .at = begin, .len = password.len};
        return true;
    }
    return false;
}

/* ---- private keys ---- */

static bool is_base64(char c)
{
    return isalnum((unsigned char)c) || c == '+' || c == '/' || c == '=';
}

/* In one line the body may continue behind \n, as JSON and source code write it. */
static size_t key_run(struct str text)
{
    size_t len = 0;
    while (len < text.len) {
        bool broken = text.at[len] == '\\' && len + 1 < text.len &&
                      (text.at[len + 1] == 'n' || text.at[len + 1] == 'r');
        if (!broken && !is_base64(text.at[len]))
            break;
        len += broken ? 2 : 1;
    }
    return len;
}

/* Bytes of -----BEGIN ... PRIVATE KEY-----; 0: it does not stand here. */
static size_t key_head(struct str text)
{
    enum { HEAD_MAX = 80 };
    if (!starts(text, "-----BEGIN "))
        return 0;
    size_t len = text.len < HEAD_MAX ? text.len : HEAD_MAX;
    const char *name = memmem(text.at, len, "PRIVATE KEY", strlen("PRIVATE KEY"));
    if (name == NULL)
        return 0;
    size_t at = (size_t)(name - text.at) + strlen("PRIVATE KEY");
    if (starts(from(text, at), " BLOCK"))
        at += strlen(" BLOCK");
    return starts(from(text, at), "-----") ? at + strlen("-----") : 0;
}

/* What may stand between the head and the body: nothing, or "Proc-Type: 4,ENCRYPTED". */
static bool is_key_header(struct str line)
{
    return line.len < KEY_HEAD_MAX && (run_of(line, DOTTED, line.len) < KEY_NEXT_MIN ||
                                       memchr(line.at, ':', line.len) != NULL);
}

/* The next run of base64 in a line of a block. */
static bool next_key_run(struct secret_scan *scan, struct secret *ret)
{
    size_t min = *scan->key == KEY_HEAD ? KEY_FIRST_MIN : KEY_NEXT_MIN;
    while (scan->at < scan->line.len) {
        size_t begin = scan->at, len = key_run(from(scan->line, begin));
        bool last = *scan->key == KEY_BODY && begin + len == scan->line.len && len >= KEY_LAST_MIN;
        scan->at = begin + (len > 0 ? len : 1);
        if (len < min && !last)
            continue;
        *scan->key = KEY_BODY;
        *ret = (struct secret){.rule = "private-key", .at = begin, .len = len};
        return true;
    }
    return false;
}

/* ---- a line ---- */

void secrets_init(struct secrets *secrets)
{
    *secrets = (struct secrets){.shapes = true};
    unsigned char *begins = secrets->begins;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        begins[(unsigned char)shapes[i].prefix[0]] |= BEGINS_WORD;
    for (const char *also = "eh"; *also != '\0'; also++) /* jwt, slack-webhook */
        begins[(unsigned char)*also] |= BEGINS_WORD;
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        begins[(unsigned char)owners[i][0]] |= BEGINS_OWNER;
        begins[toupper((unsigned char)owners[i][0])] |= BEGINS_OWNER;
    }
    for (const char *also = ":-"; *also != '\0'; also++) /* url-password, private-key */
        begins[(unsigned char)*also] |= BEGINS_OTHER;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        encoded_add(&secrets->starts, str_of(shapes[i].prefix));
    for (int c = 0; c < 256; c++)
        begins[c] |= encoded_is_code((char)c) ? BEGINS_ENCODED : 0;
    for (const char *also = "%\\"; *also != '\0'; also++)
        begins[(unsigned char)*also] |= BEGINS_ENCODED | BEGINS_ESCAPE;
}

static bool is_plain(const char *value)
{
    const char *host = strstr(value, "://");
    return value[0] == '/' || (host != NULL && strchr(host, '@') == NULL);
}

void secrets_add(struct secrets *secrets, const char *rule, const char *value)
{
    if (text_empty(value) || is_plain(value))
        return;
    while (*value != '\0') {
        size_t len = strcspn(value, "\r\n");
        bool counts = len >= SECRETS_VALUE_MIN && len <= SECRETS_VALUE_MAX;
        if (counts && secrets->value_count < SECRETS_VALUES_MAX) {
            size_t i = secrets->value_count++;
            secrets->values[i].rule = rule;
            secrets->values[i].text = (struct str){value, len};
            secrets->begins[(unsigned char)value[0]] |= BEGINS_VALUE;
            encoded_add(&secrets->starts, secrets->values[i].text);
        }
        value += len + strspn(value + len, "\r\n");
    }
}

/* The longest of the values that stands here. */
static bool match_value(const struct secrets *secrets, struct str line, size_t at,
                        struct secret *ret)
{
    size_t longest = 0;
    for (size_t i = 0; i < secrets->value_count; i++) {
        struct str value = secrets->values[i].text;
        size_t len = value.len > longest ? spelled_len(value, from(line, at)) : 0;
        if (len <= longest)
            continue;
        longest = len;
        *ret = (struct secret){.rule = secrets->values[i].rule, .at = at, .len = longest};
    }
    return longest > 0;
}

/* ---- base64 ---- */

static bool is_letter_of(void *ctx, char c)
{
    return is_letter(c, *(const enum letters *)ctx);
}

static bool match_encoded_shape(const struct secret_scan *scan, const struct shape *shape,
                                struct encoded_span *ret_span)
{
    enum letters letters = shape->letters;
    struct encoded_rest rest = {.goes_on = is_letter_of, .ctx = &letters, .max = shape->max};
    const struct encoded_place place = {scan->line, scan->at, scan->from};
    return encoded_find_prefix(str_of(shape->prefix), &place, &rest, ret_span) &&
           rest.count >= shape->min && rest.count <= shape->max;
}

/* Most words are too short to be a secret in base64: each is measured once. */
static bool in_long_run(struct secret_scan *scan)
{
    if (scan->at >= scan->run_end) {
        size_t len = encoded_run(scan->line, scan->at);
        scan->run_end = scan->at + len;
        scan->run_is_long = len >= ENCODED_RUN_MIN;
    }
    return scan->run_is_long;
}

static bool match_encoded(struct secret_scan *scan, struct secret *ret)
{
    const struct secrets *secrets = scan->secrets;
    const struct encoded_place place = {scan->line, scan->at, scan->from};
    struct encoded_span span = {0, 0};
    const char *rule = NULL;
    if (!in_long_run(scan) || !encoded_may_begin(&secrets->starts, scan->line, scan->at))
        return false;
    for (size_t i = 0; i < secrets->value_count && rule == NULL; i++)
        if (encoded_find(secrets->values[i].text, &place, &span))
            rule = secrets->values[i].rule;
    for (size_t i = 0; secrets->shapes && i < COUNT_OF(shapes) && rule == NULL; i++)
        if (match_encoded_shape(scan, &shapes[i], &span))
            rule = shapes[i].rule;
    if (rule != NULL)
        *ret = (struct secret){.rule = rule, .at = span.begin, .len = span.end - span.begin};
    return rule != NULL;
}

/* A value that begins with a character that is written as an escape. */
static bool match_escaped(const struct secret_scan *scan, struct secret *ret)
{
    int first = spelled_first(from(scan->line, scan->at));
    return first >= 0 && (scan->secrets->begins[first] & BEGINS_VALUE) &&
           match_value(scan->secrets, scan->line, scan->at, ret);
}

static bool match_word(struct str line, size_t at, struct secret *ret)
{
    struct str text = from(line, at);
    size_t len = 0;
    for (size_t i = 0; i < COUNT_OF(shapes) && len == 0; i++) {
        len = match_shape(text, &shapes[i]);
        ret->rule = shapes[i].rule;
    }
    if (len == 0) {
        len = match_jwt(text);
        ret->rule = "jwt";
    }
    if (len == 0) {
        len = match_slack_hook(text);
        ret->rule = "slack-webhook";
    }
    ret->at = at;
    ret->len = len;
    return len > 0;
}

/* The head of a key: its body may stand in the same line. */
static bool match_key(struct secret_scan *scan, struct secret *ret)
{
    size_t head = key_head(from(scan->line, scan->at));
    if (head == 0)
        return false;
    *scan->key = KEY_HEAD;
    size_t begin = scan->at + head;
    *ret = (struct secret){
        .rule = "private-key", .at = begin, .len = key_run(from(scan->line, begin))};
    return ret->len >= KEY_FIRST_MIN;
}

static bool match_at(struct secret_scan *scan, struct secret *ret)
{
    struct str line = scan->line;
    size_t at = scan->at;
    unsigned char begins = scan->secrets->begins[(unsigned char)line.at[at]];
    if (begins == 0)
        return false;
    if ((begins & BEGINS_VALUE) && match_value(scan->secrets, line, at, ret))
        return true;
    if ((begins & BEGINS_ENCODED) && match_encoded(scan, ret))
        return true;
    if ((begins & BEGINS_ESCAPE) && match_escaped(scan, ret))
        return true;
    if (!scan->secrets->shapes)
        return false;
    bool word = at == 0 || !is_letter(line.at[at - 1], WORD);
    if (word && (begins & BEGINS_WORD) && match_word(line, at, ret))
        return true;
    if ((begins & BEGINS_OWNER) && match_owner(line, at, ret)) {
        /* What is known by itself goes by its own name. */
        size_t value = ret->at;
        struct secret known;
        if (match_value(scan->secrets, line, value, &known) || match_word(line, value, &known))
            *ret = known;
        return true;
    }
    return (begins & BEGINS_OTHER) && (match_key(scan, ret) || match_url(line, at, ret));
}

/* A line of a block holds nothing but its body; the first that has none ends it. */
struct secret_scan secrets_scan(const struct secrets *secrets, struct str line, enum key_state *key)
{
    struct secret_scan scan = {.secrets = secrets, .line = line, .key = key};
    if (*key == KEY_OUTSIDE)
        return scan;
    struct secret_scan look = scan;
    struct secret body;
    enum key_state state = *key;
    look.key = &state;
    scan.inside = next_key_run(&look, &body);
    if (!scan.inside && !(*key == KEY_HEAD && is_key_header(line)))
        *key = KEY_OUTSIDE;
    return scan;
}

bool secrets_next(struct secret_scan *scan, struct secret *ret_secret)
{
    if (scan->inside && next_key_run(scan, ret_secret))
        return true;
    for (; !scan->inside && scan->at < scan->line.len; scan->at++) {
        if (match_at(scan, ret_secret)) {
            scan->at = scan->from = ret_secret->at + ret_secret->len;
            return true;
        }
    }
    if (*scan->key != KEY_OUTSIDE && holds(scan->line, "-----END"))
        *scan->key = KEY_OUTSIDE;
    return false;
}

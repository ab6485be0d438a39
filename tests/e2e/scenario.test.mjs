// scenario.test.mjs - one run with everything that can be mended going wrong: a compile error, then
// a change that nobody asked for.  Its events tell the whole story, in order.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHistory } from './lib/cloudevents.mjs';
import { done, git, says } from './lib/git.mjs';
import { start } from './lib/server.mjs';

// What Maven prints of a test that does not compile.
const MVN = `if grep -q 'String total' src/InvoiceMapper.java; then
    echo '[INFO] Compiling 12 source files'
    echo '[ERROR] COMPILATION ERROR :'
    echo '[ERROR] /src/InvoiceMapperTest.java:[9,21] incompatible types: String cannot be converted'
    echo '[INFO] BUILD FAILURE'
    exit 1
fi
grep -q 'TimeProvider.now' src/InvoiceMapper.java
`;
const FILES = {
    'mvn.sh': MVN,
    'README.md': 'Billing.\n',
    'src/InvoiceMapper.java': 'long total = LegacyClock.now();\n',
};

const writes = (text) => `echo '${text}' >src/InvoiceMapper.java\n`;
const AGENT = `case $DROVER_ATTEMPT in
1)  ${writes('String total = TimeProvider.now();')} ;;
2)  grep -q 'incompatible types' "$DROVER_FEEDBACK" || exit 9
    ${says({ type: 'plan', text: '1. Migrate the call sites' })}
    ${says({ type: 'plan', text: '1. Make the total a number', reason: 'fix_compile_error' })}
    ${writes('long total = TimeProvider.now();')}
    echo 'And while I was there.' >>README.md ;;
3)  grep -q 'README.md' "$DROVER_FEEDBACK" || exit 9
    git checkout --quiet HEAD -- README.md ;;
esac
${done('Migrated LegacyClock.now() call sites to TimeProvider.now().')}`;

const STORY = [
    ['agent.patch.created', { attemptNo: 1 }],
    ['agent.verification.started', { verifierName: 'maven-test' }],
    ['agent.verification.failed', { verifierName: 'maven-test', exitCode: 1,
        failureCategory: 'compile_error' }],
    ['agent.run.verdict.retry_with_feedback', { reason: 'verification_failed' }],
    ['agent.plan.updated', { reason: 'fix_compile_error' }],
    ['agent.patch.created', { attemptNo: 2 }],
    ['agent.verification.started', { verifierName: 'maven-test' }],
    ['agent.verification.passed', { verifierName: 'maven-test' }],
    ['agent.judge.started', {}],
    ['agent.judge.completed', { verdict: 'fail', category: 'scope_overreach' }],
    ['agent.run.verdict.retry_with_feedback', { reason: 'judge_failed' }],
    ['agent.patch.created', { attemptNo: 3 }],
    ['agent.verification.passed', { verifierName: 'maven-test' }],
    ['agent.judge.completed', { verdict: 'pass' }],
    ['agent.pr.creation.requested', {}],
    ['agent.pr.created', { draft: true }],
    ['agent.run.completed', {}],
];

const matches = (event, [type, data]) => event.type === type &&
    Object.entries(data).every(([key, value]) => event.data[key] === value);

describe('a patch that does not compile, then overreaches', () => {
    let server, events, run, origin;

    before(async () => {
        server = await start();
        const verify = [{ name: 'maven-test', command: 'sh mvn.sh' }];
        const repo = await server.repository('acme/billing', AGENT, { files: FILES, verify });
        ({ origin } = repo);
        const { runId } = await server.finish(repo.name, 'completed',
            { description: 'Migrate to TimeProvider.', scope: ['src/**'] });
        run = await server.run(runId);
        events = await server.events(runId);
    });
    after(() => server.discard());

    it('becomes a draft pull request after three attempts', () => {
        assert.equal(run.attempt, 3);
        assert.equal(run.pullRequest.draft, true);
        assert.equal(git(origin, 'diff', '--name-only', 'main', run.branch),
            'src/InvoiceMapper.java');
    });

    it('tells every turn of the story, in order', () => {
        assertHistory(events);
        let at = 0;
        for (const chapter of STORY) {
            const next = events.findIndex((event, i) => i >= at && matches(event, chapter));
            assert.ok(next >= 0, `${JSON.stringify(chapter)} is not among ${events.slice(at)
                .map(({ type }) => type)}`);
            at = next + 1;
        }
    });

    it('says what was wrong where it says that it was wrong', () => {
        const of = (type) => events.filter((event) => event.type === type).map(({ data }) => data);
        const [failed] = of('agent.verification.failed');
        assert.match(failed.summary, /COMPILATION ERROR|incompatible types/);
        assert.match(failed.reportArtifactId, /^[0-9a-f]{64}$/);
        const [judged] = of('agent.judge.completed');
        assert.equal(judged.judgeType, 'rules');
        assert.equal(judged.findingsCount, 1);
        assert.equal(judged.findings[0].path, 'README.md');
        assert.equal(of('agent.patch.superseded').length, 2);
        assert.equal(of('agent.patch.rejected').length, 1);
    });
});

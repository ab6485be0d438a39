#include "core/run/retry_rule.h"
#include "base/rc.h"
#include "base/str.h"

/* place, code, action, class, and why; flags only where they are set. */
static const struct retry_rule rules[] = {
    /* A step that a worker could not finish. */
    {"repository_unreachable", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .outside = true,
     .why = "the forge could not be reached"},
    {"issue_unavailable", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the forge could not be reached; an issue that is not there is final"},
    {"publish_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the forge did not take it; a branch in the way is permanent"},
    {"pull_request_exists", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT,
     .why = "opening one is idempotent: the next try answers with the one that is there"},
    {"rate_limited", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .outside = true,
     .why = "the provider asks for patience; pauses grow"},
    {"delivery_timed_out", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .outside = true,
     .why = "what was to be delivered is still in the log"},
    {"worker_lost", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT,
     .why = "the lease ran out; another worker takes over, without an attempt counted"},
    {"prepare_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .why = "disk, git or the server on the worker's side"},
    {"setup_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .why = "a registry may be away; outputs that cannot be used are permanent"},
    {"hydrate_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .why = "disk, git or the server on the worker's side"},
    {"agent_start_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .why = "the machine could not start it"},
    {"session_start_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the remote side is away or throttles; a refusal is permanent"},
    {"collect_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the forge could not be asked what the agent left"},
    {"credential_missing", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the worker's environment lacks a variable that the configuration names"},
    {"credential_refused", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the host of the repository wants another credential"},
    {"verify_failed_to_run", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .why = "says nothing about the patch"},
    {"judge_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .why = "the judge could not work; says nothing about the patch"},
    {"unpublish_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "what was pushed must not stay behind; asking again is harmless"},
    {"notification_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the receiver could not be reached, or could not take it"},
    {"issue_unreadable", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the forge could not be asked; the issue is read again in time"},
    {"comment_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the forge did not take it; the same comment is found and edited"},
    {"sync_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true,
     .why = "the forge could not be asked what changed; it is asked again in time"},
    {"observe_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the forge could not be asked; it is asked again in time"},
    {"attend_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the forge did not take it; every act finds what was done of it"},
    {"rebase_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "says nothing about the pull request"},
    {"train_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "says nothing about the pull requests; a landing is found when done"},
    {"launch_failed", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the rule of the agent's restarts decides about the next start"},
    {"agent_killed", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the agent that had claimed it was killed, and its work was to fail"},
    {"clean_failed", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .why = "a directory that is still in use"},
    {"custom_step_unavailable", RETRY_OF_STEP, RETRY_AGAIN, CLASS_TRANSIENT, .as_reported = true,
     .outside = true, .why = "the step could not be run or reached, or took too long"},
    {"step_timed_out", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "it had its time; as long again would be too long"},
    {"cancelled", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT, .why = "a user asked for it"},
    {"agent_command_not_found", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the configuration names a program that is not there"},
    {"sandbox_unavailable", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "bubblewrap must be installed on the worker, or the configuration changed"},
    {"branch_not_found", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the repository has no such branch"},
    {"base_commit_not_found", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the repository has lost the commit"},
    {"custom_step_refused", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the service would refuse it again"},
    {"custom_step_bad_answer", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the step does not keep its contract"},
    {"plan_missing", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the agent was asked for a plan and left none"},
    {"issue_not_approved", RETRY_OF_STEP, RETRY_STOP, CLASS_SECURITY,
     .why = "the stored text of the issue is not the one that was approved"},
    {"attachment_unavailable", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "the task names a file that was never uploaded"},
    {"hydration_timed_out", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "it had its time; as long again would be too long"},
    {"patch_failed", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "what the agent left is no patch"},
    {"patch_too_large", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "passes limits.maxPatchBytes"},
    {"payload_invalid", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "worker and server do not understand each other"},
    {"result_too_large", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "would be as large again"},
    {"result_refused", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT, .why = "would be refused again"},
    {"invalid_step_result", RETRY_OF_STEP, RETRY_STOP, CLASS_PERMANENT,
     .why = "a worker that reports nonsense would report it again"},
    {"policy_denied", RETRY_OF_STEP, RETRY_STOP, CLASS_POLICY,
     .why = "a rule of people; they decide, or change it"},
    {"secret_detected", RETRY_OF_STEP, RETRY_STOP, CLASS_SECURITY,
     .why = "blocked; a second try could leak it"},
    {"malicious_repository", RETRY_OF_STEP, RETRY_QUARANTINE, CLASS_SECURITY,
     .why = "the repository attacks its workers"},

    /* What a step has found. */
    {"verification_failed", RETRY_OF_RESULT, RETRY_REPAIR, CLASS_PERMANENT,
     .why = "tests or compiler say what is wrong; the agent can mend it"},
    {"verification_errored", RETRY_OF_RESULT, RETRY_AGAIN, CLASS_TRANSIENT,
     .why = "a check that could not be run says nothing about the patch"},
    {"judge_failed", RETRY_OF_RESULT, RETRY_REPAIR, CLASS_PERMANENT,
     .why = "the judge's findings say what is wrong"},
    {"max_files", RETRY_OF_RESULT, RETRY_REPAIR, CLASS_PERMANENT, .why = "change fewer files"},
    {"max_lines", RETRY_OF_RESULT, RETRY_REPAIR, CLASS_PERMANENT, .why = "change fewer lines"},
    {"out_of_scope", RETRY_OF_RESULT, RETRY_REPAIR, CLASS_PERMANENT,
     .why = "the agent can take it back"},
    {"forbidden_path", RETRY_OF_RESULT, RETRY_REPAIR, CLASS_PERMANENT,
     .why = "the agent can take it back; nothing of it is published"},
    {"secret_detected", RETRY_OF_RESULT, RETRY_STOP, CLASS_SECURITY,
     .why = "blocked; it is not returned to the agent"},
    {"policy_denied", RETRY_OF_RESULT, RETRY_STOP, CLASS_POLICY,
     .why = "a rule of people; they decide, or change it"},
    {"malicious_repository", RETRY_OF_RESULT, RETRY_QUARANTINE, CLASS_SECURITY,
     .why = "the repository attacks its workers"},
};

const struct retry_rule *retry_rules(size_t *ret_count)
{
    *ret_count = COUNT_OF(rules);
    return rules;
}

const struct retry_rule *retry_rule_find(enum retry_place place, const char *code)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (rules[i].place == place && text_same(rules[i].code, code))
            return &rules[i];
    return NULL;
}

struct retry_decision retry_of_step(const struct reported_error *error)
{
    struct retry_decision reported = retry_as_reported(error);
    const struct retry_rule *rule = retry_rule_find(RETRY_OF_STEP, error->code);
    if (rule == NULL) {
        reported.outside = false; /* Only what the table names is the fault of something outside. */
        return reported;
    }
    bool policy = error_class_is_guarded(rule->class) || reported.policy;
    bool retryable = !policy && rule->action == RETRY_AGAIN &&
                     (!rule->as_reported || reported.retryable);
    return (struct retry_decision){
        .retryable = retryable,
        .policy = policy,
        .outside = retryable && rule->outside,
        .quarantine = rule->action == RETRY_QUARANTINE,
    };
}

# Bash completion for drover(1).  Install as share/bash-completion/completions/drover.
#
# Commands and options are asked from the program itself (drover help), so that this file does not
# grow stale; the names of repositories come from the server, if one answers.

# What begins like $1, of what compgen makes of the rest.
_drover_reply() {
    local begun=$1
    shift
    mapfile -t COMPREPLY < <(compgen "$@" -- "$begun")
}

# The words of commands, one a line: "submit", "repo add", ...
_drover_commands() {
    drover help 2>/dev/null | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\) .*/\1/p'
}

# The options of a command, one a line: "--repo", ...
_drover_options() {
    drover help "$@" 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p'
}

_drover_repositories() {
    drover repo list --limit 200 2>/dev/null | sed -n '2,$s/ .*//p'
}

_drover_profiles() {
    drover agents profiles 2>/dev/null | awk '/^[a-z]/ { print $1 }'
}

_drover_agents() {
    drover agents 2>/dev/null | sed -n '2,$s/ .*//p'
}

_drover_queues() {
    drover queue list 2>/dev/null | sed -n '2,$s/ .*//p'
}

_drover_sinks() {
    drover sinks 2>/dev/null | sed -n '2,$s/ .*//p'
}

_drover_consumers() {
    drover consumer list 2>/dev/null | sed -n '2,$s/ .*//p'
}

_drover_value() {
    local tasks='submitted deferred hydrating running finalizing completed failed cancelled'
    local runs='queued preparing context_loading planning running verifying judging
        awaiting_approval creating_pr completed failed cancelled timed_out'
    local deaths='max_attempts expired rejected non_retryable policy_blocked poison'
    case $1 in
    --config)
        [[ $3 != task ]] || return 1 # A flag there.
        compopt -o filenames; _drover_reply "$2" -f ;;
    --output | --out | --token-file | --file | --defaults | --attach | --anchor)
        compopt -o filenames; _drover_reply "$2" -f ;;
    --data | --home) compopt -o filenames; _drover_reply "$2" -d ;;
    --mode) _drover_reply "$2" -W 'patch_only supervised_pr autonomous_pr' ;;
    --archived) _drover_reply "$2" -W 'true false all' ;;
    --risk) _drover_reply "$2" -W 'low medium high' ;;
    --outcome) _drover_reply "$2" -W 'done denied refused failed' ;;
    --writes) _drover_reply "$2" -W 'cto dev-agent review-agent ci' ;;
    --role) _drover_reply "$2" -W 'viewer operator worker admin' ;;
    --state)
        case $3 in
        issue*) _drover_reply "$2" -W 'open closed seen awaiting active done' ;;
        agents) _drover_reply "$2" -W 'registered starting active late restarting stopped failed killed' ;;
        *) _drover_reply "$2" -W 'active draining lost' ;;
        esac
        ;;
    --queues)
        _drover_reply "$2" -W "prepare hydrate plan agent collect custom verify judge publish \
unpublish clean notify issue comment train sync observe attend rebase launch" ;;
    --log-level | --level) _drover_reply "$2" -W 'debug info warn error fatal' ;;
    --severity) _drover_reply "$2" -W 'debug info warning error' ;;
    --sandbox) _drover_reply "$2" -W 'bubblewrap none' ;;
    --log-format) _drover_reply "$2" -W 'json human' ;;
    --repo) _drover_reply "$2" -W "$(_drover_repositories)" ;;
    --agent)
        case $3 in
        submit | tasks | token | events) _drover_reply "$2" -W "$(_drover_agents)" ;;
        *) _drover_reply "$2" -W "$(_drover_profiles)" ;;
        esac
        ;;
    --profile) _drover_reply "$2" -W "$(_drover_profiles)" ;;
    --persona) _drover_reply "$2" -W 'planner implementer reviewer tester' ;;
    --restart) _drover_reply "$2" -W 'never on_failure always' ;;
    --policy) _drover_reply "$2" -W 'requeue fail' ;;
    --branch) _drover_reply "$2" -W "$(git branch --format='%(refname:short)' 2>/dev/null)" ;;
    --kind)
        _drover_reply "$2" -W "approval question escalation gate quarantine cost_limit budget batch \
train account saga sink sink_letters dead_letters" ;;
    --on-stop) _drover_reply "$2" -W 'finish cancel' ;;
    --phase) _drover_reply "$2" -W 'waiting active completed failed cancelled skipped' ;;
    --repos) _drover_reply "$2" -W "$(_drover_repositories)" ;;
    --run | --task | --depends-on | --parent | --batch) _drover_reply "$2" -W latest ;;
    --status)
        case $3 in
        tasks) _drover_reply "$2" -W "$tasks timed_out" ;;
        runs) _drover_reply "$2" -W "$runs" ;;
        sagas) _drover_reply "$2" -W 'running compensating completed compensated stuck' ;;
        prs) _drover_reply "$2" -W 'open merged closed' ;;
        batch*) _drover_reply "$2" -W "running paused stopping cancelling completed stopped \
cancelled" ;;
        webhooks) _drover_reply "$2" -W 'applied ignored invalid lost' ;;
        esac
        ;;
    --server | --listen | --db | --workers | --name | --slots | --ports | --expires | --limit | --issue | \
        --priority | --best-of | --candidate | --max | --max-* | --key | --target-branch | --scope | --label | --type | --tag | \
        --title | --wait-ms | --at | \
        --since | --between | --url | --until | --error-code | --pattern | --patch | --older-than | \
        --capacity | --heartbeat | --prompt | --account | \
        --every | --lease | --count | --timeout | --grace | --dedup | --delay | --ttl | \
        --stop-* | --task-budget | --event | \
        --correlation | --causation | --subject | --source | \
        --from | --dependency | --option | --default | --cron | --sequence | --payload | --header | --id | --override) ;;
    --queue) _drover_reply "$2" -W "$(_drover_queues)" ;;
    --reason)
        [[ $3 != dlq* ]] || _drover_reply "$2" -W "$deaths" ;;
    *) return 1 ;;
    esac
}

# What may stand where a word is expected.
_drover_word() {
    case $1 in
    'repo show' | 'repo set' | 'repo remove' | 'repo quarantine' | 'repo release' | webhooks | \
        train)
        _drover_reply "$2" -W "$(_drover_repositories)" ;;
    'queue show' | 'queue set' | 'queue pause' | 'queue resume' | enqueue | consume)
        _drover_reply "$2" -W "$(_drover_queues)" ;;
    'sink '*)
        _drover_reply "$2" -W "$(_drover_sinks)" ;;
    'consumer '*)
        _drover_reply "$2" -W "$(_drover_consumers)" ;;
    'dlq show' | 'dlq replay' | 'dlq archive' | 'dlq purge')
        _drover_reply "$2" -W latest ;;
    task | compare | cancel | retry | run | timeline | replay | export | watch | artifacts | snapshots | approval | approve | \
        reject | say | messages | pause | resume | question | answer | 'batch show' | \
        'batch pause' | 'batch resume' | 'batch cancel')
        _drover_reply "$2" -W latest ;;
    credential) _drover_reply "$2" -W 'get store erase' ;;
    backup | 'repo check' | batch | 'audit key') compopt -o filenames; _drover_reply "$2" -f ;;
    schema | 'schema get') _drover_reply "$2" -W "$(drover schema list 2>/dev/null)" ;;
    'schema validate' | 'schema check' | 'schema put') compopt -o filenames; _drover_reply "$2" -f ;;
    'agent show' | 'agent launch' | 'agent kill' | 'agent remove')
        _drover_reply "$2" -W "$(_drover_agents)" ;;
    'agents check')
        _drover_reply "$2" -W "$(_drover_profiles)" ;;
    help) _drover_reply "$2" -W "$(_drover_commands | cut -d' ' -f1 | uniq)" ;;
    esac
}

_drover() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local first=${COMP_WORDS[1]} command=${COMP_WORDS[1]} seconds
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _drover_reply "$current" -W "$(_drover_commands | cut -d' ' -f1 | uniq)"
        return
    fi
    seconds=$(_drover_commands | sed -n "s/^$first //p")
    if [ -n "$seconds" ]; then
        if [ "$COMP_CWORD" -eq 2 ] && [[ $current != -* ]]; then
            _drover_reply "$current" -W "$seconds"
            # A family may be a command itself: its own words, where no command begins like that.
            [ ${#COMPREPLY[@]} -gt 0 ] || _drover_word "$first" "$current"
            return
        fi
        # A family may be a command itself, whose words are not commands.
        if grep -qx -- "${COMP_WORDS[2]}" <<<"$seconds"; then
            command="$first ${COMP_WORDS[2]}"
        fi
    fi
    _drover_value "$previous" "$current" "$command" && return
    if [[ $current == -* ]]; then
        # shellcheck disable=SC2086 # A command of two words is two arguments.
        _drover_reply "$current" -W "$(_drover_options $command)"
    else
        _drover_word "$command" "$current"
    fi
}

complete -F _drover drover

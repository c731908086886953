# What the steps share, and the clean-up. In POSIX sh, because these are the runbook's commands. The names of stacks and
# functions are in variables that template/prove/run.ts sets.
export AWS_PAGER='' AWS_DEFAULT_OUTPUT=text AWS_DEFAULT_REGION="$AWS_REGION" NO_COLOR=1 TZ=UTC
TAB=$(printf '\t')
umask 077

# Between two questions. A run that is to be stopped ends here.
pause() { [ ! -e "$STOP" ] || exit 130; sleep "$(($1 * SCALE))"; }

# until_true <minutes> <command...>: asks every ten seconds, and once more when the time is over. Prints after how many
# seconds the command succeeded.
until_true() {
  begun=$(date +%s) last=''; end=$((begun + $1 * 60 * SCALE)); shift
  until "$@" > /dev/null 2>&1; do
    [ -z "$last" ] || { echo "not in time: $*" >&2; return 1; }
    pause 10
    [ "$(date +%s)" -lt "$end" ] || last=yes
  done
  echo "after $(($(date +%s) - begun)) s"
}

described() { aws cloudformation describe-stacks --stack-name "$STACK" --query "Stacks[0].$1"; }
output() { described "Outputs[?OutputKey=='$1'].OutputValue"; }
status() { described '[StackStatus,LastUpdatedTime]'; }
# if_known <command...>: prints nothing if AWS does not know what the command asks for. Fails if AWS refuses to say.
if_known() {
  "$@" 2> "$T/problem" || grep -qE '\(ValidationError\).* does not exist|NotFoundException' "$T/problem" ||
    { cat "$T/problem" >&2; return 1; }
}
gone() { found=$(if_known status) && [ -z "$found" ]; }
# A stack in review has never been deployed, and can be deleted.
settled() { case $(status) in REVIEW_*) ;; *_IN_PROGRESS*) return 1;; esac; }
# resources <type>: logical id, a tab, physical id.
resources() {
  aws cloudformation list-stack-resources --stack-name "$STACK" \
    --query "StackResourceSummaries[?ResourceType=='AWS::$1'].[LogicalResourceId,PhysicalResourceId]"
}
# physical_id <type> <logical id without its hash>
physical_id() { resources "$1" | sed -nE "s/^$2[0-9A-F]{8}$TAB//p" | grep .; }
function_named() { physical_id Lambda::Function "$1"; }

# use <dev|prod>: from here on, all is about this stack.
use() {
  case $1 in
    dev) STACK=$DEV SETTINGS="-c stage=dev-prove -c allowOrigins=$ORIGIN";;
    prod) STACK=$PROD SETTINGS='-c stage=prod-prove -c alarmEmail=none';;
  esac
}
# If the account has the policy of docs/deploy.md, CloudFormation makes only roles with this boundary.
boundary() {
  policy=PlantStoreDeployment
  ! aws iam get-policy --policy-arn "arn:aws:iam::$ACCOUNT:policy/$policy" > /dev/null 2>&1 ||
    echo "-c permissionsBoundary=$policy"
}
cdk() { action=$1; shift; npx cdk "$action" $SETTINGS $(boundary) "$@"; }

# deploy [option...]: prints the stack's status and, on further lines, what failed first. Fails with the end of CDK's
# output if that changed nothing.
deploy() {
  from=$(iso "$(date +%s)")
  before=$(status 2> /dev/null) || before=none
  code=0; cdk deploy --require-approval never "$@" > "$T/cdk" 2>&1 || code=$?
  after=$(status) || after=none
  if [ "$after" = none ] || { [ "$code" -ne 0 ] && [ "$after" = "$before" ]; }; then
    tail -n 4 "$T/cdk" >&2; return 1
  fi
  echo "${after%%"$TAB"*}"
  [ "$code" -eq 0 ] || aws cloudformation describe-stack-events --stack-name "$STACK" --query "StackEvents[?
    ends_with(ResourceStatus,'_FAILED') && Timestamp>='$from'].[LogicalResourceId,ResourceStatusReason]" | tail -n 3
}

# reach: what requests to the stack need.
reach() {
  API_URL=$(output ApiUrl) TABLE=$(output TableName)
  TOKEN=$(lambda-service token --stack "$STACK" 2> "$T/token") || { cat "$T/token" >&2; return 1; }
  table() { aws dynamodb describe-table --table-name "$TABLE" --query "Table.$1"; }
  KEY=$(table 'KeySchema[0].AttributeName')
  KEY_TYPE=$(table "AttributeDefinitions[?AttributeName=='$KEY']|[0].AttributeType")
  TEXT=$(printf '%s\n' $TEXT_FIELDS | grep -vxF "$KEY" | head -n 1) || true
}
new_id() { od -An -N6 -tu8 /dev/urandom | tr -d ' \n'; }
key_of() { printf '{"%s":{"%s":"%s"}}' "$KEY" "$KEY_TYPE" "$1"; }
# body <id> [text]: the contract's example with this key and, in its first field with text, this text. The code 77 says
# that a step is not tried.
body() {
  case $KEY_TYPE in N) value=$1;; *) value=\"$1\";; esac
  if [ $# -gt 1 ] && [ -z "$TEXT" ]; then echo 'the example has no field with text' >&2; exit 77; fi
  text='&'; [ $# -lt 2 ] || text="\"$TEXT\":\"$2\""
  printf '%s' "$EXAMPLE" |
    sed -E "s/\"$KEY\":(\"[^\"]*\"|[^,}]*)/\"$KEY\":$value/; s/\"$TEXT\":\"[^\"]*\"/$text/"
}
# around <id>: sets what stands before and after the text.
around() { whole=$(body "$1" @@); BEFORE=${whole%%@@*} AFTER=${whole#*@@}; }
too_long() { around "$1"; printf %s "$BEFORE"; yes é | head -n 205000 | tr -d '\n'; printf %s "$AFTER"; }
# request [option of curl...]: prints status and body. Without --data-binary, it sends a new item.
request() {
  answer=$(mktemp "$T/answer.XXXXXX")
  case " $* " in *' --data-binary '*) ;; *) set -- --data-binary "$(body "$(new_id)")" "$@";; esac
  # In a file, because other users of this machine can see a command's words.
  printf 'authorization: %s\n' "${AUTHORIZATION-Bearer $TOKEN}" > "$answer.token"
  code=$(curl -sS -m 60 -X "$METHOD" -o "$answer" -D "$answer.headers" -w '%{http_code}' \
    -H "@$answer.token" -H 'content-type: application/json' -H "expect: ${EXPECT-}" \
    "$@" "$API_URL${ROUTE-$EXAMPLE_PATH}") || true
  header=$([ -z "${SHOW-}" ] || grep -i "^$SHOW:" "$answer.headers" | tr -d '\r\n' | grep . || echo "no $SHOW")
  echo "$code $(head -c 120 "$answer" | tr -d '\n') $header"
  rm -f "$answer" "$answer.headers" "$answer.token"
}
has_status() { request | grep -q "^$1"; }
# item <id>: sends it.
item() { body "$1" > "$T/item"; request --data-binary "@$T/item"; }

# without_instances <function> [command...]: lets Lambda refuse its calls, runs the command, and waits until a request
# shows the refusal.
without_instances() {
  name=$(function_named "$1"); shift
  aws lambda put-function-concurrency --function-name "$name" --reserved-concurrent-executions 0 > /dev/null
  "$@"
  after=$(until_true 3 has_status 5) && request || true
  aws lambda delete-function-concurrency --function-name "$name"
  echo "$after"; until_true 3 has_status 200 > /dev/null; echo 200
}
# invoke <function> <payload>: prints the end of the log.
invoke() {
  aws lambda invoke --function-name "$(function_named "$1")" --qualifier live --log-type Tail \
    --cli-binary-format raw-in-base64-out --payload "$2" --query LogResult /dev/null | base64 -d
}
# Both functions fail: the operation responds 500, and the authorizer throws.
fail() { invoke "$CHANGED" null > /dev/null; invoke Authorizer '{}' > /dev/null; }
iso() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ 2> /dev/null || date -u -r "$1" +%Y-%m-%dT%H:%M:%SZ; }
# sum <namespace> <metric> <dimension=value> [since]
sum() {
  aws cloudwatch get-metric-statistics --namespace "$1" --metric-name "$2" --dimensions "Name=${3%%=*},Value=${3#*=}" \
    --start-time "$(iso "${4-$STARTED}")" --end-time "$(iso $(($(date +%s) + 60)))" --period 300 \
    --statistics Sum --query 'sum(Datapoints[].Sum)'
}
# log_lines <function> <pattern> [since]: what a function has logged.
log_lines() {
  aws logs filter-log-events --log-group-name "$(physical_id Logs::LogGroup "$1Logs")" --filter-pattern "$2" \
    --start-time "${3-$STARTED}000" --query 'events[].[message]'
}
# went_off <alarm> [since]: prints when it did. Ends the step if AWS refuses to say.
went_off() {
  changes=$(aws cloudwatch describe-alarm-history --alarm-name "$STACK-$1" --history-item-type StateUpdate \
    --start-date "$(iso "${2-$STARTED}")" \
    --query "AlarmHistoryItems[?ends_with(HistorySummary,'to ALARM')].[Timestamp]") || exit 1
  printf '%s\n' "$changes" | sort | grep -m 1 .
}
versions() {
  resources Lambda::Function | while read -r name id; do
    case $name in SmokeTest* | OutsideCheck*) continue;; esac
    echo "${name%????????} $(aws lambda get-alias --function-name "$id" --name live --query FunctionVersion)"
  done | paste -sd, -
}
# each_group <command...>: runs an `aws deploy` command for each deployment group.
each_group() {
  resources CodeDeploy::Application | while read -r _ application; do
    groups=$(aws deploy list-deployment-groups --application-name "$application" --query deploymentGroups)
    for group in $groups; do "$@"; done
  done
}
running_deployments() {
  aws deploy list-deployments --application-name "$application" --deployment-group-name "$group" \
    --include-only-statuses InProgress --query deployments
}

# roll_out [version] [command]: deploys a version, or the commit, while a client sends requests and, meanwhile, repeats
# the command. Prints the status, the versions before and after, how the requests fared, and what failed.
roll_out() {
  since=$(date +%s) old=$(versions); : > "$T/codes"
  [ -z "${1-}" ] || folder=$(node "template/prove/versions.ts" "$1" "$T/$1")
  (cd "${folder-.}" && deploy > "$T/status" 2>&1 || true) & deploying=$!
  # Not with pause: a run that stopped here would continue with a second roll-out of the same version.
  while kill -0 $deploying 2> /dev/null; do request >> "$T/codes"; ${2:-:}; sleep "$SCALE"; done
  result=$(head -n 1 "$T/status")
  if [ "$result" = UPDATE_ROLLBACK_FAILED ]; then
    aws cloudformation continue-update-rollback --stack-name "$STACK"
    # The next command fails at once if it still sees the old status.
    sleep "$((30 * SCALE))"
    aws cloudformation wait stack-rollback-complete --stack-name "$STACK"
    result="$(status | cut -f 1) after $result"
  fi
  new=$(versions)
  if [ "$old" = "$new" ]; then moved="stays at $new"; else moved="$old → $new"; fi
  echo "$result; $moved; $(grep -vc '^200' "$T/codes" || true) of $(grep -c . "$T/codes") requests failed"
  log_lines SmokeTest '{ $.message.problem = "*" }' "$since" |
    sed -nE 's/.*"problem":"([^"]*)".*/smoke test: \1/p' | head -n 1
  sed 1d "$T/status"
}

# remains: lists what the run has made and AWS still has. It fails if AWS refuses to list something.
remains() {
  for kind in dev prod; do
    use $kind
    found=$(if_known status) || return 1
    [ -z "$found" ] || echo "stack $STACK"
    { roles && tables && logs && pools && keys && named; } > "$T/listed" || return 1
    sed '/^None$/d' "$T/listed"
  done
}
# ours <command...>: the names in this stack. Construct ids begin with a capital, and names of stages do not: another
# stack may be PlantStore-dev-prove-x. A pipe would hide that the command has failed.
ours() { "$@" > "$T/names" && sed -nE "/^(\/aws\/[a-z]+\/)?$STACK-[A-Z]/p" "$T/names"; }
named() {
  aws apigatewayv2 get-apis --query "Items[?Name=='$STACK'].[Name]" &&
    ours aws dynamodb list-backups --backup-type ALL --query 'BackupSummaries[].[TableName,BackupArn]' &&
    ours aws lambda list-functions --query 'Functions[].[FunctionName]' &&
    ours aws deploy list-applications --query 'applications[].[@]' &&
    ours aws cloudwatch describe-alarms --alarm-types MetricAlarm CompositeAlarm --alarm-name-prefix "$STACK" \
      --query '[MetricAlarms,CompositeAlarms][][].[AlarmName]' &&
    ours aws cloudwatch list-dashboards --dashboard-name-prefix "$STACK" --query 'DashboardEntries[].[DashboardName]'
}
roles() { aws iam list-roles --path-prefix "/$STACK/$AWS_REGION/" --query 'Roles[].[RoleName]'; }
tables() { ours aws dynamodb list-tables --query 'TableNames[].[@]'; }
logs() { ours aws logs describe-log-groups --log-group-name-pattern "$STACK" --query 'logGroups[].[logGroupName]'; }
tagged() {
  aws resourcegroupstaggingapi get-resources "$@" \
    --tag-filters "Key=service,Values=$SERVICE" "Key=stage,Values=$kind-prove" \
    --query 'ResourceTagMappingList[].[ResourceARN]'
}
# AWS also lists what was tagged once, and a deleted key keeps its tags for 30 days. So these two ask the service.
# https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html
pools() {
  arns=$(tagged --resource-type-filters cognito-idp:userpool) || return 1
  for arn in $arns; do
    if_known aws cognito-idp describe-user-pool --user-pool-id "${arn##*/}" --query 'UserPool.[Id]' || return 1
  done
}
keys() {
  arns=$(tagged --resource-type-filters kms:key) || return 1
  for arn in $arns; do
    if_known aws kms describe-key --key-id "$arn" \
      --query "[KeyMetadata][?KeyState!='PendingDeletion'].[Arn]" || return 1
  done
}
still_listed() { for kind in dev prod; do tagged > "$T/arns" || return 1; sed '/:kms:/d' "$T/arns"; done; }

# The runbook's "Remove the stack". What fails is tried again; in the end, remains lists it.
clean_up() {
  set +e
  for kind in dev prod; do use $kind; until_true 90 settled > /dev/null; done
  until_true 60 removed || cat "$T/removed"
}
# While a stack is there, it needs what it would leave.
removed() {
  for kind in dev prod; do
    use $kind
    gone || { settled && remove_stack; }
    ! gone || remove_kept
  done > "$T/removed" 2>&1
  left=$(remains) && [ -z "$left" ]
}
remove_stack() {
  aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name "$STACK" > /dev/null
  cdk destroy --force
}
# A table with point-in-time recovery would leave a backup for 35 days:
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html
delete_table() {
  aws dynamodb update-continuous-backups --table-name "$1" \
    --point-in-time-recovery-specification PointInTimeRecoveryEnabled=false > /dev/null &&
    aws dynamodb delete-table --table-name "$1" > /dev/null
}
remove_kept() {
  for role in $(roles); do
    aws iam delete-role-policy --role-name "$role" --policy-name Permissions
    aws iam delete-role --role-name "$role"
  done
  for table in $(tables); do
    # DynamoDB refuses to delete a table that it is changing. So one pass ends the protection, and the next deletes.
    case $(aws dynamodb describe-table --table-name "$table" --query 'Table.[TableStatus,DeletionProtectionEnabled]') in
      ACTIVE*True) aws dynamodb update-table --table-name "$table" --no-deletion-protection-enabled > /dev/null;;
      ACTIVE*) delete_table "$table";;
    esac
  done
  for pool in $(pools); do
    domain=$(aws cognito-idp describe-user-pool --user-pool-id "$pool" --query UserPool.Domain)
    aws cognito-idp delete-user-pool-domain --user-pool-id "$pool" --domain "$domain"
    aws cognito-idp update-user-pool --user-pool-id "$pool" --deletion-protection INACTIVE
    aws cognito-idp delete-user-pool --user-pool-id "$pool"
  done
  for group in $(logs); do aws logs delete-log-group --log-group-name "$group"; done
}

# Whether a run may begin: prints why not, or the commit.
check_credentials() {
  # Version 1 ignores AWS_REGION, and 2.34.0 is the first that can add a secret to a client of Cognito.
  case $(aws --version) in
    aws-cli/2.3[4-9].* | aws-cli/2.[4-9][0-9].* | aws-cli/2.[1-9][0-9][0-9].*) ;;
    *) echo "This needs version 2.34 of the AWS CLI, or newer: $(aws --version)"; exit 1;;
  esac
  actual=$(aws sts get-caller-identity --query Account)
  [ "$actual" = "$ACCOUNT" ] || { echo "The credentials are those of the account $actual, not $ACCOUNT."; exit 1; }
}
check_tools() {
  check_credentials
  [ -z "$(git status --porcelain)" ] || { echo 'Commit all changes first: the report names the commit.'; exit 1; }
  git rev-parse HEAD
}
check_account() {
  (STACK=CDKToolkit; status > /dev/null) || { echo 'Run npx cdk bootstrap first.'; exit 1; }
  found=$(remains)
  [ -z "$found" ] ||
    { printf '%s\n' 'Nothing was changed. Remove this first, which the account has:' "$found"; exit 1; }
}

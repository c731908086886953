# What a run tries, in this order. Each step begins with: stage | item of the list in template/prove/README.md | name | a pattern
# of what it should print, or, after a question mark, what the reader of the report learns.

### dev | CloudFormation | deploy dev | ^CREATE_COMPLETE$
deploy

### dev | Tokens | the first token | ? what Cognito responds while its domain is new
grep . "$T/token" || echo 'a token at once'

### dev | Besides | an item, and once more, and another with its key | ^200 .*; 200 .*idempotent-replayed: true; 409
id=$(new_id)
item "$id"
(SHOW=idempotent-replayed; item "$id")
body "$id" another > "$T/other"; request --data-binary "@$T/other"

### dev | Gateway | bytes that are not UTF-8: ff, ed a0 80, f0 9f 8c, ef bf bd | ^(400 [^;]*40001[^;]*(; |$)){4}$
for bytes in '\377' '\355\240\200' '\360\237\214' '\357\277\275'; do
  around "$(new_id)"; { printf %s "$BEFORE"; printf "$bytes"; printf %s "$AFTER"; } > "$T/bytes"
  request --data-binary "@$T/bytes"
done

### dev | Gateway | a body over 10 MB | ^413 {"message
head -c 11000000 /dev/zero > "$T/large"; request --data-binary "@$T/large"

### dev | Gateway | the header Expect | ^417
(EXPECT=something; request)

### dev | Gateway | headers over 10,240 bytes | ^431
request -H "x-long: $(head -c 10240 /dev/zero | tr '\0' a)"

### dev | Gateway | Content-Encoding: gzip | ^415 .*41502
request -H 'content-encoding: gzip'

### dev | Gateway | no instance of the operation | ^50[03] {"message.*; 200$
without_instances "$CHANGED"

### dev | Gateway | CORS headers of 200, 401, 403, 404 and 413 | ? which responses have them
export SHOW=access-control-allow-origin
request -H "origin: $ORIGIN"
(AUTHORIZATION=''; request -H "origin: $ORIGIN")
(AUTHORIZATION='Bearer x'; request -H "origin: $ORIGIN")
(ROUTE=/no-route; request -H "origin: $ORIGIN")
head -c 11000000 /dev/zero > "$T/large"; request -H "origin: $ORIGIN" --data-binary "@$T/large"

### dev | Store | an item over 400 KB | ^413 {"error
too_long "$(new_id)" > "$T/long"; request --data-binary "@$T/long"

### dev | Store | the same with the key of another item | 409
id=$(new_id); item "$id" > /dev/null
too_long "$id" > "$T/long"; request --data-binary "@$T/long"

### dev | Tokens | no instance of the authorizer, as after a leak | ^500 .*; 200$
without_instances Authorizer

### dev | Tokens | a new secret, and no longer the leaked one | ^2 secrets; 1 secret; a token$
client="--user-pool-id $(output UserPoolId) --client-id $(output ClientId)"
secrets() { aws cognito-idp list-user-pool-client-secrets $client --query 'ClientSecrets[].[ClientSecretId]'; }
leaked=$(secrets | head -n 1)
aws cognito-idp add-user-pool-client-secret $client > /dev/null
echo "$(secrets | grep -c .) secrets"
aws cognito-idp delete-user-pool-client-secret $client --client-secret-id "$leaked"
echo "$(secrets | grep -c .) secret"
lambda-service token --stack "$STACK" > /dev/null; echo 'a token'

### dev | Commands | journey | Tests +\d+ passed \(
(eval "$(aws configure export-credentials --format env)"
  export API_URL ACCESS_TOKEN="$TOKEN" TABLE_NAME="$TABLE"; lambda-service journey > "$T/journey" 2>&1) || true
grep -E '^ *Tests ' "$T/journey"
grep -E '^ *FAIL ' "$T/journey" | sort -u | head -n 5
echo "the account may run $(aws lambda get-account-settings --query AccountLimit.ConcurrentExecutions) instances"

### dev | Commands | request: how late it finds a request | 200 .*; Authorizer .*; after \d+ s$
id=$(SHOW=apigw-requestid request | sed 's/.*: //')
found() {
  lambda-service request --stack "$STACK" -- "$id" > "$T/found"
  grep -q ' 200 ' "$T/found" && grep -q '^ *Authorizer ' "$T/found" && grep -q "^ *$CHANGED " "$T/found"
}
late=$(until_true 10 found); cut -c 1-60 "$T/found"; echo "$late"

### dev | Commands | verify of dev | ^(\S+ version \S+ matches(; |$))+$
lambda-service verify --stack "$STACK" | grep ' version ' | cut -d : -f 1

### dev | Alarms | 10 × 401, 403 and 404 in the metrics | ^4xx 30.*; Count 30
# A metric has one number for five minutes: wait until it has no requests of the steps before.
pause 300; since=$(($(date +%s) / 300 * 300)) api="ApiId=$(physical_id ApiGatewayV2::Api Api)"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  { (AUTHORIZATION=''; request); (AUTHORIZATION='Bearer x'; request); (ROUTE=/no-route; request); } > /dev/null
done
counted() { sum AWS/ApiGateway Count "$api" "$since" | grep -q '^30'; }
until_true 20 counted > /dev/null || true
for metric in 4xx Count; do echo "$metric $(sum AWS/ApiGateway "$metric" "$api" "$since")"; done

### dev | Tokens | a result that the gateway keeps, until it is told to forget it | ^UPDATE_COMPLETE; 200 [^;]*; 500 [^;]*; after \d+ s; 200$
deploy -c authorizerCache=300
# A new setting works only after a while.
pause 30; request > /dev/null; request > /dev/null
forget() {
  pause 30; request
  aws apigatewayv2 reset-authorizers-cache --api-id "$(physical_id ApiGatewayV2::Api Api)" --stage-name '$default' || true
}
without_instances Authorizer forget

### dev | Gateway | more requests than the limit | 429 {"message
deploy -c rateLimit=1 -c burstLimit=1 -c tracing=on
# A new limit works only after a while.
many() {
  for _ in $(seq 40); do (SHOW=access-control-allow-origin; request -H "origin: $ORIGIN") & done > "$T/many"; wait
  grep -q '^429' "$T/many"
}
until_true 3 many > /dev/null || true
sort "$T/many" | uniq -c | sort -rn | head -n 5

### dev | Remains | traces while tracing is on, none once it is off | ^traces; UPDATE_COMPLETE; none$
traced() {
  aws xray get-trace-summaries --start-time "$1" --end-time "$(date +%s)" --query 'TraceSummaries[].[Id]' \
    --filter-expression "service(\"$(function_named "$CHANGED")\")" | grep -q '^[0-9]'
}
until_true 3 traced "$(($(date +%s) - 900))" > /dev/null; echo traces
deploy; pause 60; since=$(date +%s)
for _ in 1 2 3 4 5 6 7 8 9 10; do request > /dev/null; done
pause 120; if traced "$since"; then echo traces; else echo none; fi

### prod | CloudFormation | deploy prod | ^CREATE_COMPLETE$
deploy

### prod | CloudFormation | other tags | ^UPDATE_COMPLETE; the same versions$
old=$(versions); deploy -c tags=prove=yes; [ "$(versions)" != "$old" ] || echo 'the same versions'

### prod | Smoke test and roles | a good version | ^UPDATE_COMPLETE; .*→.*; 0 of
roll_out good

### prod | Smoke test and roles | a version that throws at start | ^UPDATE_ROLLBACK_COMPLETE; stays.* 0 of .*smoke
roll_out 'throws at start'

### prod | Smoke test and roles | a version that responds 500 | ^UPDATE_ROLLBACK_COMPLETE; stays.* 0 of .*smoke
roll_out 'responds 500'

### prod | Smoke test and roles | a version that allows forged tokens | ^UPDATE_ROLLBACK_COMPLETE; stays.* 0 of .*smoke
roll_out 'lets a forged token through'

### prod | Going back | a good operation with an authorizer that allows forged tokens | ^UPDATE_ROLLBACK_COMPLETE; stays.* 0 of .*smoke
roll_out 'good, but lets a forged token through'
# How the operation's alias went back: at once or in steps, and after a deployment that ended or one that was stopped.
aws cloudformation describe-stack-events --stack-name "$STACK" --query "StackEvents[?ResourceType=='AWS::Lambda::Alias' &&
  Timestamp>='$(iso "$since")'].[Timestamp,LogicalResourceId,ResourceStatus]" | sort

### prod | Smoke test and roles | a version that lacks a grant | ^UPDATE_ROLLBACK_COMPLETE; stays.* 0 of .*smoke
roll_out 'lacks a grant'

### prod | Alarms | Faults leaves out the smoke test's 500s | ^not gone off
aws cloudwatch describe-alarms --alarm-names "$STACK-${CHANGED}Faults" --query 'MetricAlarms[].[AlarmName]' | grep -q .
went_off "${CHANGED}Faults" || echo 'not gone off'

### prod | Alarms | Page and Ticket leave CloudWatch | ^Page: Successfully [^;]*; OK after \d+ s; Ticket: Successfully [^;]*; OK after \d+ s$
is_ok() {
  aws cloudwatch describe-alarms --alarm-names "$STACK-$1" --alarm-types CompositeAlarm \
    --query 'CompositeAlarms[].[StateValue]' | grep -qx OK
}
# A failed action comes first, because F is before S.
acted() {
  aws cloudwatch describe-alarm-history --alarm-name "$STACK-$1" --alarm-types CompositeAlarm \
    --history-item-type Action --start-date "$(iso "$since")" --query 'AlarmHistoryItems[].[HistorySummary]' |
    sort -u | grep .
}
# By its cause, as in the runbook: AWS does not promise that a composite alarm that was set by hand ends.
for each in Page:OutsideCheck Ticket:Concurrency; do
  alarm=${each%:*}; until_true 20 is_ok "$alarm" > /dev/null; pause 10; since=$(date +%s)
  aws cloudwatch set-alarm-state --alarm-name "$STACK-${each#*:}" --state-value ALARM --state-reason 'by hand'
  until_true 5 acted "$alarm" > /dev/null
  late=$(until_true 10 is_ok "$alarm"); echo "$alarm: $(acted "$alarm")"; echo "OK $late"
done

### prod | Smoke test and roles | a new grant and the code that needs it | ^UPDATE_COMPLETE; .*→.*; 0 of
roll_out 'needs a new grant'

### prod | Smoke test and roles | a new role for a new grant | ^([2-9]|\d\d) roles
all=$(aws iam list-roles --path-prefix "/$STACK/$AWS_REGION/" --query 'Roles[].[RoleName]')
echo "$(echo "$all" | grep -c "$CHANGED") roles"

### prod | Going back | undo: the commit again | ^UPDATE_COMPLETE; .*→.*; 0 of
roll_out

### prod | Going back | the alias moved by hand | ^200 .*by version
name=$(function_named "$CHANGED")
current=$(aws lambda get-alias --function-name "$name" --name live --query FunctionVersion)
older=$(aws lambda list-versions-by-function --function-name "$name" --query 'Versions[].[Version]' |
  grep -E '^[0-9]+$' | grep -vx "$current" | tail -n 1)
move() {
  aws lambda update-alias --function-name "$name" --name live --function-version "$1" \
    --routing-config 'AdditionalVersionWeights={}' > /dev/null
}
move "$older"; pause 10; echo "$(request) by version $older"; move "$current"

### prod | Alarms | a version that fails for clients only | ^UPDATE_ROLLBACK_COMPLETE; stays.*; [1-9]\d* of .*Faults at \d
since=$(date +%s); roll_out 'fails for clients only'
echo "Faults at $(went_off "${CHANGED}Faults" "$since")"

### prod | Alarms | the authorizer's Errors go off | ^Errors at \d.*; after
since=$(date +%s)
red() { fail; went_off AuthorizerErrors "$since"; }
late=$(until_true 10 red); echo "Errors at $(went_off AuthorizerErrors "$since")"; echo "$late"

### prod | Going back | a broken version while alarms are red | ^UPDATE_ROLLBACK_COMPLETE
roll_out 'responds 500' fail

### prod | Going back | a deployment that hangs | ^UPDATE_ROLLBACK_COMPLETE.*; [1-9]\d* stopped
stop_one() {
  for id in $(running_deployments); do
    aws deploy stop-deployment --deployment-id "$id" --auto-rollback-enabled > /dev/null; echo "$id"
  done
}
# Once only: a roll-back starts deployments, too.
stop_all() { [ -s "$T/stopped" ] || [ $(($(date +%s) - since)) -lt $((300 * SCALE)) ] || each_group stop_one >> "$T/stopped"; }
# While an alarm of the step before is red, CodeDeploy would stop the deployment itself.
pause 300; : > "$T/stopped"; roll_out 'has a smoke test that never reports' stop_all
echo "$(sort -u "$T/stopped" | grep -c .) stopped"

### prod | Going back | deployment groups changed by hand | ^UPDATE_COMPLETE; .*→
at_once() {
  aws deploy update-deployment-group --application-name "$application" --current-deployment-group-name "$group" \
    --deployment-config-name CodeDeployDefault.LambdaAllAtOnce --alarm-configuration enabled=false > /dev/null
}
each_group at_once; roll_out 'good again'

### prod | Tokens | the user pool survives another issuer | ^UPDATE_COMPLETE; UPDATE_COMPLETE; the same pool; 200
pool=$(output UserPoolId) other=$(use dev; output UserPoolId)
deploy -c "issuer=https://cognito-idp.$AWS_REGION.amazonaws.com/$other" -c audience=none \
  -c "clientIds=$(use dev; output ClientId)"
deploy; [ "$(output UserPoolId)" != "$pool" ] || echo 'the same pool'
request

### prod | Smoke test and roles | how often and how long the smoke test runs | ^at most 1 time
often=$(log_lines SmokeTest '{ $.message.deployment = "d-*" }' | sed -nE 's/.*"deployment":"([^"]*)".*/\1/p' |
  sort | uniq -c | sort -rn | head -n 1)
echo "at most $(echo $often | cut -d ' ' -f 1) time for each deployment"
log_lines SmokeTest '{ $.type = "platform.report" }' | sed -nE 's/.*"durationMs":([0-9]+).*/\1 ms/p' |
  sort -n | sed -n '1p;$p'

### prod | Smoke test and roles | its plants are deleted | "deleted"
log_lines SmokeTest '{ $.message.outcome = "*deleted" }' | grep -o '"[^"]*deleted"' | sort | uniq -c

### prod | Smoke test and roles | LogType Tail | "reason":"
invoke Authorizer '{"type":"REQUEST","routeKey":"'"$ROUTE_KEY"'","headers":{},"requestContext":{"requestId":"prove"}}' |
  grep -o '"reason":"[^"]*"'

### prod | Alarms | metrics from the log | Faults
aws cloudwatch list-metrics --namespace "$STACK" --query 'Metrics[].[MetricName]' | sort -u

### prod | Alarms | 30 days and PR(:1000) | ^\d
aws cloudwatch get-metric-statistics --namespace AWS/ApiGateway --metric-name Latency --period 2592000 \
  --start-time "$(iso $(($(date +%s) - 2592000)))" --end-time "$(iso "$(date +%s)")" --extended-statistics 'PR(:1000)' \
  --dimensions "Name=ApiId,Value=$(physical_id ApiGatewayV2::Api Api)" --query 'Datapoints[].[ExtendedStatistics.*]'

### prod | Commands | verify of prod | ^(\S+ version \S+ matches(; |$))+$
lambda-service verify --stack "$STACK" | grep ' version ' | cut -d : -f 1

### prod | Commands | restore an erased item | ^1 restored, .* 0 failed.*; the item is back$
id=$(new_id) restored="$STACK-Restored-$(date +%s)"; item "$id" > /dev/null
stored=$(iso $(($(date +%s) + 1)))
latest() {
  aws dynamodb describe-continuous-backups --table-name "$TABLE" \
    --query ContinuousBackupsDescription.PointInTimeRecoveryDescription.LatestRestorableDateTime
}
passed() { [ "$(printf '%s\n' "$(latest)" "$stored" | sort | head -n 1)" = "$stored" ]; }
until_true 20 passed > /dev/null
aws dynamodb delete-item --table-name "$TABLE" --key "$(key_of "$id")" > /dev/null
aws dynamodb restore-table-to-point-in-time --source-table-name "$TABLE" --target-table-name "$restored" \
  --restore-date-time "$stored" > /dev/null
usable() { aws dynamodb describe-table --table-name "$restored" --query Table.TableStatus | grep -qx ACTIVE; }
until_true 90 usable > /dev/null
lambda-service restore --from "$restored" --to "$TABLE" 2>&1 | tail -n 1
found=$(aws dynamodb get-item --table-name "$TABLE" --key "$(key_of "$id")" --query 'type(Item)')
[ "$found" != object ] || echo 'the item is back'

### prod | Besides | erase an item | ^object; (null; )?200
id=$(new_id); item "$id" > /dev/null
erase() {
  aws dynamodb delete-item --table-name "$TABLE" --key "$(key_of "$id")" \
    --return-values ALL_OLD --query 'type(Attributes)'
}
erase; erase
item "$id"

### prod | Besides | cold starts: init, the first call, other calls (medians in ms) | ? how long they take
median() { sort -n | awk '{ all[NR] = $1 } END { print NR ? all[int((NR + 1) / 2)] : "none" }'; }
for name in Authorizer "$CHANGED"; do
  log_lines "$name" '{ $.type = "platform.report" }' > "$T/reports"
  ms() { sed -nE "s/.*\"$1\":([0-9.]+).*/\1/p"; }
  grep initDurationMs "$T/reports" > "$T/cold" || true; grep -v initDurationMs "$T/reports" > "$T/warm" || true
  echo "$name: $(grep -c . "$T/cold" || true) starts, $(ms initDurationMs < "$T/cold" | median)," \
    "$(ms durationMs < "$T/cold" | median), $(ms durationMs < "$T/warm" | median)"
done

### prod | Besides | what the run used, and its price | \d dollars
used() {
  for id in $(for STACK in $DEV $PROD; do resources "$1" | cut -f 2; done); do sum "$2" "$3" "$4=$id"; done |
    awk "{ all += \$1 } END { printf \"%s %.0f: %.5f\n\", \"$3\", all, all * $5 }"
}
# Prices in dollars as in docs/cost.md. A millisecond of a function costs 1.73 GB × 0.0000133 a second.
{ used ApiGatewayV2::Api AWS/ApiGateway Count ApiId 0.000001
  used Lambda::Function AWS/Lambda Invocations FunctionName 0.0000002
  used Lambda::Function AWS/Lambda Duration FunctionName 0.000000023009
  used DynamoDB::GlobalTable AWS/DynamoDB ConsumedWriteCapacityUnits TableName 0.000000625
  used Logs::LogGroup AWS/Logs IncomingBytes LogGroupName 0.0000000005
} > "$T/used"
cat "$T/used"; awk -F ': ' '{ all += $2 } END { printf "%.4f dollars\n", all }' "$T/used"

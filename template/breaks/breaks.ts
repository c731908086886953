/**
 * Small mistakes that a tired developer might make in the code. `npm run --prefix template breaks` checks that `npm
 * test` notices each. TypeScript and Biome would notice some of them, but do not run, because the breaks measure only
 * the tests.
 *
 * Add one or two breaks with new code, and remove the breaks of code that you remove.
 */
export type Break = {
  file: string;
  /**
   * Text that occurs exactly once in the file. `npm run --prefix template breaks` replaces it with the text in
   * `broken`.
   */
  code: string;
  broken: string;
  /** What goes wrong if the code is broken in this way, in one sentence. */
  says: string;
};

/**
 * For each file its breaks, as `git diff --word-diff` shows changes ([-removed-] and {+added+}), and what goes wrong.
 * Without its changes, the text must occur exactly once in the file.
 */
const byFile: Record<string, Record<string, string>> = {
  'README.md': { '[-  .use(timeLeft())\n-]': 'README shows a handler that is not the one that runs.' },
  'docs/README.md': {
    '[-[remove everything](operate/runbook.md#remove-the-stack)-]': 'Nobody finds how to remove a stack.',
  },
  'docs/deploy.md': {
    'deployment-policy.json)[- &&-]\n':
      'If the policy exists already, CloudFormation becomes an administrator: the variable is empty.',
  },
  'docs/operate/runbook.md': {
    '[-gone && -]for role in': 'Who pastes on after a failed destroy deletes the roles of the live stack.',
    'PlantStore-[-OutsideCheck-]{+Silence+} --state-value ALARM':
      'The monthly drill sets an alarm that does not exist.',
  },
  '.vscode/launch.json': { '[-, "--watch"-]': 'The debugger of VS Code runs old code after a change.' },
  'packages/tools/bin.js': {
    "process.env['INIT_CWD'] = [-process.cwd()-]{+'/'+}": 'An import finds no file by a relative path.',
    "'[---inspect-publish-uid=stderr-]{+--trace-uncaught+}'":
      'With --debug, every user of the machine can attach a debugger, and run code as the developer.',
  },
  'packages/runtime/auth/authorizer.ts': {
    "audience{+.toLowerCase()+} === 'none' ?": 'The audience "None" turns the audience check off.',
    "clientIds[- === 'any'-]{+.includes('any')+} ?": 'A client named "company" turns the check of the client off.',
    "[-if (!Object.hasOwn(scopes, routeKey)) return { refused: 'unknown route' };-]":
      'A route without scopes is open to every valid token.',
    "throw [-Object.assign(error, { gatewayRequestId, bundle: process.env['BUNDLE_SHA256'] })-]{+error+};":
      'A failure of the authorizer has no request id.',
  },
  'packages/runtime/smoke-test/outside-check.ts': {
    '[-agent: false, -]': 'The check from outside does not see that the certificate has expired since its last run.',
    '[-  await expectStatus(401, {});\n-]': 'The check from outside succeeds although the domain name leads to no API.',
  },
  'packages/runtime/smoke-test/smoke-test.ts': {
    '  {+if (isGood) +}await report(event, isGood);\n': 'If the smoke test fails, CodeDeploy waits for an hour.',
    'reservedTime = [-14_000-]{+12_000+}':
      'The deletion may still run at the time-out, and Lambda starts the smoke test anew.',
    '    {+if (isGood) +}await created?.delete();': 'The plant of a smoke test that has failed stays.',
  },
  'functions/smoke-checks.ts': {
    'BigInt([-randomInt(2 ** 48 - 1)-]{+7+})': 'Two smoke tests at the same time delete the plants of each other.',
    'const otherId = id - [-1n-]{+2_048n+}': 'A version that rounds ids gets requests.',
  },
  'packages/runtime/smoke-test/created-items.ts': {
    'log.includes(\'"outcome":"[-created"-]\')': 'A plant that was there before is deleted.',
    'Attributes || $metadata.attempts !== [-1-]{+0+} ?':
      'The log says that a plant is deleted, which a version has stored under another key.',
    'AbortSignal.timeout([-4_000-]{+90_000+})':
      'If the store does not answer, Lambda ends the smoke test, and its log has no line.',
  },
  'packages/runtime/smoke-test/run-checks.ts': {
    'for (const [name, check] of named{+.slice(0, 1)+})':
      'The smoke test makes only the first check of each operation.',
    "return reason [-=== 'unknown key'-]{+!== ''+} ?":
      'A version of the authorizer that refuses everybody gets requests.',
    'setTimeout(10_000, undefined[-, { signal }-])':
      'A pause may last until the time-out, and CodeDeploy waits for an hour.',
  },
  'packages/runtime/smoke-test/deployment.ts': {
    'await [-setTimeout(2_000, undefined, { signal: deadline })-]{+Promise.reject()+}.catch(() => {':
      'A deployment fails if IAM needs a second until a new permission is effective.',
    'AbortSignal.timeout([-9_000-]{+90_000+})':
      'If the response to the report arrives slowly, Lambda ends the smoke test, and its log has no error of ours.',
  },
  'packages/runtime/auth/issuer-keys.ts': {
    'new SimpleFetcher([-{ defaultRequestOptions: { responseTimeout } }-])':
      'A request waits twice as long as it should for an issuer that does not answer.',
    '    [-await-]{+void+} fetching;\n': 'The first request does not wait for the keys.',
    '[-!isWithin(usableFor, cached.fetchedAt)-]{+Date.now() - endedAt >= usableFor+}':
      'Old keys are used without limit while the issuer is down.',
    '[-age >= 0 && -]': 'After the clock steps back, keys are not fetched for as long.',
  },
  'packages/runtime/auth/unverified-token.ts': {
    'exp [-<=-]{+<+} Date.now()': 'A token is still accepted at the moment when it expires.',
    '[- || more.length > 0-]': 'A token may have a part that nobody has signed.',
  },
  'packages/runtime/auth/verify-token.ts': {
    "[-  if (isExpired(claims)) return { refused: 'expired' };\n-]":
      'A token that expires while keys are fetched is accepted.',
    'clients.[-every-]{+some+}(': 'A token for another client gets in if one of its claims names ours.',
    '[-clients.length > 0 && -]clients.every': 'A token that names no client passes the check of the client.',
    'scopes.[-includes(scope)-]{+some((each) => each.startsWith(scope))+}':
      'A scope that only begins with the required scope is accepted.',
    'requiredScopes.[-every-]{+some+}(': 'One of several required scopes is enough.',
  },
  'functions/create-plant.lambda.ts': {
    '[-  .use(timeLeft())\n-]': 'The store is called even if no time is left.',
    "outcome [-=== 'repeated'-]{+!== 'created'+} ?": 'A plant that a lost attempt stored is called a repeated one.',
    '[-  .use(validEvent(rules))\n-]': 'A body that the contract does not allow is stored.',
    '[-  50301: [[StoreUnavailable]],\n-]': 'A store that fails for a moment is a fault of ours, and pages.',
    '{ outcome, store: storeTime(storeCalls)[-, gatewayRequestId: requestContext.requestId-] }':
      'No log line belongs to a request.',
  },
  'functions/create-plant.ts': {
    'outcome: await addItem(table, key, item, request){+.catch(() => "repeated")+},':
      'A plant is acknowledged, although another one is stored.',
  },
  'functions/plant-table.ts': {
    'id: attribute([-id-]{+Number(id)+})': 'An id beyond 2^53 is rounded.',
    'tag: [-optional(tag)-]{+undefined+},': 'A tag is not stored.',
    'tag: [-fieldValue(tag)-]{+undefined+},': 'A response lacks the tag.',
  },
  'packages/runtime/time-budget.ts': {
    'responseTime = [-2_300-]{+3_300+}': 'A request waits a second too long for a store that hangs.',
  },
  'packages/runtime/dynamodb/call-store.ts': {
    '[-    throwOnRequestTimeout: true,\n-]': 'If the store hangs, the first attempt lasts until the deadline.',
    '[-response.statusCode !== 200 || -]': 'A plant counts as stored after a 201, which DynamoDB does not send.',
    "requestId ?? [-''-]{+'none'+})": 'A plant counts as stored after a response without a request id.',
    '{ [-$retryable: {}-] }': 'If the name of DynamoDB does not resolve at once, the client gets a 503.',
    '[-BUSY|-]': 'A name that does not resolve for a moment is a fault of ours, and pages.',
  },
  'packages/runtime/http/valid-event.ts': {
    "? name : [-'*'-]{+name+}": 'The log has names of fields that a client made up.',
  },
  'packages/runtime/exact-json.ts': { '\\d{[-16-]{+17+}}': 'An id of 16 digits is rounded.' },
  'packages/runtime/http/store-time.ts': {
    '[-Math.max(...calls.map((call) => call.endedAt ?? now))-]{+(first.endedAt ?? now)+}':
      "The log's store time leaves out every call but the first.",
  },
  'packages/runtime/http/parameters.ts': {
    '[-BigInt-]{+Number+}(text) : text': 'An id of 16 digits in the path is rounded.',
    'isList[- || parsed.length > 1-]': 'The first of several values of a parameter counts.',
  },
  'packages/runtime/http/json-body.ts': {
    'if ([-bytes-]{+body+}.length > maxBodyBytes)': 'The limit for a body counts characters, not bytes.',
    "if (body.includes('[-\\ufffd-]{+\\ufffe+}'))": 'A cut emoji is stored as U+FFFD.',
  },
  'packages/runtime/dynamodb/attributes.ts': {
    '{ N: String([-value-]{+Number(value)+}) }': 'An id beyond 2^53 is rounded.',
    'L[-.map(nativeOf)-]': "A list in a response has DynamoDB's types.",
  },
  'packages/runtime/dynamodb/storable.ts': {
    'level > [-32-]{+33+}': 'A field with 33 levels of nesting gets a 500.',
    "[-name !== '' &&-]": 'A field with an empty name in it gets a 500.',
    '>= [-1e-130-]{+0+}': 'A number so close to zero that DynamoDB refuses it gets a 500.',
  },
  'packages/runtime/attribute-expressions.ts': {
    "isSame[-.join(' AND ')-]{+[0] ?? ''+}})": 'A plant without a tag overwrites one that has a tag.',
    "attribute_not_exists(#key) OR [-(${isSame.join(' AND ')})-]{+attribute_exists(#key)+}":
      'A plant that has changed is deleted.',
  },
  'packages/runtime/dynamodb/add-item.ts': {
    '/item[- size.*exceeded-]{+.*too large+}/i': 'A plant over 400 KB counts as a fault of ours.',
  },
  'packages/cdk/log-metrics.ts': {
    '{[- defaultValue: 0 -]}': 'A metric has gaps while nothing is logged.',
    '[-"smoke-test-*"-]{+"none"+}': 'A good new version is rolled back because its role needs a second until it works.',
    '[- && $.level = "ERROR"-]': 'A good new version is rolled back because the store does not answer.',
  },
  'packages/cdk/bundling.ts': {
    '    write: false,{+\n    banner: { js: "//" + functions },+}':
      'Nobody else can make the same bundle, because it names a folder of this machine.',
    '[-found !== undefined-]{+found === entry+} &&': 'A function that reads a file fails only when it runs.',
  },
  'infra/deployment-policy.json': {
    '[-"iam:CreateRole", -]': 'CloudFormation cannot make a role.',
    '"arn:*:sqs:*:*:[-PlantStore-]{+Plants+}-*"': 'CloudFormation cannot make a queue.',
    '"iam:DeleteRole",{+\n        "iam:AttachRolePolicy",+}': 'A role may get any managed policy.',
    '"arn:*:ssm:*:*:parameter/cdk-bootstrap/*"],[-\n      "Condition": { "ArnLike": { "aws:PrincipalArn": "arn:*:iam::*:role/cdk-*-cfn-exec-role-*" } }-]{+\n      "Condition": {}+}':
      'A function may read the code of other apps.',
    '"xray:[-PutTraceSegments"-]{+PutTraces"+}': 'The boundary keeps functions from sending traces.',
  },
  'packages/cdk/github.ts': {
    '[-      synthesizer: new CliCredentialsStackSynthesizer() as IStackSynthesizer,\n-]':
      'What GitHub deploys could widen what GitHub may do.',
    ':sub`]: `repo:{+*+}':
      'The condition fits no job, or with StringLike the jobs of every repository whose name ends the same.',
    ":[-ref`]: 'refs/heads/main'-]{+actor`]: 'me'+},": 'A workflow on any branch may deploy.',
    "'userpool/*'[-, tags-]": "The role for dev may read the secrets of every service's user pools.",
    '-[-${this.#names.table}-]*`': 'The role for dev may read the tables of other dev stages.',
  },
  'packages/cdk/operations.ts': {
    ' || timeout.toSeconds() > [-most-]{+300+})': 'A time-out may be longer than the gateway waits.',
  },
  'packages/cdk/monitoring.ts': {
    '{ ...usualLimits[-, ...own-] }': 'The limits that a team gives alarms are ignored.',
    'each.node.[-path-]{+id+}.slice(': 'Two constructs with a queue each cannot be synthesized.',
    'DeadLetters: above([-0-]{+9+},': 'Nobody learns of the first messages that a function cannot handle.',
    'this.#add([-ofOperation-]{+ofFunction+}(': 'A new version that always answers 500 is not rolled back.',
    'burnRate: [-14.4-]{+8+}': 'Somebody must get up for 0.9 % errors.',
    'burnRate: [-14.4-]{+29+}': 'An outage of a minute wakes nobody.',
    "['1h', Duration.hours([-1-]{+2+})]": 'Page comes late.',
    "['5m', Duration.[-minutes(5)-]{+hours(1)+}]": 'Page goes on for an hour after an outage.',
    'burnRate: [-1-]{+10+},': 'Nobody learns that 0.9 % of the requests fail all month.',
    "['1d', Duration.[-days(1)-]{+hours(6)+}]": 'A short peak of errors opens a ticket.',
    "['6h', Duration.[-hours(6)-]{+days(1)+}]": 'A ticket stays open for a day.',
    'budget: 0.[-001-]{+01+}': 'Nobody learns that 0.9 % of the requests fail all month.',
    'budget: 0.[-01-]{+001+},': 'Responses that are as fast as promised open tickets.',
    "'PR([-1000-]{+3000+}:)'": 'Nobody learns of a p99 of 2.4 s.',
    'const few = [-4-]{+0+}': 'Somebody must get up for one failure at night.',
    '[-allOf-]{+anyOf+}(...both)': 'Somebody must get up for one failure at night.',
    '[-anyOf-]{+allOf+}(...causes)': 'An outage wakes nobody unless responses are slow, too.',
    '[...eachOf(slow)[-, ...others-]]': 'Nobody learns that all tokens are refused.',
    '[-alarm.addOkAction(action);-]': 'Nobody learns that an outage has ended.',
    '[-GREATER_THAN_THRESHOLD-]{+LESS_THAN_THRESHOLD+}': 'Good days wake people.',
    "stage [-===-]{+!==+} 'prod' ? new Key": 'Nothing encrypts the topics in prod.',
    "{[- StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } -]}": 'Alarms of any account may publish to the topic.',
    'severities[name].means} [-What-]{+See+}': 'The mail of an alarm does not say what to do.',
    'cloudwatch/home?[-region=-]{+area=+}': "The dashboard's URL opens another region.",
  },
  'packages/cdk/guarded-api.ts': {
    'Duration.seconds([-authorizerCache-]{+300+})': 'A token is accepted for up to five minutes after it expires.',
    "Authorization'[-, '$context.routeKey'-]": 'A kept result holds for routes with other scopes.',
    "[-defaultAuthorizer-]{+[cors.allowOrigins.length > 0 ? 'authorizer' : 'defaultAuthorizer']+}: new":
      'With allowed origins, the API needs no token.',
    "[-?.defaultAddress === 'off'-] && {": 'A new domain name closes the only address that clients have.',
    "[-if (defaultAddress === 'off') this.node.defaultChild?.node.addDependency(domainName);\n    else -]this":
      'A certificate that AWS refuses leaves the API without an address.',
  },
  'packages/cdk/service-stack.ts': {
    '[-permissionsBoundary: PermissionsBoundary.fromName(permissionsBoundary),-]': 'No role has the boundary.',
    "terminationProtection: stage [-===-]{+!==+} 'prod'": 'The prod stack can be deleted with one command.',
  },
  'infra/plant-store-stack.ts': {
    "plants.[-grant(createPlant, 'dynamodb:UpdateItem')-]{+grantWriteData(createPlant)+};":
      'createPlant may delete plants.',
    'HttpLambdaIntegration(name, fn[-.live-])': 'A route calls code that no alarm watches.',
    'operations: [-Object.values(functions)-]{+[]+}, authorizer }': 'Nobody learns that createPlant fails.',
    '[-fn.rollOutInSteps(alarms, smokeTest)-]{+void [fn, alarms, smokeTest]+};':
      'All requests get a new version at once, untried.',
  },
  'packages/cdk/outside-check.ts': {
    'TreatMissingData.[-BREACHING-]{+NOT_BREACHING+}': 'Nobody learns that the check no longer runs.',
    'Stats.[-AVERAGE-]{+SUM+}': 'Two failures in five minutes of three runs count as silence.',
  },
  'infra/plants-table.ts': {
    "...(stage [-=== 'prod' -]&& {": 'A backup of the plants outlives a dev stack.',
    "deletionProtection: [-stage === 'prod'-]{+false+}": 'A command can delete the table in prod.',
    "[-stage === 'prod' ? RemovalPolicy.RETAIN : -]RemovalPolicy.DESTROY":
      'The plants are gone once the stack is deleted.',
  },
  'packages/cdk/service-function.ts': {
    "resources: [[-this.functionArn, liveArn-]{+'*'+}]": 'A roll-out may change every function of the account.',
    'resources: [[-smokeTest-]{+this+}.functionArn] }));':
      'CodeDeploy may not invoke the smoke test, so every deployment but the first fails.',
    '[-      ...(smokeTest && { preHook: smokeTest }),\n-]': 'A new version gets requests untried.',
    '[-    this.live.node.addDependency(role, ...(smokeTest ? [smokeTest] : []));\n-]':
      'The smoke test tries the versions before the new ones.',
    'chmodSync(file, [-0o644-]{+0o666+})': 'Any user of the machine may change what is deployed.',
  },
  'packages/cdk/smoke-test.ts': {
    "[-table.grant(this, 'dynamodb:DeleteItem')-]": 'The plants of every smoke test stay.',
  },
  'template/prove/report.ts': {
    '(?:AKIA[-|ASIA-])': 'A report that people paste into an issue has a temporary key.',
    "[-  [/(?<!\\d)\\d{12}(?!\\d)/g, '<account>'],\n-]":
      'A report that people paste into an issue has their account id.',
  },
  'template/prove/run.ts': {
    "[-  await run.ask('check_account');\n-]": 'A run deletes what it has not made.',
    '    [-run.save();\n    -]say(': 'A run that was interrupted begins again.',
  },
  'packages/cdk/settings.ts': {
    "defaultStage = [-'dev'-]{+'prod'+}": 'A bare cdk deploy changes production.',
    '[-  refuseUnknownKeys(node);\n-]': 'A misspelt stage is ignored, so the default one is deployed.',
    'rateLimit[- + burstLimit-]': 'DynamoDB throttles small plants in a burst that the gateway lets through.',
    '|aws:[-|service$|stage$-]': 'A tag of a team replaces the stage, so GitHub reads another stage.',
    'https:\\/\\/[-[^*]-]{+.+}+': 'A setting opens the API to the pages of every origin.',
    "stageName[-.startsWith('prod')-]{+ === 'prod'+}": 'A copy of prod loses its data with its stack.',
    "stage [-===-]{+!==+} 'prod' && alarmEmail": 'A deployment of prod ends the mail of alarms.',
    "audience === 'none' && [-clientIds === undefined-]{+false+}":
      'Tokens that the issuer made for other APIs get in, although nobody has said so.',
    "[-=== 'on'-]{+!== 'off'+}": 'Without a setting, X-Ray traces requests for ten dollars a million.',
  },
  'packages/cdk/token-issuer.ts': {
    "[-[client.userPoolClientId, ...(clientIds === undefined ? [] : [clientIds])].join(',')-]{+clientIds ?? 'any'+}":
      'Tokens for every client of the user pool get in.',
    'sms: [-false-]{+true+}': 'A second factor may be a text message.',
    'RemovalPolicy.[-RETAIN-]{+DESTROY+} :': 'A deployment can delete the ids and secrets of all clients.',
  },
  'packages/cdk/version-role.ts': {
    "[-hashOf(role)-]{+''+}": 'A changed grant reaches the version that clients call, untried.',
    'RemovalPolicy.[-RETAIN_ON_UPDATE_OR_DELETE-]{+DESTROY+} :': 'After a deployment, an alias cannot go back.',
  },
  'packages/emulator/dynamodb/data-folder.ts': {
    'mode: [-0o700-]{+0o755+}': 'Other users may read the plants.',
    "[-  if (current === undefined) await mustBeEmpty(path.join(folder, 'dynamodb'));\n-]":
      "Another program's database is opened, and its files change.",
    'const failure = [-isLocked(error)-]{+error+}':
      'Who may not write the data folder searches for a process that uses it.',
  },
  'packages/tools/cli/deployed-issuer.ts': {
    'await readClientSecret([-userPoolId, clientId-]{+clientId, userPoolId+})':
      "Cognito is asked for a user pool with the client's id.",
  },
  'packages/emulator/gateway/server.ts': {
    "'content-length': [-Buffer.byteLength(body)-]{+body.length+} }": 'A response with an umlaut is cut short.',
    'const other = [-otherHostOf(request)-]{+undefined+};': 'A website can point its name at the API, and call it.',
  },
  'packages/tools/cli/import-lines.ts': {
    '[[-413, -]...retryableStatuses]': 'One item that is too large ends an import.',
    'BigInt([-source-]{+value+})': 'A large id is rounded.',
    "if (result.[-headers.get('idempotent-replayed') !== 'true'-]{+ok+}) return":
      'An import counts plants as new that were already there.',
  },
  'template/guide/blocks.ts': {
    ', [-start + 1-]{+whole.length+})': 'A block of the guide changes one of two places, perhaps the wrong one.',
  },
  'packages/tools/start/issuer.ts': {
    "[-randomUUID()-]{+''+}}` }]": 'A process that trusts one local issuer rejects the next one.',
  },
  'packages/tools/start/issuer-address.ts': {
    "[-mode: 0o600, -]flag: 'wx'": 'Other users may read the key that signs tokens.',
    '[-kept?.port === taken-]{+false+}': 'npm start fails if PORT is the last port of its issuer.',
    '[-kept?.port ?? -]0': 'After each restart of the local service, every token is refused.',
  },
  'packages/emulator/lambda/functions.ts': {
    'if ([-replaced === each-]{+before.size >= 0+}) return [];': 'A reload replaces a function by one that is broken.',
    '[-replaced ? replaced.isLoaded : this.#isWarm-]{+this.#isWarm || replaced?.isLoaded+}':
      'A function that could not be loaded stops each later reload.',
    '[what[-, ...log-]]': 'After a change, a function cannot be loaded, and nothing says where.',
    '[-os.availableParallelism()-]{+100+}': 'Twenty functions that load at the same time make each other time out.',
  },
  'packages/emulator/lambda/instance.ts': {
    'env: { ...{+process.env, ...+}spec.environment,': "A function sees the environment variables of the user's shell.",
    'spec.memoryMegabytes[-, maxYoungGenerationSizeMb-] }': 'The local service takes 0.4 GB more in an import.',
    '[-Buffer.byteLength(result)-]{+result.length+} > payloadLimit':
      'A response with many accented letters passes here, but fails on Lambda.',
    '[-this.#data.debug ? undefined : -]': 'A function that a debugger pauses for five seconds is ended.',
  },
  'packages/emulator/lambda/runtime.ts': {
    '[-process.setSourceMapsEnabled(true);-]': 'With --debug, stack traces have lines of the bundle.',
    '    [-endLine();\n    -]send': 'The lines of Powertools are in no log.',
  },
  'packages/emulator/lambda/archives.ts': {
    'if ([-isInside(folder, parent)-]{+parent+}) return': 'A zip file may replace any file of the user.',
    'if ([-isLink(file) && -]{+!file && +}existsSync(place)': 'A function reads a file outside of its zip.',
  },
  'packages/emulator/lambda/modules.ts': {
    'upwards(path.dirname(parent)[-, root-])': 'A function finds a package that it does not have on Lambda.',
    "? 'module' : [-'commonjs'-]{+context.format+}": 'A function in an app of ES modules fails.',
  },
  'packages/emulator/lambda/task-root.ts': {
    "code: [-'EROFS'-]{+'EACCES'+}": 'A function that writes to its folder gets another error than on Lambda.',
    '[-process.cwd = () => root;-]': 'A function looks for its files in the folder of the emulator.',
    '[-path.normalize(value)-]{+value+}': 'A function writes to its folder here, but fails on Lambda.',
  },
  'packages/emulator/lambda/suspend-timers.ts': {
    '[-pauses.total() === total-]{+true+} ||': 'As soon as a debugger resumes a function, the function times out.',
  },
  'packages/emulator/gateway/jwt-authorizer.ts': {
    "[-requiredClaims: ['exp'], -]": 'A token without an expiry is accepted.',
    'aud[- === undefined ? client_id : aud-]{+, client_id+}': 'A token for another API is accepted.',
  },
  'packages/emulator/gateway/lambda-authorizer.ts': {
    "[-=== 'allowed'-]{+!== 'explicitly denied'+}": 'An authorizer whose policy names one route opens all.',
    '[-|| expires <= now-]': "An authorizer's result is kept for ever.",
    'if ([-other !== undefined-]{+false+}) throw': "The condition in an authorizer's policy is ignored.",
  },
  'packages/emulator/gateway/request.ts': {
    "[-cookies ? { ...headers, cookie: cookies.join('; ') } : -]headers": 'Authorizers see no cookies.',
  },
  'packages/emulator/gateway/invocation.ts': {
    '[[-start(onStart)-]{+(onStart(), start(() => {}))+},': 'A request that waits for an instance fails.',
    '[-debug ? start(() => {}) : -]': 'The gateway gives up a request while a debugger pauses its function.',
  },
  'packages/tools/start/token-command.ts': {
    '[- > /dev/null-]': 'If cd prints something, the printed command sends it as part of the token.',
  },
  'packages/contract/page/contract.ts': {
    'text[-.replaceAll("\'", "\'\\\\\'\'")-]': 'The printed command fails in a folder whose name has an apostrophe.',
  },
  'packages/emulator/command/request-log.ts': {
    "[-.replaceAll(/^/gm, '    ')-]": 'A line of a stack trace can pass for the row of a request.',
    '[-printable(text)-]{+text+}.': 'A log line can control the terminal.',
    '[-(logged.status < 500 || this.#failures > failureLines)-]{+logged.status < 500+}':
      'In an outage, the stack traces of hundreds of requests fill the terminal each second.',
  },
  'packages/emulator/command/reasons.ts': {
    '[-log.length === 0 && -]error': 'A plant over 400 KB is said to be over 10 MB.',
  },
  'packages/tools/start/bundles.ts': {
    'originalLine[- + 1-]': 'A stack trace names the line above the one that threw.',
    "sourcemap: [-'external'-]{+'linked'+}": 'The bundle with a source map is not the one that is deployed.',
    '[-each.sha256 === sha256-]{+true+}': 'The stack trace of one function names lines of another.',
  },
  'packages/tools/start/main.ts': {
    'prebuildBundles({ [-debug-]{+debug: true+} })': 'npm start runs other bundles than those that would be deployed.',
    "from './log-format.ts';\n{+import 'aws-cdk-lib';\n+}": 'npm start keeps the CDK in memory.',
    '[-  removeStaleSession(data);\n-]': 'A service that was killed cannot be started again.',
    '[-serving.defer(() => removeSession())-]{+void removeSession+}':
      'The session file, which has a secret, stays after a stop.',
  },
  'packages/tools/app.ts': {
    '[-  rmSync(manifest, { force: true });\n-]':
      'After a reload that wrote nothing, nobody learns that the app ended early.',
  },
  'packages/emulator/command/serving.ts': {
    "'SIGTERM'[-, 'SIGHUP'-]] as const": 'If the terminal is closed, the service leaves files behind.',
  },
  'packages/tools/terminal.ts': {
    '[-if (isAwaited) return;-]': 'An import that the user stops does not say where to go on.',
    'Stopped [-? 130-]{+? 1+}': 'A script cannot tell a command that was stopped from one that failed.',
  },
  'packages/tools/main.ts': {
    "outputError: (text, write) => write(text.replace(/^error: /, '')[-.replace('\\n(', ' (')-])":
      'A misspelt option is not refused in one line.',
    'isHelp, terminal);{+\n    throw new Error();+}': 'No operation can be called.',
  },
  'packages/tools/release/verify.ts': {
    'const { template } = stacks.get([-stack-]{+[...stacks.keys()][0] ?? stack+}) ?? {};':
      'verify compares a stack with one of another name.',
  },
  'packages/tools/node.js': {
    'if (version === `v${pinned}`) return realpathSync(binary);{+\n  return process.execPath;+}':
      'If the package of Node.js is forged, the service starts on another Node.js.',
  },
  'packages/tools/cli/operation-options.ts': {
    "integer.', [-BigInt-]{+(text) => BigInt(Number(text))+})": 'A large id is rounded.',
    'const value = [-parseJson-]{+JSON.parse+}(text)': 'A large id in a list is rounded.',
    '[-!Number.isFinite(Number(text))-]{+false+}': 'The command line sends 1e400 as null.',
  },
  'packages/tools/cli/connection.ts': {
    "[-if (url !== undefined && stack !== undefined) throw new Error('Give --url or --stack, not both.');-]":
      'A command with --url and --stack ignores one of them.',
    "method === [-'POST'-]{+method+} && body": 'An import replaces items.',
    'token === undefined[- || (refused && !isFetching)-]': 'The import sends a refused token again and again.',
  },
  'packages/tools/cli/import-file.ts': {
    '[-if ([401, 403, 429].includes(response.status)) attempts -= 1;-]':
      'An import that the gateway throttles counts plants as stored that were already there.',
    'others] = [-adding.length === 1 ? adding : -]adding.filter':
      'Of a line that lacks a field, an import says only that no operation fits.',
    '? [-4-]{+16+} : 16': 'An import makes the local service start twice as many instances as it needs.',
    'this.#added += added.{+toString().+}length':
      'If a failed line has an umlaut, the lines that were stored stay in the file of failed lines.',
    '[-found.size > 0 && !comment.test(buffer.toString())-]{+false+}': "An import deletes the user's own file.",
    '[- | constants.O_NOFOLLOW-]': 'A symbolic link makes an import write a start-up file of the shell.',
    '[-buffer[0] === newline-]{+true+}': 'A comment is appended to the last line that the user fixed.',
    '[-if (!isFailedLines) return;-]':
      'An import deletes lines that an earlier import could not store, and lines that the user has fixed.',
    'await removeDone(input, [-last.end-]{+input.size+})':
      'Who stops the import of a file of failed lines loses the lines that are not imported yet.',
  },
  'packages/tools/start/reloader.ts': {
    "[-  'functions/generated',\n-]": 'The files that a reload generates cause the next reload.',
  },
  'packages/emulator/command/reload-queue.ts': {
    'const quietTime = [-60-]{+30+}': 'A reload begins before all files are saved.',
    '[-for (const file of files) this.#files.add(file);-]':
      'After an error in the contract is fixed, only the file of the fix is reloaded.',
  },
  'packages/contract/page/render.ts': {
    '/[&[-<>"-]{+<>+}]/g': 'Text in the contract can add an attribute.',
    'html: ({ text }) => [-htmlOf(text)-]{+text+}': 'Text in the contract can add an element.',
  },
  'packages/tools/start/session.ts': {
    "[-mode: 0o600, -]flag: 'wx'": "Other users may read the client's secret.",
    '[-if (isDeepStrictEqual(parseSession(file), session)) -]rmSync(file)': "A stop removes a file of the user's.",
    "'client_credentials', scope{+: source.scope+} }": 'A token has more scopes than asked for.',
  },
  'packages/emulator/template/cloud-assembly.ts': {
    "[-type === 'cdk:cloud-assembly'-]{+false+} &&": 'The command does not find a stack in a stage.',
    '[-/^\\d{12}$/.test(id) ? id :-]': "A role that names the stack's own account in an ARN allows nothing.",
  },
  'packages/emulator/template/functions.ts': {
    '[-isOfGateway && -]mayInvoke': 'A permission for another service is accepted as one for API Gateway.',
    'if ([-reserved.has(name)-]{+name === undefined+})': "A variable in the template takes another role's credentials.",
  },
  'packages/emulator/template/other-types.ts': {
    'by.[-every-]{+some+}(({ user }) => providers.has(user))':
      'A function that a custom resource uses, too, is not served.',
  },
  'packages/emulator/template/resources.ts': {
    '[-if (found && found.type in tableTypes) this.mustServe(found);-]':
      'A function is served without a table that it needs, and gets a ResourceNotFoundException.',
    'const { path, madeUp, reason } = unknown;{+ if (path) return madeUp;+}':
      'A function gets a made-up ARN in silence.',
    'return [[-new Refusal(resource, ...(own(refusedTypes, type) ?? unknownType))-]]':
      'A resource that cannot be served is left out in silence.',
    'if ([-!this.#refusals.has(resource.logicalId)-]{+!resource.type+}) this':
      'A route to a function that cannot run here is served, and each of its requests gets a 500.',
  },
  'packages/emulator/template/roles.ts': {
    "[-'BatchGetItem', -]'Describe*'": 'A function with the read-only policy of AWS cannot read a batch.',
  },
  'packages/emulator/dynamodb/dynalite-fixes.ts': {
    "toString([-'latin1'-])": 'The local store accepts text of more than 400 KB.',
    '[-if (!_condition && !Expected) return null;-]': 'An item of great depth can be neither replaced nor deleted.',
    "if ([-!['L', 'M'].includes(key)-]{+key+}) return copy;": 'A plant with a list cannot be sent again.',
  },
  'packages/emulator/dynamodb/dynalite-faults.ts': {
    'put: withCallback([-inTurn(db.put)-]{+db.put+})':
      'If the disk is full, the store acknowledges writes that it loses at its next start.',
    "if ([-isInvalid(error) || -]lifecycleManager.getState() !== 'open')": 'A request with a null ends the emulator.',
    "isInvalid(error)[- || lifecycleManager.getState() !== 'open'-]": 'Ctrl-C during a request ends with an error.',
    'return Object.assign(iterator, { next: [-() => unlessFault(next())-]{+next+} })':
      'After a fault, the store goes on if it was a Query that has seen it.',
  },
  'packages/emulator/stack-versions.ts': {
    "process.env[[-'TZ'-]{+'ZONE'+}] =": 'A function has the time zone of the user, but UTC on Lambda.',
    '...spec.environment[-, ...variables-]':
      'After a change of the code, a failure is logged with the hash of the old bundle.',
    'if (replaced[-?.inProgress === 0-])': 'A reload ends the functions of requests that are in progress.',
    'if (version.inProgress [-=== 0 && version !== this.#newest-]{+< 0+})':
      'The functions of an earlier version are never ended.',
  },
  'packages/emulator/dynamodb/store.ts': {
    'JSON.stringify([name, [-account, role, boundary, -]roleName])':
      'A reload changes the role of a request that is in progress.',
    "[-randomBytes(32)-]{+Buffer.from('local')+}": "Any user of the machine can read another user's store.",
  },
  'packages/emulator/serve.ts': {
    '[-2 * -]Math': 'Ctrl-C cuts a request whose authorizer was slow.',
    "[-once(response, 'close')-]{+response+}": 'Ctrl-C turns a request that is still running into an error.',
    'if ([-!options.jwt-]{+true+} ||': 'The keys of a mistyped issuer are silently not used.',
  },
  'packages/emulator/options.ts': {
    "leaveOut: a('[-boolean-]{+string+}')": 'The option leaveOut has an effect if it is "no".',
  },
  'packages/emulator/servers.ts': {
    '[-if (length > limit) return undefined;-]': 'A request of any size is kept in memory.',
    "port, [-'127.0.0.1'-]{+'0.0.0.0'+}": 'Other machines in the network may add plants and get tokens.',
  },
  'packages/emulator/dynamodb/embedded-store.ts': {
    '[-    server.close();\n-]': 'After a fault, the store still answers new requests.',
    '[-otherHostOf(request)-]{+undefined+} === undefined ?': 'A website can point its name at the store, and call it.',
  },
  'packages/emulator/dynamodb/guard.ts': {
    "decisions.{+slice(0, 1).+}find(({ decision }) => decision !== 'allowed')":
      'A permissions boundary limits nothing.',
    'if ([-caller === undefined ||-]{+!caller) return () => undefined;\n    if (+}': 'Anybody may use the store.',
    "caller === undefined[- || headers['x-amz-security-token'] !== caller.sessionToken-]":
      'A client without a session token works here, but fails on AWS.',
    "[-['Query', 'Scan'].includes(operation)-]{+'Scan' === operation+}":
      'The permission for a table is enough to query its index.',
  },
  'packages/emulator/policy.ts': {
    "[-if (effects.includes('Deny')) return 'explicitly denied';-]": 'An Allow wins over a Deny.',
  },
  'packages/emulator/dynamodb/tables.ts': {
    'return [[-keyOf(KeySchema), types, -]...indexes]': 'A table with a different key is accepted.',
    'types[-, ...indexes-]]': 'A table with different indexes is accepted.',
  },
  '.devcontainer/devcontainer.json': {
    '"requireLocalPort": [-true-]{+false+}': 'In a dev container, /docs refuses the browser.',
  },
  'packages/client/json.ts': {
    '[-    names.length === Object.keys(other).length &&\n-]':
      'A response with only a part of the sent list counts as success.',
  },
  'packages/client/client.ts': {
    "replace(/\\/[-+-]$/, '')": 'With a base URL that ends with two slashes, each request gets a 404.',
  },
  'packages/client/call.ts': {
    "void done[-.finally(() => signal.removeEventListener('abort', abort))-];":
      'A long-lived signal keeps every call in memory.',
    '[-await-]{+void+} response.clone().arrayBuffer();':
      'If a response breaks off, createPlant throws instead of returning an error.',
    'repeats.[-every-]{+some+}(': 'A response with a different tag counts as success.',
    'error: code ?? other, status[-, ...idOf(received)-]': 'No error has its request id.',
    'headers.[-set-]{+append+}(name, value)':
      'If an option has a header `Authorization`, the gateway refuses the token.',
    '[[-\\t -~\\x80-\\xff-]{+^+}]*': "The client's error quotes a secret header.",
    '[-options.attemptTimeout ?? defaults-]{+defaults.attemptTimeout ?? options+}.attemptTimeout':
      'A call cannot have another time limit than its client.',
  },
  'packages/client/request.ts': {
    "[-['', '.', '..'].includes(text)-]{+text === ''+}": 'A path parameter of two dots calls another operation.',
  },
  'packages/tools/cli/restore-items.ts': {
    "'attribute_not_exists(#key){+ OR attribute_exists(#key)+}'": 'A restore overwrites what clients stored since.',
    'if ([-concernsOneItem(error)-]{+error instanceof Error+})': 'A restore without permission tries every item.',
    'ConsistentRead: [-true-]{+false+}': 'A restore leaves out items that were written shortly before.',
  },
  'packages/tools/cli/traced-request.ts': {
    'days * [-24 * -]60 * 60': 'The command request --days 7 searches the logs of seven hours.',
  },
  'packages/runtime/http/error-response.ts': {
    "const isQuote = [-'$response' in thrown || thrown instanceof SyntaxError-]{+false+};":
      'The log quotes what the store said.',
    '[-      store: storeTime(request.context.storeCalls),\n-]':
      'The line of a request that fails does not say that the store was slow.',
    '[-      gatewayRequestId: request.event?.requestContext?.requestId,\n-]':
      "A request's id does not lead to the function's line.",
    '/[-^-]User: ': 'The log has what the store quotes of a request.',
  },
  'schemas/openapi.yaml': { 'required: [[-id-]]': 'A plant without an id is valid.' },
  'packages/tools/release/link-packages.ts': {
    'link(name, path.join([-copy-]{+project+}, folder))':
      "A diff from an earlier commit runs today's packages: it compares today with itself.",
    'filter(([name, tarball]) => [-today[name] !== tarball-]{+false+})':
      'An older commit of a service runs the packages of today.',
  },
  'packages/tools/release/project-copy.ts': {
    "[-'--end-of-options', -]": 'git takes a ref that begins with a hyphen for an option.',
    "downloads(then) [-=== downloads(await readFile(path.join(project, 'package-lock.json'), 'utf8'))-]{+!== ''+}":
      'A diff synthesizes both commits with the new CDK, so it does not show what the new CDK changes.',
  },
  'packages/contract/document.ts': {
    "typeof $ref !== 'string'[- || followed.includes($ref)-]": 'npm start fails if a schema refers to itself.',
  },
  'packages/contract/schemas.ts': {
    'if ([-standard !== undefined-]{+false+})': 'The contract promises a default that nothing fills in.',
  },
  'packages/contract/compatibility.ts': {
    '{ description, [-bearerFormat, -]...scheme }': 'The format of tokens, which clients do not read, may not change.',
    '[-each.required && -]!this': 'A new optional parameter counts as one that breaks released clients.',
    '[-before-]{+now+}.errorCodes.filter((number) => ![-now-]{+before+}.errorCodes.includes(number))':
      'An error number may go, but none may be new.',
    "...refusals(places.[-before, places.now-]{+now, places.before+}, 'the body').map(":
      'A response may have values that released clients do not know.',
  },
  'packages/contract/subset.ts': {
    'return names.filter((name) => [-!required-]{+required+}.includes(name))':
      'A new required field of a body passes as compatible.',
    'isEqual [-? bound.isExclusive || !wide.isExclusive :-]{+||+} inner.limit > outer.limit':
      'A limit that becomes exclusive passes as compatible.',
  },
  'packages/tools/release/diff/template.ts': {
    "'Fn::If') return { [key]: [[-condition(inner[0], outer)-]{+inner[0]+},":
      'A pull request may change what a condition of the table stands for.',
    '\\b[-(?!\\.json)-]/g': 'A pull request may delete a table in a nested stack of the CDK.',
  },
  'packages/tools/release/diff/loss.ts': {
    '...[-might, ...-](whats ?? [])': 'A pull request may put a condition on the table, which deletes it.',
    'isLate(DeletionPolicy)[- || isRetained(DeletionPolicy)-]': 'A pull request may leave log groups behind.',
    '[-?? (now && losses[impactOnKey(then, now)])-]':
      'A pull request may replace the table by one whose key has another type.',
    'if (after.least >= [-before.most-]{+Math.min(before.most, 1)+} ||': 'A pull request may cut backups to one day.',
    'isLate(value) ? { least: [-0-]{+most+}, most,': 'A pull request may let a parameter turn protection off.',
    '(Transform|[-ForEach-]{+None+})': 'A pull request may take a table out of a loop, which deletes it.',
  },
  'packages/tools/release/diff/access.ts': {
    'if (guards.[-includes(guard)-]{+length > 0+} ||': 'A route may lose its authorizer without a finding.',
    "type === 'NONE' [-|| isLate(type)-];": 'A parameter may open a route without a finding.',
    "[-{ ...unread('Deny', who), action: `what ${textOf(found)} denies` },-]":
      'A statement that may deny something goes without a label.',
    "[-(wide.condition === '' || wide.condition === narrow.condition)-]{+true+}": 'A condition may go without a label.',
    '[-matches(wide.resource, narrow.resource) &&-]': 'A permission may cover more resources without a label.',
    'return [-[...own, ...byRole]-]{+own+};': 'A function may take the role of another one without a label.',
  },
  'packages/tools/release/diff/verdict.ts': {
    '[-allowable.includes(rule) && allowed-]{+allowed+}.includes(rule)': 'A label could allow what loses data.',
  },
  'packages/contract/source-hash.ts': {
    '[[-document, -]...own': 'After git pull, npm start runs the validators of the old contract.',
  },
  'packages/contract/main.ts': {
    "path.join(folder, {+'..', +}name)": 'The validators are written to the wrong folder.',
  },
  'packages/contract/operations.ts': {
    '[-alternatives.length > 0 || -]': 'A token needs the scopes of one of several alternatives only.',
  },
  'packages/contract/types.ts': { '[-isOpen ? {} :-]': 'The client leaves out fields of an open body.' },
  'packages/contract/validators.ts': {
    '2n ** [-63n-]{+62n+} - 1n]': 'Half of all positive ids are refused.',
    '(?:\\.\\d[-+-]{+{1,3}+})?': 'A time with microseconds is refused.',
    '[-ajv.addFormat(name, format)-];': 'A field of the format date-time adds 8 KB to the bundle.',
    '[-    preserveSymlinks: true,\n-]': 'The command diff reports new code although nothing has changed.',
    'allErrors: [-true-]{+false+}': 'The response names only one of several invalid fields.',
  },
  'packages/tools/release/upgrade.ts': {
    "if ([-status !== ''-]{+false+}) throw": 'An upgrade loses changes that nobody has committed.',
    'if ([-!isGreen && !keep-]{+false+})': 'A service gets packages with which its tests fail.',
  },
  'packages/tools/release/upgrade/changelog.ts': {
    'filter(([, entry]) => [-!known.has(entry)-]{+true+})': 'An upgrade lists what the service has had for long.',
  },
  'packages/tools/release/upgrade/starter.ts': {
    'pin === [-before-]{+after+}.pins[name]': 'An upgrade leaves dependencies as old as they are.',
  },
  'template/interface.ts': {
    'return [-!names.has(name)-]{+false+};': 'A release breaks services without a word.',
  },
  'template/new.ts': {
    '[-readdirSync(folder).some(-]{+[].some(+}': 'A new service overwrites files of the user.',
  },
  'template/new/platform.ts': {
    'return [-exists ? link :-] text': 'The documents of a new service lose all their links.',
  },
  'template/new/manifest.ts': {
    "[-location.startsWith('node_modules/') && -]link !== true": 'The lock file of a new service names our folders.',
  },
  'template/new/collisions.ts': {
    'filter(([-name) => used.has(name)-]{+) => false+})': 'A noun may be the name of something else.',
  },
};

const removed = /\[-(.*?)-\]/gs;
const added = /\{\+(.*?)\+\}/gs;

export const breaks: Break[] = Object.entries(byFile).flatMap(([file, changes]) =>
  Object.entries(changes).map(([change, says]) => ({
    file,
    code: change.replaceAll(added, '').replaceAll(removed, '$1'),
    broken: change.replaceAll(removed, '').replaceAll(added, '$1'),
    says,
  })),
);

/**
 * Small breaks that a tired developer might make. `npm run breaks` checks that `npm test` notices each of them.
 * TypeScript and Biome would notice some, but do not run here, because the breaks measure the tests.
 *
 * Add one or two breaks with new code, and remove the breaks of code that you remove.
 */
export type Break = {
  file: string;
  /** Text that occurs exactly once in the file; `broken` replaces it. */
  code: string;
  broken: string;
  /** What goes wrong because of the break, in one sentence. */
  says: string;
  /** Set if `npm test` cannot notice the break: says why, and which test does. */
  unseen?: string;
};

type Row = [code: string, broken: string, says: string, unseen?: string];

const byFile: Record<string, Row[]> = {
  'functions/authorizer.lambda.ts': [
    [
      "audience === 'none' ?",
      "audience.toLowerCase() === 'none' ?",
      'An audience called "None" lets every audience in.',
    ],
  ],
  'functions/auth/issuer-keys.ts': [
    [
      'new SimpleFetcher({ defaultRequestOptions: { responseTimeout } })',
      'new SimpleFetcher()',
      'A silent issuer is waited for twice as long.',
    ],
    ['    await fetching;\n', '    void fetching;\n', 'The first request does not wait for the keys.'],
    [
      'Date.now() - cached.fetchedAt >= usableFor',
      'Date.now() - endedAt >= usableFor',
      'Old keys serve for ever while the issuer is down.',
    ],
  ],
  'functions/auth/unverified-token.ts': [
    ['payload.exp <= now', 'payload.exp < now', 'A token is good for a moment after its expiry.'],
  ],
  'functions/auth/verify-token.ts': [
    [
      "!('refused' in verdict && verdict.refused === 'signature')",
      "!('refused' in verdict)",
      'The reason in the log is that of the wrong key, if two share a kid.',
    ],
    [
      'scopes.includes(scope)',
      'scopes.some((each) => each.startsWith(scope))',
      'A longer scope passes for the required one.',
    ],
  ],
  'functions/create-plant.lambda.ts': [
    [
      'disableClockSkewCorrection: false',
      'disableClockSkewCorrection: true',
      'A clock that is off makes every call fail.',
    ],
    [
      "accountIdEndpointMode: 'preferred'",
      "accountIdEndpointMode: 'required'",
      'No call is made, since Lambda tells no account id.',
    ],
    ['  .use(timeLeft())\n', '', 'The store is called although no time is left for it.'],
  ],
  'functions/http/exact-json.ts': [['\\d{16}', '\\d{17}', 'An id of 16 digits is rounded.']],
  'functions/http/json-body.ts': [
    [
      'if (bytes.length > maxBodyBytes)',
      'if (body.length > maxBodyBytes)',
      'The limit of a body counts characters, not bytes.',
    ],
  ],
  'functions/plants/plant-table.ts': [
    [
      ' OR (#name = :name AND attribute_not_exists(tag))',
      ' OR #name = :name',
      'A plant without a tag overwrites one that has a tag.',
    ],
    [
      ', throwOnRequestTimeout: true',
      '',
      'A store that hangs is waited for until the deadline, without a second attempt.',
    ],
  ],
  'infra/alarm-topic.ts': [
    [
      "{ StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } }",
      '{}',
      "Alarms of any account may be sent to this one's topic.",
    ],
  ],
  'infra/app.ts': [
    [
      'new AwsSolutionsChecks(app, audit), ',
      '',
      'cdk synth no longer checks the rules of AWS Solutions.',
      'Synthesis with all rules takes seconds: app.e2e.ts does it.',
    ],
  ],
  'infra/log-metrics.ts': [['      defaultValue: 0,\n', '', 'A figure has gaps where nothing is logged.']],
  'infra/monitoring.ts': [
    ['What to do: docs/operate/runbook.md,', 'What to do: README.md,', 'The mail of an alarm does not say what to do.'],
    ['cloudwatch/home?region=', 'cloudwatch/home?area=', 'The address of the dashboard leads to another region.'],
  ],
  'infra/plant-api.ts': [
    ['Duration.seconds(0)', 'Duration.minutes(5)', 'A token is good for five minutes after its expiry.'],
  ],
  'infra/plant-store-stack.ts': [
    [
      "terminationProtection: stage === 'prod'",
      "terminationProtection: stage !== 'prod'",
      'Anybody can delete the stack of prod with one command.',
    ],
    ['REQUIRED_SCOPE: scope', "REQUIRED_SCOPE: 'plants/create'", 'The setting scope has no effect.'],
  ],
  'infra/plants-table.ts': [
    ["this.grant(grantee, 'dynamodb:PutItem')", 'this.grantWriteData(grantee)', 'createPlant may delete plants.'],
  ],
  'infra/service-function.ts': [
    ['AssetHashType.OUTPUT', 'AssetHashType.SOURCE', 'A new version of the AWS SDK is not deployed.'],
    [
      'resources: [this.functionArn, this.live.functionArn]',
      "resources: ['*']",
      'A roll-out may change every function of the account.',
    ],
    ['          chmodSync(folder, 0o755);\n', '', 'Anybody on the machine may change what is deployed.'],
  ],
  'infra/token-issuer.ts': [['sms: false', 'sms: true', 'A second factor may be a text message.']],
  'local/data-folder.ts': [
    ['mode: 0o700', 'mode: 0o755', 'Other users may read the plants.'],
    [
      "  if (current === undefined) await mustBeEmpty(path.join(folder, 'dynamodb'));\n",
      '',
      'A foreign database is opened, and its files change.',
    ],
  ],
  'local/deployed-issuer.ts': [
    [
      'await readClientSecret(userPoolId, clientId)',
      'await readClientSecret(clientId, userPoolId)',
      'Cognito is asked for a pool by the id of the client.',
    ],
  ],
  'local/failed-lines.ts': [
    ['Buffer.byteLength(text)', 'text.length', 'Failures with an umlaut keep those of an earlier import.'],
  ],
  'local/gateway.ts': [
    ['    busy.delete(request.socket);\n', '', 'A bad request on a connection in use gets no answer.'],
    [
      "'content-length': Buffer.byteLength(body) }",
      "'content-length': body.length }",
      'An answer with an umlaut is cut short.',
    ],
  ],
  'local/import-lines.ts': [
    ['ids.get(plant)', '[...ids.values()][0]', 'The id of an inner object becomes that of the plant.'],
  ],
  'local/lambda.ts': [
    [
      'env: { ...spec.environment,',
      'env: { ...process.env, ...spec.environment,',
      "A function sees the user's own environment.",
    ],
  ],
  'local/listen.ts': [
    ["port, '127.0.0.1'", "port, '0.0.0.0'", 'Others in the network may add plants, and get tokens.'],
  ],
  'local/lines.ts': [
    ['text.replaceAll("\'", "\'\\\\\'\'")', 'text', 'The printed line fails in a folder whose name has an apostrophe.'],
  ],
  'local/main.ts': [
    ['  removeStaleSession(dataFolder());\n', '', 'A service that was killed cannot be started again.'],
    ['cleanUps.push(writeSession(', 'void (writeSession(', 'A stop leaves the session, with a secret, behind.'],
    [
      "'SIGTERM', 'SIGHUP'] as const",
      "'SIGTERM'] as const",
      'A closed terminal leaves files behind.',
      'It takes another start of the service: start.e2e.ts does it.',
    ],
  ],
  'local/plant.ts': [
    ['return BigInt(text);', 'return BigInt(Number(text));', 'A large id is rounded.'],
    [
      'cachedToken === undefined || refused',
      'cachedToken === undefined',
      'A refused token is sent again, until the import ends.',
    ],
    [
      'if (sent > 0) await failures.complete()',
      'await failures.complete()',
      'An import that sends nothing drops the failures of an earlier one.',
    ],
  ],
  'local/reference.ts': [
    ["data.replaceAll('<', '\\\\u003c')", 'data', 'A text of the contract can end the script element.'],
  ],
  'local/session.ts': [
    ["mode: 0o600, flag: 'wx'", "flag: 'wx'", "Other users may read the client's secret."],
    ['if (readText(file) === text) rmSync(file)', 'rmSync(file)', "A file of the user's is removed at the stop."],
  ],
  'local/stack.ts': [
    [
      "p['Principal'] === 'apigateway.amazonaws.com' && ",
      '',
      'A permission for another service passes for that of API Gateway.',
    ],
  ],
  'local/store.ts': [
    [
      'keyOf(existing) !== keyOf(table)',
      'existing.TableName !== table.TableName',
      'A table with another key is taken for the own.',
    ],
  ],
  'client/plant-store-client.ts': [
    ["replace(/\\/+$/, '')", "replace(/\\/$/, '')", 'A base URL with two slashes at its end gets a 404.'],
    [
      'await response.clone().arrayBuffer();',
      'void response.clone().arrayBuffer();',
      'An answer that breaks off is thrown, not returned.',
    ],
    ["('tag' in body ? body.tag : undefined) === tag", 'true', 'An answer with another tag passes for success.'],
    [
      "void done.finally(() => signal.removeEventListener('abort', abort));",
      'void done;',
      'A long-lived signal keeps every call in memory.',
    ],
  ],
  'schemas/openapi.yaml': [['required: [id]', 'required: []', 'A plant without an id follows the contract.']],
  'scripts/compile-contract.ts': [
    ["'../functions/generated/'", "'../functions/generated'", 'The validators are written beside their folder.'],
    ['asIntN(64,', 'asIntN(63,', 'Half of all ids are refused.'],
    ['allErrors: true', 'allErrors: false', 'An answer names one fault of several.'],
  ],
};

export const breaks: Break[] = Object.entries(byFile).flatMap(([file, rows]) =>
  rows.map(([code, broken, says, unseen]) => ({ file, code, broken, says, ...(unseen !== undefined && { unseen }) })),
);

/**
 * Plays an AWS account, and its gateways, for the proof. The programs aws, npx, lambda-service, node and git in `bin` send
 * their arguments here; the answers to `aws` are those after --query. A deployment of a version ends as it should.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { tableKey } from '@lambda-service/testing/data';
import { startServer } from '@lambda-service/testing/servers';
import { changed } from '../../prove/versions.ts';
import { account, commit } from './rehearsal.ts';

/** Bash speaks HTTP itself, because starting curl for each of some 1,000 commands would take most of the time. */
const program = (port: number): string => `#!/bin/bash
LC_ALL=C
printf -v body '%s\\037' "\${0##*/}" "$PWD" "$@"
exec 3<> /dev/tcp/127.0.0.1/${port}
printf 'POST / HTTP/1.0\\r\\ncontent-length: %s\\r\\n\\r\\n%s' "\${#body}" "$body" >&3
read -r _ code _ <&3
while read -r line <&3 && [ "$line" != $'\\r' ]; do :; done
[ "$code" = 200 ] || exec >&2
IFS= read -r -d '' answer <&3
printf %s "$answer"
[ "$code" = 200 ]
`;

/** How CodeDeploy and the smoke test treat each version that is not good. */
const stoppedBy: Record<string, string> = {
  'throws at start': 'it failed: Runtime.ExitError',
  'responds 500': 'the status is 500, not 200',
  'lets a forged token through': 'it does not refuse',
  'good, but lets a forged token through': 'it does not refuse',
  'lacks a grant': 'the status is 500, not 200',
  'fails for clients only': '',
  'has a smoke test that never reports': '',
};

type Stack = {
  name: string;
  status: string;
  updates: number;
  code: string;
  live: Record<string, number>;
  limited: boolean;
  withoutInstances: string[];
  requests: number;
  isFailing: boolean;
  /** Whether the gateway keeps results of the authorizer, and whether it has one. */
  isKeeping: boolean;
  isKept: boolean;
};

/** Returns what a command prints, if it prints something. */
type Handler = (option: (name: string) => string, words: string[]) => unknown;

/** Commands that print nothing here, and whose effect no step reads. */
const silent = [
  ...['apigatewayv2 get-apis', 'cloudwatch list-dashboards', 'deploy list-applications'],
  ...['deploy update-deployment-group', 'dynamodb list-backups', 'iam delete-role-policy'],
  ...['lambda list-functions', 'lambda update-alias'],
];

const prod = 'PlantStore-prod-prove';

/** What sets off an alarm that notifies, and the topic of that alarm. */
const notifying: Record<string, [alarm: string, topic: string]> = {
  OutsideCheck: ['Page', 'Pages'],
  Concurrency: ['Ticket', 'Tickets'],
};

/** Finds the key in a body. */
const ofKey = new RegExp(`"${tableKey.name}":"?(\\w+)`);

export class FakeAccount {
  readonly commands: string[] = [];
  readonly stacks = new Map<string, Stack>();
  /** What outlives a stack: [kind, name]. Tests may add what is never deleted. */
  readonly kept: [kind: string, name: string][] = [];
  /** The kinds of things whose deletion fails. */
  readonly undeletable: string[] = [];
  /** A command that fails, and how. */
  refused = '';
  refusal = 'AccessDenied';
  /** The state of prod's key. Like all that had tags, it stays in AWS's list of them. */
  keyState: '' | 'Enabled' | 'PendingDeletion' = '';
  /** The alarms that notify and are on, one that does not go off, and a topic to which CloudWatch may not publish. */
  on = new Set<string>();
  silent = '';
  refusing = '';
  readonly #tags = new Set<string>();
  /** What deletion protection, point-in-time recovery, termination protection or a domain keep: [what, of which]. */
  readonly #protections = new Set<string>();
  /** How often somebody sees a stack in progress before it is complete. */
  looks = 4;
  version = 'aws-cli/2.34.0';
  account = account;
  bin = '';
  url = '';
  readonly #items = new Map<string, string>();
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));
  #secrets = ['one'];
  #problems: string[] = [];
  #alarms: string[] = [];
  /** The causes that were set by hand. Each ends once somebody has looked at the history of what it set off. */
  #setByHand: string[] = [];
  readonly #actions: [alarm: string, result: string][] = [];
  /** Stops the roll-out that waits for it, if any. */
  #stop: (() => void) | undefined;
  #isTraced = false;

  async start(folder: string): Promise<void> {
    const port = await startServer(this.#server);
    this.url = `http://127.0.0.1:${port}`;
    this.bin = path.join(folder, 'bin');
    mkdirSync(this.bin);
    writeFileSync(path.join(this.bin, 'aws'), program(port), { mode: 0o755 });
    for (const name of ['npx', 'lambda-service', 'node', 'git']) symlinkSync('aws', path.join(this.bin, name));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const [, name = ''] = request.url?.split('/') ?? [];
    if (name !== '') return this.#respond(name, request, response, body);
    const [program = '', folder = '', ...words] = body.toString().split('\x1f').slice(0, -1);
    this.commands.push([program, ...words].join(' '));
    try {
      const answer = await this.#command(program, folder, words);
      response.end(answer ? `${answer}\n` : '');
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }

  #respond(name: string, request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const stack = this.#stack(`PlantStore-${name}-prove`);
    const { headers } = request;
    const id = ofKey.exec(body.toString('latin1'))?.[1] ?? '';
    const text = body.toString();
    const isReplayed = this.#items.get(id) === text;
    const isTaken = this.#items.has(id) && !isReplayed;
    const rules: [applies: boolean, status: number, error?: number][] = [
      [headers['x-long'] !== undefined, 431],
      [stack.limited && stack.requests++ > 0, 429],
      [body.length > 10 * 2 ** 20, 413],
      [request.url?.endsWith('/no-route') ?? false, 404],
      [headers.authorization === undefined, 401],
      [headers.authorization === 'Bearer x', 403],
      [stack.withoutInstances.includes('Authorizer') && !stack.isKept, 500],
      [stack.withoutInstances.includes(changed), 503],
      [stack.isFailing, 500, 50001],
      [headers['content-encoding'] === 'gzip', 415, 41502],
      [text.includes('\ufffd'), 400, 40001],
      [isTaken, 409, 40901],
      [body.length > 400 * 2 ** 10, 413, 41302],
    ];
    stack.requests++;
    const [, status = 200, error] = rules.find(([applies]) => applies) ?? [];
    if (status === 200) this.#items.set(id, text);
    if (status === 200) stack.isKept = stack.isKeeping;
    response.setHeader('apigw-requestid', 'QcNvjVNaC1t4m14=');
    if (isReplayed) response.setHeader('idempotent-replayed', 'true');
    if (headers['origin']) response.setHeader('access-control-allow-origin', headers['origin']);
    response
      .writeHead(status)
      .end(JSON.stringify(error ? { error } : { message: status === 200 ? undefined : 'Refused' }));
  }

  #stack(name: string): Stack {
    const stack = this.stacks.get(name);
    if (stack === undefined)
      throw new Error(`An error occurred (ValidationError): Stack with id ${name} does not exist`);
    return stack;
  }

  #functionOf(option: (name: string) => string): { stack: Stack; id: string } {
    const [, name = '', id = ''] = /^(PlantStore-\w+-prove)-(.*)$/.exec(option('function-name')) ?? [];
    return { stack: this.#stack(name), id };
  }

  #command(program: string, folder: string, words: string[]): unknown {
    const option = (name: string) => words[words.indexOf(`--${name}`) + 1] ?? '';
    const key = program === 'aws' ? words.slice(0, words[0]?.startsWith('--') ? 1 : 2).join(' ') : program;
    if (key === this.refused) throw new Error(this.refusal);
    if (program === 'npx') return words[1] === 'deploy' ? this.#deploy(folder, words) : this.#destroy(words);
    const handler = this.#handlers[key];
    if (handler === undefined) throw new Error(`The fake account does not know: ${program} ${words.join(' ')}`);
    return handler(option, words);
  }

  async #deploy(folder: string, words: string[]): Promise<void> {
    const name = `PlantStore-${/stage=(\S+)/.exec(words.join(' '))?.[1]}`;
    const has = (setting: string) => words.some((word) => word.startsWith(setting));
    const code = `${has('issuer=') ? 'another issuer' : ''}${path.basename(folder)}`;
    const before = this.stacks.get(name);
    if (before === undefined) return void this.create(name, code);
    const setting = { limited: has('rateLimit='), isKeeping: has('authorizerCache='), isKept: false };
    Object.assign(before, { ...setting, requests: 0, updates: before.updates + 1 });
    this.#isTraced ||= has('tracing=on');
    if (name.includes('prod')) await this.#rollOut(before, code);
    else before.status = 'UPDATE_COMPLETE';
    if (before.status !== 'UPDATE_COMPLETE') throw new Error('The stack was rolled back.');
  }

  /** Creates a stack, and what outlives it. */
  create(name: string, code = ''): Stack {
    const isProd = name.includes('prod');
    const live = { Authorizer: 1, [changed]: 1, ...(isProd && { SmokeTest: 1 }) };
    const created = { name, status: 'CREATE_COMPLETE', updates: 0, code, live, limited: false, withoutInstances: [] };
    const stack: Stack = { ...created, requests: 0, isFailing: false, isKeeping: false, isKept: false };
    this.stacks.set(name, stack);
    const pool = `eu-central-1_${isProd ? 'prod' : 'dev'}`;
    this.kept.push(['pool', pool]);
    this.#tags.add(`cognito-idp:eu-central-1:${account}:userpool/${pool}`);
    if (!isProd) return stack;
    this.kept.push(['role', `${name}-${changed}Role1`], ['table', `${name}-Table`], ['log', `${name}-Logs`]);
    this.#tags.add(`kms:eu-central-1:${account}:key/prod`);
    this.keyState = 'Enabled';
    for (const each of [`protected ${name}-Table`, `recovery ${name}-Table`, `protected ${pool}`, `domain ${pool}`])
      this.#protections.add(each);
    this.#protections.add(`protected ${name}`);
    return stack;
  }

  /** Turns a protection off. */
  #release = (what: string, name: string): void => void this.#protections.delete(`${what} ${name}`);

  #isProtected = (name: string): boolean =>
    ['protected', 'recovery', 'domain'].some((what) => this.#protections.has(`${what} ${name}`));

  async #rollOut(stack: Stack, code: string): Promise<void> {
    const problem = stoppedBy[code];
    stack.isFailing = code === 'fails for clients only';
    if (code.includes('never reports')) await new Promise<void>((resolve) => (this.#stop = resolve));
    while (stack.isFailing && stack.requests === 0) await setTimeout(10);
    if (stack.isFailing) this.#alarms.push(`${changed}Faults`);
    stack.isFailing = false;
    if (problem) this.#problems.push(JSON.stringify({ message: { outcome: 'failed', problem } }));
    stack.status = problem === undefined ? 'UPDATE_COMPLETE' : 'UPDATE_ROLLBACK_COMPLETE';
    if (problem === undefined && stack.code !== code) stack.live[changed] = (stack.live[changed] ?? 0) + 1;
    if (code === 'needs a new grant') this.kept.push(['role', `${stack.name}-${changed}Role2`]);
    if (problem === undefined) stack.code = code;
  }

  #destroy(words: string[]): void {
    const name = `PlantStore-${/stage=(\S+)/.exec(words.join(' '))?.[1]}`;
    const isChanging = this.#stack(name).status.endsWith('_IN_PROGRESS');
    if (isChanging || this.#isProtected(name) || this.undeletable.includes('stack')) throw new Error('Not deleted.');
    this.stacks.delete(name);
    if (name.includes('prod')) this.keyState = 'PendingDeletion';
    if (name.includes('dev')) this.#delete('pool', 'eu-central-1_dev');
  }

  #delete(kind: string, name: string): void {
    if (this.undeletable.includes(kind) || this.#isProtected(name)) throw new Error('AccessDenied');
    const index = this.kept.findIndex((each) => each.join() === [kind, name].join());
    if (index >= 0) this.kept.splice(index, 1);
  }

  #list(kind: string, pattern = ''): string {
    return this.kept
      .filter((each) => each[0] === kind && new RegExp(pattern).test(each[1]))
      .map(([, name]) => name)
      .join('\n');
  }

  /** Returns the name in a query such as Roles[?starts_with(RoleName,'PlantStore-dev-prove')]. */
  readonly #inQuery = (query: string): string => /'([^']*)'/.exec(query)?.[1] ?? '';

  readonly #tagged: Handler = (_, words) => {
    const kind = words.includes('Key=stage,Values=dev-prove') ? 'dev' : 'prod';
    const type = words.includes('--resource-type-filters') ? (words[3] ?? '').replace(':', ':.*:') : '';
    const isListed = (tag: string) => tag.endsWith(kind) && new RegExp(type).test(tag);
    return Array.from(this.#tags)
      .filter(isListed)
      .map((tag) => `arn:aws:${tag}`)
      .join('\n');
  };

  readonly #resources: Handler = (option) => {
    const { name, live } = this.#stack(option('stack-name'));
    const kind = name.includes('prod') ? 'prod' : 'dev';
    const type = /ResourceType=='AWS::([^']*)'/.exec(option('query'))?.[1] ?? '';
    const functions = [...Object.keys(live), ...(kind === 'prod' ? ['OutsideCheck'] : [])];
    const all: Record<string, [id: string, physical: string][]> = {
      'Lambda::Function': functions.map((each) => [each, `${name}-${each}`]),
      'Logs::LogGroup': functions.map((each) => [`${each}Logs`, `${name}-${each}Logs`]),
      'CodeDeploy::Application': [[`${changed}RollOutApplication`, `${name}-Application`]],
      'ApiGatewayV2::Api': [['Api', `api-${kind}`]],
      'DynamoDB::GlobalTable': [['Table', `${name}-Table`]],
    };
    return (all[type] ?? []).map(([id, physical]) => `${id}12AB34CD\t${physical}`).join('\n');
  };

  readonly #logs: Handler = (option) => {
    const pattern = option('filter-pattern');
    if (pattern.includes('problem')) return this.#problems.splice(0).join('\n');
    if (pattern.includes('deleted')) return '{"message":{"outcome":"deleted"}}';
    if (pattern.includes('deployment')) return '{"message":{"outcome":"succeeded","deployment":"d-1"}}';
    return [
      '{"type":"platform.report","record":{"metrics":{"durationMs":31.5,"initDurationMs":98.1}}}',
      '{"type":"platform.report","record":{"metrics":{"durationMs":4.2}}}',
    ].join('\n');
  };

  /** An alarm notifies when it goes off and when it ends. */
  #notify(cause: string, isOn: boolean): void {
    const [alarm, topic] = notifying[cause] ?? [];
    if (alarm === undefined) throw new Error(`The fake account does not know what ${cause} sets off`);
    if (this.silent === alarm || this.on.has(alarm) === isOn) return;
    if (isOn) this.on.add(alarm);
    else this.on.delete(alarm);
    const arn = `arn:aws:sns:eu-central-1:${account}:${prod}-Monitoring${topic}12AB34CD-a1B2c3D4e5F6`;
    const refusal = `CloudWatch Alarms is not authorized to perform: SNS:Publish on resource: ${arn}`;
    const failed = `Failed to execute action ${arn}. Received error: "${refusal}"`;
    this.#actions.push([alarm, topic === this.refusing ? failed : `Successfully executed action ${arn}`]);
  }

  readonly #history: Handler = (option) => {
    const name = option('alarm-name');
    if (option('alarm-types') !== 'CompositeAlarm')
      return this.#alarms.some((alarm) => name.endsWith(`-${alarm}`)) ? '2026-11-26T16:00:00+00:00' : '';
    const found = this.#actions.filter(([alarm]) => name === `${prod}-${alarm}`).map(([, result]) => result);
    for (const cause of this.#setByHand.splice(0)) this.#notify(cause, false);
    return option('history-item-type') === 'Action' ? found.join('\n') : '';
  };

  readonly #handlers: Record<string, Handler> = {
    ...Object.fromEntries(silent.map((command) => [command, () => ''])),
    '--version': () => this.version,
    git: (_, [action]) => (action === 'rev-parse' ? commit : ''),
    node: (_, [, version = '', parent = '']) => {
      const folder = path.join(parent, version);
      mkdirSync(folder, { recursive: true });
      return folder;
    },
    'lambda-service': (option, words) => {
      const stack = () => this.#stack(option('stack'));
      if (words.includes('token')) return `eyJhbGciOiJSUzI1NiJ9.${stack().name}.AAAA`;
      if (words.includes('request'))
        return `10:00:00 POST /path 200 12 ms id=\n    Authorizer INFO {}\n    ${changed} INFO {}`;
      if (words.includes('verify'))
        return `The stack\n${Object.keys(stack().live)
          .map((each) => `${each} version 1 matches: 00`)
          .join('\n')}`;
      if (words.includes('restore')) return '1 restored, 5 already there, 0 failed';
      return '      Tests  134 passed (134)';
    },
    'sts get-caller-identity': () => this.account,
    'cloudformation describe-stacks': (option) => {
      if (option('stack-name') === 'CDKToolkit') return '{}';
      const stack = this.#stack(option('stack-name'));
      if (stack.status === 'UPDATE_IN_PROGRESS' && this.looks-- === 0) stack.status = 'UPDATE_COMPLETE';
      const { status, updates, name } = stack;
      const kind = name.includes('prod') ? 'prod' : 'dev';
      const outputs: Record<string, string> = {
        ApiUrl: `${this.url}/${kind}`,
        TableName: `${name}-Table`,
        UserPoolId: `eu-central-1_${kind}`,
        ClientId: 'abcdefghijklmnopqrstuvwx12',
      };
      return outputs[this.#inQuery(option('query'))] ?? `${status}\t${updates}`;
    },
    'cloudformation list-stack-resources': this.#resources,
    'cloudformation update-termination-protection': (option) => this.#release('protected', option('stack-name')),
    'cloudformation describe-stack-events': () => `${changed}\tIt was stopped.`,
    'dynamodb describe-table': (option) => {
      const isProtected = this.#protections.has(`protected ${option('table-name')}`);
      if (option('query').includes('TableStatus,')) return `ACTIVE\t${isProtected ? 'True' : 'False'}`;
      if (option('query').includes('TableStatus')) return 'ACTIVE';
      return option('query').includes('KeySchema') ? tableKey.name : tableKey.type;
    },
    'dynamodb describe-continuous-backups': () => '2999-01-01T00:00:00+00:00',
    'dynamodb delete-item': (option) => {
      const { [tableKey.name]: key } = JSON.parse(option('key'));
      const id: string = key[tableKey.type];
      return this.#items.delete(id) ? 'object' : 'null';
    },
    'dynamodb restore-table-to-point-in-time': (option) => void this.kept.push(['table', option('target-table-name')]),
    'dynamodb get-item': () => 'object',
    'dynamodb list-tables': () => this.#list('table'),
    'dynamodb update-table': (option) => this.#release('protected', option('table-name')),
    'dynamodb update-continuous-backups': (option) => this.#release('recovery', option('table-name')),
    'dynamodb delete-table': (option) => this.#delete('table', option('table-name')),
    'iam get-policy': () => 'the policy',
    'iam list-roles': (option) => this.#list('role', `^${option('path-prefix').split('/')[1]}-[A-Z]`),
    'iam delete-role': (option) => this.#delete('role', option('role-name')),
    'logs describe-log-groups': (option) => this.#list('log', option('log-group-name-pattern')),
    'logs delete-log-group': (option) => this.#delete('log', option('log-group-name')),
    'logs filter-log-events': this.#logs,
    'cognito-idp list-user-pool-client-secrets': () => this.#secrets.join('\n'),
    'cognito-idp add-user-pool-client-secret': () => String(this.#secrets.push('two')),
    'cognito-idp delete-user-pool-client-secret': (option) => {
      this.#secrets = this.#secrets.filter((each) => each !== option('client-secret-id'));
    },
    'cognito-idp describe-user-pool': (option) => {
      const pool = this.#list('pool', option('user-pool-id'));
      if (pool === '') throw new Error('ResourceNotFoundException');
      return option('query') === 'UserPool.Domain' ? 'plants-domain' : pool;
    },
    'cognito-idp delete-user-pool-domain': (option) => this.#release('domain', option('user-pool-id')),
    'cognito-idp update-user-pool': (option) => this.#release('protected', option('user-pool-id')),
    'kms describe-key': (option) => (option('query').includes(`!='${this.keyState}'`) ? '' : option('key-id')),
    'cognito-idp delete-user-pool': (option) => this.#delete('pool', option('user-pool-id')),
    'resourcegroupstaggingapi get-resources': this.#tagged,
    'lambda get-alias': (option) => {
      const { stack, id } = this.#functionOf(option);
      const version = stack.live[id];
      if (version === undefined) throw new Error('ResourceNotFoundException: there is no alias');
      return String(version);
    },
    'lambda list-versions-by-function': () => '$LATEST\n1\n2\n3',
    'lambda invoke': (option) => {
      if (option('payload') === '{}') this.#alarms.push('AuthorizerErrors');
      return Buffer.from('{"message":{"reason":"malformed"},"reason":"malformed"}').toString('base64');
    },
    'lambda put-function-concurrency': (option) => {
      const { stack, id } = this.#functionOf(option);
      stack.withoutInstances.push(id);
    },
    'lambda delete-function-concurrency': (option) => {
      this.#functionOf(option).stack.withoutInstances = [];
    },
    'apigatewayv2 reset-authorizers-cache': (option) => {
      this.#stack(option('api-id').replace('api-', 'PlantStore-').concat('-prove')).isKept = false;
    },
    'lambda get-account-settings': () => '10',
    'configure export-credentials': () =>
      'export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nexport AWS_SECRET_ACCESS_KEY=secret',
    'deploy list-deployment-groups': () => 'group',
    'deploy list-deployments': () => (this.#stop ? 'd-1' : ''),
    'deploy stop-deployment': () => this.#stop?.(),
    'cloudwatch describe-alarms': (option) => {
      if (option('alarm-types') !== 'CompositeAlarm') return option('alarm-names') ? `${changed}Faults` : '';
      return this.on.has(option('alarm-names').replace(`${prod}-`, '')) ? 'ALARM' : 'OK';
    },
    'cloudwatch describe-alarm-history': this.#history,
    'cloudwatch set-alarm-state': (option) => {
      const cause = option('alarm-name').replace(`${prod}-`, '');
      this.#notify(cause, option('state-value') === 'ALARM');
      this.#setByHand.push(cause);
    },
    'cloudwatch get-metric-statistics': () => '30.0',
    'cloudwatch list-metrics': () => `${changed}Faults`,
    'xray get-trace-summaries': () => {
      const found = this.#isTraced ? '1-5f84c7a1-000000000000000000000000' : '';
      this.#isTraced = false;
      return found;
    },
  };
}

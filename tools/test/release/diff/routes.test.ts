import { expect, test } from 'vitest';
import { findRoutes } from '../../../release/diff/access.ts';
import type { Resource, Template } from '../../../release/diff/template.ts';

const route = (RouteKey: string, more: object): Resource => ({
  Type: 'AWS::ApiGatewayV2::Route',
  Properties: { ApiId: { Ref: 'Api' }, RouteKey, ...more },
});
const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'Authorizer' } };
const authorizer = (AuthorizerResultTtlInSeconds: number): Resource => ({
  Type: 'AWS::ApiGatewayV2::Authorizer',
  Properties: { AuthorizerResultTtlInSeconds },
});
const api = (properties: object): Resource => ({
  Type: 'AWS::ApiGatewayV2::Api',
  Properties: { DisableExecuteApiEndpoint: true, ...properties },
});
const url = (AuthType: string): Resource => ({
  Type: 'AWS::Lambda::Url',
  Properties: { AuthType, TargetFunctionArn: { 'Fn::GetAtt': ['Function', 'Arn'] } },
});

const before = { Api: api({}), Authorizer: authorizer(0), Get: route('GET /things', guarded) };
const open = { Put: route('PUT /things', {}) };

const changes = (after: Template['Resources'], more: Template['Resources'] = {}): string[] =>
  findRoutes({ Resources: { ...before, ...more } }, { Resources: after }).map(({ rule, what }) => `${rule}: ${what}`);

test.each<[says: string, after: Template['Resources']]>([
  ['route: PUT /things of Api would be new.', { Put: route('PUT /things', guarded) }],
  ['open-route: PUT /things of Api would be open to everyone.', open],
  ['open-route: GET /things of Api would be open to everyone.', { Get: route('GET /things', {}) }],
  [
    'route: GET /things of Api would be guarded in another way.',
    { Get: route('GET /things', { AuthorizationType: 'AWS_IAM' }) },
  ],
  ['route: GET /things of Api would be guarded in another way.', { Authorizer: authorizer(300) }],
  ['route: The URL of Function.Arn would be new.', { Url: url('AWS_IAM') }],
  ['open-route: The URL of Function.Arn would be open to everyone.', { Url: url('NONE') }],
  ['open-route: $default of Api would be open to everyone.', { Api: api({ Target: 'arn:function' }) }],
  ['route: The execute-api address of Api would be new.', { Api: api({ DisableExecuteApiEndpoint: false }) }],
])('findRoutes reports "%s"', (says, after) => {
  expect(changes({ ...before, ...after })).toEqual([says]);
});

test('findRoutes reports nothing if a route goes, gets another logical id, or was open before', () => {
  const { Get, ...others } = before;
  expect(changes({ ...others })).toEqual([]);
  expect(changes({ ...others, Other: Get })).toEqual([]);
  expect(changes({ ...before, ...open }, open)).toEqual([]);
});

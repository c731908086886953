import { expect, test } from 'vitest';
import { findRoutes } from '../../../scripts/diff/routes.ts';
import type { Template } from '../../../scripts/diff/template.ts';

const route = (RouteKey: string, more: object) => ({
  Type: 'AWS::ApiGatewayV2::Route',
  Properties: { ApiId: { Ref: 'Api' }, RouteKey, ...more },
});
const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'Authorizer' } };
const open = { AuthorizationType: 'NONE' };
const get = route('GET /things', guarded);

const authorizer = { Type: 'AWS::ApiGatewayV2::Authorizer', Properties: { AuthorizerResultTtlInSeconds: 0 } };

const api = (properties: object) => ({
  Type: 'AWS::ApiGatewayV2::Api',
  Properties: { DisableExecuteApiEndpoint: true, ...properties },
});

const stack = (Resources: Template['Resources'] = {}): Template => ({
  Resources: { Api: api({}), Authorizer: authorizer, Get: get, ...Resources },
});
const url = (AuthType: string) => ({
  Type: 'AWS::Lambda::Url',
  Properties: { AuthType, TargetFunctionArn: { 'Fn::GetAtt': ['Function', 'Arn'] } },
});

test.each<[what: string, rule: string, says: string, after: Template]>([
  ['a route is new', 'route', 'PUT /things of Api would be new.', stack({ Put: route('PUT /things', guarded) })],
  ['a route gets another path', 'route', 'GET /all of Api would be new.', stack({ Get: route('GET /all', guarded) })],
  [
    'a route is new and open',
    'open-route',
    'PUT /things of Api would be open to everyone.',
    stack({ Put: route('PUT /things', {}) }),
  ],
  [
    'a route loses its authorizer',
    'open-route',
    'GET /things of Api would be open to everyone.',
    stack({ Get: route('GET /things', open) }),
  ],
  [
    'a route gets another authorizer',
    'route',
    'GET /things of Api would be guarded in another way.',
    stack({ Get: route('GET /things', { AuthorizationType: 'AWS_IAM' }) }),
  ],
  [
    'the authorizer of a route changes',
    'route',
    'GET /things of Api would be guarded in another way.',
    stack({ Authorizer: { ...authorizer, Properties: { AuthorizerResultTtlInSeconds: 300 } } }),
  ],
  ['the URL of a function is new', 'route', 'The URL of Function.Arn would be new.', stack({ Url: url('AWS_IAM') })],
  [
    'the URL of a function is new and open',
    'open-route',
    'The URL of Function.Arn would be open to everyone.',
    stack({ Url: url('NONE') }),
  ],
  [
    'a new route is made together with its API',
    'open-route',
    '$default of Api would be open to everyone.',
    stack({ Api: api({ Target: 'arn:function' }) }),
  ],
  [
    'an address of the API is no longer disabled',
    'route',
    'The execute-api address of Api would be new.',
    stack({ Api: api({ DisableExecuteApiEndpoint: false }) }),
  ],
])('findRoutes reports a change if %s', (_, rule, what, after) => {
  expect(findRoutes(stack(), after)).toEqual([{ rule, what }]);
});

test.each<[what: string, before: Template, after: Template]>([
  ['nothing changes', stack(), stack()],
  ['a route goes', stack({ Put: route('PUT /things', guarded) }), stack()],
  [
    'a route only gets another logical id',
    stack(),
    { Resources: { Api: api({}), Authorizer: authorizer, Other: get } },
  ],
  ['a route was open before', stack({ Put: route('PUT /things', open) }), stack({ Put: route('PUT /things', open) })],
])('findRoutes reports nothing if %s', (_, before, after) => {
  expect(findRoutes(before, after)).toEqual([]);
});

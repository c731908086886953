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

const stack = (Resources: Template['Resources'] = {}): Template => ({
  Resources: { Authorizer: authorizer, Get: get, ...Resources },
});
const url = (AuthType: string) => ({
  Type: 'AWS::Lambda::Url',
  Properties: { AuthType, TargetFunctionArn: { 'Fn::GetAtt': ['Function', 'Arn'] } },
});

test.each<[what: string, rule: string, says: string, after: Template]>([
  ['is new', 'route', 'PUT /things of Api would be new.', stack({ Put: route('PUT /things', guarded) })],
  ['has another path', 'route', 'GET /all of Api would be new.', stack({ Get: route('GET /all', guarded) })],
  [
    'is new and open',
    'open-route',
    'PUT /things of Api would be open to everyone.',
    stack({ Put: route('PUT /things', {}) }),
  ],
  [
    'loses its authorizer',
    'open-route',
    'GET /things of Api would be open to everyone.',
    stack({ Get: route('GET /things', open) }),
  ],
  [
    'gets another authorizer',
    'route',
    'GET /things of Api would be guarded in another way.',
    stack({ Get: route('GET /things', { AuthorizationType: 'AWS_IAM' }) }),
  ],
  [
    'has its authorizer changed',
    'route',
    'GET /things of Api would be guarded in another way.',
    stack({ Authorizer: { ...authorizer, Properties: { AuthorizerResultTtlInSeconds: 300 } } }),
  ],
  ['of a function is new', 'route', 'The URL of Function.Arn would be new.', stack({ Url: url('AWS_IAM') })],
  [
    'of a function is new and open',
    'open-route',
    'The URL of Function.Arn would be open to everyone.',
    stack({ Url: url('NONE') }),
  ],
])('a route is found if it %s', (_, rule, what, after) => {
  expect(findRoutes(stack(), after)).toEqual([{ rule, what }]);
});

test.each<[what: string, before: Template, after: Template]>([
  ['nothing changes', stack(), stack()],
  ['a route goes', stack({ Put: route('PUT /things', guarded) }), stack()],
  ['a route only gets another logical id', stack(), { Resources: { Authorizer: authorizer, Other: get } }],
  ['a route was open before', stack({ Put: route('PUT /things', open) }), stack({ Put: route('PUT /things', open) })],
])('no route is found if %s', (_, before, after) => {
  expect(findRoutes(before, after)).toEqual([]);
});

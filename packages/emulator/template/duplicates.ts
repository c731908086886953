import { aliasArn, functionName, tableName } from './references.ts';
import type { Resource } from './resource.ts';
import type { Resources } from './resources.ts';

/**
 * Refuses resources with the same name, ARN or route: AWS would create only the first. AWS does not document whether
 * routes may differ only in the names of variables; they are refused, too, as only one would get requests here.
 */
export const refuseDuplicates = (resources: Resources): void => {
  const rename = 'Rename one of them.';
  mustDiffer(resources.ofType('AWS::Lambda::Function'), 'name', functionName, rename);
  mustDiffer(resources.ofType('AWS::Lambda::Alias'), 'ARN', aliasArn, rename);
  mustDiffer(resources.ofType('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable'), 'name', tableName, rename);
  mustDiffer(
    resources.ofType('AWS::ApiGatewayV2::Route'),
    'route',
    routePattern,
    'Leave one of them out of the template.',
  );
};

/** The route key without the names of its variables, such as GET /orders/{}. */
const routePattern = (route: Resource<'AWS::ApiGatewayV2::Route'>): string =>
  route.text('RouteKey').replace(/\{[^}+]*/g, '{');

const mustDiffer = <T extends Resource>(resources: T[], what: string, of: (resource: T) => string, advice: string) => {
  for (const [value, [first, second]] of Map.groupBy(resources, of)) {
    if (first && second) throw second.refuse(`${first.logicalId} has the same ${what}, ${value}`, advice);
  }
};

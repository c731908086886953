import { Annotations, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import type { Construct } from 'constructs';
import type { Operation } from './operations.ts';
import { ServiceLog } from './service-log.ts';
import { ServiceStack } from './service-stack.ts';
import type { Domain, Settings } from './settings.ts';

/** `operations` and `responseHeaders` are those of functions/generated/contract.ts. Without origins, there is no CORS. */
type Cors = Pick<Settings, 'allowOrigins'> & {
  operations: Readonly<Record<string, Operation>>;
  responseHeaders: readonly string[];
};

type GuardedApiProps = Pick<Settings, 'stage' | 'throttle' | 'domain'> & { authorizer: IFunction; cors: Cors };

/** The HTTP API, at first without routes. Its authorizer guards every route that is added. */
export class GuardedApi extends apigateway.HttpApi {
  /** Outputs of the stack. Without a DNS record, make one that points from the domain name to `DomainTarget`. */
  readonly outputs: { ApiUrl: string; DomainTarget?: string };

  constructor(scope: Construct, id: string, props: GuardedApiProps) {
    const { authorizer, cors, stage, throttle, domain } = props;
    const stack = Stack.of(scope);
    const { stackName } = stack;
    const authorizerCache = stack instanceof ServiceStack ? stack.authorizerCache : 0;
    super(scope, id, {
      apiName: stackName,
      createDefaultStage: false,
      ...(cors.allowOrigins.length > 0 && { corsPreflight: corsFor(cors) }),
      // Only on request: until the domain name leads to the API, clients have no other address.
      ...(domain?.defaultAddress === 'off' && { disableExecuteApiEndpoint: true }),
      defaultAuthorizer: new HttpLambdaAuthorizer('BearerAuth', authorizer, {
        responseTypes: [HttpLambdaResponseType.SIMPLE],
        resultsCacheTtl: Duration.seconds(authorizerCache),
        // A route may require other scopes than another, so a kept result must not hold for all of them.
        ...(authorizerCache > 0 && { identitySource: ['$request.header.Authorization', '$context.routeKey'] }),
      }),
    });
    // API Gateway adds log groups to a policy of limited size and never removes them; names with this prefix share one
    // entry. In `prod`, AWS generates the name: a log group outlives its stack, and would block a fixed name.
    const logGroupName = `/aws/vendedlogs/${stackName}-AccessLog`;
    const accessLog = new ServiceLog(this, 'AccessLog', stage, stage === 'prod' ? {} : { logGroupName });
    const apiStage = new apigateway.HttpStage(this, 'Stage', {
      httpApi: this,
      autoDeploy: true,
      throttle,
      accessLogSettings: { destination: new apigateway.LogGroupLogDestination(accessLog), format: accessLogFormat },
    });
    this.outputs = domain ? this.#addDomain(domain, apiStage) : { ApiUrl: this.apiEndpoint };
  }

  #addDomain({ domainName: name, defaultAddress, certificateArn, zone }: Domain, stage: apigateway.HttpStage) {
    const domainName = new apigateway.DomainName(this, 'Domain', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'DomainCertificate', certificateArn),
      securityPolicy: apigateway.SecurityPolicy.TLS_1_2,
    });
    new apigateway.ApiMapping(this, 'Mapping', { api: this, domainName, stage });
    // If AWS refuses the certificate or the record, the default address stays open. The mapping refers to the API, so the
    // API cannot also wait for the mapping.
    if (defaultAddress === 'off') this.node.defaultChild?.node.addDependency(domainName);
    else this.#keepDefaultAddress(name, defaultAddress);
    const { regionalDomainName, regionalHostedZoneId } = domainName;
    const ApiUrl = `https://${name}`;
    if (zone === undefined) return { ApiUrl, DomainTarget: regionalDomainName };
    new ARecord(domainName, 'Record', {
      zone: HostedZone.fromHostedZoneAttributes(domainName, 'Zone', zone),
      recordName: name,
      target: RecordTarget.fromAlias(new ApiGatewayv2DomainProperties(regionalDomainName, regionalHostedZoneId)),
    });
    return { ApiUrl };
  }

  /** A note rather than a warning, which `npm start` would print and `cdk --strict` refuse: all is as safe as before. */
  #keepDefaultAddress(name: string, decided: 'on' | undefined): void {
    const description = `AWS's own address is open beside ${name}. Once clients use ${name}, close it: defaultAddress=off.`;
    new CfnOutput(Stack.of(this), 'DefaultAddress', { value: this.apiEndpoint, description });
    const message = `${description} To keep it, set defaultAddress=on. See docs/deploy.md, A domain of your own.`;
    if (decided === undefined) Annotations.of(this).addInfoV2('lambda-service:defaultAddress', message);
  }
}

/** Returns CORS settings for the contract's methods and headers. Cookies are not allowed: tokens are in a header. */
export const corsFor = ({ operations, responseHeaders, allowOrigins }: Cors): apigateway.CorsPreflightOptions => {
  const all = Object.values(operations);
  const parameters = all.flatMap((operation) => operation.parameters.filter((each) => each.in === 'header'));
  return {
    allowOrigins,
    allowMethods: [...new Set(all.map(({ method }) => apigateway.CorsHttpMethod[method]))],
    allowHeaders: [...new Set(['authorization', 'content-type', ...parameters.map(({ name }) => name)])],
    exposeHeaders: [...responseHeaders],
    // How long a browser may cache the answer to a CORS preflight request. Chromium caches it for at most two hours.
    maxAge: Duration.hours(2),
  };
};

/** Of the request headers, only User-Agent goes to the access log, because others may contain secrets. */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    time: '$context.requestTime',
    sourceIp: '$context.identity.sourceIp',
    method: '$context.httpMethod',
    route: '$context.routeKey',
    status: '$context.status',
    latency: '$context.responseLatency',
    integrationStatus: '$context.integrationStatus',
    integrationError: '$context.integrationErrorMessage',
    integrationRequestId: '$context.integration.requestId',
    authorizerError: '$context.authorizer.error',
    gatewayError: '$context.error.message',
    subject: '$context.authorizer.sub',
    responseLength: '$context.responseLength',
    userAgent: '$context.identity.userAgent',
  }),
);

import { DomainName, SecurityPolicy } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import type { Construct } from 'constructs';
import type { Domain } from './settings.ts';

/** The API's custom domain name, for TLS 1.2 or newer, with a DNS record if the settings name the DNS zone. */
export class ApiDomain extends DomainName {
  /**
   * Outputs of the stack. If the stack makes no DNS record, add one that points from the domain name to `DomainTarget`.
   */
  readonly outputs: { ApiUrl: string; DomainTarget?: string };

  constructor(scope: Construct, id: string, { domainName, certificateArn, zone }: Domain) {
    super(scope, id, {
      domainName,
      certificate: Certificate.fromCertificateArn(scope, `${id}Certificate`, certificateArn),
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    const ApiUrl = `https://${domainName}`;
    this.outputs = zone ? { ApiUrl } : { ApiUrl, DomainTarget: this.regionalDomainName };
    if (zone === undefined) return;
    // The domain has IPv4 addresses only, so it needs no AAAA record.
    new ARecord(this, 'Record', {
      zone: HostedZone.fromHostedZoneAttributes(this, 'Zone', zone),
      recordName: domainName,
      target: RecordTarget.fromAlias(
        new ApiGatewayv2DomainProperties(this.regionalDomainName, this.regionalHostedZoneId),
      ),
    });
  }
}

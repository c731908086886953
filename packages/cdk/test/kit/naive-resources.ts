/**
 * Makes the service's app add resources that break a rule of each cdk-nag pack. A test loads this file before the app
 * makes the stack.
 */
import { App, Stack } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Bucket } from 'aws-cdk-lib/aws-s3';

const { synth } = App.prototype;
App.prototype.synth = function (this: App, ...options) {
  const stack = this.node.children.find((each) => Stack.isStack(each));
  if (stack !== undefined && stack.node.tryFindChild('NaiveBucket') === undefined) {
    new Bucket(stack, 'NaiveBucket');
    const code = Code.fromInline('exports.handler = () => {}');
    new LambdaFunction(stack, 'NaiveFunction', { code, handler: 'index.handler', runtime: Runtime.NODEJS_LATEST });
  }
  return synth.apply(this, options);
};

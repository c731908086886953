import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { loadStack } from '../under-test.ts';
import { makeApp, synthesize } from './make-stack.ts';
import { type Template as PlainTemplate, withoutHashes } from './template.ts';

const addStack = await loadStack();

/** Makes a CDK app with this context and passes it to `use`. */
export const withApp = <T>(context: Record<string, string>, use: (app: App) => T): T => {
  // Without `outdir`, CDK leaves a temporary folder behind for each App.
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'service-test-'));
  try {
    return use(makeApp(context, outdir));
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

/** Makes the service's stack with this CDK context and passes it to `use`. */
export const withStack = <T>(context: Record<string, string>, use: (stack: Stack) => T): T =>
  withApp(context, (app) => use(addStack(app)));

/** Synthesizes the service's stack with this CDK context, template and bundles, into a folder. @returns the template */
export const synthesizeTo = (folder: string, context: Record<string, string>) =>
  synthesize(addStack, context, folder).template;

/** Makes a stack for a single construct, which is not synthesized, so nothing is written to `outdir`. */
export const emptyStack = (): Stack => new Stack(new App({ outdir: os.tmpdir() }), 'Default');

export const templateOf = (context: Record<string, string>): Template =>
  withStack(context, (stack) => Template.fromStack(stack));

/** Returns the template of the service's stack without CDK's hashes. */
export const plainTemplateOf = (context: Record<string, string>): PlainTemplate =>
  withoutHashes(templateOf(context).toJSON());

/** Returns the template of an order service's stack, to which `build` adds constructs, without CDK's hashes. */
export const orderTemplate = (build: (stack: Stack) => unknown): PlainTemplate =>
  withApp({}, (app) => {
    const stack = new Stack(app, 'OrderStore');
    build(stack);
    return withoutHashes(Template.fromStack(stack).toJSON());
  });

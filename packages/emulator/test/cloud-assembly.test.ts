import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readStacks } from '../template/cloud-assembly.ts';
import { temporaryFolder } from './kit/temporary.ts';

test('readStacks reads the stacks of a cloud assembly and of its stages', async () => {
  const folder = await temporaryFolder();
  const write = async (name: string, content: object) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), JSON.stringify(content));
  };
  const stack = (templateFile: string) => ({ type: 'aws:cloudformation:stack', properties: { templateFile } });
  await write('manifest.json', {
    artifacts: {
      Orders: stack('orders.json'),
      'Orders.assets': { type: 'cdk:asset-manifest', properties: { file: 'Orders.assets.json' } },
      'assembly-Prod': { type: 'cdk:cloud-assembly', properties: { directoryName: 'assembly-Prod' } },
      Tree: { type: 'cdk:tree' },
    },
  });
  await write('assembly-Prod/manifest.json', {
    artifacts: {
      ProdOrders: {
        type: 'aws:cloudformation:stack',
        displayName: 'Prod/Orders',
        properties: { templateFile: 'orders.json', stackName: 'Prod-Orders' },
      },
    },
  });
  const [template, ofStage] = [{ Resources: { Api: {} } }, { Resources: {} }];
  await write('orders.json', template);
  await write('assembly-Prod/orders.json', ofStage);
  expect(readStacks(folder)).toEqual([
    { names: ['Orders', 'Orders'], template, environment: '' },
    { names: ['Prod/Orders', 'Prod-Orders'], template: ofStage, environment: '' },
  ]);
});

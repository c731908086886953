import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { defaultAccount } from '../served-stack.ts';
import { readDeployment, readStacks } from '../template/cloud-assembly.ts';
import { account } from './kit/templates.ts';
import { temporaryFolder } from './kit/temporary.ts';

test('readStacks reads the stacks of a cloud assembly and of its stages, and readDeployment finds one among them', async () => {
  const folder = await temporaryFolder();
  const write = async (name: string, content: object) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), JSON.stringify(content));
  };
  const stack = (templateFile: string, environment = 'aws://unknown-account/unknown-region') => ({
    type: 'aws:cloudformation:stack',
    environment,
    properties: { templateFile },
  });
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
        ...stack('', `aws://${account.id}/${account.region}`),
        displayName: 'Prod/Orders',
        properties: { templateFile: 'orders.json', stackName: 'orders-1' },
      },
      ProdData: stack('../orders.json'),
    },
  });
  const [template, ofStage] = [{ Resources: { Api: {} } }, { Resources: {} }];
  await write('orders.json', template);
  await write('assembly-Prod/orders.json', ofStage);
  const inProd = { folder: path.join(folder, 'assembly-Prod') };
  const stacks = [
    { names: ['Orders', 'Orders'], nameOnAws: 'Orders', template, account: defaultAccount, folder },
    { names: ['Prod/Orders', 'orders-1'], nameOnAws: 'orders-1', template: ofStage, account, ...inProd },
    { names: ['ProdData', 'ProdData'], nameOnAws: 'ProdData', template, account: defaultAccount, ...inProd },
  ];
  expect(readStacks(folder)).toEqual(stacks);
  const others = [stacks[2], stacks[0]];
  expect(readDeployment(ofStage, folder), 'those of the same stage first').toEqual({ ...stacks[1], others });

  await write('manifest.json', { artifacts: { Orders: stack('orders.json') } });
  const changed = { Resources: {} };
  expect(readDeployment(changed, folder), 'the only stack').toEqual({ ...stacks[0], others: [] });
  expect(readDeployment(changed, `${folder}/no-assembly`)).toEqual({ others: [] });
});

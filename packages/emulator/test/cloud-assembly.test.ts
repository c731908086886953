import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { defaultAccount } from '../served-stack.ts';
import { readDeployment, readStacks } from '../template/cloud-assembly.ts';
import { account } from './kit/templates.ts';
import { temporaryFolder } from './kit/temporary.ts';

const stackOf = (templateFile: unknown) => ({
  Orders: { type: 'aws:cloudformation:stack', properties: { templateFile } },
});

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
  const stacks = [
    { names: ['Orders', 'Orders'], nameOnAws: 'Orders', template, account: defaultAccount },
    { names: ['Prod/Orders', 'orders-1'], nameOnAws: 'orders-1', template: ofStage, account },
    { names: ['ProdData', 'ProdData'], nameOnAws: 'ProdData', template, account: defaultAccount },
  ];
  expect(readStacks(folder)).toEqual(stacks);
  expect(readDeployment(ofStage, folder)).toEqual(stacks[1]);

  await write('manifest.json', { artifacts: { Orders: stack('orders.json') } });
  const changed = { Resources: {} };
  expect(readDeployment(changed, folder), 'the only stack').toEqual(stacks[0]);
  expect(readDeployment(changed, `${folder}/no-assembly`)).toBeUndefined();
});

test.each<[artifacts: unknown, message: string]>([
  [null, 'manifest.json is not an object. '],
  [{ Orders: null }, 'Orders in FOLDER/manifest.json is not an object. '],
  [
    { Orders: { type: 'aws:cloudformation:stack', properties: 7 } },
    'Orders in FOLDER/manifest.json is not an object. ',
  ],
  [stackOf('../secret.json'), 'FOLDER/manifest.json names "../secret.json", which is not in FOLDER.'],
  [stackOf('link.json'), 'FOLDER/manifest.json names "link.json", which is not in FOLDER.'],
  [stackOf('a/../../cdk.out-2/secret.json'), 'which is not in FOLDER.'],
  ...[7, 'gone/orders.json', 'a\0b'].map((name): [unknown, string] => [
    stackOf(name),
    `FOLDER/manifest.json names ${JSON.stringify(name)}, which cannot be read. Run \`cdk synth\` again.`,
  ]),
  [stackOf('broken.json'), 'FOLDER/broken.json cannot be read: '],
  [stackOf('empty.json'), 'Resources in FOLDER/empty.json is not an object. '],
  [stackOf('list.json'), 'FOLDER/list.json is not an object. '],
  ...['.', '..', '', 'a/..', 'self', 7].map((directoryName): [unknown, string] => [
    { Prod: { type: 'cdk:cloud-assembly', properties: { directoryName } } },
    `FOLDER/manifest.json names ${JSON.stringify(directoryName)}, which ${directoryName === 7 ? 'cannot be read' : 'is not in'}`,
  ]),
])('readStacks refuses the artifacts %j: %s', async (artifacts, message) => {
  const parent = await temporaryFolder();
  const folder = path.join(parent, 'cdk.out');
  await mkdir(path.join(folder, 'a'), { recursive: true });
  await mkdir(`${folder}-2`);
  const files = {
    'broken.json': '{',
    'empty.json': '{"Resources":null}',
    'list.json': '[]',
    '../secret.json': '{"Resources":{}}',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  await writeFile(`${folder}-2/secret.json`, files['../secret.json']);
  await symlink('../secret.json', `${folder}/link.json`);
  await symlink('.', `${folder}/self`);
  await writeFile(path.join(folder, 'manifest.json'), JSON.stringify({ artifacts }));
  expect(() => readStacks(folder)).toThrow(message.replaceAll('FOLDER', folder));
});

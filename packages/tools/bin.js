#!/usr/bin/env node
/**
 * The command of a service: finds the service's project upwards from the current folder, and runs there on the Node.js
 * that the project pins. This file is plain JavaScript so that an old Node.js can run it.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNode, linkNode } from './node.js';

const args = process.argv.slice(2);

/**
 * Options of Node.js for `start`: the debugger's address is printed, but not served, and a larger space for new objects
 * saves a busy service CPU time.
 */
const nodeOptions = args[0] === 'start' ? ['--inspect-publish-uid=stderr', '--max-semi-space-size=16'] : [];

/** @param {string} folder @returns {string} */
const findProject = (folder) => {
  if (existsSync(path.join(folder, 'cdk.json'))) return folder;
  if (path.dirname(folder) !== folder) return findProject(path.dirname(folder));
  throw new Error(
    `${process.cwd()} is not in the project of a service: neither it nor a folder above it has a cdk.json.`,
  );
};

/** Runs this file again, on another Node.js or with other options of it. @param {string} node */
const runOn = (node) => {
  const command = [...nodeOptions, fileURLToPath(import.meta.url), ...args];
  if (process.execve) process.execve(node, [node, ...command]);
  const child = spawn(node, command, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('close', (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
};

/** Keeps requests to this machine from a proxy, by which Node.js sends them if the environment says so. */
const exemptThisMachine = () => {
  const given = process.env['no_proxy'] || process.env['NO_PROXY'] || '';
  const local = '127.0.0.1,localhost';
  if (given === '*' || given.endsWith(local)) return;
  for (const name of ['no_proxy', 'NO_PROXY']) process.env[name] = given ? `${given},${local}` : local;
};

/** Runs the program in the project's folder, on `node`. @param {string} root @param {string} node */
const run = async (root, node) => {
  // Child processes and threads use the cache, too.
  process.env['NODE_COMPILE_CACHE'] ||= path.join(root, 'node_modules/.cache/node');
  exemptThisMachine();
  if (node !== process.execPath || !nodeOptions.every((option) => process.execArgv.includes(option)))
    return runOn(node);
  // As npm does for its scripts: commands resolve the files that they are given from here.
  process.env['INIT_CWD'] = process.cwd();
  process.chdir(root);
  module.enableCompileCache(process.env['NODE_COMPILE_CACHE']);
  const { main } = await import('./main.ts');
  await main();
};

try {
  const root = findProject(process.cwd());
  // `prepare` runs this before it uses Node.js.
  if (args[0] === 'link-node') {
    linkNode(root);
    findNode(root);
  } else await run(root, findNode(root));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

export {
  curlLine,
  type ExampleRequest,
  exampleRequest,
  examplesOf,
  joined,
  operationsOf,
  quote,
  readContract,
  type Schema,
  toJson,
} from './contract.ts';
export { referencePage } from './reference.ts';

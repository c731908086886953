export {
  curlLine,
  type ExampleRequest,
  exampleRequest,
  examplesOf,
  operationsOf,
  quote,
  readContract,
  toJson,
} from './contract.ts';
export { referencePage } from './reference.ts';

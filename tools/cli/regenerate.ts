/** `node --import` runs this before a command that imports functions/generated: the contract may have changed. */
import { generateIfChanged } from '../../packages/cdk/generated-code.ts';

generateIfChanged();

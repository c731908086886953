/** `node --import` runs this before a command that imports functions/generated: the contract may have changed. */
import { generateIfChanged } from '@lambda-service/cdk/generated-code';

generateIfChanged();

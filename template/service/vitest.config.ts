import { serviceTests } from '@lambda-service/testing/preset';

export default serviceTests('test/service.ts', ['test', 'client/test']);

/** A service for orders, which leaves out what the environment variable LEAVE_OUT names. */
import type { Service } from '../../service.ts';

export const service: Service = {
  operations: {
    createOrder: {
      file: 'create-order',
      method: 'POST',
      path: '/orders',
      scopes: [],
      parameters: [],
      responses: [],
      errorCodes: [],
    },
  },
  create: 'createOrder',
  key: 'id',
  toItem: () => ({}),
  load: () => Promise.reject(new Error('No test loads an entry.')),
  newChecks: () => ({}),
  stack: () => Promise.reject(new Error('No test makes the stack.')),
  leaveOut: JSON.parse(process.env['LEAVE_OUT'] ?? '{}'),
};

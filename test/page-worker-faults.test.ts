// What a handler throws may itself throw when it is looked at.
import { expect, test } from 'vitest';
import { faultOf } from '../src/page-worker/messages.ts';

function errorWith(name: string, descriptor: PropertyDescriptor): Error {
  return Object.defineProperty(new Error('thrown'), name, { configurable: true, ...descriptor });
}

function fail(): never {
  throw new Error('not to be looked at');
}

test.each([
  ['a message', errorWith('message', { get: fail })],
  ['a stack', errorWith('stack', { get: fail })],
  ['a code', errorWith('code', { get: fail })],
  ['a name', errorWith('name', { value: { toString: fail } })],
  ['a prototype', new Proxy(new Error('thrown'), { getPrototypeOf: fail })],
])('an error with %s that throws is told of as far as it can be', (_, thrown) => {
  const fault = faultOf(thrown);
  expect(fault.name).toBe('Error');
  expect(fault.message).not.toBe('');
});

test('nothing is sent of an error that could not be copied', () => {
  const thrown = Object.assign(new Error('thrown'), { stack: () => 'stack', code: Symbol('code') });
  expect(structuredClone(faultOf(thrown))).toEqual({ name: 'Error', message: 'thrown' });
});

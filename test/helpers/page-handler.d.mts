import type { Page } from '../../src/index.ts';

export default function handle(page: Page): unknown;
export function surfaceOf(page: Page): Readonly<Record<string, unknown>>;

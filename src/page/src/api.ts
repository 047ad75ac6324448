/* Requests to fgpu. A bearer token, where fgpu wants one, lives in this page's memory alone and goes into a header: EventSource could
 * not send one, so the stream is read by fetch, too. */
import type { Explanation, History, State, WhatIf } from './types.ts';

export class HttpError extends Error {
  readonly status: number;
  readonly retryAfter: number; /* s; 0: not said */
  constructor(status: number, text: string, retryAfter: number) {
    super(text);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

let token = '';

export function set_token(t: string): void {
  token = t.trim();
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== '') headers.set('Authorization', `Bearer ${token}`);
  const reply = await fetch(path, { ...init, headers, cache: 'no-store', credentials: 'same-origin', redirect: 'error' });
  if (!reply.ok) {
    const text = (await reply.text()).trim().slice(0, 500);
    throw new HttpError(reply.status, text === '' ? `${path}: status ${reply.status}` : text, Number(reply.headers.get('Retry-After')) || 0);
  }
  return reply;
}

async function json<T>(path: string, init: RequestInit = {}): Promise<T> {
  return await (await request(path, init)).json() as T;
}

export const read_state = (signal: AbortSignal): Promise<State> => json<State>('/state', { signal });
export const read_history = (): Promise<History> => json<History>('/v1/history');

export function explain(namespace: string, pod: string): Promise<Explanation> {
  return json<Explanation>(`/v1/explain?pod=${encodeURIComponent(namespace)}/${encodeURIComponent(pod)}`);
}

export function what_if(limits: Record<string, string>, annotations: Record<string, string>, namespace: string, count: number): Promise<WhatIf> {
  return json<WhatIf>('/v1/whatif', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ limits, annotations, namespace, count }),
  });
}

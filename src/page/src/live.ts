/* Keeps a model equal to fgpu's: /state, then the events of /v1/stream; again and again, for ever.
 *
 * connecting -> live -> lost -> connecting ... A stream that ends in order, as each does after minutes, is followed by the next at once. It
 * is lost when it fails, or says nothing for SILENCE_MS (fgpu sends a comment every 15 s). Then the page keeps what it knows, says since
 * when it is stale, and asks again after a pause that doubles up to PAUSE_MAX_MS until events come.
 * /state is read again only if fgpu asks for it (reload) or is another process than before. */
import { HttpError, read_state, request } from './api.ts';
import type { Model } from './model.ts';
import { EventParser, type ServerEvent } from './sse.ts';
import type { ClusterEvent, DecisionsEvent, HelloEvent, NodesEvent } from './types.ts';

const SILENCE_MS = 40_000;
const PAUSE_MIN_MS = 500;
const PAUSE_MAX_MS = 10_000;

export type Phase = 'connecting' | 'live' | 'lost' | 'token';

export interface Status { phase: Phase; since: number; why: string }

export interface LiveHooks {
  changed(event: string): void; /* the model has changed, by such an event */
  status(s: Status): void;
}

export class Live {
  readonly #model: Model;
  readonly #hooks: LiveHooks;
  #stop = new AbortController();
  #loaded = false;
  #pause = PAUSE_MIN_MS;
  #wake: (() => void) | null = null;
  #phase: Phase = 'connecting';
  #since = Date.now();

  constructor(model: Model, hooks: LiveHooks) {
    this.#model = model;
    this.#hooks = hooks;
  }

  /* Never returns. */
  async run(): Promise<void> {
    for (;;) {
      const why = await this.#session();
      const at_once = why.again && this.#pause === PAUSE_MIN_MS; /* not twice without an event between: see #take */
      this.#set(at_once ? 'connecting' : why.phase, why.text);
      const wait = Math.max(this.#pause, why.retryMs);
      this.#pause = Math.min(PAUSE_MAX_MS, this.#pause * 2);
      if (at_once) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, why.phase === 'token' ? 3_600_000 : wait * (0.75 + Math.random() / 2));
        this.#wake = (): void => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
  }

  /* Do not wait any longer: there is a token, or somebody pressed the button. */
  retry(): void {
    this.#pause = PAUSE_MIN_MS;
    this.#wake?.();
  }

  async #session(): Promise<{ phase: Phase; text: string; retryMs: number; again: boolean }> {
    this.#stop = new AbortController();
    try {
      if (!this.#loaded) {
        this.#model.load(await this.#soon(read_state(this.#stop.signal)));
        this.#loaded = true;
        this.#hooks.changed('state');
      }
      const reload = await this.#stream();
      this.#loaded = !reload;
      return { phase: 'lost', text: reload ? 'what was read is not of the fgpu that answers now' : 'fgpu ended the stream', retryMs: 0, again: true };
    } catch (e) {
      if (e instanceof HttpError) {
        return { phase: e.status === 401 || e.status === 403 ? 'token' : 'lost', text: e.message, retryMs: e.retryAfter * 1000, again: false };
      }
      return { phase: 'lost', text: 'fgpu does not answer', retryMs: 0, again: false };
    } finally {
      this.#stop.abort();
    }
  }

  /* In SILENCE_MS, or the session is over. */
  #soon<T>(what: Promise<T>): Promise<T> {
    const stop = this.#stop, silence = setTimeout(() => stop.abort(), SILENCE_MS);
    return what.finally(() => clearTimeout(silence));
  }

  /* True: /state must be read again. False: the stream has ended. */
  async #stream(): Promise<boolean> {
    const m = this.#model.metadata;
    const query = `generation=${this.#model.nodesGeneration}&startedAt=${encodeURIComponent(m.startedAt ?? '')}`;
    const reply = await this.#soon(request(`/v1/stream?${query}`, { signal: this.#stop.signal, headers: { Accept: 'text/event-stream' } }));
    const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    for (;;) {
      const { value, done } = await this.#soon(reader.read());
      if (done) return false;
      for (const e of parser.feed(value)) {
        if (this.#take(e)) return true;
      }
    }
  }

  #take(e: ServerEvent): boolean {
    if (e.event === 'reload') return true;
    const data: unknown = JSON.parse(e.data);
    if (e.event === 'hello') {
      const hello = data as HelloEvent;
      if (this.#model.metadata.startedAt !== undefined && hello.startedAt !== this.#model.metadata.startedAt) return true;
      this.#set('live', '');
      return false;
    }
    this.#pause = PAUSE_MIN_MS;
    if (e.event === 'nodes') this.#model.apply_nodes(data as NodesEvent);
    else if (e.event === 'cluster') this.#model.apply_cluster(data as ClusterEvent);
    else if (e.event === 'decisions') this.#model.apply_decisions(data as DecisionsEvent);
    else return false;
    this.#hooks.changed(e.event);
    return false;
  }

  #set(phase: Phase, why: string): void {
    if (phase !== this.#phase) this.#since = Date.now();
    this.#phase = phase;
    this.#hooks.status({ phase, since: this.#since, why });
  }
}

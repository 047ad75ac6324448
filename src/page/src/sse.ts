/* Server-sent events as they come over the wire, in pieces of any size (WHATWG HTML 9.2.6). Pure. */

export interface ServerEvent { event: string; data: string; id: string }

export class EventParser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id = '';

  /* Those that are whole now. */
  feed(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const text = this.#rest + piece;
    let at = 0;
    for (let end = text.indexOf('\n', at); end >= 0; end = text.indexOf('\n', at)) {
      this.#line(text.slice(at, end).replace(/\r$/, ''), found);
      at = end + 1;
    }
    this.#rest = text.slice(at);
    return found;
  }

  #line(line: string, found: ServerEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) found.push({ event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id });
      this.#event = '';
      this.#data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return; /* a comment: keep-alive */
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id') this.#id = value;
  }
}

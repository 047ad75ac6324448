/* Amounts and times for people. Pure; the present moment is an argument. */

export function gpus(milli: number): string {
  return milli % 1000 === 0 ? String(milli / 1000) : (milli / 1000).toFixed(milli % 100 === 0 ? 1 : milli % 10 === 0 ? 2 : 3);
}

export function memory(mib: number): string {
  if (Math.abs(mib) >= 1024 * 1024) return `${trim(mib / 1024 / 1024)} TiB`;
  if (Math.abs(mib) >= 1024) return `${trim(mib / 1024)} GiB`;
  return `${mib} MiB`;
}

function trim(v: number): string {
  return Math.abs(v) >= 100 ? v.toFixed(0) : v.toFixed(1).replace(/\.0$/, '');
}

export function percent(part: number, whole: number): string {
  return whole <= 0 ? '–' : `${Math.round((part / whole) * 100)} %`;
}

export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/* "1 pod", "2 pods" */
export function plural(n: number, one: string): string {
  return `${count(n)} ${one}${n === 1 ? '' : 's'}`;
}

export function clock_time(iso: string): string {
  const d = new Date(iso);
  return Number.isNaN(d.getTime()) ? '' : d.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
}

export function ago(iso: string, now: number): string {
  const t = Date.parse(iso);
  return Number.isNaN(t) ? '' : span((now - t) / 1000);
}

export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/* "NVIDIA-A100-SXM4-80GB": "A100-SXM4-80GB" */
export function short_model(model: string): string {
  return model.replace(/^(NVIDIA|Tesla|AMD|Intel)[- _](?=.)/i, '').replace(/^Tesla[- _](?=.)/i, '');
}

/* What the page shows of the model: zoom, panel, theme. Parts of the page read it and change it by the actions; whoever listens is told. */
import type { Mark } from './draw.ts';
import type { Layout } from './layout.ts';
import type { Status } from './live.ts';
import type { Model } from './model.ts';
import type { NamespaceColours, Theme } from './palette.ts';

export type Tab = 'waiting' | 'decisions' | 'tenants' | 'whatif' | 'history';
export const TABS: readonly [Tab, string][] = [
  ['waiting', 'Waiting'], ['decisions', 'Decisions'], ['tenants', 'Tenants'], ['whatif', 'What if'], ['history', 'Over time'],
];

export type Detail =
  | { kind: 'pod'; namespace: string; pod: string }
  | { kind: 'node'; node: string; cell: number }; /* cell -1: the whole node */

export type ThemeChoice = 'auto' | Theme;

export interface Ui {
  zoom: Layout['zoom']; only: string; mark: Mark | null; tab: Tab; detail: Detail | null; theme: ThemeChoice; status: Status; loaded: boolean;
}

export interface Actions {
  set(change: Partial<Ui>): void;
  open_pod(namespace: string, pod: string): void;
  open_node(node: string, cell: number): void;
  go(node: string, cell: number): void; /* shows it in the grid */
  announce(text: string): void; /* to screen readers, politely */
}

/* What every panel is given. */
export interface Page { model: Model; ui: Ui; act: Actions; colours: NamespaceColours; theme: Theme; now: number }

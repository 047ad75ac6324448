/* What fgpu serves, as far as the page reads it: config/state.schema.json and config/explain.schema.json say what each key means. New
 * versions only add keys. */

export interface Amount { capacity: number; charged: number; free: number }

export interface Allocation {
  namespace: string; pod: string; uid: string; container: string; init: boolean;
  milli: number; memMib: number; qos?: string; state: string; since: string; decision: string; dialect: string;
}

export interface WholeAllocation {
  namespace: string; pod: string; uid: string; count: number; state: string; since: string;
}

export interface Mig { family?: string; slots?: number; profile?: string; counted?: boolean; gpu?: number; start?: number }

export interface Gpu {
  uuid: string; index: number; model: string; healthy: boolean; lost: boolean; exclusive: boolean;
  overCommitted?: boolean; groupTaken?: boolean; milli: Amount; memMib: Amount; slots: Amount; baseMemMib?: number;
  mig?: Mig; allocations: Allocation[];
}

export interface WholeGpus {
  capacity: number; charged: number; free: number; unitsPerGpu?: number; allocations: WholeAllocation[];
}

export interface UnplacedPod { namespace: string; pod: string; uid: string; state: string }

export interface Node {
  name: string; uid: string; described: boolean; schedulable: boolean; closed: boolean; elsewhere?: boolean;
  unmeasured?: boolean; handOffUnfit?: boolean; vendor?: string; note: string; mig?: { changing: boolean };
  hostGroup?: { name: string }; wholeGpus?: WholeGpus; gpus: Gpu[]; unplaced?: UnplacedPod[];
}

export interface GpuRequest {
  container: string; count: number; kind: string; milli?: number; memMib?: number; mig?: string;
}

export interface PodRequest {
  gpuRequests?: GpuRequest[]; wholeGpus?: number; qos?: string; models?: unknown[]; uuids?: unknown[];
}

export interface ReasonCount { reason: string; text: string; nodes: number }

export interface PendingPod {
  namespace: string; pod: string; uid: string; since: string; dialect: string; defect: string; priority?: number;
  refused?: { since: string; last: string; nodes: number; reasons: ReasonCount[] }; request?: PodRequest;
}

export interface ScorePart { part: string; strategy?: string; best: number; next: number }

export interface Decision {
  decision: string; at: string; namespace: string; pod: string; uid: string; node: string; text: string;
  asked?: number; fit?: number; strategies?: string[]; best?: string; next?: string; by?: string;
  scores?: { best: number; next: number }; parts?: ScorePart[];
}

export interface Incident {
  kind: string; since: string; node: string; uuid?: string; index?: number;
  pods: { namespace: string; pod: string }[]; text: string; remedy: string;
}

export interface Conflict { kind: string; namespace?: string; pod?: string; node: string; index?: number; text: string }

export interface Limited { charged: number; limit?: number }
export interface Tenant { name: string; pods: number; milli: Limited; memMib: Limited; overLimit: boolean }

export interface Metadata { generation: number; asOf: string; startedAt?: string; ready: boolean; leader: boolean; version: string }

export interface PoolCommand { pool: string; state: string; result: string; tries: number; error: string }

export interface Summary {
  nodes: number; gpus: number; overCommittedGpus: number; closedNodes: number; podsOnClosedNodes: number;
  milli: Amount; memMib: Amount;
  pods: { pending: number; reserved: number; confirmed: number; bound: number; foreign: number };
  tenants: Tenant[]; fragmentation?: { permille: number; idleMilli: number; fragmentedMilli: number;
    largestHole: { milli: number; memMib: number }; moreFit: { size: string; wholeGpus?: number; more: number }[] };
  timeWindows: { active: string[]; next: string[]; at: string }; poolCommands: PoolCommand[];
  unreadable?: { count: number };
}

export interface State {
  metadata: Metadata; summary: Summary; nodes: Node[]; conflicts: Conflict[]; incidents?: Incident[];
  pending: PendingPod[]; decisions?: Decision[]; configuration?: { sizes?: Record<string, unknown> | unknown[] };
}

export interface HelloEvent { generation: number; startedAt: string; version: string }
export interface NodesEvent { generation: number; nodes: Node[]; gone: string[] }
export interface ClusterEvent {
  generation: number; asOf: string; metadata: Metadata; summary: Summary; pending: PendingPod[]; pendingCount: number;
  incidents: Incident[]; conflicts: Conflict[];
}
export interface DecisionsEvent { generation: number; decisions: Decision[] }

export interface NearestGpu {
  uuid: string; index: number; model: string; milli?: number; memMib?: number; tooSmallMib?: number; held?: boolean;
}
export interface NearestNode {
  node: string; reason: string; reasonText: string; text: string; untolerated?: boolean;
  lacks?: { container: string; gpus: number; nearest: NearestGpu[] };
  fitsIfEnded: { namespace: string; pod: string; milli: number; memMib: number; terminating?: boolean }[];
}

export interface Explanation {
  outcome: 'waiting' | 'placed' | 'invalid' | 'unknown'; text: string;
  pod: { namespace: string; pod: string; uid: string; state: string; node: string; terminating?: boolean; request?: PodRequest };
  nodeCount?: number; reasons?: ReasonCount[]; fitting?: string[]; nearest?: NearestNode[];
  scheduler?: { name: string; message: string; ownReasons: string[]; asked: number; lastAsked?: string; notAsked?: string };
  allocations?: { uuid: string; index: number; model: string; container: string; milli: number; memMib: number }[];
  decision?: Decision; nearNames?: string[];
}

export interface Sample {
  time: string; computePermille: number; memoryPermille: number; fragmentationPermille: number; pending: number; bound: number;
}
export interface History { intervalSeconds: number; samples: Sample[] }

export interface WhatIf {
  generation: number; asked: number; fitting: number; text: string;
  first?: { node: string; devices: { uuid: string; index: number; model: string }[]; reason?: { text?: string } };
  nodeCount: number; verdicts?: ReasonCount[] | Record<string, number>; nearest?: NearestNode[];
}

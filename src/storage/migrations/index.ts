import type { Migration } from '../migrate.ts'
import { initial } from './0001-initial.ts'
import { orderKeys } from './0002-order-keys.ts'
import { retention } from './0003-retention.ts'
import { refreshTokenChains } from './0004-refresh-token-chains.ts'
import { audiences } from './0005-audiences.ts'
import { portal } from './0006-portal.ts'
import { maintainedCounts } from './0007-maintained-counts.ts'
import { deliveryLanes } from './0008-delivery-lanes.ts'
import { deliveryInsight } from './0009-delivery-insight.ts'
import { deadLetters } from './0010-dead-letters.ts'
import { rejectedCounts } from './0012-rejected-counts.ts'
import { orderOfOneIndex } from './0013-order-of-one-index.ts'
import { nextActiveSubscriber } from './0014-next-active-subscriber.ts'
import { leasesApart } from './0015-leases-apart.ts'
import { floorWithoutQuery } from './0016-floor-without-query.ts'
import { keyScopes } from './0017-key-scopes.ts'
import { signInProof } from './0018-sign-in-proof.ts'
import { masterKeyIds } from './0020-master-key-ids.ts'
import { retryingEvents } from './0021-retrying-events.ts'
import { auditExport } from './0022-audit-export.ts'
import { allowances } from './0019-allowances.ts'
import { continuity } from './0023-continuity.ts'
import { replicaBeats } from './0034-replica-beats.ts'
import { sharedLimits } from './0028-shared-limits.ts'

/** All migrations, in the order in which they are applied. A released one is never changed. */
export const migrations: readonly Migration[] = [
  initial,
  orderKeys,
  retention,
  refreshTokenChains,
  audiences,
  portal,
  maintainedCounts,
  deliveryLanes,
  deliveryInsight,
  deadLetters,
  rejectedCounts,
  orderOfOneIndex,
  nextActiveSubscriber,
  leasesApart,
  floorWithoutQuery,
  keyScopes,
  signInProof,
  masterKeyIds,
  retryingEvents,
  auditExport,
  allowances,
  continuity,
  sharedLimits,
  replicaBeats,
]

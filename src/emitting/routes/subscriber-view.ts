import { Type } from 'typebox'
import type { Keyring } from '../../crypto/keyring.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import type { DisablingPolicy } from '../dispatch/disabling.ts'
import { openHeaders } from '../dispatch/destinations.ts'
import type { KeyDescription } from '../subscribers/secrets.ts'
import type { Health } from '../subscribers/health.ts'
import type { Owners } from '../subscribers/owners.ts'
import type { Clock } from '../../runtime/clock.ts'
import { lastDays } from '../subscribers/subscriber-state.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'
import type { TestEvents } from '../events/test-events.ts'
import { KeyView, NewKeysView, SubscriberView, viewSubscriber } from '../views/subscriber.ts'
import { closedObject } from '../../http/schemas/schemas.ts'

export interface SubscriberRouteParts {
  subscribers: Subscribers
  testEvents: TestEvents
  keysOf: (subscriberId: string) => Promise<KeyDescription[]>
  keyring: Keyring
  disabling: DisablingPolicy
  health: Health
  clock: Clock
  owners: Owners
}

export const tags = ['subscribers']

export const KeysView = closedObject(NewKeysView)

export const WithKeys = closedObject({ ...SubscriberView.properties, ...NewKeysView })

export const Registered = closedObject({
  ...WithKeys.properties,
  testDeliveryId: Type.Optional(
    Type.Integer({
      description: 'The delivery of the test event, if it was requested: GET /deliveries/{id}',
    }),
  ),
})

export const WithPublicKeys = closedObject({
  ...SubscriberView.properties,
  publicKeys: Type.Array(Type.String({ description: 'whpk_…, newest first' })),
  keys: Type.Array(KeyView, { description: 'The keys that sign now, newest first' }),
})

export async function view(row: SubscribersTable, parts: SubscriberRouteParts): Promise<Shown> {
  return (await views([row], parts))[0]!
}

type Shown = ReturnType<typeof viewSubscriber>

export async function views(
  rows: readonly SubscribersTable[],
  { keyring, disabling: policy, health, clock, owners }: SubscriberRouteParts,
): Promise<Shown[]> {
  const ids = rows.map(({ id }) => id)
  const days = await lastDays(health, ids, clock.now())
  const names = await owners.names.of(rows.map(({ owner }) => owner))
  return rows.map((row) =>
    viewSubscriber(row, {
      headers: openHeaders(keyring, row),
      policy,
      lastDay: days.get(row.id)!,
      ownerName: row.owner === null ? undefined : names.get(row.owner),
    }),
  )
}

import {
  client,
  customerOf,
  customers,
  day,
  emittedTypes,
  groupOf,
  idOf,
  largestOwner,
  receivedTypes,
  sources,
  type Shape,
} from './shape.ts'

/** A call that pages make, with addresses that are requested in turn. */
export interface PageCall {
  name: string
  paths: readonly string[]
  /** Milliseconds for which the service gives the same answer again. It is measured after that. */
  cachedFor?: number
}

/** Addresses of one call. */
const kinds = 50

function times(address: (index: number) => string, count = kinds): string[] {
  return Array.from({ length: count }, (_, index) => address(index))
}

const isoTime = (time: number): string => new Date(time).toISOString()

const rangeHours = { '1h': 1, '6h': 6, '24h': 24, '7d': 168, '30d': 720 }

/** All calls of the pages of the dashboard that read from tables. */
export function pageCalls(shape: Shape): PageCall[] {
  return [
    ...homeCalls(shape),
    ...inboundCalls(shape),
    ...outboundCalls(shape),
    ...peopleCalls(shape),
    ...systemCalls(shape),
  ]
}

function homeCalls({ now }: Shape): PageCall[] {
  return [
    ...Object.entries(rangeHours).map(([range, hours]) => ({
      name: `metrics/history ${range}`,
      // Each with an end of its own, because answers are shared for two seconds.
      paths: times((index) => {
        const to = now - index
        return `/metrics/history?from=${isoTime(to - hours * 3_600_000)}&to=${isoTime(to)}`
      }, 2_000),
    })),
    { name: 'attention', paths: ['/attention'], cachedFor: 3_000 },
    { name: 'checklist', paths: ['/checklist'] },
    { name: 'readyz', paths: ['/readyz'] },
    {
      name: 'search by id',
      paths: times((index) => `/search?q=evt_${String(index * 997).padStart(9, '0')}`),
    },
    {
      name: 'search by name',
      paths: times((index) => `/search?q=${['ada', 'gra', 'order', 'hooks1', 'acme'][index % 5]!}`),
    },
  ]
}

function systemCalls({ now, users }: Shape): PageCall[] {
  const audit = (name: string, query: string): PageCall => ({
    name: `audit ${name}`,
    paths: [`/audit?${query}`],
  })
  const since = `since=${isoTime(now - 30 * day)}`
  return [
    audit('of 24 h', `since=${isoTime(now - day)}`),
    audit('of 30 d', since),
    audit('action', `action=user.signed_in&${since}`),
    audit('action that is rare', `action=user.deleted&${since}`),
    audit('user', `userId=${idOf(0)}&${since}`),
    audit('actor', `actor=user:${idOf(3)}&${since}`),
    audit('target', `target=subscriber:${idOf(6)}&${since}`),
    audit('address', `address=203.0.113.7&${since}`),
    audit('failed', `failed=true&${since}`),
    audit('succeeded', `failed=false&${since}`),
    audit('failed action of a user', `failed=true&action=user.signed_in&userId=${idOf(0)}&${since}`),
    audit('action and actor that never meet', `action=sign_in.failed&actor=user:${idOf(users - 1)}&${since}`),
    { name: 'keys', paths: ['/keys?limit=50'] },
    { name: 'jobs', paths: ['/jobs?limit=50'] },
    { name: 'jobs filtered', paths: ['/jobs?limit=50&kind=reprocess&status=failed'] },
    { name: 'queues', paths: ['/queues'] },
    { name: 'settings', paths: ['/settings'] },
    { name: 'alerts', paths: ['/alerts?limit=100'] },
    { name: 'version', paths: ['/version'] },
    { name: 'lists', paths: ['/lists'] },
    { name: 'declared list', paths: ['/people?limit=50'] },
    { name: 'products', paths: ['/products'] },
    { name: 'posts', paths: ['/api/posts'] },
  ]
}

/** Events, failures, sources and handlers. */
function inboundCalls({ events, now, groups }: Shape): PageCall[] {
  const list = (name: string, query: (index: number) => string): PageCall => ({
    name: `events ${name}`,
    paths: times((index) => `/events?order=desc&limit=100&${query(index)}`),
  })
  const since = (days: number): string => `since=${isoTime(now - days * day)}`
  const someEvent = (index: number): number => ((index * 104_729) % events) + 1
  const statuses = [
    'pending',
    'retrying',
    'blocked',
    'processed',
    'unhandled',
    'failed',
    'delivered',
    'unsubscribed',
  ]
  return [
    ...[1, 7, 30].map((days) => list(`of ${days} d`, () => since(days))),
    ...statuses.map((status) => list(`status ${status}`, () => `status=${status}&${since(30)}`)),
    list('type', (index) => `type=${receivedTypes[index % receivedTypes.length]!}&${since(7)}`),
    list('type that is rare', () => `type=never.seen&${since(30)}`),
    list('types', () => `type=order.*&${since(30)}`),
    list('source', (index) => `source=${sources[index % sources.length]!}&${since(7)}`),
    list('direction', (index) => `direction=${index % 2 ? 'emitted' : 'received'}&${since(7)}`),
    list('failed of source and type', () => `status=failed&source=shop&type=invoice.paid&${since(30)}`),
    list('until', (index) => `${since(28 - (index % 20))}&until=${isoTime(now - (27 - (index % 20)) * day)}`),
    list('id', (index) => `eventId=evt_${String(index * 997).padStart(9, '0')}`),
    list('order key', (index) => `orderKey=${encodeURIComponent(`order.paid\n=c_${index * 80}`)}`),
    { name: 'event', paths: times((index) => `/events/${someEvent(index)}`, 500) },
    { name: 'event that failed', paths: times((index) => `/events/${index * 53 * 4 + 1}`) },
    { name: 'failures', paths: ['/failures'] },
    {
      name: 'failures of a handler',
      paths: receivedTypes.map((type) => `/failures?handler=${type}`),
    },
    { name: 'failure', paths: times((index) => `/failures/${groupOf((index * 7) % groups)}`) },
    { name: 'sources', paths: ['/sources'] },
    { name: 'source', paths: sources.map((source) => `/sources/${source}`) },
    { name: 'handlers', paths: ['/handlers'] },
    {
      name: 'rejected-webhooks',
      paths: sources.map((source) => `/rejected-webhooks?source=${source}&limit=20`),
    },
  ]
}

/** Deliveries, subscribers and their owners. */
function outboundCalls({ deliveries, subscribers, now }: Shape): PageCall[] {
  const list = (name: string, query: (index: number) => string): PageCall => ({
    name: `deliveries ${name}`,
    paths: times((index) => `/deliveries?limit=50&${query(index)}`),
  })
  const someSubscriber = (index: number): string => idOf((index * 37) % subscribers)
  const statuses = ['pending', 'delivered', 'dead']
  const classes = ['2xx', '4xx', '5xx', 'none']
  const owners: [string, (index: number) => string][] = [
    ['the largest owner', () => largestOwner],
    ['a small owner', (index) => customerOf(index % customers)],
  ]
  return [
    list('all', () => ''),
    list(
      'of a time',
      (index) =>
        `since=${isoTime(now - (index % 28) * day - day)}&until=${isoTime(now - (index % 28) * day)}`,
    ),
    ...statuses.map((status) => list(status, () => `status=${status}`)),
    ...classes.map((response) => list(`answered ${response}`, () => `response=${response}`)),
    list('of a subscriber', (index) => `subscriber=${someSubscriber(index)}`),
    ...statuses.map((status) =>
      list(`${status} of a subscriber`, (index) => `subscriber=${someSubscriber(index)}&status=${status}`),
    ),
    ...classes.map((response) =>
      list(
        `answered ${response} of a subscriber`,
        (index) => `subscriber=${someSubscriber(index)}&response=${response}`,
      ),
    ),
    ...owners.map(([of, owner]) => list(`of ${of}`, (index) => `owner=${owner(index)}`)),
    ...owners.flatMap(([of, owner]) =>
      statuses.map((status) =>
        list(`${status} of ${of}`, (index) => `owner=${owner(index)}&status=${status}`),
      ),
    ),
    ...owners.flatMap(([of, owner]) =>
      classes.map((response) =>
        list(`answered ${response} of ${of}`, (index) => `owner=${owner(index)}&response=${response}`),
      ),
    ),
    list('without an owner', () => 'owner='),
    list('of a type', (index) => `eventType=${emittedTypes[index % emittedTypes.length]!}`),
    list('of an unknown type', () => 'eventType=never.seen'),
    list('dead of a type', () => `eventType=${emittedTypes[0]}&status=dead`),
    list(
      '5xx of a type and the largest owner',
      () => `eventType=${emittedTypes[0]}&owner=${largestOwner}&response=5xx`,
    ),
    { name: 'delivery', paths: times((index) => `/deliveries/${((index * 104_729) % deliveries) + 1}`, 500) },
    { name: 'subscribers', paths: ['/subscribers?limit=50'] },
    ...['active', 'idle', 'failing', 'paused', 'disabled'].map((state) => ({
      name: `subscribers ${state}`,
      paths: [`/subscribers?limit=50&state=${state}`],
    })),
    { name: 'subscribers by address', paths: ['/subscribers?limit=50&url=hooks77'] },
    { name: 'subscribers of an owner', paths: [`/subscribers?limit=50&owner=${largestOwner}`] },
    { name: 'subscriber', paths: times((index) => `/subscribers/${someSubscriber(index)}`) },
    ...Object.entries(rangeHours).map(([range, hours]) => ({
      name: `subscriber health ${range}`,
      paths: times(
        (index) => `/subscribers/${idOf(index % 50)}/health?since=${isoTime(now - hours * 3_600_000)}`,
      ),
    })),
    { name: 'subscriber jobs', paths: times((index) => `/subscribers/${idOf(index % 20)}/jobs`) },
    {
      name: 'subscriber verification',
      paths: times((index) => `/subscribers/${someSubscriber(index)}/verification`),
    },
    { name: 'owners', paths: ['/owners?limit=50'] },
    { name: 'owners by name', paths: ['/owners?limit=50&q=customer-1'] },
    { name: 'owner, the largest', paths: [`/owners/${largestOwner}`] },
    { name: 'owner', paths: times((index) => `/owners/${customerOf(index)}`) },
    { name: 'event-types', paths: ['/event-types'] },
  ]
}

/** Users and apps. */
function peopleCalls({ users, now }: Shape): PageCall[] {
  const list = (name: string, query: string): PageCall => ({
    name: `users ${name}`,
    paths: [`/users?limit=50&${query}`],
  })
  const seen = isoTime(now - 7 * day)
  const user = (index: number): string => idOf((index * 997) % users)
  const of = (what: string): PageCall => ({
    name: `user ${what}`.trim(),
    // The first one has a thousand sessions and a tenth of the audit log.
    paths: times((index) => `/users/${index % 2 ? user(index) : user(0)}${what === '' ? '' : `/${what}`}`),
  })
  return [
    list('', 'sort=-id'),
    list('last page', `sort=-id&page=${Math.floor(users / 50)}`),
    list('by last use', 'sort=-lastSeenAt'),
    list('q of a letter', 'q=a&sort=-id'),
    list('q of a name', 'q=ada%2042&sort=-id'),
    list('q of nobody', 'q=zzzz&sort=-id'),
    list('q by last use', 'q=ada&sort=-lastSeenAt'),
    list('admins', 'role=admin&sort=-id'),
    list('of role user', 'role=user&sort=-lastSeenAt'),
    list('blocked', 'blocked=true&sort=-id'),
    list('not blocked', 'blocked=false&sort=-lastSeenAt'),
    list('of a provider', 'provider=google&sort=-lastSeenAt'),
    list('seen lately', `lastSeenSince=${seen}&sort=-id`),
    list('not seen lately', `lastSeenUntil=${seen}&sort=-id`),
    list(
      'of all filters',
      `q=ada&role=user&blocked=false&provider=google&lastSeenSince=${seen}&sort=-lastSeenAt`,
    ),
    of(''),
    of('sessions'),
    of('identities'),
    of('audit?limit=50'),
    of('apps'),
    { name: 'clients', paths: ['/clients?limit=50'] },
    { name: 'client', paths: [`/clients/${client.id}`] },
    { name: 'client sign-ins', paths: [`/clients/${client.id}/sign-ins?limit=50`] },
    { name: 'providers', paths: ['/providers'] },
  ]
}

import { isoTime, rangeHours, times, type PageCall } from './call.ts'
import { customerOf, customers, day, emittedTypes, idOf, largestOwner, type Shape } from './shape.ts'

/** Deliveries, subscribers and their owners. */
export function outboundCalls({ deliveries, subscribers, now }: Shape): PageCall[] {
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

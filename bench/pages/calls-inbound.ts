import { times, isoTime, type PageCall } from './call.ts'
import { day, groupOf, receivedTypes, sources, type Shape } from './shape.ts'

/** Events, failures, sources and handlers. */
export function inboundCalls({ events, now, groups }: Shape): PageCall[] {
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

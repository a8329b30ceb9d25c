import { isoTime, rangeHours, times, type PageCall } from './call.ts'
import { inboundCalls } from './calls-inbound.ts'
import { outboundCalls } from './calls-outbound.ts'
import { peopleCalls } from './calls-people.ts'
import { day, idOf, type Shape } from './shape.ts'

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

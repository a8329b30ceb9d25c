import { addressOf, api } from '../api/client.ts'
import type { Entry } from './found.ts'

interface Result {
  title: string
  section: string
  path: string
}

const mostResults = 6
const starts: readonly Entry[] = [
  startOf('Guide', '/docs/guide/', 'docs documentation help'),
  startOf('API reference', '/docs', 'docs documentation openapi http'),
]

/** Pages of the guide, by its own search. */
export async function findInGuide(text: string, signal: AbortSignal): Promise<Entry[]> {
  const wanted = text.toLowerCase()
  const own = starts.filter(({ title, detail }) => `${title} ${detail}`.toLowerCase().includes(wanted))
  const answer = await fetch(addressOf(`/docs/guide/search.json?q=${encodeURIComponent(text)}`), { signal })
  if (!answer.ok) return own
  const { data } = (await answer.json()) as { data: readonly Result[] }
  const pages = new Map(data.toReversed().map((result) => [result.path.replace(/#.*/, ''), result]))
  const best = data.filter((result) => pages.get(result.path.replace(/#.*/, '')) === result)
  const found = best.slice(0, mostResults).map(({ title, section, path }): Entry => ({
    key: `guide ${path}`,
    group: 'Guide',
    title: section === '' ? title : section,
    detail: section === '' ? null : title,
    to: `/docs/guide/${path}`,
    isOutside: true,
  }))
  return [...own, ...found]
}

/** Settings whose name has all words, such as EMIT_RETRY_SCHEDULE for "retry schedule". */
export async function findSettings(text: string, signal: AbortSignal): Promise<Entry[]> {
  const words = text.toLowerCase().split(/[\s_]+/)
  const { data } = await api.get('/settings', { signal })
  return data
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
    .slice(0, mostResults)
    .map(({ name, value }) => ({
      key: `setting ${name}`,
      group: 'Settings',
      title: name,
      detail: value,
      to: `/system/settings?q=${name}`,
    }))
}

function startOf(title: string, to: string, detail: string): Entry {
  return { key: `guide ${to}`, group: 'Guide', title, detail, to, isOutside: true }
}

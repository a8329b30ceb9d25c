import { element } from './elements.js'

const names = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]
const systems = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** A browser's own name for itself, shortened to what a person would call it. */
export function browserName(agent) {
  if (!agent) return undefined
  const name = names.find(([pattern]) => pattern.test(agent))?.[1]
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1]
  const short = name ? [name, system && `on ${system}`].filter(Boolean).join(' ') : agent.slice(0, 40)
  return element('span', { title: agent }, short)
}

// Elements of the page. Texts are put in as texts and never read as HTML.

export const $ = (id) => document.getElementById(id)

/** An element with properties (`class`, `data-…` and `aria-…` as attributes) and children; empty children are left out. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined) continue
    if (key === 'class' || /^(data|aria)-/.test(key)) made.setAttribute(key, value)
    else made[key] = value
  }
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== ''))
  return made
}

/** A cell. `main` and `side` share the first line on narrow screens, where a row is a small card. */
export const cell = (name, ...children) => element('td', { class: name }, ...children)

/** A cell whose meaning the narrow screen has to tell, since it shows no headings. */
export const labelled = (label, child) => element('td', { 'data-label': child ? label : undefined }, child)

/** A row of cells, texts and elements. */
export function row(...cells) {
  const made = cells.map((one) => (one instanceof HTMLTableCellElement ? one : cell('', one)))
  return element('tr', {}, ...made)
}

/** Names an element among its siblings, so that an update finds it again (update.js). */
export function keyed(key, made) {
  made.dataset.key = key
  return made
}

export const table = (headings, ...rows) =>
  element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...headings.map((heading) => element('th', {}, heading)))),
    element('tbody', {}, ...rows),
  )

export const link = (href, text) => element('a', { href }, text)

export const code = (text, title) => (text ? element('code', { title }, text) : undefined)

/** The end of an id; the tooltip shows the full value. */
export const shortId = (id) => (id ? code(id.length > 20 ? `…${id.slice(-8)}` : id, id) : undefined)

const good = new Set(['processed', 'delivered', 'active', 'admin'])
const bad = new Set(['failed', 'dead', 'disabled', 'failing'])

export const state = (text) =>
  element('span', { class: `state ${good.has(text) ? 'good' : bad.has(text) ? 'bad' : 'wait'}` }, text)

const ofToday = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const ofThisYear = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const ofOtherYears = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** A short time; the tooltip shows the full value. */
export function time(text) {
  if (!text) return undefined
  const [at, now] = [new Date(text), new Date()]
  const year = at.getFullYear() === now.getFullYear() ? ofThisYear : ofOtherYears
  const format = at.toDateString() === now.toDateString() ? ofToday : year
  return element('time', { dateTime: text, title: at.toString() }, format.format(at))
}

/** Names and values, one a line; those without a value are left out. */
export function facts(entries) {
  const known = Object.entries(entries).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const lines = known.flatMap(([name, value]) => [
    keyed(name, element('dt', {}, name)),
    keyed(name, element('dd', {}, value)),
  ])
  return element('dl', {}, ...lines)
}

/** Most characters that are shown of one text. */
const mostShown = 200_000

export const block = (text) =>
  element('pre', {}, text.length > mostShown ? `${text.slice(0, mostShown)}\n… cut here` : text)

/** Headers as they are written. */
export const headerBlock = (headers) =>
  block(
    Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  )

/** Content that is shown on a click. */
export const fold = (summary, content) =>
  element('details', { 'data-key': summary }, element('summary', {}, summary), content)

export const heading = (text) => keyed(text, element('h3', {}, text))

// Webhooks that were refused: how often for which reason, and the last ones.
import { read, readText } from './api.js'
import {
  $,
  block,
  cell,
  element,
  facts,
  fold,
  headerBlock,
  heading,
  keyed,
  labelled,
  link,
  row,
  time,
} from './elements.js'
import { update } from './update.js'

let shown = []
let cursor

/** The counts, and the newest ones. */
export async function showRefused() {
  const { since, total, data } = await read('/rejected-webhooks/counts')
  $('refused-note').textContent = total === 0 ? '' : `${total} since ${new Date(since).toLocaleDateString()}`
  $('refused-empty').hidden = total > 0
  $('refused-last').hidden = total === 0
  update(
    $('refused-counts'),
    ...data.map(({ source, reason, meaning, advice, count, lastAt }) =>
      keyed(
        `${source} ${reason}`,
        row(
          cell('main', reason),
          element('td', { title: advice }, meaning),
          labelled('source', source),
          cell('side', String(count)),
          labelled('last', time(lastAt)),
        ),
      ),
    ),
  )
  await showPage()
}

export const showMoreRefused = () => showPage(cursor)

async function showPage(cursorOfPage) {
  const query = new URLSearchParams({ limit: '10', ...(cursorOfPage && { cursor: cursorOfPage }) })
  const { data, pageInfo } = await read(`/rejected-webhooks?${query}`)
  shown = cursorOfPage ? [...shown, ...data] : data
  update(
    $('refused'),
    ...shown.map(({ id, at, source, reason, detail, address }) => {
      const line = row(
        cell('tight', time(at)),
        cell('main', link(`#refused/${id}`, reason)),
        labelled('source', source),
        detail,
        address ?? '',
      )
      line.className = 'opens'
      return keyed(String(id), line)
    }),
  )
  cursor = pageInfo.nextCursor
  $('refused-more').hidden = !pageInfo.hasNextPage
}

/** One refused webhook, without its secrets. */
export async function refusedView(id) {
  const text = await readText(`/rejected-webhooks/${id}`)
  const one = JSON.parse(text)
  return {
    title: [one.reason],
    version: text,
    content: () => [
      element('p', {}, one.meaning),
      element('p', { class: 'soft' }, one.advice),
      facts({
        source: one.source,
        came: time(one.at),
        from: one.address,
        detail: one.detail,
        size: one.size === null ? undefined : `${one.size} bytes`,
      }),
      heading('Body'),
      one.body || one.bodyBase64
        ? block(one.body ?? `${one.bodyBase64}\n\n(no text: its bytes in base64)`)
        : element('p', { class: 'soft' }, 'It had none, or was refused before it was read.'),
      fold('Headers', headerBlock(one.headers)),
    ],
  }
}

// Received events whose handlers failed: those that are retried, and those that failed after their last attempt.
import { read, send } from './api.js'
import { $, cell, code, element, keyed, link, row, time } from './elements.js'
import { followRememberedJob, runMany, runNow, say } from './run-again.js'
import { update } from './update.js'
import { guarded, onClick, smallButton } from './work.js'

const pageSize = 10
const mostOfPage = 100
/** Characters of an error that the list of the API shows; a longer one is cut, and an ellipsis added. */
const longestError = 300

let filter = {}

function readFilter() {
  const fields = [...new FormData($('failed-filter'))].map(([name, value]) => [name, value.trim()])
  return Object.fromEntries(
    fields
      .filter(([, value]) => value !== '')
      // What is picked is meant as the person's own time.
      .map(([name, value]) => [name, /^(since|until)$/.test(name) ? new Date(value).toISOString() : value]),
  )
}

/** One of the two lists: its elements begin with the name of the status. */
function makeList(status) {
  let shown = []
  let cursor
  const wanted = () => ({ ...filter, status })

  async function showPage(limit, from) {
    const query = new URLSearchParams({ ...wanted(), limit: String(limit), ...(from && { cursor: from }) })
    const { data, pageInfo } = await read(`/events/failed?${query}`)
    shown = from ? [...shown, ...data] : data
    cursor = pageInfo.nextCursor
    update($(status), ...shown.map(eventRow))
    $(`${status}-more`).hidden = !pageInfo.hasNextPage
  }

  /** Reads the list anew, by the filter, as long as it is shown. */
  async function show() {
    const { total } = await send('POST', '/events/reprocess', { ...wanted(), dryRun: true })
    await showPage(Math.min(Math.max(shown.length, pageSize), mostOfPage))
    const isFiltered = Object.keys(filter).length > 0
    $(`${status}-empty`).hidden = total > 0
    $(`${status}-empty`).textContent = isFiltered ? 'No event fits the filter.' : 'None.'
    const which = `${status === 'failed' ? 'that failed' : 'that are retried'}${isFiltered ? ' and fit the filter' : ''}`
    const all = smallButton(`Run all ${total.toLocaleString()} now`, async () => {
      await runMany(wanted(), which)
      await showFailed()
    })
    update($(`${status}-run`), ...(total > 1 ? [all] : []))
  }

  onClick($(`${status}-more`), () => showPage(pageSize, cursor))
  return show
}

function eventRow(event) {
  const { id, type, source, createdAt, error, eventId, attempts, nextAttemptAt, status } = event
  const again = status === 'failed' ? [] : nextAttemptAt ? [', next ', time(nextAttemptAt)] : [', runs now']
  const line = row(
    cell('tight', time(createdAt)),
    cell('main', link(`#events/${id}`, type)),
    `from ${source}`,
    element(
      'td',
      {},
      element('span', { class: 'bad' }, error ?? ''),
      element('div', { class: 'soft small' }, `${attempts} attempt${attempts === 1 ? '' : 's'}`, ...again),
    ),
    cell('id', code(eventId)),
    cell('row-actions', element('div', {}, ...actions(event))),
  )
  line.className = 'opens'
  return keyed(String(id), line)
}

function actions({ id, type, eventId, error, status }) {
  const now = smallButton('Run now', async () => {
    await runNow(id)
    say(`${type} ${eventId} is due now.`)
    await showFailed()
  })
  now.setAttribute('aria-label', `Run now: ${type} ${eventId}`)
  const alike = smallButton('Run all like this', async () => {
    await runMany({ status, type, error: searchable(error) }, `of ${type} that failed with “${error}”`)
    await showFailed()
  })
  alike.setAttribute('aria-label', `Run all like this: ${type}, ${error}`)
  return error ? [now, alike] : [now]
}

/** What the whole error contains too. */
const searchable = (error) =>
  error.length >= longestError && error.endsWith('…') ? error.slice(0, -1) : error

let lists = []

/** Reads both lists anew. */
export async function showFailed() {
  await Promise.all(lists.map((show) => show()))
}

/** The form of the filter, both lists, and the job of before, if it is still under way. */
export async function showFailedAtFirst() {
  lists = [makeList('retrying'), makeList('failed')]
  $('failed-filter').addEventListener('submit', (event) => {
    event.preventDefault()
    filter = readFilter()
    void guarded(showFailed)
  })
  onClick($('failed-refresh'), showFailed)
  await showFailed()
  await followRememberedJob()
}

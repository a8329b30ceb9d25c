// Received events that have failed: which, why, and all of them processed again.
import { read, send } from './api.js'
import { $, cell, code, element, link, row, time } from './elements.js'
import { button, guarded } from './work.js'

const pageSize = 10
/** Milliseconds between two looks at a job. */
const lookEvery = 500
/** The job that is under way, so that a page that is loaded again goes on showing it. */
const remembered = 'postern-reprocessing'

let filter = {}
let cursor

const pause = () => new Promise((resolve) => setTimeout(resolve, lookEvery))
const plural = (count) => `${count} failed event${count === 1 ? '' : 's'}`

function readFilter() {
  const fields = [...new FormData($('failed-filter'))].map(([name, value]) => [name, value.trim()])
  return Object.fromEntries(
    fields
      .filter(([, value]) => value !== '')
      // What is picked is meant as the person's own time.
      .map(([name, value]) => [name, /^since|until$/.test(name) ? new Date(value).toISOString() : value]),
  )
}

async function showPage() {
  const query = new URLSearchParams({ limit: String(pageSize), ...filter, ...(cursor && { cursor }) })
  const { data, pageInfo } = await read(`/events/failed?${query}`)
  $('failed').append(
    ...data.map(({ id, type, source, createdAt, error, eventId }) => {
      const line = row(
        cell('tight', time(createdAt)),
        cell('main', link(`#events/${id}`, type)),
        `from ${source}`,
        cell('bad', error ?? ''),
        cell('id', code(eventId)),
      )
      line.className = 'opens'
      return line
    }),
  )
  cursor = pageInfo.nextCursor
  $('failed-more').hidden = !pageInfo.hasNextPage
}

export async function showMoreFailed() {
  await showPage()
}

/** Reads the list anew, by the filter of the form. */
export async function showFailed() {
  const wanted = readFilter()
  const { total } = await send('POST', '/events/reprocess', { ...wanted, dryRun: true })
  filter = wanted
  cursor = undefined
  $('failed').replaceChildren()
  await showPage()
  const isFiltered = Object.keys(filter).length > 0
  $('failed-empty').hidden = total > 0
  $('failed-empty').textContent = isFiltered ? 'None that fits.' : 'None.'
  const all = button(`Process ${total === 1 ? 'it' : `all ${total}`} again`, () => reprocess(total))
  $('failed-job').replaceChildren(...(total > 0 ? [all] : []))
}

async function reprocess(total) {
  const which = Object.keys(filter).length > 0 ? ' that the filter means' : ''
  if (!confirm(`Run the handlers of the ${plural(total)}${which} again?`)) return
  const { id } = await send('POST', '/events/reprocess', filter)
  sessionStorage.setItem(remembered, id)
  await followJob(id)
}

/** Shows how far a job is, until it ends. */
async function followJob(id) {
  const bar = element('progress', { max: 1, value: 0 })
  const words = element('span', { class: 'soft' })
  $('failed-job').replaceChildren(
    bar,
    words,
    button('Cancel', async () => {
      await send('DELETE', `/jobs/${id}`)
    }),
  )
  let job
  for (;;) {
    job = await read(`/jobs/${id}`)
    bar.max = Math.max(1, job.total)
    bar.value = job.done
    words.textContent = `${job.done} of ${job.total} are due again`
    if (job.status !== 'running') break
    await pause()
  }
  sessionStorage.removeItem(remembered)
  await showFailed()
  const ended = job.status === 'cancelled' ? 'Cancelled: ' : ''
  $('failed-job').append(
    element(
      'span',
      { class: 'soft', role: 'status' },
      `${ended}${job.done} of ${job.total} were made due again.`,
    ),
  )
}

export function takeFailedFilter() {
  $('failed-filter').addEventListener('submit', (event) => {
    event.preventDefault()
    void guarded(showFailed)
  })
}

/** The list, and the job of before, if it is still under way. */
export async function showFailedAtFirst() {
  await showFailed()
  const id = sessionStorage.getItem(remembered)
  if (id) await followJob(id).catch(() => sessionStorage.removeItem(remembered))
}

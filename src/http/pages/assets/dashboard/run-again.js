// Running the handlers of received events now: of one, of one in a dry run, and of many as a job.
import { read, send } from './api.js'
import { confirmed } from './confirmation.js'
import { $, block, element, fold } from './elements.js'
import { indented } from './json-text.js'
import { update } from './update.js'
import { confirmedButton } from './work.js'

/** Milliseconds between two looks at a job. */
const lookEvery = 500
/** Milliseconds for which it is worth looking what became of an event that was run. */
const newsFor = 10_000
/** The job that is under way, so that a page that is loaded again goes on showing it. */
const remembered = 'postern-reprocessing'

let lastRun = -Infinity
export const hasRunRecently = () => performance.now() - lastRun < newsFor

export const canRun = ({ status }) => status === 'failed' || status === 'retrying'

export async function runNow(id) {
  await send('POST', `/events/${id}/reprocess`)
  lastRun = performance.now()
}

/** Asks, and then tells what the handlers would do; `undefined` when the person does not want it after all. */
export async function dryRun({ id, type }) {
  const wanted = await confirmed({
    question: `Dry run the handlers of ${type}?`,
    consequence:
      'They run in a transaction that is rolled back, and what they emit is not kept. Calls to other systems are made, unless a handler leaves them out when context.dryRun is true.',
    action: 'Dry run',
    kind: 'primary',
  })
  return wanted ? resultView(await send('POST', `/events/${id}/reprocess`, { dryRun: true })) : undefined
}

function resultView({ outcome, error, emitted, emittedTotal, forwardTo, durationMs }) {
  const words = {
    processed: `Dry run: the event would be processed (${durationMs} ms), and would emit ${emittedTotal === 1 ? 'one event' : `${emittedTotal} events`}.`,
    failed: `Dry run: the event would fail (${durationMs} ms).`,
    forwarded: `Dry run: the event would be forwarded to ${forwardTo}.`,
  }
  const would = emitted.map(({ type, data }) => fold(type, block(indented(JSON.stringify(data)))))
  return element(
    'div',
    { class: outcome === 'failed' ? 'message' : 'message info' },
    element('p', {}, words[outcome]),
    error && block(error),
    ...would,
    element('p', { class: 'soft small' }, 'Nothing of it was kept.'),
  )
}

/**
 * Counts the events that the filter selects, asks, and begins the job that makes them due.
 * @param said what they are, such as `of order.paid with this error`
 */
export async function runMany(filter, said = '') {
  const { total } = await send('POST', '/events/reprocess', { ...filter, dryRun: true })
  const wanted = await confirmed({
    question: `Run ${total.toLocaleString()} event${total === 1 ? '' : 's'}${said && ` ${said}`} now?`,
    consequence:
      'Their handlers run as soon as a worker is free. What a handler did outside of its transaction, it may do again.',
    action: 'Run now',
    kind: 'primary',
  })
  if (!wanted) return
  const { id } = await send('POST', '/events/reprocess', filter)
  sessionStorage.setItem(remembered, id)
  await followJob(id)
}

/** The job of before, if it is still under way. */
export async function followRememberedJob() {
  const id = sessionStorage.getItem(remembered)
  if (id) await followJob(id).catch(() => sessionStorage.removeItem(remembered))
}

const pause = () => new Promise((resolve) => setTimeout(resolve, lookEvery))

/** Shows how far a job is, until it ends. */
async function followJob(id) {
  const cancel = confirmedButton(
    'Cancel',
    {
      question: 'Cancel running these events?',
      consequence: 'Those that are already due run. The others stay as they are.',
      action: 'Cancel the job',
      keep: 'Go on',
    },
    () => send('DELETE', `/jobs/${id}`),
    'small danger',
  )
  const words = ({ done, total }) => element('span', { class: 'soft' }, `${done} of ${total} are due now`)
  let job
  for (;;) {
    job = await read(`/jobs/${id}`)
    lastRun = performance.now()
    if (job.status !== 'running') break
    const bar = element('progress', { max: Math.max(1, job.total), value: job.done, ariaLabel: 'Progress' })
    update($('failed-job'), bar, words(job), cancel)
    await pause()
  }
  sessionStorage.removeItem(remembered)
  update($('failed-job'))
  say(`${job.status === 'cancelled' ? 'Cancelled: ' : ''}${job.done} of ${job.total} were made due.`)
}

/** What happened, also for those who listen to the page. */
export function say(text) {
  $('failed-said').textContent = text
}

// Sending many deliveries again: which, how many, how fast, how far it is, and stopping it.
import { read, send } from './api.js'
import { element, fold } from './elements.js'
import { update } from './update.js'
import { button, confirmedButton, guarded } from './work.js'

/** Milliseconds between looks at a job that runs. */
const often = 1_000

let kept = {}

/**
 * The form, and the newest job under it. It follows the job by itself, and is the same one when the drawer is drawn anew, so
 * that what was filled in stays.
 */
export function replayPanel(id) {
  if (kept.id !== id) kept = { id, ...makePanel(id) }
  void guarded(kept.follow)
  return kept.panel
}

function makePanel(id) {
  const progress = element('div', { role: 'status' })
  let timer
  const follow = async () => {
    clearTimeout(timer)
    const { data } = await read(`/subscribers/${id}/jobs`)
    const [job] = data
    const isNews = job && (job.status === 'running' || Date.now() - Date.parse(job.updatedAt) < 60_000)
    update(progress, ...(isNews ? [jobView(job, follow)] : []))
    clearTimeout(timer)
    if (job?.status === 'running')
      timer = setTimeout(() => progress.isConnected && void guarded(follow), often)
  }
  return { panel: element('div', {}, fold('Replay many', form(id, follow)), progress), follow }
}

function form(id, follow) {
  const option = (value, text) => element('option', { value }, text)
  const field = (label, input) => element('label', {}, `${label} `, input)
  const answer = element('div', { class: 'actions' })
  const made = element(
    'form',
    { class: 'fields' },
    field(
      'Which',
      element(
        'select',
        { name: 'status' },
        option('dead', 'dead'),
        option('pending', 'waiting for a retry: now'),
        option('delivered', 'delivered'),
      ),
    ),
    field('Event type, all when empty', element('input', { type: 'text', name: 'eventType' })),
    field('Since', element('input', { type: 'datetime-local', name: 'since' })),
    field(
      'Per second, at most',
      element('input', { type: 'number', name: 'rate', min: '0.01', max: '10000', step: 'any' }),
    ),
    element('button', {}, 'Count'),
  )
  made.addEventListener('input', () => answer.replaceChildren())
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    void guarded(async () => {
      const wanted = readForm(new FormData(made))
      const { total } = await send('POST', `/subscribers/${id}/replay`, { ...wanted, dryRun: true })
      const again = button(`Send ${total.toLocaleString()} again`, async () => {
        await send('POST', `/subscribers/${id}/replay`, wanted)
        update(answer)
        await follow()
      })
      answer.replaceChildren(total > 0 ? again : element('p', { class: 'soft' }, 'No delivery fits.'))
    })
  })
  return element('div', {}, made, answer)
}

function readForm(fields) {
  const [eventType, since, rate] = ['eventType', 'since', 'rate'].map((name) => fields.get(name))
  return {
    status: fields.get('status'),
    ...(eventType && { eventType }),
    ...(since && { since: new Date(since).toISOString() }),
    ...(rate && { rate: Number(rate) }),
  }
}

function jobView({ id, status, done, total, rate }, follow) {
  const words = { running: 'Replay:', done: 'Replay finished:', cancelled: 'Replay cancelled:' }[status]
  const speed = rate === null ? '' : `, ${rate} a second at most`
  const text = `${words ?? `Replay ${status}:`} ${done.toLocaleString()} of ${total.toLocaleString()} sent again${speed}`
  return element(
    'div',
    { class: 'job' },
    element('p', {}, text),
    element('progress', { max: Math.max(total, 1), value: done, ariaLabel: text }),
    status === 'running'
      ? confirmedButton(
          'Cancel',
          {
            question: 'Cancel the replay?',
            consequence: `${(total - done).toLocaleString()} of ${total.toLocaleString()} deliveries are then not sent again. Those that were already queued are sent.`,
            action: 'Cancel the replay',
            keep: 'Go on',
          },
          async () => {
            await send('DELETE', `/jobs/${id}`)
            await follow()
          },
          'small danger',
        )
      : undefined,
  )
}

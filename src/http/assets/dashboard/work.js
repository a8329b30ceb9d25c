import { $, element } from './elements.js'

/** Tells what went wrong, where the person looks: in the drawer when it is open. */
export function show(error) {
  const place = $('drawer').open ? $('drawer-notice') : $('problems')
  place.replaceChildren(element('div', { class: 'message' }, error.message))
}

/** Runs work whose failure is shown on the page. */
export async function guarded(work) {
  try {
    await work()
  } catch (error) {
    show(error)
  }
}

/** A button that waits until its work is done before it can be pressed again. */
export function button(label, work, kind = '') {
  const made = element('button', { class: kind, type: 'button' }, label)
  onClick(made, work)
  return made
}

export const smallButton = (label, work) => button(label, work, 'small')

export function onClick(target, work) {
  target.addEventListener('click', async () => {
    target.disabled = true
    await guarded(work)
    target.disabled = false
  })
}

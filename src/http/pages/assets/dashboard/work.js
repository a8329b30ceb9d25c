import { confirmed } from './confirmation.js'
import { $, element } from './elements.js'
import { on } from './update.js'

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

/** A button whose work begins when the person has confirmed it: `ask` is what the dialog says (confirmation.js). */
export function confirmedButton(label, ask, work, kind = 'danger') {
  const asked = async () => {
    if (await confirmed({ action: label, ...ask })) await work()
  }
  return button(label, asked, kind)
}

/** The button is marked as disabled and not disabled by the browser, which would take the focus from it. */
export function onClick(target, work) {
  on(target, 'click', async ({ currentTarget }) => {
    if (currentTarget.getAttribute('aria-disabled') === 'true') return
    currentTarget.setAttribute('aria-disabled', 'true')
    await guarded(work)
    currentTarget.removeAttribute('aria-disabled')
  })
}

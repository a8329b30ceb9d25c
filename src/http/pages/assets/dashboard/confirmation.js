import { element } from './elements.js'

let count = 0

/**
 * Asks before something that is hard to undo, or reaches far. Resolves to true when the person presses the button named `action`, and to false
 * for the button named `keep` and for Escape. `kind` is the class of the button: `danger`, or `primary` for what destroys nothing. The focus stays within the dialog while it is open, and then returns to where it was.
 */
export function confirmed({ question, consequence, action, keep = 'Cancel', kind = 'danger' }) {
  const id = `confirmation-${(count += 1)}`
  const choice = (value, label, kind) => {
    const made = element('button', { type: 'button', class: kind }, label)
    made.addEventListener('click', () => dialog.close(value))
    return made
  }
  // The harmless button comes first and so has the focus: a hasty Enter changes nothing.
  const buttons = [choice('', keep), choice('confirmed', action, kind)]
  const dialog = element(
    'dialog',
    {
      class: 'confirmation',
      role: 'alertdialog',
      'aria-labelledby': `${id}-question`,
      'aria-describedby': `${id}-consequence`,
    },
    element('h2', { id: `${id}-question` }, question),
    element('p', { id: `${id}-consequence` }, consequence),
    element('div', { class: 'actions' }, ...buttons),
  )
  dialog.addEventListener('keydown', (event) => keepWithin(event, buttons))
  document.body.append(dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'confirmed')
    })
  })
}

/** Tab goes round: a modal dialog alone lets the focus leave the page. */
function keepWithin(event, buttons) {
  if (event.key !== 'Tab') return
  event.preventDefault()
  const at = buttons.indexOf(document.activeElement)
  buttons.at((at + (event.shiftKey ? -1 : 1)) % buttons.length).focus()
}

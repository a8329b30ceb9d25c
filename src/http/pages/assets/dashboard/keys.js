import { notice } from './drawer.js'
import { element } from './elements.js'
import { smallButton } from './work.js'

/** Shows what was just made and is told this once. */
export function showKeys({ secret, publicKey }) {
  const keys = [secret, publicKey].filter(Boolean).map((key) => element('p', {}, keyLine(key)))
  const words = element('p', {}, 'The new secret, shown this once. Its receiver needs it:')
  notice(element('div', { class: 'message info' }, words, ...keys))
}

/** A text to copy. */
export const keyLine = (key) =>
  element(
    'span',
    {},
    element('code', { class: 'secret' }, key),
    ' ',
    smallButton('Copy', () => navigator.clipboard.writeText(key)),
  )

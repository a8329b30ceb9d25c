// Brings a part of the page up to date in place. What did not change keeps its elements, and with them the keyboard focus, the
// selected text, the scroll position and the open folds.

/** Attributes that a person or a running action sets: an update leaves them as they are. */
const ofThePerson = new Set(['open', 'aria-disabled', 'tabindex'])

/** What `on` was given, by element and event. */
const handlers = new WeakMap()

const focusable = 'a[href], button, input, select, summary'

/** Like `addEventListener`, but with one handler for each event, which an update replaces with the one of the newest data. */
export function on(target, type, handler) {
  const known = handlers.get(target) ?? new Map()
  handlers.set(target, known)
  if (!known.has(type)) target.addEventListener(type, (event) => known.get(type)?.(event))
  known.set(type, handler)
}

function takeHandlers(old, fresh) {
  const known = handlers.get(old)
  if (known) for (const type of known.keys()) known.set(type, undefined)
  for (const [type, handler] of handlers.get(fresh) ?? []) on(old, type, handler)
}

/**
 * Like `parent.replaceChildren(...children)`, but with the elements that are there already. An element is the same when its
 * name and its `data-key` are; without a key, when its name and class are, in order.
 */
export function update(parent, ...children) {
  const { activeElement } = document
  const place = [...parent.children].findIndex((child) => child.contains(activeElement))
  reconcile(parent, children.filter(Boolean).map(asNode))
  if (place >= 0 && !parent.contains(document.activeElement)) focusAgain(parent, activeElement, place)
}

const asNode = (child) => (child instanceof Node ? child : document.createTextNode(child))

function identity(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName
  const { key } = node.dataset
  return key === undefined
    ? `${node.nodeName}.${node.getAttribute('class') ?? ''}`
    : `${node.nodeName}#${key}`
}

function reconcile(parent, wanted) {
  const given = new Set(wanted)
  const known = new Map()
  for (const node of parent.childNodes) {
    if (given.has(node)) continue
    const same = known.get(identity(node))
    if (same) same.push(node)
    else known.set(identity(node), [node])
  }
  const nodes = wanted.map((node) => {
    if (node.parentNode === parent) return node
    const old = known.get(identity(node))?.shift()
    if (!old) return node
    patch(old, node)
    return old
  })
  for (const left of known.values()) for (const node of left) node.remove()
  let next = parent.firstChild
  for (const node of nodes) {
    if (node === next) next = next.nextSibling
    else parent.insertBefore(node, next)
  }
}

function patch(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data
    return
  }
  for (const { name, value } of fresh.attributes)
    if (!ofThePerson.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value)
  for (const name of old.getAttributeNames())
    if (!ofThePerson.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name)
  takeHandlers(old, fresh)
  reconcile(old, [...fresh.childNodes])
}

/** The focused element moved, or is gone: then the focus goes to what took its place, or to the heading of the part. */
function focusAgain(parent, focused, place) {
  const children = [...parent.children]
  const near = [...children.slice(place), ...children.slice(0, place).toReversed()]
  const within = (child) => (child.matches(focusable) ? child : child.querySelector(focusable))
  let target = focused.isConnected ? focused : near.map(within).find(Boolean)
  if (!target) {
    target = parent.closest('section, dialog')?.querySelector('h2')
    if (target) target.tabIndex = -1
  }
  target?.focus({ preventScroll: true })
}

import { contains, type Finder, type Found } from '../http/finder.ts'

/** Finds sources and handlers by their names. */
export function receivingFinder(sources: Iterable<string>, handlers: Iterable<string>): Finder {
  const all: Found[] = [
    ...[...sources].map((name): Found => ({ kind: 'source', id: name, title: name, detail: null })),
    ...[...handlers].map((key): Found => ({ kind: 'handler', id: key, title: key, detail: null })),
  ]
  return {
    scope: 'webhooks:read',
    find: (text) => Promise.resolve(all.filter(({ title }) => contains(title, text))),
  }
}

/** The page of the guide about each page of the dashboard, by its route. A route without an entry takes that of the route above it. */
const guides: Readonly<Record<string, string>> = {}

/** The address below /docs/guide. */
export function guideOf(route: string): string | undefined {
  for (let path = route; path !== ''; path = path.slice(0, path.lastIndexOf('/')))
    if (guides[path] !== undefined) return guides[path]
  return undefined
}

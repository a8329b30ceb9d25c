// Common parts of the pages. The Content-Security-Policy forbids inline scripts and styles.

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!)
}

export interface HtmlDocument {
  /** Not escaped, like all parts. */
  title: string
  body: string
  /** `basePath` of the application. */
  basePath: string
  /** Attributes of the root element. */
  attributes?: string
  /** Elements of the head besides the title. Default: the style of all pages. */
  head?: string
}

export function htmlDocument(page: HtmlDocument): string {
  const { title, body, basePath, attributes = '', head = style(basePath) } = page
  return `<!doctype html>
<html lang="en"${attributes}>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${basePath}/assets/icon.svg">
${head}
${body}
</html>
`
}

const style = (basePath: string): string => `<link rel="stylesheet" href="${basePath}/assets/style.css">`

/** A narrow page, not indexed. */
export function narrowPage(basePath: string, title: string, body: string): string {
  return htmlDocument({
    basePath,
    title,
    head: `<meta name="robots" content="noindex">\n${style(basePath)}`,
    body: `<main class="narrow">\n${body}\n</main>`,
  })
}

/** The name of the service above the title of a narrow page. */
export const brand = (basePath: string): string =>
  `<p class="brand"><img src="${basePath}/assets/icon.svg" alt="">Postern</p>`

/** A page for an answer with a Refresh header, with a link for browsers that ignore it. */
export function refreshPage(basePath: string, label: string, url: string): string {
  return narrowPage(
    basePath,
    'One moment · Postern',
    `${brand(basePath)}
<h1>One moment</h1>
<p><a class="button wide" href="${escapeHtml(url)}">Continue to ${escapeHtml(label)}</a></p>`,
  )
}

/** The first link of a page, which skips the navigation for keyboard users. */
export const skipLink = '<a class="skip" href="#content">Skip to content</a>'

/** The form of a new subscriber and the drawer for details, which the scripts of both pages use. */
export const newSubscriberForm = `<form id="new-subscriber" class="fields">
        <label>Address <input type="url" name="url" required maxlength="2000" placeholder="https://shop.example.com/hooks"></label>
        <label>Event types, all when empty <input type="text" name="eventTypes" placeholder="order.*"></label>
        <button>Add</button>
      </form>`
export const drawer = `<dialog id="drawer" class="drawer" aria-labelledby="drawer-title">
  <div class="content">
    <div class="head"><h2 id="drawer-title"></h2><button id="drawer-close" class="small">Close</button></div>
    <div id="drawer-notice" role="status"></div>
    <div id="drawer-body"></div>
  </div>
</dialog>`

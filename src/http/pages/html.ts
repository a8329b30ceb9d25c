// Common parts of the pages. The Content-Security-Policy forbids inline scripts and styles.

/** What the pages of one installation have in common. */
export interface Site {
  basePath: string
  /** The name of the service. Escaped. */
  name: string
  /** The same as it was given. */
  plainName: string
  /** The path of the logo. */
  logo: string
  /** Whether `/assets/brand.css` has colours. */
  colored: boolean
}

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
  /** The address of the icon. Default: that of the service. */
  icon?: string
  /** Elements of the head besides the title. */
  head: string
}

export function htmlDocument(page: HtmlDocument): string {
  const { title, body, basePath, head } = page
  const { icon = `${basePath}/assets/icon.svg` } = page
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${icon}">
${head}
${body}
</html>
`
}

/**
 * A page for one purpose, with the brand of the installation above its title. It is not indexed and loads no script.
 * @param title escaped, as is `body`
 */
export function narrowPage(site: Site, title: string, body: string): string {
  const { basePath, name, logo } = site
  return htmlDocument({
    basePath,
    icon: logo,
    title: `${title} · ${name}`,
    head: `<meta name="robots" content="noindex">\n<link rel="stylesheet" href="${basePath}/assets/pages.css">\n${brandLink(site)}`,
    body: `<main>\n<p class="brand"><img src="${logo}" alt="">${name}</p>\n<h1>${title}</h1>\n${body}\n</main>`,
  })
}

/** The link to the colours of the brand, if it has any. It must follow the style of the page. */
export const brandLink = ({ basePath, colored }: Site): string =>
  colored ? `<link rel="stylesheet" href="${basePath}/assets/brand.css">` : ''

/** A page for an answer with a Refresh header, with a link for browsers that ignore it. */
export function refreshPage(site: Site, label: string, url: string): string {
  return narrowPage(
    site,
    'One moment',
    `<p><a class="button wide" href="${escapeHtml(url)}">Continue to ${escapeHtml(label)}</a></p>`,
  )
}

/** The first link of a page, which skips the navigation for keyboard users. */
export const skipLink = '<a class="skip" href="#content">Skip to content</a>'

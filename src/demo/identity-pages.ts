import { escapeHtml, narrowPage } from '../http/pages/html.ts'
import { en } from '../http/pages/language/en.ts'
import { people, type Person } from './people.ts'

/**
 * The Content-Security-Policy of the development provider's pages. It has no form-action: browsers apply that to redirects
 * after a form, which go to the address of the app.
 */
export const pagePolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** The page that asks for a person: a button per sample person, and a field for another name. `admins` are ids of persons. */
export function choicePage(basePath: string, path: string, admins: ReadonlySet<string>): string {
  const action = basePath + path
  const persons = people.map((person) => personForm(action, person, admins.has(person.id))).join('\n')
  return page(
    basePath,
    'Who are you?',
    `<p class="soft">This is Postern's development identity provider. You can sign in as anybody. It exists in demo mode only.</p>
${persons}
<form method="post" action="${escapeHtml(action)}" class="card fields">
<label for="name">Somebody else <input type="text" id="name" name="name" required maxlength="60" autocomplete="off" placeholder="Any name"></label>
<button>Continue</button>
</form>
<form method="post" action="${escapeHtml(action)}" class="center"><input type="hidden" name="cancel" value="yes"><button class="quiet">Cancel the sign-in</button></form>`,
  )
}

export function overPage(basePath: string): string {
  return page(
    basePath,
    'This sign-in is over',
    `<p>It took too long, or was finished in another tab.</p><p><a class="button wide" href="${basePath}/login">Start again</a></p>`,
  )
}

/** The page for an invalid request of an app. */
export function refusalPage(basePath: string, error: string, description: string | undefined): string {
  return page(
    basePath,
    'The request was rejected',
    `<p class="message"><code>${escapeHtml(error)}</code> ${escapeHtml(description ?? '')}</p>`,
  )
}

function personForm(action: string, { id, name, email }: Person, admin: boolean): string {
  const role = admin ? ' <span class="role">admin</span>' : ''
  return `<form method="post" action="${escapeHtml(action)}"><input type="hidden" name="person" value="${id}">
<button class="person"><strong>${escapeHtml(name)}</strong>${role} <span class="soft">${escapeHtml(email ?? 'no e-mail address')}</span></button></form>`
}

function page(basePath: string, title: string, body: string): string {
  const logo = `${basePath}/assets/icon.svg`
  const name = 'Development identity provider'
  const site = { basePath, name, plainName: name, logo, colored: false, links: {} }
  return narrowPage({ site, language: 'en', words: en }, title, body)
}

import { escapeHtml, strong } from '../http/pages/html.ts'
import {
  fill,
  languageOf,
  matchAccepted,
  sentences,
  type Language,
} from '../http/pages/language/languages.ts'

/** A page without style or script: it is shown on hosts that do not serve the files of this service. @param body HTML */
function plainPage(title: string, body: string, language = 'en'): string {
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<h1>${escapeHtml(title)}</h1>
${body}
</html>
`
}

/** The language of a request, which says so in Accept-Language. */
export function acceptedLanguage(header: string | undefined): Language {
  return languageOf(matchAccepted(header))
}

/** For a form that was sent without a session. @param signInUrl where the person signs in */
export function formPage({ tag, words: { guarded } }: Language, signInUrl: string): string {
  return plainPage(
    guarded.formTitle,
    `<p>${guarded.form}</p>
<p>${guarded.formAdvice}</p>
<p><a href="${escapeHtml(signInUrl)}" target="_blank" rel="noopener">${guarded.formSignIn}</a></p>`,
    tag,
  )
}

/** For a signed-in person whom the rules do not let pass. @param person how they are signed in @param accountUrl where they can change that */
export function forbiddenPage({ tag, words }: Language, person: string, accountUrl: string): string {
  const { guarded, common } = words
  return plainPage(
    guarded.forbiddenTitle,
    `<p>${sentences(tag, fill(common.signedInAs, { name: strong(person) }), guarded.forbidden)}</p>
<p><a href="${escapeHtml(accountUrl)}">${guarded.account}</a></p>`,
    tag,
  )
}

/** For a sign-in at a host that could not be completed. */
export function refusedPage({ tag, words: { guarded, common } }: Language): string {
  return plainPage(
    guarded.refusedTitle,
    `<p>${guarded.refused}</p>
<p><a href="/">${common.tryAgain}</a></p>`,
    tag,
  )
}

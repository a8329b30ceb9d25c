import { escapeHtml } from '../http/pages/html.ts'

/** A page without style or script: it is shown on hosts that do not serve the files of this service. @param body HTML */
export function plainPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<h1>${escapeHtml(title)}</h1>
${body}
</html>
`
}

/** For a form that was sent without a session. @param signInUrl where the person signs in */
export function formPage(signInUrl: string): string {
  return plainPage(
    'You are signed out',
    `<p>Your form was not passed on to the application, and nothing was saved.</p>
<p>To keep what you wrote: <a href="${escapeHtml(signInUrl)}" target="_blank" rel="noopener">sign in in a new tab</a>, then come back to this tab, reload it and
confirm that the form is sent again.</p>`,
  )
}

/** For a signed-in person whom the rules do not let pass. @param person how they are signed in @param accountUrl where they can change that */
export function forbiddenPage(person: string, accountUrl: string): string {
  return plainPage(
    'Not allowed',
    `<p>You are signed in as ${escapeHtml(person)}. This account may not use this page.</p>
<p><a href="${escapeHtml(accountUrl)}">Your account</a></p>`,
  )
}

/** For a sign-in at a host that could not be completed. */
export function refusedPage(): string {
  return plainPage(
    'The sign-in was not completed',
    `<p>It took too long, was already used, or was begun in another browser. This host also needs cookies.</p>
<p><a href="/">Try again</a></p>`,
  )
}

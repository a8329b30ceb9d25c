import { Type } from 'typebox'
import type { App } from '../app.ts'
import { Problem } from '../../errors.ts'
import { drawer, htmlDocument, newSubscriberForm, skipLink } from './html.ts'
import type { Authenticate } from '../access/principal.ts'

/** GET /dashboard: for signed-in browsers; everybody else is sent to /login. Its script fills it from the API. */
export function serveDashboard(app: App, authenticate: Authenticate): void {
  const page = dashboardPage(app.basePath)
  app.get('/', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) =>
    reply.redirect(`${app.basePath}/dashboard`, 303),
  )

  app.get(
    '/dashboard',
    {
      config: { access: 'public' },
      schema: {
        tags: ['pages'],
        summary: 'The dashboard; without a session a redirect to /login',
        response: {
          200: { description: 'The page', content: { 'text/html': { schema: Type.String() } } },
          303: Type.Null({ description: 'To /login' }),
        },
      },
    },
    async (request, reply) => {
      if (!(await isSignedIn(request, authenticate))) return reply.redirect(`${app.basePath}/login`, 303)
      return reply.type('text/html; charset=utf-8').send(page)
    },
  )
}

async function isSignedIn(
  request: Parameters<Authenticate>[0],
  authenticate: Authenticate,
): Promise<boolean> {
  try {
    return (await authenticate(request)) !== undefined
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return false
    throw error
  }
}

const table = (id: string, headings: string): string =>
  `<table><thead><tr>${headings
    .split(' | ')
    .map((heading) => `<th>${heading || '<span class="unseen">actions</span>'}`)
    .join('')}</tr></thead><tbody id="${id}"></tbody></table>`

/** The statuses that the list of events can be filtered by. */
const statuses = [
  '<option value="">all</option>',
  ...['pending', 'retrying', 'blocked', 'processed', 'failed', 'delivered'].map(
    (status) => `<option>${status}</option>`,
  ),
].join('')

const newAppForm = `<form id="new-app" class="fields">
        <label>Name <input type="text" name="name" required maxlength="100"></label>
        <label>Redirect URIs <input type="text" name="redirectUris" required placeholder="https://app.example/callback"></label>
        <label>Kind <select name="kind"><option value="confidential">on a server</option><option value="public">browser or device</option></select></label>
        <label class="check"><input type="checkbox" name="firstParty"> belongs to the product: no consent page</label>
        <button class="primary">Add</button>
      </form>`

const failedList = (status: string, title: string): string => `<h3>${title}</h3>
    ${table(status, 'received | type | source | error | event id | ')}
    <p class="soft" id="${status}-empty">None.</p>
    <div class="actions"><button id="${status}-more" class="small" hidden>Older</button><span id="${status}-run"></span></div>`

const dashboardPage = (basePath: string): string =>
  htmlDocument({
    basePath,
    title: 'Postern',
    body: `${skipLink}
<header class="bar">
  <span class="brand"><img src="${basePath}/assets/icon.svg" alt="">Postern</span>
  <a href="${basePath}/docs">API</a>
  <span class="who" id="who"></span>
  <button id="sign-out">Sign out</button>
</header>
<nav class="places" aria-label="On this page">
  <a href="#events-section">Events</a>
  <a href="#subscribers-section" class="for-admins" hidden>Subscribers</a>
  <a href="#failed-section" class="for-admins" hidden>Failed</a>
  <a href="#refused-section" class="for-admins" hidden>Refused</a>
  <a href="#sessions-section">Your account</a>
  <a href="#apps-section" class="for-admins" hidden>Apps</a>
  <a href="#users-section" class="for-admins" hidden>Users</a>
  <a href="#audit-section" class="for-admins" hidden>Audit log</a>
</nav>
<main id="content" tabindex="-1">
  <h1 class="unseen">Dashboard</h1>
  <div id="problems" role="alert"></div>
  <div id="spool" role="status"></div>
  <section id="events-section" aria-labelledby="events-title">
    <div class="head"><h2 id="events-title">Events</h2><span class="note">newest first, followed live</span><label class="note">Status <select id="events-status">${statuses}</select></label></div>
    ${table('events', 'time | type | direction | event id | status')}
    <p class="soft" id="events-empty">No event yet. Send the signed webhook that the console printed.</p>
    <div class="actions"><button id="events-older" class="small" hidden>Older</button></div>
  </section>
  <section id="subscribers-section" class="for-admins" hidden aria-labelledby="subscribers-title">
    <div class="head"><h2 id="subscribers-title">Subscribers</h2><span class="note">where events go out to</span></div>
    ${table('subscribers', 'address | event types | status')}
    <p class="soft" id="subscribers-empty" hidden>Nobody yet.</p>
    <details class="actions"><summary>Add a subscriber</summary>
      ${newSubscriberForm}
    </details>
  </section>
  <section id="failed-section" class="for-admins" hidden aria-labelledby="failed-title">
    <div class="head"><h2 id="failed-title">Failed events</h2><span class="note">newest first</span><button id="failed-refresh" class="small quiet">Refresh</button></div>
    <p id="failed-said" class="soft" role="status"></p>
    <div class="actions job" id="failed-job"></div>
    ${failedList('retrying', 'Being retried')}
    ${failedList('failed', 'Failed after the last attempt')}
    <details class="actions"><summary>Filter</summary>
      <form id="failed-filter" class="fields">
        <label>Type <input type="text" name="type" maxlength="1000" placeholder="order.*"></label>
        <label>Handler <input type="text" name="handler" maxlength="1000" placeholder="order.*"></label>
        <label>Source <input type="text" name="source" maxlength="64" placeholder="stripe"></label>
        <label>Error contains <input type="text" name="error" maxlength="1000" placeholder="timeout"></label>
        <label>Received from <input type="datetime-local" name="since"></label>
        <label>Received before <input type="datetime-local" name="until"></label>
        <button>Show</button>
      </form>
    </details>
  </section>
  <section id="refused-section" class="for-admins" hidden aria-labelledby="refused-title">
    <div class="head"><h2 id="refused-title">Refused webhooks</h2><span class="note" id="refused-note"></span><button id="refused-refresh" class="small quiet">Refresh</button></div>
    ${table('refused-counts', 'reason | what it means | source | count | last')}
    <p class="soft" id="refused-empty">None.</p>
    <details id="refused-last" hidden><summary>The last ones</summary>
      ${table('refused', 'time | reason | source | detail | address')}
      <div class="actions"><button id="refused-more" class="small" hidden>More</button></div>
    </details>
  </section>
  <section id="sessions-section" aria-labelledby="sessions-title">
    <div class="head"><h2 id="sessions-title">Your devices</h2></div>
    ${table('sessions', 'device | address | signed in | last seen | ')}
    <div class="actions" id="sessions-actions"></div>
  </section>
  <section id="own-apps-section" hidden aria-labelledby="own-apps-title">
    <div class="head"><h2 id="own-apps-title">Your apps</h2><span class="note">where you are signed in with this account</span></div>
    ${table('own-apps', 'app | may | since | last used | ')}
  </section>
  <section aria-labelledby="identities-title">
    <div class="head"><h2 id="identities-title">Your identities</h2></div>
    ${table('identities', 'provider | name | e-mail | linked | ')}
    <div class="actions" id="link"></div>
  </section>
  <section aria-labelledby="activity-title">
    <div class="head"><h2 id="activity-title">What happened to your account</h2><span class="note">newest first</span></div>
    ${table('activity', 'time | what | provider | result | address | browser')}
  </section>
  <section id="apps-section" class="for-admins" hidden aria-labelledby="apps-title">
    <div class="head"><h2 id="apps-title">Apps</h2><span class="note">applications that people sign in to with this service</span></div>
    <div id="apps-said" role="status"></div>
    ${table('apps', 'name | kind | redirects to | ')}
    <p class="soft" id="apps-empty" hidden>None yet.</p>
    <div class="actions"><button id="apps-more" class="small" hidden>More</button></div>
    <details class="actions"><summary>Add an app</summary>
      ${newAppForm}
    </details>
  </section>
  <section id="users-section" class="for-admins" hidden aria-labelledby="users-title">
    <div class="head"><h2 id="users-title">Users</h2><span class="note">a change of role ends their sessions</span></div>
    ${table('users', 'name | e-mail | identity | since | role | ')}
    <div class="actions"><button id="users-more" class="small" hidden>More</button></div>
  </section>
  <section id="audit-section" class="for-admins" hidden aria-labelledby="audit-title">
    <div class="head"><h2 id="audit-title">Audit log</h2><label class="note"><input type="checkbox" id="audit-failed"> only failures</label></div>
    ${table('audit', 'time | what | account | by | identity or target | result | address')}
    <div class="actions"><button id="audit-more" class="small" hidden>More</button></div>
  </section>
</main>
${drawer}
<script type="module" src="${basePath}/assets/dashboard/main.js"></script>`,
  })

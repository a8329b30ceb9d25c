import { Type } from 'typebox'
import type { App } from './app.ts'
import { Problem } from '../errors.ts'
import type { Authenticate } from './principal.ts'

/** GET /dashboard: for signed-in browsers; everybody else is sent to /login. Its script fills it from the API. */
export function serveDashboard(app: App, authenticate: Authenticate): void {
  app.get('/', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) =>
    reply.redirect('/dashboard', 303),
  )

  app.get(
    '/dashboard',
    {
      config: { access: 'public' },
      schema: {
        tags: ['sign-in'],
        summary: 'The dashboard; without a session a redirect to /login',
        response: {
          200: { description: 'The page', content: { 'text/html': { schema: Type.String() } } },
          303: Type.Null({ description: 'To /login' }),
        },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      if (!(await isSignedIn(request, authenticate))) return reply.redirect('/login', 303)
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

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Postern</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/style.css">
<header class="bar">
  <span class="brand"><img src="/assets/icon.svg" alt="">Postern</span>
  <a href="/docs">API</a>
  <span class="who" id="who"></span>
  <button id="sign-out">Sign out</button>
</header>
<main>
  <div id="problems" role="alert"></div>
  <section aria-labelledby="events-title">
    <div class="head"><h2 id="events-title">Events</h2><span class="note">newest last, followed live</span></div>
    <div class="scroll"><table><thead><tr><th>id<th>time<th>direction<th>source<th>type<th>event id<th>status</tr></thead><tbody id="events"></tbody></table></div>
    <p class="soft" id="events-empty">No event yet. Send the signed webhook that the console printed.</p>
  </section>
  <section id="subscribers-section" hidden aria-labelledby="subscribers-title">
    <div class="head"><h2 id="subscribers-title">Subscribers</h2><span class="note">where events go out to</span></div>
    <div class="scroll"><table><thead><tr><th>address<th>event types<th>status<th></tr></thead><tbody id="subscribers"></tbody></table></div>
    <div id="deliveries-of" hidden>
      <h2 id="deliveries-title">Deliveries</h2>
      <div class="scroll"><table><thead><tr><th>id<th>time<th>type<th>status<th>attempts<th></tr></thead><tbody id="deliveries"></tbody></table></div>
    </div>
  </section>
  <section aria-labelledby="sessions-title">
    <div class="head"><h2 id="sessions-title">Your devices</h2></div>
    <div class="scroll"><table><thead><tr><th>browser<th>address<th>signed in<th>last seen<th></tr></thead><tbody id="sessions"></tbody></table></div>
  </section>
  <section aria-labelledby="identities-title">
    <div class="head"><h2 id="identities-title">Your identities</h2></div>
    <div class="scroll"><table><thead><tr><th>provider<th>name<th>e-mail<th>linked<th></tr></thead><tbody id="identities"></tbody></table></div>
    <div class="actions" id="link"></div>
  </section>
  <section aria-labelledby="activity-title">
    <div class="head"><h2 id="activity-title">What happened to your account</h2><span class="note">newest first</span></div>
    <div class="scroll"><table><thead><tr><th>time<th>what<th>provider<th>result<th>address<th>browser</tr></thead><tbody id="activity"></tbody></table></div>
  </section>
  <section id="users-section" hidden aria-labelledby="users-title">
    <div class="head"><h2 id="users-title">Users</h2><span class="note">a change of role ends their sessions</span></div>
    <div class="scroll"><table><thead><tr><th>name<th>e-mail<th>identity<th>since<th>role<th></tr></thead><tbody id="users"></tbody></table></div>
    <div class="actions"><button id="users-more" hidden>More</button></div>
  </section>
  <section id="audit-section" hidden aria-labelledby="audit-title">
    <div class="head"><h2 id="audit-title">Audit log</h2><label class="note"><input type="checkbox" id="audit-failed"> only failures</label></div>
    <div class="scroll"><table><thead><tr><th>time<th>what<th>account<th>by<th>identity or target<th>result<th>address</tr></thead><tbody id="audit"></tbody></table></div>
    <div class="actions"><button id="audit-more" hidden>More</button></div>
  </section>
</main>
<script type="module" src="/assets/dashboard.js"></script>
</html>
`

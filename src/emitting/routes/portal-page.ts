import { drawer, htmlDocument, newSubscriberForm, skipLink } from '../../http/pages/html.ts'

/**
 * GET /portal: one page for all owners. Its script opens the link and loads the data from the portal routes. It shares styles and
 * components with the dashboard.
 */
export const portalPage = (basePath: string): string =>
  htmlDocument({
    basePath,
    title: 'Webhooks',
    attributes: ' data-api="/portal"',
    body: `${skipLink}
<header class="bar">
  <span class="brand"><img src="${basePath}/assets/icon.svg" alt="">Webhooks</span>
  <span class="who" id="who"></span>
  <button id="leave" hidden>Leave</button>
</header>
<main id="content" tabindex="-1">
  <h1 class="unseen">Webhooks</h1>
  <div id="problems" role="alert"></div>
  <section id="subscribers-section" hidden aria-labelledby="subscribers-title">
    <div class="head"><h2 id="subscribers-title">Your endpoints</h2><span class="note">where events are sent to</span></div>
    <table><thead><tr><th>address<th>event types<th>status</tr></thead><tbody id="subscribers"></tbody></table>
    <p class="soft" id="subscribers-empty" hidden>None yet. Add an address that receives events.</p>
    <details class="actions" id="add"><summary>Add an endpoint</summary>
      ${newSubscriberForm}
    </details>
  </section>
  <section id="types-section" hidden aria-labelledby="types-title">
    <div class="head"><h2 id="types-title">Event types</h2><span class="note">what can be sent</span></div>
    <div id="types"></div>
  </section>
</main>
${drawer}
<script type="module" src="${basePath}/assets/portal/main.js"></script>`,
  })

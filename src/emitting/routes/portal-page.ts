/**
 * GET /portal: the page is the same for everybody; its script opens the link and fills it from the calls of the portal.
 * It shares its style and its parts with the dashboard.
 */
export const portalPage = `<!doctype html>
<html lang="en" data-api="/portal">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Webhooks</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/style.css">
<header class="bar">
  <span class="brand"><img src="/assets/icon.svg" alt="">Webhooks</span>
  <span class="who" id="who"></span>
  <button id="leave" hidden>Leave</button>
</header>
<main>
  <div id="problems" role="alert"></div>
  <section id="subscribers-section" hidden aria-labelledby="subscribers-title">
    <div class="head"><h2 id="subscribers-title">Your endpoints</h2><span class="note">where events are sent to</span></div>
    <table><thead><tr><th>address<th>event types<th>status</tr></thead><tbody id="subscribers"></tbody></table>
    <p class="soft" id="subscribers-empty" hidden>None yet. Add the address that is to get events.</p>
    <details class="actions" id="add"><summary>Add an endpoint</summary>
      <form id="new-subscriber" class="fields">
        <label>Address <input type="url" name="url" required maxlength="2000" placeholder="https://shop.example.com/hooks"></label>
        <label>Event types, all when empty <input type="text" name="eventTypes" placeholder="order.*"></label>
        <button>Add</button>
      </form>
    </details>
  </section>
  <section id="types-section" hidden aria-labelledby="types-title">
    <div class="head"><h2 id="types-title">Event types</h2><span class="note">what can be sent</span></div>
    <div id="types"></div>
  </section>
</main>
<dialog id="drawer" aria-labelledby="drawer-title">
  <div class="content">
    <div class="head"><h2 id="drawer-title"></h2><button id="drawer-close" class="small">Close</button></div>
    <div id="drawer-notice" role="status"></div>
    <div id="drawer-body"></div>
  </div>
</dialog>
<script type="module" src="/assets/portal/main.js"></script>
</html>
`

import { embedPortal } from 'postern-client/browser'

async function createLink() {
  const answer = await fetch('/api/portal-link', { method: 'POST' })
  if (!answer.ok) throw new Error(`no link: ${answer.status}`)
  return answer.text()
}

const webhooks = document.querySelector('#webhooks')
embedPortal(webhooks, {
  createLink,
  onFailed: (reason) => {
    webhooks.textContent =
      reason === 'no-link' ? 'Please try again later.' : 'The portal does not allow this page.'
  },
})

// A page without a server of its own. The page that serves it sets `window.settings`, or the values below are replaced.
import { createSignIn, PosternError } from 'postern-client/browser'

interface Element {
  hidden: boolean
  textContent: string
  addEventListener(type: 'click', listener: () => void): void
}
const window = globalThis as unknown as {
  settings?: { postern: string; api: string }
  location: { origin: string }
  document: { getElementById(id: string): Element }
}
const { postern: url, api } = window.settings ?? {
  postern: 'http://127.0.0.1:3000',
  api: 'http://127.0.0.1:4000',
}
const element = (id: string): Element => window.document.getElementById(id)

const signIn = createSignIn({
  url,
  clientId: 'spa',
  redirectUri: `${window.location.origin}/`,
  postLogoutRedirectUri: `${window.location.origin}/`,
})

function show(): void {
  const user = signIn.getUser()
  element('who').textContent = user ? `You are ${user.name ?? user.sub}.` : 'You are not signed in.'
  element('sign-in').hidden = user !== null
  element('orders').hidden = element('sign-out').hidden = user === null
}

async function showOrders(): Promise<void> {
  const token = await signIn.getAccessToken()
  const answer = await fetch(`${api}/orders`, { headers: { authorization: `Bearer ${token ?? ''}` } })
  element('answer').textContent = await answer.text()
}

signIn.onChange(show)
element('sign-in').addEventListener('click', () => void signIn.signIn())
element('sign-out').addEventListener('click', () => void signIn.signOut())
element('orders').addEventListener('click', () => void showOrders())
try {
  await signIn.handleCallback()
} catch (error) {
  element('answer').textContent =
    error instanceof PosternError ? `${error.code}: ${error.message}` : String(error)
}
show()

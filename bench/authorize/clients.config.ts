import { defineConfig } from '../../src/index.ts'

/** The application that signs people in. */
export const app = {
  id: 'bench-app',
  secret: 'bench-app-secret-of-32-bytes-or-more',
  redirectUri: 'https://app.example.com/callback',
}

export default defineConfig({
  login: { clients: [{ id: app.id, secret: app.secret, redirectUris: [app.redirectUri] }] },
})

import { defineConfig } from 'postern'
import { app } from './app.ts'

export default defineConfig({
  login: { clients: [{ id: app.id, secret: app.secret, redirectUris: [app.redirectUri] }] },
})

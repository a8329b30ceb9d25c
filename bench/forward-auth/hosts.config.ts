import { defineConfig } from '../../src/index.ts'

export default defineConfig({
  forwardAuth: {
    hosts: {
      'app.example.com': { allow: 'signed-in', paths: { '/admin/*': { roles: ['admin'] } } },
      'token.example.com': { allow: 'signed-in', token: true },
    },
  },
})

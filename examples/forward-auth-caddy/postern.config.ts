import { defineConfig } from 'postern'

export default defineConfig({
  forwardAuth: {
    hosts: {
      'wiki.localhost:8080': {
        allow: 'signed-in',
        paths: { '/health': 'everyone', '/admin/*': { roles: ['admin'] } },
      },
    },
  },
})

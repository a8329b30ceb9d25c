import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { join } from 'node:path'
import { defineConfig, type ViteDevServer } from 'vite'

const here = import.meta.dirname
/** The running service that `npm run dashboard` shows the pages of. */
const service = process.env['POSTERN_URL'] ?? 'http://localhost:3000'
/** What the development server answers itself; everything else is the service's. */
const own = /^\/(?:@|src\/|node_modules\/|dashboard(?:[/?]|$)|portal(?:[?]|$))/

/** `vite build` builds the dashboard, `vite build --mode portal` the portal: each is one file of script and its lazy pages. */
export default defineConfig(({ command, mode }) => ({
  root: here,
  // The service may be below a path, so the built files name each other by relative paths.
  base: command === 'build' ? './' : '/',
  appType: 'spa',
  plugins: [react(), tailwind(), pagesOfDevelopment()],
  resolve: {
    alias: { 'postern-client/api': join(here, '../packages/client/src/api/index.ts') },
  },
  build: {
    outDir: 'dist',
    emptyOutDir: mode !== 'portal',
    manifest: mode === 'portal' ? 'portal.html.manifest.json' : 'index.html.manifest.json',
    assetsDir: '',
    assetsInlineLimit: 0,
    target: 'es2022',
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: {
        [mode === 'portal' ? 'portal' : 'dashboard']: join(
          here,
          mode === 'portal' ? 'portal.html' : 'index.html',
        ),
      },
      // What the entry needs is one file, though pages share parts of it. Otherwise each shared part would be a request of its own.
      preserveEntrySignatures: false,
      output: { codeSplitting: { groups: [{ name: 'frame', tags: ['$initial'] }] } },
    },
  },
  server: {
    port: 5173,
    proxy: {
      '/': {
        target: service,
        bypass: ({ url = '/' }) => (own.test(url) ? url : undefined),
        // The service refuses calls that a page of another origin makes.
        headers: { origin: new URL(service).origin },
      },
    },
  },
}))

/** Below /dashboard every address is the one page; /portal is the other one. */
function pagesOfDevelopment() {
  return {
    name: 'postern-pages',
    configureServer({ middlewares }: ViteDevServer) {
      middlewares.use((request, _response, next) => {
        const path = request.url?.split('?')[0] ?? '/'
        if (/^\/dashboard(?:\/|$)/.test(path) && !/\.\w+$/.test(path)) request.url = '/index.html'
        else if (path === '/portal') request.url = '/portal.html'
        next()
      })
    },
  }
}

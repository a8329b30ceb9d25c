import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { drawDiagrams } from './diagrams.ts'
import { writePlainText } from './plain-text.ts'
import { sidebar } from './sidebar.ts'
import { unlinkFilesOfRepository } from './links.ts'

/** Where the site is: the service serves it at /docs/guide; `SITE_BASE` names another place for a static host. */
const base = process.env['SITE_BASE'] ?? '/docs/guide/'

export default defineConfig({
  srcDir: '../docs',
  outDir: './dist',
  cacheDir: './.cache',
  base,
  title: 'Postern',
  description: 'The gate of a product: sign-in, webhooks in, webhooks out, lists.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  // Otherwise the theme inserts an element of style, which the service's policy forbids.
  appearance: { disableTransition: false },
  cleanUrls: false,
  rewrites: { 'README.md': 'contents.md' },
  // For those who change Postern, not for those who use it.
  srcExclude: ['adr/**', 'dependencies.md', 'screenshots/**'],
  metaChunk: true,
  // The pages lie outside this folder, where Vue is not found by itself.
  vite: {
    resolve: {
      alias: [
        {
          find: /^vue(\/server-renderer)?$/,
          replacement: join(import.meta.dirname, '../node_modules/vue$1'),
        },
        { find: /^.*\/VPHome\.vue$/, replacement: join(import.meta.dirname, 'theme/home.ts') },
      ],
    },
  },
  markdown: {
    html: false,
    // The default colours have less contrast than WCAG asks for.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { caddyfile: 'nginx', haproxy: 'nginx' },
    config: (markdown) => {
      unlinkFilesOfRepository(markdown)
      drawDiagrams(markdown)
    },
  },
  buildEnd: writePlainText,
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Guides', link: '/guides/sign-in' },
      { text: 'Operating', link: '/guides/operating' },
      { text: 'Reference', link: '/reference/settings' },
    ],
    sidebar,
    outline: [2, 3],
    docFooter: { prev: 'Previous page', next: 'Next page' },
  },
})

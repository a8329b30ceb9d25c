// The API reference. It follows the reader's choice of light or dark. A narrow screen has no room for the navigation beside a
// call: there, all calls stand on one page.
const reference = document.querySelector('rapi-doc')
const dark = matchMedia('(prefers-color-scheme: dark)')
const narrow = matchMedia('(max-width: 760px)')
const adapt = () => {
  reference.setAttribute('theme', dark.matches ? 'dark' : 'light')
  reference.setAttribute('render-style', narrow.matches ? 'read' : 'focused')
}
dark.addEventListener('change', adapt)
narrow.addEventListener('change', adapt)
adapt()
await import('./vendor/rapidoc.js')

// Copy buttons for code, on pages of the guide and of the API reference.

/** Of a block with a prompt and output, the commands alone. */
function commandsOf(text) {
  const commands = text.split('\n').filter((line) => line.startsWith('$ '))
  return commands.length === 0 ? text : commands.map((line) => line.slice(2)).join('\n')
}

async function copy(block, button) {
  await navigator.clipboard.writeText(commandsOf(block.querySelector('code').textContent))
  button.textContent = 'Copied'
  setTimeout(() => (button.textContent = 'Copy'), 2_000)
}

for (const block of document.querySelectorAll('pre:has(code)')) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Copy' })
  button.className = 'copy'
  button.setAttribute('aria-label', 'Copy the code')
  button.addEventListener('click', () => void copy(block, button))
  block.append(button)
}

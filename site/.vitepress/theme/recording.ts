import { defineComponent, h, ref } from 'vue'
import picture from '../../../docs/recordings/first-minute.svg?url'

/** The recording of the first minute. It stands still until a reader plays it, and plays once. */
export default defineComponent(() => {
  const isPlaying = ref(false)
  const plays = ref(0)
  const press = (): void => {
    isPlaying.value = !isPlaying.value
    if (isPlaying.value) plays.value++
  }
  // A new query makes the browser begin anew; the fragment shows the end without motion.
  const address = (): string => (isPlaying.value ? `${picture}?${plays.value}` : `${picture}#still`)
  return () =>
    h('figure', { class: 'recording' }, [
      h('img', {
        src: address(),
        alt: 'A terminal: npm start, a signed webhook that is sent and accepted, the list of events with it, a webhook without a signature that is refused, a list of products',
        width: 902,
        height: 532,
      }),
      h('figcaption', [
        h('button', { type: 'button', onClick: press }, isPlaying.value ? 'Stop' : 'Play the first minute'),
        ' Recorded from the service. Waits are shortened.',
      ]),
    ])
})
